// A memory channel that is saved between any two cycles and restored into another one goes on as if nothing had been.
// SPDX-License-Identifier: MIT
#include "support/dram_traffic.h"

namespace terrace {
namespace {

class DramCheckpoint : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<DramBench> begin(const DramConfig& config, const DramMix& mix) {
    DramBench::Options options{.core_mhz = 1'150, .sources = 3, .tenants = 2, .link_entries = 2, .reply_every = 15};
    auto bench = std::make_unique<DramBench>(config, options);
    bench->channel.enable_blame(options.tenants);
    add_traffic(*bench, mix, 60, options.line_bytes, options.tenants, 6);
    return bench;
  }
};

TEST_P(DramCheckpoint, SavedBeforeAnyCycleItGoesOnAsIfNothingHadBeen) {
  DramConfig two_ranks, closed;
  two_ranks.standard = DramStandardName::kDdr3;
  closed.standard = DramStandardName::kHbm2;
  closed.row_policy = RowPolicy::kClosed;
  for (DramConfig config : {two_ranks, closed}) {
    config.channels = 1;
    config.scheduler.use = GetParam();
    config.read_entries = config.write_entries = 10;
    config.write_high = 8;
    config.write_low = 2;
    config.return_entries = 6;
    config.timing.trefi = 700;  // refreshes within so few cycles
    for (const DramMix& mix : {DramMix{"mixed", 40, 20, 4, 0}, DramMix{"sparse", 30, 20, 6, 60}}) {
      const auto undisturbed = begin(config, mix);
      ASSERT_EQ(undisturbed->run(), Scheduler::End::kIdle);
      const std::string statistics = undisturbed->statistics();
      const Cycle last = undisturbed->scheduler.now();
      ASSERT_GT(last, 500u);
      for (Cycle at = 1; at < last; at += 1 + last / 90) {
        const auto first = begin(config, mix), second = begin(config, mix);
        first->scheduler.run(at);
        SavedState saved;
        saved(*first);
        const std::vector<std::byte> state = saved.take();
        RestoredState restored(state);
        restored(*second);
        ASSERT_EQ(second->run(), Scheduler::End::kIdle);
        ASSERT_EQ(second->statistics(), statistics) << "saved before cycle " << at;
        ASSERT_EQ(second->commands, undisturbed->commands) << "saved before cycle " << at;
        for (u32 i = 0; i < 2; ++i) {  // which no statistic shows
          ASSERT_EQ(second->channel.stats.activations_of[TenantId(i)].value,
                    undisturbed->channel.stats.activations_of[TenantId(i)].value);
        }
        for (u32 i = 0; i < second->sources.size(); ++i)
          ASSERT_EQ(second->sources[i]->replies, undisturbed->sources[i]->replies);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, DramCheckpoint, testing::ValuesIn(Registry<DramScheduler>::instance().names()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace terrace
