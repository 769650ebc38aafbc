// The forward-backward table alone: slices that miss, write back and tell of lines on one side, memory channels, an L2 TLB of
// a fixed latency and an MMU on the other, and SMs whose L1s are asked about pages that go.
// SPDX-License-Identifier: MIT
#include "translation/fbt.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>

#include "benches/scripted.h"
#include "engine/rng.h"
#include "stats/result_leaves.h"
#include "stats/stat_tree.h"
#include "support/fbt_pages.h"
#include "support/part_state.h"

namespace terrace {
namespace {

constexpr u32 kLineShift = 7, kLineBytes = 1 << kLineShift, kLinesPerPage = 32;
constexpr u32 kSlices = 2, kSms = 2;
constexpr Cycle kLink = 1, kTlb = 30, kCycles = 5;
constexpr TenantId kTenant{1};
using Kind = SliceCommand::Kind;
using Notice = DramRequest::Notice;

/// Neighbouring lines go to different slices, and so do those of the same place in neighbouring pages.
class TwoSlices final : public LineMap {
 public:
  u32 slice_of(LineKey line) const override { return (line.number() ^ line.number() / kLinesPerPage) & 1; }
  u32 channel_of(PhysAddr) const override { return 0; }
};

LineKey name(u64 line) {
  return LineKey::of_tenant(kTenant, line);
}
/// A line by its page and its place in it.
constexpr u64 line_of(u64 page, u64 place) {
  return page * kLinesPerPage + place;
}

FbtConfig fully_associative(u32 entries) {
  FbtConfig config;
  config.entries = config.ways = entries;
  config.cycles = kCycles;
  return config;
}

class FbtBench {
 public:
  struct Options {
    u32 page_shift = 12;
    bool slices_obey = false;  // they answer each command to drop lines, which they all have, unchanged
    Cycle l1_cycles = 3;       // until an SM answers
    u32 channel_places = 0;    // of the links to memory; 0: enough
    u32 notices = 8;
  };
  explicit FbtBench(const FbtConfig& config) : FbtBench(config, Options{}) {}
  FbtBench(const FbtConfig& config, const Options& options)
      : options_(options),
        requests(scheduler, kSlices, kLink, 8),
        acknowledgements(scheduler, kSms, kLink, 16),
        from_tlb(scheduler, 1, kLink, 8),
        to_mmu(scheduler, 1, kLink, 8),
        to_tlb(scheduler, {.latency = kLink}),
        tlb_(scheduler, "tlb"),
        mmu_(scheduler, "mmu") {
    Fbt::Wiring wiring{
        .slices = {},
        .mmus = {},
        .sms = {},
        .acknowledgements = acknowledgements,
        .map = map,
        .requests = requests,
        .lines_per_slice = 32,
        .notices_per_slice = options.notices,
        .line_shift = kLineShift,
        .page_shift = options.page_shift,
        .writable = [this](TenantId, VirtAddr page) { return !read_only.contains(page.raw >> options_.page_shift); }};
    for (u32 i = 0; i < kSlices; ++i) {
      from_slice.push_back(std::make_unique<Link<DramRequest>>(scheduler, LinkShape{.latency = kLink, .capacity = 16}));
      to_memory.push_back(std::make_unique<Link<DramRequest>>(
          scheduler, LinkShape{.latency = kLink, .capacity = options.channel_places}));
      to_slice.push_back(std::make_unique<Link<SliceCommand>>(scheduler, LinkShape{.latency = kLink}));
      answers.push_back(std::make_unique<Link<Translation>>(scheduler, LinkShape{.latency = kLink}));
      wiring.slices.push_back({from_slice[i].get(), {to_memory[i].get()}, to_slice[i].get(), answers[i].get()});
    }
    for (u32 i = 0; i < kSms; ++i) {
      to_sm.push_back(std::make_unique<Link<PageInvalidation>>(scheduler, LinkShape{.latency = kLink}));
      wiring.sms.push_back(to_sm[i].get());
    }
    if (config.second_level) wiring.mmus.push_back({&from_tlb, &to_mmu, &to_tlb});
    unit = std::make_unique<Fbt>(scheduler, config, std::move(wiring));
    const UnitId id = scheduler.add(*unit, "fbt");
    unit->connect(id);
    for (u32 i = 0; i < kSlices; ++i) add_slice(i, id);
    for (u32 i = 0; i < kSms; ++i) add_sm(i, id);
    add_tlb(id);
  }

  void push(Cycle at, const DramRequest& request) { push_of(kTenant, at, request); }
  void push_of(TenantId tenant, Cycle at, DramRequest request) {
    request.tenant = tenant;
    const u32 slice = map.slice_of(request.name);
    slices_[slice]->at(at, [=, this](Cycle now) {
      if (!from_slice[slice]->can_push(now)) return false;
      from_slice[slice]->push(now, request);
      return true;
    });
  }
  void fetch(Cycle at, u64 line, bool for_write = false) {
    push(at, {.line = kUnknownLine, .name = name(line), .for_write = for_write});
  }
  /// A fetch of another tenant, whose pages have numbers of their own here.
  void fetch_of(TenantId tenant, Cycle at, u64 line) {
    push_of(tenant, at, {.line = kUnknownLine, .name = LineKey::of_tenant(tenant, line)});
  }
  void write_back(Cycle at, u64 line) { push(at, {.line = kUnknownLine, .name = name(line), .write = true}); }
  void tell(Cycle at, Notice notice, u64 line) {
    push(at, {.line = kUnknownLine, .name = name(line), .notice = notice});
  }
  /// A miss of the L2 TLB.
  void miss_in_tlb(Cycle at, u64 page) {
    tlb_.at(at, [=, this](Cycle now) {
      if (!from_tlb.can_push(0, now)) return false;
      from_tlb.push(0, now, {.key = key(page), .page = page, .tenant = kTenant});
      return true;
    });
  }
  void run() {
    const Cycle end = scheduler.now() + 100'000;
    while (scheduler.run(end) == Scheduler::End::kStopped) continue;  // a fault: whoever runs a machine ends the tenant
    unit->settle(scheduler.now());
    EXPECT_NO_THROW(statistics().check_identities()) << scheduler.explain();
    EXPECT_TRUE(unit->idle()) << scheduler.explain();
  }
  StatTree statistics() {
    StatTree tree(2);
    tree.add("fbt", unit->stats);
    if (unit->blame.on()) tree.add("blame", unit->blame);
    return tree;
  }
  void archive(Archive& a) {
    StatTree tree = statistics();
    a(scheduler, requests, acknowledgements, from_tlb, to_mmu, to_tlb, from_slice, to_memory, to_slice, answers, to_sm,
      *unit, tree, sent, commands, asked_l1s, asked_tlb, asked_mmu, told_tlb, tlb_, mmu_, delays_, notices_,
      l1s_checked_);
    for (const auto* units : {&slices_, &memory_, &sms_}) {
      for (const auto& each : *units) a(*each);
    }
  }
  u64 key(u64 page) const { return page_key(kTenant, options_.page_shift, page); }
  PhysAddr frame_of(u64 page) const {
    const auto other = same_as.find(page);
    return {((other == same_as.end() ? page : other->second) + 1000) << options_.page_shift};
  }
  PhysAddr address(u64 line) const {
    const u64 lines = u64{1} << (options_.page_shift - kLineShift);
    return {frame_of(line / lines).raw + line % lines * kLineBytes};
  }
  /// When something reached memory from any slice.
  Cycle sent_at(u64 line) const {
    for (const auto& inbox : sent) {
      for (const auto& arrival : inbox.seen)
        if (arrival.what.name.number() == line) return arrival.at;
    }
    return kNever;
  }
  u32 sent_tag(u64 line) const {
    for (const auto& inbox : sent) {
      for (const auto& arrival : inbox.seen)
        if (arrival.what.name == name(line)) return arrival.what.tag;
    }
    return 0;
  }
  u32 sent_lines() const { return static_cast<u32>(sent[0].seen.size() + sent[1].seen.size()); }
  bool tracks(u64 line) const { return unit->tracks(name(line)); }
  u32 count(PerTenant<Counter> FbtStats::* what) const { return static_cast<u32>((unit->stats.*what)[kTenant].value); }
  /// Cycles that misses of one tenant waited for a page, or a port, that another held; -1: nobody held it.
  u64 blamed(const char* cause, u32 tenant, i32 holder) {
    unit->settle(scheduler.now());
    StatTree tree(2);
    tree.add("fbt.blame", unit->blame);
    EXPECT_NO_THROW(tree.check_identities());
    std::vector<ResultLeaf> leaves;
    flatten_result(tree.json(), "", leaves);
    const std::string cell = fmt::format("fbt.blame.{}{{tenant={} holder={}}}", cause, tenant,
                                         holder < 0 ? "nobody" : fmt::to_string(holder));
    for (const ResultLeaf& leaf : leaves)
      if (leaf.name == cell) return std::get<u64>(leaf.value.value);
    ADD_FAILURE() << "there is no " << cell;
    return 0;
  }
  static constexpr Cycle kObeys = 10;  // until a slice has dropped a line
  static constexpr Cycle kWriteBack = 2 * kLink + kCycles, kTranslated = 3 * kLink + kTlb,
                         kFetch = kTranslated + kCycles + kLink;

