// The MMU with its walk cache alone: pages that are asked for at stated cycles on one side, memory of a fixed latency that
// reads page tables on the other.
// SPDX-License-Identifier: MIT
#include "translation/mmu.h"

#include <gtest/gtest.h>

#include <memory>

#include "benches/scripted.h"
#include "engine/rng.h"
#include "frontend/guest_memory.h"
#include "stats/stat_tree.h"
#include "support/part_state.h"

namespace terrace {
namespace {

constexpr u32 kLineBytes = 128;
constexpr Cycle kTransit = 1, kToMemory = 1, kFromMemory = 1, kMemory = 20;
constexpr Cycle kRead = kToMemory + kMemory + kFromMemory;
// With two bits a level, a leaf node holds 4 pages, and a node above it 4 nodes.
constexpr u32 kLevelBits = 2;
constexpr u64 kPages = 2048;

PagesConfig small_tables() {
  PagesConfig pages;
  pages.level_bits = kLevelBits;
  pages.frames = FrameOrder::kContiguous;
  pages.memory_bytes = u64{1} << 30;
  return pages;
}
MmuConfig walkers(u32 count) {
  MmuConfig config;
  config.walkers = count;
  config.walk_path.use = "memory";
  config.rate = 4;
  return config;
}

class MmuBench {
 public:
  struct Options {
    u32 tenants = 2;
    u32 inputs = 1;
    u32 channels = 1;
    u32 memory_places = 0;  // of the links to memory; 0: enough
    u32 result_places = 0;
  };
  struct Answer {
    u64 page;
    Cycle at;
    friend bool operator==(const Answer&, const Answer&) = default;
  };
  explicit MmuBench(const MmuConfig& config) : MmuBench(config, Options{}) {}
  MmuBench(const MmuConfig& config, const Options& options)
      : options_(options),
        guest_(PageSize::k4K),
        spaces(small_tables(), kLineBytes, 1, options.tenants),
        map(kLineBytes, options.channels),
        truth(kLineBytes, [this](TenantId tenant, VirtAddr va) { return spaces.locate(tenant, va); }),
        requests(scheduler, options.inputs, kTransit, 32),
        results(scheduler, {.latency = kTransit, .capacity = options.result_places}),
        read(options.channels),
        asker_(scheduler, "tlb"),
        delays_(options.channels) {
    guest_.allocate("buffer", kPages * 4096);
    const auto changes = guest_.take_page_changes();
    for (u32 i = 0; i < options.tenants; ++i) spaces.cover(TenantId(static_cast<u8>(i)), changes);
    std::vector<WalkToDram::Channel> channels;
    for (u32 i = 0; i < options.channels; ++i) {
      to_memory_.push_back(std::make_unique<Link<DramRequest>>(
          scheduler, LinkShape{.latency = kToMemory, .capacity = options.memory_places}));
      from_memory_.push_back(std::make_unique<Link<DramReply>>(scheduler, LinkShape{.latency = kFromMemory}));
      channels.push_back({to_memory_[i].get(), from_memory_[i].get()});
    }
    unit = std::make_unique<Mmu>(
        config, kLineBytes, options.tenants, 1,
        Mmu::Wiring{
            requests, results, 64, spaces, {nullptr, std::make_unique<WalkToDram>(channels, map, truth, kLineBytes)}});
    const UnitId id = scheduler.add(*unit, "mmu");
    requests.connect_consumer(id);
    for (u32 input = 0; input < options.inputs; ++input) requests.connect_producer(input, asker_.id());
    results.connect(id, asker_.id());
    asker_.always([this](Cycle now) { return answers.take(results, now); });
    for (u32 i = 0; i < options.channels; ++i) add_channel(i, id);
  }

