// An SM's translator alone: lines that ask where they lie, and an L2 TLB whose answers the test sends. It is no unit,
// so that the test says in which cycle each call is made.
// SPDX-License-Identifier: MIT
#include "sm/translator.h"

#include <gtest/gtest.h>

#include "benches/scripted.h"
#include "frontend/guest_memory.h"
#include "stats/stat_tree.h"

namespace terrace {
namespace {

using Outcome = Translator::Outcome;
constexpr u32 kLineShift = 7, kLinesPerPage = 32;
constexpr u64 kFirstPage = GuestMemory::kBase >> 12;
constexpr TenantId kOne{0}, kTwo{1};

L1TlbConfig small_tlb(u32 entries = 2) {
  L1TlbConfig config;
  config.entries = entries;
  config.miss_entries = 2;
  config.miss_merges = 2;
  return config;
}
PagesConfig pages(FrameOrder order) {
  PagesConfig config;
  config.frames = order;
  return config;
}

class TranslatorBench {
 public:
  struct Options {
    TranslateAt at = TranslateAt::kBeforeL1;
    FrameOrder frames = FrameOrder::kRandom;
    u32 input_places = 4;
    bool merged_warps = false;
  };
  explicit TranslatorBench(const L1TlbConfig& config) : TranslatorBench(config, Options{}) {}
  TranslatorBench(const L1TlbConfig& config, const Options& options)
      : spaces(pages(options.frames), 1 << kLineShift, 1, 2),
        sm_(scheduler, "sm"),
        tlb_(scheduler, "tlb"),
        requests(scheduler, 1, 1, options.input_places),
        merged(scheduler, 1, 1, 1),
        answers(scheduler, {.capacity = 16}),
        unit(config, kLineShift, SmId{0},
             {options.at, spaces, {&requests, &answers, options.merged_warps ? &merged : nullptr}}) {
    GuestMemory guest(PageSize::k4K);
    guest.allocate("buffer", 1 << 20);
    const auto changes = guest.take_page_changes();
    for (const TenantId tenant : {kOne, kTwo}) spaces.cover(tenant, changes);
    requests.connect_producer(0, sm_.id());
    requests.connect_consumer(tlb_.id());
    merged.connect_producer(0, sm_.id());
    merged.connect_consumer(tlb_.id());
    answers.connect(tlb_.id(), sm_.id());
    scheduler.run(1);  // links may wake their ends from now on
  }
  LineAccess line(u64 page, u64 line_of_page = 0, TenantId tenant = kOne, u8 warp = 0) const {
    LineAccess access;
    access.line = (kFirstPage + page) * kLinesPerPage + line_of_page;
    access.tenant = tenant;
    access.warp = warp;
    return access;
  }
  /// One line of the instruction at the head.
  Outcome ask(const LineAccess& access) { return unit.translate(access, pa, now); }
  /// A whole instruction of one line.
  Outcome instruction(const LineAccess& access) {
    const Outcome outcome = ask(access);
    if (outcome != Outcome::kRefused) unit.begin_instruction();
    return outcome;
  }
  /// The next question of the SM, or the key 0.
  TranslationRequest question() {
    requests.absorb(now);
    return requests.next_ready(0) == 0 ? requests.pop(0, now) : TranslationRequest{};
  }
  /// The L2 TLB answers; the SM takes it a cycle later.
  void answer(u64 page, TenantId tenant = kOne, const WalkReport& walk = {}, u32 tag = 0) {
    const u64 number = kFirstPage + page;
    answers.push(now, {page_key(tenant, 12, number), spaces.locate(tenant, {number << 12}), walk, tag});
    ++now;
    unit.accept(now, [&](u32 record, const WalkReport& report, Cycle latency) {
      walks.push_back({record, report.accesses, latency});
    });
  }
  /// A page that the TLB knows from now on.
  void learn(u64 page, TenantId tenant = kOne) {
    ASSERT_EQ(instruction(line(page, 0, tenant)), Outcome::kSetAside);
    ++now;
    question();
    answer(page, tenant);
    while (unit.any_ready()) unit.pop_ready();
    ++now;
  }
  /// Whether the TLB knows a page; asks the L2 TLB if not, whose answer then comes.
  bool knows(u64 page, TenantId tenant = kOne) {
    if (instruction(line(page, 0, tenant)) == Outcome::kKnown) return true;
    ++now;
    question();
    answer(page, tenant);
    while (unit.any_ready()) unit.pop_ready();
    return false;
  }
  PhysAddr where(const LineAccess& access) const { return spaces.locate(access.tenant, {access.line << kLineShift}); }
  void expect_identities() {
    StatTree tree(2);
    tree.add("tlb", unit.stats);
    tree.check_identities();
  }