  Options options_;
  Scheduler scheduler;
  TwoSlices map;
  Funnel<TranslationRequest> requests;
  Funnel<u32> acknowledgements;
  Funnel<TranslationRequest> from_tlb, to_mmu;
  Link<Translation> to_tlb;
  std::vector<std::unique_ptr<Link<DramRequest>>> from_slice, to_memory;
  std::vector<std::unique_ptr<Link<SliceCommand>>> to_slice;
  std::vector<std::unique_ptr<Link<Translation>>> answers;
  std::vector<std::unique_ptr<Link<PageInvalidation>>> to_sm;
  std::unique_ptr<Fbt> unit;
  std::map<u64, u64> same_as;  // pages that lie in the frame of another one
  std::set<u64> read_only;     // pages that kernels may not write
  std::vector<Inbox<DramRequest>> sent{kSlices};
  std::vector<Inbox<SliceCommand>> commands{kSlices};
  std::vector<Inbox<PageInvalidation>> asked_l1s{kSms};
  Inbox<TranslationRequest> asked_tlb, asked_mmu;
  Inbox<Translation> told_tlb;

 private:
  void add_slice(u32 slice, UnitId id) {
    slices_.push_back(std::make_unique<Scripted>(scheduler, "slice"));
    memory_.push_back(std::make_unique<Scripted>(scheduler, "memory"));
    notices_.emplace_back();
    from_slice[slice]->connect(slices_[slice]->id(), id);
    to_slice[slice]->connect(id, slices_[slice]->id());
    to_memory[slice]->connect(id, memory_[slice]->id());
    requests.connect_producer(slice, id);
    answers[slice]->connect(tlb_.id(), id);
    memory_[slice]->always([this, slice](Cycle now) { return sent[slice].take(*to_memory[slice], now); });
    slices_[slice]->always([this, slice](Cycle now) {
      const std::size_t before = commands[slice].seen.size();
      const Cycle opens = commands[slice].take(*to_slice[slice], now);
      for (std::size_t i = before; options_.slices_obey && i < commands[slice].seen.size(); ++i)
        obey(slice, commands[slice].seen[i].what, now);
      return std::min(opens, notices_[slice].send(*from_slice[slice], now));
    });
  }
  void obey(u32 slice, const SliceCommand& command, Cycle now) {
    for (u64 left = command.kind == Kind::kDrop ? command.lines : 0; left != 0; left &= left - 1) {
      const TenantId tenant = command.line.tenant();
      const u64 line = command.line.number() + static_cast<u64>(std::countr_zero(left));
      notices_[slice].push(now + kObeys, {.line = kUnknownLine,
                                          .name = LineKey::of_tenant(tenant, line),
                                          .tenant = tenant,
                                          .notice = Notice::kDropped});
    }
  }
  void add_sm(u32 sm, UnitId id) {
    sms_.push_back(std::make_unique<Scripted>(scheduler, "sm"));
    to_sm[sm]->connect(id, sms_[sm]->id());
    acknowledgements.connect_producer(sm, sms_[sm]->id());
    acknowledgements.connect_consumer(id);
    sms_[sm]->always([this, sm](Cycle now) {
      const std::size_t before = asked_l1s[sm].seen.size();
      asked_l1s[sm].take(*to_sm[sm], now);
      std::deque<std::pair<Cycle, u32>>& checked = l1s_checked_[sm];
      // The second one takes longer.
      for (std::size_t i = before; i < asked_l1s[sm].seen.size(); ++i)
        checked.push_back({now + options_.l1_cycles * (sm + 1), asked_l1s[sm].seen[i].what.id});
      for (; !checked.empty() && checked.front().first <= now; checked.pop_front())
        acknowledgements.push(sm, now, checked.front().second);
      return checked.empty() ? kNever : checked.front().first;
    });
  }
  void add_tlb(UnitId id) {
    requests.connect_consumer(tlb_.id());
    from_tlb.connect_producer(0, tlb_.id());
    from_tlb.connect_consumer(id);
    to_tlb.connect(id, tlb_.id());
    to_mmu.connect_producer(0, id);
    to_mmu.connect_consumer(mmu_.id());
    delays_.resize(kSlices);
    tlb_.always([this](Cycle now) {
      told_tlb.take(to_tlb, now);
      const std::size_t before = asked_tlb.seen.size();
      Cycle next = asked_tlb.take(requests, now);
      for (std::size_t i = before; i < asked_tlb.seen.size(); ++i) {
        const TranslationRequest& request = asked_tlb.seen[i].what;
        delays_[request.port].push(now + kTlb, {request.key, frame_of(request.page), {}, request.tag});
      }
      for (u32 i = 0; i < kSlices; ++i) next = std::min(next, delays_[i].send(*answers[i], now));
      return next;
    });
    mmu_.always([this](Cycle now) { return asked_mmu.take(to_mmu, now); });
  }

