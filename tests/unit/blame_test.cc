// Who waits for whom, against matrices computed by hand.
// SPDX-License-Identifier: MIT
#include "stats/blame.h"

#include <gtest/gtest.h>

#include "engine/check.h"
#include "engine/rng.h"
#include "stats/result_leaves.h"
#include "stats/stat_tree.h"

namespace terrace {
namespace {

constexpr TenantId kLight{0}, kHeavy{1};
using Matrix = std::vector<std::vector<u64>>;

Matrix matrix_in(const Tree& json, const std::string& name) {
  Matrix rows;
  for (const Tree& row : json.find("gpu")->find("mmu")->find("blame")->find(name)->find("matrix")->items()) {
    rows.emplace_back();
    for (const Tree& cell : row.items()) rows.back().push_back(std::get<u64>(cell.value));
  }
  return rows;
}

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
  Matrix matrix(const std::string& name) const { return matrix_in(tree_.json(), name); }
  std::vector<u64> waited() const {
    std::vector<u64> all;
    const Tree json = tree_.json();
    for (const Tree& each : json.find("gpu")->find("mmu")->find("blame")->find("waited")->find("tenants")->items())
      all.push_back(std::get<u64>(each.value));
    return all;
  }

  void at(Cycle now) { blame_.advance(now); }
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
  at(10);
  port_.only(kHeavy, 10);
  blame_.arrive(kPort, kLight);
  at(13);
  port_.only(kLight, 13);
  at(17);
  port_.reset(1, 17);
  at(20);
  blame_.leave(kPort, kLight, 10);
  settle(25);
  EXPECT_EQ(matrix("port"), (Matrix{{4, 3, 3}, {0, 0, 0}}));
  EXPECT_EQ(waited(), (std::vector<u64>{10, 0}));
  tree_.check_identities();
}

TEST_F(BlameOfTwo, WhatHoldersDidBeforeSomebodyWaitedIsNotCharged) {
  port_.only(kHeavy, 0);
  at(8);
  blame_.arrive(kPort, kLight);
  at(9);
  blame_.leave(kPort, kLight, 8);
  port_.only(kLight, 30);
  at(40);
  blame_.arrive(kPort, kHeavy);
  settle(45, {{kHeavy, 40}});
  EXPECT_EQ(matrix("port"), (Matrix{{0, 1, 0}, {5, 0, 0}}));
  tree_.check_identities(true);
}

TEST_F(BlameOfTwo, SeveralThatWaitAreChargedEach) {
  port_.only(kHeavy, 0);
  blame_.arrive(kPort, kLight);
  blame_.arrive(kPort, kLight);
  blame_.arrive(kPort, kHeavy);
  at(5);
  blame_.leave(kPort, kLight, 0);
  at(7);
  blame_.leave(kPort, kLight, 0);
  blame_.leave(kPort, kHeavy, 0);
  settle(7);
  EXPECT_EQ(matrix("port"), (Matrix{{0, 12, 0}, {0, 7, 0}}));
  EXPECT_EQ(waited(), (std::vector<u64>{12, 7}));
}

TEST_F(BlameOfTwo, WhoGoesInTheCycleInWhichItComesHasNotWaited) {
  at(5);
  blame_.leave(kPort, kLight, 5);
  settle(9);
  EXPECT_EQ(waited(), (std::vector<u64>{0, 0}));
  tree_.check_identities();
}

TEST_F(BlameOfTwo, PartsTakeTurnsSoThatWholeCyclesFollowTheShares) {
  places_.take(kLight, 0);
  places_.take(kHeavy, 0);
  places_.take(kHeavy, 0);  // parts: 0 light, 1 and 2 heavy, 3 nobody
  at(1);
  blame_.arrive(kPlace, kLight);
  settle(9, {{kLight, 1}});  // two rounds
  EXPECT_EQ(matrix("place"), (Matrix{{2, 4, 2}, {0, 0, 0}}));
  settle(12, {{kLight, 1}});  // the turns of 1, 2 and 3
  EXPECT_EQ(matrix("place"), (Matrix{{2, 6, 3}, {0, 0, 0}}));
  settle(14, {{kLight, 1}});  // the turns of 0 and 1
  EXPECT_EQ(matrix("place"), (Matrix{{3, 7, 3}, {0, 0, 0}}));
}

TEST_F(BlameOfTwo, WhatHasNoPartsIsHeldByNobody) {
  places_.reset(0, 0);
  blame_.arrive(kPlace, kHeavy);
  settle(6, {{kHeavy, 0}});
  EXPECT_EQ(matrix("place"), (Matrix{{0, 0, 0}, {0, 0, 6}}));
}

struct Ready {
  TenantId tenant;
  Cycle at;
};

TEST_F(BlameOfTwo, RequestsInAQueueWaitFromTheirOwnCycleOnThoughNobodyLooks) {
  const auto tenant_of = [](const Ready& ready) { return ready.tenant; };
  Blame::Queue queue{kPlace};
  const std::vector<Ready> ring{{kLight, 3}, {kHeavy, 8}, {kLight, 10}};
  places_.take(kHeavy, 0);
  places_.take(kHeavy, 0);
  places_.take(kHeavy, 0);  // parts: 0 to 2 heavy, 3 nobody
  at(10);
  blame_.begin_waits(queue, ring, tenant_of);
  EXPECT_EQ(queue.waiting, 2u) << "the third can go in this very cycle";
  settle(10, {{kLight, 3}, {kHeavy, 8}});
  EXPECT_EQ(matrix("place"), (Matrix{{0, 5, 2}, {0, 2, 0}}));
  blame_.leave(queue, kLight, 3);
  EXPECT_EQ(queue.waiting, 1u);
  at(11);
  blame_.leave(queue, kHeavy, 8);
  blame_.leave(queue, kLight, 11);
  EXPECT_EQ(queue.waiting, 0u) << "who goes at once has not waited";
  settle(11);
  EXPECT_EQ(waited(), (std::vector<u64>{7, 3}));
}

TEST_F(BlameOfTwo, ThoseThatMoveToAnotherRoomKeepTheirTime) {
  port_.only(kHeavy, 0);
  places_.reset(2, 0);
  places_.take(kLight, 0);
  places_.take(kLight, 0);
  blame_.arrive(kPort, kLight);
  blame_.arrive(kPort, kLight);
  at(4);
  blame_.move(kPort, kPlace, kLight, 2);
  at(10);
  blame_.leave(kPlace, kLight, 0);
  blame_.leave(kPlace, kLight, 0);
  settle(10);
  EXPECT_EQ(matrix("port"), (Matrix{{0, 8, 0}, {0, 0, 0}}));
  EXPECT_EQ(matrix("place"), (Matrix{{12, 0, 0}, {0, 0, 0}}));
  EXPECT_EQ(waited(), (std::vector<u64>{20, 0}));
}

TEST_F(BlameOfTwo, ARoomThatWaitsForSomethingElseIsChargedForBoth) {
  Holders other = blame_.holders(1);
  port_.only(kHeavy, 0);
  other.only(kLight, 0);
  blame_.arrive(kPort, kLight);
  at(4);
  blame_.waits_for(kPort, kPlace, other);
  at(9);
  blame_.waits_for(kPort, kPort, port_);
  at(11);
  blame_.leave(kPort, kLight, 0);
  settle(11);
  EXPECT_EQ(matrix("port"), (Matrix{{0, 6, 0}, {0, 0, 0}}));
  EXPECT_EQ(matrix("place"), (Matrix{{5, 0, 0}, {0, 0, 0}}));
}

TEST_F(BlameOfTwo, RowsSumUpWhereverARunIsCutOffAndNothingCountsTwice) {
  port_.only(kHeavy, 0);
  blame_.arrive(kPort, kLight);
  for (const Cycle cut : {Cycle{3}, Cycle{5}}) {
    settle(cut, {{kLight, 0}});
    EXPECT_EQ(waited(), (std::vector<u64>{cut, 0}));
    tree_.check_identities(true);
  }
  at(9);
  blame_.leave(kPort, kLight, 0);
  settle(12);
  EXPECT_EQ(waited(), (std::vector<u64>{9, 0}));
  tree_.check_identities();
}

TEST_F(BlameOfTwo, AForgottenDepartureIsNoticed) {
  blame_.arrive(kPort, kLight);
  blame_.arrive(kPort, kLight);
  at(4);
  blame_.leave(kPort, kLight, 0);
  EXPECT_THROW(settle(9), ModelError);
  EXPECT_THROW(tree_.check_identities(), ModelError);
}

TEST_F(BlameOfTwo, ADepartureOfTheWrongTenantIsNoticed) {
  blame_.arrive(kPort, kLight);
  at(2);
  blame_.arrive(kPort, kHeavy);
  at(6);
  blame_.leave(kPort, kHeavy, 0);  // it was the light one
  settle(9, {{kHeavy, 2}});
  EXPECT_THROW(tree_.check_identities(true), ModelError);
}

TEST_F(BlameOfTwo, AWrongTimeIsNoticed) {
  blame_.arrive(kPort, kLight);
  at(6);
  blame_.leave(kPort, kLight, 1);
  settle(9);
  EXPECT_THROW(tree_.check_identities(true), ModelError);
}

TEST_F(BlameOfTwo, CellsHaveNamesThatSayWhoWaitsForWhom) {
  port_.only(kHeavy, 0);
  blame_.arrive(kPort, kLight);
  settle(5, {{kLight, 0}});
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
  port_.only(kHeavy, 0);
  blame_.arrive(kPort, kLight);
  settle(4, {{kLight, 0}});
  tree_.mark_start();
  settle(10, {{kLight, 0}});
  EXPECT_EQ(matrix("port"), (Matrix{{0, 6, 0}, {0, 0, 0}}));
  EXPECT_EQ(waited(), (std::vector<u64>{6, 0}));
}

/// In each cycle the part whose turn it is, one after the other.
std::vector<u64> turns_one_by_one(const std::vector<u32>& holder_of_part, Cycle from, Cycle to) {
  std::vector<u64> cycles(4);
  for (Cycle cycle = from; cycle < to; ++cycle) ++cycles[holder_of_part[cycle % holder_of_part.size()]];
  return cycles;
}

TEST(Holders, TurnsOfAStretchAreThoseOfItsCycles) {
  // Seven parts, then eight: the latter is a power of two. The last cycles do not fit into 32 bits.
  for (const std::vector<u32>& parts :
       {std::vector<u32>{0, 2, 2, 2, 3, 3, 3}, std::vector<u32>{0, 2, 2, 2, 3, 3, 3, 3}}) {
    for (const Cycle start : {Cycle{0}, (Cycle{1} << 32) - 4}) {
      for (Cycle from = start; from < start + 9; ++from) {
        for (Cycle to = from; to < from + 23; ++to) {
          Holders holders(3, static_cast<u32>(parts.size()));
          for (const u32 holder : parts)
            if (holder < 3) holders.take(TenantId(holder), 0);
          holders.watch(1, from);
          holders.count(to);
          EXPECT_EQ(std::vector<u64>(holders.cycles(), holders.cycles() + 4), turns_one_by_one(parts, from, to))
              << from << " to " << to;
        }
      }
    }
  }
}

/// One room, whose requests come and go at random while parts change hands (of an even number of tenants: come and go
/// themselves), against a matrix that is charged cycle by cycle.
class BlameOfMany : public ::testing::TestWithParam<u32> {};

TEST_P(BlameOfMany, EveryCycleIsChargedToThePartWhoseTurnItIs) {
  const u32 tenants = GetParam();
  const bool grows = tenants % 2 == 0;
  u32 parts = grows ? 0 : 5 + tenants / 2;
  Rng rng(tenants, "many");
  Blame blame;
  blame.enable(tenants, {{"places", "waiting for a place"}}, 1);
  Holders places = blame.holders(parts);
  blame.waits_for(0, 0, places);
  std::vector<u32> held(tenants + 1, 0);
  held[tenants] = parts;
  std::vector<std::pair<TenantId, Cycle>> waiting;
  Matrix expected(tenants, std::vector<u64>(tenants + 1, 0));
  for (Cycle now = 0; now < 600; ++now) {
    if (rng.below(3) != 0) {  // otherwise nothing happens, as in a cycle in which the unit sleeps
      blame.advance(now);
      const u32 tenant = static_cast<u32>(rng.below(tenants));
      const bool more = rng.below(2) != 0;
      if (grows && more) {
        places.add(TenantId(tenant), now);
        ++held[tenant], ++parts;
      } else if (grows && held[tenant] > 0) {
        places.remove(TenantId(tenant), now);
        --held[tenant], --parts;
      } else if (!grows && more && held[tenants] > 0) {
        places.take(TenantId(tenant), now);
        ++held[tenant], --held[tenants];
      } else if (!grows && held[tenant] > 0) {
        places.give_back(TenantId(tenant), now);
        --held[tenant], ++held[tenants];
      }
      if (rng.below(2) != 0) {
        blame.arrive(0, TenantId(tenant));
        waiting.emplace_back(TenantId(tenant), now);
      } else if (!waiting.empty() && waiting.front().second != now) {
        blame.leave(Blame::Room{0}, waiting.front().first, waiting.front().second);
        waiting.erase(waiting.begin());
      }
    }
    u64 part = parts == 0 ? 0 : now % parts;
    u32 holder = parts == 0 ? tenants : 0;
    for (; parts > 0 && part >= held[holder]; ++holder) part -= held[holder];
    for (const auto& [tenant, since] : waiting) ++expected[index(tenant)][holder];
  }
  blame.settle(600, [&](const Blame::Waiting& waits) {
    for (const auto& [tenant, since] : waiting) waits(tenant, since);
  });
  StatTree tree(tenants);
  tree.add("gpu.mmu.blame", blame);
  tree.check_identities(true);
  const Tree json = tree.json();
  EXPECT_EQ(matrix_in(json, "places"), expected);
}

INSTANTIATE_TEST_SUITE_P(Tenants, BlameOfMany, ::testing::Values(1u, 2u, 3u, 4u, 5u, 8u, 15u, 16u));

TEST(BlameOff, NothingIsCounted) {
  Blame blame;
  StatTree tree(2);
  tree.add("gpu.mmu.blame", blame);
  blame.arrive(0, kLight);
  blame.advance(9);
  blame.leave(0, kLight, 0);
  blame.settle(9, [](const Blame::Waiting& waits) { waits(kLight, 0); });
  std::vector<ResultLeaf> leaves;
  flatten_result(tree.json(), "", leaves);
  ASSERT_FALSE(leaves.empty());
  for (const ResultLeaf& leaf : leaves) {
    const u64* count = std::get_if<u64>(&leaf.value.value);
    EXPECT_TRUE(count == nullptr || *count == 0) << leaf.name;
  }
}

}  // namespace
}  // namespace terrace