  struct Walked {
    u32 record, accesses;
    Cycle latency;
    friend bool operator==(const Walked&, const Walked&) = default;
  };
  Scheduler scheduler;
  AddressSpaces spaces;
  Scripted sm_, tlb_;
  Funnel<TranslationRequest> requests;
  Funnel<MergedWarp> merged;
  Link<Translation> answers;
  Translator unit;
  PhysAddr pa;
  Cycle now = 10;
  std::vector<Walked> walks;
};

TEST(TranslatorBench, AMissAsksTheL2TlbAndItsLineIsReadyWhenTheAnswerIsThere) {
  TranslatorBench bench(small_tlb());
  const LineAccess access = bench.line(3, 5);
  EXPECT_EQ(bench.instruction(access), Outcome::kSetAside);
  EXPECT_EQ(bench.question().key, 0u) << "a cycle early";
  ++bench.now;
  const TranslationRequest request = bench.question();
  EXPECT_EQ(request.key, page_key(kOne, 12, kFirstPage + 3));
  EXPECT_FALSE(bench.unit.any_ready());
  bench.answer(3);
  ASSERT_TRUE(bench.unit.any_ready());
  EXPECT_EQ(bench.unit.ready_address(), bench.where(access));
  bench.unit.pop_ready();
  EXPECT_TRUE(bench.unit.idle());
  bench.expect_identities();
}

TEST(TranslatorBench, AHitIsKnownAtOnceAndRenewsItsPage) {
  TranslatorBench bench(small_tlb());
  bench.learn(1);
  bench.learn(2);
  const LineAccess access = bench.line(1, 7);
  EXPECT_EQ(bench.instruction(access), Outcome::kKnown);
  EXPECT_EQ(bench.pa, bench.where(access));
  bench.learn(3);  // takes the place of page 2
  EXPECT_TRUE(bench.knows(1));
  EXPECT_FALSE(bench.knows(2));
  bench.expect_identities();
}

TEST(TranslatorBench, AnInstructionAsksOnceForEachPage) {
  TranslatorBench bench(small_tlb());
  for (u64 i = 0; i < 4; ++i) EXPECT_EQ(bench.ask(bench.line(1, i)), Outcome::kSetAside);
  bench.unit.begin_instruction();
  EXPECT_EQ(bench.unit.stats.lookups[kOne].value, 1u);
  ++bench.now;
  bench.question();
  bench.answer(1);
  for (u64 i = 0; i < 4; ++i) {
    ASSERT_TRUE(bench.unit.any_ready());
    EXPECT_EQ(bench.unit.ready_address(), bench.where(bench.line(1, i))) << "in order";
    bench.unit.pop_ready();
  }
}

TEST(TranslatorBench, AnInstructionThatReturnsToAPageDoesNotAskAgain) {
  TranslatorBench bench(small_tlb());
  bench.ask(bench.line(1));
  bench.ask(bench.line(2));
  bench.ask(bench.line(1, 1));
  EXPECT_EQ(bench.unit.stats.lookups[kOne].value, 2u);
}

TEST(TranslatorBench, LinesStillAtTheHeadNeedNotWaitForAPageThatHasCome) {
  TranslatorBench bench(small_tlb());
  bench.ask(bench.line(1, 0));
  ++bench.now;
  bench.question();
  bench.answer(1);
  EXPECT_EQ(bench.ask(bench.line(1, 1)), Outcome::kKnown);
  EXPECT_EQ(bench.unit.stats.lookups[kOne].value, 1u);
}

TEST(TranslatorBench, InstructionsThatWaitForOnePageShareAQuestion) {
  TranslatorBench bench(small_tlb());
  bench.instruction(bench.line(1, 0));
  bench.instruction(bench.line(1, 1));
  EXPECT_EQ(bench.unit.stats.merges[kOne].value, 1u);
  ++bench.now;
  EXPECT_NE(bench.question().key, 0u);
  EXPECT_EQ(bench.question().key, 0u);
  bench.answer(1);
  EXPECT_EQ(bench.unit.ready_address(), bench.where(bench.line(1, 0)));
  bench.unit.pop_ready();
  EXPECT_EQ(bench.unit.ready_address(), bench.where(bench.line(1, 1)));
}

TEST(TranslatorBench, LinesAreReadyInTheOrderInWhichTheirPagesCame) {
  TranslatorBench bench(small_tlb());
  bench.instruction(bench.line(1, 0));
  bench.ask(bench.line(2, 0));
  bench.ask(bench.line(2, 1));
  bench.unit.begin_instruction();
  ++bench.now;
  bench.question();
  bench.question();
  bench.answer(2);
  bench.answer(1);
  for (const LineAccess& next : {bench.line(2, 0), bench.line(2, 1), bench.line(1, 0)}) {
    ASSERT_TRUE(bench.unit.any_ready());
    EXPECT_EQ(bench.unit.ready_address(), bench.where(next));
    bench.unit.pop_ready();
  }
}

TEST(TranslatorBench, NoMoreInstructionsWaitForAPageThanMayMerge) {
  TranslatorBench bench(small_tlb());
  bench.instruction(bench.line(1));
  bench.instruction(bench.line(1));
  EXPECT_EQ(bench.instruction(bench.line(1)), Outcome::kRefused);
  ++bench.now;
  bench.question();
  bench.answer(1);
  EXPECT_EQ(bench.instruction(bench.line(1)), Outcome::kKnown);
}

TEST(TranslatorBench, NoMorePagesAreAwaitedThanThereArePlaces) {
  TranslatorBench bench(small_tlb(4));
  bench.learn(9);
  bench.instruction(bench.line(1));
  bench.instruction(bench.line(2));
  EXPECT_EQ(bench.instruction(bench.line(3)), Outcome::kRefused);
  ++bench.now;
  bench.question();
  bench.answer(1);
  EXPECT_EQ(bench.instruction(bench.line(3)), Outcome::kSetAside);
}

TEST(TranslatorBench, AFullInputRefusesAndChangesNothing) {
  TranslatorBench bench(small_tlb(), {.input_places = 1});
  bench.instruction(bench.line(1));
  EXPECT_EQ(bench.instruction(bench.line(2)), Outcome::kRefused);
  EXPECT_EQ(bench.unit.stats.lookups[kOne].value, 1u);
  ++bench.now;
  bench.question();
  ++bench.now;
  EXPECT_EQ(bench.instruction(bench.line(2)), Outcome::kSetAside);
}

TEST(TranslatorBench, WhatAFullInputRefusedIsRefusedUntilItHasAPlace) {
  TranslatorBench bench(small_tlb(), {.input_places = 1});
  bench.instruction(bench.line(1));
  EXPECT_FALSE(bench.unit.still_refuses(bench.now));
  bench.instruction(bench.line(2));
  EXPECT_TRUE(bench.unit.still_refuses(bench.now));
  ++bench.now;
  bench.question();
  EXPECT_TRUE(bench.unit.still_refuses(bench.now)) << "a place is free from the next cycle on";
  ++bench.now;
  EXPECT_FALSE(bench.unit.still_refuses(bench.now));
}

TEST(TranslatorBench, AnAnswerEndsARefusalAlthoughTheInputIsStillFull) {
  L1TlbConfig config = small_tlb();
  config.miss_entries = 3;
  TranslatorBench bench(config, {.input_places = 1});
  bench.instruction(bench.line(1));
  ++bench.now;
  bench.question();
  ++bench.now;
  bench.instruction(bench.line(2));
  bench.instruction(bench.line(3));
  EXPECT_TRUE(bench.unit.still_refuses(bench.now));
  bench.answer(1);
  EXPECT_FALSE(bench.unit.still_refuses(bench.now)) << "the line of page 1 is ready, and goes first";
}

TEST(TranslatorBench, ABlockingTlbLooksUpNothingWhileItAwaitsAPage) {
  L1TlbConfig config = small_tlb();
  config.blocking = true;
  TranslatorBench bench(config);
  bench.learn(1);
  bench.instruction(bench.line(2));
  EXPECT_EQ(bench.instruction(bench.line(1)), Outcome::kRefused) << "although it is known";
  ++bench.now;
  bench.question();
  bench.answer(2);
  EXPECT_EQ(bench.instruction(bench.line(1)), Outcome::kKnown);
}

TEST(TranslatorBench, AdmittedAsAWholeAnInstructionNeedsPlacesForAllItsUnknownPages) {
  L1TlbConfig config = small_tlb(4);
  config.admit = L1TlbConfig::Admit::kInstruction;
  TranslatorBench bench(config);
  bench.learn(9);
  bench.instruction(bench.line(1));
  CoalescedLines lines{};
  const auto wants = [&](std::vector<u64> its_pages) {
    lines.count = 0;
    for (const u64 page : its_pages) lines.line[lines.count++] = (kFirstPage + page) * kLinesPerPage;
    return bench.unit.admits(lines, kOne);
  };
  EXPECT_TRUE(wants({2, 9}));
  EXPECT_FALSE(wants({2, 3}));
  ++bench.now;
  bench.question();
  bench.answer(1);
  EXPECT_TRUE(wants({2, 3}));
}

TEST(TranslatorBench, TenantsDoNotShareAPageOfTheSameNumber) {
  TranslatorBench bench(small_tlb());
  bench.learn(1, kOne);
  EXPECT_EQ(bench.instruction(bench.line(1, 0, kTwo)), Outcome::kSetAside);
}

TEST(TranslatorBench, AFlushForgetsAllOrATenantOrAPage) {
  enum { kAll, kTenant, kPage };
  for (const int what : {kAll, kTenant, kPage}) {
    TranslatorBench bench(small_tlb(8));
    bench.learn(1, kOne);
    bench.learn(2, kOne);
    bench.learn(3, kTwo);
    if (what == kAll) bench.unit.flush();
    if (what == kTenant) bench.unit.flush_tenant(kOne);
    if (what == kPage) bench.unit.flush_page(page_key(kOne, 12, kFirstPage + 1));
    EXPECT_FALSE(bench.knows(1, kOne));
    EXPECT_EQ(bench.knows(2, kOne), what == kPage);
    EXPECT_EQ(bench.knows(3, kTwo), what != kAll);
  }
}

TEST(TranslatorBench, APageThatIsTouchedForTheFirstTimeGetsItsFrameWhenTheCycleEnds) {
  TranslatorBench bench(small_tlb(), {.frames = FrameOrder::kFirstTouch});
  EXPECT_EQ(bench.instruction(bench.line(1)), Outcome::kRefused);
  EXPECT_TRUE(bench.unit.touched_new_pages());
  EXPECT_EQ(bench.where(bench.line(1)), AddressSpaces::kUnmapped);
  bench.unit.commit_new_pages();
  ++bench.now;
  EXPECT_FALSE(bench.unit.touched_new_pages());
  EXPECT_EQ(bench.instruction(bench.line(1)), Outcome::kSetAside);
}

TEST(TranslatorBench, WhereTranslationIsElsewhereEveryPageIsKnown) {
  for (const TranslateAt at : {TranslateAt::kNowhere, TranslateAt::kAfterL2}) {
    TranslatorBench bench(small_tlb(), {.at = at});
    const LineAccess access = bench.line(3, 2);
    EXPECT_EQ(bench.instruction(access), Outcome::kKnown);
    EXPECT_EQ(bench.pa, bench.where(access));
    EXPECT_EQ(bench.unit.stats.lookups[kOne].value, 0u);
  }
}

TEST(TranslatorBench, TheWalkIsToldToTheInstructionThatAskedAndToNoOther) {
  TranslatorBench bench(small_tlb());
  LineAccess first = bench.line(1), second = bench.line(1);
  first.record = 7;
  second.record = 8;
  bench.instruction(first);
  const Cycle asked = bench.now;
  bench.now += 5;
  bench.question();
  bench.instruction(second);
  bench.answer(1, kOne, {.sequence = 1, .finished = asked + 40, .accesses = 4});
  EXPECT_EQ(bench.walks, (std::vector<TranslatorBench::Walked>{{7, 4, 40}}));
}

TEST(TranslatorBench, TheL2TlbHearsOfWarpsThatJoinIfItWantsTo) {
  for (const bool wanted : {false, true}) {
    TranslatorBench bench(small_tlb(), {.merged_warps = wanted});
    bench.instruction(bench.line(1, 0, kOne, 3));
    bench.instruction(bench.line(1, 0, kOne, 4));
    ++bench.now;
    bench.merged.absorb(bench.now);
    ASSERT_EQ(bench.merged.next_ready(0) == 0, wanted);
    if (wanted) {
      EXPECT_EQ(bench.merged.pop(0, bench.now).warp, 4);
    }
  }
}

TEST(TranslatorBench, AJoiningWarpOfWhichTheL2TlbCannotBeToldIsCountedAndWaitsForNothing) {
  for (const bool wanted : {false, true}) {
    L1TlbConfig config = small_tlb();
    config.miss_merges = 4;
    TranslatorBench bench(config, {.merged_warps = wanted});  // word of one warp may be on the way
    for (const u8 warp : {u8{3}, u8{4}, u8{5}}) {
      EXPECT_EQ(bench.instruction(bench.line(1, 0, kTwo, warp)), Outcome::kSetAside);
    }
    EXPECT_EQ(bench.unit.stats.merges[kTwo].value, 2u);
    EXPECT_EQ(bench.unit.stats.untold_merges[kTwo].value, wanted ? 1u : 0u);
    EXPECT_EQ(bench.unit.stats.untold_merges[kOne].value, 0u);
    ++bench.now;
    bench.merged.absorb(bench.now);
    if (wanted) {
      EXPECT_EQ(bench.merged.pop(0, bench.now).warp, 4) << "the first of the two was told of";
    }
  }
}

L1TlbConfig by_line(bool merge_misses) {
  L1TlbConfig config = small_tlb();
  config.miss_entries = config.miss_merges = 4;
  config.look_up = L1TlbConfig::LookUp::kLine;
  config.merge_misses = merge_misses;
  return config;
}

TEST(TranslatorBench, ByLineAnInstructionLooksUpEachOfItsLines) {
  TranslatorBench bench(by_line(true));
  bench.learn(1);
  for (u64 i = 0; i < 4; ++i) {
    EXPECT_EQ(bench.ask(bench.line(1, i)), Outcome::kKnown);
    EXPECT_EQ(bench.pa, bench.where(bench.line(1, i)));
  }
  bench.unit.begin_instruction();
  EXPECT_EQ(bench.unit.stats.lookups[kOne].value, 1 + 4u);
  EXPECT_EQ(bench.unit.stats.hits[kOne].value, 4u);
}

TEST(TranslatorBench, ByLineALineThatIsRefusedElsewhereIsNotLookedUpAgain) {
  TranslatorBench bench(by_line(true));
  bench.learn(1);
  bench.ask(bench.line(1, 0));
  bench.ask(bench.line(1, 0));
  EXPECT_EQ(bench.unit.stats.lookups[kOne].value, 1 + 1u);
}

TEST(TranslatorBench, ByLineMergedMissesOfAPageAreOneQuestion) {
  TranslatorBench bench(by_line(true));
  for (u64 i = 0; i < 3; ++i) EXPECT_EQ(bench.ask(bench.line(1, i)), Outcome::kSetAside);
  bench.unit.begin_instruction();
  EXPECT_EQ(bench.unit.stats.lookups[kOne].value, 3u);
  EXPECT_EQ(bench.unit.stats.misses[kOne].value, 1u);
  EXPECT_EQ(bench.unit.stats.merges[kOne].value, 2u);
  ++bench.now;
  EXPECT_NE(bench.question().key, 0u);
  EXPECT_EQ(bench.question().key, 0u);
  bench.answer(1);
  for (u64 i = 0; i < 3; ++i) {
    ASSERT_TRUE(bench.unit.any_ready());
    EXPECT_EQ(bench.unit.ready_address(), bench.where(bench.line(1, i)));
    bench.unit.pop_ready();
  }
  EXPECT_TRUE(bench.unit.idle());
  bench.expect_identities();
}

TEST(TranslatorBench, MissesThatAreNotMergedAskOnceForEachLookUp) {
  TranslatorBench bench(by_line(false));
  for (u64 i = 0; i < 2; ++i) bench.ask(bench.line(1, i));
  bench.unit.begin_instruction();
  bench.instruction(bench.line(1, 2));
  EXPECT_EQ(bench.unit.stats.misses[kOne].value, 3u);
  EXPECT_EQ(bench.unit.stats.merges[kOne].value, 0u);
  ++bench.now;
  for (u64 i = 0; i < 3; ++i) EXPECT_EQ(bench.question().key, page_key(kOne, 12, kFirstPage + 1));
  EXPECT_EQ(bench.question().key, 0u);
}

TEST(TranslatorBench, MissesThatAreNotMergedWaitEachForItsOwnAnswer) {
  TranslatorBench bench(by_line(false));
  for (u64 i = 0; i < 3; ++i) bench.ask(bench.line(1, i));
  bench.unit.begin_instruction();
  ++bench.now;
  u32 tags[3];
  for (u32& tag : tags) tag = bench.question().tag;
  for (const u64 i : {1u, 2u, 0u}) {
    EXPECT_FALSE(bench.unit.any_ready());
    bench.answer(1, kOne, {}, tags[i]);
    ASSERT_TRUE(bench.unit.any_ready()) << i;
    EXPECT_EQ(bench.unit.ready_address(), bench.where(bench.line(1, i)));
    bench.unit.pop_ready();
  }
  EXPECT_TRUE(bench.unit.idle());
  bench.expect_identities();
}

TEST(TranslatorBench, ByPageMissesThatAreNotMergedAskOnceForEachInstruction) {
  L1TlbConfig config = by_line(false);
  config.look_up = L1TlbConfig::LookUp::kPage;
  TranslatorBench bench(config);
  for (u64 i = 0; i < 2; ++i) bench.ask(bench.line(1, i));
  bench.unit.begin_instruction();
  bench.instruction(bench.line(1, 2));
  EXPECT_EQ(bench.unit.stats.misses[kOne].value, 2u);
  ++bench.now;
  bench.answer(1, kOne, {}, bench.question().tag);
  for (u64 i = 0; i < 2; ++i) {
    ASSERT_TRUE(bench.unit.any_ready()) << "both lines of the first";
    bench.unit.pop_ready();
  }
  EXPECT_FALSE(bench.unit.any_ready());
  bench.answer(1, kOne, {}, bench.question().tag);
  EXPECT_TRUE(bench.unit.any_ready());
}

TEST(TranslatorBench, MissesThatAreNotMergedTakeAPlaceEach) {
  TranslatorBench bench(by_line(false), {.input_places = 8});
  for (u64 i = 0; i < 4; ++i) EXPECT_EQ(bench.ask(bench.line(1, i)), Outcome::kSetAside);
  EXPECT_EQ(bench.ask(bench.line(1, 4)), Outcome::kRefused);
  EXPECT_TRUE(bench.unit.still_refuses(bench.now));
  ++bench.now;
  bench.answer(1, kOne, {}, bench.question().tag);
  EXPECT_EQ(bench.ask(bench.line(1, 4)), Outcome::kKnown) << "the page is known by now";
}

}  // namespace
}  // namespace terrace
