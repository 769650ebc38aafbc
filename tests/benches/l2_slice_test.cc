// An L2 slice alone: SMs that ask for lines at stated cycles on one side, memory of a fixed latency on the other.
// SPDX-License-Identifier: MIT
#include "cache/l2_slice.h"

#include <gtest/gtest.h>

#include <memory>

#include "benches/scripted.h"
#include "engine/rng.h"
#include "stats/stat_tree.h"

namespace terrace {
namespace {

constexpr u32 kLineBytes = 128;
constexpr Cycle kNoc = 1, kToMemory = 1, kFromMemory = 1;  // latencies of the links

/// Two lines in one set, so that recency and victims can be seen with three names.
L2Config two_lines() {
  L2Config config;
  config.bytes = 2 * kLineBytes;
  config.ways = 2;
  config.slices = 1;
  config.hit_cycles = 10;
  return config;
}

struct Ask {
  u64 line = 0;
  AccessKind kind = AccessKind::kLoad;
  u8 bytes = 0;  // of a store, an atomic or a load past the L1; 0: the whole line
  u32 first_word = 0;
  u32 sm = 0;
  u32 tenant = 0;
  u8 walk_level = 0;
  bool virtual_name = false;
  bool past_l1 = false;
  u8 sectors = 1;  // where lines have some
};
Ask store(u64 line, u8 bytes = 0, u32 first_word = 0) {
  return {.line = line, .kind = AccessKind::kStore, .bytes = bytes, .first_word = first_word};
}
Ask atomic(u64 line, u32 word = 0) {
  return {.line = line, .kind = AccessKind::kAtomic, .bytes = 4, .first_word = word};
}
Ask load_past_l1(u64 line, u32 word) {
  return {.line = line, .bytes = 4, .first_word = word, .past_l1 = true};
}
Ask walk(u64 line, u8 level) {
  return {.line = line, .kind = AccessKind::kWalk, .bytes = 8, .walk_level = level};
}

class L2Bench {
 public:
  struct Options {
    u32 sms = 2;
    u32 tenants = 2;
    u32 channels = 1;
    Cycle memory_cycles = 20;
    u32 memory_places = 0;  // of the link; 0: enough
    bool virtual_names = false;
    u32 sector_bytes = 0;
    NocConfig noc{.latency = kNoc, .flit_bytes = 256};  // a flit is a packet, whatever it carries
  };
  struct Reply {
    u32 ask;  // by order of `ask`
    Cycle at;
    friend bool operator==(const Reply&, const Reply&) = default;
  };
  struct Performed {
    u32 atomic;
    Cycle at;
    friend bool operator==(const Performed&, const Performed&) = default;
  };

  explicit L2Bench(const L2Config& config) : L2Bench(config, Options{}) {}
  L2Bench(const L2Config& config, const Options& options)
      : options_(options),
        map(kLineBytes, options.channels),
        truth({kLineBytes, options.sector_bytes}, [](TenantId, VirtAddr va) { return PhysAddr{va.raw}; }),
        requests(scheduler, options.noc, options.sms, 1, {.output = config.ports}),
        replies(scheduler, options.noc, 1, options.sms, {.input = config.ports}) {
    MemoryPort::Wiring memory;
    for (u32 i = 0; i < options.channels; ++i) {
      to_memory.push_back(std::make_unique<Link<DramRequest>>(
          scheduler, LinkShape{.latency = kToMemory, .capacity = options.memory_places}));
      from_memory.push_back(std::make_unique<Link<DramReply>>(scheduler, LinkShape{.latency = kFromMemory}));
      memory.requests.push_back(to_memory[i].get());
      memory.replies.push_back(from_memory[i].get());
    }
    slice = std::make_unique<L2Slice>(
        scheduler, config, options.noc, LineShape(kLineBytes, options.sector_bytes), accesses,
        L2Slice::Wiring{requests, replies, 0, memory, map, truth, options.virtual_names, {}, options.tenants, 1},
        [this](TenantId, u32 which, u64) { performed.push_back({which, scheduler.now()}); });
    const UnitId id = scheduler.add(*slice, "l2");
    slice->connect(id);
    requests.connect_output(0, id);
    replies.connect_input(0, id);
    answers.resize(options.sms);
    for (u32 i = 0; i < options.sms; ++i) add_sm(i);
    fetched.resize(options.channels);
    delays_.resize(options.channels);
    for (u32 i = 0; i < options.channels; ++i) add_channel(i, id);
  }

  /// Sends a request in that cycle, or as soon as the SM's earlier ones have left. Returns its number.
  u32 ask(Cycle at, const Ask& what) {
    const u32 number = asks_++;
    sms_[what.sm]->at(at, [this, what, number](Cycle now) {
      if (!requests.can_send(what.sm, 0, now)) return false;
      const AccessRef ref = accesses.make();
      Access& access = accesses[ref];
      access.va = {what.line * kLineBytes};
      access.tenant = TenantId(static_cast<u8>(what.tenant));
      access.in_l2 = what.virtual_name ? LineKey::of_tenant(access.tenant, what.line) : LineKey::physical(what.line);
      access.sm = SmId(static_cast<u16>(what.sm));
      access.port = static_cast<u16>(what.sm);
      access.kind = what.kind;
      access.walk_level = what.walk_level;
      access.bytes = what.bytes;
      access.words = what.bytes == 0 ? all_words(kLineBytes) : all_words(what.bytes) << what.first_word;
      access.sectors = what.sectors;
      access.past_l1 = what.past_l1;
      access.owner = number;
      access.atomic = number;
      const bool writes = what.kind == AccessKind::kStore || what.kind == AccessKind::kAtomic;
      if (what.kind == AccessKind::kWalk) {
        truth.sends(ref, truth.asks(access.in_l2));
      } else {
        truth.sends(ref, truth.asks(access.tenant, access.va, access.sm, writes));
        if (writes) truth.writes_line(access.tenant, access.va, access.sm);
      }
      requests.send(what.sm, 0, now, ref, 1, access.tenant);
      return true;
    });
    return number;
  }
  void run() {
    scheduler.run(1'000'000);
    slice->settle(scheduler.now());
    requests.settle(scheduler.now());
    statistics().check_identities();
    EXPECT_EQ(accesses.live(), 0u) << "a request was not answered\n" << scheduler.explain();
  }
  StatTree statistics() {
    StatTree tree(options_.tenants);
    tree.add("l2", slice->stats);
    tree.add("admission", slice->admission_stats);
    tree.add("port", requests.stats(0));
    if (slice->blame.on()) tree.add("blame", slice->blame);
    if (slice->blame.on()) tree.add("port.blame", requests.books(0).blame());
    return tree;
  }
  void archive(Archive& a) {
    StatTree tree = statistics();
    a(scheduler, accesses, truth, requests, replies, *slice, tree, answers, fetched, performed, delays_);
    for (const auto& link : to_memory) a(*link);
    for (const auto& link : from_memory) a(*link);
    for (const auto& sm : sms_) a(*sm);
    for (const auto& channel : channels_) a(*channel);
  }

