// A job is one simulation, known by a hash of everything its result depends on.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "engine/types.h"

namespace terrace {

struct Job {
  std::string id;      // of configuration, code and device code (job_identity.h)
  std::string config;  // resolved, as TOML
  std::string machine, tenants, size, sms;
  u64 seed = 0;
  std::vector<std::string> ptx;  // hash of each tenant's device code
  u64 memory_bytes = 0;          // about what it will need

  std::string title() const {
    return machine + " " + tenants + " " + size + (sms.empty() ? "" : " on " + sms + " SMs");
  }
};

}  // namespace terrace
