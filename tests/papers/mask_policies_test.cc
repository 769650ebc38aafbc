// MASK (ASPLOS'18): the rules of its three mechanisms, each policy told of epochs and requests by hand, and what they
// cost. A test of a claim of the catalogue carries its name. Whole runs are in mask_test.cc.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <set>

#include "papers/designs.h"
#include "papers/mask_cost.h"
#include "support/dram_bench.h"

namespace terrace {
namespace {

constexpr TenantId kA{0}, kB{1}, kC{2};
using Into = TlbFillPolicy::Into;

// ---- TLB-fill tokens ----

/// A fill policy of two tenants with two SMs each, told of epochs by hand.
class Tokens {
 public:
  explicit Tokens(const std::vector<std::string>& sets = {}) {
    const GpuConfig config = machine_with("mask_maxwell30", {"mask_tlb"}, sets);
    policy = config.l2_tlb.fill.make({.tenants = 2, .sms = 4, .warps = 64});
    epochs.resize(2);
    set_warps(kA, 50, {0, 1});
    set_warps(kB, 50, {2, 3});
  }
  void set_warps(TenantId tenant, u32 warps, const std::vector<u32>& sms) {
    TenantEpoch& epoch = epochs[index(tenant)];
    epoch.warps = warps;
    epoch.sms.reset();
    for (const u32 sm : sms) epoch.sms.set(sm);
  }
  /// Look-ups of an epoch in thousands, `percent` of them misses; then the epoch ends.
  void epoch(u32 percent, TenantId tenant = kA) {
    for (u32 i = 0; i < 1000; ++i) policy->looked_up(tenant, i >= percent * 10);
    policy->epoch(epochs);
  }
  Into fill(u32 sm, u8 warp, TenantId tenant = kA) { return fill({{SmId(sm), warp}}, tenant); }
  Into fill(std::vector<TlbAsker> askers, TenantId tenant = kA) { return policy->choose(7, tenant, askers); }
  /// Warps of a tenant that hold a token.
  u32 tokens(TenantId tenant = kA) {
    u32 held = 0;
    for (const u32 sm : {2u * index(tenant), 2u * index(tenant) + 1})
      for (u8 warp = 0; warp < 64; ++warp) held += fill(sm, warp, tenant) == Into::kTlb;
    return held;
  }

