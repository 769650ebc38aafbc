// SPDX-License-Identifier: MIT
#include "experiment/run.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <sstream>
#include <vector>

#include "config/field_list.h"
#include "engine/check.h"
#include "frontend/ptx/machine.h"
#include "frontend/ptx/parser.h"
#include "frontend/user_program.h"
#include "frontend/workload.h"
#include "gpu/gpu.h"
#include "gpu/until.h"
#include "text/table.h"
#include "version.h"

namespace terrace {
namespace {

/// A tenant with everything it owns.
struct Tenant {
  std::string text;  // as the configuration names it
  std::string workload;
  ProgramInstance instance;
  std::unique_ptr<GuestMemory> memory;
  std::unique_ptr<ptx::Machine> machine;
  std::vector<u32> sms;
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// Contiguous shares, in the order of the tenants.
std::vector<std::vector<u32>> share_sms(const GpuConfig& config, u32 tenants) {
  std::vector<u64> counts = config.run.sms;
  if (counts.empty()) {
    for (u32 i = 0; i < tenants; ++i) counts.push_back(config.sm.count / tenants + (i < config.sm.count % tenants));
  }
  if (counts.size() != tenants)
    input_error("run.sms: has {} numbers for {} tenants; give one for each", counts.size(), tenants);
  u64 total = 0;
  for (const u64 count : counts) total += count;
  if (total > config.sm.count || std::find(counts.begin(), counts.end(), 0u) != counts.end()) {
    input_error("run.sms: {} tenants cannot have {} SMs of {}; give each at least one", tenants, total,
                config.sm.count);
  }
  std::vector<std::vector<u32>> shares(tenants);
  u32 next = 0;
  for (u32 i = 0; i < tenants; ++i) {
    for (u64 n = 0; n < counts[i]; ++n) shares[i].push_back(next++);
  }
  return shares;
}

ProgramInstance program_of(const std::string& text, const RunConfig& run) {
  if (text.ends_with(".toml")) return load_user_program(text);
  WorkloadRequest request = parse_workload(text, parse_input_size(run.size), "run.tenants");
  request.seed = run.seed;
  return make_workload(request);
}

std::vector<Tenant> make_tenants(const GpuConfig& config) {
  const std::vector<std::string> names = words_of(config.run.tenants);
  if (names.empty()) input_error("run.tenants: nobody runs; name a workload (--tenant gups)");
  if (names.size() > kMaxTenants) input_error("run.tenants: {} tenants are more than {}", names.size(), kMaxTenants);
  const auto shares = share_sms(config, static_cast<u32>(names.size()));
  std::vector<Tenant> tenants;
  for (u32 i = 0; i < names.size(); ++i) {
    Tenant tenant{names[i], names[i].substr(0, names[i].find(':')), program_of(names[i], config.run), nullptr, nullptr,
                  shares[i]};
    tenant.memory = std::make_unique<GuestMemory>(PageSize::k4K);
    tenant.machine =
        std::make_unique<ptx::Machine>(ptx::parse_module(tenant.instance.code.file, tenant.instance.code.ptx),
                                       *tenant.memory, ptx::MachineConfig{config.sm.warp_width});
    tenant.instance.program->allocate(*tenant.memory);
    tenants.push_back(std::move(tenant));
  }
  return tenants;
}

Gpu::Limits limits_of(const RunConfig& run) {
  Gpu::Limits limits;
  limits.warmup = run.warmup;
  limits.relaunch = run.relaunch;
  if (run.instruction_cap != 0) limits.thread_instructions = run.instruction_cap;
  const std::optional<Until> until = parse_until(run.until);
  SIM_CHECK(until.has_value(), "run.until was validated");
  if (until->kind == Until::Kind::kCycles) limits.cycles = until->count;
  if (until->kind == Until::Kind::kInstructions)
    limits.thread_instructions = std::min(limits.thread_instructions, until->count);
  return limits;
}

double ratio(u64 a, u64 b) {
  return b == 0 ? 0.0 : static_cast<double>(a) / static_cast<double>(b);
}

/// A tenant's rate over its completed executions; without one, over what has elapsed.
struct Rate {
  u64 cycles, warp_instructions, thread_instructions;
  bool capped;
  double ipc() const { return ratio(thread_instructions, cycles); }
  double warp_ipc() const { return ratio(warp_instructions, cycles); }
};
Rate rate_of(const TenantProgress& progress, Cycle now) {
  if (progress.completed_runs == 0) return {now, progress.warp_instructions, progress.thread_instructions, true};
  return {progress.last_completion, progress.completed_warp_instructions, progress.completed_thread_instructions,
          false};
}

Tree describe_tenant(const Tenant& tenant, const TenantProgress& progress, const Rate& rate) {
  Tree::List faults;
  if (!progress.fault.empty()) faults.emplace_back(progress.fault);
  return {{"name", tenant.text},
          {"workload", tenant.workload},
          {"ptx_hash", fmt::format("{:016x}", tenant.instance.code.hash())},
          {"sms", static_cast<u64>(tenant.sms.size())},
          {"cycles", rate.cycles},
          {"warp_instructions", progress.warp_instructions},
          {"thread_instructions", progress.thread_instructions},
          {"ipc", rate.ipc()},
          {"warp_ipc", rate.warp_ipc()},
          {"completed_runs", progress.completed_runs},
          {"capped", rate.capped},
          {"faults", Tree(std::move(faults))}};
}

u64 peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<u64>(usage.ru_maxrss) * 1024;
}

}  // namespace

RunResult simulate(const RunRequest& request) {
  GpuConfig config = request.config;
  std::vector<Tenant> tenants = make_tenants(config);
  std::vector<TenantSetup> setups;
  for (Tenant& tenant : tenants) {
    setups.push_back(
        {tenant.text, tenant.instance.program.get(), tenant.memory.get(), tenant.machine.get(), tenant.sms});
  }
  Gpu gpu(config, std::move(setups), request.options);
  if (!request.log.empty()) gpu.log(request.log);

  // Checked when a tenant first completes: after that it may be in the middle of another execution.
  std::vector<std::optional<CheckResult>> checks(tenants.size());
  gpu.on_completion = [&](TenantId id) {
    std::optional<CheckResult>& check = checks[index(id)];
    if (request.check && !check) check = tenants[index(id)].instance.program->check(*tenants[index(id)].memory);
  };

  const Gpu::Limits limits = limits_of(config.run);
  const auto all_issued = [&](const Gpu& running) {
    u64 total = 0;
    for (u32 i = 0; i < tenants.size(); ++i) total += running.progress(TenantId(i)).warp_instructions;
    return total;
  };
  const auto observe = [&](const Gpu& running) {
    if (!request.progress) return;
    const double part = limits.cycles == kNever ? -1.0 : ratio(running.now(), limits.cycles);
    request.progress(part, running.now(), all_issued(running));
  };
  const auto started = std::chrono::steady_clock::now();
  gpu.run(limits, observe);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();

  RunResult result;
  result.log = gpu.take_log();
  u64 warp_instructions = 0, thread_instructions = 0;
  double total_ipc = 0;
  Tree::List tenant_trees, kernel_trees;
  TextTable table{{"tenant", "SMs", "cycles", "warp inst", "thread inst", "IPC", "warp IPC", "runs", ""}, {}, {}};
  table.right = {false, true, true, true, true, true, true, true};
  for (u32 i = 0; i < tenants.size(); ++i) {
    const TenantProgress progress = gpu.progress(TenantId(i));
    const Rate rate = rate_of(progress, gpu.now());
    warp_instructions += progress.warp_instructions;
    thread_instructions += progress.thread_instructions;
    total_ipc += rate.ipc();
    Tree tree = describe_tenant(tenants[i], progress, rate);
    std::string note = !progress.fault.empty() ? progress.fault : rate.capped ? "capped" : "";
    if (checks[i]) {
      result.checks_passed &= checks[i]->passed;
      note = fmt::format("{}: {}", checks[i]->passed ? "passed" : "FAILED", checks[i]->message);
      tree["check"] = Tree{{"passed", checks[i]->passed}, {"message", checks[i]->message}};
    } else if (request.check) {
      result.checks_passed = false;
      note += note.empty() ? "not completed" : "; not completed";
    }
    table.rows.push_back({tenants[i].text, fmt::format("{}", tenants[i].sms.size()), fmt::format("{}", rate.cycles),
                          fmt::format("{}", progress.warp_instructions),
                          fmt::format("{}", progress.thread_instructions), fmt::format("{:.2f}", rate.ipc()),
                          fmt::format("{:.3f}", rate.warp_ipc()), fmt::format("{}", progress.completed_runs), note});
    tenant_trees.push_back(std::move(tree));
  }
  for (const KernelRecord& kernel : gpu.kernels()) {
    kernel_trees.push_back({{"tenant", u64{index(kernel.tenant)}},
                            {"name", kernel.name},
                            {"cycles", kernel.ended - kernel.began},
                            {"warp_instructions", kernel.warp_instructions},
                            {"thread_instructions", kernel.thread_instructions},
                            {"ipc", ratio(kernel.thread_instructions, kernel.ended - kernel.began)}});
  }
  // Identities hold when nothing is in flight: a run that was cut off may end in the middle of a request.
  if (gpu.quiet()) gpu.stats().check_identities();
  const std::string digest = gpu.stats().digest();
  result.json = {{"schema", "terrace.run/1"},
                 {"version", Tree{{"terrace", version()}, {"revision", revision()}, {"compiler", compiler()}}},
                 {"config", parse_toml(resolved_toml(config), "the resolved configuration")},
                 {"run", Tree{{"cycles", gpu.now()},
                              {"warp_instructions", warp_instructions},
                              {"thread_instructions", thread_instructions},
                              {"wall_seconds", seconds},
                              {"warp_instructions_per_second", static_cast<double>(warp_instructions) / seconds},
                              {"cycles_per_second", static_cast<double>(gpu.now()) / seconds},
                              {"peak_rss_bytes", peak_rss_bytes()},
                              {"digest", digest}}},
                 {"tenants", Tree(std::move(tenant_trees))},
                 {"kernels", Tree(std::move(kernel_trees))},
                 {"metrics", Tree{{"total_ipc", total_ipc}}},
                 {"stats", gpu.stats().json()}};
  result.text = table.plain() +
                fmt::format(
                    "\n{} cycles on {}, total IPC {:.2f}\n{:.2f} s: {:.3f} M warp instructions/s, {:.3f} M cycles/s; "
                    "peak memory {} MB\ndigest {}\n",
                    gpu.now(), config.name, total_ipc, seconds, static_cast<double>(warp_instructions) / seconds / 1e6,
                    static_cast<double>(gpu.now()) / seconds / 1e6, peak_rss_bytes() >> 20, digest);
  return result;
}

}  // namespace terrace
