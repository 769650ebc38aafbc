// GPU virtual caching (ASPLOS'18): virtual L1 and L2 with a forward-backward table behind them, and every claim of the
// catalogue that the mechanism or the configuration alone can show. A test of a claim carries its name.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "benches/scripted.h"
#include "cache/l1_cache.h"
#include "cache/l2_slice.h"
#include "engine/rng.h"
#include "frontend/workload.h"
#include "papers/designs.h"
#include "papers/vc_cost.h"
#include "stats/stat_tree.h"
#include "support/fbt_pages.h"
#include "sweep/mix_lists.h"
#include "timing/crowd.h"
#include "timing/tenant_runs.h"
#include "translation/fbt.h"

namespace terrace {
namespace {

constexpr const char* kMachine = "vc_16cu";

// ---- A virtual L2 and its table ----

constexpr u32 kSlices = 2, kLineBytes = 128, kLinesPerPage = 32;
constexpr Cycle kTlb = 10, kMemory = 30;
constexpr TenantId kTenant{0};

class Interleaved final : public LineMap {
 public:
  u32 slice_of(LineKey line) const override { return (line.number() ^ line.number() / kLinesPerPage) % kSlices; }
  u32 channel_of(PhysAddr) const override { return 0; }
};

struct Small {
  u32 sms = 2, pages = 4, ways = 2, lines = 8;  // in the table, in a set of it, in a slice
};

/// Two slices of an L2 that calls lines by virtual names, and the table that translates what they miss. SMs ask for
/// lines, and may know a page by several names.
class VirtualL2 {
 public:
  explicit VirtualL2(Small small = {})
      : small_(small),
        requests_(scheduler, kNoc, small.sms, kSlices),
        replies_(scheduler, kNoc, kSlices, small.sms),
        to_tlb_(scheduler, kSlices, 1, 2),
        acknowledgements_(scheduler, small.sms, 1, 2),
        tlb_(scheduler, "tlb"),
        truth_(kLineBytes, [this](TenantId, VirtAddr va) { return address(va.raw / kLineBytes); }) {
    L2Config l2;
    l2.bytes = kSlices * small.lines * kLineBytes;
    l2.ways = 2;
    l2.slices = kSlices;
    l2.hit_cycles = 2;
    FbtConfig config;
    config.entries = small.pages;
    config.ways = small.ways;
    Fbt::Wiring wiring{.slices = {},
                       .mmus = {},
                       .sms = {},
                       .acknowledgements = acknowledgements_,
                       .map = map_,
                       .requests = to_tlb_,
                       .lines_per_slice = l2.miss_entries,
                       .notices_per_slice = l2.write_back_entries};
    for (u32 i = 0; i < kSlices; ++i) {
      ways_.push_back(std::make_unique<Way>(scheduler));
      wiring.slices.push_back({&ways_[i]->misses, {&ways_[i]->to_memory}, &ways_[i]->commands, &ways_[i]->pages});
    }
    for (u32 i = 0; i < small.sms; ++i) {
      invalidations_.push_back(std::make_unique<Link<PageInvalidation>>(scheduler, LinkShape{}));
      wiring.sms.push_back(invalidations_[i].get());
    }
    fbt = std::make_unique<Fbt>(scheduler, config, std::move(wiring));
    const UnitId table = scheduler.add(*fbt, "fbt");
    fbt->connect(table);
    for (u32 i = 0; i < kSlices; ++i) add_slice(i, l2, table);
    for (u32 to = 0; to < kSlices; ++to) {
      ways_[to]->replays.connect_consumer(units_[to]);
      for (u32 from = 0; from < kSlices; ++from) ways_[to]->replays.connect_producer(from, units_[from]);
    }
    for (u32 i = 0; i < small.sms; ++i) add_sm(i, table);
    add_tlb(table);
#ifdef TERRACE_DCHECK
    truth_.is_tracked = [this](LineKey line) { return fbt->tracks(line); };
#endif
  }

