// What is saved is what is restored, and nothing that does not fit is taken.
// SPDX-License-Identifier: MIT
#include "engine/archive.h"

#include <gtest/gtest.h>

#include "blame/waiting.h"
#include "engine/funnel.h"
#include "engine/link.h"
#include "engine/miss_table.h"
#include "engine/pool.h"
#include "engine/ring.h"
#include "engine/rng.h"
#include "engine/sampled.h"
#include "engine/scheduler.h"
#include "engine/tag_array.h"

namespace terrace {
namespace {

template <class... T>
std::vector<std::byte> saved(T&... values) {
  SavedState state;
  state(values...);
  return state.take();
}
template <class... T>
void restore(const std::vector<std::byte>& bytes, T&... values) {
  RestoredState state(bytes);
  state(values...);
}

struct Inner {
  u32 number = 0;
  std::vector<u64> list;
  std::optional<std::string> word;
  friend bool operator==(const Inner&, const Inner&) = default;
};
struct Outer {
  Inner inner;
  std::map<u32, Inner> by_number;
  std::deque<bool> flags;
  std::array<TenantId, 3> tenants{};
  std::pair<VirtAddr, bool> pair;
  std::unordered_map<u64, u8> table;
  std::set<i64> numbers;
  friend bool operator==(const Outer&, const Outer&) = default;
};

TEST(Archive, APlainStructNeedsNoWordOfItsOwn) {
  const Outer before{.inner = {7, {1, 2, 3}, "word"},
                     .by_number = {{3, {4, {}, {}}}, {9, {1, {5}, ""}}},
                     .flags = {true, false, true},
                     .tenants = {TenantId{1}, TenantId{2}, TenantId{15}},
                     .pair = {VirtAddr{99}, true},
                     .table = {{5, 1}, {~u64{0}, 2}},
                     .numbers = {-1, 4}};
  Outer source = before, target{.inner = {1, {9, 9, 9, 9}, {}},
                                .by_number = {{1, {}}},
                                .flags = {},
                                .tenants = {},
                                .pair = {},
                                .table = {{8, 8}},
                                .numbers = {}};
  restore(saved(source), target);
  EXPECT_EQ(target, before);
}

TEST(Archive, SharedAndOwnedValuesAreMadeAnew) {
  auto owned = std::make_unique<Inner>(Inner{1, {2}, {}});
  std::shared_ptr<const Inner> shared = std::make_shared<Inner>(Inner{3, {}, "x"}), none;
  std::unique_ptr<Inner> owned_after;
  std::shared_ptr<const Inner> shared_after, none_after = shared;
  restore(saved(owned, shared, none), owned_after, shared_after, none_after);
  EXPECT_EQ(*owned_after, *owned);
  EXPECT_EQ(*shared_after, *shared);
  EXPECT_NE(shared_after, shared);
  EXPECT_EQ(none_after, nullptr);
}

TEST(Archive, AHeapAndBitsAndAtomicsComeBack) {
  std::priority_queue<std::pair<Cycle, u32>, std::vector<std::pair<Cycle, u32>>, std::greater<>> queue, queue_after;
  queue.emplace(9, 1);
  queue.emplace(3, 2);
  std::bitset<70> bits, bits_after;
  bits[69] = true;
  std::atomic<u32> atomic{5}, atomic_after{0};
  std::vector<bool> flags{true, false, true}, flags_after;
  restore(saved(queue, bits, atomic, flags), queue_after, bits_after, atomic_after, flags_after);
  EXPECT_EQ(queue_after.top(), (std::pair<Cycle, u32>{3, 2}));
  EXPECT_EQ(bits_after, bits);
  EXPECT_EQ(atomic_after.load(), 5u);
  EXPECT_EQ(flags_after, flags);
}

TEST(Archive, MoreBytesThanItsBufferHas) {
  std::vector<u64> large(100'000);
  for (u64 i = 0; i < large.size(); ++i) large[i] = i * i;
  std::vector<std::string> many(50'000, "a word");
  std::vector<u64> large_after;
  std::vector<std::string> many_after;
  restore(saved(many, large, many), many_after, large_after, many_after);
  EXPECT_EQ(large_after, large);
  EXPECT_EQ(many_after, many);
}

TEST(Archive, BytesThatEndTooEarlyAreRefused) {
  std::vector<u64> values(1000, 3);
  std::vector<std::byte> bytes = saved(values);
  bytes.pop_back();
  EXPECT_THROW(restore(bytes, values), ModelError);
}

TEST(Archive, APartBelongsWhereItsNameSays) {
  SavedState state;
  state.part("l2.0");
  const std::vector<std::byte> bytes = state.take();
  EXPECT_NO_THROW(RestoredState(bytes).part("l2.0"));
  EXPECT_THROW(RestoredState(bytes).part("l2.1"), ModelError);
}

TEST(Archive, WhatBothMustHaveInCommonIsCompared) {
  SavedState state;
  state.expect(16, "the number of walkers");
  const std::vector<std::byte> bytes = state.take();
  EXPECT_NO_THROW(RestoredState(bytes).expect(16, "the number of walkers"));
  EXPECT_THROW(RestoredState(bytes).expect(8, "the number of walkers"), ModelError);
}

TEST(ArchiveOfTheEngine, ARingThatWentRoundKeepsItsOrder) {
  Ring<u32> ring(4), after(4);
  for (u32 i = 0; i < 6; ++i) {
    if (ring.full()) ring.pop();
    ring.push(i);
  }
  after.push(77);
  restore(saved(ring), after);
  ASSERT_EQ(after.size(), 4u);
  for (u32 i = 2; i < 6; ++i) EXPECT_EQ(after.pop(), i);
}

TEST(ArchiveOfTheEngine, RandomNumbersGoOn) {
  Rng rng(1, "a"), after(2, "b");
  rng.next();
  restore(saved(rng), after);
  for (u32 i = 0; i < 8; ++i) EXPECT_EQ(after.next(), rng.next());
}

TEST(ArchiveOfTheEngine, TagsKeepTheirRecency) {
  const TagShape shape{.entries = 4, .ways = 4};
  TagArray<u32> tags(shape), after(shape);
  for (u64 key = 0; key < 4; ++key) tags.fill(tags.victim(key), key) = static_cast<u32>(key);
  tags.touch(static_cast<u32>(tags.find(0)));
  restore(saved(tags), after);
  EXPECT_EQ(after.key(after.victim(9)), 1u);  // 0 was used last
  EXPECT_EQ(after.meta(static_cast<u32>(after.find(3))), 3u);
}

TEST(ArchiveOfTheEngine, MissesKeepTheirWaitersInOrder) {
  MissTable<u32> misses(2, 4), after(2, 4);
  misses.join(5, 1);
  misses.join(6, 2);
  misses.join(5, 3);
  restore(saved(misses), after);
  EXPECT_TRUE(after.full());
  std::vector<u32> waiters;
  after.release(5, [&](u32 waiter) { waiters.push_back(waiter); });
  EXPECT_EQ(waiters, (std::vector<u32>{1, 3}));
  EXPECT_EQ(after.join(7, 4), Join::kFirst);
}

TEST(ArchiveOfTheEngine, HandlesStayValid) {
  Pool<Inner> pool, after;
  std::vector<Handle<Inner>> handles;
  for (u32 i = 0; i < 1500; ++i) {
    handles.push_back(pool.make());
    pool[handles.back()].number = i;
  }
  for (u32 i = 0; i < 1500; i += 3) pool.free(handles[i]);
  restore(saved(pool), after);
  EXPECT_EQ(after.live(), pool.live());
  for (u32 i = 1; i < 1500; i += 3) EXPECT_EQ(after[handles[i]].number, i);
  EXPECT_EQ(after.make(), pool.make()) << "and the next one is the same";
}

TEST(ArchiveOfTheEngine, EventsAreSampledOn) {
  Sampled<u32> events(4), after(4);
  u32 event = 0;
  while (event < 7) events.add(event++);
  restore(saved(events), after);
  for (; event < 30; ++event) {
    events.add(event);
    after.add(event);
  }
  EXPECT_EQ(after.kept(), events.kept());
}

/// Sends itself a number over a link, far and near, and adds up what comes.
class Pulse final : public Unit {
 public:
  explicit Pulse(Scheduler& scheduler) : link_(scheduler, {.latency = 3, .capacity = 2}) {
    const UnitId id = scheduler.add(*this, "pulse");
    link_.connect(id, id);
  }
  Cycle tick(Cycle now) override {
    while (link_.front(now) != nullptr) sum_ = sum_ * 31 + link_.pop(now) + now;
    if (now >= next_) {
      if (link_.can_push(now)) link_.push(now, static_cast<u32>(now));
      next_ = now + (now % 7 == 0 ? 5000 : 2);  // past the wheel's 4,096 cycles, or not
    }
    return next_;
  }
  void explain(std::ostream&) const override {}
  u64 sum() const { return sum_; }
  void archive(Archive& a) { a(link_, next_, sum_); }

 private:
  Link<u32> link_;
  Cycle next_ = 0;
  u64 sum_ = 0;
};

struct Pulses {
  explicit Pulses(Scheduler::Options options = {}) : scheduler(options) {
    for (u32 i = 0; i < 3; ++i) {
      units.push_back(std::make_unique<Pulse>(scheduler));
      scheduler.place(UnitId(i), i);
    }
  }
  std::vector<u64> sums() const {
    std::vector<u64> all;
    for (const auto& unit : units) all.push_back(unit->sum());
    return all;
  }
  void archive(Archive& a) {
    a(scheduler);
    for (const auto& unit : units) a(*unit);
  }
  Scheduler scheduler;
  std::vector<std::unique_ptr<Pulse>> units;
};

TEST(ArchiveOfTheEngine, ASchedulerGoesOnWithAnyNumberOfThreadsAndInAnyOrder) {
  Pulses undisturbed;
  undisturbed.scheduler.run(14'000);
  for (const Scheduler::Options& from : {Scheduler::Options{}, Scheduler::Options{.threads = 2, .share_from = 1},
                                         Scheduler::Options{.permute_seed = 3}}) {
    for (const Scheduler::Options& to : {Scheduler::Options{}, Scheduler::Options{.threads = 3, .share_from = 1},
                                         Scheduler::Options{.sleep = false}}) {
      Pulses first(from), second(to);
      first.scheduler.run(5'011);
      const std::vector<std::byte> bytes = saved(first);
      restore(bytes, second);
      EXPECT_EQ(second.scheduler.now(), 5'011u);
      second.scheduler.run(14'000);
      EXPECT_EQ(second.sums(), undisturbed.sums());
      first.scheduler.run(14'000);
      EXPECT_EQ(first.sums(), undisturbed.sums()) << "saving changes nothing";
    }
  }
}

}  // namespace
}  // namespace terrace