  /// When an ask was answered.
  Cycle answered(u32 number) const {
    for (const auto& of_sm : answers) {
      for (const Reply& reply : of_sm)
        if (reply.ask == number) return reply.at;
    }
    ADD_FAILURE() << "request " << number << " was not answered";
    return 0;
  }
  /// Lines that memory was asked for, or given, in order.
  std::vector<u64> reads(u32 channel = 0) const { return lines(channel, false); }
  std::vector<u64> writes(u32 channel = 0) const { return lines(channel, true); }
  Cycle miss_cycles() const { return 2 * kNoc + kToMemory + options_.memory_cycles + kFromMemory + 1; }

  Options options_;
  Scheduler scheduler;
  AccessPool accesses;
  BenchMap map;
  LineTruth truth;
  Crossbar<AccessRef> requests, replies;
  std::vector<std::unique_ptr<Link<DramRequest>>> to_memory;
  std::vector<std::unique_ptr<Link<DramReply>>> from_memory;
  std::unique_ptr<L2Slice> slice;
  std::vector<std::vector<Reply>> answers;  // by SM
  std::vector<Inbox<DramRequest>> fetched;  // by channel
  std::vector<Performed> performed;
  std::vector<Cycle> sm_opens = std::vector<Cycle>(8, 0);  // from when on an SM takes its answers

 private:
  void add_sm(u32 sm) {
    sms_.push_back(std::make_unique<Scripted>(scheduler, "sm"));
    requests.connect_input(sm, sms_[sm]->id());
    replies.connect_output(sm, sms_[sm]->id());
    sms_[sm]->always([this, sm](Cycle now) {
      replies.absorb(sm, now);
      if (now < sm_opens[sm]) return sm_opens[sm];
      while (replies.front(sm, now)) {
        const AccessRef ref = replies.receive(sm, now);
        truth.completes(ref, accesses[ref]);
        answers[sm].push_back({accesses[ref].owner, now});
        accesses.free(ref);
      }
      return kNever;
    });
  }
  void add_channel(u32 channel, UnitId slice_id) {
    channels_.push_back(std::make_unique<Scripted>(scheduler, "memory"));
    to_memory[channel]->connect(slice_id, channels_[channel]->id());
    from_memory[channel]->connect(channels_[channel]->id(), slice_id);
    channels_[channel]->always([this, channel](Cycle now) {
      Inbox<DramRequest>& inbox = fetched[channel];
      const std::size_t before = inbox.seen.size();
      const Cycle opens = inbox.take(*to_memory[channel], now);
      for (std::size_t i = before; i < inbox.seen.size(); ++i) {
        const DramRequest& request = inbox.seen[i].what;
        // A virtual name says where the line lies in this bench: at the same number.
        const PhysAddr line =
            request.line == kUnknownLine ? PhysAddr{request.name.number() * kLineBytes} : request.line;
        if (request.write) {
          truth.memory_takes(request.copy);
        } else {
          delays_[channel].push(now + options_.memory_cycles, {line, request.name, request.tag, request.tenant,
                                                               truth.memory_gives(line, request.words), request.words});
        }
      }
      return std::min(opens, delays_[channel].send(*from_memory[channel], now));
    });
  }
  std::vector<u64> lines(u32 channel, bool write) const {
    std::vector<u64> all;
    for (const auto& arrival : fetched[channel].seen) {
      if (arrival.what.write == write) all.push_back(arrival.what.line.raw / kLineBytes);
    }
    return all;
  }

