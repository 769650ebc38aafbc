// Who waits for whom, against matrices computed by hand.
// SPDX-License-Identifier: MIT
#include "stats/blame.h"

#include <gtest/gtest.h>

#include "engine/check.h"
#include "stats/result_leaves.h"
#include "stats/stat_tree.h"

namespace terrace {
namespace {

constexpr TenantId kLight{0}, kHeavy{1};
using Matrix = std::vector<std::vector<u64>>;

/// Two tenants, two causes, two rooms that wait for one of them each.
class BlameOfTwo : public ::testing::Test {
 protected:
  enum : u32 { kPort, kPlace };
  BlameOfTwo() {
    blame_.enable(2, {{"port", "waiting for the port"}, {"place", "waiting for a place"}}, 2);
    port_ = blame_.holders(1);
    places_ = blame_.holders(4);
    blame_.waits_for(kPort, kPort, port_);
    blame_.waits_for(kPlace, kPlace, places_);
    tree_.add("gpu.mmu.blame", blame_);
  }
  Matrix matrix(const std::string& name) const {
    Matrix rows;
    const Tree json = tree_.json();
    for (const Tree& row : json.find("gpu")->find("mmu")->find("blame")->find(name)->find("matrix")->items()) {
      rows.emplace_back();
      for (const Tree& cell : row.items()) rows.back().push_back(std::get<u64>(cell.value));
    }
    return rows;
  }
  std::vector<u64> waited() const {
    std::vector<u64> all;
    const Tree json = tree_.json();
    for (const Tree& each : json.find("gpu")->find("mmu")->find("blame")->find("waited")->find("tenants")->items())
      all.push_back(std::get<u64>(each.value));
    return all;
  }

  void settle(Cycle now, const std::vector<std::pair<TenantId, Cycle>>& really = {}) {
    blame_.settle(now, [&](const Blame::Waiting& waits) {
      for (const auto& [tenant, since] : really) waits(tenant, since);
    });
  }

