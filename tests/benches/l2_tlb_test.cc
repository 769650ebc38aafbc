// The L2 TLB alone: SMs that ask for pages at stated cycles on one side, MMUs of a fixed latency on the other.
// SPDX-License-Identifier: MIT
#include "translation/l2_tlb.h"

#include <gtest/gtest.h>

#include <memory>

#include "benches/scripted.h"
#include "engine/rng.h"
#include "stats/stat_tree.h"
#include "support/part_state.h"
#include "translation/address_space.h"

namespace terrace {
namespace {

constexpr Cycle kLink = 1, kTransit = 1, kHit = 10, kMmu = 50;

L2TlbConfig tlb(u32 entries, u32 ports = 1) {
  L2TlbConfig config;
  config.entries = entries;
  config.ways = 0;
  config.ports = ports;
  config.hit_cycles = kHit;
  return config;
}
u64 key(u32 tenant, u64 page) {
  return page_key(TenantId(static_cast<u8>(tenant)), 12, page);
}
PhysAddr frame_of(u64 page) {
  return {(page + 1000) << 12};
}

struct Ask {
  u64 page = 0;
  u32 sm = 0;
  u32 tenant = 0;
  u32 inst = 0;
  u8 warp = 0;
  u32 tag = 0;
};

class TlbBench {
 public:
  struct Options {
    u32 sms = 3;
    u32 tenants = 2;
    u32 tlbs = 1;
    u32 mmus = 1;
    u32 inputs = 1;  // to each MMU
    u32 input_places = 8;
    bool merged_warps = false;
  };
  explicit TlbBench(const L2TlbConfig& config) : TlbBench(config, Options{}) {}
  TlbBench(const L2TlbConfig& config, const Options& options)
      : options_(options),
        requests(scheduler, options.sms, kLink, 16),
        merged(scheduler, options.sms, kLink, 16),
        answers(options.sms),
        walked(options.mmus),
        delays_(options.mmus) {
    L2Tlb::Wiring wiring{.requests = requests,
                         .replies_per_port = 32,
                         .tlbs = options.tlbs,
                         .tenants = options.tenants,
                         .sms = options.sms,
                         .warps = 64,
                         .merged_warps = options.merged_warps ? &merged : nullptr,
                         .locate = [this](u64 of) {
                           return page_of_key(of) == unmapped ? AddressSpaces::kUnmapped : frame_of(page_of_key(of));
                         }};
    for (u32 i = 0; i < options.sms; ++i) {
      replies.push_back(std::make_unique<Link<Translation>>(scheduler, LinkShape{.latency = kLink}));
      wiring.replies.push_back(replies[i].get());
    }
    for (u32 i = 0; i < options.mmus; ++i) {
      to_mmu.push_back(
          std::make_unique<Funnel<TranslationRequest>>(scheduler, options.inputs, kTransit, options.input_places));
      from_mmu.push_back(std::make_unique<Link<Translation>>(scheduler, LinkShape{.latency = kTransit}));
      wiring.mmus.push_back({to_mmu[i].get(), from_mmu[i].get(), options.inputs});
    }
    unit = std::make_unique<L2Tlb>(config, std::move(wiring));
    const UnitId id = scheduler.add(*unit, "tlb");
    requests.connect_consumer(id);
    merged.connect_consumer(id);
    for (u32 i = 0; i < options.sms; ++i) add_sm(i, id);
    for (u32 i = 0; i < options.mmus; ++i) add_mmu(i, id);
  }

