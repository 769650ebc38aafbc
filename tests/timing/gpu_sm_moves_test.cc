// SMs that are stalled, that change hands while their tenants run, and blocks that go on elsewhere: a test plays the
// part of the SM partitioner.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "timing/scripted_tenants.h"
#include "timing/tenant_runs.h"

namespace terrace {
namespace {

using Situation = SmPartitioner::Situation;
constexpr TenantId kFirst{0}, kSecond{1};
constexpr Cycle kEpoch = 1000;

/// Four SMs, two for each tenant.
GpuConfig small_machine() {
  GpuConfig config;
  config.sm.count = 4;
  config.tenancy.launch_gap = 0;
  config.run.epoch = kEpoch;
  config.run.livelock_cycles = 200'000;
  return config;
}

/// Blocks of two warps that load, compute and meet at a barrier, round by round.
ScriptedTenant busy(u32 rounds, u32 blocks) {
  const auto address = [](const ScriptPlace& at, u32 lane) {
    return 0x1'0000'0000ull + ((at.block * 2 + at.warp) * 37 + at.round * 11) % 8000 * 128 + lane * 4;
  };
  return {.script = {{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {}, {1}), address},
                     {plain_inst(InstClass::kInteger, {1}, {2})},
                     {memory_inst(MemoryAction::kStore, MemorySpace::kGlobal, 4, {2}, {}), address},
                     {plain_inst(InstClass::kBarrier, {}, {})}},
          .rounds = rounds,
          .blocks = blocks,
          .threads = 64};
}
u64 instructions_of(const ScriptedTenant& tenant) {
  return u64{tenant.blocks} * 2 * (4 * tenant.rounds + 1);
}

/// The plan from an epoch on: the first one ends in cycle 1000.
using Script = std::map<u64, std::function<void(SmPlan&)>>;
std::unique_ptr<SmPartitioner> follow(Script script) {
  return std::make_unique<ScriptedPartitioner>([script = std::move(script)](const Situation& now, SmPlan plan) {
    const auto step = script.find(now.now / kEpoch);
    if (now.occasion == SmPartitioner::Occasion::kEpoch && step != script.end()) step->second(plan);
    return plan;
  });
}

/// How much a statistic grew in each epoch.
std::vector<u64> series(Gpu& gpu, const std::string& name) {
  std::istringstream lines(gpu.timeline());
  std::string line, field;
  std::getline(lines, line);
  std::istringstream names(line);
  u32 column = 0;
  for (bool found = false; !found; column += !found) {
    EXPECT_TRUE(std::getline(names, field, ',')) << "no " << name;
    if (!names) return {};
    found = field == "\"" + name + "\"";
  }
  std::vector<u64> values;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    for (u32 i = 0; i <= column; ++i) std::getline(fields, field, ',');
    values.push_back(std::stoull(field));
  }
  return values;
}

u64 value(Gpu& gpu, const std::string& name) {
  std::istringstream lines(gpu.stats().csv());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + ",")) return std::stoull(line.substr(name.size() + 1));
  }
  ADD_FAILURE() << "no statistic " << name;
  return 0;
}

/// In which cycle the dispatcher's log first has a line with this text.
Cycle when(const std::string& log, const std::string& text) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(text) != line.npos) return std::stoull(line);
  }
  ADD_FAILURE() << "nothing says: " << text;
  return 0;
}

void expect_all_done(Gpu& gpu, const std::vector<ScriptedTenant>& tenants) {
  for (u32 i = 0; i < tenants.size(); ++i) {
    EXPECT_EQ(gpu.progress(TenantId(i)).completed_runs, 1u);
    EXPECT_EQ(gpu.progress(TenantId(i)).warp_instructions, instructions_of(tenants[i])) << "each once, none lost";
  }
  EXPECT_TRUE(gpu.quiet());
  gpu.stats().check_identities(!gpu.quiet());
}

