// Page walk stealing (HPCA'21): every rule of DWS and DWS++, and every claim of the catalogue that the mechanism or the
// configuration alone can show. A test of a claim carries its name.
// SPDX-License-Identifier: MIT
#include "translation/walk_schedulers/dws.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <optional>
#include <set>

#include "frontend/workload.h"
#include "papers/designs.h"
#include "papers/dws_cost.h"
#include "stats/stat_tree.h"
#include "sweep/sweep_file.h"
#include "text/tree.h"
#include "translation/walk_scheduler.h"
#include "translation/walk_schedulers/owned_queues.h"

namespace terrace {
namespace {

constexpr TenantId kA{0}, kB{1}, kC{2};

/// A scheduler with its walkers, driven by hand.
class Bench {
 public:
  explicit Bench(const std::string& design, u32 tenants = 2, u32 walkers = 4, u32 entries = 48,
                 const std::vector<std::string>& sets = {})
      : config_(machine_with("dws_30sm", {design}, sets)), idle(walkers) {
    scheduler = config_.mmu.walk_scheduler.make(
        {.walkers = walkers, .queue_entries = entries, .tenants = tenants, .make_queue = [this](u32 size, u32 queue) {
           return config_.mmu.walk_order.make({.entries = size, .queue = queue});
         }});
    for (u32 i = 0; i < walkers; ++i) idle.insert(i);
    serving.resize(walkers);
  }
  i32 arrive(TenantId tenant) {
    const Walk walk{.key = ++arrived_, .page = arrived_, .order = arrived_, .tenant = tenant};
    const i32 placed = scheduler->place(walk, idle, 0);
    if (placed >= 0) {
      idle.erase(static_cast<u32>(placed));
      serving[static_cast<u32>(placed)] = walk;
    }
    return placed;
  }
  /// The walker ends its walk; the next one's number, or 0 when it stays idle.
  u64 finish(u32 walker) {
    idle.insert(walker);
    const auto next = scheduler->next(walker, 0);
    if (!next) return 0;
    idle.erase(walker);
    serving[walker] = *next;
    return next->key;
  }
  void fill_walkers(TenantId tenant) {
    for (u32 i = 0; i < serving.size(); ++i) arrive(tenant);
  }
  /// Every walker has a walk of its owner.
  void fill_walkers_evenly() {
    for (u32 i = 0; i < serving.size(); ++i) arrive(static_cast<TenantId>(i % 2));
  }

 private:
  GpuConfig config_;
  u64 arrived_ = 0;

 public:
  WalkerSet idle;
  std::vector<Walk> serving;
  /// Nothing: the scheduler does not count it.
  std::optional<u64> interleaving(TenantId tenant) const {
    StatTree stats(2);
    stats.add("scheduler", *scheduler);
    return stats.total("scheduler.interleaving", tenant);
  }
  const WalkStealStats& steals() const { return dynamic_cast<const StealingWalkScheduler&>(*scheduler).steals; }

