// Who waits for whom, against matrices computed by hand.
// SPDX-License-Identifier: MIT
#include "blame/blame.h"

#include <gtest/gtest.h>

#include <deque>

#include "blame/waiting.h"
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

/// A place whose requests a test lists.
class ListedWaits final : public WaitBook {
 public:
  std::vector<std::pair<TenantId, Cycle>> waiting;

 private:
  void enter_late(Cycle) override {}
  void visit(Cycle, const Waiting& waits) const override {
    for (const auto& [tenant, since] : waiting) waits(tenant, since);
  }
};

/// Two tenants, two resources, and a group that waits for each.
class BlameOfTwo : public ::testing::Test {
 protected:
  enum : Blame::Group { kPort, kPlace };
  BlameOfTwo() {
    blame_.enable(2);
    blame_.count(port_, "port", "waiting for the port", 1);
    blame_.count(places_, "place", "waiting for a place", 4);
    blame_.add_group(port_);
    blame_.add_group(places_);
    blame_.keep(listed_);
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
  void arrive(Blame::Group group, TenantId tenant) { blame_.enter(group, tenant, blame_.now()); }
  void settle(Cycle now, std::vector<std::pair<TenantId, Cycle>> really = {}) {
    listed_.waiting = std::move(really);
    blame_.settle(now);
  }

  Blame blame_;
  Resource port_, places_;
  ListedWaits listed_;
  StatTree tree_{2};
};

TEST_F(BlameOfTwo, AWaitIsChargedToWhoeverHeldThePortInEachOfItsCycles) {
  at(10);
  port_.only(kHeavy);
  arrive(kPort, kLight);
  at(13);
  port_.only(kLight);
  at(17);
  port_.reset(1);
  at(20);
  blame_.leave(kPort, kLight, 10);
  settle(25);
  EXPECT_EQ(matrix("port"), (Matrix{{4, 3, 3}, {0, 0, 0}}));
  EXPECT_EQ(waited(), (std::vector<u64>{10, 0}));
  tree_.check_identities();
}

TEST_F(BlameOfTwo, WhatHoldersDidBeforeSomebodyWaitedIsNotCharged) {
  port_.only(kHeavy);
  at(8);
  arrive(kPort, kLight);
  at(9);
  blame_.leave(kPort, kLight, 8);
  at(30);
  port_.only(kLight);
  at(40);
  arrive(kPort, kHeavy);
  settle(45, {{kHeavy, 40}});
  EXPECT_EQ(matrix("port"), (Matrix{{0, 1, 0}, {5, 0, 0}}));
  tree_.check_identities(true);
}

TEST_F(BlameOfTwo, SeveralThatWaitAreChargedEach) {
  port_.only(kHeavy);
  arrive(kPort, kLight);
  arrive(kPort, kLight);
  arrive(kPort, kHeavy);
  at(5);
  blame_.leave(kPort, kLight, 0);
  at(7);
  blame_.leave(kPort, kLight, 0);
  blame_.leave(kPort, kHeavy, 0);
  settle(7);
  EXPECT_EQ(matrix("port"), (Matrix{{0, 12, 0}, {0, 7, 0}}));
  EXPECT_EQ(waited(), (std::vector<u64>{12, 7}));
}

TEST_F(BlameOfTwo, PartsTakeTurnsSoThatWholeCyclesFollowTheShares) {
  places_.take(kLight);
  places_.take(kHeavy);
  places_.take(kHeavy);  // parts: 0 light, 1 and 2 heavy, 3 nobody
  at(1);
  arrive(kPlace, kLight);
  settle(9, {{kLight, 1}});  // two rounds
  EXPECT_EQ(matrix("place"), (Matrix{{2, 4, 2}, {0, 0, 0}}));
  settle(12, {{kLight, 1}});  // the turns of 1, 2 and 3
  EXPECT_EQ(matrix("place"), (Matrix{{2, 6, 3}, {0, 0, 0}}));
  settle(14, {{kLight, 1}});  // the turns of 0 and 1
  EXPECT_EQ(matrix("place"), (Matrix{{3, 7, 3}, {0, 0, 0}}));
}

TEST_F(BlameOfTwo, WhatHasNoPartsIsHeldByNobody) {
  places_.reset(0);
  arrive(kPlace, kHeavy);
  settle(6, {{kHeavy, 0}});
  EXPECT_EQ(matrix("place"), (Matrix{{0, 0, 0}, {0, 0, 6}}));
}

struct Ready {
  TenantId tenant;
  Cycle at;
};

TEST_F(BlameOfTwo, RequestsInARingWaitFromTheirOwnCycleOnThoughNobodyLooks) {
  WaitingRing<Ready> ring(4);
  ring.keep(blame_, places_);
  for (u32 i = 0; i < 3; ++i) places_.take(kHeavy);  // parts: 0 to 2 heavy, 3 nobody
  ring.push({kLight, 3});
  ring.push({kHeavy, 8});
  ring.push({kLight, 10});
  at(10);
  settle(10);
  EXPECT_EQ(matrix("place"), (Matrix{{0, 5, 2}, {0, 2, 0}})) << "the third can go in this very cycle";
  ring.pop();
  at(11);
  ring.pop();
  settle(11);
  EXPECT_EQ(waited(), (std::vector<u64>{8, 3}));
  ring.pop();
  settle(12);
  EXPECT_EQ(waited(), (std::vector<u64>{8, 3}));
  tree_.check_identities();
}

TEST_F(BlameOfTwo, WhoGoesInTheCycleInWhichItComesHasNotWaited) {
  WaitingRing<Ready> ring(4);
  ring.keep(blame_, port_);
  at(5);
  ring.push({kLight, 5});
  ring.push({kHeavy, 5});
  ring.pop();
  at(7);
  ring.pop();
  ring.push({kLight, 7});
  ring.pop();
  settle(9);
  EXPECT_EQ(waited(), (std::vector<u64>{0, 2}));
  tree_.check_identities();
}

TEST_F(BlameOfTwo, EntriesOfARingAreHeldByWhatIsInIt) {
  WaitingRing<Ready> ring(4);
  blame_.count(ring.entries(), "place", "");
  ring.keep(blame_, port_);
  at(1);
  ring.push({kHeavy, 100});
  blame_.waits_for(kPlace, ring.entries());
  arrive(kPlace, kLight);
  at(5);
  ring.push({kLight, 100});  // of two entries the even cycles are the light one's
  at(9);
  blame_.leave(kPlace, kLight, 1);
  settle(9);
  EXPECT_EQ(matrix("place"), (Matrix{{2, 6, 0}, {0, 0, 0}}));
}

TEST_F(BlameOfTwo, AnOutletIsHeldByWhatLeftLast) {
  OutletRing<Ready> ring(4);
  ring.keep(blame_, "port", "");
  at(2);
  ring.push({kHeavy, 2});
  ring.push({kLight, 2});
  ring.push({kLight, 2});
  ring.pop();
  at(3);
  ring.pop();
  at(4);
  ring.pop();
  settle(4);
  EXPECT_EQ(matrix("port"), (Matrix{{1, 2, 0}, {0, 0, 0}}));
}

/// Stands at both ends of a link.
struct Nobody final : Unit {
  Cycle tick(Cycle) override { return kNever; }
  void explain(std::ostream&) const override {}
};

struct Sent {
  TenantId tenant;
  bool posted = false;
  bool is_posted() const { return posted; }
};

TEST_F(BlameOfTwo, WhatHasArrivedOnALinkWaitsUnlessItIsPosted) {
  Scheduler scheduler;
  Nobody nobody;
  const UnitId id = scheduler.add(nobody, "nobody");
  Link<Sent> first(scheduler, {.latency = 2, .capacity = 4}), second(scheduler, {.latency = 2, .capacity = 4});
  first.connect(id, id);
  second.connect(id, id);
  WaitingLinks<Sent> links({&first, &second});
  links.keep(blame_, port_);
  port_.only(kHeavy);
  first.push(0, {kLight});
  first.push(1, {kLight, true});
  first.push(2, {kLight});
  second.push(0, {kHeavy});
  const auto look = [&](Cycle now) {
    at(now);
    EXPECT_NE(links.front(0, now), nullptr);
  };
  look(2);
  links.pop(1, 2);  // at once
  look(3);
  look(4);
  look(6);
  links.pop(0, 6);
  links.pop(0, 6);
  look(7);
  links.pop(0, 7);
  settle(8);
  EXPECT_EQ(matrix("port"), (Matrix{{0, 4 + 3, 0}, {0, 0, 0}}));
  tree_.check_identities();
}

TEST(WaitingLinks, OnlyThoseWithMessagesAreVisitedAroundTheCircleUntilOneSuffices) {
  Scheduler scheduler;
  Nobody nobody;
  const UnitId id = scheduler.add(nobody, "nobody");
  std::deque<Link<Sent>> made;
  WaitingLinks<Sent> links;
  for (u32 i = 0; i < 130; ++i) {
    made.emplace_back(scheduler, LinkShape{.latency = 5, .capacity = 2});
    made.back().connect(id, id);
    links.add(made.back());
  }
  for (const u32 i : {3u, 64u, 70u, 129u}) made[i].push(0, {kLight});
  const auto visited = [&](u32 from, u32 enough) {
    std::vector<u32> all;
    links.visit_filled(from, [&](u32 link) {
      all.push_back(link);
      return link == enough;
    });
    return all;
  };
  EXPECT_EQ(visited(0, 200), (std::vector<u32>{3, 64, 70, 129}));
  EXPECT_EQ(visited(70, 200), (std::vector<u32>{70, 129, 3, 64}));
  EXPECT_EQ(visited(65, 3), (std::vector<u32>{70, 129, 3}));
  links.pop(64, 5);
  EXPECT_EQ(visited(4, 200), (std::vector<u32>{70, 129, 3}));
}

/// Two inputs; tenants have resources of their own, and may both be on one input.
TEST_F(BlameOfTwo, EachInputOfAFunnelWaitsForItsOwn) {
  Scheduler scheduler;
  Nobody nobody;
  const UnitId id = scheduler.add(nobody, "nobody");
  Funnel<Sent> funnel(scheduler, 2, 1, 4);
  for (const u32 input : {0u, 1u}) funnel.connect_producer(input, id);
  funnel.connect_consumer(id);
  WaitingFunnel<Sent> waiting(funnel);
  Resource own[2];
  for (Resource& each : own) blame_.count(each, "place", "", 1);
  Resource* const by_tenant[] = {&own[0], &own[1]};
  Resource* const port[] = {&port_};
  waiting.keep_inputs(blame_, by_tenant);
  own[0].only(kHeavy);
  own[1].only(kLight);
  port_.only(kLight);
  funnel.push(0, 0, {kLight});
  funnel.push(0, 0, {kHeavy});
  funnel.push(1, 0, {kLight});
  at(1);
  waiting.absorb(1);
  at(4);
  waiting.absorb(4);
  waiting.input_waits_for(0, port);
  at(6);
  waiting.absorb(6);
  waiting.pop(0, 6);
  waiting.pop(1, 6);
  waiting.input_waits_for(0, by_tenant);
  settle(7);
  EXPECT_EQ(matrix("place"), (Matrix{{0, 3 + 5, 0}, {4, 0, 0}}));
  EXPECT_EQ(matrix("port"), (Matrix{{2, 0, 0}, {2, 0, 0}}));
  EXPECT_EQ(waited(), (std::vector<u64>{10, 6}));
  tree_.check_identities(true);
}

TEST_F(BlameOfTwo, AGroupThatWaitsForSomethingElseIsChargedForBoth) {
  Resource other;
  blame_.count(other, "place", "", 1);
  port_.only(kHeavy);
  other.only(kLight);
  arrive(kPort, kLight);
  at(4);
  blame_.waits_for(kPort, other);
  at(9);
  blame_.waits_for(kPort, port_);
  at(11);
  blame_.leave(kPort, kLight, 0);
  settle(11);
  EXPECT_EQ(matrix("port"), (Matrix{{0, 6, 0}, {0, 0, 0}}));
  EXPECT_EQ(matrix("place"), (Matrix{{5, 0, 0}, {0, 0, 0}}));
}

TEST_F(BlameOfTwo, RowsSumUpWhereverARunIsCutOffAndNothingCountsTwice) {
  port_.only(kHeavy);
  arrive(kPort, kLight);
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
  arrive(kPort, kLight);
  arrive(kPort, kLight);
  at(4);
  blame_.leave(kPort, kLight, 0);
  EXPECT_THROW(settle(9), ModelError);
  EXPECT_THROW(tree_.check_identities(), ModelError);
}

TEST_F(BlameOfTwo, ADepartureOfTheWrongTenantIsNoticed) {
  arrive(kPort, kLight);
  at(2);
  arrive(kPort, kHeavy);
  at(6);
  blame_.leave(kPort, kHeavy, 0);  // it was the light one
  settle(9, {{kHeavy, 2}});
  EXPECT_THROW(tree_.check_identities(true), ModelError);
}

TEST_F(BlameOfTwo, AWrongTimeIsNoticed) {
  arrive(kPort, kLight);
  at(6);
  blame_.leave(kPort, kLight, 1);
  settle(9);
  EXPECT_THROW(tree_.check_identities(true), ModelError);
}

TEST_F(BlameOfTwo, CellsHaveNamesThatSayWhoWaitsForWhom) {
  port_.only(kHeavy);
  arrive(kPort, kLight);
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
  port_.only(kHeavy);
  arrive(kPort, kLight);
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

/// One group, whose requests come and go at random while parts change hands (of an even number of tenants: come and go
/// themselves), against a matrix that is charged cycle by cycle.
class BlameOfMany : public ::testing::TestWithParam<u32> {};

TEST_P(BlameOfMany, EveryCycleIsChargedToThePartWhoseTurnItIs) {
  const u32 tenants = GetParam();
  const bool grows = tenants % 2 == 0;
  u32 parts = grows ? 0 : 5 + tenants / 2;
  Rng rng(tenants, "many");
  Blame blame;
  blame.enable(tenants);
  Resource places;
  blame.count(places, "places", "waiting for a place", parts);
  blame.add_group(places);
  std::vector<u32> held(tenants + 1, 0);
  held[tenants] = parts;
  ListedWaits listed;
  blame.keep(listed);
  auto& waiting = listed.waiting;
  Matrix expected(tenants, std::vector<u64>(tenants + 1, 0));
  for (Cycle now = 0; now < 600; ++now) {
    if (rng.below(3) != 0) {  // otherwise nothing happens, as in a cycle in which the unit sleeps
      blame.advance(now);
      const u32 tenant = static_cast<u32>(rng.below(tenants));
      const bool more = rng.below(2) != 0;
      if (grows && more) {
        places.add(TenantId(tenant));
        ++held[tenant], ++parts;
      } else if (grows && held[tenant] > 0) {
        places.remove(TenantId(tenant));
        --held[tenant], --parts;
      } else if (!grows && more && held[tenants] > 0) {
        places.take(TenantId(tenant));
        ++held[tenant], --held[tenants];
      } else if (!grows && held[tenant] > 0) {
        places.give_back(TenantId(tenant));
        --held[tenant], ++held[tenants];
      }
      if (rng.below(2) != 0) {
        blame.enter(0, TenantId(tenant), now);
        waiting.emplace_back(TenantId(tenant), now);
      } else if (!waiting.empty() && waiting.front().second != now) {
        blame.leave(0, waiting.front().first, waiting.front().second);
        waiting.erase(waiting.begin());
      }
    }
    u64 part = parts == 0 ? 0 : now % parts;
    u32 holder = parts == 0 ? tenants : 0;
    for (; parts > 0 && part >= held[holder]; ++holder) part -= held[holder];
    for (const auto& [tenant, since] : waiting) ++expected[index(tenant)][holder];
  }
  blame.settle(600);
  StatTree tree(tenants);
  tree.add("gpu.mmu.blame", blame);
  tree.check_identities(true);
  const Tree json = tree.json();
  EXPECT_EQ(matrix_in(json, "places"), expected);
}

INSTANTIATE_TEST_SUITE_P(Tenants, BlameOfMany, ::testing::Values(1u, 2u, 3u, 4u, 5u, 8u, 15u, 16u),
                         ::testing::PrintToStringParamName());

TEST(BlameOff, NothingIsCounted) {
  Blame blame;
  StatTree tree(2);
  tree.add("gpu.mmu.blame", blame);
  OutletRing<Ready> ring(2);
  ring.push({kLight, 0});
  ring.push({kHeavy, 0});
  blame.advance(9);
  ring.pop();
  blame.settle(9);
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