TEST(StalledSm, IssuesNothingWhileOthersGoOn) {
  const std::vector<ScriptedTenant> scripts{busy(60, 60), busy(60, 60)};
  ScriptedTenants tenants(small_machine(), scripts, {},
                          follow({{2, [](SmPlan& plan) { plan.sms[1].stalled = true; }},
                                  {5, [](SmPlan& plan) { plan.sms[1].stalled = false; }}}));
  tenants.gpu().sample_epochs({"gpu.sm"});
  tenants.gpu().run({.relaunch = false});
  const auto issued = [&](u32 sm, u32 tenant) {
    return series(tenants.gpu(), fmt::format("gpu.sm.{}.warp_instructions{{tenant={}}}", sm, tenant));
  };
  const std::vector<u64> stalled = issued(1, 0);
  ASSERT_GT(stalled.size(), 7u);
  EXPECT_GT(stalled[1], 0u) << "until the end of the second epoch";
  for (const u32 epoch : {2u, 3u, 4u}) {
    EXPECT_EQ(stalled[epoch], 0u);
    EXPECT_GT(issued(0, 0)[epoch], 0u) << "its tenant's other SM goes on";
    EXPECT_GT(issued(2, 1)[epoch], 0u);
  }
  EXPECT_GT(stalled[5], 0u) << "and it goes on when it is let go";
  EXPECT_EQ(value(tenants.gpu(), "gpu.partition.stalled_cycles{tenant=0}"), 3 * kEpoch);
  expect_all_done(tenants.gpu(), scripts);
}

TEST(StalledSm, IsWaitedForWhenNobodyElseHasWork) {
  ScriptedTenant one = busy(200, 2);
  ScriptedTenants tenants(small_machine(), {one, busy(1, 1)}, {},
                          follow({{1, [](SmPlan& plan) { plan.sms[0].stalled = plan.sms[1].stalled = true; }},
                                  {40, [](SmPlan& plan) { plan.sms[0].stalled = plan.sms[1].stalled = false; }}}));
  tenants.gpu().run({.relaunch = false});
  EXPECT_EQ(tenants.gpu().progress(kFirst).warp_instructions, instructions_of(one));
  EXPECT_GT(tenants.gpu().now(), 40 * kEpoch) << "nobody was due meanwhile, and it is no deadlock";
}

TEST(SmThatChangesHands, DrainsWhileItsTenantRunsOnItsOther) {
  const std::vector<ScriptedTenant> scripts{busy(20, 200), busy(20, 200)};
  ScriptedTenants tenants(small_machine(), scripts, {},
                          follow({{1, [](SmPlan& plan) { plan.sms[1].owner = kSecond; }}}));
  Gpu& gpu = tenants.gpu();
  gpu.sample_epochs({"gpu.sm"});
  gpu.run({.relaunch = false});
  EXPECT_GT(value(gpu, "gpu.sm.1.blocks_started{tenant=0}"), 0u);
  EXPECT_GT(value(gpu, "gpu.sm.1.blocks_started{tenant=1}"), 0u);
  EXPECT_EQ(value(gpu, "gpu.sm.0.blocks_started{tenant=1}"), 0u);
  const std::vector<u64> begun = series(gpu, "gpu.sm.1.blocks_started{tenant=0}");
  for (u32 epoch = 1; epoch < begun.size(); ++epoch) EXPECT_EQ(begun[epoch], 0u) << "nothing of its old tenant comes";
  EXPECT_EQ(value(gpu, "gpu.partition.preempted_blocks{tenant=0}"), 0u);
  EXPECT_EQ(value(gpu, "gpu.partition.sms_given{tenant=1}"), 1u);
  EXPECT_EQ(value(gpu, "gpu.partition.sms_taken{tenant=0}"), 1u);
  expect_all_done(gpu, scripts);
}

void preempt_sm_1(SmPlan& plan) {
  plan.sms[1].owner = kSecond;
  plan.leave[index(kFirst)] = Leave::kPreempt;
}

TEST(PreemptedBlock, GoesOnElsewhereWhereItWas) {
  // Two blocks that would run for long, one on each SM of the first tenant.
  const std::vector<ScriptedTenant> scripts{busy(100, 2), busy(100, 4)};
  ScriptedTenants tenants(small_machine(), scripts, {}, follow({{3, preempt_sm_1}}));
  Gpu& gpu = tenants.gpu();
  gpu.log("dispatcher@0:1000000");
  gpu.run({.relaunch = false});
  EXPECT_EQ(value(gpu, "gpu.partition.preempted_blocks{tenant=0}"), 1u);
  EXPECT_EQ(value(gpu, "gpu.sm.0.blocks_done{tenant=0}"), 2u) << "both end on the SM that is left";
  EXPECT_EQ(value(gpu, "gpu.sm.1.blocks_done{tenant=0}"), 0u);
  EXPECT_EQ(value(gpu, "gpu.dispatcher.blocks_sent{tenant=0}"), 3u);
  const std::string log = gpu.take_log();
  const Cycle back = when(log, "block 1 of tenant 0 comes back unfinished from SM 1");
  EXPECT_GE(back, 3 * kEpoch);
  EXPECT_LT(back, 3 * kEpoch + 1000) << "when its last access has been answered, not when it ends";
  expect_all_done(gpu, scripts);
}

