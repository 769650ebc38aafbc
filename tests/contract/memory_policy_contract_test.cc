// What every policy of the slots between SM and memory owes the machine: programs compute the same, every request is
// answered, sleeping and the order of ticks change nothing, and lines hold what they should (dev builds check each).
// Registering a policy is enough to have it tested. The slots allow more than the policies that fill them today do, so
// that policies of this file stand in for those to come.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <set>

#include "timing/crowd.h"
#include "timing/tenant_runs.h"

namespace terrace {
namespace {

/// Leaf entries go past the L2, those above are looked up but not kept, nor are lines of the second tenant.
class PickyL2Admission final : public L2Admission {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  PickyL2Admission(const Context&, Params) {}
  Choice admit(const L2Request& request) const override {
    if (request.walk_level == 4) return Choice::kBypass;
    return request.walk_level > 0 || index(request.tenant) == 1 ? Choice::kNoFill : Choice::kCache;
  }
  void archive(Archive&) override {}
};
REGISTER_POLICY(L2Admission, PickyL2Admission, "picky", .summary = "for tests");

/// Lines of page tables go last.
class WalksStayL2Victim final : public L2Victim {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  WalksStayL2Victim(const Context&, Params) {}
  u32 victim(const L2Set& set, const L2Line&) override {
    WayMask data = 0;
    for (u32 way = 0; way < set.ways(); ++way) {
      if (!set.valid(way) || set.line(way).walk_level == 0) data |= WayMask{1} << way;
    }
    return set.lru(data != 0 ? data : kAllWays);
  }
  void archive(Archive&) override {}
};
REGISTER_POLICY(L2Victim, WalksStayL2Victim, "walks_stay", .summary = "for tests");

/// Even warps fill the TLB, odd ones the bypass cache, pages of odd number nothing.
class PickyTlbFillPolicy final : public TlbFillPolicy {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  PickyTlbFillPolicy(const Context&, Params) {}
  Into choose(u64 key, TenantId, std::span<const TlbAsker> askers) override {
    EXPECT_FALSE(askers.empty()) << "nobody waits for a translation that arrives";
    if (page_of_key(key) % 2 == 1) return Into::kNowhere;
    for (const TlbAsker& asker : askers) {
      if (asker.warp % 2 == 0) return Into::kTlb;
    }
    return Into::kBypass;
  }
  void archive(Archive&) override {}
  u32 bypass_entries() const override { return 4; }
  bool wants_merged_warps() const override { return true; }
};
REGISTER_POLICY(TlbFillPolicy, PickyTlbFillPolicy, "picky", .summary = "for tests");

/// Leaf entries come from memory, the others from the L2.
class LeafFromMemoryWalkPath final : public WalkPath {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  LeafFromMemoryWalkPath(const Context&, Params) {}
  bool uses(Way) const override { return true; }
  Way choose(const WalkRead& read) override { return read.level == 4 ? Way::kMemory : Way::kL2; }
  void archive(Archive&) override {}
};
REGISTER_POLICY(WalkPath, LeafFromMemoryWalkPath, "leaf_from_memory", .summary = "for tests");

struct Filled {
  std::string slot, policy;
};
void PrintTo(const Filled& filled, std::ostream* out) {
  *out << filled.slot << "=" << filled.policy;
}

std::vector<Filled> all_filled() {
  std::vector<Filled> all;
  const std::set<std::string_view> here{"l2.admission", "l2.victim", "l2_tlb.fill", "mmu.walk_path", "dram.scheduler"};
  for (const PolicyTable* slot : PolicyTable::all()) {
    if (!here.contains(slot->slot().key)) continue;
    for (const std::string& name : slot->names()) all.push_back({std::string(slot->slot().key), name});
  }
  return all;
}

class MemoryPolicies : public testing::TestWithParam<Filled> {
 protected:
  std::string choice() const { return GetParam().slot + ".use=" + GetParam().policy; }
  /// Epochs that are over soon: policies that go by them get to decide.
  std::string epoch() const { return "run.epoch=700"; }
};

TEST_P(MemoryPolicies, ProgramsComputeTheSameInAnyOrderOfTicks) {
  RunRequest request = tenant_run("bfs mm gups", {choice(), epoch()});
  request.check = true;
  EXPECT_TRUE(expect_laws(request, 1).checks_passed);
}

TEST_P(MemoryPolicies, TheSmallestQueuesDoNotLock) {
  std::vector<std::string> sets = tiny_queues();
  sets.insert(sets.end(), {choice(), epoch()});
  RunRequest request = tenant_run("bfs gups", sets);
  request.check = true;
  EXPECT_TRUE(expect_laws(request, 3).checks_passed);
}

TEST_P(MemoryPolicies, LinesUnderPressureHoldWhatTheyShould) {
  for (u64 seed = 0; seed < 3; ++seed) {
    GpuConfig config = crowded_gpu();
    for (const std::string& set : {choice(), epoch()}) assign(config, split_assignment(set, "test"));
    ScriptedTenants run(config, {crowd(seed, 2), crowd(seed + 100, 2)});
    ASSERT_NO_THROW(run.gpu().run({.relaunch = false})) << seed;
    run.gpu().stats().check_identities(!run.gpu().quiet());
  }
}

std::string name_of(const testing::TestParamInfo<Filled>& tested) {
  std::string name = tested.param.slot + "_" + tested.param.policy;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, MemoryPolicies, testing::ValuesIn(all_filled()), name_of);

/// Two tenants that fight for a few lines; what the slots' choices leave in the statistics.
u64 total_under(const char* choice, const char* statistic) {
  GpuConfig config = crowded_gpu();
  assign(config, split_assignment(choice, "test"));
  ScriptedTenants run(config, {crowd(1), crowd(2)});
  run.gpu().run({.relaunch = false});
  return run.gpu().stats().total(statistic).value();
}

TEST(L2Admission, AReadThatBypassesIsNeitherLookedUpNorKept) {
  const u64 leaf_reads = total_under("l2.admission.use=always", "gpu.l2.*.walk_lookups_level_4");
  EXPECT_GT(leaf_reads, 0u);
  EXPECT_EQ(total_under("l2.admission.use=picky", "gpu.l2.*.walk_lookups_level_4"), 0u);
  EXPECT_GT(total_under("l2.admission.use=picky", "gpu.l2.*.admission.bypasses"), 0u);
  EXPECT_GT(total_under("l2.admission.use=picky", "gpu.l2.*.admission.not_kept"), 0u);
}

TEST(TlbFill, EachTranslationGoesIntoOneStructureOfThePolicysChoice) {
  const u64 fills = total_under("l2_tlb.fill.use=picky", "gpu.l2_tlb.0.fills");
  const u64 bypassed = total_under("l2_tlb.fill.use=picky", "gpu.l2_tlb.0.bypass_cache.fills");
  EXPECT_GT(bypassed, 0u);
  EXPECT_LT(bypassed, fills);
  EXPECT_GT(total_under("l2_tlb.fill.use=picky", "gpu.l2_tlb.0.bypass_cache.hits"), 0u);
}

TEST(WalkPath, EachReadTakesTheWayThatThePolicyChooses) {
  const char* leaf = "gpu.l2.*.walk_lookups_level_4";
  const char* above = "gpu.l2.*.walk_lookups_level_3";
  EXPECT_GT(total_under("mmu.walk_path.use=l2", leaf), 0u);
  EXPECT_EQ(total_under("mmu.walk_path.use=memory", above), 0u);
  EXPECT_EQ(total_under("mmu.walk_path.use=leaf_from_memory", leaf), 0u);
  EXPECT_GT(total_under("mmu.walk_path.use=leaf_from_memory", above), 0u);
}

}  // namespace
}  // namespace terrace