  void ask(Cycle at, const Ask& what) {
    ++asked_;
    sms_[what.sm]->at(at, [this, what](Cycle now) {
      if (!requests.can_push(what.sm, now)) return false;
      requests.push(what.sm, now,
                    {.key = key(what.tenant, what.page),
                     .page = what.page,
                     .inst = what.inst,
                     .tag = what.tag,
                     .port = static_cast<u16>(what.sm),
                     .sm = SmId(static_cast<u16>(what.sm)),
                     .warp = what.warp,
                     .tenant = TenantId(static_cast<u8>(what.tenant))});
      return true;
    });
  }
  /// Word of another warp that waits for a page which its SM has asked for.
  void merge(Cycle at, u32 sm, u64 page, u8 warp) {
    sms_[sm]->at(at, [=, this](Cycle now) {
      merged.push(sm, now, {key(0, page), SmId(static_cast<u16>(sm)), warp});
      return true;
    });
  }
  void run() {
    scheduler.run(1'000'000);
    unit->settle(scheduler.now());
    statistics().check_identities();
    std::size_t answered = 0;
    for (const auto& inbox : answers) answered += inbox.seen.size();
    EXPECT_EQ(answered, asked_) << scheduler.explain();
  }
  StatTree statistics() {
    StatTree tree(options_.tenants);
    tree.add("tlb", unit->stats);
    tree.add("bypass", unit->bypass_stats);
    tree.add("banks", unit->bank_stats);
    tree.add("fill", unit->fill_policy());
    if (unit->blame.on()) tree.add("blame", unit->blame);
    return tree;
  }
  void archive(Archive& a) {
    StatTree tree = statistics();
    a(scheduler, requests, merged, replies, from_mmu, to_mmu, *unit, tree, answers, walked, delays_);
    for (const auto& sm : sms_) a(*sm);
    for (const auto& mmu : mmus_) a(*mmu);
  }
  /// Pages that an MMU was asked for, in order.
  std::vector<u64> walks(u32 mmu = 0) const {
    std::vector<u64> pages;
    for (const auto& arrival : walked[mmu].seen) pages.push_back(arrival.what.page);
    return pages;
  }
  /// When an SM's nth answer came.
  Cycle answered(u32 sm, u32 n) const {
    EXPECT_LT(n, answers[sm].seen.size());
    return n < answers[sm].seen.size() ? answers[sm].seen[n].at : 0;
  }
  static constexpr Cycle kHitTrip = 2 * kLink + kHit;
  static constexpr Cycle kMissTrip = 2 * kLink + kHit + 2 * kTransit + kMmu;

  Options options_;
  Scheduler scheduler;
  Funnel<TranslationRequest> requests;
  Funnel<MergedWarp> merged;
  std::vector<std::unique_ptr<Link<Translation>>> replies, from_mmu;
  std::vector<std::unique_ptr<Funnel<TranslationRequest>>> to_mmu;
  std::unique_ptr<L2Tlb> unit;
  u64 unmapped = ~u64{0};                         // a page without a frame
  std::vector<Inbox<Translation>> answers;        // by SM
  std::vector<Inbox<TranslationRequest>> walked;  // by MMU
  u32 stuck_input = ~u32{0};                      // of MMU 0: nothing is taken from it before `stuck_until`
  Cycle stuck_until = 0;

 private:
  void add_sm(u32 sm, UnitId tlb_id) {
    sms_.push_back(std::make_unique<Scripted>(scheduler, "sm"));
    requests.connect_producer(sm, sms_[sm]->id());
    merged.connect_producer(sm, sms_[sm]->id());
    replies[sm]->connect(tlb_id, sms_[sm]->id());
    sms_[sm]->always([this, sm](Cycle now) { return answers[sm].take(*replies[sm], now); });
  }
  void add_mmu(u32 mmu, UnitId tlb_id) {
    mmus_.push_back(std::make_unique<Scripted>(scheduler, "mmu"));
    for (u32 input = 0; input < options_.inputs; ++input) to_mmu[mmu]->connect_producer(input, tlb_id);
    to_mmu[mmu]->connect_consumer(mmus_[mmu]->id());
    from_mmu[mmu]->connect(mmus_[mmu]->id(), tlb_id);
    mmus_[mmu]->always([this, mmu](Cycle now) {
      Funnel<TranslationRequest>& in = *to_mmu[mmu];
      in.absorb(now);
      const bool stuck = now < stuck_until;
      std::vector<u64> without(1, stuck && stuck_input < 64 ? u64{1} << stuck_input : 0);
      for (u32 input = in.next_ready(0, without); input != Funnel<TranslationRequest>::kNoInput;
           input = in.next_ready(0, without)) {
        const TranslationRequest request = in.pop(input, now);
        walked[mmu].seen.push_back({now, request});
        delays_[mmu].push(now + kMmu, {request.key, frame_of(request.page), {.sequence = 1, .accesses = 4}});
      }
      return std::min(stuck ? stuck_until : kNever, delays_[mmu].send(*from_mmu[mmu], now));
    });
  }