  u32 asks_ = 0;
  std::vector<std::unique_ptr<Scripted>> sms_, channels_;
  std::vector<Delay<DramReply>> delays_;
};

using Lines = std::vector<u64>;

TEST(L2SliceBench, AMissAsksMemoryWhenItIsLookedUpAndIsAnsweredTheCycleAfterItsFill) {
  L2Bench bench(two_lines());
  const u32 load = bench.ask(5, {.line = 1});
  bench.run();
  ASSERT_EQ(bench.reads(), Lines{1});
  EXPECT_EQ(bench.fetched[0].seen[0].at, 5 + kNoc + kToMemory);
  EXPECT_EQ(bench.answered(load), 5 + bench.miss_cycles());
}

TEST(L2SliceBench, AHitIsAnsweredItsLatencyAfterItsLookUp) {
  L2Bench bench(two_lines());
  bench.ask(0, {.line = 1});
  const u32 hit = bench.ask(100, {.line = 1});
  bench.run();
  EXPECT_EQ(bench.reads(), Lines{1});
  EXPECT_EQ(bench.answered(hit), 100 + 2 * kNoc + 10);
}

TEST(L2SliceBench, MissesOfOneLineShareAFetchAndAreAnsweredInOrder) {
  L2Bench bench(two_lines(), {.sms = 1});
  const u32 first = bench.ask(0, {.line = 1}), second = bench.ask(3, {.line = 1});
  bench.run();
  EXPECT_EQ(bench.reads(), Lines{1});
  EXPECT_EQ(bench.answered(first), bench.miss_cycles());
  EXPECT_EQ(bench.answered(second), bench.miss_cycles() + 1) << "one reply per cycle";
}

TEST(L2SliceBench, AHitRenewsTheRecencyOfItsLine) {
  L2Bench bench(two_lines());
  bench.ask(0, {.line = 1});
  bench.ask(100, {.line = 2});
  bench.ask(200, {.line = 1});
  bench.ask(300, {.line = 3});  // takes the place of line 2
  bench.ask(400, {.line = 1});
  bench.ask(500, {.line = 2});
  bench.run();
  EXPECT_EQ(bench.reads(), (Lines{1, 2, 3, 2}));
}

TEST(L2SliceBench, ADirtyVictimIsWrittenBackAndACleanOneIsNot) {
  L2Bench bench(two_lines());
  bench.ask(0, store(1, 4));
  bench.ask(100, {.line = 2});
  bench.ask(200, {.line = 3});
  bench.ask(300, {.line = 4});
  bench.run();
  EXPECT_EQ(bench.reads(), (Lines{2, 3, 4}));
  EXPECT_EQ(bench.writes(), Lines{1});
}

TEST(L2SliceBench, AWriteBackIsOfTheTenantWhoseLineItIs) {
  L2Bench bench(two_lines());
  bench.ask(0, {.line = 1, .kind = AccessKind::kStore, .tenant = 1});
  bench.ask(100, {.line = 2});
  bench.ask(200, {.line = 3});
  bench.run();
  ASSERT_EQ(bench.writes(), Lines{1});
  EXPECT_EQ(index(bench.fetched[0].seen.back().what.tenant), 1);
}

TEST(L2SliceBench, ALineThatAHitWroteToIsDirty) {
  L2Bench bench(two_lines());
  bench.ask(0, {.line = 1});
  bench.ask(100, store(1, 4));
  bench.ask(200, {.line = 2});
  bench.ask(300, {.line = 3});
  bench.run();
  EXPECT_EQ(bench.writes(), Lines{1});
}

TEST(L2SliceBench, AStoreOfAWholeLineTakesItWithoutAFetchAndIsAnsweredLikeAHit) {
  for (const auto how : {L2Config::PartialStores::kMask, L2Config::PartialStores::kFetch}) {
    L2Config config = two_lines();
    config.partial_stores = how;
    L2Bench bench(config);
    const u32 whole = bench.ask(0, store(1));
    bench.run();
    EXPECT_EQ(bench.reads(), Lines{});
    EXPECT_EQ(bench.answered(whole), 2 * kNoc + 10);
  }
}

TEST(L2SliceBench, WithoutMasksAStoreOfPartOfALineFetchesTheRest) {
  L2Config config = two_lines();
  config.partial_stores = L2Config::PartialStores::kFetch;
  L2Bench bench(config);
  const u32 part = bench.ask(0, store(1, 4));
  bench.run();
  EXPECT_EQ(bench.reads(), Lines{1});
  EXPECT_EQ(bench.answered(part), bench.miss_cycles());
}

TEST(L2SliceBench, AStoreOfAWholeLineThatIsBeingFetchedWaitsForIt) {
  L2Bench bench(two_lines());
  bench.ask(0, {.line = 1});
  const u32 whole = bench.ask(3, store(1));
  bench.ask(100, {.line = 2});
  bench.ask(200, {.line = 3});
  bench.run();
  EXPECT_EQ(bench.answered(whole), bench.miss_cycles() + 1);
  EXPECT_EQ(bench.writes(), Lines{1}) << "what it wrote is not lost";
}

TEST(L2SliceBench, AWholeLineWithAVirtualNameIsFetchedAndWrittenBackToWhereMemoryFoundIt) {
  L2Bench bench(two_lines(), {.virtual_names = true});
  bench.ask(0, {.line = 1, .kind = AccessKind::kStore, .virtual_name = true});
  bench.ask(100, {.line = 2, .virtual_name = true});
  bench.ask(200, {.line = 3, .virtual_name = true});
  bench.run();
  ASSERT_EQ(bench.fetched[0].seen.size(), 4u);
  EXPECT_EQ(bench.fetched[0].seen[0].what.line, kUnknownLine);
  EXPECT_EQ(bench.fetched[0].seen[0].what.name, LineKey::of_tenant(TenantId{0}, 1));
  EXPECT_EQ(bench.writes(), Lines{1});
}

L2Config masked() {
  L2Config config = two_lines();
  config.partial_stores = L2Config::PartialStores::kMask;
  return config;
}

TEST(L2SliceBench, WithMasksAStoreOfPartOfALineTakesItWithoutAFetchAndIsAnsweredLikeAHit) {
  L2Bench bench(masked());
  const u32 part = bench.ask(0, store(1, 4)), other_part = bench.ask(100, store(1, 4, 7));
  bench.run();
  EXPECT_EQ(bench.reads(), Lines{});
  EXPECT_EQ(bench.answered(part), 2 * kNoc + 10);
  EXPECT_EQ(bench.answered(other_part), 100 + 2 * kNoc + 10);
}

TEST(L2SliceBench, ALoadOfALineWithMissingWordsFetchesItOnce) {
  L2Bench bench(masked());
  bench.ask(0, store(1, 4));
  const u32 first = bench.ask(100, {.line = 1}), second = bench.ask(200, {.line = 1});
  bench.run();
  EXPECT_EQ(bench.reads(), Lines{1});
  EXPECT_EQ(bench.answered(first), 100 + bench.miss_cycles());
  EXPECT_EQ(bench.answered(second), 200 + 2 * kNoc + 10);
  EXPECT_EQ(bench.slice->stats.completions.value, 1u);
}

TEST(L2SliceBench, WhatWasStoredBeforeTheRestCameIsWrittenBackWithIt) {
  L2Bench bench(masked());
  bench.ask(0, store(1, 4));
  bench.ask(100, {.line = 1});
  bench.ask(200, {.line = 2});
  bench.ask(300, {.line = 3});
  bench.run();
  EXPECT_EQ(bench.writes(), Lines{1});
  EXPECT_EQ(bench.slice->stats.partial_write_backs.value, 0u);
}

TEST(L2SliceBench, ALoadPastTheL1NeedsOnlyItsWords) {
  L2Bench bench(masked());
  bench.ask(0, store(1, 8, 3));
  bench.ask(100, load_past_l1(1, 4));
  bench.run();
  EXPECT_EQ(bench.reads(), Lines{});
  bench.ask(200, load_past_l1(1, 5));
  bench.run();
  EXPECT_EQ(bench.reads(), Lines{1});
}

TEST(L2SliceBench, AnAtomicNeedsOnlyItsWords) {
  L2Bench bench(masked());
  bench.ask(0, store(1, 8, 3));
  bench.ask(100, atomic(1, 3));
  bench.run();
  EXPECT_EQ(bench.reads(), Lines{});
  bench.ask(200, atomic(1, 2));
  bench.ask(300, atomic(2, 0));
  bench.run();
  EXPECT_EQ(bench.reads(), (Lines{1, 2}));
}

TEST(L2SliceBench, StoresThatTogetherCoverALineMakeItWhole) {
  L2Bench bench(masked());
  bench.ask(0, store(1, 64));
  bench.ask(100, store(1, 64, 16));
  bench.ask(200, {.line = 1});
  bench.ask(300, store(2));
  bench.ask(400, store(3));
  bench.run();
  EXPECT_EQ(bench.reads(), Lines{});
  EXPECT_EQ(bench.writes(), Lines{1});
  EXPECT_EQ(bench.slice->stats.partial_write_backs.value, 0u);
}

TEST(L2SliceBench, ALineWithMissingWordsIsWrittenBackWithoutThem) {
  L2Bench bench(masked());
  bench.ask(0, store(1, 64));
  bench.ask(100, store(2));
  bench.ask(200, store(3));
  bench.ask(300, {.line = 1});
  bench.run();
  EXPECT_EQ(bench.reads(), Lines{1}) << "only the load does";
  EXPECT_EQ(bench.writes(), (Lines{1, 2}));
  EXPECT_EQ(bench.slice->stats.partial_write_backs.value, 1u);
  EXPECT_EQ(bench.fetched[0].seen[0].what.words & all_words(kLineBytes), all_words(64));
}

TEST(L2SliceBench, AStoreToALineWhoseRestIsOnItsWayWaitsForIt) {
  L2Bench bench(masked());
  bench.ask(0, store(1, 4));
  bench.ask(100, {.line = 1});
  const u32 late = bench.ask(103, store(1, 4, 1));
  bench.run();
  EXPECT_EQ(bench.answered(late), 100 + bench.miss_cycles() + 1);
}

TEST(L2SliceBench, WordsThatAwaitTheRestOfTheirLineAreNotPushedOut) {
  L2Bench bench(masked());
  bench.ask(0, store(1, 4));
  bench.ask(100, {.line = 1});
  for (u64 line = 2; line <= 4; ++line) bench.ask(100 + line, store(line));
  bench.ask(200, {.line = 1});
  bench.run();
  EXPECT_EQ(bench.reads(), Lines{1});
  EXPECT_EQ(bench.writes(), (Lines{2, 3})) << "line 1 is still there";
}

TEST(L2SliceBench, AStoreOfLessThanAWordFetchesWithMasksToo) {
  L2Bench bench(masked());
  bench.ask(0, store(1, 2));
  bench.ask(100, store(2, 4));
  bench.ask(200, store(2, 2));
  bench.run();
  EXPECT_EQ(bench.reads(), (Lines{1, 2}));
}

TEST(L2SliceBench, PartOfALineWithAVirtualNameIsFetchedWithMasksToo) {
  L2Bench bench(masked(), {.virtual_names = true});
  bench.ask(0, {.line = 1, .kind = AccessKind::kStore, .bytes = 4, .virtual_name = true});
  bench.run();
  EXPECT_EQ(bench.fetched[0].seen.size(), 1u);
}

TEST(L2SliceBench, AtomicsArePerformedInOrderWhenTheirLineIsThere) {
  L2Bench bench(two_lines(), {.sms = 1});
  const Cycle fill = kNoc + kToMemory + 20 + kFromMemory;
  bench.ask(0, atomic(1));
  bench.ask(1, atomic(1));
  bench.ask(100, atomic(1));
  bench.run();
  EXPECT_EQ(bench.performed, (std::vector<L2Bench::Performed>{{0, fill}, {1, fill}, {2, 100 + kNoc}}));
}

TEST(L2SliceBench, AnAtomicKeepsThePortBusyAsLongAsConfigured) {
  L2Config config = two_lines();
  config.atomic_cycles = 7;
  L2Bench bench(config, {.sms = 2});
  bench.ask(0, atomic(1));  // brings the line
  bench.run();
  bench.performed.clear();
  bench.ask(200, atomic(1));
  bench.ask(201, atomic(1));
  bench.run();
  EXPECT_EQ(bench.performed, (std::vector<L2Bench::Performed>{{1, 200 + kNoc}, {2, 200 + kNoc + 7}}));
}

TEST(L2SliceBench, AStoreToPartOfALineKeepsThePortBusyAsLongAsConfigured) {
  L2Config config = two_lines();
  config.partial_store_cycles = 7;
  config.partial_stores = L2Config::PartialStores::kMask;
  const auto load_behind = [&](const Ask& store) {
    L2Bench bench(config, {.sms = 2});
    bench.ask(0, {.line = 1});  // brings the line
    bench.run();
    bench.ask(200, store);
    const u32 load = bench.ask(201, {.line = 1, .sm = 1});
    bench.run();
    return bench.answered(load);
  };
  EXPECT_EQ(load_behind(store(1)), 201 + 2 * kNoc + 10);
  EXPECT_EQ(load_behind(store(1, 64)), 200 + 7 + 2 * kNoc + 10);
}

TEST(L2SliceBench, AStoreToTheSectorOfTheLastOneKeepsThePortBusyAsLongAsConfigured) {
  L2Config config = two_lines();
  config.partial_store_cycles = 7;
  config.repeated_store_cycles = 2;
  config.partial_stores = L2Config::PartialStores::kMask;
  // The load behind a second store waits for the port.
  const auto load_behind = [&](u64 first_line) {
    L2Bench bench(config, {.sms = 2});
    bench.ask(0, {.line = 1});
    bench.ask(0, {.line = 2, .sm = 1});
    bench.run();
    bench.ask(200, store(first_line, 64));
    bench.ask(250, {.line = 2, .sm = 1});  // a load in between changes nothing
    bench.ask(300, store(1, 64));
    const u32 load = bench.ask(301, {.line = 1, .sm = 1});
    bench.run();
    return bench.answered(load);
  };
  EXPECT_EQ(load_behind(2), 300 + 7 + 2 * kNoc + 10);
  EXPECT_EQ(load_behind(1), 300 + 2 + 2 * kNoc + 10);
}

TEST(L2SliceBench, AnAtomicLeavesItsLineDirty) {
  L2Bench bench(two_lines());
  bench.ask(0, atomic(1));
  bench.ask(100, {.line = 2});
  bench.ask(200, {.line = 3});
  bench.run();
  EXPECT_EQ(bench.writes(), Lines{1});
}

TEST(L2SliceBench, AMissWithoutAnEntryWaitsForTheFillThatFreesOne) {
  L2Config config = two_lines();
  config.miss_entries = 1;
  L2Bench bench(config);
  bench.ask(0, {.line = 1});
  bench.ask(1, {.line = 2});
  bench.run();
  const Cycle fill = kNoc + kToMemory + 20 + kFromMemory;
  ASSERT_EQ(bench.reads(), (Lines{1, 2}));
  EXPECT_EQ(bench.fetched[0].seen[1].at, fill + kToMemory);
}

TEST(L2SliceBench, ARequestThatMayNotMergeWaitsForTheFillAndHits) {
  L2Config config = two_lines();
  config.miss_merges = 1;
  L2Bench bench(config);
  bench.ask(0, {.line = 1});
  const u32 second = bench.ask(1, {.line = 1});
  bench.run();
  const Cycle fill = kNoc + kToMemory + 20 + kFromMemory;
  EXPECT_EQ(bench.reads(), Lines{1});
  EXPECT_EQ(bench.answered(second), fill + 10 + kNoc);
}

TEST(L2SliceBench, AHitWithoutAPlaceForItsReplyWaitsUntilOneIsSent) {
  L2Config config = two_lines();
  config.reply_entries = 1;
  L2Bench bench(config);
  bench.ask(0, {.line = 1});
  const u32 first = bench.ask(100, {.line = 1}), second = bench.ask(101, {.line = 1});
  bench.run();
  EXPECT_EQ(bench.answered(first), 100 + 2 * kNoc + 10);
  EXPECT_EQ(bench.answered(second), 100 + 2 * kNoc + 20);
}

TEST(L2SliceBench, AWholeLineStoreWithoutAPlaceForItsReplyWaitsToo) {
  L2Config config = two_lines();
  config.reply_entries = 1;
  L2Bench bench(config);
  const u32 first = bench.ask(0, store(1)), second = bench.ask(1, store(2));
  bench.run();
  EXPECT_EQ(bench.answered(second), bench.answered(first) + 10);
}

/// Memory takes nothing before cycle 500 and its link holds one line: the second one waits in the slice.
L2Bench::Options stuck_memory() {
  return {.memory_places = 1};
}

TEST(L2SliceBench, AMissWaitsForItsPlaceOnTheWayToMemory) {
  L2Bench bench(two_lines(), stuck_memory());
  bench.fetched[0].open = 500;
  bench.ask(0, {.line = 1});
  bench.ask(1, {.line = 2});
  bench.run();
  EXPECT_EQ(bench.reads(), (Lines{1, 2}));
  EXPECT_EQ(bench.fetched[0].times(), (std::vector<Cycle>{500, 501 + kToMemory}));
}

TEST(L2SliceBench, BehindARequestThatIsRefusedNothingIsLookedUp) {
  L2Bench bench(two_lines(), stuck_memory());
  bench.ask(0, store(3));
  bench.fetched[0].open = 500;
  bench.ask(100, {.line = 1});
  bench.ask(101, {.line = 2});
  const u32 hit = bench.ask(102, {.line = 3});
  bench.run();
  EXPECT_EQ(bench.answered(hit), 502 + 10 + kNoc) << "looked up in the cycle after the miss in front of it";
}

TEST(L2SliceBench, WhileTooManyDirtyLinesWaitToLeaveNoMissIsTakenButHitsAre) {
  L2Config config = two_lines();
  config.write_back_entries = 1;
  L2Bench bench(config, stuck_memory());
  bench.fetched[0].open = 500;
  // Each store takes the place of a dirty line: the first to leave fills the link, the second waits in the slice.
  for (u64 line = 1; line <= 4; ++line) bench.ask(line, store(line));
  const u32 hit = bench.ask(50, {.line = 4});
  const u32 refused = bench.ask(51, store(5));
  bench.run();
  EXPECT_EQ(bench.writes(), (Lines{1, 2, 3}));
  EXPECT_EQ(bench.answered(hit), 50 + 2 * kNoc + 10);
  EXPECT_EQ(bench.answered(refused), 501 + 10 + kNoc) << "the link has a place again a cycle after it was emptied";
}

TEST(L2SliceBench, DirtyLinesLeaveBeforeAnythingIsFetchedInTheSameCycle) {
  L2Bench bench(two_lines());
  bench.ask(0, store(1));
  bench.ask(100, {.line = 2});
  bench.ask(200, {.line = 3});  // its fill pushes out line 1, which leaves in that cycle,
  const Cycle fill = 200 + kNoc + kToMemory + 20 + kFromMemory;
  bench.ask(fill - kNoc, {.line = 1});  // as its own fetch would
  bench.run();
  const auto& seen = bench.fetched[0].seen;
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_TRUE(seen[2].what.write);
  EXPECT_EQ(seen[2].at, fill + kToMemory);
  EXPECT_FALSE(seen[3].what.write);
  EXPECT_EQ(seen[3].at, fill + 1 + kToMemory);
}

TEST(L2SliceBench, ADirtyLineThatALookUpPushedOutLeavesInTheNextCycle) {
  L2Bench bench(two_lines());
  bench.ask(0, store(1));
  bench.ask(100, store(2));
  bench.ask(200, store(3));
  bench.run();
  ASSERT_EQ(bench.writes(), Lines{1});
  EXPECT_EQ(bench.fetched[0].seen[0].at, 200 + kNoc + 1 + kToMemory);
}

TEST(L2SliceBench, AFetchDoesNotOvertakeItsOwnLineOnTheWayToAnotherChannelThanThatInFront) {
  L2Bench bench(two_lines(), {.channels = 2, .memory_places = 1});
  bench.fetched[1].open = 500;  // odd lines
  bench.ask(0, store(1));
  bench.ask(1, store(3));
  bench.ask(2, store(2));     // line 1 leaves and fills its link
  bench.ask(3, store(4));     // line 3 waits in the slice
  bench.ask(4, store(6));     // line 2 waits behind it, although its channel is free
  bench.ask(5, {.line = 2});  // and must not be fetched before it has left
  bench.run();                // dev builds compare versions; here the order is seen
  ASSERT_GE(bench.fetched[0].seen.size(), 2u);
  EXPECT_TRUE(bench.fetched[0].seen[0].what.write);
  EXPECT_EQ(bench.fetched[0].seen[0].what.line.raw, 2 * kLineBytes);
  EXPECT_EQ(bench.reads(0), Lines{2});
}

TEST(L2SliceBench, ChannelsAnswerInTurn) {
  L2Config config = two_lines();
  config.bytes = 8 * kLineBytes;
  config.ways = 8;
  L2Bench bench(config, {.channels = 2});
  // Both channels take their lines in cycle 100 and answer in the same cycles.
  bench.fetched[0].open = bench.fetched[1].open = 100;
  for (const u64 line : {0, 2, 1, 3}) bench.ask(0, {.line = line});
  bench.run();
  std::vector<u32> order;
  for (const auto& reply : bench.answers[0]) order.push_back(reply.ask);
  EXPECT_EQ(order, (std::vector<u32>{0, 2, 1, 3}));
}

TEST(L2SliceBench, ALookAtAnAnswerThatMustWaitDoesNotMoveTheTurn) {
  L2Config config = two_lines();
  config.bytes = 8 * kLineBytes;
  config.ways = 8;
  NocConfig noc{.latency = kNoc, .flit_bytes = 256, .queue_packets = 1};
  L2Bench bench(config, {.channels = 2, .noc = noc});
  bench.sm_opens[0] = 500;
  for (const u64 line : {1, 3}) bench.ask(0, {.line = line});  // one answer fills the queue, and one waits behind it:
  bench.ask(100, {.line = 5});                                 // no further line is taken. It is channel 0's turn,
  const u32 later = bench.ask(200, {.line = 2});               // but its line arrives after channel 1's.
  bench.run();
  EXPECT_EQ(bench.answers[0][2].ask, later);
}

TEST(L2SliceBench, AnSmThatTakesNoRepliesHoldsUpThoseBehindItsOwn) {
  NocConfig noc{.latency = kNoc, .flit_bytes = 256, .queue_packets = 1};
  L2Bench bench(two_lines(), {.noc = noc});
  bench.sm_opens[0] = 500;
  bench.ask(0, store(1));
  bench.ask(20, {.line = 1, .sm = 0});                    // its queue is full: it waits in front,
  const u32 other = bench.ask(21, {.line = 1, .sm = 1});  // and this one behind it
  bench.run();
  EXPECT_EQ(bench.answered(0), 500u);
  EXPECT_EQ(bench.answered(other), 502 + kNoc);
}

TEST(L2SliceBench, WhatOneFillReleasedIsSentBeforeTheNextFillIsTaken) {
  L2Bench bench(two_lines(), {.sms = 1});
  bench.ask(0, {.line = 1});
  bench.ask(1, {.line = 2});
  bench.ask(2, {.line = 1});
  bench.ask(3, {.line = 1});
  bench.run();
  std::vector<u32> order;
  for (const auto& reply : bench.answers[0]) order.push_back(reply.ask);
  EXPECT_EQ(order, (std::vector<u32>{0, 2, 3, 1}));
  EXPECT_EQ(bench.answered(3), bench.miss_cycles() + 2);
  EXPECT_EQ(bench.answered(1), bench.miss_cycles() + 4) << "its fill waits until the last of those has left";
}

TEST(L2SliceBench, FillsAreAnsweredBeforeHits) {
  L2Bench bench(two_lines(), {.sms = 1});
  bench.ask(0, store(1));
  const u32 miss = bench.ask(100, {.line = 2});
  const Cycle fill_reply = 100 + kNoc + kToMemory + 20 + kFromMemory + 1;
  const u32 hit = bench.ask(fill_reply - 10 - kNoc, {.line = 1});  // due in the same cycle
  bench.run();
  EXPECT_EQ(bench.answered(miss), fill_reply + kNoc);
  EXPECT_EQ(bench.answered(hit), fill_reply + kNoc + 1);
}

TEST(L2SliceBench, ASliceWithTwoPortsLooksUpAndAnswersTwoPerCycle) {
  for (const u32 ports : {1u, 2u}) {
    L2Config config = two_lines();
    config.ports = ports;
    L2Bench bench(config);
    bench.ask(0, store(1));
    const u32 one = bench.ask(100, {.line = 1, .sm = 0}), two = bench.ask(100, {.line = 1, .sm = 1});
    bench.run();
    const auto [first, last] = std::minmax({bench.answered(one), bench.answered(two)});
    EXPECT_EQ(first, 100 + 2 * kNoc + 10);
    EXPECT_EQ(last, first + (ports == 1 ? 1 : 0));
  }
}

TEST(L2SliceBench, ALoadIsAnsweredWithALineAWalkWithAnEntryAndAStoreWithAHeader) {
  L2Bench bench(two_lines(), {.sms = 4, .noc = {.latency = kNoc, .flit_bytes = 32, .header_bytes = 8}});
  bench.ask(0, {.line = 1, .sm = 0});
  Ask other = walk(1, 4);
  other.sm = 1;
  bench.ask(100, other);
  other = store(1, 0);
  other.sm = 2;
  bench.ask(200, other);
  other = atomic(1);
  other.sm = 3;
  bench.ask(300, other);
  bench.run();
  EXPECT_EQ(bench.replies.stats(0).flits.value, 5u);  // 136 bytes
  EXPECT_EQ(bench.replies.stats(1).flits.value, 1u);  // 16 bytes
  EXPECT_EQ(bench.replies.stats(2).flits.value, 1u);
  EXPECT_EQ(bench.replies.stats(3).flits.value, 1u);
}

TEST(L2SliceBench, AFetchTellsWhoAsksAndForWhichLevelOfAPageTable) {
  L2Bench bench(two_lines());
  Ask third = walk(1, 3);
  third.tenant = 1;
  bench.ask(0, third);
  bench.ask(100, {.line = 2, .sm = 1});
  bench.run();
  const auto& seen = bench.fetched[0].seen;
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].what.walk_level, 3);
  EXPECT_EQ(index(seen[0].what.tenant), 1);
  EXPECT_EQ(seen[1].what.walk_level, 0);
  EXPECT_EQ(seen[1].what.tag, asker_tag(SmId{1}, 0));
}

