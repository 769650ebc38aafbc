// What every DRAM scheduler must do, whatever its order: answer each accepted read exactly once, write each accepted
// write, keep the books, come to an end. Registering a scheduler is enough to have it tested.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "support/dram_traffic.h"

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

INSTANTIATE_TEST_SUITE_P(Registered, DramSchedulerContract, testing::ValuesIn(cases()), [](const auto& tested) {
  return tested.param.scheduler + "_" + std::to_string(tested.param.tenants) + "_tenants";
});

}  // namespace
}  // namespace terrace
