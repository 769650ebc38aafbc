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

/// The time that a run took here, and since when.
struct RunTime {
  double seconds = 0;
  Cycle from = 0;  // 0: it began here
  u64 warp_instructions_before = 0;
};

/// `check_asked`: a tenant without a check has not completed.
RunResult describe_run(Gpu& gpu, GpuConfig& config, const std::vector<TenantResult>& tenants, const RunTime& time,
                       bool check_asked);

}  // namespace terrace