TEST(L2SliceBench, WhatTheHostWroteIsForgottenWithoutAWriteBack) {
  L2Bench bench(two_lines());
  bench.ask(0, store(1));
  bench.ask(1, store(2));
  bench.scheduler.run(100);
  const LineRange written{LineKey::physical(1), LineKey::physical(2)};
  bench.truth.host_writes(1 * kLineBytes, 2 * kLineBytes);
  bench.slice->forget({&written, 1});
  bench.ask(200, {.line = 2});
  bench.ask(300, {.line = 1});
  bench.run();
  EXPECT_EQ(bench.reads(), Lines{1}) << "line 2 is still there";
  EXPECT_EQ(bench.writes(), Lines{});
}

TEST(L2SliceBench, WithWaysOfTheirOwnTenantsDoNotPushEachOtherOut) {
  L2Config config = two_lines();
  config.victim.use = "tenant_ways";
  L2Bench bench(config);
  bench.ask(0, {.line = 1, .tenant = 0});
  bench.ask(100, {.line = 2, .tenant = 1});
  bench.ask(200, {.line = 3, .tenant = 1});
  bench.ask(300, {.line = 1, .tenant = 0});
  bench.ask(400, {.line = 2, .tenant = 1});
  bench.run();
  EXPECT_EQ(bench.reads(), (Lines{1, 2, 3, 2}));
}

