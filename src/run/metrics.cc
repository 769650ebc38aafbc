// SPDX-License-Identifier: MIT
#include "run/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace terrace {

double total_ipc(std::span<const TenantRate> rates) {
  double sum = 0;
  for (const TenantRate& rate : rates) sum += rate.ipc;
  return sum;
}

std::vector<Metric> relative_metrics(std::span<const TenantRate> rates) {
  if (rates.empty()) return {};
  double speedups = 0, slowdowns = 0, least = 0, most = 0;
  for (const TenantRate& rate : rates) {
    if (!(rate.ipc > 0) || !(rate.alone_ipc > 0)) return {};
    const double speedup = rate.ipc / rate.alone_ipc;
    const bool first = &rate == rates.data();
    speedups += speedup;
    slowdowns += 1 / speedup;
    least = first ? speedup : std::min(least, speedup);
    most = first ? speedup : std::max(most, speedup);
  }
  const double tenants = static_cast<double>(rates.size());
  return {{"weighted_speedup", speedups}, {"max_slowdown", 1 / least}, {"weighted_ipc", speedups},
          {"fairness", least / most},     {"stp", speedups},           {"antt", slowdowns / tenants}};
}

std::span<const std::string_view> metric_names() {
  static constexpr std::array<std::string_view, 7> kNames = {
      "total_ipc", "weighted_speedup", "max_slowdown", "weighted_ipc", "fairness", "stp", "antt"};
  return kNames;
}

std::string reference_text(std::string_view design, unsigned sms) {
  const std::string where = sms == 0 ? "as many SMs as in the shared run" : fmt::format("{} SMs", sms);
  return fmt::format("alone on {} under {}", where, design.empty() ? "the machine as it is" : design);
}

}  // namespace terrace