  Scripted tlb_, mmu_;
  std::vector<std::unique_ptr<Scripted>> slices_, memory_, sms_;
  std::vector<Delay<Translation>> delays_;
  std::vector<Delay<DramRequest>> notices_;
  std::vector<std::deque<std::pair<Cycle, u32>>> l1s_checked_{kSms};
};

using Times = std::vector<Cycle>;

// ---- Misses ----

TEST(FbtBench, AFetchIsTranslatedAndLookedUpAndGoesToMemory) {
  FbtBench bench(fully_associative(4));
  bench.fetch(5, line_of(3, 4));
  bench.run();
  ASSERT_EQ(bench.asked_tlb.times(), Times{5 + 2 * kLink});
  EXPECT_EQ(bench.asked_tlb.seen[0].what.key, bench.key(3));
  ASSERT_EQ(bench.sent_at(line_of(3, 4)), 5 + FbtBench::kFetch) << "translation, and five cycles";
  EXPECT_EQ(bench.sent[bench.map.slice_of(name(line_of(3, 4)))].seen[0].what.line, bench.address(line_of(3, 4)));
}

TEST(FbtBench, APageWithoutAnEntryLeadsFromThenOn) {
  FbtBench bench(fully_associative(4));
  bench.fetch(0, line_of(3, 4));
  bench.run();
  EXPECT_EQ(bench.count(&FbtStats::new_pages), 1u);
  const u32 entry = bench.unit->table().by_frame(bench.frame_of(3));
  ASSERT_NE(entry, FbtTable::kNone);
  EXPECT_EQ(bench.unit->table()[entry].leading, bench.key(3));
  EXPECT_EQ(bench.unit->table()[entry].lines, u64{1} << 4) << "its line, and no other";
}

TEST(FbtBench, AnotherLineOfTheLeadingPageIsFetchedToo) {
  FbtBench bench(fully_associative(4));
  bench.fetch(0, line_of(3, 4));
  bench.fetch(100, line_of(3, 5));
  bench.run();
  EXPECT_EQ(bench.sent_at(line_of(3, 5)), 100 + FbtBench::kFetch);
  EXPECT_EQ(bench.count(&FbtStats::leading), 1u);
  EXPECT_EQ(pages_of(bench.unit->table()), 1u);
  EXPECT_TRUE(bench.tracks(line_of(3, 4)));
  EXPECT_TRUE(bench.tracks(line_of(3, 5)));
  EXPECT_FALSE(bench.tracks(line_of(3, 6)));
}

/// Page 4 lies in the frame of page 3, which leads.
FbtBench& with_synonym(FbtBench& bench) {
  bench.same_as[4] = 3;
  bench.fetch(0, line_of(3, 2));
  return bench;
}

TEST(FbtBench, ASynonymOfALineThatIsThereIsReplayedUnderTheLeadingName) {
  FbtBench bench(fully_associative(4));
  with_synonym(bench).fetch(100, line_of(4, 2));
  bench.run();
  const u32 slice = bench.map.slice_of(name(line_of(4, 2)));
  ASSERT_EQ(bench.commands[slice].times(), Times{100 + FbtBench::kFetch}) << "it comes when a fetch would have gone";
  const SliceCommand& command = bench.commands[slice].seen[0].what;
  EXPECT_EQ(command.kind, Kind::kReplay);
  EXPECT_EQ(command.line, name(line_of(4, 2)));
  EXPECT_EQ(command.leading, name(line_of(3, 2)));
  EXPECT_EQ(bench.commands[1 - slice].seen.size(), 0u) << "who asked is told, not the slice that has the line";
  EXPECT_EQ(bench.sent_lines(), 1u) << "memory is not asked again";
}

TEST(FbtBench, ASynonymOfALineThatIsNotThereIsReplayedTooAndFetchedUnderTheLeadingName) {
  FbtBench bench(fully_associative(4));
  with_synonym(bench).fetch(100, line_of(4, 7));
  bench.scheduler.run(200);
  const u32 slice = bench.map.slice_of(name(line_of(4, 7)));
  ASSERT_EQ(bench.commands[slice].seen.size(), 1u);
  EXPECT_EQ(bench.commands[slice].seen[0].what.leading, name(line_of(3, 7)));
  EXPECT_FALSE(bench.tracks(line_of(3, 7))) << "not before the slice of that name misses";
  bench.fetch(200, line_of(3, 7));
  bench.run();
  EXPECT_EQ(bench.sent_at(line_of(3, 7)), 200 + FbtBench::kFetch);
  EXPECT_TRUE(bench.tracks(line_of(3, 7)));
}

TEST(FbtBench, ASynonymIsReplayedEveryTime) {
  FbtBench bench(fully_associative(4));
  with_synonym(bench);
  for (const Cycle at : {100u, 200u, 300u}) bench.fetch(at, line_of(4, 2));
  bench.run();
  EXPECT_EQ(bench.count(&FbtStats::synonyms), 3u);
  EXPECT_EQ(bench.commands[bench.map.slice_of(name(line_of(4, 2)))].seen.size(), 3u);
  EXPECT_EQ(pages_of(bench.unit->table()), 1u) << "only one of the names has an entry";
  EXPECT_FALSE(bench.tracks(line_of(4, 2)));
}

TEST(FbtBench, WhoeverComesFirstLeads) {
  FbtBench bench(fully_associative(4));
  bench.same_as[4] = 3;
  bench.fetch(0, line_of(4, 2));
  bench.fetch(100, line_of(3, 2));
  bench.run();
  EXPECT_EQ(bench.commands[bench.map.slice_of(name(line_of(3, 2)))].seen[0].what.leading, name(line_of(4, 2)));
}

// ---- Lines that leave, and are written to ----

TEST(FbtBench, AWriteBackGetsItsAddressFromTheTableAndNotFromTheL2Tlb) {
  FbtBench bench(fully_associative(4));
  bench.fetch(0, line_of(3, 4));
  bench.write_back(100, line_of(3, 4));
  bench.run();
  const auto& seen = bench.sent[bench.map.slice_of(name(line_of(3, 4)))].seen;
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_TRUE(seen[1].what.write);
  EXPECT_EQ(seen[1].what.line, bench.address(line_of(3, 4)));
  EXPECT_EQ(seen[1].at, 100 + FbtBench::kWriteBack);
  EXPECT_EQ(bench.asked_tlb.seen.size(), 1u) << "for the fetch";
  EXPECT_EQ(bench.count(&FbtStats::write_backs), 1u);
}

TEST(FbtBench, ALineThatLeavesIsKnownNoMoreWhetherItWasWrittenToOrNot) {
  FbtBench bench(fully_associative(4));
  for (u64 place = 0; place < 3; ++place) bench.fetch(place, line_of(3, place));
  bench.write_back(100, line_of(3, 0));
  bench.tell(100, Notice::kDropped, line_of(3, 1));
  bench.run();
  EXPECT_FALSE(bench.tracks(line_of(3, 0)));
  EXPECT_FALSE(bench.tracks(line_of(3, 1)));
  EXPECT_TRUE(bench.tracks(line_of(3, 2)));
  EXPECT_EQ(bench.count(&FbtStats::dropped), 1u);
  EXPECT_EQ(bench.sent_lines(), 4u) << "word of an unchanged line goes no further";
}

TEST(FbtBench, APageKeepsItsEntryWhenItsLastLineLeaves) {
  FbtBench bench(fully_associative(4));
  bench.fetch(0, line_of(3, 0));
  bench.tell(100, Notice::kDropped, line_of(3, 0));
  bench.run();
  EXPECT_EQ(pages_of(bench.unit->table()), 1u);
  EXPECT_EQ(bench.unit->table().pages_with_lines(), 0u);
  EXPECT_EQ(bench.unit->stats.evictions.value, 0u);
}

TEST(FbtBench, WordOfALineWhosePageHasNoEntryIsAMistake) {
  FbtBench bench(fully_associative(4));
  bench.tell(0, Notice::kDropped, line_of(3, 0));
  EXPECT_THROW(bench.scheduler.run(100), ModelError);
}

TEST(FbtBench, WordOfAWriteMarksThePageAndSendsNothing) {
  FbtBench bench(fully_associative(4));
  bench.fetch(0, line_of(3, 0));
  bench.scheduler.run(100);
  const u32 entry = bench.unit->table().by_page(bench.key(3));
  EXPECT_FALSE(bench.unit->table()[entry].written);
  bench.tell(100, Notice::kWritten, line_of(3, 0));
  bench.run();
  EXPECT_TRUE(bench.unit->table()[entry].written);
  EXPECT_TRUE(bench.tracks(line_of(3, 0))) << "it stays";
  EXPECT_EQ(bench.sent_lines(), 1u);
}

TEST(FbtBench, AFetchForAWriteMarksThePage) {
  for (const bool leads_already : {false, true}) {
    FbtBench bench(fully_associative(4));
    if (leads_already) bench.fetch(0, line_of(3, 1));
    bench.fetch(100, line_of(3, 0), true);
    bench.run();
    EXPECT_TRUE(bench.unit->table()[bench.unit->table().by_page(bench.key(3))].written);
  }
}

TEST(FbtBench, ReadOnlySynonymsAreNoFault) {
  FbtBench bench(fully_associative(4));
  with_synonym(bench).fetch(100, line_of(4, 2));
  bench.run();
  EXPECT_EQ(bench.count(&FbtStats::synonym_faults), 0u);
}

TEST(FbtBench, ASynonymOfAPageThatWasWrittenToIsAFault) {
  FbtBench bench(fully_associative(4));
  with_synonym(bench).tell(100, Notice::kWritten, line_of(3, 2));
  bench.fetch(200, line_of(4, 9));
  bench.run();
  EXPECT_EQ(bench.count(&FbtStats::synonym_faults), 1u) << "whichever line of it";
}

TEST(FbtBench, AWriteThroughASynonymIsAFaultButDoesNotMarkThePageYet) {
  FbtBench bench(fully_associative(4));
  with_synonym(bench).fetch(100, line_of(4, 2), true);
  bench.fetch(200, line_of(4, 2));
  bench.run();
  EXPECT_EQ(bench.count(&FbtStats::synonym_faults), 1u) << "the replayed write will tell of itself";
}

// ---- Time ----

TEST(FbtBench, OneAccessPerCycleForEachPort) {
  for (const u32 ports : {1u, 2u}) {
    FbtConfig config = fully_associative(4);
    config.ports = ports;
    FbtBench bench(config);
    bench.fetch(0, line_of(3, 0));  // in different slices: both answers come in the same cycle
    bench.fetch(0, line_of(3, 1));
    bench.run();
    const auto [first, last] = std::minmax({bench.sent_at(line_of(3, 0)), bench.sent_at(line_of(3, 1))});
    EXPECT_EQ(first, FbtBench::kFetch);
    EXPECT_EQ(last, FbtBench::kFetch + (ports == 1 ? 1 : 0));
  }
}

TEST(FbtBench, AccessesFollowEachOtherEveryCycle) {
  FbtBench bench(fully_associative(4));
  for (u64 place = 0; place < 8; ++place) bench.fetch(place, line_of(3, place));
  bench.run();
  for (u64 place = 0; place < 8; ++place) EXPECT_EQ(bench.sent_at(line_of(3, place)), place + FbtBench::kFetch);
}

TEST(FbtBench, WhatSlicesTellGoesBeforeLookUps) {
  FbtBench bench(fully_associative(4));
  bench.fetch(0, line_of(3, 0));
  bench.fetch(1, line_of(3, 1));
  bench.fetch(100, line_of(3, 2));  // its look-up is due in the cycle in which word of two lines comes
  const Cycle due = 100 + FbtBench::kTranslated;
  bench.write_back(due - kLink, line_of(3, 1));
  bench.tell(due - kLink, Notice::kDropped, line_of(3, 0));
  bench.run();
  EXPECT_EQ(bench.sent_at(line_of(3, 2)), 100 + FbtBench::kFetch + 2);
  const auto& seen = bench.sent[bench.map.slice_of(name(line_of(3, 1)))].seen;
  const auto leaves = std::ranges::find_if(seen, [](const auto& arrival) { return arrival.what.write; });
  ASSERT_NE(leaves, seen.end());
  EXPECT_EQ(leaves->at, due + kCycles + kLink) << "the line on its way out is not held up";
}

/// Word of two lines and a look-up come in one cycle, a probe in the next, another look-up in the one after it.
TEST(FbtBench, ThePlaceOfTheCpusRequestsIsAChoice) {
  using Priority = FbtConfig::Priority;
  struct Row {
    Priority priority;
    Cycle probe, first, second;  // when they are served, counted from the first cycle
  };
  for (const Row& row : {Row{Priority::kCpu, 2, 3, 4}, Row{Priority::kCpuFirst, 1, 3, 4}, Row{Priority::kAge, 3, 2, 4},
                         Row{Priority::kLookUps, 4, 2, 3}}) {
    SCOPED_TRACE(static_cast<u32>(row.priority));
    FbtConfig config = fully_associative(4);
    config.priority = row.priority;
    FbtBench bench(config);
    for (const u64 place : {0u, 1u, 5u}) bench.fetch(place, line_of(3, place));
    bench.fetch(100, line_of(3, 2));
    bench.fetch(102, line_of(3, 3));
    const Cycle due = 100 + FbtBench::kTranslated;
    bench.tell(due - kLink, Notice::kDropped, line_of(3, 0));
    bench.tell(due - kLink, Notice::kDropped, line_of(3, 1));
    bench.scheduler.run(due + 1);
    bench.unit->probe(bench.address(line_of(3, 5)), due + 1);
    bench.run();
    constexpr Cycle kAfter = kCycles + kLink;
    EXPECT_EQ(bench.commands[bench.map.slice_of(name(line_of(3, 5)))].times(), Times{due + row.probe + kAfter});
    EXPECT_EQ(bench.sent_at(line_of(3, 2)), due + row.first + kAfter);
    EXPECT_EQ(bench.sent_at(line_of(3, 3)), due + row.second + kAfter);
  }
}

/// More pages than may leave at a time: a request that is refused waits for word of lines, whatever the order.
TEST(FbtBench, AShootdownOfAllPagesEndsWhateverThePlaceOfTheCpusRequests) {
  using Priority = FbtConfig::Priority;
  for (const Priority priority : {Priority::kCpu, Priority::kCpuFirst, Priority::kAge, Priority::kLookUps}) {
    FbtConfig config = fully_associative(32);
    config.priority = priority;
    FbtBench bench(config, {.slices_obey = true});
    for (u64 page = 0; page < 32; ++page) bench.fetch(page * 4, line_of(page, page % 3));
    bench.run();
    bench.unit->shoot_down_all(bench.scheduler.now());
    for (u64 page = 100; page < 110; ++page) bench.fetch(bench.scheduler.now() + page, line_of(page, 0));
    bench.run();
    EXPECT_EQ(bench.unit->stats.flushes.value, 1u);
    EXPECT_EQ(bench.unit->stats.shootdowns.value, 32u) << "one for each page that was there";
    EXPECT_EQ(bench.unit->stats.shootdowns_done.value, 32u);
    EXPECT_EQ(pages_of(bench.unit->table()), 10u) << "those that came later";
    for (u64 page = 0; page < 32; ++page) EXPECT_FALSE(bench.tracks(line_of(page, page % 3))) << page;
  }
}

TEST(FbtBench, ALineMayBeFetchedAgainRightBehindWordThatItLeft) {
  FbtBench bench(fully_associative(4));
  bench.fetch(0, line_of(3, 0));
  bench.write_back(100, line_of(3, 0));
  bench.fetch(101, line_of(3, 0));
  bench.run();
  const auto& seen = bench.sent[bench.map.slice_of(name(line_of(3, 0)))].seen;
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_TRUE(seen[1].what.write);
  EXPECT_FALSE(seen[2].what.write);
  EXPECT_TRUE(bench.tracks(line_of(3, 0)));
}

TEST(FbtBench, WhenMemoryTakesNothingLinesOnTheirWayOutWaitAndNoneIsLost) {
  FbtBench bench(fully_associative(4), {.channel_places = 1, .notices = 1});
  for (u64 place = 0; place < 8; place += 2) bench.fetch(place, line_of(2, place));  // all in one slice
  const u32 slice = bench.map.slice_of(name(line_of(2, 0)));
  bench.scheduler.run(200);
  bench.sent[slice].open = 500;
  for (u64 place = 0; place < 8; place += 2) bench.write_back(200 + place, line_of(2, place));
  bench.fetch(210, line_of(2, 8));
  bench.run();
  ASSERT_EQ(bench.sent[slice].seen.size(), 9u);
  EXPECT_FALSE(bench.sent[slice].seen[8].what.write) << "the fetch comes last";
}

// ---- Requests to the L2 TLB ----

TEST(FbtBench, EachMissAsksTheL2TlbForItself) {
  FbtBench bench(fully_associative(4));
  for (u64 place = 0; place < 4; ++place) bench.fetch(place, line_of(3, place));
  bench.run();
  EXPECT_EQ(bench.asked_tlb.seen.size(), 4u);
  EXPECT_EQ(bench.count(&FbtStats::requests), 4u);
}

TEST(FbtBench, MergedMissesOfAPageShareARequestWhateverTheirSlice) {
  FbtConfig config = fully_associative(4);
  config.merge_misses = true;
  FbtBench bench(config);
  for (u64 place = 0; place < 4; ++place) bench.fetch(place, line_of(3, place));
  bench.fetch(4, line_of(5, 0));
  bench.run();
  EXPECT_EQ(bench.asked_tlb.seen.size(), 2u);
  for (u64 place = 0; place < 4; ++place)
    EXPECT_EQ(bench.sent_at(line_of(3, place)), FbtBench::kFetch + place) << "looked up one after the other";
}

TEST(FbtBench, TheQuestionNamesTheWarpTheTenantAndTheSlice) {
  FbtBench bench(fully_associative(4));
  bench.push(0, {.line = kUnknownLine, .name = name(line_of(3, 4)), .tag = asker_tag(SmId{9}, 17)});
  bench.run();
  ASSERT_EQ(bench.asked_tlb.seen.size(), 1u);
  const TranslationRequest& request = bench.asked_tlb.seen[0].what;
  EXPECT_EQ(request.port, bench.map.slice_of(name(line_of(3, 4))));
  EXPECT_EQ(index(request.sm), 9);
  EXPECT_EQ(request.warp, 17);
  EXPECT_EQ(request.tenant, kTenant);
}

// ---- Pages that make room ----

/// A table of two pages: page 2, the older one, with three lines, and page 3 with one. Page 4 comes at cycle 200.
FbtBench& full_table(FbtBench& bench) {
  bench.fetch(0, line_of(2, 0));
  bench.fetch(1, line_of(2, 1));
  bench.fetch(2, line_of(2, 3));
  bench.fetch(3, line_of(3, 0));
  bench.fetch(200, line_of(4, 0));
  return bench;
}

TEST(FbtBench, ThePageThatGoesHasItsLinesDroppedEachInItsSlice) {
  FbtBench bench(fully_associative(2));
  full_table(bench);
  bench.scheduler.run(1000);
  ASSERT_EQ(bench.commands[0].seen.size(), 1u);
  ASSERT_EQ(bench.commands[1].seen.size(), 1u);
  for (const u32 slice : {0u, 1u}) {
    const SliceCommand& command = bench.commands[slice].seen[0].what;
    EXPECT_EQ(command.kind, Kind::kDrop);
    EXPECT_EQ(command.line, name(line_of(2, 0))) << "places are counted from the first line of the page";
  }
  ASSERT_EQ(bench.map.slice_of(name(line_of(2, 0))), 0u);
  EXPECT_EQ(bench.commands[0].seen[0].what.lines, 0b0001u);
  EXPECT_EQ(bench.commands[1].seen[0].what.lines, 0b1010u);
  EXPECT_EQ(bench.unit->stats.evictions.value, 1u);
  EXPECT_EQ(bench.unit->stats.evicted_lines.value, 3u);
  EXPECT_EQ(bench.asked_l1s[0].seen.size(), 0u) << "not while lines are there";
  EXPECT_EQ(bench.sent_at(line_of(4, 0)), kNever);
}

TEST(FbtBench, ASliceWithoutLinesOfThePageHearsNothing) {
  FbtBench bench(fully_associative(1), {.slices_obey = true});
  bench.fetch(0, line_of(2, 1));
  bench.fetch(200, line_of(4, 0));
  bench.run();
  EXPECT_EQ(bench.commands[bench.map.slice_of(name(line_of(2, 1)))].seen.size(), 1u);
  EXPECT_EQ(bench.commands[bench.map.slice_of(name(line_of(2, 0)))].seen.size(), 0u);
}

TEST(FbtBench, L1sAreAskedWhenTheLastLineHasLeftAndThePageIsFreeWhenAllHaveAnswered) {
  FbtBench bench(fully_associative(2));
  full_table(bench);
  bench.tell(300, Notice::kDropped, line_of(2, 1));
  bench.write_back(310, line_of(2, 3));
  bench.tell(320, Notice::kDropped, line_of(2, 0));
  bench.run();
  for (const u32 sm : {0u, 1u}) {
    ASSERT_EQ(bench.asked_l1s[sm].times(), Times{320 + 2 * kLink});
    EXPECT_EQ(bench.asked_l1s[sm].seen[0].what.page, bench.key(2));
  }
  EXPECT_EQ(bench.unit->stats.l1_checks.value, 2u);
  const Cycle last_answer = 320 + 2 * kLink + 2 * 3 + kLink;
  EXPECT_EQ(bench.sent_at(line_of(4, 0)), last_answer + kCycles + kLink) << "looked up again at once";
  EXPECT_EQ(bench.unit->table().by_page(bench.key(2)), FbtTable::kNone);
  EXPECT_NE(bench.unit->table().by_page(bench.key(4)), FbtTable::kNone);
  EXPECT_EQ(bench.count(&FbtStats::waits), 1u);
}

TEST(FbtBench, APageWithoutLinesGoesFirstAndItsL1sAreAskedAtOnce) {
  FbtBench bench(fully_associative(2));
  full_table(bench);
  bench.tell(100, Notice::kDropped, line_of(3, 0));
  bench.run();
  EXPECT_EQ(bench.commands[0].seen.size() + bench.commands[1].seen.size(), 0u);
  EXPECT_EQ(bench.asked_l1s[0].times(), Times{200 + FbtBench::kTranslated + kLink});
  EXPECT_EQ(bench.asked_l1s[0].seen[0].what.page, bench.key(3)) << "although page 2 is older";
  EXPECT_TRUE(bench.tracks(line_of(2, 1)));
}

TEST(FbtBench, AMissRenewsItsPageSoThatAnotherOneGoes) {
  FbtBench bench(fully_associative(2), {.slices_obey = true});
  bench.fetch(0, line_of(2, 0));
  bench.fetch(10, line_of(3, 0));
  bench.fetch(100, line_of(2, 4));
  bench.fetch(200, line_of(4, 0));
  bench.run();
  EXPECT_TRUE(bench.tracks(line_of(2, 0)));
  EXPECT_FALSE(bench.tracks(line_of(3, 0))) << "page 3 is the older one by now";
}

TEST(FbtBench, ASynonymRenewsTheLeadingPage) {
  FbtBench bench(fully_associative(2), {.slices_obey = true});
  full_table(bench);
  bench.same_as[7] = 2;
  bench.fetch(100, line_of(7, 4));
  bench.run();
  EXPECT_TRUE(bench.tracks(line_of(2, 0)));
  EXPECT_FALSE(bench.tracks(line_of(3, 0)));
}

TEST(FbtBench, AFetchOfAPageThatGoesWaitsAndIsServedAfterwards) {
  FbtBench bench(fully_associative(1), {.slices_obey = true, .l1_cycles = 50});
  bench.fetch(0, line_of(2, 0));
  bench.fetch(200, line_of(4, 0));
  bench.fetch(202, line_of(2, 5));  // page 2 goes already
  bench.run();
  ASSERT_NE(bench.sent_at(line_of(4, 0)), kNever);
  ASSERT_NE(bench.sent_at(line_of(2, 5)), kNever);
  EXPECT_GT(bench.sent_at(line_of(4, 0)), 202 + FbtBench::kFetch);
  EXPECT_GT(bench.sent_at(line_of(2, 5)), bench.sent_at(line_of(4, 0))) << "page 4 came first, and had to go again";
  EXPECT_FALSE(bench.tracks(line_of(2, 0)));
  EXPECT_TRUE(bench.tracks(line_of(2, 5)));
}

TEST(FbtBench, ASynonymOfAPageThatGoesWaitsToo) {
  FbtBench bench(fully_associative(2), {.slices_obey = true, .l1_cycles = 50});
  full_table(bench);
  bench.same_as[7] = 2;
  bench.fetch(202, line_of(7, 0));
  bench.run();
  EXPECT_EQ(bench.count(&FbtStats::synonyms), 0u) << "when page 2 has gone, page 7 leads";
  EXPECT_TRUE(bench.tracks(line_of(7, 0)));
}

TEST(FbtBench, LinesOfOneNewPageMakeOnePageGo) {
  FbtBench bench(fully_associative(4), {.slices_obey = true});
  for (u64 page = 0; page < 4; ++page) bench.fetch(page * 10, line_of(page, 0));
  for (u64 place = 0; place < 4; ++place) bench.fetch(200, line_of(9, place));
  bench.run();
  EXPECT_EQ(bench.unit->stats.evictions.value, 1u);
  for (u64 place = 0; place < 4; ++place) EXPECT_TRUE(bench.tracks(line_of(9, place)));
  for (u64 page = 1; page < 4; ++page) EXPECT_TRUE(bench.tracks(line_of(page, 0))) << page;
}

TEST(FbtBench, PagesMakeRoomForEachOtherAtTheSameTime) {
  FbtBench bench(fully_associative(4), {.slices_obey = true, .l1_cycles = 50});
  for (u64 page = 0; page < 4; ++page) bench.fetch(page * 10, line_of(page, 0));
  bench.fetch(200, line_of(8, 0));
  bench.fetch(201, line_of(9, 0));
  bench.run();
  EXPECT_EQ(bench.unit->stats.evictions.value, 2u);
  EXPECT_LE(bench.sent_at(line_of(9, 0)), bench.sent_at(line_of(8, 0)) + 3);
}

TEST(FbtBench, WhenAllPagesOfASetGoOthersWaitForTheFirstThatHasGone) {
  FbtBench bench(fully_associative(2), {.slices_obey = true, .l1_cycles = 50});
  bench.fetch(0, line_of(2, 0));
  bench.fetch(10, line_of(3, 0));
  for (u64 page = 10; page < 14; ++page) bench.fetch(190 + page, line_of(page, 0));
  bench.run();
  for (u64 page = 10; page < 14; ++page) EXPECT_NE(bench.sent_at(line_of(page, 0)), kNever) << page;
  EXPECT_EQ(bench.unit->stats.evictions.value, 4u);
}

TEST(FbtBench, MorePagesThanMayGoAtATimeGoOneAfterTheOther) {
  FbtBench bench(fully_associative(32), {.slices_obey = true, .l1_cycles = 50});
  for (u64 page = 0; page < 32; ++page) bench.fetch(page * 4, line_of(page, 0));
  for (u64 page = 100; page < 124; ++page) bench.fetch(300 + page, line_of(page, 0));
  bench.run();
  for (u64 page = 100; page < 124; ++page) EXPECT_NE(bench.sent_at(line_of(page, 0)), kNever) << page;
  EXPECT_EQ(bench.unit->stats.evictions.value, 24u);
}

// ---- The forward table as a second-level TLB ----

FbtConfig second_level(u32 entries) {
  FbtConfig config = fully_associative(entries);
  config.second_level = true;
  return config;
}

TEST(FbtBench, AMissOfTheL2TlbThatTheForwardTableKnowsIsAnsweredWithoutTheMmu) {
  FbtBench bench(second_level(4));
  bench.fetch(0, line_of(3, 0));
  bench.miss_in_tlb(100, 3);
  bench.run();
  ASSERT_EQ(bench.told_tlb.times(), Times{100 + 2 * kLink + kCycles});
  EXPECT_EQ(bench.told_tlb.seen[0].what.key, bench.key(3));
  EXPECT_EQ(bench.told_tlb.seen[0].what.frame, bench.frame_of(3));
  EXPECT_EQ(bench.told_tlb.seen[0].what.walk.accesses, 0u);
  EXPECT_EQ(bench.asked_mmu.seen.size(), 0u);
  EXPECT_EQ(bench.count(&FbtStats::forward_hits), 1u);
}

TEST(FbtBench, OneThatItDoesNotKnowGoesOnToTheMmu) {
  FbtBench bench(second_level(4));
  bench.fetch(0, line_of(3, 0));
  bench.miss_in_tlb(100, 5);
  bench.run();
  ASSERT_EQ(bench.asked_mmu.times(), Times{100 + 2 * kLink + kCycles});
  EXPECT_EQ(bench.asked_mmu.seen[0].what.key, bench.key(5));
  EXPECT_EQ(bench.told_tlb.seen.size(), 0u);
  EXPECT_EQ(bench.count(&FbtStats::forward_lookups), 1u);
  EXPECT_EQ(bench.count(&FbtStats::forward_hits), 0u);
}

TEST(FbtBench, ASynonymIsNotInTheForwardTable) {
  FbtBench bench(second_level(4));
  with_synonym(bench).fetch(50, line_of(4, 2));
  bench.miss_in_tlb(100, 4);
  bench.run();
  EXPECT_EQ(bench.asked_mmu.seen.size(), 1u);
}

TEST(FbtBench, APageThatGoesCountsAsUnknown) {
  FbtBench bench(second_level(2));
  full_table(bench);
  bench.miss_in_tlb(250, 2);
  bench.scheduler.run(1000);
  EXPECT_EQ(bench.asked_mmu.seen.size(), 1u);
  EXPECT_EQ(bench.told_tlb.seen.size(), 0u);
}

TEST(FbtBench, ALookUpByNameDoesNotRenewAPage) {
  FbtBench bench(second_level(2));
  full_table(bench);
  bench.miss_in_tlb(150, 2);
  bench.scheduler.run(1000);
  EXPECT_EQ(bench.commands[0].seen[0].what.line, name(line_of(2, 0))) << "it is still the older one";
}

TEST(FbtBench, OfBothKindsOfLookUpsTheOneThatWaitsLongerGoesFirst) {
  FbtBench bench(second_level(4));
  bench.fetch(0, line_of(3, 0));
  bench.fetch(1, line_of(3, 1));
  bench.fetch(100, line_of(3, 2));
  const Cycle due = 100 + FbtBench::kTranslated;
  // Word of two lines takes the port for two cycles. Before them, in their first cycle, comes a miss of the L2 TLB.
  bench.tell(due - 1 - kLink, Notice::kDropped, line_of(3, 0));
  bench.tell(due - 1 - kLink, Notice::kDropped, line_of(3, 1));
  bench.miss_in_tlb(due - 1 - kLink, 3);
  bench.run();
  EXPECT_EQ(bench.told_tlb.times(), Times{due + 1 + kCycles + kLink});
  EXPECT_EQ(bench.sent_at(line_of(3, 2)), due + 2 + kCycles + kLink);
}

// ---- Large pages ----

TEST(FbtBench, AsPartsALargePageHasAnEntryForEach4KbThatIsTouched) {
  FbtBench bench(fully_associative(4), {.page_shift = 16});
  bench.fetch(0, line_of(16 + 2, 5));
  bench.fetch(100, line_of(16 + 7, 1));
  bench.run();
  EXPECT_EQ(bench.asked_tlb.seen[0].what.key, page_key(kTenant, 16, 1)) << "the L2 TLB has large pages";
  EXPECT_EQ(pages_of(bench.unit->table()), 2u);
  EXPECT_EQ(bench.sent[bench.map.slice_of(name(line_of(18, 5)))].seen[0].what.line,
            (PhysAddr{bench.frame_of(1).raw + (2 * kLinesPerPage + 5) * kLineBytes}));
  const u32 entry = bench.unit->table().by_page(page_key(kTenant, 12, 18));
  ASSERT_NE(entry, FbtTable::kNone);
  EXPECT_EQ(bench.unit->table()[entry].lines, u64{1} << 5);
}

TEST(FbtBench, AsPartsOnlyThePartThatMakesRoomIsDropped) {
  FbtBench bench(fully_associative(2), {.page_shift = 16, .slices_obey = true});
  bench.fetch(0, line_of(2, 0));
  bench.fetch(10, line_of(3, 0));
  bench.fetch(200, line_of(5, 0));
  bench.run();
  EXPECT_FALSE(bench.tracks(line_of(2, 0)));
  EXPECT_TRUE(bench.tracks(line_of(3, 0)));
  EXPECT_EQ(bench.asked_l1s[0].seen[0].what.page, page_key(kTenant, 12, 2));
}

TEST(FbtBench, AsACounterALargePageHasOneEntryAndEverySliceLooksForItsLines) {
  FbtConfig config = fully_associative(1);
  config.large_pages = FbtConfig::LargePages::kCounter;
  FbtBench bench(config, {.page_shift = 16});
  const u64 first = 16 * kLinesPerPage, end = 32 * kLinesPerPage;
  bench.fetch(0, first + 5);
  bench.fetch(10, first + 300);
  bench.fetch(200, 5 * end);
  bench.scheduler.run(300);
  ASSERT_EQ(pages_of(bench.unit->table()), 1u);
  EXPECT_EQ(bench.unit->table()[0].count, 2u);
  for (const u32 slice : {0u, 1u}) {
    ASSERT_EQ(bench.commands[slice].seen.size(), 1u);
    const SliceCommand& command = bench.commands[slice].seen[0].what;
    EXPECT_EQ(command.kind, Kind::kDropRange);
    EXPECT_EQ(command.line, name(first));
    EXPECT_EQ(command.leading, name(end));
  }
  bench.tell(300, Notice::kDropped, first + 300);
  bench.scheduler.run(400);
  EXPECT_EQ(bench.asked_l1s[0].seen.size(), 0u) << "one is left";
  bench.tell(400, Notice::kDropped, first + 5);
  bench.run();
  EXPECT_EQ(bench.asked_l1s[0].times(), Times{400 + 2 * kLink});
  EXPECT_NE(bench.sent_at(5 * end), kNever);
}

// ---- Between cycles ----

TEST(FbtBench, ALineThatTheHostWroteToIsForgotten) {
  FbtBench bench(fully_associative(2));
  bench.fetch(0, line_of(3, 0));
  bench.fetch(1, line_of(3, 1));
  bench.run();
  bench.unit->forget_line(name(line_of(3, 0)), bench.scheduler.now());
  EXPECT_FALSE(bench.tracks(line_of(3, 0)));
  EXPECT_TRUE(bench.tracks(line_of(3, 1)));
}

TEST(FbtBench, APageThatMovesLosesItsEntry) {
  FbtBench bench(fully_associative(2));
  bench.fetch(0, line_of(3, 0));
  bench.run();
  bench.unit->forget_line(name(line_of(3, 0)), bench.scheduler.now());
  bench.unit->forget_page(bench.key(3), bench.scheduler.now());
  EXPECT_EQ(pages_of(bench.unit->table()), 0u);
  bench.same_as[3] = 77;
  bench.fetch(bench.scheduler.now(), line_of(3, 0));
  bench.run();
  EXPECT_EQ(bench.count(&FbtStats::new_pages), 2u);
  EXPECT_EQ(bench.unit->table()[bench.unit->table().by_page(bench.key(3))].frame, bench.frame_of(77));
}

TEST(FbtBench, APageThatMovesWhileItsLinesLeaveIsFetchedFromItsNewPlaceAfterwards) {
  FbtBench bench(fully_associative(2));
  bench.fetch(0, line_of(3, 0));
  bench.scheduler.run(100);
  bench.unit->forget_page(bench.key(3), bench.scheduler.now());
  bench.same_as[3] = 77;
  bench.fetch(100, line_of(3, 1));
  bench.tell(300, Notice::kDropped, line_of(3, 0));
  bench.run();
  const auto& seen = bench.sent[bench.map.slice_of(name(line_of(3, 1)))].seen;
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_GT(seen[0].at, 300u);
  EXPECT_EQ(seen[0].what.line, (PhysAddr{bench.frame_of(77).raw + kLineBytes}));
}

TEST(FbtBench, ALargePageThatMovesLosesTheEntriesOfAllItsParts) {
  FbtBench bench(fully_associative(4), {.page_shift = 16});
  for (const u64 part : {16u, 18u, 31u, 32u}) bench.fetch(part, line_of(part, 0));
  for (const u64 part : {16u, 18u, 31u, 32u}) bench.tell(200 + part, Notice::kDropped, line_of(part, 0));
  bench.run();
  bench.unit->forget_page(page_key(kTenant, 16, 1), bench.scheduler.now());
  EXPECT_EQ(pages_of(bench.unit->table()), 1u) << "the last one is of another page";
  EXPECT_NE(bench.unit->table().by_page(page_key(kTenant, 12, 32)), FbtTable::kNone);
}

// ---- Permissions, faults, and shootdowns that are waited for ----

TEST(FbtBench, LinesOfAReadOnlyPageSaySo) {
  FbtBench bench(fully_associative(4));
  bench.read_only = {1};
  bench.fetch(0, line_of(1, 3));
  bench.fetch(0, line_of(2, 3));
  bench.run();
  EXPECT_EQ(bench.sent_tag(line_of(1, 3)) & kReadOnlyPage, kReadOnlyPage);
  EXPECT_EQ(bench.sent_tag(line_of(2, 3)) & kReadOnlyPage, 0u);
}

TEST(FbtBench, AWriteWithAnOldPermissionIsGrantedByThePageTable) {
  FbtBench bench(fully_associative(4));
  bench.read_only = {1};
  bench.fetch(0, line_of(1, 3));
  bench.run();
  bench.read_only.clear();
  const Cycle now = bench.scheduler.now();
  bench.push(now + 10, {.line = kUnknownLine, .name = name(line_of(1, 3)), .for_write = true, .check = true});
  bench.fetch(now + 200, line_of(1, 4));
  bench.run();
  const u32 slice = bench.map.slice_of(name(line_of(1, 3)));
  ASSERT_EQ(bench.commands[slice].seen.size(), 1u);
  EXPECT_EQ(bench.commands[slice].seen[0].what.kind, Kind::kGrant);
  EXPECT_EQ(bench.count(&FbtStats::permission_checks), 1u);
  EXPECT_EQ(bench.sent_tag(line_of(1, 4)) & kReadOnlyPage, 0u) << "the entry knows from then on";
}

TEST(FbtBench, AQuestionForALineThatHasLeftFetchesIt) {
  FbtBench bench(fully_associative(4));
  bench.fetch(0, line_of(1, 3));
  bench.tell(100, Notice::kDropped, line_of(1, 3));
  bench.push(200, {.line = kUnknownLine, .name = name(line_of(1, 3)), .for_write = true, .check = true});
  bench.run();
  EXPECT_EQ(bench.sent_lines(), 2u);
  EXPECT_EQ(bench.count(&FbtStats::permission_checks), 0u);
}

TEST(FbtBench, AReadWriteSynonymIsReportedOnceWithBothAddresses) {
  FbtBench bench(fully_associative(4));
  bench.same_as[5] = 1;
  bench.fetch(0, line_of(1, 3));
  bench.fetch(100, line_of(5, 3), true);
  bench.fetch(101, line_of(5, 7), true);
  bench.run();
  const std::optional<SynonymFault> fault = bench.unit->take_fault();
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->tenant, kTenant);
  EXPECT_EQ(fault->va.raw, line_of(5, 3) * kLineBytes);
  EXPECT_EQ(fault->leading.raw, line_of(1, 3) * kLineBytes);
  EXPECT_TRUE(fault->write);
  EXPECT_FALSE(bench.unit->take_fault().has_value());
}

TEST(FbtBench, WordOfAWriteThatJoinedTheMissOfASynonymIsAFault) {
  FbtBench bench(fully_associative(4));
  bench.fetch(0, line_of(1, 3));
  bench.push(
      100,
      {.line = kUnknownLine, .name = name(line_of(1, 3)), .words = line_of(5, 3), .notice = Notice::kSynonymWrite});
  bench.run();
  const std::optional<SynonymFault> fault = bench.unit->take_fault();
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->va.raw, line_of(5, 3) * kLineBytes);
}

