// What every DRAM scheduler must do, whatever its order: answer each accepted read exactly once, write each accepted
// write, keep the books, come to an end. Registering a scheduler is enough to have it tested.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <numeric>

#include "config/assign.h"
#include "support/dram_traffic.h"
#include "support/part_state.h"

namespace terrace {
namespace {

struct Case {
  std::string scheduler;
  u32 tenants;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string& name : Registry<DramScheduler>::instance().names())
    for (u32 tenants = 1; tenants <= 5; ++tenants) all.push_back({name, tenants});
  return all;
}

class DramSchedulerContract : public testing::TestWithParam<Case> {};

TEST_P(DramSchedulerContract, EveryAcceptedRequestIsServedExactlyOnce) {
  for (const DramMix& mix : dram_mixes()) {
    for (const u32 entries : {1u, 2u, 64u}) {
      DramConfig config;
      config.channels = 1;
      config.scheduler.use = GetParam().scheduler;
      config.read_entries = config.write_entries = entries;
      config.write_high = std::max(1u, entries / 2);
      config.write_low = config.write_high / 2;
      DramBench bench(config, {.sources = 3, .tenants = GetParam().tenants});
      add_traffic(bench, mix, 700, 128, GetParam().tenants, entries);
      ASSERT_EQ(bench.run(20'000'000), Scheduler::End::kIdle) << bench.scheduler.explain();
      u64 writes = 0;
      for (const auto& source : bench.sources) {
        ASSERT_EQ(source->sent, source->script.size());
        std::vector<u32> expected, answered;
        for (u32 tag = 0; tag < source->script.size(); ++tag) {
          if (source->script[tag].write) ++writes;
          if (!source->script[tag].write) expected.push_back(tag);
        }
        for (const SeenReply& reply : source->replies) answered.push_back(reply.tag);
        std::sort(answered.begin(), answered.end());
        EXPECT_EQ(answered, expected) << mix.name << " with " << entries << " entries";
      }
      EXPECT_EQ(bench.of(DramCommand::Kind::kWrite).size(), writes);
      EXPECT_TRUE(bench.channel.idle());
      EXPECT_NO_THROW(bench.statistics());
    }
  }
}

TEST_P(DramSchedulerContract, NothingIsHeldThatWasNotOfferedAndCapacityIsNeverExceeded) {
  const DramScheduler::Context context{
      .banks = 8, .read_entries = 6, .write_entries = 3, .tenants = GetParam().tenants};
  const auto scheduler = Registry<DramScheduler>::instance().make(GetParam().scheduler, context);
  for (const bool write : {false, true})
    for (u32 bank = 0; bank < 8; ++bank)
      EXPECT_EQ(scheduler->next({bank, BankView::kClosed, write}).entry, DramScheduler::kNone);
  u32 held = 0;
  for (u32 i = 0; i < 10'000 && held < scheduler->capacity(); ++i) {
    const DramWaiting request{.entry = static_cast<u16>(held),
                              .bank = static_cast<u8>(i % 8),
                              .tenant = TenantId(i % GetParam().tenants),
                              .write = i % 3 == 0,
                              .row = i,
                              .age = i};
    held += scheduler->offer(request, i);
  }
  EXPECT_LE(held, scheduler->capacity());
  EXPECT_GE(held, 2u);
  u32 taken = 0;
  for (bool any = true; any;) {
    any = false;
    for (const bool write : {false, true}) {
      for (u32 bank = 0; bank < 8; ++bank) {
        const auto choice = scheduler->next({bank, BankView::kClosed, write});
        if (choice.entry == DramScheduler::kNone || !choice.column) continue;
        scheduler->take(choice.entry, 20'000 + taken++);
        any = true;
      }
    }
  }
  EXPECT_EQ(taken, held);
}

/// A scheduler, and a twin that gets the same calls and must answer alike.
class TwinDramSchedulers {
 public:
  static constexpr u32 kBanks = 6;

  TwinDramSchedulers(const std::string& name, u32 tenants) : name_(name), tenants_(tenants), scheduler_(make()) {
    free_.resize(scheduler_->capacity());
    std::iota(free_.rbegin(), free_.rend(), u16{0});
    rows_.resize(free_.size());
  }
  /// A fresh twin, which gets the state; the one there was must have come to the same.
  void renew_twin() {
    const auto state = whole_state(*scheduler_);
    if (twin_) {
      ASSERT_EQ(whole_state(*twin_), state) << "or it counts something else";
    }
    twin_ = make();
    RestoredState restored(state);
    archive_whole(restored, *twin_);
    ASSERT_EQ(whole_state(*twin_), state);
  }
  void offer(Rng& rng, u64 writes_percent, u64 walks_percent) {
    if (free_.empty()) return;
    const bool write = rng.below(100) < writes_percent;
    const DramWaiting request{.entry = free_.back(),
                              .bank = static_cast<u8>(rng.below(kBanks)),
                              .walk_level = static_cast<u8>(!write && rng.below(100) < walks_percent ? 4 : 0),
                              .tenant = TenantId(rng.below(tenants_)),
                              .write = write,
                              .row = static_cast<u32>(rng.below(3)),
                              .age = age_};
    const bool accepted = scheduler_->offer(request, age_);
    ASSERT_EQ(twin_->offer(request, age_), accepted);
    if (!accepted) return;
    ++age_;
    rows_[request.entry] = request.row;
    free_.pop_back();
  }
  void serve(BankView bank) {
    bank.open_row = open_[bank.bank];
    const DramScheduler::Choice choice = scheduler_->next(bank), its = twin_->next(bank);
    ASSERT_EQ(its.entry, choice.entry) << "of bank " << bank.bank;
    if (choice.entry == DramScheduler::kNone) return;
    ASSERT_EQ(its.urgency, choice.urgency);
    ASSERT_EQ(its.column, choice.column);
    if (!choice.column) return;
    scheduler_->take(choice.entry, age_);
    twin_->take(choice.entry, age_);
    open_[bank.bank] = rows_[choice.entry];
    free_.push_back(choice.entry);
  }
  void close(u32 bank) { open_[bank] = BankView::kClosed; }
  void epoch(Rng& rng) {
    std::vector<TenantEpoch> epochs(tenants_);
    for (TenantEpoch& epoch : epochs) {
      epoch.concurrent_walks = static_cast<u32>(rng.below(20));
      epoch.stalled_warps = static_cast<u32>(rng.below(20));
      epoch.l2_requests = rng.below(1'000);
      epoch.l2_hits = rng.below(epoch.l2_requests + 1);
      epoch.dram_lines = rng.below(1'000);
    }
    scheduler_->epoch(epochs);
    twin_->epoch(epochs);
  }
  void compare_marks() {
    ASSERT_EQ(twin_->changed_banks(), scheduler_->changed_banks());
    ASSERT_EQ(twin_->made_room(), scheduler_->made_room());
    ASSERT_EQ(twin_->reads_now(), scheduler_->reads_now());
  }

 private:
  /// Bounds that are long by default are set short, so that they are reached.
  std::unique_ptr<DramScheduler> make() const {
    Policy<DramScheduler> policy(name_);
    struct Holder {
      Policy<DramScheduler>& policy;
      void describe(Fields& v) { v.policy("dram", policy, ""); }
    } holder{policy};
    const std::vector<std::pair<std::string, std::string>> all = {{"frfcfs", "bypass_limit=4"},
                                                                  {"fr_rr_fcfs", "bypass_limit=4"},
                                                                  {"address_space_aware", "bypass_limit=4"},
                                                                  {"address_space_aware", "golden_entries=4"},
                                                                  {"address_space_aware", "silver_entries=10"},
                                                                  {"address_space_aware", "normal_entries=20"},
                                                                  {"address_space_aware", "silver_quota=60"},
                                                                  {"address_space_aware", "interrupts_writes=true"}};
    for (const auto& [scheduler, set] : all) {
      if (scheduler == name_) assign(holder, split_assignment("dram." + scheduler + "." + set, "test"));
    }
    return policy.make({.banks = kBanks, .read_entries = 24, .write_entries = 12, .tenants = tenants_});
  }
  static void archive_whole(Archive& a, DramScheduler& scheduler) {
    archive_with_statistics(a, scheduler);
    scheduler.archive_marks(a);
  }
  static std::vector<std::byte> whole_state(DramScheduler& scheduler) {
    SavedState saved;
    archive_whole(saved, scheduler);
    return saved.take();
  }

  std::string name_;
  u32 tenants_;
  std::unique_ptr<DramScheduler> scheduler_, twin_;
  std::vector<u16> free_;
  std::vector<u32> rows_;  // by entry
  std::vector<u32> open_ = std::vector<u32>(kBanks, BankView::kClosed);
  u64 age_ = 0;
};

TEST_P(DramSchedulerContract, AFreshOneThatGetsItsStateGoesOnAlike) {
  constexpr u32 kSteps = 20'000, kEpoch = 600, kTwin = 370;
  Rng rng(11, "lines");
  TwinDramSchedulers twins(GetParam().scheduler, GetParam().tenants);
  for (u32 step = 0; step < kSteps; ++step) {
    if (step % kTwin == 0) twins.renew_twin();
    if (step % kEpoch == kEpoch - 1) twins.epoch(rng);
    // Queues fill and empty again.
    if (rng.below(10) < (step / 900 % 2 == 0 ? 7u : 4u)) {
      twins.offer(rng, 20, 15);
    } else {
      twins.serve({.bank = static_cast<u32>(rng.below(TwinDramSchedulers::kBanks)), .write = rng.below(4) == 0});
    }
    if (rng.below(50) == 0) twins.close(static_cast<u32>(rng.below(TwinDramSchedulers::kBanks)));
    if (rng.below(3) == 0) twins.compare_marks();
    if (HasFailure()) {
      ADD_FAILURE() << "in step " << step;
      return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, DramSchedulerContract, testing::ValuesIn(cases()), [](const auto& tested) {
  return tested.param.scheduler + "_" + std::to_string(tested.param.tenants) + "_tenants";
});

}  // namespace
}  // namespace terrace