  /// Pages are counted from the tenant's first one.
  void ask(Cycle at, u64 page, u32 tenant = 0, u32 input = 0) {
    ++asked_;
    asker_.at(at, [=, this](Cycle now) {
      if (!requests.can_push(input, now)) return false;
      const TenantId its{static_cast<u8>(tenant)};
      const u64 number = kFirst + page;
      requests.push(input, now, {.key = page_key(its, 12, number), .page = number, .tenant = its});
      return true;
    });
  }
  void run() {
    scheduler.run(1'000'000);
    unit->settle(scheduler.now());
    statistics().check_identities();
    EXPECT_EQ(answers.seen.size(), asked_) << scheduler.explain();
    for (const auto& arrival : answers.seen) {
      const Translation& answer = arrival.what;
      EXPECT_EQ(answer.frame, spaces.locate(tenant_of_key(answer.key), {page_of_key(answer.key) << 12}));
    }
  }
  StatTree statistics() {
    StatTree tree(options_.tenants);
    tree.add("mmu", unit->stats);
    tree.add("scheduler", unit->scheduler());
    tree.add("path", unit->walk_path());
    if (unit->blame.on()) tree.add("blame", unit->blame);
    return tree;
  }
  void archive(Archive& a) {
    StatTree tree = statistics();
    a(scheduler, truth, requests, results, *unit, tree, answers, read, asker_, to_memory_, from_memory_, delays_);
    for (const auto& channel : channels_) a(*channel);
  }
  /// When a page was answered for the nth time.
  Cycle answered(u64 page, u32 n = 0, u32 tenant = 0) const {
    for (const auto& arrival : answers.seen) {
      if (arrival.what.key != page_key(TenantId(static_cast<u8>(tenant)), 12, kFirst + page)) continue;
      if (n-- == 0) return arrival.at;
    }
    ADD_FAILURE() << "page " << page << " was not answered";
    return 0;
  }
  /// Levels that memory read, in order, from some cycle on.
  std::vector<u32> levels(Cycle from = 0, u32 channel = 0) const {
    std::vector<u32> all;
    for (const auto& arrival : read[channel].seen)
      if (arrival.at >= from) all.push_back(arrival.what.walk_level);
    return all;
  }
  /// From the push of a request to its answer's arrival, for a walk of so many reads that waits for nothing.
  static constexpr Cycle trip(u32 reads) { return 2 * kTransit + reads * kRead; }

  static constexpr u64 kFirst = GuestMemory::kBase >> 12;
  Options options_;
  GuestMemory guest_;
  AddressSpaces spaces;
  BenchMap map;
  LineTruth truth;
  Scheduler scheduler;
  Funnel<TranslationRequest> requests;
  Link<Translation> results;
  Inbox<Translation> answers;
  std::vector<Inbox<DramRequest>> read;  // by channel
  std::unique_ptr<Mmu> unit;

 private:
  void add_channel(u32 channel, UnitId mmu) {
    channels_.push_back(std::make_unique<Scripted>(scheduler, "memory"));
    to_memory_[channel]->connect(mmu, channels_[channel]->id());
    from_memory_[channel]->connect(channels_[channel]->id(), mmu);
    channels_[channel]->always([this, channel](Cycle now) {
      Inbox<DramRequest>& inbox = read[channel];
      const std::size_t before = inbox.seen.size();
      const Cycle opens = inbox.take(*to_memory_[channel], now);
      for (std::size_t i = before; i < inbox.seen.size(); ++i) {
        const DramRequest& request = inbox.seen[i].what;
        delays_[channel].push(
            now + kMemory, {request.line, request.name, request.tag, request.tenant, truth.memory_gives(request.line)});
      }
      return std::min(opens, delays_[channel].send(*from_memory_[channel], now));
    });
  }

