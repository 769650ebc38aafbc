// CD-search (ICS'18): its rules and both modes on a machine on paper. A test of a claim of the catalogue carries its
// name. Whole runs are in cd_search_test.cc.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "papers/scripted_machine.h"
#include "tenancy/cd_search.h"

namespace terrace {
namespace {

/// IPC grows with every SM.
PaperTenant compute() {
  return {.kilo_ipc = [](u32 sms) { return u64{1'800} * sms; }, .l2_per_kilo = 4};
}
/// IPC grows up to so many SMs.
PaperTenant memory(u32 saturates_at, u64 l2_per_kilo = 130) {
  return {.kilo_ipc = [=](u32 sms) { return u64{1'200} * std::min(sms, saturates_at); },
          .l2_per_kilo = l2_per_kilo,
          .hit_percent = 20,
          .dram_per_kilo = l2_per_kilo * 8 / 10};
}
PaperMachine machine(std::vector<PaperTenant> tenants, CdSearch::Params params = {}) {
  const auto count = static_cast<u32>(tenants.size());
  return {std::make_unique<CdSearch>(PaperMachine::context(count), params), std::move(tenants)};
}
std::vector<Cycle> times(const PaperMachine& machine) {
  std::vector<Cycle> all;
  for (const auto& [at, plan] : machine.changes) all.push_back(at);
  return all;
}

TEST(Claim, cdsearch_mech_bandwidth_model) {
  const OffSmHardware hardware = PaperMachine::hardware();
  // 100 accesses in 1,000 instructions: 2 x 0.1 x 128 x 24 = 614.4 bytes per cycle. Of those that go to DRAM half its
  // peak counts: 1,536 x 0.1 + 253.44 x 0.9 x 0.5 = 267.6.
  const OffSmBandwidth scattered = off_sm_bandwidth(hardware, {10'000, 1'000, 100}, 50);
  EXPECT_EQ(scattered.demand, 614'400u);
  EXPECT_EQ(scattered.offered, 267'648u);
  EXPECT_TRUE(scattered.memory_intensive());
  // Everything hits: the crossbar is the limit, not the L2.
  EXPECT_EQ(off_sm_bandwidth(hardware, {10'000, 1'000, 1'000}, 50).offered, hardware.noc);
  EXPECT_TRUE(off_sm_bandwidth(hardware, {10'000, 1'000, 1'000}, 50).memory_intensive())
      << "without any traffic to DRAM";
  EXPECT_FALSE(off_sm_bandwidth(hardware, {10'000, 30, 0}, 50).memory_intensive());
  EXPECT_FALSE(off_sm_bandwidth(hardware, {10'000, 0, 0}, 50).memory_intensive());
  EXPECT_FALSE(off_sm_bandwidth(hardware, {0, 0, 0}, 50).memory_intensive()) << "it did nothing";
  // More than is offered, not as much.
  EXPECT_FALSE((OffSmBandwidth{100, 100}.memory_intensive()));
  EXPECT_EQ(CdSearch::Params{}.dram_percent, 50u);
}

TEST(Claim, cdsearch_mech_classification_windows) {
  PaperMachine paper = machine({compute(), compute()});
  paper.arrive({0, 1});
  EXPECT_EQ(paper.running(0), 12u);
  EXPECT_EQ(paper.running(1), 12u);
  EXPECT_EQ(paper.policy->appointment(), 1u) << "the warm-up begins when every SM is with its owner";
  paper.run_until(1);
  EXPECT_EQ(paper.policy->appointment(), 1u + 20'000) << "warm-up";
  paper.run_until(20'001);
  EXPECT_EQ(paper.policy->appointment(), 1u + 40'000) << "profile";
  EXPECT_FALSE(paper.said("compute-intensive"));
  paper.run_until(40'001);
  EXPECT_TRUE(paper.said("compute-intensive"));
}

TEST(CdSearch, AWindowBeginsWhenEverySmIsWithItsOwner) {
  PaperMachine paper = machine({compute(), compute()});
  paper.settled = false;
  paper.arrive({0, 1});
  paper.run_until(100'000);
  EXPECT_FALSE(paper.said("compute-intensive"));
  paper.settled = true;
  // It looked every 500 cycles from cycle 1 on.
  paper.run_until(140'000);
  EXPECT_FALSE(paper.said("compute-intensive"));
  paper.run_until(140'001);
  EXPECT_TRUE(paper.said("compute-intensive"));
}

TEST(Claim, cdsearch_mech_preemption_choice) {
  PaperTenant quick = memory(6), slow = memory(6);
  slow.ends_blocks = false;
  PaperMachine paper = machine({quick, slow, compute()});
  paper.arrive({0, 1, 2});
  EXPECT_EQ(paper.plan.leave[0], Leave::kPreempt) << "not known yet";
  paper.run_until(40'001);
  EXPECT_EQ(paper.plan.leave[0], Leave::kDrain) << "it ended blocks in the warm-up";
  EXPECT_EQ(paper.plan.leave[1], Leave::kPreempt);
}

TEST(Claim, cdsearch_mech_modes) {
  PaperMachine mixed = machine({memory(6), compute()}), all_memory = machine({memory(6), memory(4)}),
               all_compute = machine({compute(), compute()});
  for (PaperMachine* paper : {&mixed, &all_memory, &all_compute}) {
    paper->arrive({0, 1});
    paper->run_until(1'000'000);
    EXPECT_FALSE(paper->policy->searching());
    EXPECT_EQ(paper->policy->appointment(), kNever) << "it rests until somebody comes or goes";
  }
  EXPECT_TRUE(mixed.said("performance mode"));
  EXPECT_EQ(mixed.gated(), 0u);
  EXPECT_TRUE(all_memory.said("power mode"));
  EXPECT_GT(all_memory.gated(), 0u);
  EXPECT_TRUE(all_compute.said("shares stay even"));
  for (const auto& [at, plan] : all_compute.changes) EXPECT_EQ(plan.sms, all_compute.plan.sms) << "nothing moves";
}

TEST(CdSearch, WhoeverComesOrGoesBeginsItAnew) {
  PaperMachine paper = machine({memory(6), compute(), compute()});
  paper.arrive({0, 1});
  paper.run_until(1'000'000);
  EXPECT_EQ(paper.running(0), 6u);
  EXPECT_EQ(paper.running(1), 18u);
  paper.arrive({2});
  for (const u32 tenant : {0u, 1u, 2u}) EXPECT_EQ(paper.running(tenant), 8u);
  EXPECT_TRUE(paper.policy->searching());
  paper.run_until(2'000'000);
  EXPECT_EQ(paper.running(0), 6u);
  EXPECT_EQ(paper.running(1), 9u);
  EXPECT_EQ(paper.running(2), 9u);
  paper.depart(0);
  EXPECT_EQ(paper.running(1), 12u);
  EXPECT_EQ(paper.running(2), 12u);
  paper.run_until(3'000'000);
  EXPECT_FALSE(paper.policy->searching());
}

TEST(CdSearch, ANewcomerInTheMiddleOfASearchFindsNoStalledSm) {
  PaperMachine paper = machine({memory(4), compute(), memory(4)});
  paper.arrive({0, 1});
  paper.run_until(100'000);
  EXPECT_LT(paper.running(0), 12u);
  paper.arrive({2});
  for (const SmUse& use : paper.plan.sms) EXPECT_FALSE(use.stalled || use.gated);
}

TEST(Claim, cdsearch_mech_performance_search) {
  // On 10, 8 and 6 SMs it keeps 95 % of its IPC on 12, on 4 it does not.
  PaperMachine paper = machine({memory(6), compute()});
  paper.arrive({0, 1});
  paper.run_until(1'000'000);
  // 20,000 cycles of warm-up and as many of profile to a step, one cycle to begin it.
  EXPECT_EQ(times(paper), (std::vector<Cycle>{0, 40'001, 80'002, 120'003, 160'004, 200'005}));
  for (const auto& [at, kept] : std::map<Cycle, u32>{{40'001, 10}, {80'002, 8}, {120'003, 6}, {160'004, 4}}) {
    const SmPlan& plan = paper.changes[at];
    EXPECT_EQ(plan.running(TenantId(0)), kept);
    EXPECT_EQ(plan.running(TenantId(1)), 12u) << "SMs are stalled in the search, they do not move";
    EXPECT_EQ(plan.owned(TenantId(0)).size(), 12u);
  }
  EXPECT_EQ(paper.running(0), 6u) << "the last step that was good enough";
  EXPECT_EQ(paper.running(1), 18u);
  for (const SmUse& use : paper.plan.sms) EXPECT_FALSE(use.stalled);
  EXPECT_EQ(CdSearch::Params{}.loss_percent, 5u);
}

TEST(CdSearch, FivePercentMayBeLostAndNoMore) {
  for (const bool more : {false, true}) {
    PaperTenant tenant = memory(12);
    // 95 % of its IPC on 10 SMs, or a little less; nothing on fewer.
    tenant.kilo_ipc = [=](u32 sms) -> u64 { return sms == 12 ? 12'000 : sms == 10 ? (more ? 11'390 : 11'400) : 1'000; };
    PaperMachine paper = machine({tenant, compute()});
    paper.arrive({0, 1});
    paper.run_until(1'000'000);
    EXPECT_EQ(paper.running(0), more ? 12u : 10u);
    EXPECT_EQ(paper.running(1), more ? 12u : 14u);
  }
}

TEST(CdSearch, ATenantKeepsTwoSmsOfTwelveAtLeast) {
  PaperTenant never = memory(1);
  PaperMachine paper = machine({never, compute()});
  paper.arrive({0, 1});
  paper.run_until(1'000'000);
  EXPECT_EQ(paper.running(0), 2u);
  EXPECT_EQ(paper.running(1), 22u);
}

TEST(CdSearch, SeveralMemoryIntensiveTenantsAreSearchedOneAfterTheOther) {
  PaperMachine paper = machine({memory(2), compute(), memory(4), compute()});
  paper.arrive({0, 1, 2, 3});
  paper.run_until(60'000);
  EXPECT_EQ(paper.running(0), 4u);
  EXPECT_EQ(paper.running(2), 6u) << "not yet";
  paper.run_until(1'000'000);
  EXPECT_EQ(paper.running(0), 2u);
  EXPECT_EQ(paper.running(2), 4u);
  EXPECT_EQ(paper.running(1), 9u) << "six are free, and two get three each";
  EXPECT_EQ(paper.running(3), 9u);
}

TEST(Claim, cdsearch_mech_power_search) {
  // The first needs 4 SMs, as its IPC on one of them tells. The second is slower on one SM than its part of many: 6 are
  // predicted, and it needs 4.
  PaperTenant second = memory(4);
  second.kilo_ipc = [](u32 sms) -> u64 { return sms == 1 ? 800 : 1'200 * std::min<u64>(sms, 4); };
  PaperMachine paper = machine({memory(4), second});
  paper.arrive({0, 1});
  paper.run_until(1'000'000);
  EXPECT_EQ(times(paper), (std::vector<Cycle>{0, 40'001, 80'002, 120'003}));
  EXPECT_EQ(paper.changes[40'001].running(TenantId(0)), 1u);
  EXPECT_EQ(paper.changes[40'001].running(TenantId(1)), 1u);
  EXPECT_EQ(paper.changes[80'002].running(TenantId(0)), 4u) << "4,800 / 1,200";
  EXPECT_EQ(paper.changes[80'002].running(TenantId(1)), 6u) << "4,800 / 800";
  EXPECT_EQ(paper.running(0), 4u);
  EXPECT_EQ(paper.running(1), 6u);
  EXPECT_EQ(paper.gated(), 14u) << "the rest has no power";
  for (const SmUse& use : paper.plan.sms) EXPECT_FALSE(use.stalled);
}

TEST(CdSearch, PowerModeAddsOneSmAtATimeForThoseWhoNeedIt) {
  // Faster on one SM than its part of many: 6,000 / 2,500 SMs are predicted, rounded up 3, and 5 are needed.
  PaperTenant late = memory(5);
  late.kilo_ipc = [](u32 sms) -> u64 { return sms == 1 ? 2'500 : 1'200 * std::min<u64>(sms, 5); };
  PaperMachine paper = machine({late, memory(4)});
  paper.arrive({0, 1});
  paper.run_until(1'000'000);
  EXPECT_EQ(times(paper), (std::vector<Cycle>{0, 40'001, 80'002, 120'003, 160'004, 200'005}));
  EXPECT_EQ(paper.changes[80'002].running(TenantId(0)), 3u);
  EXPECT_EQ(paper.changes[120'003].running(TenantId(0)), 4u);
  EXPECT_EQ(paper.changes[160'004].running(TenantId(0)), 5u);
  for (const Cycle at : {80'002u, 120'003u, 160'004u}) EXPECT_EQ(paper.changes[at].running(TenantId(1)), 4u);
  EXPECT_EQ(paper.gated(), 15u);
}

TEST(CdSearch, APredictionIsAtLeastOneSmAndAtMostTheEvenShare) {
  PaperTenant dead = memory(4), fast = memory(4);
  dead.kilo_ipc = [](u32 sms) -> u64 { return sms == 1 ? 0 : 4'800; };
  fast.kilo_ipc = [](u32 sms) -> u64 { return sms == 1 ? 9'000 : 4'800; };
  PaperMachine paper = machine({dead, fast});
  paper.arrive({0, 1});
  paper.run_until(100'000);
  EXPECT_EQ(paper.running(0), 12u);
  EXPECT_EQ(paper.running(1), 1u);
}

TEST(CdSearch, OneTenantAloneKeepsAllSmsOrSavesPower) {
  PaperMachine one = machine({compute()}), other = machine({memory(6)});
  for (PaperMachine* paper : {&one, &other}) {
    paper->arrive({0});
    paper->run_until(1'000'000);
  }
  EXPECT_EQ(one.running(0), 24u);
  EXPECT_EQ(other.running(0), 6u);
  EXPECT_EQ(other.gated(), 18u);
}

TEST(CdSearch, WithMoreTenantsThanSmsThereIsNothingToSearch) {
  CdSearch search({.tenants = 16, .hardware = PaperMachine::hardware()}, {});
  SmPlan plan;
  plan.sms.resize(8);
  SmPartitioner::Situation all{.occasion = SmPartitioner::Occasion::kArrival, .now = 0, .present = {}, .epoch = {}};
  for (u32 i = 0; i < 16; ++i) all.present.push_back(TenantId(i));
  plan = search.divide(all, plan);
  EXPECT_FALSE(search.searching());
  EXPECT_EQ(search.appointment(), kNever);
}

TEST(CdSearch, DramUtilisationMisjudgesATenantThatSaturatesTheL2) {
  // As LAVAMD does: everything hits the L2, and the crossbar is the limit.
  PaperTenant lavamd = memory(6);
  lavamd.hit_percent = 100;
  lavamd.dram_per_kilo = 0;
  CdSearch::Params by_dram;
  by_dram.classifier = CdSearch::Classifier::kDramUtilisation;
  PaperMachine model = machine({lavamd, compute()}), dram = machine({lavamd, compute()}, by_dram);
  for (PaperMachine* paper : {&model, &dram}) {
    paper->arrive({0, 1});
    paper->run_until(1'000'000);
  }
  EXPECT_EQ(model.running(0), 6u);
  EXPECT_TRUE(dram.said("shares stay even"));
  // Its threshold: 10 % of 253.44 bytes per cycle are 0.198 lines, which the tenant below reads.
  for (const auto& [threshold, kind] : std::map<u32, std::string>{{9, "memory-intensive"}, {11, "compute-intensive"}}) {
    by_dram.dram_threshold = threshold;
    PaperTenant reads = compute();
    reads.kilo_ipc = [](u32) { return u64{12'000}; };
    reads.dram_per_kilo = 17;  // 12 x 0.017 x 128 = 26.1 bytes per cycle
    PaperMachine paper = machine({reads}, by_dram);
    paper.arrive({0});
    paper.run_until(40'001);
    EXPECT_TRUE(paper.said(kind)) << threshold;
  }
}

}  // namespace
}  // namespace terrace