  void ask(Cycle at, u64 page, u64 place, bool write = false, u32 sm = 0) {
    sms_[sm]->at(at, [=, this](Cycle now) {
      const LineKey line = LineKey::of_tenant(kTenant, page * kLinesPerPage + place);
      const u32 slice = map_.slice_of(line);
      if (!requests_.can_send(sm, slice, now)) return false;
      const AccessRef ref = accesses_.make();
      Access& access = accesses_[ref];
      access.va = {line.number() * kLineBytes};
      access.tenant = kTenant;
      access.in_l1 = access.in_l2 = line;
      access.sm = SmId(static_cast<u16>(sm));
      access.port = static_cast<u16>(sm);
      access.kind = write ? AccessKind::kStore : AccessKind::kLoad;
      access.words = all_words(kLineBytes);
      truth_.sends(ref, truth_.asks(kTenant, access.va, access.sm, write));
      if (write) truth_.writes_line(kTenant, access.va, access.sm);
      requests_.send(sm, slice, now, ref, 1, kTenant);
      ++asked;
      return true;
    });
  }
  /// Runs to the end, and looks at the caches every few cycles.
  void run() {
    constexpr Cycle kStep = 7;
    for (Cycle next = scheduler.now() + kStep; next < 200'000; next += kStep) {
      const Scheduler::End end = scheduler.run(next);
      look();
      if (end == Scheduler::End::kIdle) break;
    }
    EXPECT_EQ(asked, answered) << scheduler.explain();
    EXPECT_EQ(accesses_.live(), 0u);
    EXPECT_TRUE(fbt->idle());
    StatTree tree(1);
    tree.add("fbt", fbt->stats);
    tree.check_identities();
  }
  PhysAddr address(u64 line) const {
    const auto other = same_as.find(line / kLinesPerPage);
    const u64 page = other == same_as.end() ? line / kLinesPerPage : other->second;
    return {(page + 100) * 4096 + line % kLinesPerPage * kLineBytes};
  }
  u64 count(PerTenant<Counter> FbtStats::* what) const { return (fbt->stats.*what)[kTenant].value; }

  Scheduler scheduler;
  std::map<u64, u64> same_as;  // pages that lie in the frame of another one
  std::unique_ptr<Fbt> fbt;
  u64 asked = 0, answered = 0;
  std::vector<LineKey> kept_as{};                  // the names under which lines came back
  u64 lines_seen = 0;                              // by `look`
  u32 untracked = 0, most_names = 0, too_few = 0;  // in the L2, at any time

 private:
  static constexpr NocConfig kNoc{.latency = 1, .flit_bytes = 256};
  struct Way {
    explicit Way(Scheduler& scheduler)
        : misses(scheduler, {}),
          to_memory(scheduler, {}),
          from_memory(scheduler, {}),
          commands(scheduler, {}),
          pages(scheduler, {}),
          replays(scheduler, kSlices, 1, 2),
          memory(scheduler, "memory") {}
    Link<DramRequest> misses, to_memory;
    Link<DramReply> from_memory;
    Link<SliceCommand> commands;
    Link<Translation> pages;
    Funnel<AccessRef> replays;
    Scripted memory;
    Inbox<DramRequest> arrived;
    Delay<DramReply> lines;
    Delay<Translation> translations;
  };

