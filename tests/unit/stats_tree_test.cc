// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "engine/check.h"
#include "stats/epochs.h"
#include "stats/stat_pattern.h"
#include "stats/stat_tree.h"

namespace terrace {
namespace {

constexpr TenantId kFirst{0}, kSecond{1}, kThird{2};

struct TlbStats {
  PerTenant<Counter> lookups, hits, misses;
  Counter flushes;
  Histogram wait{1};
  void describe(StatFields& v) {
    v("lookups", lookups, "lookups", "translations asked for");
    v("hits", hits, "lookups", "answered at once");
    v("misses", misses, "lookups", "that went on");
    v("flushes", flushes, "flushes", "of everything");
    v("wait", wait, "cycles", "until an answer");
    v.ratio("hit_rate", sum(hits), sum(lookups), "hits per lookup");
    v.identity("every lookup hits or misses", sum(hits, misses), sum(lookups));
  }
};

struct EnergyStats {
  Counter energy, time;
  void describe(StatFields& v) {
    v("energy", energy, "pJ", "spent");
    v("time", time, "ps", "gone by");
    v.ratio("watts", sum(energy), sum(time), "power");
  }
};

TEST(StatTree, DerivedStatisticsAreExportedAndNoPartOfTheDigest) {
  TlbStats tlb;
  tlb.flushes += 3;
  EnergyStats energy;
  StatTree without, with, counted;
  without.add("tlb", tlb);
  with.add("tlb", tlb);
  counted.add("tlb", tlb);
  with.add_derived("energy", energy);
  counted.add("energy", energy);
  energy.energy += 30;
  energy.time += 10;
  EXPECT_EQ(with.digest(), without.digest());
  EXPECT_NE(counted.digest(), without.digest());
  EXPECT_EQ(*with.json().find("energy")->find("watts")->find("value"), Tree(3.0));
  EXPECT_NE(with.csv().find("energy.energy,30,pJ"), std::string::npos);
}

TEST(EpochSeries, RatiosOfDerivedStatisticsAreThoseOfEachEpoch) {
  EnergyStats energy;
  StatTree tree;
  tree.add_derived("energy", energy);
  EpochSeries series(tree, {"energy.watts", "energy.time"});
  energy.energy += 30;
  energy.time += 10;
  series.sample(5);
  energy.energy += 5;
  energy.time += 10;
  series.sample(10);
  EXPECT_EQ(series.csv(), "cycle,\"energy.time\",\"energy.watts\"\n5,10,3.000\n10,10,0.500\n");
}

struct MmuStats {
  Counter requests;
  TlbStats tlb;
  u64 in_flight = 0;
  Counter done;
  void describe(StatFields& v) {
    v("requests", requests, "requests", "that arrived");
    v("done", done, "requests", "answered");
    v.group("tlb", tlb);
    v.identity("every request is answered or in flight", sum(done, in_flight), sum(requests));
  }
};

class Stats : public ::testing::Test {
 protected:
  Stats() {
    tree_.add("gpu.mmu", mmu_);
    tree_.add("gpu.sm.0.tlb", sm_[0]);
    tree_.add("gpu.sm.1.tlb", sm_[1]);
  }
  static void look(TlbStats& tlb, TenantId tenant, bool hit) {
    ++tlb.lookups[tenant];
    ++(hit ? tlb.hits : tlb.misses)[tenant];
  }
  std::string violated() {
    try {
      tree_.check_identities();
    } catch (const ModelError& error) {
      const std::string what = error.what();  // "file:line: sentence [condition]"
      const std::size_t from = what.find(": ") + 2;
      return what.substr(from, what.rfind(" [") - from);
    }
    return "all hold";
  }