  std::size_t asked_ = 0;
  std::vector<std::unique_ptr<Scripted>> sms_, mmus_;
  std::vector<Delay<Translation>> delays_;
};

using Pages = std::vector<u64>;

TEST(L2TlbBench, AMissReachesTheMmuAfterItsLookUpAndItsAnswerIsPassedOnAtOnce) {
  TlbBench bench(tlb(4));
  bench.ask(5, {.page = 1});
  bench.run();
  ASSERT_EQ(bench.walks(), Pages{1});
  EXPECT_EQ(bench.walked[0].seen[0].at, 5 + kLink + kHit + kTransit);
  EXPECT_EQ(bench.answered(0, 0), 5 + TlbBench::kMissTrip);
  EXPECT_EQ(bench.answers[0].seen[0].what.frame, frame_of(1));
}

TEST(L2TlbBench, AHitIsAnsweredItsLatencyAfterItsLookUp) {
  TlbBench bench(tlb(4));
  bench.ask(0, {.page = 1, .sm = 0});
  bench.ask(200, {.page = 1, .sm = 1});
  bench.run();
  EXPECT_EQ(bench.walks(), Pages{1});
  EXPECT_EQ(bench.answered(1, 0), 200 + TlbBench::kHitTrip);
  EXPECT_EQ(bench.answers[1].seen[0].what.frame, frame_of(1));
}

TEST(L2TlbBench, SmsThatMissOnePageShareAWalkWhichIsTheFirstOnes) {
  TlbBench bench(tlb(4));
  bench.ask(0, {.page = 1, .sm = 1});
  bench.ask(10, {.page = 1, .sm = 0});
  bench.run();
  EXPECT_EQ(bench.walks(), Pages{1});
  EXPECT_EQ(bench.answered(0, 0), bench.answered(1, 0)) << "links of their own";
  EXPECT_EQ(bench.answers[1].seen[0].what.walk.accesses, 4u);
  EXPECT_EQ(bench.answers[0].seen[0].what.walk.accesses, 0u);
}

TEST(L2TlbBench, TenantsDoNotShareAPageOfTheSameNumber) {
  TlbBench bench(tlb(4));
  bench.ask(0, {.page = 1, .sm = 0, .tenant = 0});
  bench.ask(200, {.page = 1, .sm = 1, .tenant = 1});
  bench.run();
  EXPECT_EQ(bench.walks(), (Pages{1, 1}));
}

TEST(L2TlbBench, AHitRenewsTheRecencyOfItsPage) {
  TlbBench bench(tlb(2));
  bench.ask(0, {.page = 1});
  bench.ask(100, {.page = 2});
  bench.ask(200, {.page = 1});
  bench.ask(300, {.page = 3});  // takes the place of page 2
  bench.ask(400, {.page = 1});
  bench.ask(500, {.page = 2});
  bench.run();
  EXPECT_EQ(bench.walks(), (Pages{1, 2, 3, 2}));
}

TEST(L2TlbBench, AWalkBringsTheAlignedNeighboursThatAreMapped) {
  L2TlbConfig config = tlb(8);
  config.walk_pages = 4;
  TlbBench bench(config);
  bench.unmapped = 7;
  bench.ask(0, {.page = 5});
  bench.ask(200, {.page = 4, .sm = 1});
  bench.ask(200, {.page = 6, .sm = 2});
  bench.ask(400, {.page = 7});
  bench.ask(400, {.page = 8, .sm = 1});  // of the next four
  bench.ask(600, {.page = 5, .tenant = 1});
  bench.run();
  EXPECT_EQ(bench.walks(), (Pages{5, 7, 8, 5}));
  EXPECT_EQ(bench.answered(1, 0), 200 + TlbBench::kHitTrip);
  EXPECT_EQ(bench.answers[1].seen[0].what.frame, frame_of(4));
  EXPECT_EQ(bench.unit->stats.neighbours[TenantId(0)].value, 2u + 3u) << "4 and 6, then 9 to 11";
  EXPECT_EQ(bench.unit->stats.neighbours[TenantId(1)].value, 2u) << "4 and 6; 7 has no frame";
}

TEST(L2TlbBench, NeighboursDoNotPushOutThePageThatWasAskedFor) {
  L2TlbConfig config = tlb(2);
  config.walk_pages = 8;
  TlbBench bench(config);
  bench.ask(0, {.page = 3});
  bench.ask(200, {.page = 3});
  bench.run();
  EXPECT_EQ(bench.walks(), Pages{3});
}

TEST(L2TlbBench, WithoutEntriesItMergesAndNothingElse) {
  TlbBench bench(tlb(0));
  bench.ask(0, {.page = 1, .sm = 0});
  bench.ask(1, {.page = 1, .sm = 1});
  bench.ask(200, {.page = 1, .sm = 0});
  bench.run();
  EXPECT_EQ(bench.walks(), (Pages{1, 1}));
}

/// Pages 1 to 3 are known from cycle 300 on.
void warm(TlbBench& bench) {
  for (u64 page = 1; page <= 3; ++page) bench.ask(page, {.page = page, .sm = 2});
}
/// Which SM was answered in which cycle, after the warm-up.
std::vector<u32> order_after(const TlbBench& bench, Cycle from, u32 sms) {
  std::vector<std::pair<Cycle, u32>> all;
  for (u32 sm = 0; sm < sms; ++sm) {
    for (const auto& arrival : bench.answers[sm].seen)
      if (arrival.at >= from) all.emplace_back(arrival.at, sm);
  }
  std::sort(all.begin(), all.end());
  std::vector<u32> sms_in_order;
  for (const auto& [at, sm] : all) sms_in_order.push_back(sm);
  return sms_in_order;
}

TEST(L2TlbBench, SmsTakeTurnsWithOnePort) {
  TlbBench bench(tlb(4));
  warm(bench);
  for (u32 k = 0; k < 3; ++k) {
    for (u32 sm = 0; sm < 2; ++sm) bench.ask(300, {.page = 1, .sm = sm});
  }
  bench.run();
  EXPECT_EQ(order_after(bench, 300, 3), (std::vector<u32>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(bench.answered(1, 2), 300 + TlbBench::kHitTrip + 5) << "one look-up per cycle";
}

TEST(L2TlbBench, TheTurnGoesOnBehindTheSmThatWasServedLast) {
  TlbBench bench(tlb(4));
  warm(bench);
  bench.ask(250, {.page = 1, .sm = 0});
  for (u32 sm = 0; sm < 3; ++sm) bench.ask(300, {.page = 1, .sm = sm});
  bench.run();
  EXPECT_EQ(order_after(bench, 300, 3), (std::vector<u32>{1, 2, 0}));
}

TEST(L2TlbBench, WithTurnsByInstructionTheSmGoesOnWithTheSameInstruction) {
  L2TlbConfig config = tlb(4);
  config.turn = L2TlbConfig::Turn::kInstruction;
  TlbBench bench(config);
  warm(bench);
  for (u32 k = 0; k < 4; ++k) {
    for (u32 sm = 0; sm < 2; ++sm) bench.ask(300, {.page = 1, .sm = sm, .inst = 7 + k / 2});
  }
  bench.run();
  EXPECT_EQ(order_after(bench, 300, 3), (std::vector<u32>{0, 0, 1, 1, 0, 0, 1, 1}));
}

TEST(L2TlbBench, ItLooksUpAsManyPerCycleAsItHasPorts) {
  TlbBench bench(tlb(4, 2));
  warm(bench);
  for (u32 sm = 0; sm < 3; ++sm) bench.ask(300, {.page = 1, .sm = sm});
  bench.run();
  std::vector<Cycle> at;
  for (u32 sm = 0; sm < 3; ++sm) at.push_back(bench.answers[sm].seen.back().at);
  std::sort(at.begin(), at.end());
  EXPECT_EQ(at, (std::vector<Cycle>{300 + TlbBench::kHitTrip, 300 + TlbBench::kHitTrip, 301 + TlbBench::kHitTrip}));
}

/// When each of three SMs, which ask for these pages in cycle 300, has its answer, beyond the shortest trip. The pages are in
/// the TLB.
std::vector<Cycle> delays_of(const L2TlbConfig& config, const std::vector<u64>& pages, u64* conflicts = nullptr) {
  TlbBench bench(config);
  for (const u64 page : {1u, 2u, 3u, 5u}) bench.ask(20 * page, {.page = page, .sm = 0});
  for (u32 sm = 0; sm < 3; ++sm) bench.ask(300, {.page = pages[sm], .sm = sm});
  bench.run();
  if (conflicts != nullptr) *conflicts = bench.unit->bank_stats.conflicts[TenantId{0}].value;
  std::vector<Cycle> delays;
  for (u32 sm = 0; sm < 3; ++sm) delays.push_back(bench.answers[sm].seen.back().at - 300 - TlbBench::kHitTrip);
  std::sort(delays.begin(), delays.end());
  return delays;
}

TEST(L2TlbBench, WithoutALimitItLooksUpWhateverComes) {
  EXPECT_EQ(delays_of(tlb(4, 0), {1, 1, 2}), (std::vector<Cycle>{0, 0, 0}));
  EXPECT_EQ(delays_of(tlb(4, 1), {1, 1, 2}), (std::vector<Cycle>{0, 1, 2}));
}

TEST(L2TlbBench, EachBankTakesOneLookUpPerCycleAndConflictsAreCounted) {
  L2TlbConfig config = tlb(4, 0);
  config.banks = 2;
  u64 conflicts = 0;
  EXPECT_EQ(delays_of(config, {1, 2, 3}, &conflicts), (std::vector<Cycle>{0, 0, 1})) << "1 and 3 are in one bank";
  EXPECT_EQ(conflicts, 1u);
  EXPECT_EQ(delays_of(config, {1, 3, 5}, &conflicts), (std::vector<Cycle>{0, 1, 2}));
  EXPECT_EQ(conflicts, 3u) << "two in the first cycle, one in the next";
  config.banks = 4;
  EXPECT_EQ(delays_of(config, {1, 2, 3}, &conflicts), (std::vector<Cycle>{0, 0, 0}));
  EXPECT_EQ(conflicts, 0u);
  config.banks = 2;
  config.ports = 1;
  EXPECT_EQ(delays_of(config, {1, 2, 3}, &conflicts), (std::vector<Cycle>{0, 1, 2})) << "ports still limit";
  EXPECT_EQ(conflicts, 0u) << "who has no port has no conflict";
}

/// One miss may be under way.
L2TlbConfig one_miss() {
  L2TlbConfig config = tlb(4);
  config.miss_entries = 1;
  return config;
}

TEST(L2TlbBench, AMissWithoutAPlaceWaitsForTheAnswerThatFreesOne) {
  TlbBench bench(one_miss());
  bench.ask(0, {.page = 1, .sm = 0});
  bench.ask(1, {.page = 2, .sm = 1});
  bench.run();
  const Cycle freed = TlbBench::kMissTrip - kLink;
  ASSERT_EQ(bench.walks(), (Pages{1, 2}));
  EXPECT_EQ(bench.walked[0].seen[1].at, freed + kHit + kTransit);
}

TEST(L2TlbBench, HitsAndMergesPassAMissThatFindsNoPlace) {
  TlbBench bench(one_miss());
  bench.ask(0, {.page = 1, .sm = 0});
  bench.ask(100, {.page = 2, .sm = 0});
  bench.ask(101, {.page = 3, .sm = 1});  // finds no place
  bench.ask(102, {.page = 1, .sm = 2});  // hits
  bench.ask(104, {.page = 2, .sm = 2});  // joins
  bench.run();
  EXPECT_EQ(bench.answered(2, 0), 102 + TlbBench::kHitTrip);
  EXPECT_EQ(bench.answered(2, 1), bench.answered(0, 1));
  EXPECT_EQ(bench.walks(), (Pages{1, 2, 3}));
}

TEST(L2TlbBench, AMissThatWaitsForAPlaceJoinsWhoeverAsksForItsPageFirst) {
  TlbBench bench(one_miss());
  bench.ask(0, {.page = 1, .sm = 0});
  bench.ask(1, {.page = 2, .sm = 1});
  bench.ask(2, {.page = 2, .sm = 2});
  bench.run();
  EXPECT_EQ(bench.walks(), (Pages{1, 2}));
  EXPECT_EQ(bench.answered(1, 0), bench.answered(2, 0));
}

TEST(L2TlbBench, BehindAMissThatFindsNoPlaceItsOwnSmWaits) {
  TlbBench bench(one_miss());
  bench.ask(0, {.page = 1, .sm = 0});
  bench.ask(100, {.page = 2, .sm = 0});
  bench.ask(101, {.page = 3, .sm = 1});
  bench.ask(102, {.page = 1, .sm = 1});  // known, but behind page 3
  bench.run();
  ASSERT_EQ(bench.answers[1].seen.size(), 2u);
  const Cycle freed = 100 + TlbBench::kMissTrip - kLink;
  EXPECT_EQ(page_of_key(bench.answers[1].seen[0].what.key), 1u);
  EXPECT_EQ(bench.answered(1, 0), freed + 1 + kHit + kLink);
}

TEST(L2TlbBench, RequestsOfOneSmForOnePageWaitTogetherInOnePlace) {
  TlbBench bench(one_miss());
  for (u32 k = 0; k < 4; ++k) bench.ask(0, {.page = 2, .sm = 1});
  bench.ask(10, {.page = 5, .sm = 2});
  bench.run();
  const Cycle freed = TlbBench::kMissTrip - kLink;
  ASSERT_EQ(bench.walks(), (Pages{2, 5}));
  EXPECT_EQ(bench.walked[0].seen[1].at, freed + kHit + kTransit) << "it takes the only place";
  for (u32 k = 0; k < 4; ++k) EXPECT_EQ(bench.answered(1, k), TlbBench::kMissTrip + k) << "each has its own answer";
}

TEST(L2TlbBench, AnAnswerCarriesTheTagOfItsRequestWhetherItMissedJoinedOrHit) {
  TlbBench bench(one_miss());
  bench.ask(0, {.page = 2, .sm = 1, .tag = 7});
  bench.ask(1, {.page = 2, .sm = 1, .tag = 9});
  bench.ask(200, {.page = 2, .sm = 1, .tag = 8});
  bench.run();
  ASSERT_EQ(bench.answers[1].seen.size(), 3u);
  EXPECT_EQ(bench.answers[1].seen[0].what.tag, 7u);
  EXPECT_EQ(bench.answers[1].seen[1].what.tag, 9u);
  EXPECT_EQ(bench.answers[1].seen[2].what.tag, 8u);
}

TEST(L2TlbBench, TlbsOfTenantsDoNotPushEachOtherOut) {
  for (const u32 tlbs : {1u, 2u}) {
    TlbBench bench(tlb(1), {.tlbs = tlbs});
    bench.ask(0, {.page = 1, .tenant = 0});
    bench.ask(100, {.page = 2, .tenant = 1});
    bench.ask(200, {.page = 1, .tenant = 0});
    bench.run();
    EXPECT_EQ(bench.walks(), tlbs == 1 ? (Pages{1, 2, 1}) : (Pages{1, 2}));
  }
}

TEST(L2TlbBench, EachTenantsTlbHasItsOwnPorts) {
  TlbBench bench(tlb(4), {.tlbs = 2});
  bench.ask(0, {.page = 1, .sm = 0, .tenant = 0});
  bench.ask(100, {.page = 1, .sm = 0, .tenant = 1});
  bench.ask(200, {.page = 1, .sm = 0, .tenant = 0});
  bench.ask(200, {.page = 1, .sm = 1, .tenant = 0});
  bench.ask(200, {.page = 1, .sm = 2, .tenant = 1});
  bench.run();
  // The turn begins at SM 1; SM 0 asks the same TLB, SM 2 the other one.
  EXPECT_EQ(bench.answered(1, 0), 200 + TlbBench::kHitTrip);
  EXPECT_EQ(bench.answered(2, 0), 200 + TlbBench::kHitTrip);
  EXPECT_EQ(bench.answered(0, 2), 201 + TlbBench::kHitTrip);
}

TEST(L2TlbBench, WithAnInputForEachTenantOneThatIsStuckDoesNotHoldUpTheOther) {
  for (const u32 inputs : {1u, 2u}) {
    TlbBench bench(tlb(4), {.inputs = inputs, .input_places = 1});
    bench.stuck_input = 0;
    bench.stuck_until = 500;
    bench.ask(0, {.page = 1, .sm = 0, .tenant = 0});
    bench.ask(0, {.page = 2, .sm = 0, .tenant = 0});
    bench.ask(5, {.page = 3, .sm = 1, .tenant = 1});
    bench.run();
    EXPECT_EQ(bench.answered(1, 0),
              inputs == 1 ? 500 + 2 * (kTransit + 1) + kMmu + kTransit + kLink : 5 + TlbBench::kMissTrip);
  }
}

TEST(L2TlbBench, ATenantsMissesGoToItsOwnMmu) {
  TlbBench bench(tlb(4), {.mmus = 2});
  bench.ask(0, {.page = 1, .tenant = 0});
  bench.ask(1, {.page = 2, .tenant = 1});
  bench.run();
  EXPECT_EQ(bench.walks(0), Pages{1});
  EXPECT_EQ(bench.walks(1), Pages{2});
}

TEST(L2TlbBench, AnSmThatTakesNoAnswersHoldsUpNobodyElse) {
  TlbBench bench(tlb(4));
  warm(bench);
  bench.answers[0].open = 1000;
  for (u32 k = 0; k < 6; ++k) bench.ask(300 + k, {.page = 1, .sm = 0});
  bench.ask(310, {.page = 1, .sm = 1});
  bench.run();
  EXPECT_EQ(bench.answered(0, 0), 1000u);
  EXPECT_EQ(bench.answered(1, 0), 310 + TlbBench::kHitTrip);
}

TEST(L2TlbBench, AFlushForgetsAllOrATenantOrAPage) {
  enum { kAll, kTenant, kPage };
  for (const int what : {kAll, kTenant, kPage}) {
    TlbBench bench(tlb(4));
    bench.ask(0, {.page = 1, .tenant = 0});
    bench.ask(1, {.page = 2, .tenant = 0});
    bench.ask(2, {.page = 3, .tenant = 1});
    bench.scheduler.run(200);
    if (what == kAll) bench.unit->flush();
    if (what == kTenant) bench.unit->flush_tenant(TenantId{0});
    if (what == kPage) bench.unit->flush_page(key(0, 1));
    bench.ask(300, {.page = 1, .tenant = 0});
    bench.ask(301, {.page = 2, .tenant = 0});
    bench.ask(302, {.page = 3, .tenant = 1});
    bench.run();
    const Pages all = bench.walks(), again(all.begin() + 3, all.end());
    EXPECT_EQ(again, what == kAll ? (Pages{1, 2, 3}) : what == kTenant ? (Pages{1, 2}) : Pages{1});
  }
}

/// The policy of memory_policy_contract_test.cc: pages of odd number go nowhere; those for which an even warp waits go
/// into the TLB, others into a bypass cache of four entries.
L2TlbConfig picky(u32 entries) {
  L2TlbConfig config = tlb(entries);
  config.fill.use = "picky";
  return config;
}

TEST(L2TlbBench, AFillGoesWhereItsPolicySays) {
  TlbBench bench(picky(1));
  bench.ask(0, {.page = 1, .warp = 0});    // nowhere
  bench.ask(100, {.page = 2, .warp = 0});  // the TLB
  bench.ask(200, {.page = 4, .warp = 1});  // the bypass cache
  for (const u64 page : {1, 2, 4}) bench.ask(300, {.page = page, .warp = 0});
  bench.run();
  EXPECT_EQ(bench.walks(), (Pages{1, 2, 4, 1}));
  EXPECT_EQ(bench.unit->bypass_stats.fills[TenantId{0}].value, 1u);
  EXPECT_EQ(bench.unit->bypass_stats.hits[TenantId{0}].value, 1u);
}

TEST(L2TlbBench, TheBypassCacheHoldsAnyPagesAndForgetsTheOneUsedLeastRecently) {
  TlbBench bench(picky(1));
  // Four entries, for pages that would share a set if there were sets; the first is used again before a fifth comes.
  for (u32 i = 0; i < 4; ++i) bench.ask(100 * i, {.page = 64 * (i + 1), .warp = 1});
  bench.ask(400, {.page = 64, .warp = 1});
  bench.ask(500, {.page = 64 * 5, .warp = 1});
  for (const u64 page : {64, 192, 256, 320, 128}) bench.ask(600 + page, {.page = page, .warp = 1});
  bench.run();
  EXPECT_EQ(bench.walks(), (Pages{64, 128, 192, 256, 320, 128})) << "only the second was pushed out";
}

TEST(L2TlbBench, AFlushReachesTheBypassCache) {
  TlbBench bench(picky(1));
  bench.ask(0, {.page = 4, .warp = 1});
  bench.scheduler.run(200);
  bench.unit->flush();
  bench.ask(300, {.page = 4, .warp = 1});
  bench.run();
  EXPECT_EQ(bench.walks(), (Pages{4, 4}));
}

TEST(L2TlbBench, TheFillPolicyHearsOfEveryWarpThatWaits) {
  // Warp 1 asks; warp 2 of another SM joins here, or warp 2 of the same SM, of which word comes.
  for (const bool word : {false, true}) {
    TlbBench bench(picky(1), {.merged_warps = true});
    bench.ask(0, {.page = 2, .sm = 0, .warp = 1});
    if (word) {
      bench.merge(10, 0, 2, 2);
    } else {
      bench.ask(10, {.page = 2, .sm = 1, .warp = 2});
    }
    bench.run();
    EXPECT_EQ(bench.unit->bypass_stats.fills[TenantId{0}].value, 0u) << "it went into the TLB";
  }
}

TEST(L2TlbBench, WordOfAWarpThatComesTooLateIsForgotten) {
  TlbBench bench(picky(1), {.merged_warps = true});
  bench.ask(0, {.page = 2, .sm = 0, .warp = 1});
  bench.merge(150, 0, 2, 2);  // its page has come
  bench.scheduler.run(200);
  bench.unit->flush();
  bench.ask(300, {.page = 2, .sm = 0, .warp = 1});
  bench.run();
  EXPECT_EQ(bench.unit->bypass_stats.fills[TenantId{0}].value, 2u);
}

TEST(L2TlbCheckpoint, SavedBeforeAnyCycleItGoesOnAsIfNothingHadBeen) {
  L2TlbConfig one = tlb(8);
  one.ways = 2;
  one.miss_entries = 3;
  one.banks = 2;
  one.ports = 2;
  one.turn = L2TlbConfig::Turn::kInstruction;
  one.fill.use = "tokens";
  L2TlbConfig each = tlb(4, 1);
  each.miss_entries = 6;
  const std::pair<L2TlbConfig, TlbBench::Options> all[] = {
      {one, {.inputs = 2, .input_places = 1, .merged_warps = true}}, {each, {.tlbs = 2, .mmus = 2, .input_places = 1}}};
  for (const auto& [config, options] : all) {
    // Epochs end on the way: tokens are handed out, and follow the miss rates.
    const auto run_to = [&, tenants = options.tenants](TlbBench& bench, Cycle until) {
      std::vector<TenantEpoch> epochs(tenants);
      for (TenantEpoch& epoch : epochs) {
        epoch.warps = 8;
        epoch.sms = 0b111;
      }
      for (const Cycle end : {20u, 90u, 160u, 230u}) {
        if (bench.scheduler.now() > end || end >= until) continue;
        bench.scheduler.run(end);
        bench.unit->epoch(epochs);
      }
      bench.scheduler.run(until);
    };
    const auto begin = [&] {
      auto bench = std::make_unique<TlbBench>(config, options);
      bench->unit->enable_blame(options.tenants);
      if (options.inputs > 1) bench->stuck_input = 1;
      bench->stuck_until = 200;
      bench->answers[2].open = 120;  // answers wait for a while
      Rng rng(2, "asks");
      Cycle at = 0;
      for (u32 i = 0; i < 90; ++i, at += rng.below(6)) {
        const Ask what{.page = rng.below(14),
                       .sm = static_cast<u32>(rng.below(3)),
                       .tenant = static_cast<u32>(rng.below(2)),
                       .inst = i / 3,
                       .warp = static_cast<u8>(rng.below(8)),
                       .tag = i};
        bench->ask(at, what);
        if (options.merged_warps && what.tenant == 0 && rng.below(2) == 0)
          bench->merge(at + 1, what.sm, what.page, static_cast<u8>(rng.below(8)));
      }
      return bench;
    };
    const auto whole = [&](TlbBench& bench) {
      run_to(bench, 1'000);
      bench.run();
      return std::tuple(bench.statistics().csv(), state_of(bench.answers), state_of(bench.walked));
    };
    const auto undisturbed = begin();
    const auto expected = whole(*undisturbed);
    const Cycle last = undisturbed->scheduler.now();
    ASSERT_GT(last, 250u);
    for (Cycle at = 1; at < last; at += 2) {
      const auto first = begin(), second = begin();
      run_to(*first, at);
      copy_state(*first, *second);
      ASSERT_EQ(whole(*second), expected) << "saved before cycle " << at;
    }
  }
}

}  // namespace
}  // namespace terrace
