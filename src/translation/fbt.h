// Translation behind a virtual L2 with a forward-backward table (ASPLOS'18 §4): where misses of the L2 arrive. Each one is
// translated by the L2 TLB and looked up in the table by physical page. The first virtual page that touches a physical one
// leads: all its lines are cached under that name. A miss under another name (a synonym) is replayed under the leading one.
// Slices tell the table of every line that leaves them, so that it knows what they hold; a line that was written to goes to
// memory at the address that the table has. When a page must make room in the table, its lines leave the L2 first, then
// the L1s that hold some of it are emptied; until then nothing of the page is fetched.
//
// A table access takes a port for a cycle and `fbt.cycles` cycles. What slices tell goes before look-ups: a line is never
// fetched before word that it left. What a CPU asks for depends on that order nowhere, so that its place is a choice
// (`fbt.priority`).
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "blame/parking.h"
#include "blame/waiting.h"
#include "engine/archive.h"
#include "engine/funnel.h"
#include "engine/link.h"
#include "engine/miss_table.h"
#include "engine/pool.h"
#include "engine/ring.h"
#include "engine/scheduler.h"
#include "stats/stat_fields.h"
#include "translation/config.h"
#include "translation/fbt_table.h"
#include "wire/dram.h"
#include "wire/fault_list.h"
#include "wire/fbt.h"
#include "wire/line_map.h"
#include "wire/line_truth.h"
#include "wire/translate.h"

namespace terrace {

struct FbtStats {
  PerTenant<Counter> fetches, write_backs, dropped, written, requests, answers;
  PerTenant<Counter> leading, new_pages, synonyms, synonym_faults, waits, permission_checks;
  PerTenant<Counter> forward_lookups, forward_hits;
  Counter evictions, evicted_lines, l1_checks;
  Counter probes, probes_filtered, shootdowns, shootdowns_filtered, shootdowns_done, shootdown_cycles, flushes;
  void describe(StatFields& v) {
    v("fetches", fetches, "lines", "misses of the L2");
    v("write_backs", write_backs, "lines", "lines that were written to and left the L2");
    v("dropped", dropped, "lines", "lines that left the L2 unchanged");
    v("written", written, "lines", "first writes to lines of the L2");
    v("requests", requests, "pages", "requests to the L2 TLB");
    v("answers", answers, "pages", "answers of the L2 TLB");
    v("leading", leading, "lines", "look-ups that found their own page leading");
    v("new_pages", new_pages, "pages", "look-ups that found no entry: their page leads from then on");
    v("synonyms", synonyms, "lines", "look-ups that found another page leading, and were replayed under its name");
    v("synonym_faults", synonym_faults, "lines", "of those, accesses to a page that was written to, and writes");
    v("waits", waits, "lines", "look-ups that waited for a page to leave the table");
    v("permission_checks", permission_checks, "lines",
      "writes to lines of the L2 whose permission was out of date, permitted by the page table");
    v("forward_lookups", forward_lookups, "pages", "misses of the L2 TLB looked up in the forward table");
    v("forward_hits", forward_hits, "pages", "of those, hits, which need no walk");
    v("evictions", evictions, "pages", "pages evicted from the table");
    v("evicted_lines", evicted_lines, "lines", "lines that left the L2 with them");
    v("l1_checks", l1_checks, "times", "times an L1 was asked whether it holds lines of such a page");
    v("probes", probes, "lines", "coherence probes of a CPU");
    v("probes_filtered", probes_filtered, "lines", "of those, probes for lines that the L2 does not have");
    v("shootdowns", shootdowns, "pages", "shootdowns of pages");
    v("shootdowns_filtered", shootdowns_filtered, "pages", "of those, pages without an entry, acknowledged at once");
    v("shootdowns_done", shootdowns_done, "pages", "the others, when no cache had lines of the page any more");
    v("shootdown_cycles", shootdown_cycles, "cycles", "from the look-up of a shootdown to its acknowledgement, summed");
    v("flushes", flushes, "times", "shootdowns of all pages, each of which counts as one of every page");
    v.identity("every shootdown is acknowledged", sum(shootdowns), sum(shootdowns_filtered, shootdowns_done));
    v.ratio("forward_hit_rate", sum(forward_hits), sum(forward_lookups), "hits per look-up in the forward table");
    v.identity("every translation arrives", sum(requests), sum(answers));
    v.identity("every miss finds its page, makes it lead or is replayed", sum(fetches),
               sum(leading, new_pages, synonyms, permission_checks));
  }
};

/// An access that read-write synonyms make impossible to carry out: by line addresses of a tenant.
struct SynonymFault {
  TenantId tenant{};
  VirtAddr va;       // that was asked for
  VirtAddr leading;  // under which it is cached
  bool write = false;
};

class Fbt final : public Unit {
 public:
  /// Between a slice and its memory channels.
  struct SlicePort {
    Link<DramRequest>* from_slice;
    std::vector<Link<DramRequest>*> channels;
    Link<SliceCommand>* commands;
    Link<Translation>* answers;  // of the L2 TLB to the port of this number
  };
  /// Between the L2 TLB and an MMU, if the forward table is looked up first.
  struct MmuPort {
    Funnel<TranslationRequest>* from_tlb;
    Funnel<TranslationRequest>* to_mmu;
    Link<Translation>* to_tlb;
  };
  struct Wiring {
    std::vector<SlicePort> slices;
    std::vector<MmuPort> mmus;
    std::vector<Link<PageInvalidation>*> sms;  // where each hears of pages that go
    Funnel<u32>& acknowledgements;             // an input for each SM
    const LineMap& map;
    Funnel<TranslationRequest>& requests;  // an input for each slice
    u32 lines_per_slice = 1;               // that a slice fetches at a time, at most
    u32 notices_per_slice = 1;             // lines on their way out that wait here
    u32 line_shift = 7;
    u32 page_shift = 12;
    /// What the page table says of a page of that size: may kernels write to it? All may be when nobody says.
    std::function<bool(TenantId tenant, VirtAddr page)> writable = {};
    const LineTruth* truth = nullptr;  // may be none
  };
  Fbt(Scheduler& scheduler, const FbtConfig& config, Wiring wiring);
  void connect(UnitId self) { self_ = self; }

