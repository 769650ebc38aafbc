// The load-store unit alone: memory instructions that issue at stated cycles on one side, memory and an L2 TLB of fixed
// latencies on the other.
// SPDX-License-Identifier: MIT
#include "sm/load_store.h"

#include <gtest/gtest.h>

#include <tuple>

#include "benches/far_memory.h"
#include "benches/scripted.h"
#include "engine/rng.h"
#include "frontend/guest_memory.h"
#include "stats/stat_tree.h"

namespace terrace {
namespace {

constexpr u32 kLineBytes = 128, kLanes = 32, kPageBytes = 4096, kWarps = 64;
constexpr Cycle kNoc = 1, kMemory = 40, kTlbLink = 1, kTlb = 60, kHit = 20, kTlbHit = 2;
constexpr TenantId kTenant{0};
// A look-up of the TLB after the queue, then the crossbar, memory and back.
constexpr Cycle kFirstAccess = 1 + kTlbHit, kMissTrip = 2 * kNoc + kMemory;

struct Inst {
  MemoryAction action = MemoryAction::kLoad;
  u64 at = 0;      // byte in the buffer
  u64 stride = 4;  // between lanes
  u32 lanes = kLanes;
  bool past_l1 = false;
  u8 places = 1;  // words of each lane, one behind the other
  bool asks_l2 = false;
};

class LoadStoreBench final : public Unit {
 public:
  struct Options {
    TranslateAt translation = TranslateAt::kNowhere;
    u32 queue = 8;
    u32 ports = 1;
    u32 l1_bytes = 16 * 1024;
    u32 l1_misses = 64;
    L1Config::CacheOperators operators = L1Config::CacheOperators::kIgnored;
    L1TlbConfig tlb = tlb_config();
    NocConfig noc{.latency = kNoc, .flit_bytes = 256};
  };
  static L1TlbConfig tlb_config() {
    L1TlbConfig config;
    config.hit_cycles = kTlbHit;
    return config;
  }
  struct Completed {
    u32 inst;  // by order of `issue`
    Cycle at;
    friend bool operator==(const Completed&, const Completed&) = default;
  };

  LoadStoreBench() : LoadStoreBench(Options{}) {}
  explicit LoadStoreBench(const Options& options)
      : config_(sm_config(options)),
        spaces_({}, kLineBytes, 1, 1),
        truth_(kLineBytes, locate()),
        memory(scheduler, options.noc, kLineBytes, accesses, truth_, locate(), kMemory),
        requests_(scheduler, 1, kTlbLink, 4),
        answers_(scheduler, {.latency = kTlbLink}),
        tlb_(scheduler, "tlb"),
        map_(kLineBytes, 1),
        unit(config_,
             {.bytes = options.l1_bytes,
              .ways = 2,
              .hit_cycles = kHit,
              .miss_entries = options.l1_misses,
              .cache_operators = options.operators},
             options.tlb, options.noc, kLineBytes, SmId{0},
             {memory.requests,
              memory.replies,
              map_,
              accesses,
              truth_,
              {options.translation, spaces_, {&requests_, &answers_, nullptr}}}) {
    GuestMemory guest(PageSize::k4K);
    guest.allocate("buffer", 1 << 20);
    spaces_.cover(kTenant, guest.take_page_changes());
    const UnitId id = scheduler.add(*this, "sm");
    memory.connect(id);
    requests_.connect_producer(0, id);
    requests_.connect_consumer(tlb_.id());
    answers_.connect(tlb_.id(), id);
    tlb_.always([this](Cycle now) {
      const std::size_t before = asked.seen.size();
      const Cycle opens = asked.take(requests_, now);
      for (std::size_t i = before; i < asked.seen.size(); ++i) {
        const TranslationRequest& request = asked.seen[i].what;
        delay_.push(now + kTlb,
                    {request.key, spaces_.locate(kTenant, {page_of_key(request.key) << 12}), {}, request.tag});
      }
      return std::min(opens, delay_.send(answers_, now));
    });
  }
  /// Issues in that cycle, or when the queue has a place. Returns its number.
  u32 issue(Cycle at, const Inst& inst) {
    script_.push_back({at, inst});
    decoded_.emplace_back();
    return static_cast<u32>(script_.size() - 1);
  }
  StatTree statistics() {
    StatTree tree(1);
    tree.add("memory", unit.stats);
    tree.add("l1", unit.l1_stats());
    tree.add("l1_tlb", unit.translator().stats);
    return tree;
  }
  void archive(Archive& a) {
    StatTree tree = statistics();
    a(scheduler, accesses, spaces_, truth_, memory, requests_, answers_, tlb_, delay_, asked, unit, tree);
    a(issued_, completed);
  }
  void run() {
    scheduler.run(1'000'000);
    unit.settle(scheduler.now());
    statistics().check_identities();
    EXPECT_EQ(completed.size(), script_.size()) << scheduler.explain();
    EXPECT_TRUE(unit.drained());
    EXPECT_EQ(accesses.live(), 0u);
  }
  /// When an instruction had all its lines.
  Cycle done(u32 number) const {
    for (const Completed& each : completed)
      if (each.inst == number) return each.at;
    ADD_FAILURE() << "instruction " << number << " is not answered";
    return 0;
  }