  void add_slice(u32 i, const L2Config& config, UnitId table) {
    Way& way = *ways_[i];
    L2Slice::Wiring::Names names{&way.commands, {}};
    for (const auto& other : ways_) names.replays.push_back(&other->replays);
    slices_.push_back(std::make_unique<L2Slice>(
        scheduler, config, kNoc, kLineBytes, accesses_,
        L2Slice::Wiring{requests_, replies_, i, {{&way.misses}, {&way.from_memory}}, map_, truth_, true, names, 1, 1},
        [](TenantId, u32, u64) {}));
    units_.push_back(scheduler.add(*slices_[i], "l2"));
    slices_[i]->connect(units_[i]);
    requests_.connect_output(i, units_[i]);
    replies_.connect_input(i, units_[i]);
    way.misses.connect(units_[i], table);
    way.commands.connect(table, units_[i]);
    way.to_memory.connect(table, way.memory.id());
    way.from_memory.connect(way.memory.id(), units_[i]);
    way.memory.always([this, &way](Cycle now) {
      const std::size_t before = way.arrived.seen.size();
      way.arrived.take(way.to_memory, now);
      for (std::size_t k = before; k < way.arrived.seen.size(); ++k) {
        const DramRequest& request = way.arrived.seen[k].what;
        if (request.line != address(request.name.number())) ADD_FAILURE() << "a line goes astray";
        if (request.write) {
          truth_.memory_takes(request.copy);
        } else {
          way.lines.push(now + kMemory,
                         {request.line, request.name, request.tag, request.tenant, truth_.memory_gives(request.line)});
        }
      }
      return way.lines.send(way.from_memory, now);
    });
  }
  void add_sm(u32 sm, UnitId table) {
    sms_.push_back(std::make_unique<Scripted>(scheduler, "sm"));
    Scripted& unit = *sms_[sm];
    requests_.connect_input(sm, unit.id());
    replies_.connect_output(sm, unit.id());
    invalidations_[sm]->connect(table, unit.id());
    acknowledgements_.connect_producer(sm, unit.id());
    acknowledgements_.connect_consumer(table);
    unit.always([this, sm](Cycle now) {
      replies_.absorb(sm, now);
      while (replies_.front(sm, now)) {
        const AccessRef ref = replies_.receive(sm, now);
        truth_.completes(ref, accesses_[ref]);
        kept_as.push_back(accesses_[ref].in_l2);
        accesses_.free(ref);
        ++answered;
      }
      while (invalidations_[sm]->front(now) && acknowledgements_.can_push(sm, now))
        acknowledgements_.push(sm, now, invalidations_[sm]->pop(now).id);
      return invalidations_[sm]->front(now) ? now + 1 : kNever;
    });
  }
  void add_tlb(UnitId table) {
    to_tlb_.connect_consumer(tlb_.id());
    for (u32 i = 0; i < kSlices; ++i) {
      to_tlb_.connect_producer(i, table);
      ways_[i]->pages.connect(tlb_.id(), table);
    }
    tlb_.always([this](Cycle now) {
      const std::size_t before = asked_tlb_.seen.size();
      Cycle next = asked_tlb_.take(to_tlb_, now);
      for (std::size_t i = before; i < asked_tlb_.seen.size(); ++i) {
        const TranslationRequest& request = asked_tlb_.seen[i].what;
        ways_[request.port]->translations.push(now + kTlb,
                                               {request.key, address(request.page * kLinesPerPage), {}, request.tag});
      }
      for (const auto& way : ways_) next = std::min(next, way->translations.send(way->pages, now));
      return next;
    });
  }
  void look() {
    std::map<u64, std::set<u64>> names;  // of each physical page
    std::map<u64, u32> lines;            // of each page by its name
    for (const auto& slice : slices_) {
      slice->each_line([&](LineKey line) {
        ++lines_seen;
        untracked += !fbt->tracks(line);
        names[address(line.number()).raw >> 12].insert(line.number() / kLinesPerPage);
        ++lines[line.number() / kLinesPerPage];
      });
    }
    for (const auto& [frame, its] : names) most_names = std::max(most_names, static_cast<u32>(its.size()));
    for (const auto& [page, its] : lines) {
      const u32 entry = fbt->table().by_page(page_key(kTenant, 12, page));
      too_few += entry == FbtTable::kNone || fbt->table()[entry].count < its;
    }
  }