TEST(FbtBench, AShootdownThatIsWaitedForEndsWithItsAcknowledgement) {
  FbtBench bench(fully_associative(4), {.slices_obey = true});
  bench.fetch(0, line_of(1, 3));
  bench.run();
  bench.unit->shoot_down_and_wait(bench.key(1), bench.scheduler.now());
  bench.unit->shoot_down_and_wait(bench.key(2), bench.scheduler.now());
  EXPECT_TRUE(bench.unit->shooting_down(kTenant));
  EXPECT_FALSE(bench.unit->shooting_down(TenantId{0}));
  bench.scheduler.run(bench.scheduler.now() + 8);
  EXPECT_TRUE(bench.unit->shooting_down(kTenant)) << "its line is still in the L2";
  bench.run();
  EXPECT_FALSE(bench.unit->shooting_down(kTenant));
  EXPECT_EQ(pages_of(bench.unit->table()), 0u);
}

// ---- Who waits for whom ----

constexpr TenantId kOther{0};

/// A page of kTenant fills the table; a miss of the other tenant waits until it has left.
TEST(FbtBench, AMissThatWaitsForAPageToLeaveIsChargedToItsTenant) {
  FbtBench bench(fully_associative(1), {.slices_obey = true, .l1_cycles = 3});
  bench.unit->enable_blame(2);
  bench.fetch(0, line_of(2, 0));
  bench.fetch_of(kOther, 200, line_of(5, 0));
  bench.run();
  // The command to drop the line and word that it left, the question to the L1s and the second one's answer.
  constexpr Cycle kLeaves = (kLink + FbtBench::kObeys + kLink) + (kLink + 2 * 3 + kLink);
  EXPECT_EQ(bench.sent_at(line_of(5, 0)), 200 + FbtBench::kFetch + kLeaves);
  EXPECT_EQ(bench.blamed("pages", 0, 1), kLeaves);
  EXPECT_EQ(bench.blamed("pages", 0, 0), 0u);
  EXPECT_EQ(bench.blamed("pages", 0, -1), 0u);
  EXPECT_EQ(bench.blamed("pages", 1, 0) + bench.blamed("pages", 1, 1), 0u) << "it waits for nobody";
  EXPECT_EQ(bench.blamed("ports", 0, 1), 0u);
}