  Cycle tick(Cycle now) override {
    std::vector<LoadStoreUnit::Done> done_now;
    unit.accept_replies(now, done_now);
    for (const auto& each : done_now) completed.push_back({each.warp, now});
    unit.accept_translations(now);
    unit.advance(now);
    Cycle next = kNever;
    for (; issued_ < script_.size() && !unit.full(); ++issued_) {
      if (script_[issued_].first > now) {
        next = script_[issued_].first;
        break;
      }
      accept(issued_, now);
    }
    return std::min(next, unit.next_wakeup(now));
  }
  void explain(std::ostream& out) const override { unit.explain(out); }

 private:
  static SmConfig sm_config(const Options& options) {
    SmConfig config;
    config.memory_queue = options.queue;
    config.memory_ports = options.ports;
    return config;
  }
  std::function<PhysAddr(TenantId, VirtAddr)> locate() {
    return [this](TenantId tenant, VirtAddr va) { return spaces_.locate(tenant, va); };
  }
  void accept(u32 number, Cycle now) {
    const Inst& inst = script_[number].second;
    DecodedInst& decoded = decoded_[number];
    decoded.volatile_access = inst.past_l1;
    decoded.asks_l2 = inst.asks_l2;
    Effect effect;
    effect.action = inst.action;
    effect.space = MemorySpace::kGlobal;
    effect.bytes = 4;
    effect.words = inst.places;
    effect.stride = 4;
    effect.atomic = AtomicRef{number};
    for (u32 lane = 0; lane < kLanes; ++lane) effect.address[lane] = GuestMemory::kBase + inst.at + lane * inst.stride;
    const u64 lanes = inst.lanes == 64 ? ~u64{0} : (u64{1} << inst.lanes) - 1;
    effect.active = lanes;
    unit.accept(effect, lanes, decoded, static_cast<u8>(number), kTenant, number, now);
  }

  SmConfig config_;
  std::vector<std::pair<Cycle, Inst>> script_;
  std::deque<DecodedInst> decoded_;  // stay where they are
  u32 issued_ = 0;

 public:
  Scheduler scheduler;
  AccessPool accesses;

 private:
  AddressSpaces spaces_;
  LineTruth truth_;

 public:
  FarMemory memory;
  Inbox<TranslationRequest> asked;

 private:
  Funnel<TranslationRequest> requests_;
  Link<Translation> answers_;
  Scripted tlb_;
  Delay<Translation> delay_;
  BenchMap map_;