  MmuStats mmu_;
  TlbStats sm_[2];
  StatTree tree_{2};
};

TEST_F(Stats, NamesAreComposedFromUnitsGroupsAndLabels) {
  look(mmu_.tlb, kSecond, true);
  mmu_.tlb.wait.add(5);
  const std::string csv = tree_.csv();
  EXPECT_NE(csv.find("\ngpu.mmu.tlb.hits{tenant=1},1,lookups\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\ngpu.mmu.tlb.wait{from=4},1,times\ngpu.mmu.tlb.wait{sum},5,cycles\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\ngpu.sm.1.tlb.flushes,0,flushes\n"), std::string::npos) << csv;
  EXPECT_EQ(csv.find("tenant=2"), std::string::npos) << "a machine of two tenants exports two";
}

TEST_F(Stats, JsonIsNestedWithUnitsAndDerivedRatios) {
  look(mmu_.tlb, kFirst, true);
  look(mmu_.tlb, kFirst, false);
  look(mmu_.tlb, kSecond, true);
  const Tree json = tree_.json();
  const Tree& tlb = *json.find("gpu")->find("mmu")->find("tlb");
  EXPECT_EQ(*tlb.find("lookups"), (Tree{{"unit", "lookups"}, {"tenants", Tree::List{u64{2}, u64{1}}}}));
  EXPECT_EQ(*tlb.find("hit_rate"), (Tree{{"unit", "ratio"}, {"value", 2.0 / 3.0}, {"tenants", Tree::List{0.5, 1.0}}}));
  EXPECT_EQ(*json.find("gpu")->find("sm")->find("0")->find("tlb")->find("hit_rate")->find("value"), Tree())
      << "a ratio of nothing to nothing is no number";
}

TEST_F(Stats, AHistogramExportsCountSumMeanAndFilledBuckets) {
  for (const u64 value : {0, 1, 63, 64, 200}) mmu_.tlb.wait.add(value);
  const Tree json = tree_.json();
  const Tree& wait = *json.find("gpu")->find("mmu")->find("tlb")->find("wait");
  const auto bucket = [](u64 low, u64 times) { return Tree(Tree::List{low, times}); };
  EXPECT_EQ(*wait.find("count"), Tree(u64{5}));
  EXPECT_EQ(*wait.find("sum"), Tree(u64{328}));
  EXPECT_EQ(*wait.find("mean"), Tree(65.6));
  EXPECT_EQ(*wait.find("buckets"), Tree(Tree::List{bucket(0, 2), bucket(62, 1), bucket(64, 1), bucket(128, 1)}));
}

TEST_F(Stats, WarmUpIsSubtractedFromExportsAndDigest) {
  TlbStats fresh_tlb;
  StatTree fresh(2);
  fresh.add("tlb", fresh_tlb);
  look(fresh_tlb, kFirst, true);
  fresh_tlb.wait.add(7);

  TlbStats warm_tlb;
  StatTree warm(2);
  warm.add("tlb", warm_tlb);
  look(warm_tlb, kSecond, false);
  warm_tlb.wait.add(9);
  warm.mark_start();
  look(warm_tlb, kFirst, true);
  warm_tlb.wait.add(7);
  EXPECT_EQ(warm.csv(), fresh.csv());
  EXPECT_EQ(warm.json(), fresh.json());
  EXPECT_EQ(warm.digest(), fresh.digest());
}

TEST_F(Stats, TheDigestSeesEveryCounterAndItsName) {
  const std::string empty = tree_.digest();
  look(sm_[0], kFirst, true);
  const std::string one = tree_.digest();
  EXPECT_NE(one, empty);
  sm_[0] = {};
  EXPECT_EQ(tree_.digest(), empty);
  look(sm_[1], kFirst, true);
  EXPECT_NE(tree_.digest(), one) << "the same count in another unit";
}

TEST_F(Stats, AViolatedIdentityNamesTheUnitTheTenantAndBothSides) {
  EXPECT_EQ(violated(), "all hold");
  look(sm_[1], kFirst, true);
  ++sm_[1].hits[kSecond];
  ++sm_[1].misses[kFirst];
  --sm_[1].hits[kFirst].value;
  EXPECT_EQ(violated(), "gpu.sm.1.tlb: \"every lookup hits or misses\" does not hold for tenant 1: 1 is not 0");
}

TEST_F(Stats, AnIdentityMayCountWhatIsInFlight) {
  ++mmu_.requests;
  EXPECT_EQ(violated(), "gpu.mmu: \"every request is answered or in flight\" does not hold: 0 is not 1");
  mmu_.in_flight = 1;
  EXPECT_EQ(violated(), "all hold");
}

TEST_F(Stats, AnIdentityBetweenUnitsAddsUpAllThatFit) {
  tree_.identity("every miss reaches the MMU", {"gpu.sm.*.tlb.misses"}, {"gpu.mmu.requests"});
  look(sm_[0], kFirst, false);
  look(sm_[1], kSecond, false);
  mmu_.requests += 2;
  mmu_.in_flight = 2;
  EXPECT_EQ(violated(), "all hold");
  look(sm_[1], kSecond, false);
  EXPECT_EQ(violated(),
            "\"every miss reaches the MMU\" does not hold: 3 (gpu.sm.*.tlb.misses) is not 2 (gpu.mmu.requests)");
}

TEST_F(Stats, AnIdentityBetweenUnitsThatFitsNothingIsAMistake) {
  tree_.identity("nonsense", {"gpu.sm.misses"}, {"gpu.mmu.requests"});
  EXPECT_EQ(violated(), "an identity names gpu.sm.misses, and no counter is called so");
}

TEST_F(Stats, TotalsAreOfOneTenantOrOfAllAndIncludeTheWarmUp) {
  look(sm_[0], kFirst, false);
  tree_.mark_start();
  look(sm_[1], kFirst, false);
  look(sm_[1], kSecond, false);
  EXPECT_EQ(tree_.total("gpu.sm.*.tlb.misses", kFirst), 2u);
  EXPECT_EQ(tree_.total("gpu.sm.*.tlb.misses", kSecond), 1u);
  EXPECT_EQ(tree_.total("gpu.sm.*.tlb.misses"), 3u);
  EXPECT_EQ(tree_.total("gpu.sm.0.tlb.misses"), 1u);
}

TEST_F(Stats, ThereIsNoTotalOfWhatNobodyCounts) {
  EXPECT_EQ(tree_.total("gpu.sm.*.tlb.flushes"), 0u);
  EXPECT_EQ(tree_.total("gpu.sm.*.tlb.flushes", kFirst), std::nullopt) << "not counted per tenant";
  EXPECT_EQ(tree_.total("gpu.sm.*.tlb.wait"), std::nullopt) << "a histogram";
  EXPECT_EQ(tree_.total("gpu.sm.*.flushes"), std::nullopt);
}

TEST_F(Stats, CountingForATenantThatIsNotThereIsAMistake) {
  look(sm_[0], kThird, true);
  EXPECT_EQ(violated(), "gpu.sm.0.tlb.lookups counted 1 for tenant 2, and there are 2 tenants");
}

TEST_F(Stats, TwoStatisticsOfOneNameAreAMistake) {
  EXPECT_THROW(tree_.add("gpu.mmu", mmu_), ModelError);
}

TEST_F(Stats, EpochsHoldHowMuchEachCounterGrew) {
  look(sm_[0], kFirst, true);
  EpochSeries series(tree_, {"gpu.sm.0.tlb.hits", "gpu.mmu.requests"});
  look(sm_[0], kFirst, true);
  look(sm_[0], kSecond, true);
  series.sample(100);
  look(sm_[0], kFirst, true);
  look(sm_[0], kFirst, true);
  ++mmu_.requests;
  series.sample(200);
  EXPECT_EQ(series.epochs(), 2u);
  EXPECT_EQ(series.csv(),
            "cycle,\"gpu.mmu.requests\",\"gpu.sm.0.tlb.hits{tenant=0}\",\"gpu.sm.0.tlb.hits{tenant=1}\"\n"
            "100,0,1,1\n200,1,2,0\n");
}

TEST(StatPattern, AStarStandsForExactlyOnePart) {
  EXPECT_TRUE(names_stat("gpu.l2.*.hits", "gpu.l2.3.hits"));
  EXPECT_TRUE(names_stat("*.l2.3.*", "gpu.l2.3.hits"));
  EXPECT_FALSE(names_stat("gpu.*.hits", "gpu.l2.3.hits"));
  EXPECT_FALSE(names_stat("gpu.l2.*", "gpu.l2.3.hits"));
  EXPECT_FALSE(names_stat("gpu.l2.3.hits.*", "gpu.l2.3.hits"));
  EXPECT_FALSE(names_stat("gpu.l2.*.h*", "gpu.l2.3.hits")) << "a star within a part is only a character";
  EXPECT_FALSE(names_stat("gpu.l2.*.hits", "gpu.l2.3.misses"));
}

TEST(StatPattern, WithoutBracesItNamesAllTenantsAndNoBuckets) {
  EXPECT_TRUE(names_stat("gpu.l2.*.hits", "gpu.l2.3.hits{tenant=1}"));
  EXPECT_TRUE(names_stat("gpu.mmu.*.blame.queue", "gpu.mmu.0.blame.queue{tenant=0 holder=nobody}"));
  EXPECT_FALSE(names_stat("gpu.mmu.*.queued", "gpu.mmu.0.queued{from=8}"));
  EXPECT_FALSE(names_stat("gpu.mmu.*.queued", "gpu.mmu.0.queued{sum}"));
}

TEST(StatPattern, WithBracesItNamesOneCell) {
  EXPECT_TRUE(names_stat("gpu.l2.*.hits{tenant=1}", "gpu.l2.3.hits{tenant=1}"));
  EXPECT_FALSE(names_stat("gpu.l2.*.hits{tenant=1}", "gpu.l2.3.hits{tenant=0}"));
  EXPECT_FALSE(names_stat("gpu.l2.*.hits{tenant=1}", "gpu.l2.3.hits"));
  EXPECT_TRUE(names_stat("gpu.mmu.*.queued{sum}", "gpu.mmu.0.queued{sum}"));
  EXPECT_TRUE(names_stat("mmu.*.blame.queue{tenant=0 holder=1}", "mmu.0.blame.queue{tenant=0 holder=1}"));
}

TEST(StatPattern, NamesTheBucketsBelowAValue) {
  EXPECT_TRUE(names_stat("gpu.mmu.*.queued{from<16}", "gpu.mmu.0.queued{from=0}"));
  EXPECT_TRUE(names_stat("gpu.mmu.*.queued{from<16}", "gpu.mmu.0.queued{from=8}"));
  EXPECT_FALSE(names_stat("gpu.mmu.*.queued{from<16}", "gpu.mmu.0.queued{from=16}"));
  EXPECT_FALSE(names_stat("gpu.mmu.*.queued{from<16}", "gpu.mmu.0.queued"));
  EXPECT_FALSE(names_stat("gpu.mmu.*.queued{from<16}", "gpu.mmu.0.queued{sum}"));
  EXPECT_FALSE(names_stat("gpu.mmu.*.queued{from<16}", "gpu.mmu.0.concurrent{from=8}"));
  EXPECT_FALSE(names_stat("gpu.mmu.*.queued{from<many}", "gpu.mmu.0.queued{from=8}"));
}

TEST(Histogram, EveryValueFallsIntoTheBucketWhoseBoundsEncloseIt) {
  for (const u32 width : {0u, 3u}) {
    const Histogram histogram(width);
    for (u32 bucket = 0; bucket < Histogram::kBuckets; ++bucket) {
      EXPECT_EQ(histogram.bucket(histogram.low(bucket)), bucket);
      if (bucket + 1 < Histogram::kBuckets) {
        EXPECT_EQ(histogram.bucket(histogram.low(bucket + 1) - 1), bucket);
      }
    }
    EXPECT_EQ(histogram.bucket(~u64{0}), Histogram::kBuckets - 1);
  }
}

}  // namespace
}  // namespace terrace