/// The policy of memory_policy_contract_test.cc: leaf entries bypass the slice; entries above, and all of tenant 1, are
/// looked up but not kept.
L2Config picky() {
  L2Config config = two_lines();
  config.admission.use = "picky";
  return config;
}

TEST(L2SliceBench, AReadThatBypassesGoesToMemoryEvenIfItsLineIsThereAndIsAnsweredAtOnce) {
  L2Bench bench(picky());
  bench.ask(0, {.line = 1});
  const u32 leaf = bench.ask(100, walk(1, 4));
  bench.run();
  EXPECT_EQ(bench.reads(), (Lines{1, 1}));
  EXPECT_EQ(bench.answered(leaf), 100 + bench.miss_cycles() - 1) << "no fill, so that nothing is waited for";
  EXPECT_FALSE(bench.fetched[0].seen[1].what.name.is_line());
}

TEST(L2SliceBench, AReadThatBypassesTakesNoMissEntry) {
  L2Config config = picky();
  config.miss_entries = 1;
  L2Bench bench(config);
  bench.ask(0, {.line = 1});
  const u32 leaf = bench.ask(1, walk(2, 4));
  bench.run();
  EXPECT_EQ(bench.answered(leaf), 1 + bench.miss_cycles());
}

TEST(L2SliceBench, ALineThatIsNotToBeKeptIsNot) {
  L2Bench bench(picky());
  bench.ask(0, {.line = 1, .tenant = 1});
  bench.ask(100, {.line = 1, .tenant = 1});
  bench.run();
  EXPECT_EQ(bench.reads(), (Lines{1, 1}));
  EXPECT_EQ(bench.slice->admission_stats.not_kept[TenantId{1}].value, 2u);
}

