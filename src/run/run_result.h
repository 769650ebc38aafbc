// Describes the result of a run: as JSON (schema terrace.run/1) and as text.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frontend/program.h"
#include "gpu/gpu.h"
#include "run/run.h"

namespace terrace {

/// What the GPU does not know of a tenant.
struct TenantResult {
  std::string name;
  std::string workload;
  u64 ptx_hash = 0;
  u32 sms = 0;
  std::optional<CheckResult> check;
  std::map<std::string, u64> unknown_opcodes = {};  // instructions of one execution that did nothing but issue
  Cycle first_completion = kNever;
};

/// `check_asked`: a tenant without a check has not completed.
RunResult describe_run(Gpu& gpu, GpuConfig& config, const std::vector<TenantResult>& tenants, double seconds,
                       bool check_asked);

}  // namespace terrace