  Blame blame_;
  Holders port_, places_;
  StatTree tree_{2};
};

TEST_F(BlameOfTwo, AWaitIsChargedToWhoeverHeldThePortInEachOfItsCycles) {
  blame_.advance(10);
  port_.only(kHeavy);
  blame_.arrive(kPort, kLight);
  blame_.advance(13);
  port_.only(kLight);
  blame_.advance(17);
  port_.reset(1);
  blame_.advance(20);
  blame_.leave(kPort, kLight, 10, 20);
  settle(25);
  EXPECT_EQ(matrix("port"), (Matrix{{4, 3, 3}, {0, 0, 0}}));
  EXPECT_EQ(waited(), (std::vector<u64>{10, 0}));
  tree_.check_identities();
}

TEST_F(BlameOfTwo, SeveralThatWaitAreChargedEach) {
  port_.only(kHeavy);
  blame_.arrive(kPort, kLight);
  blame_.arrive(kPort, kLight);
  blame_.arrive(kPort, kHeavy);
  blame_.advance(5);
  blame_.leave(kPort, kLight, 0, 5);
  blame_.advance(7);
  blame_.leave(kPort, kLight, 0, 7);
  blame_.leave(kPort, kHeavy, 0, 7);
  EXPECT_EQ(matrix("port"), (Matrix{{0, 12, 0}, {0, 7, 0}}));
  EXPECT_EQ(waited(), (std::vector<u64>{12, 7}));
}

TEST_F(BlameOfTwo, PartsTakeTurnsSoThatWholeCyclesFollowTheShares) {
  places_.take(kLight);
  places_.take(kHeavy);
  places_.take(kHeavy);  // parts: 0 light, 1 and 2 heavy, 3 nobody
  blame_.advance(1);
  blame_.arrive(kPlace, kLight);
  blame_.advance(9);  // two rounds
  EXPECT_EQ(matrix("place"), (Matrix{{2, 4, 2}, {0, 0, 0}}));
  blame_.advance(12);  // the turns of 1, 2 and 3
  EXPECT_EQ(matrix("place"), (Matrix{{2, 6, 3}, {0, 0, 0}}));
  blame_.advance(14);  // the turns of 0 and 1
  EXPECT_EQ(matrix("place"), (Matrix{{3, 7, 3}, {0, 0, 0}}));
}

TEST_F(BlameOfTwo, WhatHasNoPartsIsHeldByNobody) {
  places_.reset(0);
  blame_.arrive(kPlace, kHeavy);
  blame_.advance(6);
  EXPECT_EQ(matrix("place"), (Matrix{{0, 0, 0}, {0, 0, 6}}));
}

TEST_F(BlameOfTwo, ARequestThatWillComeIsChargedFromThenOnWithoutATick) {
  port_.only(kHeavy);
  blame_.arrive_at(kPort, kLight, 8);
  blame_.arrive_at(kPort, kLight, 3);
  blame_.advance(10);
  EXPECT_EQ(matrix("port"), (Matrix{{0, 7 + 2, 0}, {0, 0, 0}}));
  blame_.leave(kPort, kLight, 3, 10);
  blame_.leave(kPort, kLight, 8, 10);
  EXPECT_EQ(waited(), (std::vector<u64>{9, 0}));
}

TEST_F(BlameOfTwo, OneThatMovesToAnotherRoomKeepsItsTime) {
  port_.only(kHeavy);
  places_.reset(2);
  places_.take(kLight);
  places_.take(kLight);
  blame_.arrive(kPort, kLight);
  blame_.advance(4);
  blame_.move(kPort, kPlace, kLight);
  blame_.advance(10);
  blame_.leave(kPlace, kLight, 0, 10);
  EXPECT_EQ(matrix("port"), (Matrix{{0, 4, 0}, {0, 0, 0}}));
  EXPECT_EQ(matrix("place"), (Matrix{{6, 0, 0}, {0, 0, 0}}));
  EXPECT_EQ(waited(), (std::vector<u64>{10, 0}));
}

TEST_F(BlameOfTwo, RowsSumUpWhereverARunIsCutOffAndNothingCountsTwice) {
  port_.only(kHeavy);
  blame_.arrive(kPort, kLight);
  for (const Cycle cut : {Cycle{3}, Cycle{5}}) {
    settle(cut, {{kLight, 0}});
    EXPECT_EQ(waited(), (std::vector<u64>{cut, 0}));
    tree_.check_identities(true);
  }
  blame_.advance(9);
  blame_.leave(kPort, kLight, 0, 9);
  settle(12);
  EXPECT_EQ(waited(), (std::vector<u64>{9, 0}));
  tree_.check_identities();
}

TEST_F(BlameOfTwo, AForgottenDepartureIsNoticed) {
  blame_.arrive(kPort, kLight);
  blame_.arrive(kPort, kLight);
  blame_.advance(4);
  blame_.leave(kPort, kLight, 0, 4);
  EXPECT_THROW(settle(9), ModelError);
  EXPECT_THROW(tree_.check_identities(), ModelError);
}

TEST_F(BlameOfTwo, ADepartureOfTheWrongTenantIsNoticed) {
  blame_.arrive(kPort, kLight);
  blame_.advance(2);
  blame_.arrive(kPort, kHeavy);
  blame_.advance(6);
  blame_.leave(kPort, kHeavy, 0, 6);  // it was the light one
  settle(9, {{kHeavy, 2}});
  EXPECT_THROW(tree_.check_identities(true), ModelError);
}

TEST_F(BlameOfTwo, AWrongTimeIsNoticed) {
  blame_.arrive(kPort, kLight);
  blame_.advance(6);
  blame_.leave(kPort, kLight, 1, 6);
  settle(9);
  EXPECT_THROW(tree_.check_identities(true), ModelError);
}

TEST_F(BlameOfTwo, CellsHaveNamesThatSayWhoWaitsForWhom) {
  port_.only(kHeavy);
  blame_.arrive(kPort, kLight);
  blame_.advance(5);
  const std::string csv = tree_.csv();
  EXPECT_NE(csv.find("\ngpu.mmu.blame.port{tenant=0 holder=1},5,cycles\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\ngpu.mmu.blame.port{tenant=1 holder=nobody},0,cycles\n"), std::string::npos) << csv;
  std::vector<ResultLeaf> leaves;
  flatten_result(tree_.json(), "", leaves);
  u64 found = 0;
  for (const ResultLeaf& leaf : leaves)
    if (leaf.name == "gpu.mmu.blame.port{tenant=0 holder=1}") found = std::get<u64>(leaf.value.value);
  EXPECT_EQ(found, 5u);
}

TEST_F(BlameOfTwo, WarmUpIsLeftOut) {
  port_.only(kHeavy);
  blame_.arrive(kPort, kLight);
  settle(4, {{kLight, 0}});
  tree_.mark_start();
  settle(10, {{kLight, 0}});
  EXPECT_EQ(matrix("port"), (Matrix{{0, 6, 0}, {0, 0, 0}}));
  EXPECT_EQ(waited(), (std::vector<u64>{6, 0}));
}

TEST(Holders, TurnsOfAStretchAreTheSumOfTheTurnsOfItsPieces) {
  Holders holders(3, 7);
  holders.take(TenantId{0});
  for (int i = 0; i < 3; ++i) holders.take(TenantId{2});
  for (Cycle from = 0; from < 9; ++from) {
    for (Cycle to = from; to < from + 23; ++to) {
      std::vector<u64> whole(4), pieces(4);
      holders.turns(from, to, whole);
      for (Cycle at = from; at < to; ++at) holders.turns(at, at + 1, pieces);
      EXPECT_EQ(whole, pieces) << from << " to " << to;
    }
  }
}

TEST(BlameOff, NothingIsCounted) {
  Blame blame;
  blame.arrive(0, kLight);
  blame.arrive_at(0, kLight, 3);
  blame.advance(9);
  blame.leave(0, kLight, 0, 9);
  blame.settle(9, [](const Blame::Waiting& waits) { waits(kLight, 0); });
  EXPECT_FALSE(blame.on());
}

}  // namespace
}  // namespace terrace