TEST(PreemptedBlock, GoesBeforeThoseThatHaveNotBegun) {
  GpuConfig config = small_machine();
  config.sm.blocks = 1;
  const std::vector<ScriptedTenant> scripts{busy(100, 6), busy(100, 6)};
  ScriptedTenants tenants(config, scripts, {}, follow({{1, preempt_sm_1}}));
  tenants.gpu().log("dispatcher@0:1000000");
  tenants.gpu().run({.relaunch = false});
  const std::string log = tenants.gpu().take_log();
  const Cycle third = when(log, "block 2 of tenant 0 goes to SM 0");
  const size_t again = log.rfind("block 1 of tenant 0 goes to SM 0");
  ASSERT_NE(again, log.npos);
  EXPECT_LT(again, log.find("block 2 of tenant 0 goes to SM 0")) << third;
  expect_all_done(tenants.gpu(), scripts);
}

TEST(PreemptedSm, IsClosedWhileRegistersMoveToMemoryAndItsBlocksGoOnWhenTheyAreBack) {
  GpuConfig config = small_machine();
  config.sm.blocks = 4;
  const std::vector<ScriptedTenant> scripts{busy(200, 8), busy(20, 400)};
  ScriptedTenants tenants(config, scripts, {}, follow({{1, preempt_sm_1}}));
  tenants.gpu().log("dispatcher@0:1000000");
  tenants.gpu().run({.relaunch = false});
  // Four blocks of two warps of 32 threads with 16 registers of four bytes, one after the other.
  const u64 bytes = 2 * 32 * 16 * 4;
  const double seconds =
      static_cast<double>(bytes) / static_cast<double>(config.dram.resolved().pin_bytes_per_second());
  const auto each = static_cast<Cycle>(std::ceil(seconds * config.core_mhz * 1e6));
  ASSERT_GT(each, 5u);
  const std::string log = tenants.gpu().take_log();
  const Cycle back = when(log, "block 7 of tenant 0 comes back unfinished from SM 1");
  const size_t after = log.find("comes back unfinished");
  const std::string rest = log.substr(log.find('\n', after) + 1);
  EXPECT_EQ(when(rest, "of tenant 1 goes to SM 1"), back + 4 * each);
  EXPECT_EQ(value(tenants.gpu(), "gpu.partition.closed_cycles"), 4 * each);
  EXPECT_EQ(value(tenants.gpu(), "gpu.partition.context_bytes{tenant=0}"), 2 * 4 * bytes) << "there and back";
  EXPECT_EQ(when(rest, "is restored on SM 0"), when(rest, "of tenant 0 goes to SM 0") + each);
  expect_all_done(tenants.gpu(), scripts);
}

TEST(GatedSm, HasNoPowerFromItsLastBlockOnAndTakesBlocksWhenItIsAwakeAgain) {
  GpuConfig config = small_machine();
  config.tenancy.wake_cycles = 700;
  config.sm.blocks = 2;
  const std::vector<ScriptedTenant> scripts{busy(4, 200), busy(4, 200)};
  ScriptedTenants tenants(config, scripts, {},
                          follow({{1, [](SmPlan& plan) { plan.sms[1] = {.gated = true}; }},
                                  {8, [](SmPlan& plan) { plan.sms[1] = {kSecond}; }}}));
  Gpu& gpu = tenants.gpu();
  gpu.log("dispatcher@0:1000000");
  gpu.run({.relaunch = false});
  const std::string log = gpu.take_log();
  const Cycle again = when(log, "of tenant 1 goes to SM 1");
  EXPECT_EQ(again, 8 * kEpoch + 700);
  const u64 gated = value(gpu, "gpu.partition.gated_cycles");
  EXPECT_LT(gated, 7 * kEpoch) << "its blocks ended first";
  EXPECT_GT(gated, 5 * kEpoch);
  EXPECT_EQ(value(gpu, "gpu.partition.wakes"), 1u);
  EXPECT_EQ(value(gpu, "gpu.partition.preempted_blocks{tenant=0}"), 0u);
  expect_all_done(gpu, scripts);
}