TEST(L2SliceBench, ALineThatSomebodyElseWantsKeptIsKept) {
  L2Bench bench(picky());
  bench.ask(0, {.line = 1, .tenant = 1});
  bench.ask(1, {.line = 1, .tenant = 0});
  bench.ask(100, {.line = 1, .tenant = 1});
  bench.run();
  EXPECT_EQ(bench.reads(), Lines{1});
}

TEST(L2SliceBench, ALineThatWasWrittenToOnItsWayIsKept) {
  L2Bench bench(picky());
  bench.ask(0, {.line = 1, .tenant = 1});
  bench.ask(1, {.line = 1, .kind = AccessKind::kStore, .bytes = 4, .tenant = 1});
  bench.ask(100, {.line = 1, .tenant = 1});
  bench.run();
  EXPECT_EQ(bench.reads(), Lines{1});
}

TEST(L2SliceBench, ALineThatWasWrittenToInPartIsKeptWhoeverReadsIt) {
  L2Config config = picky();
  config.partial_stores = L2Config::PartialStores::kMask;
  L2Bench bench(config);
  bench.ask(0, {.line = 1, .kind = AccessKind::kStore, .bytes = 4, .tenant = 1});
  bench.ask(100, {.line = 1, .tenant = 1});
  bench.ask(200, {.line = 1, .tenant = 1});
  bench.run();
  EXPECT_EQ(bench.reads(), Lines{1});
}