  Cycle tick(Cycle now) override;
  void explain(std::ostream& out) const override;

  // Between cycles only.
  /// A slice forgot this line; nothing of it is under way.
  void forget_line(LineKey line, Cycle now);
  /// The page lies elsewhere, or nowhere, from now on. Nothing of it is in the L2, or asked for.
  void forget_page(u64 key, Cycle now);
  /// A CPU takes a line of memory for itself: if the L2 has it, it leaves. What was written to it goes to memory first.
  void probe(PhysAddr line, Cycle now);
  /// The mapping or the permissions of a page change: its lines leave all caches, and nothing of it is fetched meanwhile. It
  /// is acknowledged (shootdowns_done, shootdowns_filtered) when nothing is left. What TLBs know is not the table's business.
  void shoot_down(u64 key, Cycle now) { ask_to_shoot_down(key, false, now); }
  /// Likewise, and whoever asks waits until it is acknowledged.
  void shoot_down_and_wait(u64 key, Cycle now) { ask_to_shoot_down(key, true, now); }
  /// Whether one that is waited for has not been acknowledged.
  bool shooting_down(TenantId tenant) const { return awaited_[index(tenant)] > 0; }
  /// Likewise for all pages.
  void shoot_down_all(Cycle now);
  /// Names the pages that lead for a stretch of physical memory, by key.
  template <class F>
  void each_leading(PhysAddr first, u64 bytes, F&& each) const {
    for (u64 at = 0; at < bytes; at += u64{1} << table_.page_shift()) {
      if (const u32 entry = table_.by_frame({first.raw + at}); entry != FbtTable::kNone) each(table_[entry].leading);
    }
  }
  /// A fault that has not been taken yet, of each tenant the first. The run stops in its cycle.
  std::optional<SynonymFault> take_fault() { return faults_.take(); }
  bool idle() const;
  const FbtTable& table() const { return table_; }
  /// Whether the table knows that the L2 has, or awaits, this line under this name.
  bool tracks(LineKey line) const;
  /// Where a line lies that it tracks.
  PhysAddr address_of(LineKey line) const { return address(table_.by_page(page_of(line)), line); }

  void enable_blame(u32 tenants);
  void settle(Cycle now) { blame.settle(now); }

  void archive(Archive& a);

  FbtStats stats;
  Blame blame;

 private:
  /// A miss of the L2.
  struct Fetch {
    DramRequest request;
    u32 slice = 0;
  };
  using FetchRef = Handle<Fetch>;
  struct LookUp {
    FetchRef fetch;
    TenantId tenant{};
    Cycle at = 0;
  };
  struct Notice {
    DramRequest request;
    u32 slice = 0;
  };
  /// What a table access leads to, when it is over.
  struct Result {
    enum class Kind : u8 { kMemory, kCommand, kTranslation, kWalk };
    Kind kind{};
    u32 port = 0, input = 0;
    Cycle at = 0;
    DramRequest request = {};
    SliceCommand command = {};
    TranslationRequest wanted = {};
    PhysAddr frame = {};
  };
  /// A page on its way out of the table.
  struct Leaving {
    u32 entry = FbtTable::kNone;
    u32 acknowledgements = 0;  // that are awaited, once its lines have left the L2
    bool in_l1s = false;
    u32 shootdowns = 0;  // that end with it,
    Cycle began = 0;     // the first of them then
    u32 awaited = 0;     // so many of them are waited for
  };
  /// What a CPU, or the driver on it, asks for.
  struct CpuRequest {
    bool shootdown = false, awaited = false;
    u64 page = 0;   // key of the page to shoot down
    PhysAddr line;  // to take
    Cycle at = 0;
  };
  /// Chosen: so many pages leave at a time, at most.
  static constexpr u32 kMostLeaving = 16;
  /// Likewise: a probe waits while so many commands wait for its slice.
  static constexpr u32 kMostProbes = 16;