  std::unique_ptr<WalkScheduler> scheduler;
};

TEST(Dws, AnArrivingWalkTakesItsOwnIdleWalkerBeforeAForeignOne) {
  Bench bench("dws");
  EXPECT_EQ(bench.arrive(kB), 1);  // walkers 1 and 3 are B's
  EXPECT_EQ(bench.arrive(kB), 3);
  EXPECT_EQ(bench.arrive(kB), 2) << "any idle walker (DWS-A3): the next after its own first one";
  EXPECT_EQ(bench.steals().stolen_on_arrival[kB].value, 1u);
}

TEST(Dws, NobodysWalkersAreAlwaysTheFirstToBeBorrowed) {
  // Walkers 0, 1 and 2 are A's, B's and C's. Whoever has none idle borrows from the next one round the circle.
  for (const auto& [tenant, from] : {std::pair(kA, 1), std::pair(kB, 2), std::pair(kC, 0)}) {
    Bench bench("dws", 3, 3, 36);
    bench.arrive(tenant);
    EXPECT_EQ(bench.arrive(tenant), from) << index(tenant);
  }
}

TEST(Dws, OfTwoTenantsWithAsManyWaitingTheNextRoundTheCircleIsStolenFrom) {
  for (const auto& [owner, from] : {std::pair(kA, kB), std::pair(kB, kC), std::pair(kC, kA)}) {
    Bench bench("dws", 3, 3, 36);
    for (const TenantId tenant : {kA, kB, kC}) bench.arrive(tenant);
    for (const TenantId tenant : {kA, kB, kC}) {
      if (tenant != owner) bench.arrive(tenant);
    }
    bench.finish(index(owner));
    EXPECT_EQ(bench.serving[index(owner)].tenant, from) << index(owner);
  }
}

TEST(Dws, WithoutStealingOnArrivalAForeignIdleWalkerStaysIdle) {
  Bench bench("dws", 2, 4, 48, {"mmu.walk_scheduler.dws.steal_on_arrival=false"});
  bench.arrive(kB);
  bench.arrive(kB);
  EXPECT_EQ(bench.arrive(kB), WalkScheduler::kQueued);
  EXPECT_TRUE(bench.idle.contains(0));
  EXPECT_EQ(bench.arrive(kA), 0);
  EXPECT_EQ(bench.finish(0), 3u) << "stealing is looked at when a walk ends";
}

TEST(Dws, AFullTenantIsRefusedAndTheOtherIsNot) {
  Bench bench("dws");
  bench.fill_walkers_evenly();
  for (u32 i = 0; i < 24; ++i) ASSERT_EQ(bench.arrive(kA), WalkScheduler::kQueued);  // two queues of twelve
  EXPECT_EQ(bench.arrive(kA), WalkScheduler::kRefused);
  EXPECT_EQ(bench.arrive(kB), WalkScheduler::kQueued);
}

TEST(Dws, AStolenWalkIsTheHeadOfTheLongestQueueOfTheBusiestTenant) {
  Bench bench("dws", 3, 3, 36);
  bench.arrive(kA);
  bench.arrive(kB);
  bench.arrive(kC);
  bench.arrive(kB);                              // 4
  for (u32 i = 0; i < 3; ++i) bench.arrive(kC);  // 5, 6, 7
  EXPECT_EQ(bench.finish(0), 5u);
  EXPECT_EQ(bench.steals().stolen[kC].value, 1u);
  EXPECT_EQ(bench.serving[0].selection_cycles, 2u) << "a steal costs two cycles (DWS-A14)";
}

TEST(Dws, StaticWalkersAreNeverLent) {
  Bench bench("static_walkers");
  bench.arrive(kB);
  bench.arrive(kB);
  EXPECT_EQ(bench.arrive(kB), WalkScheduler::kQueued) << "although A's walkers are idle";
  EXPECT_EQ(bench.finish(0), 0u);
  EXPECT_EQ(bench.finish(3), 3u);
}

TEST(Dws, InterleavingCountsTheForeignWalkInServiceOnly) {
  Bench bench("dws");
  bench.fill_walkers(kA);  // two of them on B's walkers
  bench.arrive(kB);
  bench.arrive(kB);
  EXPECT_EQ(bench.interleaving(kB), 2u);
  bench.finish(1);
  bench.finish(3);
  bench.arrive(kB);
  EXPECT_EQ(bench.interleaving(kB), 2u) << "its walkers serve B now";
}

TEST(Dws, InTheBaselineInterleavingCountsForeignWalksAhead) {
  Bench bench("baseline");
  bench.fill_walkers(kA);
  for (u32 i = 0; i < 5; ++i) bench.arrive(kA);
  bench.arrive(kB);
  bench.arrive(kA);
  EXPECT_EQ(bench.interleaving(kB), 5u);
  EXPECT_EQ(bench.interleaving(kA), 1u);
}

TEST(Dws, WalkersThatAreNeverLentHaveNoInterleavingToCount) {
  Bench bench("static_walkers");
  EXPECT_EQ(bench.interleaving(kA), std::nullopt);
}

/// Ends an epoch of 200 arrivals in which `a` were A's; all of them begin at once and end.
void epoch_of(Bench& bench, u32 a) {
  for (u32 i = 0; i < 200; ++i) {
    const i32 walker = bench.arrive(i < a ? kA : kB);
    ASSERT_GE(walker, 0);
    bench.finish(static_cast<u32>(walker));
  }
}

/// Walks of B that wait when the first walker of A, which has one walk of A waiting, prefers one of B; 0: never does.
u32 first_extra_steal(const std::string& design, u32 a_arrivals, u32 own_waiting = 1) {
  for (u32 theirs = 1; theirs <= 24; ++theirs) {
    Bench bench(design);
    epoch_of(bench, a_arrivals);
    bench.fill_walkers_evenly();
    for (u32 i = 0; i < own_waiting; ++i) bench.arrive(kA);
    for (u32 i = 0; i < theirs; ++i) bench.arrive(kB);
    bench.finish(0);
    if (bench.serving[0].tenant == kB) return theirs;
  }
  return 0;
}

/// One walker and one queue of twelve each, after an even epoch: so many walks of A wait, and twelve of B.
void crowd(Bench& bench, u32 own) {
  epoch_of(bench, 100);
  bench.arrive(kA);
  bench.arrive(kB);
  for (u32 i = 0; i < own; ++i) bench.arrive(kA);
  for (u32 i = 0; i < 12; ++i) bench.arrive(kB);
  bench.finish(0);
}
/// Whether the walker of A then takes one of B.
bool steals(const std::string& design, u32 own) {
  Bench bench(design, 2, 2, 24);
  crowd(bench, own);
  return bench.serving[0].tenant == kB;
}

TEST(DwsPp, BeforeTheFirstEpochNothingIsStolenFromTheOwnersTime) {
  Bench bench("dws_pp");
  bench.fill_walkers_evenly();
  bench.arrive(kA);
  for (u32 i = 0; i < 24; ++i) bench.arrive(kB);
  bench.finish(0);
  EXPECT_EQ(bench.serving[0].tenant, kA);
}

TEST(DwsPp, AnAttemptThatFindsNoPlaceCountsAsAnArrival) {
  // B's queues are full and it asks again and again; A comes now and then. Counting accepted walks alone, an epoch would
  // begin with 26 of B and 26 of A, as alike as can be, and go on at the pace at which walks end.
  Bench bench("dws_pp");
  bench.fill_walkers_evenly();
  for (u32 i = 0; i < 24; ++i) ASSERT_EQ(bench.arrive(kB), WalkScheduler::kQueued);
  for (u32 i = 0; i < 150; ++i) ASSERT_EQ(bench.arrive(kB), WalkScheduler::kRefused);
  for (u32 i = 0; i < 22; ++i) ASSERT_EQ(bench.arrive(kA), WalkScheduler::kQueued);
  // 200 arrivals, 176 of B: more than four times A's 24, so that nothing is stolen from A's time.
  for (u32 left = 22; left > 0; --left) {
    bench.finish(left % 2 * 2);
    EXPECT_EQ(bench.serving[left % 2 * 2].tenant, kA) << left;
  }
}

TEST(DwsPp, OfMoreThanTwoTenantsTheBusiestNeverStealsExtra) {
  Bench bench("dws_pp", 3, 3, 36);
  for (u32 i = 0; i < 200; ++i) {
    const i32 walker = bench.arrive(i < 90 ? kA : i < 160 ? kB : kC);
    ASSERT_GE(walker, 0);
    bench.finish(static_cast<u32>(walker));
  }
  bench.arrive(kA);
  bench.arrive(kB);
  bench.arrive(kC);
  bench.arrive(kA);
  bench.arrive(kB);
  for (u32 i = 0; i < 12; ++i) bench.arrive(kC);
  bench.finish(0);
  EXPECT_EQ(bench.serving[0].tenant, kA) << "A had most arrivals (DWS-A9)";
  bench.finish(1);
  EXPECT_EQ(bench.serving[1].tenant, kC) << "B compares 70 with 90 and steals above 0.4";
}

// --- Claims -----------------------------------------------------------------------------------------------------

TEST(Claim, dws_mech_queue_split) {
  const GpuConfig config = machine_with("dws_30sm", {"dws"});
  const OwnedQueues queues({.walkers = config.mmu.walkers,
                            .queue_entries = config.mmu.queue_entries,
                            .tenants = 2,
                            .make_queue = [&](u32 entries, u32 queue) {
                              return config.mmu.walk_order.make({.entries = entries, .queue = queue});
                            }});
  EXPECT_EQ(queues.entries(), 12u);
  EXPECT_EQ(queues.entries() * queues.walkers(), 192u);
}

TEST(Claim, dws_mech_steal_condition) {
  Bench bench("dws");
  bench.fill_walkers_evenly();  // 1 to 4
  bench.arrive(kA);             // 5, queue 0
  bench.arrive(kA);             // 6, queue 2
  bench.arrive(kA);             // 7, queue 0
  bench.arrive(kB);             // 8, queue 1
  EXPECT_EQ(bench.finish(2), 6u) << "its own queue";
  EXPECT_EQ(bench.finish(2), 5u) << "another queue of its owner";
  EXPECT_EQ(bench.finish(0), 7u);
  EXPECT_EQ(bench.finish(0), 8u) << "only then another tenant's";
}

TEST(Claim, dws_mech_enqueue) {
  Bench bench("dws");
  bench.fill_walkers_evenly();
  for (u32 i = 0; i < 6; ++i) bench.arrive(kA);  // 5, 7, 9 to queue 0; 6, 8, 10 to queue 2
  bench.finish(0);                               // queue 0 has one place more now
  bench.arrive(kA);                              // 11
  EXPECT_EQ(bench.finish(0), 7u);
  EXPECT_EQ(bench.finish(0), 9u);
  EXPECT_EQ(bench.finish(0), 11u) << "it joined the emptier queue";
}

TEST(Claim, dws_mech_epoch) {
  // Ten walks more than the owner's are above 0.4 of 24 entries, but only an epoch that is over says so.
  for (const u32 arrivals : {199u, 200u}) {
    Bench bench("dws_pp");
    for (u32 i = 0; i < arrivals - 16; ++i) {
      const i32 walker = bench.arrive(i % 2 == 0 ? kA : kB);
      ASSERT_GE(walker, 0);
      bench.finish(static_cast<u32>(walker));
    }
    bench.fill_walkers_evenly();
    bench.arrive(kA);
    for (u32 i = 0; i < 11; ++i) bench.arrive(kB);
    bench.finish(0);
    EXPECT_EQ(bench.serving[0].tenant, arrivals == 200 ? kB : kA) << arrivals << " arrivals";
  }
}

TEST(Claim, dws_table4_diff_thres) {
  // Two queues of twelve: 24 entries of a tenant; one walk of the owner waits. The first difference above the
  // threshold:
  EXPECT_EQ(first_extra_steal("dws_pp", 100), 1u + 10) << "R = 1: more than 0.4 x 24 = 9.6";
  EXPECT_EQ(first_extra_steal("dws_pp", 80), 1u + 10) << "R = 1.5";
  EXPECT_EQ(first_extra_steal("dws_pp", 79), 1u + 15) << "R = 1.53: 0.6 x 24 = 14.4";
  EXPECT_EQ(first_extra_steal("dws_pp", 67), 1u + 15) << "R = 1.99";
  EXPECT_EQ(first_extra_steal("dws_pp", 66), 1u + 20) << "R = 2.03: 0.8 x 24 = 19.2";
  EXPECT_EQ(first_extra_steal("dws_pp", 50), 1u + 20) << "R = 3";
  EXPECT_EQ(first_extra_steal("dws_pp", 49), 1u + 22) << "R = 3.08: 0.9 x 24 = 21.6";
  EXPECT_EQ(first_extra_steal("dws_pp", 40), 1u + 22) << "R = 4";
  EXPECT_EQ(first_extra_steal("dws_pp", 39), 0u) << "R = 4.13: never";
  EXPECT_EQ(first_extra_steal("dws_pp", 0), 0u) << "nothing arrived from A (DWS-A7)";
  EXPECT_EQ(first_extra_steal("dws_pp", 150), 1u + 20) << "the direction does not enter (DWS-A6)";
}

TEST(Claim, dws_table4_queue_thres) {
  EXPECT_TRUE(steals("dws_pp", 6)) << "0.51 x 12 = 6.12";
  EXPECT_FALSE(steals("dws_pp", 7));
}

TEST(Claim, dws_table7_variants) {
  EXPECT_TRUE(steals("dws_pp_conservative", 2)) << "0.17 x 12 = 2.04";
  EXPECT_FALSE(steals("dws_pp_conservative", 3));
  EXPECT_EQ(first_extra_steal("dws_pp_aggressive", 100), 1u + 8) << "0.3 x 24 = 7.2";
  EXPECT_EQ(first_extra_steal("dws_pp_aggressive", 10), 1u + 8) << "for every R";
  EXPECT_TRUE(steals("dws_pp_aggressive", 6));
  EXPECT_FALSE(steals("dws_pp_aggressive", 7));
}

TEST(Claim, dws_mech_no_consecutive_steal) {
  Bench bench("dws_pp", 2, 2, 24);
  crowd(bench, 2);
  EXPECT_EQ(bench.serving[0].tenant, kB) << "a first extra steal";
  bench.finish(0);
  EXPECT_EQ(bench.serving[0].tenant, kA) << "not two in a row";
  bench.finish(0);
  EXPECT_EQ(bench.serving[0].tenant, kB) << "an owner's walk cleared the bit";
}

TEST(Claim, dws_mech_dynamic_tenants) {
  for (const char* design : {"dws", "dws_pp"}) {
    Bench bench(design);
    bench.fill_walkers_evenly();
    for (u32 i = 0; i < 10; ++i) bench.arrive(i % 2 == 0 ? kA : kB);
    bench.scheduler->divide_among({kA, kB, kC});
    EXPECT_EQ(bench.scheduler->waiting(), 10u) << "what waits stays";
    EXPECT_EQ(bench.arrive(kC), WalkScheduler::kQueued) << "the newcomer has a walker";
    bench.scheduler->divide_among({kC});
    std::set<u64> served;
    for (u32 i = 0; i < 40 && bench.scheduler->waiting() > 0; ++i) served.insert(bench.finish(i % 4));
    EXPECT_EQ(served.size(), 11u) << "everything drains";
    EXPECT_EQ(bench.scheduler->waiting(), 0u);
  }
}

/// The printed sum does not prove the widths: counters of 12 bits and owners of 2 are those with which it comes out
/// (DWS-A5). What can fail is that it follows from our walkers and queue entries.
TEST(Claim, dws_cost_state) {
  const GpuConfig config = machine_with("dws_30sm", {"dws"});
  const DwsCost printed = dws_cost(config.mmu.walkers, 2, config.mmu.queue_entries, kPrintedWidths);
  EXPECT_EQ(printed.free_entries, 80u);
  EXPECT_EQ(printed.tenants_walkers, 80u);
  EXPECT_EQ(printed.walkers_tenant, 32u);
  EXPECT_EQ(printed.total(), 192u);
  const DwsCost fields = dws_cost(config.mmu.walkers, 2, config.mmu.queue_entries, least_widths(2));
  EXPECT_EQ(fields.total(), 80u + 64 + 16) << "what the fields need";
  EXPECT_EQ(std::bit_width(config.mmu.walkers - 1), 4) << "bits of a walker's name";
  EXPECT_EQ(least_widths(8).owner, 3u) << "bits of a tenant's name: one to three";
}

TEST(Claim, dws_table1_config) {
  const GpuConfig c = machine_with("dws_30sm", {"baseline"});
  EXPECT_EQ(c.sm.count, 30u);
  EXPECT_EQ(c.core_mhz, 1137u);
  EXPECT_EQ(c.l1_tlb.entries, 32u);
  EXPECT_EQ(c.l1_tlb.miss_entries, 12u);
  EXPECT_EQ(c.l2_tlb.entries, 1024u);
  EXPECT_EQ(c.l2_tlb.ways, 16u);
  EXPECT_EQ(c.mmu.walkers, 16u);
  EXPECT_EQ(c.mmu.queue_entries, 192u);
  EXPECT_EQ(c.mmu.walk_cache.entries, 128u);
  EXPECT_EQ(c.l1.bytes, 16u << 10);
  EXPECT_EQ(c.l2.bytes, 2u << 20);
  EXPECT_EQ(c.l2.ways, 16u);
  EXPECT_EQ(c.l2.slices, 16u);
  EXPECT_EQ(c.dram.channels, 16u);
  // Four transfers per command clock.
  EXPECT_EQ(u64{c.dram.channels} * c.dram.bus_bits / 8 * c.dram.clock_mhz * 4, 345'600u) << "MB/s";
  EXPECT_EQ(c.pages.bytes, 4096u);
  EXPECT_EQ(c.sm.warp_scheduler.use, "gto");
}

TEST(Claim, dws_table2_workloads) {
  // In rising order of misses, as printed. All exist; the experiment has every pair of eight of them, and
  // configs/sets/dws.toml the 45 pairs of the paper's number.
  const std::vector<std::pair<std::string, char>> printed{
      {"mm", 'L'},   {"hs", 'L'},  {"ray", 'L'}, {"fft", 'L'}, {"lps", 'M'}, {"jpeg", 'M'}, {"lib", 'M'},
      {"srad", 'M'}, {"3ds", 'M'}, {"blk", 'H'}, {"qtc", 'H'}, {"sad", 'H'}, {"gups", 'H'}};
  std::map<std::string, u32> rank;
  for (u32 i = 0; i < printed.size(); ++i) {
    for (const Workload* workload : all_workloads()) {
      if (workload->info().name == printed[i].first) rank[printed[i].first] = i;
    }
  }
  const std::map<char, std::string> name{{'L', "light"}, {'M', "medium"}, {'H', "heavy"}};
  const std::string path = source_folder() + "/configs/experiments/dws_pairs.toml";
  Mistakes mistakes(path);
  const SweepFile file = parse_sweep(path, read_file(path), "", mistakes);
  mistakes.raise();
  EXPECT_EQ(rank.size(), printed.size());
  std::set<std::string> pairs, tenants;
  for (const Mix& mix : file.grids.front().mixes) {
    tenants.insert(mix.tenants.begin(), mix.tenants.end());
    const u32 first = rank.at(mix.tenants.at(0)), second = rank.at(mix.tenants.at(1));
    EXPECT_GT(first, second) << mix.label << ": the heavier tenant is named first";
    EXPECT_EQ(mix.list, name.at(printed[first].second) + "_" + name.at(printed[second].second)) << mix.label;
    pairs.insert(mix.label);
  }
  EXPECT_EQ(tenants.size(), 8u);
  EXPECT_EQ(pairs.size(), tenants.size() * (tenants.size() - 1) / 2) << "every pair of them";
}

}  // namespace
}  // namespace terrace
