// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "stats/diff.h"

namespace terrace {
namespace {

Tree result(u64 walkers, u64 walks, u64 wait, double seconds) {
  Tree tree;
  tree["config"]["mmu"]["walkers"] = walkers;
  tree["run"]["cycles"] = u64{1000};
  tree["run"]["wall_seconds"] = seconds;
  Tree& mmu = tree["stats"]["gpu"]["mmu"];
  mmu["walks"] = Tree{{"unit", "walks"}, {"tenants", Tree::List{walks, u64{10}}}};
  mmu["wait"] = Tree{{"unit", "cycles"}, {"sum", wait}, {"buckets", Tree::List{Tree::List{u64{0}, u64{3}}}}};
  return tree;
}

TEST(Diff, TwoRunsOfOneConfigurationDoNotDifferWhateverTheHostDid) {
  const ResultDiff diff = diff_results(result(16, 40, 7, 1.5), result(16, 40, 7, 2.5));
  EXPECT_TRUE(diff.stats.empty());
  EXPECT_EQ(diff_text(diff, "a.json", "b.json"), "No statistic differs.\n");
}

TEST(Diff, ListsTheLargestRelativeChangeFirst) {
  Tree b = result(8, 44, 14, 2.5);
  b["stats"]["gpu"]["mmu"]["stolen"] = Tree{{"unit", "walks"}, {"value", u64{3}}};
  EXPECT_EQ(diff_text(diff_results(result(16, 40, 7, 1.5), b), "a.json", "b.json"),
            "The configurations differ:\n"
            "             a.json  b.json  change\n"
            "mmu.walkers      16       8  -50 %\n"
            "\n"
            "3 statistics differ:\n"
            "                         a.json  b.json  change\n"
            "gpu.mmu.stolen                -       3  new\n"
            "gpu.mmu.wait.sum              7      14  +100 %\n"
            "gpu.mmu.walks{tenant=0}      40      44  +10 %\n");
}

}  // namespace
}  // namespace terrace
