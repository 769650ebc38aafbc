// What a tenant has done since the run began, summed over the units that count it: for epochs and for SM partitioners.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "cache/l2_slice.h"
#include "dram/channel.h"
#include "sm/sm.h"
#include "wire/epoch.h"

namespace terrace {

class TenantActivity {
 public:
  /// Refers to all.
  TenantActivity(const std::vector<std::unique_ptr<Sm>>& sms, const std::vector<std::unique_ptr<L2Slice>>& slices,
                 const std::vector<std::unique_ptr<Channel>>& channels)
      : sms_(sms), slices_(slices), channels_(channels) {}

  /// Of what is counted; peaks are left out. Between cycles.
  TenantEpoch so_far(TenantId tenant) const;

 private:
  const std::vector<std::unique_ptr<Sm>>& sms_;
  const std::vector<std::unique_ptr<L2Slice>>& slices_;
  const std::vector<std::unique_ptr<Channel>>& channels_;
};

}  // namespace terrace