/// Both pages of the table leave, one of each tenant. Whoever comes then waits for either: in each cycle for another one.
TEST(FbtBench, AMissThatWaitsForAnyPageToLeaveIsChargedToTheTenantsOfAllThatDo) {
  FbtBench bench(fully_associative(2), {.slices_obey = true, .l1_cycles = 50});
  bench.unit->enable_blame(2);
  bench.fetch(0, line_of(2, 0));
  bench.fetch_of(kOther, 10, line_of(3, 0));
  bench.fetch(200, line_of(10, 0));
  bench.fetch(201, line_of(11, 0));
  bench.fetch_of(kOther, 202, line_of(12, 0));
  bench.run();
  const u64 mine = bench.blamed("pages", 0, 0), others = bench.blamed("pages", 0, 1);
  EXPECT_GT(mine, 0u);
  EXPECT_GT(others, 0u);
  EXPECT_EQ(bench.blamed("pages", 0, -1), 0u);
  EXPECT_GT(bench.blamed("pages", 1, 0), 0u) << "page 11 waits for page 3, the other tenant's";
  EXPECT_GT(bench.blamed("pages", 1, 1), 0u) << "and page 10 for page 2, its own";
}

TEST(FbtBench, AMissThatWaitsForItsOwnPageToLeaveIsChargedToItself) {
  FbtBench bench(fully_associative(2), {.slices_obey = true, .l1_cycles = 50});
  bench.unit->enable_blame(2);
  bench.fetch(0, line_of(2, 0));
  bench.run();
  const Cycle now = bench.scheduler.now();
  bench.unit->shoot_down(bench.key(2), now);
  bench.fetch(now, line_of(2, 1));
  bench.run();
  EXPECT_EQ(bench.blamed("pages", 1, 1), bench.sent_at(line_of(2, 1)) - (now + FbtBench::kFetch));
  EXPECT_GT(bench.blamed("pages", 1, 1), 0u);
  EXPECT_EQ(bench.blamed("pages", 1, 0) + bench.blamed("pages", 1, -1), 0u);
}

