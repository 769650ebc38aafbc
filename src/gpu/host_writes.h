// What the host writes between launches goes to memory past all caches: the L2 forgets those lines. (L1s are emptied by
// each launch.)
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cache/l2_slice.h"
#include "frontend/guest_memory.h"
#include "translation/address_space.h"
#include "translation/config.h"
#include "wire/line_key.h"
#include "wire/line_truth.h"

namespace terrace {

class HostWrites {
 public:
  struct Bytes {
    u64 first, end;  // physical
  };
  HostWrites(u32 line_bytes, TranslateAt translation, const AddressSpaces& spaces,
             const std::vector<std::unique_ptr<L2Slice>>& slices, LineTruth& truth)
      : line_bytes_(line_bytes), translation_(translation), spaces_(spaces), slices_(slices), truth_(truth) {}

  /// What the host wrote to a tenant's memory since the last call.
  void forget(TenantId tenant, GuestMemory& memory);
  /// `lines` are the same by virtual name.
  void forget(std::span<const Bytes> ranges, std::vector<LineRange> lines);
  /// A range of a tenant's addresses, by virtual name.
  LineRange lines_of(TenantId tenant, u64 first, u64 end) const;

  /// Whoever keeps track of lines in a virtual L2, and of pages, hears of those that are gone.
  std::function<void(LineKey)> line_gone;
  std::function<void(u64 page_key)> page_gone;

 private:
  const u64 line_bytes_;
  const TranslateAt translation_;
  const AddressSpaces& spaces_;
  const std::vector<std::unique_ptr<L2Slice>>& slices_;
  LineTruth& truth_;
};

/// The same lines in rising order, each range ahead of the next: a host that writes a buffer and then one element of it
/// names some lines twice.
std::vector<LineRange> disjoint(std::vector<LineRange> ranges);

}  // namespace terrace