/// Four sectors of 32 bytes: eight words each.
constexpr u64 kSector0 = 0xff, kSector1 = 0xff00, kSector2 = 0xff'0000;
using Words = std::vector<u64>;
/// The words that memory was asked for, or given.
Words words(const L2Bench& bench, bool write) {
  Words all;
  for (const auto& arrival : bench.fetched[0].seen) {
    if (arrival.what.write == write) all.push_back(arrival.what.words & all_words(kLineBytes));
  }
  return all;
}

TEST(L2SliceSectors, AMissFetchesTheSectorsThatAreReadAndNoOthers) {
  L2Bench bench(two_lines(), {.sector_bytes = 32});
  bench.ask(0, {.line = 1, .sectors = 0b0001});
  bench.ask(100, {.line = 1, .sectors = 0b0011});
  const u32 hit = bench.ask(200, {.line = 1, .sectors = 0b0011});
  bench.run();
  EXPECT_EQ(words(bench, false), (Words{kSector0, kSector1}));
  EXPECT_EQ(bench.answered(hit), 200 + 2 * kNoc + 10);
  EXPECT_EQ(bench.slice->stats.sector_misses[TenantId{0}].value, 1u);
}

TEST(L2SliceSectors, OtherSectorsOfALineThatIsFetchedAreAskedForAtOnce) {
  L2Bench bench(two_lines(), {.sms = 1, .sector_bytes = 32});
  const u32 first = bench.ask(0, {.line = 1, .sectors = 0b0001}), other = bench.ask(3, {.line = 1, .sectors = 0b0010}),
            both = bench.ask(4, {.line = 1, .sectors = 0b0011});
  bench.run();
  EXPECT_EQ(words(bench, false), (Words{kSector0, kSector1}));
  EXPECT_EQ(bench.answered(first), bench.miss_cycles());
  EXPECT_EQ(bench.answered(other), 3 + bench.miss_cycles());
  EXPECT_EQ(bench.answered(both), 4 + bench.miss_cycles()) << "one reply per cycle";
  EXPECT_EQ(bench.slice->stats.misses[TenantId{0}].value, 2u);
  EXPECT_EQ(bench.slice->stats.merges[TenantId{0}].value, 1u);
}

