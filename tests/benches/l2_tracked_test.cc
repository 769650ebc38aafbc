// Two L2 slices whose lines a forward-backward table keeps track of: SMs that ask for lines on one side, and on the other
// a table, with memory behind it, that hears what slices tell it and sends the commands that a test writes down.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "benches/scripted.h"
#include "cache/l2_slice.h"
#include "stats/stat_tree.h"

namespace terrace {
namespace {

constexpr u32 kLineBytes = 128, kSlices = 2, kSms = 4;
constexpr Cycle kHit = 10, kMemory = 20;
constexpr TenantId kTenant{0};
using Notice = DramRequest::Notice;
using Kind = SliceCommand::Kind;

/// Even lines in the first slice, odd ones in the second.
class Parity final : public LineMap {
 public:
  u32 slice_of(LineKey line) const override { return line.number() & 1; }
  u32 channel_of(PhysAddr) const override { return 0; }
};
LineKey name(u64 line) {
  return LineKey::of_tenant(kTenant, line);
}

/// Two lines in one set in each slice.
L2Config small_slices() {
  L2Config config;
  config.bytes = kSlices * 2 * kLineBytes;
  config.ways = 2;
  config.slices = kSlices;
  config.hit_cycles = kHit;
  return config;
}

class TrackedL2Bench {
 public:
  explicit TrackedL2Bench(const L2Config& config = small_slices())
      : truth(kLineBytes, [this](TenantId, VirtAddr va) { return address(va.raw / kLineBytes); }),
        requests(scheduler, kNoc, kSms, kSlices, {.output = config.ports}),
        replies(scheduler, kNoc, kSlices, kSms, {.input = config.ports}) {
    for (u32 i = 0; i < kSlices; ++i) {
      to_memory.push_back(std::make_unique<Link<DramRequest>>(scheduler, LinkShape{}));
      from_memory.push_back(std::make_unique<Link<DramReply>>(scheduler, LinkShape{}));
      to_slice.push_back(std::make_unique<Link<SliceCommand>>(scheduler, LinkShape{}));
      replays.push_back(std::make_unique<Funnel<AccessRef>>(scheduler, kSlices, 1, 2));
    }
    for (u32 i = 0; i < kSlices; ++i) add_slice(i, config);
    for (u32 i = 0; i < kSlices; ++i) {
      replays[i]->connect_consumer(ids_[i]);
      for (u32 from = 0; from < kSlices; ++from) replays[i]->connect_producer(from, ids_[from]);
      add_memory(i);
    }
    for (u32 i = 0; i < kSms; ++i) add_sm(i);
  }