  std::size_t asked_ = 0;
  Scripted asker_;
  std::vector<std::unique_ptr<Link<DramRequest>>> to_memory_;
  std::vector<std::unique_ptr<Link<DramReply>>> from_memory_;
  std::vector<std::unique_ptr<Scripted>> channels_;
  std::vector<Delay<DramReply>> delays_;
};

using Levels = std::vector<u32>;

TEST(MmuBench, AWalkReadsEveryLevelOneAfterTheOther) {
  MmuBench bench(walkers(1));
  bench.ask(3, 0);
  bench.run();
  EXPECT_EQ(bench.levels(), (Levels{1, 2, 3, 4}));
  EXPECT_EQ(bench.answered(0), 3 + MmuBench::trip(4));
}

TEST(MmuBench, AWalkTellsItsNumberItsEndAndItsReads) {
  MmuBench bench(walkers(2));
  bench.ask(0, 0);
  bench.ask(1, 16);
  bench.run();
  ASSERT_EQ(bench.answers.seen.size(), 2u);
  for (u32 i = 0; i < 2; ++i) {
    const WalkReport& walk = bench.answers.seen[i].what.walk;
    EXPECT_EQ(walk.sequence, i);
    EXPECT_EQ(walk.accesses, 4u);
    EXPECT_EQ(walk.finished, bench.answers.seen[i].at - kTransit);
  }
}

TEST(MmuBench, AFirstTouchIsTheFirstWalkOfATenantForAPage) {
  MmuBench bench(walkers(1));
  bench.unit->count_first_touches();
  bench.ask(3, 0);
  bench.ask(4, 1);
  bench.ask(1000, 0);     // walked for before
  bench.ask(1001, 0, 1);  // the same page of another tenant
  bench.run();
  EXPECT_EQ(bench.unit->stats.walks[TenantId{0}].value, 3u);
  EXPECT_EQ(bench.unit->stats.first_touches[TenantId{0}].value, 2u);
  EXPECT_EQ(bench.unit->stats.first_touches[TenantId{1}].value, 1u);
}

TEST(MmuBench, FirstTouchesAreCountedOnlyWhenAskedFor) {
  MmuBench bench(walkers(1));
  bench.ask(3, 0);
  bench.run();
  EXPECT_EQ(bench.unit->stats.first_touches[TenantId{0}].value, 0u);
}

TEST(MmuBench, AWalkWithoutAWalkerWaitsForOneThatIsDone) {
  MmuBench bench(walkers(1));
  bench.ask(0, 0);
  bench.ask(1, 16);
  bench.run();
  EXPECT_EQ(bench.answered(16), MmuBench::trip(4) + 4 * kRead);
  EXPECT_EQ(bench.unit->stats.waited[TenantId{0}].value, 1u);
}

TEST(MmuBench, WalkersWorkInParallel) {
  MmuBench bench(walkers(2));
  bench.ask(0, 0);
  bench.ask(1, 16);
  bench.run();
  EXPECT_EQ(bench.answered(16), 1 + MmuBench::trip(4));
}

TEST(MmuBench, TakesAsManyRequestsPerCycleAsItsRate) {
  for (const u32 rate : {1u, 2u}) {
    MmuConfig config = walkers(4);
    config.rate = rate;
    MmuBench bench(config);
    for (u64 i = 0; i < 4; ++i) bench.ask(0, 16 * i);
    bench.scheduler.run(kTransit + 1);
    EXPECT_EQ(bench.unit->stats.requests[TenantId{0}].value, rate);
    bench.scheduler.run(kTransit + 2);
    EXPECT_EQ(bench.unit->stats.requests[TenantId{0}].value, 2 * rate);
    bench.run();
  }
}

TEST(MmuBench, WhatFindsNoPlaceHoldsUpItsInputUntilAWalkEnds) {
  MmuConfig config = walkers(1);
  config.queue_entries = 1;
  MmuBench bench(config);
  for (u64 i = 0; i < 4; ++i) bench.ask(i, 16 * i);
  bench.run();
  // One on the walker, one in the queue; the third is refused while the first walks.
  for (u64 i = 0; i < 4; ++i) EXPECT_EQ(bench.answered(16 * i), MmuBench::trip(4) + i * 4 * kRead);
  // The third from its arrival to the end of the first walk, the fourth from there to the end of the second.
  const Cycle first_end = kTransit + 4 * kRead;
  EXPECT_EQ(bench.unit->stats.held_up_cycles[TenantId{0}].value, first_end - (2 + kTransit) + 4 * kRead);
}

TEST(MmuBench, WithAnInputForEachTenantOneThatFindsNoPlaceDoesNotHoldUpTheOther) {
  for (const u32 inputs : {1u, 2u}) {
    MmuConfig config = walkers(2);
    config.queue_entries = 2;
    config.walk_scheduler.use = "static_partition";
    MmuBench bench(config, {.inputs = inputs});
    for (u64 i = 0; i < 3; ++i) bench.ask(0, 16 * i, 0, 0);
    bench.ask(4, 0, 1, inputs - 1);
    bench.run();
    // On one input it is placed when the first walk ends, and the walk that follows that one sends its read first.
    EXPECT_EQ(bench.answered(0, 0, 1), inputs == 1 ? MmuBench::trip(8) + 1 : 4 + MmuBench::trip(4));
  }
}

TEST(MmuBench, InputsTakeTurnsAtTheDoor) {
  MmuConfig config = walkers(1);
  config.rate = 1;
  MmuBench bench(config, {.inputs = 2});
  // All wait at the door in cycle 1; the walker serves them in the order in which they are taken in.
  bench.ask(0, 0, 0, 0);
  bench.ask(0, 1, 0, 0);
  bench.ask(0, 0, 1, 1);
  bench.ask(0, 1, 1, 1);
  bench.run();
  std::vector<u32> tenants;
  for (const auto& arrival : bench.answers.seen) tenants.push_back(index(tenant_of_key(arrival.what.key)));
  EXPECT_EQ(tenants, (std::vector<u32>{0, 1, 0, 1}));
}

TEST(MmuBench, InputsTakeTurnsForPlaces) {
  MmuConfig config = walkers(1);
  config.queue_entries = 1;
  MmuBench bench(config, {.inputs = 2});
  for (u64 i = 0; i < 3; ++i) bench.ask(0, 16 * i, 0, 0);
  for (u64 i = 0; i < 3; ++i) bench.ask(0, 16 * i, 1, 1);
  bench.run();
  std::vector<u32> tenants;
  for (const auto& arrival : bench.answers.seen) tenants.push_back(index(tenant_of_key(arrival.what.key)));
  EXPECT_EQ(tenants, (std::vector<u32>{0, 1, 0, 1, 0, 1}));
}

TEST(MmuBench, AReadWaitsForItsPlaceOnTheWayToMemory) {
  MmuBench bench(walkers(2), {.memory_places = 1});
  bench.read[0].open = 500;
  bench.ask(0, 0);
  bench.ask(0, 16);
  bench.run();
  EXPECT_EQ(bench.read[0].seen[0].at, 500u);
  EXPECT_EQ(bench.read[0].seen[1].at, 501 + kToMemory);
}

TEST(MmuBench, AChannelThatIsStuckDoesNotHoldUpReadsOfAnother) {
  MmuBench bench(walkers(4), {.channels = 2, .memory_places = 1});
  // An entry of the root decides 64 pages, and a line holds 16 entries: page 1,024 begins on the next line.
  const TableShape& shape = bench.spaces.tables().shape();
  const VirtAddr first{GuestMemory::kBase};
  const PhysAddr entry = shape.address(bench.spaces.root(TenantId{0}), shape.entry_of(1, first));
  const u32 stuck = bench.map.channel_of({entry.raw / kLineBytes * kLineBytes});
  bench.read[stuck].open = 500;
  bench.ask(0, 0);     // takes the only place on its link,
  bench.ask(0, 64);    // finds none,
  bench.ask(0, 1024);  // and this one goes to the other channel
  bench.run();
  ASSERT_FALSE(bench.read[1 - stuck].seen.empty());
  EXPECT_EQ(bench.read[1 - stuck].seen[0].at, kTransit + kToMemory);
  EXPECT_EQ(bench.read[stuck].seen[0].at, 500u);
}

TEST(MmuBench, ResultsThatFindNoPlaceAreSentWhenThereIsOne) {
  MmuBench bench(walkers(4), {.result_places = 1});
  bench.answers.open = 500;
  bench.ask(0, 0);
  bench.ask(1, 16);
  bench.run();
  EXPECT_EQ(bench.answers.times(), (std::vector<Cycle>{500, 501 + kTransit}));
}

MmuConfig with_front_tlbs(u32 first, u32 second) {
  MmuConfig config = walkers(1);
  config.tlb1.entries = first;
  config.tlb1.cycles = 3;
  config.tlb2.entries = second;
  config.tlb2.cycles = 7;
  return config;
}

TEST(MmuBench, AFrontTlbThatMissesCostsItsLookUpAndOneThatHitsSavesTheWalk) {
  MmuBench bench(with_front_tlbs(4, 4));
  bench.ask(0, 0);
  bench.ask(500, 0);
  bench.run();
  EXPECT_EQ(bench.answered(0), MmuBench::trip(4) + 10);
  EXPECT_EQ(bench.answered(0, 1), 500 + MmuBench::trip(0) + 3);
}

TEST(MmuBench, TheSecondFrontTlbAnswersAfterBothLookUpsAndFillsTheFirst) {
  MmuBench bench(with_front_tlbs(1, 4));
  bench.ask(0, 0);
  bench.ask(300, 16);  // takes page 0's place in the first
  bench.ask(600, 0);
  bench.ask(700, 0);
  bench.run();
  EXPECT_EQ(bench.answered(0, 1), 600 + MmuBench::trip(0) + 10);
  EXPECT_EQ(bench.answered(0, 2), 700 + MmuBench::trip(0) + 3);
}

TEST(MmuBench, AHitRenewsTheRecencyOfAFrontTlbsPage) {
  MmuBench bench(with_front_tlbs(2, 0));
  bench.ask(0, 0);
  bench.ask(200, 16);
  bench.ask(400, 0);
  bench.ask(500, 32);  // takes the place of page 16
  bench.ask(700, 0);
  bench.run();
  EXPECT_EQ(bench.answered(0, 2), 700 + MmuBench::trip(0) + 3);
}

MmuConfig with_walk_cache(WalkCacheConfig::Skip skip, u32 entries = 64) {
  MmuConfig config = walkers(1);
  config.walk_cache.kind = WalkCacheConfig::Kind::kPerLevel;
  config.walk_cache.entries = entries;
  config.walk_cache.ways = 0;
  config.walk_cache.cycles = 2;
  config.walk_cache.skip = skip;
  return config;
}
constexpr auto kLongestPrefix = WalkCacheConfig::Skip::kLongestPrefix;
constexpr auto kAllUpper = WalkCacheConfig::Skip::kAllUpper;
constexpr auto kEachLevel = WalkCacheConfig::Skip::kEachLevel;

TEST(MmuBench, AWalkBeginsBelowTheDeepestLevelThatItsCacheKnows) {
  MmuBench bench(with_walk_cache(kLongestPrefix));
  bench.ask(0, 0);
  bench.ask(500, 1);   // the same leaf node
  bench.ask(1000, 4);  // the node above it
  bench.run();
  EXPECT_EQ(bench.answered(0), MmuBench::trip(4) + 2);
  EXPECT_EQ(bench.levels(500), (Levels{4, 3, 4}));
  EXPECT_EQ(bench.answered(1), 500 + MmuBench::trip(1) + 2);
  EXPECT_EQ(bench.answered(4), 1000 + MmuBench::trip(2) + 2);
  EXPECT_EQ(bench.unit->stats.skipped[TenantId{0}].value, 3u + 2);
}

TEST(MmuBench, LeavesAreKeptOnlyIfTheConfigurationSaysSo) {
  for (const bool leaf : {false, true}) {
    MmuConfig config = with_walk_cache(kLongestPrefix);
    config.walk_cache.leaf = leaf;
    MmuBench bench(config);
    bench.ask(0, 0);
    bench.ask(500, 0);
    bench.run();
    EXPECT_EQ(bench.levels(500), leaf ? Levels{} : Levels{4});
  }
}

TEST(MmuBench, AHitRenewsTheRecencyOfAWalkCachesEntry) {
  for (const auto skip : {kLongestPrefix, kAllUpper, kEachLevel}) {
    MmuBench bench(with_walk_cache(skip, 2));
    bench.ask(0, 0);
    bench.ask(500, 4);
    bench.ask(1000, 1);  // uses the entry that leads to page 0's node
    bench.ask(1500, 8);  // takes the place of that of page 4
    bench.ask(2000, 2);
    bench.run();
    EXPECT_EQ(bench.levels(2000), Levels{4}) << "skip " << static_cast<int>(skip);
  }
}

TEST(MmuBench, UnderAllUpperALevelCountsOnlyBelowThoseThatAreKnown) {
  // One entry a level. Page 16 shares the upper two levels of page 0, and 64 only the root's entry.
  for (const auto skip : {kLongestPrefix, kAllUpper}) {
    MmuConfig config = with_walk_cache(skip, 1);
    MmuBench bench(config);
    WalkCache cache(config.walk_cache, bench.spaces.tables().shape());
    const Walk walk{.page = MmuBench::kFirst};
    cache.fill(1, walk, {TableEntry::kPresent});
    cache.fill(3, walk, {TableEntry::kPresent});
    EXPECT_EQ(cache.begin(walk).level, skip == kAllUpper ? 1u : 3u);
  }
}

TEST(MmuBench, AskedAtEachLevelTheCacheCostsALookUpForEach) {
  MmuBench bench(with_walk_cache(kEachLevel));
  bench.ask(0, 0);
  bench.ask(500, 1);
  bench.run();
  EXPECT_EQ(bench.answered(0), MmuBench::trip(4) + 4 * 2);
  EXPECT_EQ(bench.answered(1), 500 + MmuBench::trip(1) + 4 * 2);
}

TEST(MmuBench, OneCacheForAllLevelsIsShared) {
  MmuConfig config = with_walk_cache(kLongestPrefix, 3);
  config.walk_cache.kind = WalkCacheConfig::Kind::kShared;
  MmuBench bench(config);
  bench.ask(0, 0);     // three entries,
  bench.ask(500, 64);  // and three others, of which the root's may be the same: page 0's leaf node is pushed out
  bench.ask(1000, 1);
  bench.run();
  EXPECT_GT(bench.levels(1000).size(), 1u);
}

TEST(MmuBench, TenantsDoNotShareEntriesOfAWalkCache) {
  MmuBench bench(with_walk_cache(kLongestPrefix));
  bench.ask(0, 0, 0);
  bench.ask(500, 0, 1);
  bench.run();
  EXPECT_EQ(bench.levels(500), (Levels{1, 2, 3, 4}));
}

TEST(MmuBench, LookUpsOfAWalkCacheBeginAsManyPerCycleAsItHasPorts) {
  const TableShape shape({}, 128);
  for (const u32 ports : {1u, 2u}) {
    WalkCacheConfig config = with_walk_cache(kLongestPrefix).walk_cache;
    config.ports = ports;
    WalkCache cache(config, shape);
    std::vector<Cycle> begun;
    for (const Cycle earliest : {10, 10, 10, 11, 20}) begun.push_back(cache.look_up(earliest) - config.cycles);
    EXPECT_EQ(begun, ports == 1 ? (std::vector<Cycle>{10, 11, 12, 13, 20}) : (std::vector<Cycle>{10, 10, 11, 11, 20}));
  }
}

TEST(MmuBench, AFlushForgetsFrontTlbsAndWalkCaches) {
  enum { kAll, kTenant, kPage };
  for (const int what : {kAll, kTenant, kPage}) {
    MmuConfig config = with_walk_cache(kLongestPrefix);
    config.tlb1.entries = 8;
    config.tlb2.entries = 8;
    MmuBench bench(config);
    bench.ask(0, 0, 0);
    bench.ask(500, 0, 1);
    bench.scheduler.run(1000);
    if (what == kAll) bench.unit->flush();
    if (what == kTenant) bench.unit->flush_tenant(TenantId{0});
    if (what == kPage) bench.unit->flush_page(page_key(TenantId{0}, 12, MmuBench::kFirst));
    bench.ask(1500, 0, 0);
    bench.ask(2000, 0, 1);
    bench.run();
    const Levels whole{1, 2, 3, 4};
    EXPECT_EQ(bench.levels(2000), what == kAll ? whole : Levels{});
    EXPECT_EQ(bench.answered(0, 1, 0), 1500 + MmuBench::trip(4) + 2 + 2 * config.tlb1.cycles);
  }
}

TEST(MmuBench, WalkersThatAreDividedAnewTakeWhatWaited) {
  MmuConfig config = walkers(2);
  config.walk_scheduler.use = "static_partition";
  MmuBench bench(config);
  bench.ask(0, 0, 0);
  bench.ask(1, 16, 0);  // waits although the other tenant's walker is idle
  bench.scheduler.run(20);
  EXPECT_EQ(bench.unit->stats.waited[TenantId{0}].value, 1u);
  bench.unit->divide_among({TenantId{0}}, 20);
  bench.scheduler.wake(UnitId{1}, 20);
  bench.run();
  EXPECT_EQ(bench.answered(16), 20 + 4 * kRead + kTransit);
}

TEST(MmuCheckpoint, SavedBeforeAnyCycleItGoesOnAsIfNothingHadBeen) {
  MmuConfig gpu = walkers(3);
  gpu.rate = 1;
  gpu.queue_entries = 12;
  gpu.walk_scheduler.use = "dws_pp";
  gpu.walk_order.use = "simt_aware";
  gpu.walk_cache = {.kind = WalkCacheConfig::Kind::kPerLevel, .entries = 4, .ways = 2, .ports = 1, .protect = true};
  MmuConfig iommu = walkers(2);
  iommu.queue_entries = 4;
  iommu.back_pressure = MmuConfig::Scope::kTenant;
  iommu.walk_order.use = "random";
  iommu.tlb1.entries = 2;
  iommu.tlb2.entries = 4;
  iommu.walk_cache = {.kind = WalkCacheConfig::Kind::kShared,
                      .entries = 4,
                      .ways = 0,
                      .skip = WalkCacheConfig::Skip::kEachLevel,
                      .replacement = Replacement::kPseudoLru};
  const std::pair<MmuConfig, MmuBench::Options> all[] = {
      {gpu, {.inputs = 2, .channels = 2, .memory_places = 1, .result_places = 1}}, {iommu, {.inputs = 2}}};
  for (const auto& [config, options] : all) {
    const auto begin = [&] {
      auto bench = std::make_unique<MmuBench>(config, options);
      bench->unit->enable_blame(options.tenants);
      bench->unit->count_first_touches();
      bench->unit->keep_walks(20);
      bench->answers.open = 150;  // answers wait for a while
      Rng rng(1, "asks");
      Cycle at = 0;
      for (u32 i = 0; i < 60; ++i, at += rng.below(8)) {
        const u32 tenant = static_cast<u32>(rng.below(2));
        bench->ask(at, rng.below(40), tenant, tenant);
      }
      return bench;
    };
    const auto whole = [](MmuBench& bench) {
      bench.run();
      auto walks = *bench.unit->kept_walks();
      return std::tuple(bench.statistics().csv(), state_of(bench.answers), state_of(bench.read), state_of(walks));
    };
    const auto undisturbed = begin();
    const auto expected = whole(*undisturbed);
    const Cycle last = undisturbed->scheduler.now();
    ASSERT_GT(last, 300u);
    for (Cycle at = 1; at < last; at += 1 + last / 60) {
      const auto first = begin(), second = begin();
      first->scheduler.run(at);
      copy_state(*first, *second);
      ASSERT_EQ(whole(*second), expected) << "saved before cycle " << at;
    }
  }
}

}  // namespace
}  // namespace terrace