TEST(GatedSm, LosesPreemptedBlocksAtOnce) {
  const std::vector<ScriptedTenant> scripts{busy(400, 8), busy(20, 200)};
  ScriptedTenants tenants(small_machine(), scripts, {}, follow({{1, [](SmPlan& plan) {
                                                                   plan.sms[1] = {.gated = true};
                                                                   plan.leave[index(kFirst)] = Leave::kPreempt;
                                                                 }}}));
  Gpu& gpu = tenants.gpu();
  gpu.run({.relaunch = false});
  EXPECT_GT(value(gpu, "gpu.partition.preempted_blocks{tenant=0}"), 0u);
  EXPECT_GT(value(gpu, "gpu.partition.gated_cycles"), gpu.now() - 2 * kEpoch);
  expect_all_done(gpu, scripts);
}

TEST(GatedSm, ThatNobodyUsesChangesNothingButItsPower) {
  const std::vector<ScriptedTenant> scripts{busy(20, 100), busy(20, 100)};
  std::vector<Cycle> ends;
  for (const bool gated : {false, true}) {
    ScriptedTenants tenants(small_machine(), scripts, {},
                            follow({{1, [](SmPlan& plan) { plan.sms[1] = {}; }},
                                    {5, [=](SmPlan& plan) { plan.sms[1] = {.gated = gated}; }}}));
    tenants.gpu().run({.relaunch = false});
    ends.push_back(tenants.gpu().now());
    EXPECT_EQ(value(tenants.gpu(), "gpu.partition.gated_cycles") > 0, gated);
  }
  EXPECT_EQ(ends[0], ends[1]);
}