  std::unique_ptr<TlbFillPolicy> policy;
  std::vector<TenantEpoch> epochs;
};

TEST(Claim, mask_mech_first_epoch) {
  Tokens bench;
  EXPECT_EQ(bench.fill(0, 63), Into::kTlb) << "no bypassing in the first epoch";
  bench.epoch(50);
  EXPECT_EQ(bench.fill(0, 63), Into::kBypass);
}

TEST(Claim, mask_mech_initial_tokens) {
  for (const u32 warps : {10u, 50u, 96u}) {
    Tokens bench;
    bench.set_warps(kA, warps, {0, 1});
    bench.epoch(50);
    EXPECT_EQ(bench.tokens(), warps * 80 / 100) << "80 % of the warps seen";
  }
}

TEST(Claim, mask_mech_token_update_threshold) {
  Tokens bench;
  bench.epoch(50);
  bench.epoch(52);
  EXPECT_EQ(bench.tokens(), 40u) << "two points more are within the threshold";
  bench.epoch(55);
  EXPECT_EQ(bench.tokens(), 35u) << "more misses: a tenth of the warps loses its token";
  bench.epoch(53);
  EXPECT_EQ(bench.tokens(), 35u);
  bench.epoch(50);
  EXPECT_EQ(bench.tokens(), 40u) << "fewer misses: more tokens";
}

TEST(Claim, mask_mech_token_assignment) {
  Tokens bench;
  bench.set_warps(kA, 5, {0, 1});
  bench.epoch(50);
  // Four tokens: warps 0 and 1 of both SMs, in the order of warps, then SMs.
  std::set<std::pair<u32, u32>> holders;
  for (const u32 sm : {0u, 1u})
    for (u8 warp = 0; warp < 64; ++warp)
      if (bench.fill(sm, warp) == Into::kTlb) holders.insert({sm, warp});
  EXPECT_EQ(holders, (std::set<std::pair<u32, u32>>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  bench.set_warps(kA, 5, {0, 1});
  bench.epoch(60);
  EXPECT_EQ(bench.fill(0, 0), Into::kTlb) << "the lowest warps keep theirs";
  EXPECT_EQ(bench.fill(1, 1), Into::kBypass);
}

TEST(Claim, mask_mech_epoch_length) {
  for (const char* design : {"mask", "mask_tlb", "mask_cache", "mask_dram"})
    EXPECT_EQ(machine_with("mask_maxwell30", {design}).run.epoch, 100'000u) << design;
}

TEST(MaskTokens, EachTenantHasItsOwn) {
  Tokens bench;
  bench.epoch(50);
  bench.epoch(60);  // B looks nothing up: it has no rate, and nothing changes for it
  EXPECT_EQ(bench.tokens(kA), 35u);
  EXPECT_EQ(bench.tokens(kB), 40u);
}

TEST(MaskTokens, StayBetweenNoneAndOneForEachWarp) {
  Tokens bench;
  bench.epoch(10);
  for (u32 rate = 15; rate <= 95; rate += 5) bench.epoch(rate);
  EXPECT_EQ(bench.tokens(), 0u);
  for (u32 rate = 90; rate > 0; rate -= 5) bench.epoch(rate);
  EXPECT_EQ(bench.tokens(), 50u);
}

TEST(MaskTokens, ATenantThatComesLaterHasItsOwnFirstEpoch) {
  Tokens bench;
  bench.set_warps(kB, 0, {});
  bench.epoch(50);
  EXPECT_EQ(bench.fill(2, 60, kB), Into::kTlb);
  bench.set_warps(kB, 50, {2, 3});
  bench.epoch(50, kB);
  EXPECT_EQ(bench.tokens(kB), 40u);
}

TEST(MaskTokens, AnEpochWithoutWarpsChangesNothing) {
  Tokens bench;
  bench.epoch(50);
  bench.set_warps(kA, 0, {});
  bench.epoch(90);
  EXPECT_EQ(bench.tokens(), 40u);
}

TEST(MaskTokens, AnyWarpThatWaitsMayDecideOrOnlyTheFirst) {
  const TlbAsker without{SmId(0), 63}, with{SmId(1), 0};
  Tokens any;
  any.epoch(50);
  EXPECT_EQ(any.fill({without, with}), Into::kTlb);
  EXPECT_TRUE(any.policy->wants_merged_warps());
  Tokens first({"l2_tlb.fill.tokens.decides=first_warp"});
  first.epoch(50);
  EXPECT_EQ(first.fill({without, with}), Into::kBypass);
  EXPECT_EQ(first.fill({with, without}), Into::kTlb);
}

TEST(MaskTokens, HillClimbGoesOnWhileTheRateFallsAndTurnsBackWhenItRises) {
  Tokens bench({"l2_tlb.fill.tokens.rule=hill_climb"});
  bench.epoch(50);
  bench.epoch(45);
  EXPECT_EQ(bench.tokens(), 35u) << "it begins by taking tokens away";
  bench.epoch(40);
  EXPECT_EQ(bench.tokens(), 30u);
  bench.epoch(50);
  EXPECT_EQ(bench.tokens(), 35u) << "worse: back";
  bench.epoch(49);
  EXPECT_EQ(bench.tokens(), 35u) << "within the threshold";
  bench.epoch(40);
  EXPECT_EQ(bench.tokens(), 40u);
}

TEST(MaskTokens, WithoutABypassCacheAFillWithoutATokenGoesNowhere) {
  Tokens bench({"l2_tlb.fill.tokens.bypass_entries=0"});
  bench.epoch(50);
  EXPECT_EQ(bench.fill(0, 63), Into::kNowhere);
}

TEST(Claim, mask_mech_bypass_cache) {
  Tokens bench;
  EXPECT_EQ(bench.policy->bypass_entries(), 32u);
  // Fully associative, LRU, filled by the policy's word only and flushed with the TLB: L2TlbBench.
}

// ---- Translation-aware L2 bypass ----

/// A walk path that is told of one tenant's epochs.
class Bypass {
 public:
  explicit Bypass(const std::vector<std::string>& sets = {})
      : policy(machine_with("mask_maxwell30", {"mask_cache"}, sets).mmu.walk_path.make({})) {}
  /// Hits in a thousand look-ups, of data and by level.
  void epoch(u64 data, std::array<u64, 4> levels, u64 lookups = 1000) {
    TenantEpoch epoch{.l2_requests = lookups, .l2_hits = data};
    for (u32 i = 0; i < 4; ++i) {
      epoch.walk_lookups[i] = lookups;
      epoch.walk_hits[i] = levels[i];
    }
    policy->epoch({&epoch, 1});
  }
  bool bypasses(u8 level) {
    return policy->choose({.line = {}, .tenant = kA, .level = level}) == WalkPath::Way::kMemory;
  }

  std::unique_ptr<WalkPath> policy;
};

TEST(Claim, mask_mech_l2_bypass_rule) {
  Bypass bench;
  EXPECT_FALSE(bench.bypasses(4)) << "not in the first epoch";
  bench.epoch(600, {998, 988, 600, 10});
  EXPECT_FALSE(bench.bypasses(1));
  EXPECT_FALSE(bench.bypasses(2));
  EXPECT_FALSE(bench.bypasses(3)) << "not below the rate of data";
  EXPECT_TRUE(bench.bypasses(4));
  bench.epoch(700, {998, 988, 600, 10});
  EXPECT_TRUE(bench.bypasses(3)) << "decided anew in each epoch, level by level";
  bench.epoch(5, {998, 988, 600, 10});
  EXPECT_FALSE(bench.bypasses(4));
}

TEST(MaskBypass, RatesAreThoseOfAllTenants) {
  Bypass bench;
  std::vector<TenantEpoch> epochs(2);
  epochs[0] = {.l2_requests = 1000, .l2_hits = 1000, .walk_lookups = {1000}, .walk_hits = {900}};
  epochs[1] = {.l2_requests = 1000, .l2_hits = 0, .walk_lookups = {1000}, .walk_hits = {0}};
  bench.policy->epoch(epochs);
  EXPECT_TRUE(bench.bypasses(1)) << "45 % of the walks hit, and half of the data";
}

TEST(MaskBypass, FewSamplesDoNotCount) {
  Bypass bench;
  bench.epoch(60, {0, 0, 0, 0}, 99);
  EXPECT_FALSE(bench.bypasses(4));
  bench.epoch(60, {0, 0, 0, 0}, 100);
  EXPECT_TRUE(bench.bypasses(4));
}

TEST(MaskBypass, OneReadIn32OfABypassingLevelIsASample) {
  Bypass bench;
  bench.epoch(600, {998, 988, 600, 10});
  u32 sampled = 0;
  for (u32 i = 0; i < 320; ++i) sampled += !bench.bypasses(4);
  EXPECT_EQ(sampled, 10u);
}

TEST(MaskBypass, ALevelGoesOnBypassingUntilItsSamplesAreEnoughToTell) {
  Bypass bench;
  bench.epoch(600, {998, 988, 600, 10});
  bench.epoch(60, {99, 99, 99, 99}, 99);
  EXPECT_TRUE(bench.bypasses(4)) << "99 samples that all hit do not tell";
  TenantEpoch more{.l2_requests = 1000, .l2_hits = 600, .walk_lookups = {0, 0, 0, 1}, .walk_hits = {0, 0, 0, 1}};
  bench.policy->epoch({&more, 1});
  EXPECT_FALSE(bench.bypasses(4)) << "with those of the next epoch they are 100";
}

TEST(MaskBypass, WithoutSamplesALevelBypassesForGood) {
  Bypass bench({"mmu.walk_path.translation_aware.sample=0"});
  bench.epoch(600, {998, 988, 600, 10});
  bench.epoch(600, {998, 988, 600, 0}, 0);
  for (u32 i = 0; i < 320; ++i) EXPECT_TRUE(bench.bypasses(4));
}

// ---- Address-space-aware DRAM scheduling ----

/// A scheduler of three tenants and eight banks, driven by hand.
class Queues {
 public:
  explicit Queues(const std::vector<std::string>& sets = {}, u32 tenants = 3, const char* design = "mask_dram") {
    const GpuConfig config = machine_with("mask_maxwell30", {design}, sets);
    scheduler = config.dram.scheduler.make({.banks = 8, .write_entries = 4, .tenants = tenants});
    epochs.resize(tenants);
    for (u32 i = scheduler->capacity(); i > 0; --i) free_.push_back(static_cast<u16>(i - 1));
    number_.resize(scheduler->capacity());
  }
  bool read(TenantId tenant, u8 bank = 0, u32 row = 0) { return offer({.bank = bank, .tenant = tenant, .row = row}); }
  bool walk(TenantId tenant, u8 bank = 0, u32 row = 0) {
    return offer({.bank = bank, .walk_level = 4, .tenant = tenant, .row = row});
  }
  DramScheduler::Choice next(u32 bank = 0, u32 open_row = BankView::kClosed) {
    return scheduler->next({bank, open_row, false});
  }
  /// The number of the request that a bank would serve, counted from the first offer.
  u32 first(u32 bank = 0, u32 open_row = BankView::kClosed) { return number_[next(bank, open_row).entry]; }
  u32 serve(u32 bank = 0, u32 open_row = BankView::kClosed) {
    const u16 entry = next(bank, open_row).entry;
    scheduler->take(entry, 0);
    free_.push_back(entry);
    return number_[entry];
  }
  bool offer(DramWaiting request) {
    if (free_.empty()) return false;
    request.entry = free_.back();
    request.age = offered_;
    if (!scheduler->offer(request, 0)) return false;
    number_[request.entry] = offered_++;
    free_.pop_back();
    return true;
  }
  /// How many reads a tenant adds to the silver queue before the turn passes on. Each is served at once.
  u32 turn_of(TenantId tenant) {
    for (u32 added = 0;; ++added) {
      read(tenant);
      const u8 urgency = next().urgency;
      serve();
      if (urgency != 1) return added;
    }
  }

  std::unique_ptr<DramScheduler> scheduler;
  std::vector<TenantEpoch> epochs;

 private:
  std::vector<u16> free_;
  std::vector<u32> number_;  // by entry
  u32 offered_ = 0;
};

TEST(Claim, mask_mech_queue_priority) {
  Queues bench;
  bench.read(kB);        // 0: normal, for the turn is A's
  bench.read(kA, 0, 5);  // 1: silver
  bench.read(kA, 0, 9);  // 2: silver
  bench.walk(kB, 0, 7);  // 3: golden
  bench.walk(kA, 0, 9);  // 4: golden, behind it
  EXPECT_EQ(bench.next().urgency, 0);
  EXPECT_EQ(bench.serve(0, 9), 3u) << "golden is first, in order, whatever row is open";
  EXPECT_EQ(bench.serve(), 4u);
  EXPECT_EQ(bench.next().urgency, 1);
  EXPECT_EQ(bench.serve(0, 9), 2u) << "silver, with row hits first";
  EXPECT_EQ(bench.serve(0, 0), 1u) << "before a normal one that hits";
  EXPECT_EQ(bench.next().urgency, 2);
  EXPECT_EQ(bench.serve(), 0u);
}

TEST(MaskDram, WhileTheFirstGoldenRequestWaitsForItsBankOthersServeLowerQueues) {
  Queues bench;
  bench.walk(kA, 3);  // 0
  bench.walk(kA, 4);  // 1: not the first
  bench.read(kB, 3);  // 2
  bench.read(kB, 4);  // 3
  EXPECT_EQ(bench.first(3), 0u);
  EXPECT_EQ(bench.first(4), 3u) << "only the head of the golden queue is eligible";
  bench.scheduler->changed_banks();
  EXPECT_EQ(bench.serve(3), 0u);
  EXPECT_EQ(bench.scheduler->changed_banks(), u64{1} << 4) << "its bank is told of the new head";
  EXPECT_EQ(bench.first(4), 1u);
  Queues ahead({"dram.scheduler.address_space_aware.opens_ahead=true"});
  ahead.walk(kA, 3);
  ahead.walk(kA, 4);
  EXPECT_EQ(ahead.first(4), 1u);
  EXPECT_FALSE(ahead.next(4).column) << "its row may be opened, but it is not served before its turn";
}

TEST(Claim, mask_mech_queue_sizes) {
  Queues bench;
  for (u32 i = 0; i < 16; ++i) EXPECT_TRUE(bench.walk(kA));
  EXPECT_FALSE(bench.walk(kB)) << "a full golden queue pushes back";
  for (u32 i = 0; i < 64 + 192; ++i) EXPECT_TRUE(bench.read(kA));
  EXPECT_FALSE(bench.read(kA)) << "what the silver queue does not take goes into the normal one";
  for (u32 i = 0; i < 16; ++i) bench.serve();
  u32 silver = 0;
  for (; bench.next().urgency == 1; ++silver) bench.serve();
  EXPECT_EQ(silver, 64u);
  EXPECT_EQ(machine_with("mask_maxwell30", {}).dram.read_entries, 256u) << "272 entries are 6 % more";
}

TEST(Claim, mask_mech_silver_quota) {
  Queues bench;
  EXPECT_EQ(bench.turn_of(kA), 500u / 3) << "equal shares in the first epoch";
  bench.epochs[0] = {.concurrent_walks = 10, .stalled_warps = 6};
  bench.epochs[1] = {.concurrent_walks = 20, .stalled_warps = 2};
  bench.scheduler->epoch(bench.epochs);
  EXPECT_EQ(bench.turn_of(kB), 500u * 40 / 100) << "the turn has gone to B";
  EXPECT_EQ(bench.turn_of(kC), 1u) << "at least one";
  EXPECT_EQ(bench.turn_of(kA), 500u * 60 / 100);
  EXPECT_EQ(bench.turn_of(kB), 200u) << "and round again";
}

TEST(Claim, mask_mech_dram_counters) {
  Queues bench({}, 2);
  bench.epochs[0] = {.concurrent_walks = 630, .stalled_warps = 63};
  bench.epochs[1] = {.concurrent_walks = 63, .stalled_warps = 630};
  bench.scheduler->epoch(bench.epochs);
  EXPECT_EQ(bench.turn_of(kA), 250u) << "counters of six bits end at 63";
}

TEST(MaskDram, AQuotaThatShrinksDuringATurnEndsItWithTheNextRequest) {
  Queues bench({}, 2);
  for (u32 i = 0; i < 200; ++i) {
    bench.read(kA);
    bench.serve();
  }
  bench.epochs[0] = {.concurrent_walks = 1, .stalled_warps = 1};
  bench.epochs[1] = {.concurrent_walks = 1, .stalled_warps = 4};
  bench.scheduler->epoch(bench.epochs);
  EXPECT_EQ(bench.turn_of(kA), 1u) << "200 were more than the new quota of 100";
  EXPECT_EQ(bench.turn_of(kB), 400u);
  EXPECT_EQ(bench.turn_of(kA), 100u);
}

TEST(MaskDram, AQuotaThatGrowsDuringATurnCountsAtOnce) {
  Queues bench({}, 2);
  for (u32 i = 0; i < 200; ++i) {
    bench.read(kA);
    bench.serve();
  }
  bench.epochs[0] = {.concurrent_walks = 4, .stalled_warps = 1};
  bench.epochs[1] = {.concurrent_walks = 1, .stalled_warps = 1};
  bench.scheduler->epoch(bench.epochs);
  EXPECT_EQ(bench.turn_of(kA), 200u) << "400 in all";
}

TEST(MaskDram, AnOverflowOfTheSilverQueueDoesNotCountAgainstTheQuota) {
  Queues bench({"dram.scheduler.address_space_aware.silver_entries=2"}, 2);
  for (u32 i = 0; i < 100; ++i) bench.read(kA);  // two silver, the others normal
  bench.serve();
  bench.serve();
  EXPECT_EQ(bench.turn_of(kA), 248u);
}

TEST(MaskDram, AnIdleTenantKeepsTheTurn) {
  Queues bench({}, 2);
  for (u32 i = 0; i < 150; ++i) bench.read(kB);
  for (u32 i = 0; i < 150; ++i) {
    EXPECT_EQ(bench.next().urgency, 2);
    bench.serve();
  }
  bench.read(kA);
  EXPECT_EQ(bench.next().urgency, 1);
}

TEST(MaskDram, WithoutASilverQueueAllDataWaitsInTheNormalOne) {
  Queues bench({}, 2, "mask_dram_no_silver");
  for (u32 i = 0; i < 256; ++i) EXPECT_TRUE(bench.read(kA));
  EXPECT_FALSE(bench.read(kA));
  EXPECT_EQ(bench.next().urgency, 2);
}

TEST(MaskDram, WritesWaitApart) {
  Queues bench;
  for (u32 i = 0; i < 4; ++i) EXPECT_TRUE(bench.offer({.write = true}));
  EXPECT_FALSE(bench.offer({.write = true}));
  EXPECT_TRUE(bench.read(kA));
  EXPECT_EQ(bench.scheduler->next({0, BankView::kClosed, true}).entry, 0u)
      << "the first place is that of the first write";
}

TEST(MaskDram, APageTableReadInterruptsABatchOfWritesIfItMay) {
  using Kind = DramCommand::Kind;
  const auto writes_before_the_read = [](const char* interrupts) {
    DramConfig config = machine_with("mask_maxwell30", {"mask_dram"},
                                     {std::string("dram.scheduler.address_space_aware.interrupts_writes=") + interrupts,
                                      "dram.write_low=0", "dram.refresh=false"})
                            .dram;
    DramBench bench(config, {.sources = 2});
    for (u32 i = 0; i < 64; ++i) bench.send({0, {0, i % 8, 2, i / 8 * 128}, true}, 0);
    bench.send({100, {0, 0, 1, 0}, false, kA, 4}, 1);
    EXPECT_EQ(bench.run(), Scheduler::End::kIdle);
    EXPECT_EQ(bench.of(Kind::kWrite).size(), 64u);
    const auto read = std::ranges::find(bench.commands, Kind::kRead, &DramCommand::kind);
    return std::count_if(bench.commands.begin(), read, [](const DramCommand& c) { return c.kind == Kind::kWrite; });
  };
  EXPECT_EQ(writes_before_the_read("false"), 64);
  EXPECT_LT(writes_before_the_read("true"), 32);
}

// ---- Cost ----

TEST(Claim, mask_cost_per_core) {
  EXPECT_EQ(mask_cost(kListedWarpVector, 32).core_bits, 296u) << "37 bytes: the fields as listed";
  EXPECT_EQ(mask_cost(kPrintedWarpVector, 32).core_bits, 13u * 8) << "the printed sum (MASK-A8)";
  EXPECT_EQ(machine_with("mask_maxwell30", {}).sm.warps, kPrintedWarpVector);
}

TEST(Claim, mask_cost_shared) {
  Tokens bench;
  EXPECT_EQ(mask_cost(kPrintedWarpVector, bench.policy->bypass_entries()).shared_bits, 316u * 8);
}

TEST(Claim, mask_cost_total) {
  const GpuConfig c = machine_with("mask_maxwell30", {"mask_tlb"});
  Tokens bench;
  EXPECT_EQ(mask_cost(c.sm.warps, bench.policy->bypass_entries()).bytes(c.sm.count), 706u);
  EXPECT_EQ(mask_cost(kListedWarpVector, bench.policy->bypass_entries()).bytes(c.sm.count), 1426u);
}

TEST(Claim, mask_cost_asid) {
  const GpuConfig c = machine_with("mask_maxwell30", {"shared_tlb"});
  constexpr u32 kAsidBits = 9, kEntryBits = 128;  // an entry of about 16 bytes
  EXPECT_EQ(c.l2_tlb.entries * kAsidBits / 8, 576u);
  EXPECT_NEAR(100.0 * kAsidBits / kEntryBits, 7.0, 0.1);
}

TEST(Claim, mask_cost_l2_bypass_counters) {
  const u32 bytes = 2 * (1 + kWalkLevels) * 8;  // look-ups and hits, of data and of each level
  EXPECT_EQ(bytes, 80u);
  EXPECT_LT(100.0 * bytes / machine_with("mask_maxwell30", {}).l2.bytes, 0.1);
}

TEST(Claim, mask_cost_dram_queues) {
  Queues bench;
  const u32 entries = bench.scheduler->capacity() - 4;  // but for writes
  EXPECT_NEAR(100.0 * entries / machine_with("mask_maxwell30", {}).dram.read_entries - 100, 6.0, 0.5);
}

}  // namespace
}  // namespace terrace