  Small small_;
  Interleaved map_;
  AccessPool accesses_;
  Crossbar<AccessRef> requests_, replies_;
  Funnel<TranslationRequest> to_tlb_;
  Funnel<u32> acknowledgements_;
  Scripted tlb_;
  Inbox<TranslationRequest> asked_tlb_;
  LineTruth truth_;
  std::vector<std::unique_ptr<Way>> ways_;
  std::vector<std::unique_ptr<Link<PageInvalidation>>> invalidations_;
  std::vector<std::unique_ptr<L2Slice>> slices_;
  std::vector<UnitId> units_;
  std::vector<std::unique_ptr<Scripted>> sms_;
};

/// Loads and stores at random among `pages` pages of eight lines each.
void ask_at_random(VirtualL2& l2, u64 seed, u32 pages, u32 percent_writes) {
  Rng random(seed, "virtual l2");
  for (u32 i = 0; i < 4000; ++i) {
    const u64 drawn = random.next();
    l2.ask(i * 3, drawn % pages, drawn / 64 % 8, drawn / 4096 % 100 < percent_writes, drawn >> 60 & 1);
  }
}

TEST(Claim, vc_mech_fbt_inclusive) {
  for (u64 seed = 0; seed < 4; ++seed) {
    // More pages than the table holds, more lines than the L2 holds.
    VirtualL2 l2;
    ask_at_random(l2, seed, 12, 30);
    l2.run();
    EXPECT_GT(l2.lines_seen, 1000u);
    EXPECT_EQ(l2.untracked, 0u) << "a line is in the L2 without its bit";
    EXPECT_EQ(l2.too_few, 0u);
    EXPECT_GT(l2.fbt->stats.evictions.value, 100u);
    EXPECT_GT(l2.count(&FbtStats::write_backs), 100u) << "each at the address that the table had";
  }
}

/// Eight lines of a page are there, two of them written to. A probe takes one that is there; others do not reach the L2.
TEST(Claim, vc_mech_coherence_filter) {
  VirtualL2 l2;
  for (u64 line = 0; line < 8; ++line) l2.ask(line * 3, 1, line, line < 2, 0);
  l2.scheduler.run(2000);
  l2.fbt->probe(l2.address(kLinesPerPage + 1), 2000);  // there, written to
  l2.fbt->probe(l2.address(kLinesPerPage + 9), 2000);  // its page is there, it is not
  l2.fbt->probe(l2.address(7 * kLinesPerPage), 2000);  // nothing of its page is there
  l2.run();
  EXPECT_EQ(l2.fbt->stats.probes.value, 3u);
  EXPECT_EQ(l2.fbt->stats.probes_filtered.value, 2u);
  EXPECT_FALSE(l2.fbt->tracks(LineKey::of_tenant(kTenant, kLinesPerPage + 1)));
  EXPECT_TRUE(l2.fbt->tracks(LineKey::of_tenant(kTenant, kLinesPerPage + 2)))
      << "only the line that was asked for left";
  EXPECT_EQ(l2.count(&FbtStats::write_backs), 1u) << "at the address that the table has";
}

TEST(Claim, vc_mech_shootdown) {
  VirtualL2 l2;
  for (u64 line = 0; line < 4; ++line) l2.ask(line * 3, 1, line, line == 0, 0);
  for (u64 line = 0; line < 2; ++line) l2.ask(100 + line * 3, 2, line, false, 0);
  l2.scheduler.run(2000);
  l2.fbt->shoot_down(page_key(kTenant, 12, 1), 2000);
  l2.fbt->shoot_down(page_key(kTenant, 12, 5), 2000);
  l2.ask(2001, 1, 0, false, 0);  // while the page is locked
  l2.run();
  EXPECT_EQ(l2.fbt->stats.shootdowns_filtered.value, 1u) << "page 5 has no entry";
  EXPECT_EQ(l2.fbt->stats.shootdowns_done.value, 1u);
  EXPECT_EQ(l2.fbt->stats.evicted_lines.value, 4u) << "those of page 1, and no others";
  EXPECT_TRUE(l2.fbt->tracks(LineKey::of_tenant(kTenant, 2 * kLinesPerPage)));
  EXPECT_TRUE(l2.fbt->tracks(LineKey::of_tenant(kTenant, kLinesPerPage))) << "fetched again afterwards";
  EXPECT_FALSE(l2.fbt->tracks(LineKey::of_tenant(kTenant, kLinesPerPage + 1)));
  EXPECT_EQ(l2.fbt->stats.l1_checks.value, 2u) << "every L1, once";
  l2.fbt->shoot_down_all(l2.scheduler.now());
  l2.run();
  EXPECT_EQ(pages_of(l2.fbt->table()), 0u) << "all entries: the caches are empty";
}

TEST(Claim, vc_mech_leading_address) {
  for (u64 seed = 0; seed < 4; ++seed) {
    VirtualL2 l2;
    for (u64 page = 0; page < 8; ++page) l2.same_as[page + 8] = l2.same_as[page + 16] = page;
    ask_at_random(l2, seed, 24, 0);
    l2.run();
    EXPECT_GT(l2.count(&FbtStats::synonyms), 100u);
    EXPECT_EQ(l2.most_names, 1u) << "one name of each physical page is cached";
    EXPECT_EQ(l2.untracked, 0u);
  }
}

TEST(Claim, vc_mech_synonym_replay) {
  VirtualL2 l2;
  l2.same_as[5] = 1;
  l2.ask(0, 1, 0);    // page 1 leads
  l2.ask(200, 5, 0);  // its line is there: replayed
  l2.ask(400, 5, 3);  // it is not: fetched, and cached under the leading name
  l2.ask(600, 1, 3);  // so that this one hits
  l2.ask(800, 5, 3);  // and a synonym is replayed every time
  l2.run();
  const auto name = [](u64 place) { return LineKey::of_tenant(kTenant, kLinesPerPage + place); };
  EXPECT_EQ(l2.kept_as, (std::vector<LineKey>{name(0), name(0), name(3), name(3), name(3)}));
  EXPECT_EQ(l2.count(&FbtStats::synonyms), 3u);
  EXPECT_EQ(l2.count(&FbtStats::new_pages) + l2.count(&FbtStats::leading), 2u) << "lines that memory was asked for";
  EXPECT_EQ(pages_of(l2.fbt->table()), 1u);
}

TEST(Claim, vc_mech_rw_synonym_fault) {
  // An access is reported, by both names; whoever runs the machine ends the tenant (virtual_caches_test.cc).
  const auto faults = [](bool leading_writes, bool synonym_writes) {
    VirtualL2 l2;
    l2.same_as[5] = 1;
    l2.ask(0, 1, 0);
    if (leading_writes) l2.ask(200, 1, 0, true);  // a hit: the first write to a clean line is told of
    l2.ask(400, 5, 7, synonym_writes);
    l2.run();
    const std::optional<SynonymFault> fault = l2.fbt->take_fault();
    EXPECT_EQ(fault.has_value(), l2.count(&FbtStats::synonym_faults) > 0);
    if (fault) {
      EXPECT_EQ(fault->va.raw, (5 * kLinesPerPage + 7) * kLineBytes);
      EXPECT_EQ(fault->leading.raw, (1 * kLinesPerPage + 7) * kLineBytes);
      EXPECT_EQ(fault->write, synonym_writes);
    }
    return l2.count(&FbtStats::synonym_faults);
  };
  EXPECT_EQ(faults(false, false), 0u) << "read-only synonyms are fully supported";
  EXPECT_EQ(faults(true, false), 1u);
  EXPECT_EQ(faults(false, true), 1u);
  EXPECT_EQ(faults(true, true), 1u) << "an access is one fault";
}

// ---- Whole machines ----

/// Few pages in the table, few lines in the caches.
GpuConfig crowded_table(u32 entries, bool second_level) {
  GpuConfig config = crowded_gpu();
  config.translation = TranslateAt::kAfterL2;
  config.l2.slice_by = L2Config::SliceBy::kLine;
  config.mmu.walk_path.use = "memory";
  config.fbt.entries = entries;
  config.fbt.ways = 2;
  config.fbt.second_level = second_level;
  return config;
}

TEST(VirtualCaching, LinesUnderPressureHoldWhatTheyShould) {
  for (u64 seed = 0; seed < 6; ++seed) {
    GpuConfig config = crowded_table(seed < 3 ? 4 : 16, seed % 2 == 1);
    config.fbt.merge_misses = seed % 3 == 1;
    config.l1.filter_entries = seed == 2 ? 2 : 256;
    ScriptedTenants run(config, {crowd(seed, 2), crowd(seed + 100, 2)});
    ASSERT_NO_THROW(run.gpu().run({.relaunch = false})) << seed;
    run.gpu().stats().check_identities(!run.gpu().quiet());
    EXPECT_GT(run.gpu().stats().total("gpu.fbt.evictions").value(), 0u) << seed;
  }
}

TEST(VirtualCaching, PagesMayMoveBetweenLaunches) {
  for (const u32 entries : {4u, 32u}) {
    ScriptedTenants run(crowded_table(entries, true), {crowd(1, 3)});
    run.program(0).between_launches = [&] { move_buffer(*run.gpu().tenants()[0].memory); };
    EXPECT_NO_THROW(run.gpu().run({}));
  }
}

TEST(VirtualCaching, TheSmallestQueuesDoNotLock) {
  for (const char* design : {"vc_opt", "vc_no_opt"}) {
    std::vector<std::string> sets = tiny_queues();
    sets.push_back("fbt.entries=16");
    RunRequest request = tenant_run("bfs gups", sets, {design}, kMachine);
    request.check = true;
    EXPECT_TRUE(expect_laws(request, 3).checks_passed) << design;
  }
}

TEST(VirtualCaching, ProgramsPassTheirOwnChecksWithEveryDesign) {
  for (const char* design : {"ideal_mmu", "baseline_512", "baseline_16k", "baseline_128tlb_16k", "l1_vc_32",
                             "l1_vc_128", "vc_no_opt", "vc_opt"}) {
    RunRequest request = tenant_run("bfs mm fft", {}, {design}, kMachine);
    request.check = true;
    EXPECT_TRUE(expect_laws(request, 1).checks_passed) << design;
  }
}

TEST(VirtualCaching, LargePagesMayBePartsOrCounted) {
  for (const char* how : {"parts", "counter"}) {
    for (const char* bytes : {"65536", "2097152"}) {
      RunRequest request = tenant_run(
          "bfs gups", {fmt::format("pages.bytes={}", bytes), fmt::format("fbt.large_pages={}", how), "fbt.entries=16"},
          {"vc_no_opt"}, kMachine);
      request.check = true;
      EXPECT_TRUE(simulate(request).checks_passed) << how << " " << bytes;
    }
  }
}

TEST(Claim, vc_mech_no_translation_on_hit) {
  for (const char* design : {"vc_opt", "vc_no_opt"}) {
    // Two SMs load eight lines of as many pages 80 times: the first to come misses, all others hit in an L1 or in the L2.
    GpuConfig config = machine_with(kMachine, {design});
    config.sm.count = 2;
    ScriptedTenants run(config, {{.script = {{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {2}, {2}),
                                              [](const ScriptPlace& place, u32) {
                                                return GuestMemory::kBase + place.round % 8 * u64{4096 + 128};
                                              }}},
                                  .rounds = 80,
                                  .blocks = 2}});
    run.gpu().run({});
    const auto sum = [&](const std::string& name) { return run.gpu().stats().total(name).value(); };
    EXPECT_EQ(sum("gpu.l2_tlb.0.lookups"), 8u) << design;
    EXPECT_EQ(sum("gpu.sm.0.l1.loads") + sum("gpu.sm.1.l1.loads"), 160u);
    EXPECT_FALSE(run.gpu().stats().total("gpu.sm.0.l1_tlb.lookups").has_value()) << "there are no per-CU TLBs";
  }
}

TEST(Claim, vc_mech_l1_invalidation_filter) {
  L1Cache l1({.bytes = 1024, .ways = 8, .miss_entries = 4, .miss_merges = 2}, kLineBytes);
  l1.keep_filter(8, 5);
  const auto line = [](u64 page) { return LineKey::of_tenant(kTenant, page * kLinesPerPage); };
  for (u64 page = 1; page <= 3; ++page) {
    l1.load(line(page), L1Cache::Outcome::kMiss, {}, kTenant);
    l1.fill(line(page), line(page), {}, [](const L1Cache::Waiter&) {});
  }
  l1.drop_page(line(7));
  EXPECT_EQ(l1.look(line(1)), L1Cache::Outcome::kHit) << "no match: nothing happens";
  l1.drop_page(line(2));
  for (u64 page = 1; page <= 3; ++page) EXPECT_EQ(l1.look(line(page)), L1Cache::Outcome::kMiss) << "a match: all go";

  // In a machine every L1 is asked about every page that leaves the table.
  ScriptedTenants run(crowded_table(4, false), {crowd(1)});
  run.gpu().run({.relaunch = false});
  const auto sum = [&](const std::string& name) { return run.gpu().stats().total(name).value(); };
  u64 checks = 0, matches = 0, invalidations = 0;
  for (u32 sm = 0; sm < 4; ++sm) {
    checks += sum(fmt::format("gpu.sm.{}.l1.filter.checks", sm));
    matches += sum(fmt::format("gpu.sm.{}.l1.filter.matches", sm));
    invalidations += sum(fmt::format("gpu.sm.{}.l1.invalidations", sm));
  }
  EXPECT_EQ(checks, 4 * sum("gpu.fbt.evictions"));
  EXPECT_GT(matches, 0u);
  EXPECT_LT(matches, checks) << "some L1s have nothing of the page, and keep their lines";
  EXPECT_GE(invalidations, matches);
}

// ---- Configuration and cost ----

TEST(Claim, vc_mech_latencies) {
  for (const char* design : {"vc_opt", "vc_no_opt"}) {
    const GpuConfig c = machine_with(kMachine, {design});
    EXPECT_EQ(c.fbt.link_cycles, 10u) << "from the L2";
    EXPECT_EQ(c.fbt.cycles, 5u) << "for a look-up";
    EXPECT_EQ(c.fbt.ports, 1u) << "chosen (VC-A4)";
    // That an access takes no longer than that: FbtBench.
  }
  // A baseline's way to the IOMMU takes as long (VC-A4).
  EXPECT_EQ(machine_with(kMachine, {"baseline_512"}).l2_tlb.link_cycles, 10u);
}

TEST(Claim, vc_table1_config) {
  // Its CPU is not part of the machine.
  const GpuConfig c = machine_with(kMachine, {"baseline_512"});
  EXPECT_EQ(c.sm.count, 16u);
  EXPECT_EQ(c.sm.schedulers * c.sm.warp_width, 32u) << "lanes";
  EXPECT_EQ(c.core_mhz, 700u);
  EXPECT_EQ(c.l1.bytes, 32u << 10);
  EXPECT_EQ(c.l2.bytes, 2u << 20);
  EXPECT_EQ(c.l2.slices, 8u);
  EXPECT_EQ(c.line_bytes, 128u);
  EXPECT_EQ(c.l1_tlb.entries, 32u);
  EXPECT_EQ(c.pages.bytes, 4096u);
  EXPECT_EQ(c.l2_tlb.entries, 512u);
  EXPECT_EQ(machine_with(kMachine, {"baseline_16k"}).l2_tlb.entries, 16384u);
  EXPECT_EQ(c.l2_tlb.ports, 1u) << "one access per cycle";
  EXPECT_EQ(c.mmu.walkers, 16u);
  EXPECT_EQ(c.mmu.walk_cache.entries * 8, 8u << 10) << "8 KB of 8-byte entries";
  EXPECT_EQ(c.mmu.walk_cache.kind, WalkCacheConfig::Kind::kShared) << "of all levels,";
  EXPECT_TRUE(c.mmu.walk_cache.leaf) << "leaves among them: a physical cache";
  constexpr u32 kTransfersPerClock = 4;  // GDDR5
  EXPECT_EQ(u64{c.dram.channels} * c.dram.bus_bits / 8 * c.dram.clock_mhz * kTransfersPerClock, 192'000u) << "MB/s";
  EXPECT_EQ(c.l1_tlb.look_up, L1TlbConfig::LookUp::kLine) << "each line request is translated";
  EXPECT_FALSE(c.l1_tlb.merge_misses);
}

TEST(Claim, vc_table2_designs) {
  struct Row {
    const char* design;
    TranslateAt at;
    u32 per_cu, shared, fbt;
    bool second_level;
  };
  for (const Row& row : {Row{"baseline_512", TranslateAt::kBeforeL1, 32, 512, 0, false},
                         Row{"baseline_16k", TranslateAt::kBeforeL1, 32, 16384, 0, false},
                         Row{"baseline_128tlb_16k", TranslateAt::kBeforeL1, 128, 16384, 0, false},
                         Row{"l1_vc_32", TranslateAt::kAfterL1, 32, 16384, 0, false},
                         Row{"l1_vc_128", TranslateAt::kAfterL1, 128, 16384, 0, false},
                         Row{"vc_no_opt", TranslateAt::kAfterL2, 0, 512, 16384, false},
                         Row{"vc_opt", TranslateAt::kAfterL2, 0, 512, 16384, true}}) {
    const GpuConfig c = machine_with(kMachine, {row.design});
    EXPECT_EQ(c.translation, row.at) << row.design;
    if (row.per_cu > 0) {
      EXPECT_EQ(c.l1_tlb.entries, row.per_cu) << row.design;
    }
    if (row.per_cu == 128) {
      EXPECT_EQ(c.l1_tlb.ways, 0u) << row.design << ": fully associative";
    }
    EXPECT_EQ(c.l2_tlb.entries, row.shared) << row.design;
    EXPECT_EQ(c.l2_tlb.ports, 1u) << row.design;
    EXPECT_EQ(c.fbt.entries, row.fbt) << row.design;
    EXPECT_EQ(c.fbt.second_level, row.second_level) << row.design;
    EXPECT_EQ(c.mmu.walkers, 16u) << row.design;
  }
  EXPECT_EQ(machine_with(kMachine, {"ideal_mmu"}).translation, TranslateAt::kNowhere) << "every page is known at once";
}

TEST(Claim, vc_sec5_workloads) {
  std::map<std::string, std::vector<std::string>> lists;  // names by list
  for (const MixList& list : read_mix_lists({source_folder() + "/configs/sets/vc.toml", "configs/sets/vc.toml"})) {
    for (const std::vector<std::string>& mix : list.mixes) {
      ASSERT_EQ(mix.size(), 1u) << "each runs alone";
      lists[list.name].push_back(parse_workload(mix.front(), InputSize::kPaper).name);
    }
  }
  // The suite and the paper's name for each; the eighth of Pannotia is chosen (VC-A9).
  const std::set<std::string> printed_high{
      "Pannotia bc",  "Pannotia color_max", "Pannotia color_maxmin",  "Pannotia fw", "Pannotia fw_block",
      "Pannotia mis", "Pannotia pagerank",  "Pannotia pagerank_spmv", "Rodinia bfs", "Rodinia lud"};
  const std::set<std::string> printed_low{"Rodinia kmeans", "Rodinia backprop", "Rodinia hotspot", "Rodinia nw",
                                          "Rodinia pathfinder"};
  const auto origins = [&](const std::string& list) {
    std::set<std::string> all;
    for (const std::string& name : lists.at(list)) all.emplace(find_workload(name).info().origin);
    EXPECT_EQ(all.size(), lists.at(list).size()) << list << ": a program stands twice";
    return all;
  };
  const std::set<std::string> all = origins("applications");
  EXPECT_EQ(all.size(), 15u);
  EXPECT_EQ(origins("high"), printed_high);
  EXPECT_EQ(origins("low"), printed_low);
  EXPECT_EQ(printed_high.size(), 10u);
  EXPECT_EQ(printed_low.size(), 5u);
  const auto of_suite = [&](const std::string& suite) {
    return std::ranges::count_if(all, [&](const std::string& origin) { return origin.starts_with(suite + " "); });
  };
  EXPECT_EQ(of_suite("Pannotia"), 8);
  EXPECT_EQ(of_suite("Rodinia"), 7);
  std::set<std::string> both = printed_high;
  both.insert(printed_low.begin(), printed_low.end());
  EXPECT_EQ(all, both);
}

TEST(Claim, vc_cost_fbt_entries) {
  const GpuConfig c = machine_with(kMachine, {"vc_opt"});
  EXPECT_EQ(c.fbt.entries, 16384u);
  EXPECT_EQ(c.fbt.entries, c.l2.bytes / c.line_bytes) << "a page for each line of the L2";
  EXPECT_EQ(u64{c.fbt.entries} * c.pages.bytes, u64{64} << 20) << "its reach";
}

TEST(Claim, vc_cost_bt) {
  const VcCost cost = vc_cost(machine_with(kMachine, {"vc_opt"}));
  EXPECT_EQ(cost.backward_bits, 25u + 36 + 32 + 2);
  EXPECT_EQ(cost.backward_bytes(), 190u << 10);
}

TEST(Claim, vc_cost_ft) {
  const VcCost cost = vc_cost(machine_with(kMachine, {"vc_opt"}));
  EXPECT_EQ(cost.forward_bits, 25u + 14 + 1);
  EXPECT_EQ(cost.forward_bytes(), 80u << 10);
}

TEST(Claim, vc_cost_fbt_total) {
  const GpuConfig c = machine_with(kMachine, {"vc_opt"});
  const VcCost cost = vc_cost(c);
  EXPECT_EQ(cost.table_bytes(), 270u << 10);
  const double caches = c.l2.bytes + double{1} * c.sm.count * c.l1.bytes;
  EXPECT_NEAR(100 * static_cast<double>(cost.table_bytes()) / caches, 10.5, 0.1) << "derived (VC-A5)";
  EXPECT_NEAR(100 * static_cast<double>(cost.backward_bytes()) / caches, 7.5, 0.1)
      << "printed: the backward table alone";
}

TEST(Claim, vc_cost_l1_filter) {
  const GpuConfig c = machine_with(kMachine, {"vc_opt"});
  EXPECT_EQ(c.l1.filter_entries, c.l1.bytes / c.line_bytes) << "a page for each line";
  const double bytes = c.l1.filter_entries * vc_cost(c).filter_bits / 8.0;
  EXPECT_NEAR(bytes, 1024, 50) << "printed as 1 KB";
  EXPECT_NEAR(100 * bytes / c.l1.bytes, 3.1, 0.15) << "printed as less than 3 % (VC-A5)";
}

TEST(Claim, vc_cost_line_metadata) {
  const GpuConfig c = machine_with(kMachine, {"vc_opt"});
  EXPECT_NEAR(100.0 * vc_cost(c).metadata_bits / (c.line_bytes * 8), 1.0, 0.1);
}

TEST(Claim, vc_mech_large_pages) {
  const GpuConfig c = machine_with(kMachine, {"vc_opt"});
  EXPECT_EQ(line_vector_bits(u64{2} << 20, c.line_bytes), 16384u);
  EXPECT_FALSE(FbtTable(8, 8, 21, 7).has_vectors()) << "counted instead,";
  EXPECT_EQ(c.fbt.table_page_shift(21), 12u) << "or divided into parts of 4 KB";
}

}  // namespace
}  // namespace terrace
