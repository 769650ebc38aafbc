// SPDX-License-Identifier: MIT
#include "run/run_result.h"

#include <sys/resource.h>

#include "config/field_list.h"
#include "engine/check.h"
#include "gpu/until.h"
#include "run/blame_table.h"
#include "run/power_table.h"
#include "run/unknown_opcodes.h"
#include "text/table.h"
#include "version.h"

namespace terrace {
namespace {

double ratio(u64 a, u64 b) {
  return b == 0 ? 0.0 : static_cast<double>(a) / static_cast<double>(b);
}

/// A tenant's rate over its completed executions, from its arrival on; without one, in a window, and if it comes and goes,
/// over the time that it was there.
struct Rate {
  u64 cycles, warp_instructions, thread_instructions;
  bool capped;
  double ipc() const { return ratio(thread_instructions, cycles); }
  double warp_ipc() const { return ratio(warp_instructions, cycles); }
};
Rate rate_of(const TenantProgress& progress, bool window, Cycle now) {
  if (progress.arrived == kNever) return {0, 0, 0, false};
  if (progress.visits > 0) {
    return {std::min(now, progress.left) - progress.arrived - progress.absent, progress.warp_instructions,
            progress.thread_instructions, false};
  }
  const bool never = progress.completed_runs == 0;
  if (never || window) {
    const Cycle end = std::min(now, progress.left);
    return {end - std::min(end, progress.arrived), progress.warp_instructions, progress.thread_instructions, never};
  }
  return {progress.last_completion - progress.arrived, progress.completed_warp_instructions,
          progress.completed_thread_instructions, false};
}

/// Sums over all units of one tenant's statistics.
class TenantTotals {
 public:
  TenantTotals(const StatTree& stats, TenantId tenant) : stats_(stats), tenant_(tenant) {}

  u64 operator()(const std::string& pattern) const {
    const std::optional<u64> total = stats_.total(pattern, tenant_);
    SIM_CHECK(total, "the result uses {}, and no counter is called so", pattern);
    return *total;
  }
  /// Of a statistic that only some policies or machines keep.
  u64 if_kept(const std::string& pattern) const { return stats_.total(pattern, tenant_).value_or(0); }