TEST(FbtBench, APortThatServesAnotherTenantIsChargedToIt) {
  FbtBench bench(fully_associative(4));
  bench.unit->enable_blame(2);
  bench.fetch(0, line_of(3, 0));
  bench.fetch(1, line_of(3, 1));
  bench.fetch_of(kOther, 100, line_of(5, 0));
  const Cycle due = 100 + FbtBench::kTranslated;
  bench.tell(due - kLink, Notice::kDropped, line_of(3, 0));
  bench.tell(due - kLink, Notice::kDropped, line_of(3, 1));
  bench.run();
  EXPECT_EQ(bench.blamed("ports", 0, 1), 2u) << "a cycle for word of each line";
  EXPECT_EQ(bench.blamed("ports", 0, 0) + bench.blamed("ports", 0, -1), 0u);
}

TEST(FbtBench, APortThatAnswersAFilteredProbeIsHeldByNobody) {
  FbtBench bench(fully_associative(4));
  bench.unit->enable_blame(2);
  bench.fetch(0, line_of(3, 0));
  bench.run();
  const Cycle now = bench.scheduler.now(), due = now + FbtBench::kTranslated;
  bench.fetch(now, line_of(3, 1));
  bench.scheduler.run(due);                              // up to the cycle before
  bench.unit->probe(bench.address(line_of(3, 2)), due);  // the L2 does not have it,
  bench.unit->probe(bench.address(line_of(9, 0)), due);  // nor any line of this page,
  bench.unit->probe(bench.address(line_of(3, 0)), due);  // but this one, of kTenant
  bench.run();
  EXPECT_EQ(bench.unit->stats.probes_filtered.value, 2u);
  EXPECT_EQ(bench.blamed("ports", 1, -1), 2u);
  EXPECT_EQ(bench.blamed("ports", 1, 1), 1u);
  EXPECT_EQ(bench.blamed("ports", 1, 0), 0u);
}