  u32 ask(Cycle at, u64 line, AccessKind kind = AccessKind::kLoad, u32 sm = 0, bool denied = false) {
    const u32 number = static_cast<u32>(answered_.size());
    answered_.push_back(kNever);
    sms_[sm]->at(at, [=, this](Cycle now) {
      const u32 slice = map.slice_of(name(line));
      if (!requests.can_send(sm, slice, now)) return false;
      const AccessRef ref = accesses.make();
      Access& access = accesses[ref];
      access.va = {line * kLineBytes};
      access.tenant = kTenant;
      access.in_l2 = name(line);
      access.sm = SmId(static_cast<u16>(sm));
      access.port = static_cast<u16>(sm);
      access.kind = kind;
      access.words = all_words(kLineBytes);
      access.denied = denied;
      access.owner = number;
      const bool writes = kind != AccessKind::kLoad;
      truth.sends(ref, truth.asks(kTenant, access.va, access.sm, writes));
      if (writes) truth.writes_line(kTenant, access.va, access.sm);
      requests.send(sm, slice, now, ref, 1, kTenant);
      return true;
    });
    return number;
  }
  /// Asks for lines at stated cycles, and runs.
  struct Step {
    Cycle at;
    u64 line;
    AccessKind kind = AccessKind::kLoad;
  };
  void play(std::initializer_list<Step> steps) {
    for (const Step& step : steps) ask(step.at, step.line, step.kind);
    run();
  }
  u32 store(Cycle at, u64 line, u32 sm = 0) { return ask(at, line, AccessKind::kStore, sm); }
  /// One that its L1 denied.
  u32 denied_store(Cycle at, u64 line) { return ask(at, line, AccessKind::kStore, 0, true); }
  void command(Cycle at, u32 slice, const SliceCommand& what) {
    memory_[slice]->at(at, [=, this](Cycle now) {
      if (!to_slice[slice]->can_push(now)) return false;
      to_slice[slice]->push(now, what);
      return true;
    });
  }
  void drop(Cycle at, std::vector<u64> lines) {
    u64 places = 0;
    for (const u64 line : lines) places |= u64{1} << line;
    command(at, map.slice_of(name(lines[0])), {Kind::kDrop, name(0), {}, places});
  }
  /// From now on `line` is another name of `leading`: a fetch of it is not answered but replayed, when the test says so.
  void synonym(u64 line, u64 leading) { same_as_[line] = leading; }
  void replay(Cycle at, u64 line) {
    command(at, map.slice_of(name(line)), {Kind::kReplay, name(line), name(same_as_.at(line)), 0});
  }
  void run() {
    scheduler.run(scheduler.now() + 100'000);
    for (auto& slice : slices) {
      StatTree tree(1);
      tree.add("l2", slice->stats);
      tree.check_identities();
    }
    EXPECT_EQ(accesses.live(), 0u) << "a request was not answered\n" << scheduler.explain();
  }
  u32 lines_held() const {
    u32 held = 0;
    for (const auto& slice : slices) slice->each_line([&](LineKey) { ++held; });
    return held;
  }
  Cycle answered(u32 number) const { return answered_[number]; }
  /// The lines that something was said about, in order.
  std::vector<u64> told(Notice notice) const {
    return lines([=](const DramRequest& request) { return !request.write && request.notice == notice; });
  }
  std::vector<u64> dropped() const { return told(Notice::kDropped); }
  std::vector<u64> written() const { return told(Notice::kWritten); }
  std::vector<u64> fetched() const { return told(Notice::kNone); }
  std::vector<u64> written_back() const {
    return lines([](const DramRequest& request) { return request.write; });
  }

  Scheduler scheduler;
  AccessPool accesses;
  Parity map;
  LineTruth truth;
  Crossbar<AccessRef> requests, replies;
  std::vector<std::unique_ptr<Link<DramRequest>>> to_memory;
  std::vector<std::unique_ptr<Link<DramReply>>> from_memory;
  std::vector<std::unique_ptr<Link<SliceCommand>>> to_slice;
  std::vector<std::unique_ptr<Funnel<AccessRef>>> replays;
  std::vector<std::unique_ptr<L2Slice>> slices;
  std::set<u64> read_only{};          // lines whose page kernels may not write, as the table says
  Inbox<DramRequest> heard;           // by the table, from all slices
  std::vector<LineKey> names_kept{};  // under which lines came back, in order

 private:
  static constexpr NocConfig kNoc{.latency = 1, .flit_bytes = 256};

  PhysAddr address(u64 line) const {
    const auto other = same_as_.find(line);
    return {(other == same_as_.end() ? line : other->second) * kLineBytes};
  }
  void add_slice(u32 slice, const L2Config& config) {
    L2Slice::Wiring::Names names{to_slice[slice].get(), {}};
    for (const auto& way : replays) names.replays.push_back(way.get());
    slices.push_back(std::make_unique<L2Slice>(scheduler, config, kNoc, kLineBytes, accesses,
                                               L2Slice::Wiring{requests,
                                                               replies,
                                                               slice,
                                                               {{to_memory[slice].get()}, {from_memory[slice].get()}},
                                                               map,
                                                               truth,
                                                               true,
                                                               names,
                                                               1,
                                                               1},
                                               [](TenantId, u32, u64) {}));
    ids_.push_back(scheduler.add(*slices[slice], "l2"));
    slices[slice]->connect(ids_[slice]);
    requests.connect_output(slice, ids_[slice]);
    replies.connect_input(slice, ids_[slice]);
  }
  void add_memory(u32 slice) {
    memory_.push_back(std::make_unique<Scripted>(scheduler, "memory"));
    delays_.emplace_back();
    to_memory[slice]->connect(ids_[slice], memory_[slice]->id());
    from_memory[slice]->connect(memory_[slice]->id(), ids_[slice]);
    to_slice[slice]->connect(memory_[slice]->id(), ids_[slice]);
    memory_[slice]->always([this, slice](Cycle now) {
      const std::size_t before = heard.seen.size();
      heard.take(*to_memory[slice], now);
      for (std::size_t i = before; i < heard.seen.size(); ++i) {
        const DramRequest& request = heard.seen[i].what;
        const PhysAddr line = address(request.name.number());
        if (request.write) truth.memory_takes(request.copy);
        if (request.is_posted() || request.check || same_as_.contains(request.name.number())) continue;
        const u32 tag = request.tag | (read_only.contains(request.name.number()) ? kReadOnlyPage : 0);
        delays_[slice].push(now + kMemory, {line, request.name, tag, request.tenant, truth.memory_gives(line)});
      }
      return delays_[slice].send(*from_memory[slice], now);
    });
  }
  void add_sm(u32 sm) {
    sms_.push_back(std::make_unique<Scripted>(scheduler, "sm"));
    requests.connect_input(sm, sms_[sm]->id());
    replies.connect_output(sm, sms_[sm]->id());
    sms_[sm]->always([this, sm](Cycle now) {
      replies.absorb(sm, now);
      while (replies.front(sm, now)) {
        const AccessRef ref = replies.receive(sm, now);
        truth.completes(ref, accesses[ref]);
        answered_[accesses[ref].owner] = now;
        names_kept.push_back(accesses[ref].in_l2);
        accesses.free(ref);
      }
      return kNever;
    });
  }
  template <class F>
  std::vector<u64> lines(F&& which) const {
    std::vector<u64> all;
    for (const auto& arrival : heard.seen)
      if (which(arrival.what)) all.push_back(arrival.what.name.number());
    return all;
  }

  std::vector<UnitId> ids_;
  std::vector<std::unique_ptr<Scripted>> sms_, memory_;
  std::vector<Delay<DramReply>> delays_;
  std::vector<Cycle> answered_;
  std::map<u64, u64> same_as_;
};

using Lines = std::vector<u64>;

// ---- What a slice tells the table ----

constexpr AccessKind kStore = AccessKind::kStore;

TEST(TrackedL2, ACleanLineThatIsPushedOutIsToldOfOnce) {
  TrackedL2Bench bench;
  bench.play({{0, 2}, {100, 4}, {200, 6}});
  EXPECT_EQ(bench.dropped(), Lines{2});
  EXPECT_EQ(bench.written_back(), Lines{});
}

TEST(TrackedL2, ADirtyLineThatIsPushedOutIsWrittenBackWithoutAnotherWord) {
  TrackedL2Bench bench;
  bench.play({{0, 2, kStore}, {100, 4}, {200, 6}});
  EXPECT_EQ(bench.written_back(), Lines{2});
  EXPECT_EQ(bench.dropped(), Lines{});
}

TEST(TrackedL2, TheFirstWriteToALineIsToldOfOnce) {
  TrackedL2Bench bench;
  bench.play({{0, 2}, {100, 2, kStore}, {200, 2, kStore}, {300, 2}});
  EXPECT_EQ(bench.written(), Lines{2});
}

TEST(TrackedL2, ALineThatComesBackIsWrittenToForTheFirstTimeAgain) {
  TrackedL2Bench bench;
  bench.play({{0, 2}, {100, 2, kStore}, {180, 4}, {220, 6}, {400, 2}, {500, 2, kStore}});
  EXPECT_EQ(bench.written(), (Lines{2, 2}));
}

TEST(TrackedL2, AFetchSaysThatItIsForAWriteAndThatNeedsNoOtherWord) {
  for (const AccessKind kind : {AccessKind::kLoad, AccessKind::kStore, AccessKind::kAtomic}) {
    TrackedL2Bench bench;
    bench.ask(0, 2, kind);
    bench.run();
    ASSERT_EQ(bench.fetched(), Lines{2});
    EXPECT_EQ(bench.heard.seen[0].what.for_write, kind != AccessKind::kLoad);
    EXPECT_EQ(bench.written(), Lines{});
  }
}

TEST(TrackedL2, AStoreThatJoinsTheFetchOfALoadIsToldOfWhenTheLineIsThere) {
  TrackedL2Bench bench;
  bench.play({{0, 2}, {3, 2, kStore}});
  EXPECT_EQ(bench.written(), Lines{2});
}

TEST(TrackedL2, AStoreThatJoinsTheFetchOfAStoreIsNot) {
  TrackedL2Bench bench;
  bench.play({{0, 2, kStore}, {3, 2, kStore}});
  EXPECT_EQ(bench.written(), Lines{});
}

TEST(TrackedL2, AFetchDoesNotOvertakeWordThatItsLineLeft) {
  TrackedL2Bench bench;
  bench.ask(0, 2);
  bench.ask(100, 4);
  bench.ask(200, 6);  // its fill pushes out line 2
  const Cycle fill = 200 + 1 + 1 + kMemory + 1;
  bench.ask(fill - 1, 2);
  bench.run();
  EXPECT_EQ(bench.heard.seen[3].what.notice, Notice::kDropped);
  EXPECT_EQ(bench.heard.seen[4].what.name, name(2));
  EXPECT_EQ(bench.heard.seen[4].what.notice, Notice::kNone);
}

// ---- Lines that are to leave ----

TEST(TrackedL2, ACleanLineLeavesWithOneWord) {
  TrackedL2Bench bench;
  bench.ask(0, 2);
  bench.ask(1, 4);
  bench.drop(100, {2});
  bench.ask(200, 4);
  bench.ask(300, 2);
  bench.run();
  EXPECT_EQ(bench.dropped(), Lines{2});
  EXPECT_EQ(bench.fetched(), (Lines{2, 4, 2})) << "the other one stayed";
  EXPECT_EQ(bench.slices[0]->names_stats.dropped.value, 1u);
}

TEST(TrackedL2, ADirtyLineLeavesForMemory) {
  TrackedL2Bench bench;
  bench.store(0, 2);
  bench.drop(100, {2});
  bench.run();
  EXPECT_EQ(bench.written_back(), Lines{2});
  EXPECT_EQ(bench.dropped(), Lines{});
}

TEST(TrackedL2, ALineOnItsWayAnswersWhoeverWaitsForItAndLeavesThen) {
  TrackedL2Bench bench;
  const u32 first = bench.ask(0, 2), second = bench.ask(3, 2, AccessKind::kLoad, 1);
  bench.drop(5, {2});
  bench.scheduler.run(15);
  EXPECT_EQ(bench.dropped(), Lines{}) << "it has not come yet";
  bench.run();
  EXPECT_NE(bench.answered(first), kNever);
  EXPECT_NE(bench.answered(second), kNever);
  EXPECT_EQ(bench.dropped(), Lines{2});
  bench.ask(bench.scheduler.now() + 10, 2);
  bench.run();
  EXPECT_EQ(bench.fetched(), (Lines{2, 2})) << "it was not kept";
}

TEST(TrackedL2, ALineOnItsWayToAStoreLeavesForMemory) {
  TrackedL2Bench bench;
  bench.store(0, 2);
  bench.drop(5, {2});
  bench.run();
  EXPECT_EQ(bench.written_back(), Lines{2});
  EXPECT_EQ(bench.dropped(), Lines{});
  EXPECT_EQ(bench.written(), Lines{});
}

TEST(TrackedL2, ALineThatIsDroppedOnItsWayIsKeptTheNextTime) {
  TrackedL2Bench bench;
  bench.ask(0, 2);
  bench.drop(5, {2});
  bench.ask(100, 2);
  bench.ask(200, 2);
  bench.run();
  EXPECT_EQ(bench.fetched(), (Lines{2, 2}));
  EXPECT_EQ(bench.dropped(), Lines{2});
}

TEST(TrackedL2, OfALineThatIsNotThereNothingIsSaid) {
  TrackedL2Bench bench;
  bench.ask(0, 4);
  bench.drop(100, {2});
  bench.run();
  EXPECT_EQ(bench.dropped(), Lines{});
  EXPECT_EQ(bench.slices[0]->names_stats.dropped.value, 0u);
}

TEST(TrackedL2, LinesLeaveOnePerCycle) {
  TrackedL2Bench bench;
  bench.ask(0, 2);
  bench.ask(1, 4);
  bench.drop(100, {2, 4});
  // The command arrives in cycle 101.
  for (const auto& [cycle, left] : {std::pair{101u, 2u}, {102u, 1u}, {103u, 0u}}) {
    bench.scheduler.run(cycle);
    EXPECT_EQ(bench.lines_held(), left) << cycle;
  }
  bench.run();
  EXPECT_EQ(bench.dropped(), (Lines{2, 4}));
}

TEST(TrackedL2, OfARangeASliceDropsItsOwnLines) {
  TrackedL2Bench bench;
  for (const u64 line : {2u, 3u, 10u}) bench.ask(line, line);
  for (const u32 slice : {0u, 1u}) bench.command(100, slice, {Kind::kDropRange, name(0), name(8), 0});
  bench.run();
  Lines gone = bench.dropped();
  std::ranges::sort(gone);
  EXPECT_EQ(gone, (Lines{2, 3})) << "line 10 lies behind the end";
}

// ---- Replays ----

TEST(TrackedL2, WhoeverWaitsForASynonymIsAnsweredWithTheLeadingLineOfAnotherSlice) {
  TrackedL2Bench bench;
  bench.synonym(3, 2);
  bench.ask(0, 2);
  const u32 first = bench.ask(100, 3, AccessKind::kLoad, 1), second = bench.ask(103, 3, AccessKind::kLoad, 2);
  bench.replay(150, 3);
  bench.run();
  // Command, way to the other slice, look-up, reply.
  EXPECT_EQ(bench.answered(first), 150 + 1 + 1 + kHit + 1);
  EXPECT_EQ(bench.answered(second), bench.answered(first) + 1) << "one look-up per cycle";
  EXPECT_EQ(bench.fetched(), (Lines{2, 3}));
  EXPECT_EQ(bench.names_kept, (std::vector<LineKey>{name(2), name(2), name(2)}));
  EXPECT_EQ(bench.slices[1]->stats.replays[kTenant].value, 2u);
  EXPECT_EQ(bench.slices[0]->names_stats.replays_in[kTenant].value, 2u);
  EXPECT_EQ(bench.slices[1]->stats.replayed_fetches.value, 1u);
}

TEST(TrackedL2, ALeadingLineThatIsNotThereIsFetchedOnceForAllReplays) {
  TrackedL2Bench bench;
  bench.synonym(3, 2);
  const u32 first = bench.ask(100, 3, AccessKind::kLoad, 1), second = bench.ask(103, 3, AccessKind::kLoad, 2);
  bench.replay(150, 3);
  bench.run();
  EXPECT_EQ(bench.fetched(), (Lines{3, 2}));
  const Cycle looked_up = 150 + 1 + 1;
  EXPECT_EQ(bench.answered(first), looked_up + 1 + kMemory + 1 + 1 + 1);
  EXPECT_EQ(bench.answered(second), bench.answered(first) + 1);
}

TEST(TrackedL2, ASynonymWhoseLeadingLineIsInTheSameSliceIsReplayedThere) {
  TrackedL2Bench bench;
  bench.synonym(4, 2);
  bench.ask(0, 2);
  const u32 load = bench.ask(100, 4);
  bench.replay(150, 4);
  bench.run();
  EXPECT_EQ(bench.answered(load), 150 + 1 + 1 + kHit + 1);
  EXPECT_EQ(bench.fetched(), (Lines{2, 4}));
}

TEST(TrackedL2, ASynonymLeavesNoTraceAndMissesEveryTime) {
  TrackedL2Bench bench;
  bench.synonym(3, 2);
  bench.ask(0, 2);
  for (const Cycle at : {100u, 200u}) {
    bench.ask(at, 3);
    bench.replay(at + 50, 3);
  }
  bench.run();
  EXPECT_EQ(bench.fetched(), (Lines{2, 3, 3}));
  EXPECT_EQ(bench.lines_held(), 1u) << "one line, under one name";
}

TEST(TrackedL2, AStoreThatIsReplayedWritesToTheLeadingLineAndIsToldOf) {
  TrackedL2Bench bench;
  bench.synonym(3, 2);
  bench.ask(0, 2);
  bench.store(100, 3);
  bench.replay(150, 3);
  bench.drop(300, {2});
  bench.run();
  EXPECT_EQ(bench.written(), Lines{2});
  EXPECT_EQ(bench.written_back(), Lines{2});
}

TEST(TrackedL2, ARequestThatComesTogetherWithAReplayIsLookedUpInTheNextCycle) {
  TrackedL2Bench bench;
  bench.synonym(3, 2);
  bench.ask(0, 2);
  const u32 replayed = bench.ask(100, 3, AccessKind::kLoad, 1);
  bench.replay(150, 3);
  const u32 other = bench.ask(151, 2, AccessKind::kLoad, 2);  // looked up in cycle 152, as the replay is
  bench.run();
  EXPECT_EQ(bench.answered(replayed), 152 + kHit + 1);
  EXPECT_EQ(bench.answered(other), 153 + kHit + 1);
}

TEST(TrackedL2, AReplayThatIsRefusedHoldsUpNoRequest) {
  L2Config config = small_slices();
  config.miss_entries = 1;
  TrackedL2Bench bench(config);
  bench.synonym(3, 6);
  bench.ask(0, 2);
  const u32 replayed = bench.ask(100, 3, AccessKind::kLoad, 1);
  bench.ask(149, 4);  // takes the only miss entry
  bench.replay(150, 3);
  const u32 hit = bench.ask(153, 2, AccessKind::kLoad, 2);
  bench.run();
  EXPECT_EQ(bench.answered(hit), 154 + kHit + 1);
  EXPECT_NE(bench.answered(replayed), kNever);
}

// ---- Permissions ----

TEST(TrackedL2, AStoreThatFindsAReadOnlyLineAsksTheTableAndIsPerformedWhenItMay) {
  TrackedL2Bench bench;
  bench.read_only = {2};
  const u32 load = bench.ask(0, 2), first = bench.store(100, 2);
  const u32 again = bench.ask(120, 2), second = bench.store(130, 2);
  bench.command(300, bench.map.slice_of(name(2)), {Kind::kGrant, name(2), {}, 0});
  const u32 later = bench.store(400, 2);
  bench.run();
  EXPECT_LT(bench.answered(load), 100u);
  EXPECT_GT(bench.answered(again), 300u) << "no load overtakes the store";
  for (const u32 store : {first, second}) EXPECT_GT(bench.answered(store), 300u);
  EXPECT_LT(bench.answered(later), 450u) << "the line knows now";
  ASSERT_EQ(bench.fetched(), (Lines{2, 2})) << "the line once, and one question for both stores";
  EXPECT_FALSE(bench.heard.seen[0].what.check);
  EXPECT_EQ(bench.written(), Lines{2});
  EXPECT_EQ(bench.slices[bench.map.slice_of(name(2))]->names_stats.denied.value, 3u);
}

TEST(TrackedL2, AStoreThatItsL1DeniedAsksTheTableEvenIfTheLineHereMayBeWritten) {
  TrackedL2Bench bench;
  bench.ask(0, 2);
  const u32 store = bench.denied_store(100, 2), behind = bench.ask(110, 2), other = bench.store(120, 2, 1);
  bench.command(300, bench.map.slice_of(name(2)), {Kind::kGrant, name(2), {}, 0});
  const u32 later = bench.store(400, 2);
  bench.run();
  EXPECT_GT(bench.answered(store), 300u);
  EXPECT_GT(bench.answered(behind), 300u) << "no load overtakes the store";
  EXPECT_GT(bench.answered(other), 300u) << "nor does a store";
  EXPECT_LT(bench.answered(later), 450u);
  EXPECT_EQ(bench.fetched(), (Lines{2, 2})) << "the line, and one question";
}

TEST(TrackedL2, AStoreThatItsL1DeniedIsPermittedByTheFetchOfALineThatIsNotHere) {
  TrackedL2Bench bench;
  const u32 store = bench.denied_store(100, 2);
  bench.run();
  EXPECT_LT(bench.answered(store), 200u);
  EXPECT_EQ(bench.fetched(), Lines{2}) << "what misses is translated, and checked there";
}

TEST(TrackedL2, AStoreThatJoinsTheFetchOfAReadOnlyLineAsksToo) {
  TrackedL2Bench bench;
  bench.read_only = {2};
  bench.ask(0, 2);
  const u32 store = bench.store(3, 2);
  bench.command(300, bench.map.slice_of(name(2)), {Kind::kGrant, name(2), {}, 0});
  bench.run();
  EXPECT_GT(bench.answered(store), 300u);
  EXPECT_EQ(bench.fetched(), (Lines{2, 2}));
}

TEST(TrackedL2, ALineThatLeftBeforeItsWriteWasPermittedIsFetchedAgain) {
  TrackedL2Bench bench;
  bench.read_only = {2};
  bench.ask(0, 2);
  const u32 store = bench.store(100, 2);
  bench.ask(150, 4);
  bench.ask(200, 6);  // its fill pushes out line 2
  bench.command(400, bench.map.slice_of(name(2)), {Kind::kGrant, name(2), {}, 0});
  bench.run();
  EXPECT_GT(bench.answered(store), 400u);
  EXPECT_EQ(bench.fetched(), (Lines{2, 2, 4, 6, 2}));
}

TEST(TrackedL2, AStoreThatJoinedTheMissOfASynonymIsToldOf) {
  TrackedL2Bench bench;
  bench.synonym(8, 2);
  bench.ask(0, 8);
  bench.store(3, 8);
  bench.replay(100, 8);
  bench.run();
  EXPECT_EQ(bench.told(Notice::kSynonymWrite), Lines{2}) << "under the leading name";
  for (const auto& arrival : bench.heard.seen) {
    if (arrival.what.notice != Notice::kSynonymWrite) continue;
    EXPECT_EQ(arrival.what.words, 8u) << "and the one that was asked for";
  }
}

}  // namespace
}  // namespace terrace