TEST(L2SliceSectors, NobodyOvertakesAWriteToALineThatComesInParts) {
  L2Bench bench(two_lines(), {.sms = 1, .sector_bytes = 32});
  bench.ask(0, {.line = 1, .sectors = 0b0001});
  const u32 other = bench.ask(3, {.line = 1, .sectors = 0b0010});
  const u32 write =
      bench.ask(4, {.line = 1, .kind = AccessKind::kAtomic, .bytes = 4, .first_word = 8, .sectors = 0b0010});
  const u32 after = bench.ask(5, {.line = 1, .sectors = 0b0001});
  bench.run();
  EXPECT_LT(bench.answered(other), bench.answered(write));
  EXPECT_LT(bench.answered(write), bench.answered(after));
}

TEST(L2SliceSectors, OnlySectorsThatWereWrittenToGoBack) {
  L2Bench bench(two_lines(), {.sector_bytes = 32});
  bench.ask(0, {.line = 1, .sectors = 0b0011});
  bench.ask(100, {.line = 1, .kind = AccessKind::kStore, .bytes = 4, .first_word = 8, .sectors = 0b0010});
  bench.ask(200, {.line = 2});
  bench.ask(300, {.line = 3});
  bench.run();
  EXPECT_EQ(words(bench, true), Words{kSector1});
}

TEST(L2SliceSectors, AStoreTakesALineAndALoadFetchesWhatIsMissingOfItsSector) {
  L2Bench bench(two_lines(), {.sector_bytes = 32});
  bench.ask(0, {.line = 1, .kind = AccessKind::kStore, .bytes = 4, .first_word = 8, .sectors = 0b0010});
  bench.ask(100, {.line = 1, .sectors = 0b0110});
  bench.run();
  EXPECT_EQ(words(bench, false), Words{(kSector1 & ~u64{0x100}) | kSector2});
}

TEST(L2SliceSectors, ACleanLineThatIsThereInPartIsNotWrittenBack) {
  L2Bench bench(two_lines(), {.sector_bytes = 32});
  for (u64 line = 1; line <= 3; ++line) bench.ask(100 * line, {.line = line});
  bench.run();
  EXPECT_EQ(bench.writes(), Lines{});
}

TEST(L2SliceSectors, AReplyCarriesTheSectorsThatWereAskedFor) {
  for (const auto& [sectors, flits] : {std::pair<u8, u64>{0b0100, 2}, {0b1100, 3}, {0b1111, 5}}) {
    L2Bench bench(two_lines(), {.sector_bytes = 32, .noc = {.latency = kNoc, .flit_bytes = 32, .header_bytes = 8}});
    bench.ask(0, {.line = 1, .sectors = sectors});
    bench.run();
    EXPECT_EQ(bench.replies.stats(0).flits.value, flits) << "a header, and a flit for each";
  }
}

/// Requests of every kind, close together, for few lines of two tenants. The second SM takes no answer for a while.
void ask_at_random(L2Bench& bench) {
  const L2Bench::Options& options = bench.options_;
  bench.sm_opens[1] = 120;
  Rng rng(1, "asks");
  Cycle at = 0;
  for (u32 i = 0; i < 150; ++i, at += rng.below(5)) {
    const u32 tenant = static_cast<u32>(rng.below(2)), word = static_cast<u32>(rng.below(kLineBytes / 4));
    // No line has two names: those of tenants are apart, and those of page tables.
    Ask what{.line = 32 * tenant + rng.below(6),
             .first_word = word,
             .sm = static_cast<u32>(rng.below(options.sms)),
             .tenant = tenant,
             .virtual_name = options.virtual_names,
             .sectors = static_cast<u8>(options.sector_bytes == 0 ? 1 : 1 << word * 4 / options.sector_bytes)};
    switch (rng.below(6)) {
      case 0:
        what.kind = AccessKind::kStore;
        what.bytes = 4;
        break;
      case 1:
        what.kind = AccessKind::kStore;  // of the whole line
        if (options.sector_bytes != 0) what.sectors = 0b1111;
        what.first_word = 0;
        break;
      case 2:
        what.kind = AccessKind::kAtomic;
        what.bytes = 4;
        break;
      case 3:
        what.kind = AccessKind::kWalk;
        what.line += 100;
        what.virtual_name = false;
        what.bytes = 8;
        what.first_word &= ~1u;
        what.walk_level = 4;
        break;
      default:
        what.first_word = 0;
        break;
    }
    bench.ask(at, what);
  }
}

TEST(L2SliceCheckpoint, SavedBeforeAnyCycleItGoesOnAsIfNothingHadBeen) {
  L2Config config = two_lines();
  config.bytes = 8 * kLineBytes;
  config.miss_entries = 3;
  config.miss_merges = 3;
  config.reply_entries = 4;
  config.write_back_entries = 2;
  config.atomic_cycles = 3;
  config.ports = 2;
  config.victim.use = "random";
  const L2Bench::Options ways[] = {
      {.sms = 3, .channels = 2, .memory_places = 2, .noc = {.latency = kNoc, .flit_bytes = 32, .header_bytes = 8}},
      {.sms = 3, .channels = 2, .memory_places = 2, .sector_bytes = 32},
      {.sms = 3, .virtual_names = true}};
  for (const L2Bench::Options& options : ways) {
    const auto begin = [&] {
      auto bench = std::make_unique<L2Bench>(config, options);
      bench->slice->enable_blame(options.tenants);
      ask_at_random(*bench);
      return bench;
    };
    const auto end = [](L2Bench& bench) {
      bench.run();
      return bench.statistics().csv();
    };
    const auto undisturbed = begin();
    const std::string statistics = end(*undisturbed);
    const Cycle last = undisturbed->scheduler.now();
    ASSERT_GT(last, 300u);
    for (Cycle at = 1; at < last; at += 3) {
      const auto first = begin(), second = begin();
      first->scheduler.run(at);
      copy_state(*first, *second);
      ASSERT_EQ(end(*second), statistics) << "saved before cycle " << at;
      ASSERT_EQ(second->answers, undisturbed->answers) << "saved before cycle " << at;
      ASSERT_EQ(second->performed, undisturbed->performed);
      for (u32 i = 0; i < options.channels; ++i) {
        ASSERT_EQ(second->fetched[i].times(), undisturbed->fetched[i].times());
        ASSERT_EQ(second->reads(i), undisturbed->reads(i));
        ASSERT_EQ(second->writes(i), undisturbed->writes(i));
      }
    }
  }
}

}  // namespace
}  // namespace terrace
