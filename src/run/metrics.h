// Metrics of tenants that share a GPU. weighted_speedup (MASK), weighted_ipc (DWS) and stp (CD-search) are one sum with
// different reference runs; the same holds for max_slowdown, fairness and antt. So every number comes with its
// reference, and numbers with different references must not be compared.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace terrace {

/// Thread instructions per cycle of one tenant: in the shared run, and alone in the reference run.
struct TenantRate {
  double ipc = 0;
  double alone_ipc = 0;
};

struct Metric {
  std::string_view name;
  double value;
};

/// total_ipc: the sum over tenants; needs no reference.
double total_ipc(std::span<const TenantRate> rates);

/// weighted_speedup, max_slowdown, weighted_ipc, fairness, stp and antt. Empty if a tenant issued no instruction in
/// either run: its slowdown would be meaningless.
std::vector<Metric> relative_metrics(std::span<const TenantRate> rates);

/// The names of all of the above, total_ipc first.
std::span<const std::string_view> metric_names();

/// The reference of relative metrics, in words: "alone on 15 SMs under baseline".
std::string reference_text(std::string_view design, unsigned sms);

}  // namespace terrace
