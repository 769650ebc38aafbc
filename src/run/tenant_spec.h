// A tenant as a user names it: NAME[:key=value,...] or FILE[:key=value,...]. The keys `arrive` and `leave` say
// when it is on the GPU; all others are parameters of the workload. A file takes only these two.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "engine/types.h"
#include "frontend/user_program.h"
#include "gpu/config.h"

namespace terrace {

struct TenantSpec {
  std::string program;  // without arrive and leave
  Cycle arrive = 0;
  Cycle leave = kNever;

  /// The workload's name, or the file.
  std::string name() const { return program.substr(0, program.find(':')); }
  /// Whether a user's file says what runs.
  bool is_file() const { return names_file(name()); }
};

/// Leaving before arriving and keys that a file does not have are the user's error; `option` is what messages call the
/// place.
TenantSpec parse_tenant(std::string_view text, std::string_view option = "run.tenants");

/// The same, with the random delay that run.arrival_spread and the seed give to the tenant with this number. `arrive`
/// and `leave` are delayed by the same number of cycles.
TenantSpec delayed(TenantSpec spec, const RunConfig& run, u32 tenant);

}  // namespace terrace
