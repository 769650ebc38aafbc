// SPDX-License-Identifier: MIT
#include "run/alone.h"

#include "engine/check.h"
#include "run/job_identity.h"
#include "run/metrics.h"
#include "run/sm_shares.h"
#include "run/tenant_spec.h"
#include "text/table.h"

namespace terrace {

std::string reference_design(const GpuConfig& shared, const std::function<void(const std::string&)>& find,
                             std::string& note) {
  const std::string& wanted = shared.tenancy.reference_design;
  if (wanted.empty()) return "";
  try {
    find(wanted);
    return wanted;
  } catch (const InputError&) {
    note = fmt::format(
        "{} asks for alone runs under the design \"{}\", which does not exist; they run under \"ideal\" instead",
        shared.name, wanted);
    return "ideal";
  }
}

GpuConfig alone_config(const GpuConfig& base, const GpuConfig& shared, u32 tenant) {
  GpuConfig alone = base;
  alone.run.size = shared.run.size;
  alone.run.seed = shared.run.seed;
  alone.run.until = shared.run.until;
  alone.run.relaunch = shared.run.relaunch;  // by itself a tenant starts again in a window only
  alone.run.arrival_spread = 0;              // it is alone: arriving late would change nothing
  const std::vector<std::string> tenants = split_words(shared.run.tenants);
  alone.run.tenants = parse_tenant(tenants[tenant]).program;
  const u64 sms = sms_of_tenants(shared, static_cast<u32>(tenants.size()))[tenant];
  alone.run.sms = {shared.tenancy.reference_sms == 0 ? sms : shared.tenancy.reference_sms};
  // How tenants share is no part of a run with one tenant, and run.sms is allowed only with spatial, fixed shares.
  const TenancyConfig standard;
  alone.tenancy.sharing = TenancyConfig::Sharing::kSpatial;
  alone.tenancy.partition = standard.partition;
  alone.tenancy.quantum = standard.quantum;
  alone.tenancy.switch_cycles = standard.switch_cycles;
  return alone;
}

void add_relative_metrics(RunResult& result, std::span<const double> alone_ipc, const std::string& reference) {
  auto& tenants = std::get<Tree::List>(result.json["tenants"].value);
  std::vector<TenantRate> rates;
  TextTable table{{"tenant", "IPC", "IPC alone", "slowdown"}, {}, {false, true, true, true}};
  for (u32 i = 0; i < tenants.size(); ++i) {
    const TenantRate rate{std::get<double>(tenants[i].find("ipc")->value), alone_ipc[i]};
    const double slowdown = rate.ipc > 0 ? rate.alone_ipc / rate.ipc : 0;
    rates.push_back(rate);
    tenants[i]["alone_ipc"] = Tree(rate.alone_ipc);
    tenants[i]["slowdown"] = rate.ipc > 0 ? Tree(slowdown) : Tree();
    tenants[i]["reference"] = Tree(reference);
    table.rows.push_back({std::get<std::string>(tenants[i].find("name")->value), fmt::format("{:.2f}", rate.ipc),
                          fmt::format("{:.2f}", rate.alone_ipc), rate.ipc > 0 ? fmt::format("{:.3f}", slowdown) : "-"});
  }
  result.text += fmt::format("\nRelative to each tenant {}:\n{}\n", reference, table.plain());
  Tree& metrics = result.json["metrics"];
  const std::vector<Metric> relative = relative_metrics(rates);
  for (const Metric& metric : relative) {
    metrics[metric.name] = Tree(metric.value);
    result.text += fmt::format("{} {:.3f}\n", metric.name, metric.value);
  }
  if (relative.empty()) result.text += "no relative metrics: a tenant issued no instruction\n";
  metrics["reference"] = Tree(reference);
}

}  // namespace terrace
