// Tenants that come and go when they like (visitors.h), as the clients of a server do, on a GPU: who is asked, when, and what time
// stands still.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>

#include "timing/scripted_tenants.h"

namespace terrace {
namespace {

/// So many clients, of which so many come at once; patient ones only come after the GPU has waited for them.
class ScriptedVisitors final : public Visitors {
 public:
  ScriptedVisitors(u32 clients, u32 at_once, bool patient) : left_(clients), at_once_(at_once), patient_(patient) {}

  std::vector<TenantId> admit(std::span<const TenantId> free) override {
    EXPECT_FALSE(free.empty()) << "nobody could come";
    EXPECT_TRUE(std::is_sorted(free.begin(), free.end()));
    if (patient_ && !waited_for_) return {};
    waited_for_ = false;
    std::vector<TenantId> coming(free.begin(), free.begin() + std::min<u64>({free.size(), at_once_, left_}));
    left_ -= static_cast<u32>(coming.size());
    admitted.insert(admitted.end(), coming.begin(), coming.end());
    return coming;
  }
  bool open() const override { return left_ > 0; }
  void wait() override {
    EXPECT_TRUE(open()) << "waits although nobody will come";
    ++waits;
    waited_for_ = true;
  }

  std::vector<TenantId> admitted;
  u32 waits = 0;

 private:
  u32 left_, at_once_;
  bool patient_, waited_for_ = false;
};

/// A GPU with so many places for visitors, all of whom do the same.
class Places {
 public:
  Places(u32 places, Visitors& visitors, u32 rounds = 100) {
    GpuConfig config;
    config.sm.count = 2;
    std::vector<TenantSetup> setups;
    for (u32 i = 0; i < places; ++i) {
      memories_.push_back(std::make_unique<GuestMemory>(PageSize(config.pages.bytes)));
      programs_.push_back(std::make_unique<ScriptProgram>(1, 32, 1 << 20));
      programs_.back()->allocate(*memories_.back());
      streams_.push_back(std::make_unique<ScriptedStream>(
          std::vector<ScriptOp>{{plain_inst(InstClass::kInteger, {0}, {0})}}, rounds, config.sm.warp_width));
      TenantSetup setup{"visitor", programs_.back().get(), memories_.back().get(), streams_.back().get(), {i % 2}};
      setup.arrive = kNever;
      setup.leaves_when_done = true;
      setup.visitors = &visitors;
      setups.push_back(std::move(setup));
    }
    gpu = std::make_unique<Gpu>(config, std::move(setups));
  }
  std::unique_ptr<Gpu> gpu;

 private:
  std::vector<std::unique_ptr<GuestMemory>> memories_;
  std::vector<std::unique_ptr<ScriptProgram>> programs_;
  std::vector<std::unique_ptr<ScriptedStream>> streams_;
};

TEST(Visitors, GetThePlacesThatAreFreeAndEachRunsOnce) {
  ScriptedVisitors visitors(5, 2, false);
  Places places(2, visitors);
  places.gpu->run({});
  ASSERT_EQ(visitors.admitted.size(), 5u);
  EXPECT_NE(visitors.admitted[0], visitors.admitted[1]) << "both places are free at first";
  u64 runs = 0;
  for (const TenantId place : {TenantId(0), TenantId(1)}) {
    const TenantProgress done = places.gpu->progress(place);
    const auto visits = std::count(visitors.admitted.begin(), visitors.admitted.end(), place);
    EXPECT_EQ(done.visits, static_cast<u64>(visits));
    EXPECT_EQ(done.completed_runs, done.visits);
    EXPECT_NE(done.left, kNever);
    runs += done.completed_runs;
  }
  EXPECT_EQ(runs, 5u);
}

TEST(Visitors, AreWaitedForWhileNobodyIsThereAndNoTimePasses) {
  ScriptedVisitors visitors(3, 1, true);
  Places places(1, visitors);
  places.gpu->run({});
  EXPECT_EQ(visitors.waits, 3u);
  const TenantProgress done = places.gpu->progress(TenantId(0));
  EXPECT_EQ(done.visits, 3u);
  EXPECT_LE(done.absent, 2u) << "a cycle for each who comes to an empty GPU";
}

TEST(Visitors, AreNotWaitedForWhileSomebodyWorks) {
  ScriptedVisitors visitors(4, 1, false);
  Places places(4, visitors, 100'000);  // each works for longer than it takes until the GPU looks again
  places.gpu->run({});
  EXPECT_EQ(visitors.admitted.size(), 4u);
  EXPECT_EQ(visitors.waits, 1u) << "for the first";
}

TEST(Visitors, WhoNeverComeEndTheRun) {
  ScriptedVisitors visitors(0, 1, false);
  Places places(2, visitors);
  places.gpu->run({});
  EXPECT_EQ(visitors.waits, 0u);
  EXPECT_EQ(places.gpu->progress(TenantId(0)).visits, 0u);
}

}  // namespace
}  // namespace terrace
