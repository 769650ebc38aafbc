// Who waited for whom, summed up for people and for result files.
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
            "tenant  waits at    cycles   for mm  for gups  for nobody\n"
            "mm      page walks      40   25.0 %    75.0 %           -\n"
            "mm      crossbar         3  100.0 %         -           -\n"
            "mm      memory           7        -         -     100.0 %\n"
            "mm      everywhere      50   26.0 %    60.0 %      14.0 %\n"
            "gups    L2 cache         1  100.0 %         -           -\n"
            "gups    everywhere       1  100.0 %         -           -\n");
}

TEST(BlameSummary, CopiesOfAProgramAreToldApart) {
  const std::vector<std::string> header = two_tenants().table({"mm", "mm"}).header;
  EXPECT_EQ(header[3], "for mm #0");
  EXPECT_EQ(header[4], "for mm #1");
}

TEST(BlameSummary, OfManyTenantsTheOthersAreOneColumn) {
  BlameSummary blame(16);
  for (u32 holder = 0; holder <= 16; ++holder) blame.add("gpu.mmu.0.blame.walkers", 5, holder, holder == 5 ? 4 : 1);
  const TextTable table = blame.table(std::vector<std::string>(16, "mm"));
  EXPECT_EQ(table.header,
            (std::vector<std::string>{"tenant", "waits at", "cycles", "for itself", "for others", "for nobody"}));
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0], (std::vector<std::string>{"mm #5", "page walks", "20", "20.0 %", "75.0 %", "5.0 %"}));
}

TEST(BlameSummary, NothingCountedIsEmpty) {
  EXPECT_TRUE(BlameSummary(StatTree(2)).empty());
}

}  // namespace
}  // namespace terrace
