// The stage that translates behind an L2 slice, alone: a slice that fetches and writes back on one side, memory channels
// and an L2 TLB of a fixed latency on the other.
// SPDX-License-Identifier: MIT
#include "translation/miss_translator.h"

#include <gtest/gtest.h>

#include <memory>

#include "benches/scripted.h"
#include "engine/rng.h"
#include "stats/stat_tree.h"
#include "support/part_state.h"

namespace terrace {
namespace {

constexpr u32 kLineBytes = 128, kLinesPerPage = 32;
constexpr Cycle kLink = 1, kTlb = 30;
constexpr TenantId kTenant{1};

PhysAddr frame_of(u64 page) {
  return {(page + 1000) << 12};
}

class MissTranslatorBench {
 public:
  struct Options {
    u32 channels = 1;
    u32 channel_places = 0;
    u32 tlb_places = 8;
    u32 lines = 8;
    u32 write_backs = 2;
  };
  MissTranslatorBench() : MissTranslatorBench(Options{}) {}
  explicit MissTranslatorBench(const Options& options)
      : from_slice(scheduler, {.latency = kLink, .capacity = 16}),
        requests(scheduler, 3, kLink, options.tlb_places),
        answers(scheduler, {.latency = kLink}),
        map(kLineBytes, options.channels),
        sent(options.channels),
        slice_(scheduler, "slice"),
        tlb_(scheduler, "tlb") {
    std::vector<Link<DramRequest>*> links;
    for (u32 i = 0; i < options.channels; ++i) {
      channels_.push_back(std::make_unique<Link<DramRequest>>(
          scheduler, LinkShape{.latency = kLink, .capacity = options.channel_places}));
      links.push_back(channels_[i].get());
    }
    unit = std::make_unique<MissTranslator>(MissTranslator::Wiring{.from_slice = from_slice,
                                                                   .channels = links,
                                                                   .map = map,
                                                                   .requests = requests,
                                                                   .answers = answers,
                                                                   .port = 2,
                                                                   .lines = options.lines,
                                                                   .write_backs = options.write_backs});
    const UnitId id = scheduler.add(*unit, "translator");
    from_slice.connect(slice_.id(), id);
    requests.connect_producer(2, id);
    requests.connect_consumer(tlb_.id());
    answers.connect(tlb_.id(), id);
    for (u32 i = 0; i < options.channels; ++i) {
      memory_.push_back(std::make_unique<Scripted>(scheduler, "memory"));
      channels_[i]->connect(id, memory_[i]->id());
      memory_[i]->always([this, i](Cycle now) { return sent[i].take(*channels_[i], now); });
    }
    tlb_.always([this](Cycle now) {
      const std::size_t before = asked.seen.size();
      const Cycle opens = asked.take(requests, now);
      for (std::size_t i = before; i < asked.seen.size(); ++i) {
        const TranslationRequest& request = asked.seen[i].what;
        delay_.push(now + kTlb, {request.key, frame_of(request.page), {}});
      }
      return std::min(opens, delay_.send(answers, now));
    });
  }
  void push(Cycle at, const DramRequest& request) {
    slice_.at(at, [=, this](Cycle now) {
      if (!from_slice.can_push(now)) return false;
      from_slice.push(now, request);
      return true;
    });
  }
  /// A fetch of a line of the tenant's virtual memory.
  void fetch(Cycle at, u64 line, u32 tag = 0) {
    push(at, {.line = kUnknownLine, .name = LineKey::of_tenant(kTenant, line), .tag = tag, .tenant = kTenant});
  }
  void fetch_physical(Cycle at, u64 line) {
    push(at, {.line = {line * kLineBytes}, .name = LineKey::physical(line), .tenant = kTenant});
  }
  void write_back(Cycle at, u64 line) {
    push(at, {.line = {line * kLineBytes}, .name = LineKey::of_tenant(kTenant, 1), .tenant = kTenant, .write = true});
  }
  void run() {
    scheduler.run(100'000);
    statistics().check_identities();
    EXPECT_TRUE(slice_.finished()) << scheduler.explain();
  }
  StatTree statistics() {
    StatTree tree(2);
    tree.add("translator", unit->stats);
    return tree;
  }
  void archive(Archive& a) {
    StatTree tree = statistics();
    a(scheduler, from_slice, requests, answers, *unit, tree, sent, asked, slice_, tlb_, channels_, delay_);
    for (const auto& channel : memory_) a(*channel);
  }
  std::vector<u64> addresses(u32 channel = 0) const {
    std::vector<u64> all;
    for (const auto& arrival : sent[channel].seen) all.push_back(arrival.what.line.raw);
    return all;
  }
  static constexpr Cycle kPass = 2 * kLink, kTranslated = 4 * kLink + kTlb;

  Scheduler scheduler;
  Link<DramRequest> from_slice;
  Funnel<TranslationRequest> requests;
  Link<Translation> answers;
  BenchMap map;
  std::vector<Inbox<DramRequest>> sent;  // by channel
  Inbox<TranslationRequest> asked;
  std::unique_ptr<MissTranslator> unit;

 private:
  Scripted slice_, tlb_;
  std::vector<std::unique_ptr<Link<DramRequest>>> channels_;
  std::vector<std::unique_ptr<Scripted>> memory_;
  Delay<Translation> delay_;
};

using Times = std::vector<Cycle>;
using Addresses = std::vector<u64>;

TEST(MissTranslatorBench, WhatKnowsItsAddressPassesAtOnce) {
  MissTranslatorBench bench;
  bench.fetch_physical(5, 7);
  bench.write_back(10, 9);
  bench.run();
  EXPECT_EQ(bench.sent[0].times(), (Times{5 + MissTranslatorBench::kPass, 10 + MissTranslatorBench::kPass}));
  EXPECT_EQ(bench.asked.seen.size(), 0u);
}

TEST(MissTranslatorBench, AFetchWithAVirtualNameAsksForItsPageAndGoesOnWhenItIsKnown) {
  MissTranslatorBench bench;
  bench.fetch(5, 3 * kLinesPerPage + 4);
  bench.run();
  ASSERT_EQ(bench.asked.times(), Times{5 + 2 * kLink});
  EXPECT_EQ(bench.asked.seen[0].what.page, 3u);
  EXPECT_EQ(bench.sent[0].times(), Times{5 + MissTranslatorBench::kTranslated});
  EXPECT_EQ(bench.addresses(), Addresses{frame_of(3).raw + 4 * kLineBytes});
}

TEST(MissTranslatorBench, TheQuestionNamesTheTenantTheWarpAndThePort) {
  MissTranslatorBench bench;
  bench.fetch(0, 5, asker_tag(SmId{9}, 17));
  bench.run();
  ASSERT_EQ(bench.asked.seen.size(), 1u);
  const TranslationRequest& request = bench.asked.seen[0].what;
  EXPECT_EQ(request.key, page_key(kTenant, 12, 0));
  EXPECT_EQ(request.port, 2);
  EXPECT_EQ(index(request.sm), 9);
  EXPECT_EQ(request.warp, 17);
  EXPECT_EQ(request.tenant, kTenant);
}

TEST(MissTranslatorBench, LinesOfOnePageShareAQuestionAndKeepTheirOrder) {
  MissTranslatorBench bench;
  for (u64 line = 0; line < 3; ++line) bench.fetch(line, line);
  bench.run();
  EXPECT_EQ(bench.asked.seen.size(), 1u);
  EXPECT_EQ(bench.addresses(),
            (Addresses{frame_of(0).raw, frame_of(0).raw + kLineBytes, frame_of(0).raw + 2 * kLineBytes}));
}

TEST(MissTranslatorBench, ALineThatWaitsForItsPageHoldsUpNothingBehindIt) {
  MissTranslatorBench bench;
  bench.fetch(0, 0);
  bench.fetch_physical(1, 7);
  bench.run();
  EXPECT_EQ(bench.addresses(), (Addresses{7 * kLineBytes, frame_of(0).raw}));
  EXPECT_EQ(bench.sent[0].seen[0].at, 1 + MissTranslatorBench::kPass);
}

TEST(MissTranslatorBench, TheAddressDecidesTheChannel) {
  MissTranslatorBench bench({.channels = 2});
  bench.fetch(0, 1);
  bench.fetch_physical(1, 2);
  bench.run();
  EXPECT_EQ(bench.addresses(1), Addresses{frame_of(0).raw + kLineBytes});
  EXPECT_EQ(bench.addresses(0), Addresses{2 * kLineBytes});
}

TEST(MissTranslatorBench, AQuestionWaitsForItsPlaceAtTheL2Tlb) {
  MissTranslatorBench bench({.tlb_places = 1});
  bench.asked.open = 200;
  bench.fetch(0, 0);
  bench.fetch(1, kLinesPerPage);
  bench.run();
  EXPECT_EQ(bench.asked.times(), (Times{200, 201 + kLink}));
}

TEST(MissTranslatorBench, WhenTooManyKnownRequestsWaitTheSliceIsHeldUp) {
  MissTranslatorBench bench({.channel_places = 1, .write_backs = 2});
  bench.sent[0].open = 200;
  for (u64 line = 0; line < 5; ++line) bench.write_back(line, line);
  bench.scheduler.run(100);
  // One on the link to memory, two here, two still on the link from the slice.
  EXPECT_EQ(bench.from_slice.size(), 2u);
  bench.run();
  EXPECT_EQ(bench.addresses().size(), 5u);
}

TEST(MissTranslatorBench, FetchesThatComeToKnowTheirAddressFindTheirPlacesThenToo) {
  MissTranslatorBench bench({.channel_places = 1, .lines = 3, .write_backs = 1});
  bench.sent[0].open = 200;
  for (u64 line = 0; line < 3; ++line) bench.fetch(line, line);
  bench.write_back(3, 100);
  bench.write_back(4, 101);
  bench.run();
  EXPECT_EQ(bench.addresses().size(), 5u);
  EXPECT_EQ(bench.unit->stats.answers[kTenant].value, 1u);
}

TEST(MissTranslatorCheckpoint, SavedBeforeAnyCycleItGoesOnAsIfNothingHadBeen) {
  const auto begin = [] {
    auto bench = std::make_unique<MissTranslatorBench>(
        MissTranslatorBench::Options{.channels = 2, .channel_places = 1, .tlb_places = 1, .lines = 8});
    bench->asked.open = 40;
    bench->sent[1].open = 120;
    Rng rng(3, "lines");
    Cycle at = 0;
    u32 fetches = 0;
    for (u32 i = 0; i < 60; ++i, at += rng.below(6)) {
      switch (rng.below(3)) {
        case 0:
          bench->fetch(at, rng.below(4) * kLinesPerPage + rng.below(kLinesPerPage), i);
          if (++fetches % 8 == 0) at += 200;  // no more at a time than the slice may
          break;
        case 1:
          bench->fetch_physical(at, rng.below(100));
          break;
        default:
          bench->write_back(at, rng.below(100));
          break;
      }
    }
    return bench;
  };
  const auto whole = [](MissTranslatorBench& bench) {
    bench.run();
    return std::tuple(bench.statistics().csv(), state_of(bench.sent), state_of(bench.asked));
  };
  const auto undisturbed = begin();
  const auto expected = whole(*undisturbed);
  const Cycle last = undisturbed->scheduler.now();
  ASSERT_GT(last, 200u);
  for (Cycle at = 1; at < last; ++at) {
    const auto first = begin(), second = begin();
    first->scheduler.run(at);
    copy_state(*first, *second);
    ASSERT_EQ(whole(*second), expected) << "saved before cycle " << at;
  }
}

}  // namespace
}  // namespace terrace