 private:
  const StatTree& stats_;
  TenantId tenant_;
};

/// How many instructions needed 1 to 16 reads of page tables, 17 to 32, and so on.
Tree work_by_reads(const TenantTotals& of) {
  Tree::List work;
  for (u32 i = 0; i < InstructionWalkStats::kBuckets; ++i) {
    const u32 low = i * InstructionWalkStats::kBucketReads + 1, high = low + InstructionWalkStats::kBucketReads - 1;
    const bool last = i + 1 == InstructionWalkStats::kBuckets;
    work.emplace_back(of(fmt::format("gpu.sm.*.load_store.walks.work_{}_{}", low, last ? "up" : std::to_string(high))));
  }
  return Tree(std::move(work));
}

/// How often a walk's read hits the L2 cache, by level of the page table, root first.
Tree l2_hit_rate_by_level(const TenantTotals& of) {
  Tree::List rates;
  for (u32 level = 1; level <= kWalkLevels; ++level) {
    rates.emplace_back(ratio(of(fmt::format("gpu.l2.*.walk_hits_level_{}", level)),
                             of(fmt::format("gpu.l2.*.walk_lookups_level_{}", level))));
  }
  return Tree(std::move(rates));
}

/// Translation as the papers report it, per tenant.
Tree describe_translation(const StatTree& stats, TenantId tenant) {
  const TenantTotals of(stats, tenant);
  const u64 l1_lookups = of.if_kept("gpu.sm.*.l1_tlb.lookups");
  const u64 l2_lookups = of("gpu.l2_tlb.*.lookups"), l2_misses = of("gpu.l2_tlb.*.misses");
  const u64 walks = of("gpu.mmu.*.walks_done");
  const u64 queued = of("gpu.mmu.*.queue_cycles"), served = of("gpu.mmu.*.service_cycles");
  const u64 stolen =
      of.if_kept("gpu.mmu.*.walk_scheduler.stolen") + of.if_kept("gpu.mmu.*.walk_scheduler.stolen_extra");
  const u64 several = of("gpu.sm.*.load_store.walks.several");
  return {{"l1_tlb_lookups", l1_lookups},
          {"l1_tlb_hit_rate", ratio(of.if_kept("gpu.sm.*.l1_tlb.hits"), l1_lookups)},
          {"l2_tlb_lookups", l2_lookups},
          {"l2_tlb_hit_rate", ratio(of("gpu.l2_tlb.*.hits"), l2_lookups)},
          {"l2_tlb_misses", l2_misses},
          {"l2_tlb_merges", of("gpu.l2_tlb.*.merges")},
          {"instructions_stalled_per_miss", ratio(of.if_kept("gpu.sm.*.l1_tlb.waiting_instructions"), l2_misses)},
          {"walks", walks},
          {"walk_latency", ratio(queued + served, walks)},
          {"walk_queue_cycles", ratio(queued, walks)},
          {"walk_service_cycles", ratio(served, walks)},
          {"reads_per_walk", ratio(of("gpu.mmu.*.reads"), walks)},
          {"walk_l2_hit_rate_by_level", l2_hit_rate_by_level(of)},
          {"stolen", stolen},
          {"stolen_share", ratio(stolen, walks)},
          {"stolen_on_arrival", of.if_kept("gpu.mmu.*.walk_scheduler.stolen_on_arrival")},
          {"interleaving", ratio(of.if_kept("gpu.mmu.*.walk_scheduler.interleaving"), walks)},
          {"walking_instructions", of("gpu.sm.*.load_store.walks.instructions")},
          {"work_by_16_reads", work_by_reads(of)},
          {"interleaved_share", ratio(of("gpu.sm.*.load_store.walks.interleaved"), several)},
          {"first_walk_latency", ratio(of("gpu.sm.*.load_store.walks.first_latency"), several)},
          {"last_walk_latency", ratio(of("gpu.sm.*.load_store.walks.last_latency"), several)},
          {"walk_gap", ratio(of("gpu.sm.*.load_store.walks.gap"), several)}};
}

Tree describe_tenant(const TenantResult& tenant, const TenantProgress& progress, const Rate& rate) {
  Tree::List faults;
  if (!progress.fault.empty()) faults.emplace_back(progress.fault);
  Tree tree{{"name", tenant.name},
            {"workload", tenant.workload},
            {"ptx_hash", fmt::format("{:016x}", tenant.ptx_hash)},
            {"sms", u64{tenant.sms}},
            {"arrived", progress.arrived == kNever ? Tree() : Tree(progress.arrived)},
            {"cycles", rate.cycles},
            {"warp_instructions", progress.warp_instructions},
            {"thread_instructions", progress.thread_instructions},
            {"ipc", rate.ipc()},
            {"warp_ipc", rate.warp_ipc()},
            {"completed_runs", progress.completed_runs},
            {"capped", rate.capped},
            {"faults", Tree(std::move(faults))}};
  if (tenant.first_completion != kNever) tree["first_completion"] = Tree(tenant.first_completion);
  if (progress.left != kNever) tree["left"] = Tree(progress.left);
  return tree;
}

u64 peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<u64>(usage.ru_maxrss) * 1024;
}

Tree describe_kernels(const std::vector<KernelRecord>& kernels) {
  Tree::List trees;
  for (const KernelRecord& kernel : kernels) {
    trees.push_back({{"tenant", u64{index(kernel.tenant)}},
                     {"name", kernel.name},
                     {"began", kernel.began},
                     {"ended", kernel.ended},
                     {"cycles", kernel.ended - kernel.began},
                     {"warp_instructions", kernel.warp_instructions},
                     {"thread_instructions", kernel.thread_instructions},
                     {"ipc", ratio(kernel.thread_instructions, kernel.ended - kernel.began)}});
  }
  return Tree(std::move(trees));
}

Tree describe_decisions(const std::vector<SmDecision>& decisions) {
  Tree::List trees;
  for (const SmDecision& each : decisions) {
    Tree::List running;
    for (const u32 sms : each.running) running.emplace_back(u64{sms});
    trees.push_back({{"cycle", each.at},
                     {"tenant", each.tenant ? Tree(u64{index(*each.tenant)}) : Tree()},
                     {"text", each.text},
                     {"sms", Tree(std::move(running))}});
  }
  return Tree(std::move(trees));
}

/// The decision log for a person: a line each, and the SMs of each tenant where they change.
std::string decision_lines(const std::vector<SmDecision>& decisions, const std::vector<TenantResult>& tenants) {
  std::string lines =
      "\nWhat the SM partitioner measured and decided (cycle, tenant, SMs of each tenant from then on):\n";
  std::vector<u32> running;
  for (const SmDecision& each : decisions) {
    std::string sms;
    if (each.running != running) {
      for (const u32 count : each.running) sms += fmt::format("{}{}", sms.empty() ? " [" : " ", count);
      sms += "]";
      running = each.running;
    }
    lines += fmt::format("{:>10}  {}{}{}\n", each.at, each.tenant ? tenants[index(*each.tenant)].name + ": " : "",
                         each.text, sms);
  }
  return lines;
}

/// One line of the table for a person.
std::vector<std::string> row_of(const TenantResult& tenant, const TenantProgress& progress, const Rate& rate,
                                const Tree* translation, std::string note) {
  std::vector<std::string> row{tenant.name,
                               fmt::format("{}", tenant.sms),
                               fmt::format("{}", rate.cycles),
                               fmt::format("{}", progress.warp_instructions),
                               fmt::format("{}", progress.thread_instructions),
                               fmt::format("{:.2f}", rate.ipc()),
                               fmt::format("{:.3f}", rate.warp_ipc()),
                               fmt::format("{}", progress.completed_runs)};
  if (translation) {
    row.push_back(translation->find("walks")->text());
    row.push_back(fmt::format("{:.0f}", std::get<double>(translation->find("walk_latency")->value)));
  }
  row.push_back(std::move(note));
  return row;
}

/// Which instructions did nothing because nobody knows what they do.
std::string unknown_line(const TenantResult& tenant) {
  return fmt::format("{}: {}\n", tenant.name, unknown_opcodes_text(tenant.unknown_opcodes));
}

/// What the last column says of a tenant.
std::string note_on(const TenantResult& tenant, const TenantProgress& progress, bool capped, bool check_asked) {
  if (tenant.check) return fmt::format("{}: {}", tenant.check->passed ? "passed" : "FAILED", tenant.check->message);
  std::string note = !progress.fault.empty() ? "fault" : capped ? "capped" : "";
  if (progress.left != kNever) note += fmt::format("{}left in cycle {}", note.empty() ? "" : ", ", progress.left);
  if (check_asked) note += note.empty() ? "not completed" : "; not completed";
  return note;
}

}  // namespace