// ---- Checkpoints ----

/// Runs to that cycle; a CPU probes lines and shoots down pages on the way.
void run_with_cpu(FbtBench& bench, Cycle until) {
  const auto step = [&](Cycle at, auto&& act) {
    if (bench.scheduler.now() > at || at >= until) return;
    bench.scheduler.run(at);
    act(bench.scheduler.now());
  };
  for (const Cycle at : {90u, 91u, 130u, 210u, 320u})
    step(at, [&](Cycle now) { bench.unit->probe(bench.address(line_of(at % 3, at % 7)), now); });
  step(323, [&](Cycle now) { bench.unit->shoot_down_and_wait(bench.key(1), now); });
  step(324, [&](Cycle now) { bench.unit->shoot_down(bench.key(2), now); });
  step(470, [&](Cycle now) { bench.unit->shoot_down_all(now); });
  bench.scheduler.run(until);
}

TEST(FbtCheckpoint, SavedBeforeAnyCycleItGoesOnAsIfNothingHadBeen) {
  for (const bool merge : {false, true}) {
    FbtConfig config = fully_associative(4);
    config.second_level = true;
    config.merge_misses = merge;
    config.rw_synonyms = FbtConfig::RwSynonyms::kCount;
    const auto begin = [&] {
      auto bench = std::make_unique<FbtBench>(
          config, FbtBench::Options{.slices_obey = true, .l1_cycles = 9, .channel_places = 1, .notices = 2});
      bench->unit->enable_blame(2);
      bench->same_as[9] = 0;
      bench->sent[0].open = 150;
      Rng rng(4, "lines");
      Cycle at = 0;
      std::set<u64> asked;
      for (u32 i = 0; i < 120; ++i, at += rng.below(33)) {
        const u64 line = line_of(rng.below(4) == 0 ? 9 : rng.below(8), rng.below(kLinesPerPage));
        if (rng.below(5) == 0)
          bench->miss_in_tlb(at, rng.below(8));
        else if (asked.insert(line).second)
          bench->fetch(at, line, rng.below(4) == 0);  // a slice asks for a line once
      }
      return bench;
    };
    const auto whole = [](FbtBench& bench) {
      run_with_cpu(bench, 2'000);
      bench.run();
      return std::tuple(bench.statistics().csv(), state_of(bench.sent), state_of(bench.commands),
                        state_of(bench.asked_l1s), state_of(bench.asked_tlb), state_of(bench.asked_mmu),
                        state_of(bench.told_tlb));
    };
    const auto undisturbed = begin();
    const auto expected = whole(*undisturbed);
    EXPECT_GT(undisturbed->count(&FbtStats::synonyms), 3u);
    EXPECT_GT(undisturbed->count(&FbtStats::waits), 3u);
    EXPECT_GT(undisturbed->unit->stats.probes.value, 0u);
    EXPECT_GT(undisturbed->unit->stats.shootdowns_done.value, 0u);
    const Cycle last = undisturbed->scheduler.now();
    ASSERT_GT(last, 500u);
    for (Cycle at = 1; at < last; at += 7) {
      const auto first = begin(), second = begin();
      run_with_cpu(*first, at);
      copy_state(*first, *second);
      ASSERT_EQ(whole(*second), expected) << "saved before cycle " << at;
    }
  }
}

}  // namespace
}  // namespace terrace
