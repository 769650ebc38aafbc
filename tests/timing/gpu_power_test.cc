// The power model: its arithmetic by hand, and what must hold of the energies of whole machines.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "power/power_model.h"
#include "stats/result_leaves.h"
#include "timing/scripted_tenants.h"
#include "timing/tenant_runs.h"

namespace terrace {
namespace {

using ::testing::HasSubstr;

/// The CD-search machine, with translation, so that every part has something to do.
RunRequest power_run(const std::string& tenants, std::vector<std::string> sets = {}) {
  sets.insert(sets.begin(), {"translation=before_l1", "dram.refresh=true"});
  RunRequest request = tenant_run(tenants, sets, {}, "cd_24sm");
  request.config.run.relaunch = false;
  return request;
}

using Stats = std::map<std::string, u64>;

/// All integer statistics.
Stats stats_of(const RunResult& result) {
  std::vector<ResultLeaf> leaves;
  flatten_result(*result.json.find("stats"), "", leaves);
  Stats stats;
  for (const ResultLeaf& leaf : leaves)
    if (const u64* value = std::get_if<u64>(&leaf.value.value)) stats[leaf.name] = *value;
  return stats;
}

Stats stats_of(Gpu& gpu) {
  Stats stats;
  for (const StatCell& cell : flat_cells(gpu.stats(), gpu.stats().values())) stats[cell.name] = cell.value;
  return stats;
}

bool is_power(const std::string& name) {
  return name.starts_with("gpu.power.");
}

Stats without_power(Stats stats) {
  std::erase_if(stats, [](const auto& entry) { return is_power(entry.first); });
  return stats;
}

/// Statistics that are neither energies nor what SMs without power count: their cycles, and their L1s, which are lost.
Stats without_gating(Stats stats) {
  stats = without_power(std::move(stats));
  std::erase_if(stats, [](const auto& entry) {
    return entry.first.starts_with("gpu.partition.gated") || entry.first.ends_with(".l1.invalidations");
  });
  return stats;
}

/// The sum over names that begin and end so.
u64 sum_of(const Stats& stats, const std::string& beginning, const std::string& end) {
  u64 sum = 0;
  for (const auto& [name, value] : stats)
    if (name.starts_with(beginning) && name.ends_with(end)) sum += value;
  return sum;
}

u64 energy_of(const Stats& stats, std::string_view part) {
  u64 sum = 0;
  for (const auto& [name, value] : stats)
    if (name.substr(0, name.find('{')) == "gpu.power." + std::string(part)) sum += value;
  return sum;
}

std::vector<PowerPart> all_parts() {
  std::vector<PowerPart> parts(tenant_parts().begin(), tenant_parts().end());
  parts.insert(parts.end(), common_parts().begin(), common_parts().end());
  return parts;
}

TEST(PowerModel, AMilliwattOverAMillionCyclesOfAMegahertzIsAMillijoule) {
  PowerConfig config;
  config.uncore_mw = 1;
  PowerActivity activity{.cycles = 1'000'000};
  activity(CommonPart::kUncore) = 1'000'000;
  PowerStats stats;
  PowerModel(config, 1).account(activity, stats);
  EXPECT_EQ(stats.total.value, 1'000'000'000u) << "pJ";
  EXPECT_EQ(stats.elapsed.value, 1'000'000'000'000u) << "ps: a second";
  EXPECT_EQ(stats.nobody.value, stats.total.value);
}

TEST(PowerModel, EventsCostTheirCoefficientAndTimeItsPower) {
  PowerConfig config;
  config.sm_static_mw = 3000;
  config.l2_pj = 7;
  PowerActivity activity{.cycles = 700};
  activity(TenantId(1), TenantPart::kSmStatic) = 1400;  // two SMs for 700 cycles at 700 MHz, a microsecond
  activity(TenantId(1), TenantPart::kL2) = 6;
  activity(CommonPart::kUnownedSms) = 1;
  PowerStats stats;
  PowerModel(config, 700).account(activity, stats);
  EXPECT_EQ(stats.of_tenants[static_cast<u32>(TenantPart::kSmStatic)][TenantId(1)].value, 6'000'000u);
  EXPECT_EQ(stats.of_tenants[static_cast<u32>(TenantPart::kL2)][TenantId(1)].value, 42u);
  EXPECT_EQ(stats.tenants[TenantId(1)].value, 6'000'042u);
  EXPECT_EQ(stats.nobody.value, 4285u) << "3000 * 1000 / 700, rounded down";
  EXPECT_EQ(stats.total.value, 6'004'327u);
  EXPECT_EQ(stats.elapsed.value, 1'000'000u) << "ps";
}

TEST(PowerModel, AnHourOfTheLargestMachineFitsInto64Bits) {
  PowerConfig config;
  config.sm_static_mw = 10'000;
  PowerActivity activity;
  activity(CommonPart::kUnownedSms) = u64{256} * 3600 * 1'000'000'000;
  PowerStats stats;
  PowerModel(config, 1000).account(activity, stats);
  EXPECT_EQ(stats.total.value, u64{256} * 3600 * 10 * 1'000'000'000'000) << "256 SMs of 10 W for 3600 s";
}

TEST(GpuPower, PartsAndTenantsMakeUpTheTotal) {
  const Stats stats = stats_of(simulate(power_run("gups hs bino")));
  u64 parts = 0;
  for (const PowerPart& part : all_parts()) parts += energy_of(stats, part.name);
  EXPECT_EQ(parts, energy_of(stats, "total"));
  EXPECT_EQ(energy_of(stats, "tenants") + energy_of(stats, "nobody"), energy_of(stats, "total"));
  for (u32 tenant = 0; tenant < 3; ++tenant) {
    u64 its = 0;
    for (const PowerPart& part : tenant_parts())
      its += stats.at(fmt::format("gpu.power.{}{{tenant={}}}", part.name, tenant));
    EXPECT_EQ(its, stats.at(fmt::format("gpu.power.tenants{{tenant={}}}", tenant)));
  }
}

TEST(GpuPower, EachPartIsWhatUnitsCountedTimesItsCoefficient) {
  // The port at which walks are answered by the L2 exports no flits.
  const RunRequest request = power_run("gups hs bino", {"mmu.walk_path.use=memory"});
  const PowerConfig& power = request.config.power;
  const RunResult result = simulate(request);
  const Stats stats = stats_of(result);
  const auto sm = [&](const std::string& counter) { return sum_of(stats, "gpu.sm.", counter); };
  for (u32 tenant = 0; tenant < 3; ++tenant) {
    const std::string of = fmt::format("{{tenant={}}}", tenant);
    const auto energy = [&](const std::string& part) { return stats.at("gpu.power." + part + of); };
    EXPECT_EQ(energy("issue"), power.issue_pj * sm(".warp_instructions" + of));
    EXPECT_EQ(energy("integer"), power.integer_pj * sm(".integer" + of));
    EXPECT_EQ(energy("single"), power.single_pj * sm(".single" + of));
    EXPECT_EQ(energy("special"), power.special_pj * sm(".special" + of));
    EXPECT_EQ(energy("control"), power.control_pj * (sm(".control" + of) + sm(".barriers" + of) + sm(".fences" + of)));
    EXPECT_EQ(energy("memory"), power.memory_pj * sm(".memory" + of));
    EXPECT_EQ(energy("registers"), power.register_pj * sm(".thread_instructions" + of));
    EXPECT_EQ(energy("l1_tlb"), power.l1_tlb_pj * sm(".l1_tlb.lookups" + of));
    EXPECT_EQ(energy("walks"), power.walk_pj * sum_of(stats, "gpu.mmu.", ".walks" + of));
    EXPECT_EQ(energy("dram_read"), power.dram_read_pj * sum_of(stats, "gpu.dram.", ".reads" + of));
    EXPECT_EQ(energy("dram_write"), power.dram_write_pj * sum_of(stats, "gpu.dram.", ".writes" + of));
    // A DRAM cycle of the bus: 8 bytes wide, four transfers.
    EXPECT_EQ(energy("dram_bus"), power.dram_byte_pj * 32 * sum_of(stats, "gpu.dram.", ".bus_cycles" + of));
    EXPECT_GT(energy("tenants"), 0u);
  }
  // What is exported without tenants.
  const u64 passes = sm(".shared_accesses") + sm(".shared_conflict_cycles");
  EXPECT_GT(passes, 0u);
  EXPECT_EQ(energy_of(stats, "shared"), power.shared_pj * passes);
  EXPECT_EQ(stats.at("gpu.power.shared{tenant=0}"), 0u) << "gups uses no shared memory";
  EXPECT_EQ(energy_of(stats, "noc"), power.noc_byte_pj * 32 * sum_of(stats, "gpu.noc.", ".flits"));
  EXPECT_EQ(energy_of(stats, "dram_activate"), power.dram_activate_pj * sum_of(stats, "gpu.dram.", ".activations"));
  EXPECT_EQ(energy_of(stats, "dram_refresh"), power.dram_refresh_pj * sum_of(stats, "gpu.dram.", ".refreshes"));
  const u64 cycles = number(*result.json.find("run"), "cycles");
  EXPECT_EQ(energy_of(stats, "uncore"), cycles * power.uncore_mw * 1000 / 700);
  EXPECT_EQ(energy_of(stats, "dram_background"), 6 * cycles * power.dram_background_mw * 1000 / 700);
  EXPECT_EQ(stats.at("gpu.power.sm_static{tenant=1}"), 8 * cycles * power.sm_static_mw * 1000 / 700);
  EXPECT_EQ(energy_of(stats, "unowned_sms"), 0u);
}

TEST(GpuPower, DoublingACoefficientDoublesItsPartAndChangesNothingElse) {
  // Small caches write lines back. No double precision, no tensor instructions, and no SM without a tenant.
  const RunRequest request = power_run("srad bino", {"l2.bytes=24576"});
  const RunResult once = simulate(request);
  const Stats before = stats_of(once);
  std::map<u32 PowerConfig::*, std::vector<std::string_view>, bool (*)(u32 PowerConfig::*, u32 PowerConfig::*)> by(
      [](u32 PowerConfig::* a, u32 PowerConfig::* b) {
        const PowerConfig place;
        return &(place.*a) < &(place.*b);
      });
  for (const PowerPart& part : all_parts()) by[part.coefficient].push_back(part.name);
  for (const auto& [coefficient, names] : by) {
    RunRequest doubled = request;
    doubled.config.power.*coefficient *= 2;
    const RunResult twice = simulate(doubled);
    const Stats after = stats_of(twice);
    EXPECT_EQ(digest_of(once), digest_of(twice));
    EXPECT_EQ(without_power(before), without_power(after));
    u64 grown = 0;
    for (const PowerPart& part : all_parts()) {
      const u64 was = energy_of(before, part.name), is = energy_of(after, part.name);
      const bool its = std::find(names.begin(), names.end(), part.name) != names.end();
      if (!its) {
        EXPECT_EQ(is, was) << names[0] << " is doubled, and " << part.name << " changes";
        continue;
      }
      if (part.name != "double" && part.name != "tensor" && part.name != "unowned_sms") {
        EXPECT_GT(was, 0u) << part.name << " is never used";
      }
      // A power over a time that is no whole number of picoseconds is rounded down, for each tenant.
      EXPECT_GE(is, 2 * was) << part.name;
      EXPECT_LE(is, 2 * was + (part.counts == PowerPart::Counts::kCycles ? 2 : 0)) << part.name;
      grown += is - was;
    }
    EXPECT_EQ(energy_of(after, "total"), energy_of(before, "total") + grown);
    EXPECT_EQ(energy_of(after, "elapsed"), energy_of(before, "elapsed"));
  }
}

TEST(GpuPower, AMachineWithoutAPowerModelDoesTheSameWork) {
  RunRequest request = power_run("gups hs");
  const RunResult with = simulate(request);
  request.config.power.enabled = false;
  const RunResult without = simulate(request);
  EXPECT_EQ(digest_of(with), digest_of(without));
  EXPECT_EQ(without_power(stats_of(with)), stats_of(without));
  EXPECT_EQ(without.json.find("power"), nullptr);
  EXPECT_EQ(without.text.find("Power"), std::string::npos);
}

/// The lines of a timeline, by column.
std::vector<std::map<std::string, std::string>> lines_of(const std::string& csv) {
  std::istringstream text(csv);
  std::string line, cell;
  std::vector<std::string> names;
  std::vector<std::map<std::string, std::string>> lines;
  while (std::getline(text, line)) {
    std::istringstream cells(line);
    std::vector<std::string> row;
    while (std::getline(cells, cell, ',')) row.push_back(cell);
    if (names.empty()) {
      for (std::string& name : row) std::erase(name, '"');
      names = row;
      continue;
    }
    auto& entry = lines.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) entry[names[i]] = row[i];
  }
  return lines;
}

TEST(GpuPower, EnergyIsPowerOverTimeEpochByEpoch) {
  for (const char* length : {"run.epoch=700", "run.epoch=1777"}) {
    RunRequest request = power_run("gups hs", {length});
    request.timeline = true;
    request.timeline_of = {"gpu.power."};
    const RunResult result = simulate(request);
    const Stats stats = stats_of(result);
    const auto lines = lines_of(result.timeline);
    ASSERT_GT(lines.size(), 2u);
    for (const auto& [name, value] : stats) {
      if (!is_power(name)) continue;
      u64 sum = 0;
      for (const auto& line : lines) sum += std::stoull(line.at(name));
      EXPECT_EQ(sum, value) << name << " with " << length;
    }
    for (const auto& line : lines) {
      const double joules = std::stod(line.at("gpu.power.total")), seconds = std::stod(line.at("gpu.power.elapsed"));
      EXPECT_NEAR(std::stod(line.at("gpu.power.watts")), joules / seconds, 0.001);
    }
  }
}

TEST(GpuPower, LookingAtItOftenChangesNothing) {
  const RunResult once = simulate(power_run("gups hs"));
  RunRequest often = power_run("gups hs", {"run.epoch=13"});
  often.timeline = true;
  EXPECT_EQ(stats_of(once), stats_of(simulate(often)));
}

TEST(GpuPower, TheWarmUpIsLeftOut) {
  RunRequest request = power_run("gups");
  const u64 cycles = number(*simulate(request).json.find("run"), "cycles");
  request.config.run.warmup = 1400;
  const Stats stats = stats_of(simulate(request));
  EXPECT_EQ(stats.at("gpu.power.elapsed"), cycles * 1'000'000 / 700 - 2'000'000);
}

TEST(GpuPower, TensorInstructionsCostByTheirWork) {
  GpuConfig config = machine_with("cd_24sm", {}, {"tenancy.launch_gap=0", "power.tensor_pj=700"});
  ScriptedTenant tenant;
  tenant.script = {{plain_inst(InstClass::kTensor, {1}, {1})}};
  tenant.script[0].inst.tensor_work = 2048;
  tenant.rounds = 100;
  ScriptedTenants tenants(config, {tenant});
  tenants.gpu().run({});
  const Stats stats = stats_of(tenants.gpu());
  const u64 instructions = sum_of(stats, "gpu.sm.", ".tensor{tenant=0}");
  ASSERT_GT(instructions, 0u);
  EXPECT_EQ(stats.at("gpu.power.tensor{tenant=0}"), instructions * 4 * 700);
}

/// One block, which needs one SM of 24. At the end of the first epoch its tenant keeps that SM, and all others become nobody's:
/// gated, or idle.
struct GatedRun {
  Stats stats;
  Cycle end;
};
GatedRun gated_run(Cycle epoch, bool gated) {
  const GpuConfig config = machine_with("cd_24sm", {}, {"tenancy.launch_gap=0", fmt::format("run.epoch={}", epoch)});
  ScriptedTenant tenant;
  tenant.script = {{plain_inst(InstClass::kInteger, {1}, {1})}};
  tenant.rounds = 100;
  const auto divide = [gated](const SmPartitioner::Situation& now, SmPlan plan) {
    if (now.occasion != SmPartitioner::Occasion::kEpoch) return plan;
    for (u32 sm = 1; sm < plan.sms.size(); ++sm) plan.sms[sm] = {.gated = gated};
    return plan;
  };
  ScriptedTenants tenants(config, {tenant}, {}, std::make_unique<ScriptedPartitioner>(divide));
  tenants.gpu().run({});
  return {stats_of(tenants.gpu()), tenants.gpu().now()};
}

TEST(GpuPower, GatingIdleSmsChangesNothingButTheirPower) {
  const Cycle from = 350;
  const GatedRun open = gated_run(from, false), gated = gated_run(from, true);
  ASSERT_GT(open.end, from);
  EXPECT_EQ(open.end, gated.end);
  for (const auto& [name, value] : without_gating(open.stats)) EXPECT_EQ(gated.stats.at(name), value) << name;
  EXPECT_EQ(sum_of(gated.stats, "gpu.sm.", ".l1.invalidations"),
            sum_of(open.stats, "gpu.sm.", ".l1.invalidations") + 23);
  const auto static_energy = [](u64 cycles) { return cycles * 3'000'000 / 700; };  // 3 W at 700 MHz
  const u64 saved = static_energy(23 * (open.end - from));
  EXPECT_EQ(open.stats.at("gpu.power.unowned_sms"), saved);
  EXPECT_EQ(gated.stats.at("gpu.power.unowned_sms"), 0u);
  for (const auto& [name, value] : open.stats) {
    if (!is_power(name)) continue;
    const bool falls = name == "gpu.power.unowned_sms" || name == "gpu.power.nobody" || name == "gpu.power.total";
    EXPECT_EQ(gated.stats.at(name), falls ? value - saved : value) << name;
  }
}

TEST(GpuPower, SmsThatThePartitionerGatesDrawNothing) {
  GpuConfig config = machine_with("cd_24sm", {}, {"tenancy.launch_gap=0", "run.epoch=350"});
  ScriptedTenant tenant;
  tenant.script = {{plain_inst(InstClass::kInteger, {1}, {1})}};
  tenant.rounds = 100;
  // At the first end of an epoch the tenant keeps SM 0, which runs its block, SM 1 is nobody's, and the others are gated.
  const auto divide = [](const SmPartitioner::Situation& now, SmPlan plan) {
    if (now.occasion != SmPartitioner::Occasion::kEpoch) return plan;
    for (u32 sm = 1; sm < plan.sms.size(); ++sm) plan.sms[sm] = {.gated = sm > 1};
    return plan;
  };
  ScriptedTenants tenants(config, {tenant}, {}, std::make_unique<ScriptedPartitioner>(divide));
  Gpu& gpu = tenants.gpu();
  gpu.run({});
  const u64 end = gpu.now();
  ASSERT_GT(end, 350u);
  const auto energy = [&](const char* name) { return gpu.stats().total(fmt::format("gpu.power.{}", name)).value(); };
  EXPECT_EQ(energy("sm_static"), (24 * 350 + (end - 350)) * 3'000'000 / 700);
  EXPECT_EQ(energy("unowned_sms"), (end - 350) * 3'000'000 / 700) << "SM 1";
}

TEST(GpuPower, ContextsOfPreemptedBlocksCostWhatTheirBytesCost) {
  const GpuConfig config = machine_with("cd_24sm", {}, {"tenancy.launch_gap=0", "run.epoch=350"});
  ScriptedTenant tenant;
  tenant.script = {{plain_inst(InstClass::kInteger, {1}, {1})}};
  tenant.rounds = 100;
  // The only block leaves SM 0 and goes on elsewhere.
  const auto divide = [](const SmPartitioner::Situation& now, SmPlan plan) {
    if (now.occasion != SmPartitioner::Occasion::kEpoch) return plan;
    plan.leave.fill(Leave::kPreempt);
    plan.sms[0] = {};
    return plan;
  };
  ScriptedTenants tenants(config, {tenant}, {}, std::make_unique<ScriptedPartitioner>(divide));
  tenants.gpu().run({});
  const Stats stats = stats_of(tenants.gpu());
  const u64 bytes = 32 * 16 * 4;  // 16 registers of 32 threads
  ASSERT_EQ(stats.at("gpu.partition.context_bytes{tenant=0}"), 2 * bytes) << "there and back";
  EXPECT_EQ(sum_of(stats, "gpu.dram.", ".reads{tenant=0}") + sum_of(stats, "gpu.dram.", ".writes{tenant=0}"), 0u)
      << "nothing else touched memory";
  EXPECT_EQ(energy_of(stats, "dram_write"), bytes / 128 * config.power.dram_write_pj);
  EXPECT_EQ(energy_of(stats, "dram_read"), bytes / 128 * config.power.dram_read_pj);
  EXPECT_EQ(energy_of(stats, "dram_bus"), 2 * bytes * config.power.dram_byte_pj);
  EXPECT_EQ(energy_of(stats, "noc"), 2 * bytes * config.power.noc_byte_pj);
  EXPECT_EQ(stats.at("gpu.power.noc{tenant=0}"), energy_of(stats, "noc")) << "its tenant's";
}

TEST(GpuPower, SmsWithoutATenantAndSmsInTurnAreNobodys) {
  const RunResult some = simulate(power_run("gups", {"run.sms=6"}));
  const u64 cycles = number(*some.json.find("run"), "cycles");
  EXPECT_EQ(energy_of(stats_of(some), "sm_static"), 6 * cycles * 3'000'000 / 700);
  EXPECT_EQ(energy_of(stats_of(some), "unowned_sms"), 18 * cycles * 3'000'000 / 700);
  const Stats turns = stats_of(simulate(power_run("gups hs", {"tenancy.sharing=time"})));
  EXPECT_EQ(energy_of(turns, "sm_static"), 0u);
  EXPECT_GT(energy_of(turns, "unowned_sms"), 0u);
}

TEST(GpuPower, TheResultHasWattsAndJoules) {
  const RunResult result = simulate(power_run("gups hs"));
  const Stats stats = stats_of(result);
  const Tree& power = *result.json.find("power");
  const auto real = [](const Tree& tree, const char* name) { return std::get<double>(tree.find(name)->value); };
  const double joules = static_cast<double>(stats.at("gpu.power.total")) / 1e12;
  const double seconds = static_cast<double>(stats.at("gpu.power.elapsed")) / 1e12;
  EXPECT_DOUBLE_EQ(real(power, "joules"), joules);
  EXPECT_DOUBLE_EQ(real(power, "seconds"), seconds);
  EXPECT_NEAR(real(power, "watts"), joules / seconds, 1e-9);
  double parts = 0, tenants = real(power, "nobody_joules");
  for (const auto& [name, part] : power.find("components")->members()) parts += real(part, "watts");
  for (const Tree& tenant : power.find("tenant_joules")->items()) tenants += std::get<double>(tenant.value);
  EXPECT_NEAR(parts, real(power, "watts"), 1e-6);
  EXPECT_NEAR(tenants, joules, 1e-12);
  EXPECT_THAT(result.text, HasSubstr(fmt::format("Power: {:.1f} W on average", joules / seconds)));
  EXPECT_THAT(result.text, HasSubstr("mJ of gups"));
}

}  // namespace
}  // namespace terrace