  void accept_acknowledgements(Cycle now);
  void accept_translations(Cycle now);
  void accept_from_slices(Cycle now);
  void serve(Cycle now);
  bool serve_one(Cycle now);
  bool serve_notice(Cycle now);
  Cycle oldest_look_up(Cycle now) const;
  bool serve_cpu(Cycle now);
  bool serve_probe(PhysAddr line, Cycle now);
  bool serve_shootdown(const CpuRequest& request, Cycle now);
  void ask_to_shoot_down(u64 key, bool awaited, Cycle now);
  void acknowledge(u64 page, u32 awaited);
  bool serve_look_up(Cycle now);
  Cycle oldest_forward() const;
  bool serve_forward_look_up(Cycle now);
  void finish(Cycle now);
  void send(Cycle now);
  void ask(FetchRef ref);
  void look_up(FetchRef ref, Cycle now);
  void fetch_line(FetchRef ref, u32 entry, Cycle now);
  void replay(FetchRef ref, u32 entry, Cycle now);
  void grant(FetchRef ref, u32 entry, Cycle now);
  bool may_write(u64 page) const;
  void count_fault(LineKey name, LineKey leading, bool write);
  bool errs(Mistake mistake) const { return wiring_.truth != nullptr && wiring_.truth->mistake.strikes(mistake); }
  u64 frame_of(FetchRef ref) const { return fetches_[ref].request.line.raw >> table_.page_shift(); }
  void park(FetchRef ref, u32 place, Cycle now);
  u32 place_of(u32 entry) const {
    return static_cast<u32>(std::ranges::find(leaving_, entry, &Leaving::entry) - leaving_.begin());
  }
  void make_room(FetchRef ref, u32 victim, Cycle now);
  void evict(u32 entry, Cycle now);
  void drop_lines(u32 entry, Cycle now);
  void line_left(u32 entry, u32 line);
  void check_l1s(u32 place);
  void leave(u32 place, Cycle now);
  Cycle next_wakeup(Cycle now) const;

  u32 lines_shift() const { return table_.page_shift() - wiring_.line_shift; }
  u32 line_in_page(LineKey name) const { return static_cast<u32>(name.number() & ((u64{1} << lines_shift()) - 1)); }
  /// The page of a line, as the table names it.
  u64 page_of(LineKey name) const {
    return page_key(name.tenant(), table_.page_shift(), name.number() >> lines_shift());
  }
  LineKey name_of(u64 page, u32 line) const {
    return LineKey::of_tenant(tenant_of_key(page), (page_of_key(page) << lines_shift()) + line);
  }
  PhysAddr address(u32 entry, LineKey name) const {
    return {table_[entry].frame.raw + (u64{line_in_page(name)} << wiring_.line_shift)};
  }

  Scheduler& scheduler_;
  UnitId self_{};
  const FbtConfig config_;
  Wiring wiring_;
  FbtTable table_;
  CyclePorts ports_;
  Pool<Fetch> fetches_;
  MissTable<FetchRef> misses_;                     // by page, or by fetch when each asks for itself
  std::vector<Ring<TranslationRequest>> unasked_;  // by slice
  WaitingRing<LookUp> look_ups_;
  Ring<Notice> notices_;
  Ring<Result> results_;                                    // in order: every access takes the same time
  std::vector<Ring<DramRequest>> to_memory_;                // by slice
  std::vector<Ring<SliceCommand>> commands_;                // by slice
  std::vector<Ring<Translation>> to_tlb_;                   // by MMU
  std::vector<Ring<TranslationRequest>> to_mmu_;            // by MMU and input
  std::vector<Ring<PageInvalidation>> to_sms_;              // by SM
  std::vector<WaitingFunnel<TranslationRequest>> forward_;  // by MMU
  std::vector<Leaving> leaving_;                            // by place: small, and its places are ids
  std::deque<CpuRequest> from_cpu_;
  Parking<FetchRef> parking_{kMostLeaving};  // look-ups that wait for a page to leave
  std::vector<u32> awaited_;                 // by tenant
  FaultList<SynonymFault> faults_;
  u32 turn_ = 0;  // the input of the forward look-ups that is asked first
};

}  // namespace terrace