 public:
  LoadStoreUnit unit;
  std::vector<Completed> completed;
};

using Times = std::vector<Cycle>;

TEST(LoadStoreBench, AMissLeavesAfterTheLookUpOfTheTlbAndIsDoneWhenItsAnswerComes) {
  LoadStoreBench bench;
  const u32 load = bench.issue(10, {});
  bench.run();
  EXPECT_EQ(bench.memory.times(), Times{10 + kFirstAccess + kNoc});
  EXPECT_EQ(bench.done(load), 10 + kFirstAccess + kMissTrip);
}

TEST(LoadStoreBench, AHitIsDoneTheL1sLatencyLaterAndLeavesNothing) {
  LoadStoreBench bench;
  bench.issue(0, {});
  const u32 hit = bench.issue(200, {});
  bench.run();
  EXPECT_EQ(bench.memory.seen.size(), 1u);
  EXPECT_EQ(bench.done(hit), 200 + kFirstAccess + kHit);
}

TEST(LoadStoreBench, LinesOfAnInstructionGoOnePerPortAndCycle) {
  for (const u32 ports : {1u, 2u}) {
    LoadStoreBench bench({.ports = ports});
    bench.issue(0, {.at = 0, .stride = kLineBytes, .lanes = 4});
    const u32 hits = bench.issue(200, {.at = 0, .stride = kLineBytes, .lanes = 4});
    bench.run();
    EXPECT_EQ(bench.memory.seen.size(), 4u);
    EXPECT_EQ(bench.done(hits), 200 + kFirstAccess + 4 / ports - 1 + kHit);
  }
}

TEST(LoadStoreBench, LoadsOfALineThatIsFetchedJoin) {
  LoadStoreBench bench;
  const u32 first = bench.issue(0, {}), second = bench.issue(10, {});
  bench.run();
  EXPECT_EQ(bench.memory.seen.size(), 1u);
  EXPECT_EQ(bench.done(first), bench.done(second));
}

TEST(LoadStoreBench, AStoreIsWrittenThroughWithItsBytesOrAsAWholeLine) {
  LoadStoreBench bench({.noc = {.latency = kNoc, .flit_bytes = 32, .header_bytes = 8}});
  bench.issue(0, {.action = MemoryAction::kStore, .lanes = 2});
  bench.issue(100, {.action = MemoryAction::kStore, .lanes = kLanes});
  bench.run();
  ASSERT_EQ(bench.memory.seen.size(), 2u);
  EXPECT_EQ(bench.memory.seen[0].access.kind, AccessKind::kStore);
  EXPECT_EQ(bench.memory.seen[0].access.bytes, 8);
  EXPECT_EQ(bench.memory.seen[0].flits, 1u);
  EXPECT_EQ(bench.memory.seen[1].access.bytes, 0) << "the whole line";
  EXPECT_EQ(bench.memory.seen[1].flits, 5u);
}

TEST(LoadStoreBench, LanesThatStoreToOneWordSendItOnceAndAtomicsSendEveryOperand) {
  LoadStoreBench bench;
  bench.issue(0, {.action = MemoryAction::kStore, .stride = 0, .lanes = kLanes});
  bench.issue(100, {.action = MemoryAction::kReduction, .stride = 0, .lanes = 8});
  bench.run();
  ASSERT_EQ(bench.memory.seen.size(), 2u);
  EXPECT_EQ(bench.memory.seen[0].access.bytes, 4);
  EXPECT_EQ(bench.memory.seen[1].access.bytes, 32);
}

TEST(LoadStoreBench, AStoreOfSeveralPlacesOfEachLaneSendsTheBytesOfAll) {
  // Two lanes, 32 bytes apart, store three words each: 24 bytes of one line.
  LoadStoreBench bench({.noc = {.latency = kNoc, .flit_bytes = 16, .header_bytes = 8}});
  bench.issue(0, {.action = MemoryAction::kStore, .stride = 32, .lanes = 2, .places = 3});
  // In a line each: the lanes' first words end one line, their other words begin the next.
  bench.issue(100, {.action = MemoryAction::kStore, .at = 2 * kLineBytes - 4, .lanes = 1, .places = 3});
  bench.run();
  ASSERT_EQ(bench.memory.seen.size(), 3u);
  EXPECT_EQ(bench.memory.seen[0].access.bytes, 24);
  EXPECT_EQ(bench.memory.seen[0].flits, 2u);
  EXPECT_EQ(bench.memory.seen[1].access.bytes, 4);
  EXPECT_EQ(bench.memory.seen[2].access.bytes, 8);
}

TEST(LoadStoreBench, AnAtomicGoesPastTheL1AndDropsItsCopy) {
  LoadStoreBench bench;
  bench.issue(0, {});
  bench.issue(100, {.action = MemoryAction::kAtomic});
  bench.issue(200, {});
  bench.run();
  ASSERT_EQ(bench.memory.seen.size(), 3u);
  EXPECT_EQ(bench.memory.seen[1].access.kind, AccessKind::kAtomic);
  EXPECT_EQ(bench.memory.seen[1].access.atomic, 1u);
  EXPECT_EQ(bench.memory.seen[1].access.lanes, 0xffffffffu);
}

TEST(LoadStoreBench, AVolatileLoadNeitherLooksIntoTheL1NorFillsIt) {
  LoadStoreBench bench;
  bench.issue(0, {.past_l1 = true});
  bench.issue(100, {.past_l1 = false});
  bench.issue(200, {.past_l1 = true});
  bench.run();
  EXPECT_EQ(bench.memory.seen.size(), 3u);
}

TEST(LoadStoreBench, ALoadThatAsksTheL2GoesPastTheL1OnlyWhereOperatorsAreObeyed) {
  for (const auto operators : {L1Config::CacheOperators::kIgnored, L1Config::CacheOperators::kObeyed}) {
    LoadStoreBench bench({.operators = operators});
    bench.issue(0, {});
    bench.issue(100, {.asks_l2 = true});
    bench.issue(200, {});
    bench.run();
    EXPECT_EQ(bench.memory.seen.size(), operators == L1Config::CacheOperators::kObeyed ? 2u : 1u);
  }
}

TEST(LoadStoreBench, ALoadBehindAStoreToALineThatIsFetchedWaitsAndFetchesAnew) {
  LoadStoreBench bench;
  bench.issue(0, {});
  bench.issue(5, {.action = MemoryAction::kStore, .lanes = 1});
  const u32 load = bench.issue(10, {});
  bench.run();
  ASSERT_EQ(bench.memory.seen.size(), 3u);
  const Cycle filled = kFirstAccess + kMissTrip;
  EXPECT_EQ(bench.memory.seen[2].at, filled + kNoc);
  EXPECT_EQ(bench.done(load), filled + kMissTrip);
}

TEST(LoadStoreBench, AHeadThatCannotGoBlocksThoseBehindIt) {
  LoadStoreBench bench({.noc = {.latency = kNoc, .flit_bytes = 256, .queue_packets = 1}});
  bench.issue(0, {.at = 0});
  bench.memory.open = 500;
  bench.issue(100, {.at = kLineBytes});      // takes the only place on the way out
  bench.issue(101, {.at = 2 * kLineBytes});  // finds none
  const u32 hit = bench.issue(102, {.at = 0});
  bench.run();
  EXPECT_GT(bench.done(hit), 500u);
  EXPECT_GT(bench.unit.stats.blocked_cycles.value, 300u);
}

TEST(LoadStoreBench, TheQueueHoldsAsManyInstructionsAsItHasPlaces) {
  for (const u32 places : {1u, 4u}) {
    LoadStoreBench bench({.queue = places, .noc = {.latency = kNoc, .flit_bytes = 256, .queue_packets = 1}});
    bench.memory.open = 500;
    for (u64 i = 0; i < 8; ++i) bench.issue(0, {.at = i * kLineBytes});
    bench.scheduler.run(1);
    EXPECT_TRUE(bench.unit.full());
    EXPECT_EQ(bench.unit.stats.instructions[kTenant].value, places);
    bench.run();
  }
}

LoadStoreBench::Options with_tlb(TranslateAt at = TranslateAt::kBeforeL1) {
  return {.translation = at};
}
// From the first look-up of a line to when its page is known.
constexpr Cycle kPageTrip = 2 * kTlbLink + kTlb;

TEST(LoadStoreBench, ALineWhosePageIsNotKnownWaitsForItAndOthersGoOn) {
  LoadStoreBench bench(with_tlb());
  bench.issue(0, {.at = 0});
  const u32 unknown = bench.issue(300, {.at = kPageBytes});
  const u32 known = bench.issue(301, {.at = kLineBytes});
  bench.run();
  EXPECT_EQ(bench.done(unknown), 300 + kFirstAccess + kPageTrip + kMissTrip);
  EXPECT_EQ(bench.done(known), 301 + kFirstAccess + kMissTrip);
}

TEST(LoadStoreBench, LinesThatWaitedForTheirPageGoBeforeYoungerOnes) {
  LoadStoreBench bench(with_tlb());
  bench.issue(0, {.at = 0});
  bench.issue(300, {.at = kPageBytes});
  const Cycle known = 300 + kFirstAccess + kPageTrip;
  bench.issue(known - kFirstAccess, {.at = kLineBytes});  // its turn would come in the same cycle
  bench.run();
  ASSERT_EQ(bench.memory.seen.size(), 3u);
  EXPECT_EQ(bench.memory.seen[1].access.va.raw, GuestMemory::kBase + kPageBytes);
  EXPECT_EQ(bench.memory.seen[2].access.va.raw, GuestMemory::kBase + kLineBytes);
  EXPECT_EQ(bench.memory.seen[2].at, bench.memory.seen[1].at + 1);
}

TEST(LoadStoreBench, LinesThatWaitedForTheirPageGoWhileTheHeadAwaitsALine) {
  LoadStoreBench bench({.translation = TranslateAt::kBeforeL1, .l1_misses = 1});
  bench.issue(0, {.at = 0});
  bench.issue(300, {.action = MemoryAction::kStore, .at = kPageBytes});
  const Cycle known = 300 + kFirstAccess + kPageTrip;
  bench.issue(known - 20, {.at = kLineBytes});      // takes the only miss entry
  bench.issue(known - 19, {.at = 2 * kLineBytes});  // waits for it
  bench.run();
  ASSERT_EQ(bench.memory.seen.size(), 4u);
  EXPECT_EQ(bench.memory.seen[2].access.kind, AccessKind::kStore);
  EXPECT_EQ(bench.memory.seen[2].at, known + kNoc);
  EXPECT_EQ(bench.memory.seen[3].at, known - 20 + kFirstAccess + kMissTrip + kNoc) << "when the line has come";
}

TEST(LoadStoreBench, BehindAVirtualL1OnlyWhatMissesIsTranslated) {
  LoadStoreBench bench(with_tlb(TranslateAt::kAfterL1));
  bench.issue(0, {.at = 0});
  const u32 hit = bench.issue(300, {.at = 0});
  bench.issue(400, {.at = kLineBytes});
  bench.run();
  EXPECT_EQ(bench.asked.seen.size(), 1u);
  EXPECT_EQ(bench.done(hit), 300 + 1 + kHit) << "the TLB is not waited for";
  EXPECT_EQ(bench.memory.seen[1].at, 400 + 1 + kTlbHit + kNoc) << "what misses the L1 is looked up in the TLB then";
  EXPECT_EQ(bench.unit.translator().stats.lookups[kTenant].value, 2u);
}

TEST(LoadStoreBench, BeforeAVirtualL2NothingIsTranslatedAndLinesKeepTheirVirtualNames) {
  LoadStoreBench bench(with_tlb(TranslateAt::kAfterL2));
  bench.issue(0, {.at = kLineBytes});
  bench.run();
  EXPECT_EQ(bench.asked.seen.size(), 0u);
  ASSERT_EQ(bench.memory.seen.size(), 1u);
  EXPECT_EQ(bench.memory.seen[0].access.in_l2, LineKey::of_tenant(kTenant, GuestMemory::kBase / kLineBytes + 1));
}

TEST(LoadStoreBench, BehindAVirtualL1StoresToOneLineStayInOrderThoughTheSecondFindsItsPage) {
  LoadStoreBench::Options options = with_tlb(TranslateAt::kAfterL1);
  options.tlb.look_up = L1TlbConfig::LookUp::kLine;
  options.tlb.merge_misses = false;
  LoadStoreBench bench(options);
  bench.issue(0, {.at = 5 * kLineBytes});  // brings the page
  const Cycle there = 1 + kPageTrip;
  bench.issue(there - 3, {.action = MemoryAction::kStore, .at = 0, .lanes = 1});  // asks for the page, too
  bench.issue(there + 2, {.action = MemoryAction::kStore, .at = 4, .lanes = 1});
  bench.run();
  EXPECT_EQ(bench.asked.seen.size(), 2u) << "the second store does not ask: it goes behind the first";
  ASSERT_EQ(bench.memory.seen.size(), 3u);
  EXPECT_EQ(bench.memory.seen[1].access.words, 1u);
  EXPECT_EQ(bench.memory.seen[2].access.words, 2u);
}

TEST(LoadStoreBench, TheTimeOfAnInstructionIsFromIssueToItsLastLine) {
  LoadStoreBench bench;
  bench.issue(10, {.stride = kLineBytes, .lanes = 3});
  bench.run();
  EXPECT_EQ(bench.unit.stats.latency[kTenant].value, kFirstAccess + 2 + kMissTrip);
  EXPECT_EQ(bench.unit.stats.lines[kTenant].value, 3u);
}

/// Instructions of every kind, one of each warp and more than the queue has places for, over a few pages.
void issue_at_random(LoadStoreBench& bench) {
  Rng rng(1, "instructions");
  Cycle at = 0;
  for (u32 i = 0; i < kWarps; ++i, at += rng.below(20)) {
    const u64 kind = rng.below(8), stride = u64{4} << 2 * rng.below(5);
    const MemoryAction action = kind == 0   ? MemoryAction::kAtomic
                                : kind == 1 ? MemoryAction::kStore
                                            : MemoryAction::kLoad;
    bench.issue(
        at, {action, 4 * rng.below(8 * kPageBytes / 4), stride, 1 + static_cast<u32>(rng.below(kLanes)), kind == 2});
  }
}

TEST(LoadStoreCheckpoint, SavedBeforeAnyCycleItGoesOnAsIfNothingHadBeen) {
  for (const TranslateAt where : {TranslateAt::kBeforeL1, TranslateAt::kAfterL1}) {
    LoadStoreBench::Options options{.translation = where, .queue = 3, .ports = 2, .l1_bytes = 1024, .l1_misses = 4};
    options.tlb.entries = 4;
    options.tlb.ways = 4;
    options.tlb.miss_entries = 3;
    options.tlb.miss_merges = 2;
    LoadStoreBench undisturbed(options);
    issue_at_random(undisturbed);
    undisturbed.run();
    const std::string statistics = undisturbed.statistics().csv();
    ASSERT_GT(undisturbed.scheduler.now(), 500u);
    for (Cycle at = 1; at < undisturbed.scheduler.now(); at += 31) {
      LoadStoreBench first(options), second(options);
      issue_at_random(first);
      issue_at_random(second);
      first.scheduler.run(at);
      copy_state(first, second);
      second.run();
      ASSERT_EQ(second.statistics().csv(), statistics) << "saved before cycle " << at;
      ASSERT_EQ(second.completed, undisturbed.completed) << "saved before cycle " << at;
      ASSERT_EQ(second.asked.times(), undisturbed.asked.times());
      ASSERT_EQ(second.memory.times(), undisturbed.memory.times());
      for (std::size_t i = 0; i < second.memory.seen.size(); ++i) {
        const Access &after = second.memory.seen[i].access, &before = undisturbed.memory.seen[i].access;
        ASSERT_EQ(std::tie(after.va, after.lanes, after.words, after.bytes),
                  std::tie(before.va, before.lanes, before.words, before.bytes));
      }
      ASSERT_EQ(second.unit.translator().most_stalled(kTenant), undisturbed.unit.translator().most_stalled(kTenant));
    }
  }
}

}  // namespace
}  // namespace terrace