RunResult describe_run(Gpu& gpu, GpuConfig& config, const std::vector<TenantResult>& tenants, const RunTime& time,
                       bool check_asked) {
  RunResult result;
  u64 warp_instructions = 0, thread_instructions = 0;
  double total_ipc = 0;
  Tree::List tenant_trees;
  TextTable table{{"tenant", "SMs", "cycles", "warp inst", "thread inst", "IPC", "warp IPC", "runs"}, {}, {}};
  if (gpu.translates()) table.header.insert(table.header.end(), {"walks", "cycles/walk"});
  table.right.assign(table.header.size(), true);
  table.right[0] = false;
  table.header.emplace_back("");
  for (u32 i = 0; i < tenants.size(); ++i) {
    const TenantResult& tenant = tenants[i];
    const TenantProgress progress = gpu.progress(TenantId(i));
    const Rate rate = rate_of(progress, is_window(config.run.until), gpu.now());
    warp_instructions += progress.warp_instructions;
    thread_instructions += progress.thread_instructions;
    total_ipc += rate.ipc();
    Tree tree = describe_tenant(tenant, progress, rate);
    if (gpu.translates()) tree["translation"] = describe_translation(gpu.stats(), TenantId(i));
    if (tenant.check) tree["check"] = Tree{{"passed", tenant.check->passed}, {"message", tenant.check->message}};
    if (!tenant.unknown_opcodes.empty()) tree["unknown_opcodes"] = unknown_opcodes_tree(tenant.unknown_opcodes);
    if (!progress.fault.empty())
      result.faults.push_back(fmt::format("tenant {}, {}, was ended by a fault: {}", i, tenant.name, progress.fault));
    result.checks_passed &= tenant.check ? tenant.check->passed : !check_asked;
    table.rows.push_back(
        row_of(tenant, progress, rate, tree.find("translation"), note_on(tenant, progress, rate.capped, check_asked)));
    tenant_trees.push_back(std::move(tree));
  }
  result.all_faulted = result.faults.size() == tenants.size();
  // Most identities hold when nothing is in flight: a run that was cut off may end in the middle of a request.
  gpu.stats().check_identities(!gpu.quiet());
  const std::string digest = gpu.stats().digest();
  // Speeds are of the part that ran here.
  const double cycles = static_cast<double>(gpu.now() - time.from), seconds = time.seconds;
  const double instructions = static_cast<double>(warp_instructions - time.warp_instructions_before);
  result.json = {{"schema", "terrace.run/1"},
                 {"version", Tree{{"terrace", version()}, {"revision", revision()}, {"compiler", compiler()}}},
                 {"config", parse_toml(resolved_toml(config), "the resolved configuration")},
                 {"run", Tree{{"cycles", gpu.now()},
                              {"warp_instructions", warp_instructions},
                              {"thread_instructions", thread_instructions},
                              {"threads", u64{gpu.threads()}},
                              {"wall_seconds", seconds},
                              {"warp_instructions_per_second", instructions / seconds},
                              {"cycles_per_second", cycles / seconds},
                              {"peak_rss_bytes", peak_rss_bytes()},
                              {"digest", digest}}},
                 {"tenants", Tree(std::move(tenant_trees))},
                 {"kernels", describe_kernels(gpu.kernels())},
                 {"metrics", Tree{{"total_ipc", total_ipc}}},
                 {"stats", gpu.stats().json()}};
  if (time.from != 0) result.json["run"]["resumed_from"] = Tree(time.from);
  if (const auto under_way = gpu.kernels_under_way(); !under_way.empty())
    result.json["kernels_under_way"] = describe_kernels(under_way);
  result.text = table.plain() + fmt::format(
                                    "\n{} cycles on {}, total IPC {:.2f}\n{:.2f} s: {:.3f} M warp instructions/s, "
                                    "{:.3f} M cycles/s; peak memory {} MB{}\ndigest {}\n",
                                    gpu.now(), config.name, total_ipc, seconds, instructions / seconds / 1e6,
                                    cycles / seconds / 1e6, peak_rss_bytes() >> 20,
                                    time.from == 0 ? "" : fmt::format("; resumed in cycle {}", time.from), digest);
  for (const TenantResult& tenant : tenants)
    if (!tenant.unknown_opcodes.empty()) result.text += unknown_line(tenant);
  if (!gpu.decisions().empty()) {
    result.json["decisions"] = describe_decisions(gpu.decisions());
    result.text += decision_lines(gpu.decisions(), tenants);
  }
  if (config.run.stats_every != 0) result.json["over_time"] = gpu.series();
  std::vector<std::string> names;
  for (const TenantResult& tenant : tenants) names.push_back(tenant.name);
  if (const PowerSummary power(gpu.stats()); !power.empty()) {
    result.json["power"] = power.json();
    result.text += power.text(names);
  }
  if (const BlameSummary blame(gpu.stats()); !blame.empty()) {
    result.json["blame"] = blame.json();
    result.text +=
        "\nCycles that requests spent waiting, by the tenant that held the resource:\n" + blame.table(names).plain();
  }
  return result;
}

}  // namespace terrace
