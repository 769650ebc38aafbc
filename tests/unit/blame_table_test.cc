// The table of waiting times by holder, as text and in result files.
// SPDX-License-Identifier: MIT
#include "run/blame_table.h"

#include <gtest/gtest.h>

namespace terrace {
namespace {

BlameSummary two_tenants() {
  BlameSummary blame(2);
  blame.add_cell("gpu.mmu.0.blame.walkers{tenant=0 holder=0}", 10);
  blame.add_cell("gpu.mmu.0.blame.walkers{tenant=0 holder=1}", 25);
  blame.add_cell("gpu.mmu.1.blame.walkers{tenant=0 holder=1}", 5);
  blame.add_cell("gpu.noc.to_l2.11.blame.port{tenant=0 holder=0}", 3);
  blame.add_cell("gpu.noc.to_l2.2.blame.miss_entries{tenant=1 holder=0}", 1);
  blame.add_cell("gpu.dram.3.blame.banks{tenant=0 holder=nobody}", 7);
  blame.add_cell("gpu.mmu.0.blame.waited{tenant=0}", 1000);  // no cell of a matrix
  return blame;
}

TEST(BlameSummary, UnitsOfAKindAreSummedAndTotalsAreTheSumOfCauses) {
  const Tree json = two_tenants().json();
  EXPECT_EQ(json_text(*json.find("total")), json_text(parse_json("[[13, 30, 7], [1, 0, 0]]", "expected")));
  const Tree& causes = *json.find("causes");
  EXPECT_EQ(json_text(*causes.find("mmu.walkers")), json_text(parse_json("[[10, 30, 0], [0, 0, 0]]", "expected")));
  EXPECT_EQ(json_text(*causes.find("noc.to_l2.port")), json_text(parse_json("[[3, 0, 0], [0, 0, 0]]", "expected")));
  EXPECT_EQ(json_text(*causes.find("l2.miss_entries")), json_text(parse_json("[[0, 0, 0], [1, 0, 0]]", "expected")));
  EXPECT_EQ(json_text(*causes.find("dram.banks")), json_text(parse_json("[[0, 0, 7], [0, 0, 0]]", "expected")));
  EXPECT_EQ(causes.members().size(), 4u);
}

TEST(BlameSummary, EachTenantHasALineForEachPartThatItWaitedAt) {
  EXPECT_EQ(two_tenants().table({"mm", "gups"}).plain(),
            "tenant  waits at        cycles  held by mm  held by gups  by nobody\n"
            "mm      page walkers        40      25.0 %        75.0 %          -\n"
            "mm      crossbar to L2       3     100.0 %             -          -\n"
            "mm      DRAM                 7           -             -    100.0 %\n"
            "mm      total               50      26.0 %        60.0 %     14.0 %\n"
            "gups    L2 cache             1     100.0 %             -          -\n"
            "gups    total                1     100.0 %             -          -\n");
}

TEST(BlameSummary, LinesToSharedSmsAndPartsThatHaveNoNameAreInTheSum) {
  BlameSummary blame(2);
  blame.add_cell("gpu.noc.to_sm.7.blame.port{tenant=0 holder=1}", 10);
  blame.add_cell("gpu.fresh.3.blame.port{tenant=0 holder=1}", 5);
  EXPECT_EQ(blame.table({"mm", "gups"}).plain(),
            "tenant  waits at        cycles  held by mm  held by gups  by nobody\n"
            "mm      crossbar to SM      10           -       100.0 %          -\n"
            "mm      elsewhere            5           -       100.0 %          -\n"
            "mm      total               15           -       100.0 %          -\n");
  EXPECT_EQ(blame.json().find("causes")->members().size(), 2u);
}

TEST(BlameSummary, CopiesOfAProgramAreToldApart) {
  const std::vector<std::string> header = two_tenants().table({"mm", "mm"}).header;
  EXPECT_EQ(header[3], "held by mm #0");
  EXPECT_EQ(header[4], "held by mm #1");
}

TEST(BlameSummary, OfManyTenantsTheOthersAreOneColumn) {
  BlameSummary blame(16);
  for (u32 holder = 0; holder <= 16; ++holder) blame.add("gpu.mmu.0.blame.walkers", 5, holder, holder == 5 ? 4 : 1);
  const TextTable table = blame.table(std::vector<std::string>(16, "mm"));
  EXPECT_EQ(table.header,
            (std::vector<std::string>{"tenant", "waits at", "cycles", "held by itself", "by others", "by nobody"}));
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0], (std::vector<std::string>{"mm #5", "page walkers", "20", "20.0 %", "75.0 %", "5.0 %"}));
}

TEST(BlameSummary, NothingCountedIsEmpty) {
  EXPECT_TRUE(BlameSummary(StatTree(2)).empty());
}

}  // namespace
}  // namespace terrace