TEST(SmThatChangesHands, PutsItsBlocksAsideWhenTheyTakeTooLong) {
  // Blocks of the first tenant would take far longer.
  const std::vector<ScriptedTenant> scripts{busy(2000, 4), busy(20, 100)};
  ScriptedTenants tenants(small_machine(), scripts, {}, follow({{1, [](SmPlan& plan) {
                                                                   plan.sms[1].owner = kSecond;
                                                                   plan.drain_cycles = 1'500;
                                                                 }}}));
  tenants.gpu().log("dispatcher@0:1000000");
  tenants.gpu().run({.relaunch = false});
  const Cycle back = when(tenants.gpu().take_log(), "comes back unfinished from SM 1");
  EXPECT_GE(back, kEpoch + 1'500);
  EXPECT_LT(back, kEpoch + 2'500);
  expect_all_done(tenants.gpu(), scripts);
}

TEST(Present, ANewcomerWaitsNoLongerForLongBlocksThanTheyMayTakeToEnd) {
  // Blocks of the first tenant fill all SMs and run for far longer.
  std::vector<ScriptedTenant> scripts{busy(1000, 32), busy(20, 20)};
  scripts[1].arrive = 5'000;
  const auto first_block = [&](const std::string& drain_cycles) {
    GpuConfig config = machine_with("dws_30sm", {},
                                    {"tenancy.partition.use=present", "sm.count=4", "sm.blocks=8",
                                     "tenancy.partition.present.drain_cycles=" + drain_cycles});
    ScriptedTenants tenants(config, scripts);
    tenants.gpu().log("dispatcher@0:10000000");
    tenants.gpu().run({.relaunch = false});
    expect_all_done(tenants.gpu(), scripts);
    return when(tenants.gpu().take_log(), "of tenant 1 goes to SM");
  };
  const Cycle early = first_block("1500"), late = first_block("1000000000");
  EXPECT_GE(early, 5'000 + 1'500u);
  EXPECT_LT(early, 5'000 + 1'500 + 2'000u) << "the last accesses, and the way of the registers to memory";
  EXPECT_GT(late, 3 * early) << "without it, it waits until a block ends";
}

/// Every epoch some SM goes to the other tenant, in one way or the other.
std::unique_ptr<SmPartitioner> restless() {
  return std::make_unique<ScriptedPartitioner>([](const Situation& now, SmPlan plan) {
    if (now.occasion != SmPartitioner::Occasion::kEpoch) return plan;
    const u64 epoch = now.now / kEpoch;
    // SMs 0 and 3 stay whose they are, so that everybody always has one.
    SmUse& use = plan.sms[1 + epoch % 2];
    use.owner = use.owner == kFirst ? kSecond : kFirst;
    use.stalled = epoch % 3 == 0;
    for (const TenantId tenant : {kFirst, kSecond}) {
      plan.leave[index(tenant)] = (epoch / 2 + index(tenant)) % 3 == 0 ? Leave::kDrain : Leave::kPreempt;
    }
    return plan;
  });
}

TEST(SmsThatMove, ObeyTheLaws) {
  const std::vector<ScriptedTenant> scripts{busy(50, 60), busy(30, 90)};
  std::string straight;
  for (const Scheduler::Options& options :
       {Scheduler::Options{}, {.sleep = false}, {.permute_seed = 1}, {.sleep = false, .permute_seed = 2}}) {
    ScriptedTenants tenants(small_machine(), scripts, options, restless());
    tenants.gpu().run({.relaunch = false});
    EXPECT_GT(value(tenants.gpu(), "gpu.partition.preempted_blocks{tenant=0}"), 10u);
    expect_all_done(tenants.gpu(), scripts);
    const std::string digest = tenants.gpu().stats().digest();
    if (straight.empty()) straight = digest;
    EXPECT_EQ(digest, straight) << "sleep " << options.sleep << ", order " << options.permute_seed;
  }
}

TEST(SmsThatMove, CostNoLessThanTheBytesThatTheyMove) {
  const std::vector<ScriptedTenant> scripts{busy(50, 60), busy(30, 90)};
  const GpuConfig config = small_machine();
  ScriptedTenants tenants(config, scripts, {}, restless());
  Gpu& gpu = tenants.gpu();
  gpu.log("dispatcher@0:10000000");
  gpu.run({.relaunch = false});
  expect_all_done(gpu, scripts);
  const u64 per_second = config.dram.resolved().pin_bytes_per_second(), hertz = u64{config.core_mhz} * 1'000'000;
  const auto takes = [&](u64 bytes, Cycle cycles) { return cycles * per_second >= bytes * hertz; };
  u64 all = 0;
  for (const char* tenant : {"{tenant=0}", "{tenant=1}"})
    all += value(gpu, "gpu.partition.context_bytes" + std::string(tenant));
  ASSERT_GT(all, 0u);
  EXPECT_TRUE(takes(all / 2, value(gpu, "gpu.partition.closed_cycles"))) << "the way to memory closes SMs";
  // The way back, block by block. Each has two warps of 32 threads with 16 registers.
  const u64 each = 2 * 32 * 16 * 4;
  std::map<std::string, Cycle> sent;  // by the block and its SM
  u64 restored = 0;
  std::istringstream lines(gpu.take_log());
  for (std::string line; std::getline(lines, line);) {
    const size_t block = line.find("block "), goes = line.find(" goes to "), back = line.find(" is restored on ");
    if (goes != line.npos) sent[line.substr(block, goes - block) + line.substr(goes + 9)] = std::stoull(line);
    if (back == line.npos) continue;
    const auto from = sent.find(line.substr(block, back - block) + line.substr(back + 16));
    ASSERT_NE(from, sent.end()) << line;
    EXPECT_TRUE(takes(each, std::stoull(line) - from->second)) << line;
    ++restored;
  }
  EXPECT_EQ(restored * each, all / 2) << "all that left came back";
}

TEST(SmsThatMove, LetATenantLeaveInTheMiddle) {
  GpuConfig config = small_machine();
  for (const Cycle leave : {2'000u, 2'010u, 2'100u, 3'500u}) {
    std::vector<ScriptedTenant> scripts{busy(50, 60), busy(30, 90)};
    scripts[1].leave = leave;
    ScriptedTenants tenants(config, scripts, {}, restless());
    tenants.gpu().run({.relaunch = false});
    EXPECT_EQ(tenants.gpu().progress(kSecond).left, leave);
    EXPECT_EQ(tenants.gpu().progress(kFirst).warp_instructions, instructions_of(scripts[0]));
    EXPECT_TRUE(tenants.gpu().quiet());
    tenants.gpu().stats().check_identities(!tenants.gpu().quiet());
  }
}

}  // namespace
}  // namespace terrace
