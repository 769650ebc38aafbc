// One slice of the shared cache: write-back, lines allocated when they arrive, misses to one line merged, atomics
// performed here. Requests come from the SMs through the crossbar, what misses goes to memory. A store that covers its
// line needs no fetch, unless the line has a virtual name: then memory must say where it lies. One that does not fetches
// the rest, at once or when it is read (`l2.partial_stores`). Where lines have sectors (`sector_bytes`) a line may be here in
// part: what is read and missing is fetched, and what was written to goes back.
//
// Behind a virtual L2 a forward-backward table may keep track of its lines (translation/fbt.h). Then a slice tells it of
// every line that leaves and of the first write to each, drops lines of pages that go, and replays requests under the name
// that leads.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "blame/waiting.h"
#include "cache/config.h"
#include "cache/memory_port.h"
#include "engine/funnel.h"
#include "engine/link.h"
#include "engine/miss_table.h"
#include "engine/pool.h"
#include "engine/ring.h"
#include "engine/scheduler.h"
#include "engine/tag_array.h"
#include "noc/crossbar.h"
#include "stats/stat_fields.h"
#include "wire/access.h"
#include "wire/dram.h"
#include "wire/fbt.h"
#include "wire/line_shape.h"

namespace terrace {

struct L2Stats {
  PerTenant<Counter> lookups, hits, misses, merges, write_allocations, atomics, replies;
  PerTenant<Counter> tlb_missed_loads, tlb_missed_hits;
  std::array<PerTenant<Counter>, kWalkLevels> walk_lookups, walk_hits;  // by level, root first
  PerTenant<Counter> sector_misses;                                     // only where lines have sectors
  Counter fills, write_backs, fetches, partial_write_backs, completions;
  PerTenant<Counter> replays;  // only with a forward-backward table
  Counter replayed_fetches;    // likewise
  void describe(StatFields& v) {
    v("lookups", lookups, "lines", "look-ups");
    v("hits", hits, "lines", "look-ups that hit");
    v("misses", misses, "lines", "look-ups that missed and fetched the line from memory");
    v("merges", merges, "lines", "look-ups that missed and joined a pending fetch");
    v("sector_misses", sector_misses, "lines",
      "of the misses, look-ups that found other sectors of their line here or on their way (sector_bytes)");
    v("write_allocations", write_allocations, "lines", "stores that allocated a line without a fetch");
    v("tlb_missed_loads", tlb_missed_loads, "lines", "line loads of an L1 whose page missed in the L1 TLB");
    v("tlb_missed_hits", tlb_missed_hits, "lines", "of those, hits");
    v("atomics", atomics, "lines", "line atomics performed");
    v("replies", replies, "packets", "replies sent");
    v("fetches", fetches, "lines", "fetches sent to memory");
    v("fills", fills, "lines", "lines filled from memory");
    v("write_backs", write_backs, "lines", "dirty lines written back to memory");
    v("partial_write_backs", partial_write_backs, "lines",
      "of these, lines of which only some words were there, or only some sectors changed");
    v("completions", completions, "lines", "fetches of lines of which only some words were there");
    v("replays", replays, "lines",
      "requests of a synonym, sent again under the leading name to the slice of that name");
    v("replayed_fetches", replayed_fetches, "lines", "fetches that ended with requests sent again");
    for (u32 i = 0; i < kWalkLevels; ++i) {
      v(fmt::format("walk_lookups_level_{}", i + 1), walk_lookups[i], "lines",
        "look-ups by page walks at this page-table level");
      v(fmt::format("walk_hits_level_{}", i + 1), walk_hits[i], "lines",
        "look-ups by page walks at this page-table level that hit");
    }
    v.ratio("hit_rate", sum(hits), sum(lookups), "hits per look-up");
    v.identity("a look-up hits, misses, merges or allocates", sum(lookups),
               sum(hits, misses, merges, write_allocations));
    v.identity("every request is answered", sum(lookups), sum(replies, replays));
    v.identity("every line asked for arrives", sum(fetches), sum(fills, replayed_fetches));
  }
};

/// What an admission policy keeps out of a slice.
struct L2AdmissionStats {
  PerTenant<Counter> bypasses, bypass_replies, not_kept;
  void describe(StatFields& v) {
    v("bypasses", bypasses, "lines", "reads that went to memory without a look-up");
    v("bypass_replies", bypass_replies, "packets", "replies to those");
    v("not_kept", not_kept, "lines", "lines that arrived and were not kept");
    v.identity("every read that bypasses is answered", sum(bypasses), sum(bypass_replies));
  }
};

/// What the forward-backward table makes a slice do.
struct L2NamesStats {
  PerTenant<Counter> replays_in;
  Counter clean_evictions, first_writes, dropped, denied;
  void describe(StatFields& v) {
    v("replays_in", replays_in, "lines", "requests replayed under the leading name, looked up here");
    v("clean_evictions", clean_evictions, "lines", "evictions of unchanged lines that the table was told of");
    v("first_writes", first_writes, "lines", "first writes to a line that the table was told of");
    v("dropped", dropped, "lines", "lines that left because their page did");
    v("denied", denied, "lines",
      "writes that found a line of a page without write permission, here or in their L1, and asked the table");
  }
};

/// How an atomic takes effect: called when the cycle ends, once for each line, in the order of arrival at the slice.
using PerformAtomic = std::function<void(TenantId tenant, u32 atomic, u64 lanes)>;

class L2Slice final : public Unit {
 public:
  struct Wiring {
    Crossbar<AccessRef>& requests;
    Crossbar<AccessRef>& replies;
    u32 port = 0;  // this slice's place in both
    MemoryPort::Wiring memory;
    const LineMap& map;
    LineTruth& truth;
    bool virtual_names = false;  // memory is asked by name, and tells where a line lies
    /// If a table keeps track of lines: its commands, and ways for replays from all slices to each.
    struct Names {
      Link<SliceCommand>* commands = nullptr;
      std::vector<Funnel<AccessRef>*> replays;  // by the slice that they go to
    };
    Names names = {};
    u32 tenants = 1;
    u64 seed = 1;
  };
  L2Slice(Scheduler& scheduler, const L2Config& config, const NocConfig& noc, LineShape lines, AccessPool& accesses,
          Wiring wiring, PerformAtomic perform);
  void connect(UnitId self) { self_ = self; }

  Cycle tick(Cycle now) override;
  void commit(Cycle now) override;
  bool commits_apart() const override { return true; }  // no line belongs to two slices
  void explain(std::ostream& out) const override;

  /// Host work wrote to these lines: copies are forgotten, dirty or not, and named to `gone`. The ranges are disjoint and in
  /// rising order. Between cycles only.
  void forget(std::span<const LineRange> ranges, const std::function<void(LineKey)>& gone = {});
  /// Names every line that is here. Between cycles only.
  void each_line(const std::function<void(LineKey)>& each) const;

  void observe(TagObserver* observer) { tags_.observe(observer); }

  /// An epoch has ended: its policies may decide anew. Between cycles only.
  void epoch(TenantEpochs tenants) {
    if (admission_) admission_->epoch(tenants);
  }

  /// From now on: which tenant's requests wait for which tenant. Before the first cycle.
  void enable_blame(u32 tenants);
  /// Closes statistics that run over cycles, before cycle `now`.
  void settle(Cycle now) { blame.settle(now); }
  void archive(Archive& a);

  L2Stats stats;
  L2AdmissionStats admission_stats;
  L2NamesStats names_stats;
  bool admits_all() const { return admission_ == nullptr; }
  bool is_tracked() const { return wiring_.names.commands != nullptr; }
  Blame blame;  // of replies and fills; requests wait at the crossbar's port

 private:
  struct Dirty {
    LineKey line;
    PhysAddr at;
    TenantId tenant{};
    u64 missing = 0;                                          // as of an L2Line
    DramRequest::Notice notice = DramRequest::Notice::kNone;  // it is not a dirty line, but word of one
    [[no_unique_address]] LineCopy copy{};
  };
  /// Words that wait for the rest of their line, which is on its way.
  struct Part {
    LineKey line;
    L2Line meta;
  };
  struct Reply {
    AccessRef access;
    TenantId tenant{};
    bool bypass = false;  // it was not looked up
    Cycle at = 0;
  };
  struct PendingAtomic {
    TenantId tenant;
    u32 atomic;
    u64 lanes;
  };

  bool wait_for(Resource& lack);
  void accept_commands(Cycle now);
  void carry_out(const SliceCommand& command);
  void replay(const SliceCommand& command);
  void look_again(AccessRef waiter);
  /// A write that the line here, or that of the L1, forbids; or whoever comes behind one.
  bool waits_for_permission(const Access& access, const L2Line& line) const {
    if (access.denied && !access.checked) return true;
    return !line.writable && is_tracked() && (is_denied(access, line) || misses_.contains(access.in_l2.raw()));
  }
  /// A write that the line's permission forbids, and that the table has not been asked about.
  bool is_denied(const Access& access, const L2Line& line) const {
    return !line.writable && !access.checked && is_tracked() && writes(access);
  }
  void drop_line();
  void drop(LineKey line);
  void send_replays(Cycle now);
  void tell_of(DramRequest::Notice notice, LineKey line, TenantId tenant);
  void tell_of_write(LineKey line, TenantId tenant);
  void retire(u32 entry);
  void let_pass(const DramReply& arrived, const L2Line& meta);
  void accept_fill(Cycle now);
  void fill_with(const DramReply& arrived, Cycle now);
  void send_replies(Cycle now);
  bool send_reply(Cycle now);
  void write_back(Cycle now);
  void look_up(Cycle now);
  u32 busy_cycles(const Access& access) const;
  bool take(AccessRef ref, Cycle now);
  bool bypass(AccessRef ref, const Access& access, Cycle now);
  /// The entry that a request finds, or negative.
  i32 find(LineKey line) const;
  bool look_up_one(AccessRef ref, const Access& access, bool keep, Cycle now);
  void answer_bypass(const DramReply& reply, Cycle now);
  bool is_kept(LineKey line, TenantId tenant);
  bool masks() const { return config_.partial_stores == L2Config::PartialStores::kMask; }
  bool takes_without_fetch(const Access& access) const;
  static bool writes(const Access& access) {
    return access.kind == AccessKind::kStore || access.kind == AccessKind::kAtomic;
  }
  u64 wanted_words(const Access& access) const;
  u64 to_fetch(const Access& access, i32 entry, Join outlook) const;
  u64 not_written_back(const L2Line& line) const;
  void set_aside(u32 entry);
  bool join_part(LineKey line, u64 arrived, L2Line& meta);
  void allocate(LineKey line, PhysAddr at, const L2Line& meta);
  u32 victim_for(LineKey line, const L2Line& meta);
  void perform(AccessRef ref, const Access& access, L2Line& meta);
  void count(const Access& access, bool hit);
  bool too_many_dirty() const { return dirty_.size() >= config_.write_back_entries; }
  bool is_leaving(LineKey line) const;
  /// Where a line with a physical name lies; a virtual one says nothing.
  PhysAddr address(LineKey line) const {
    return line.is_physical() ? PhysAddr{line.number() << line_shift_} : kUnknownLine;
  }
  Cycle next_wakeup(Cycle now);

  Scheduler& scheduler_;
  UnitId self_{};
  const L2Config config_;
  const NocConfig noc_;
  const LineShape lines_;
  const u32 line_shift_;
  const u64 all_words_;
  AccessPool& accesses_;
  Wiring wiring_;
  MemoryPort memory_;
  PerformAtomic perform_;
  std::unique_ptr<L2Admission> admission_;  // none: everything is looked up and kept
  std::unique_ptr<L2Victim> victims_;       // none: the least recently used line
  // These are looked at in every tick.
  WaitingRing<Reply> hits_;    // in order: every hit takes the same time
  WaitingRing<Reply> filled_;  // what fills released
  HeldRing<Dirty> dirty_;      // lines on their way to memory
  // Refused in this tick: what they wait for wakes this unit.
  bool reply_refused_ = false, write_back_refused_ = false;
  bool replays_took_ports_ = false;  // what else waits is looked up in the next cycle
  bool fill_waits_ = false;          // a line from memory that was not accepted in this tick,
  bool took_fill_ = false;           // or one was, and there may be another
  struct LastStore {
    LineKey line = LineKey::no_line(0);
    u8 sectors = 0;
    void archive(Archive& a) { a(line, sectors); }
  } last_store_;

  TagArray<L2Line> tags_;
  HeldMissTable<AccessRef> misses_;
  std::vector<PhysAddr> lies_at_;  // by entry, for lines with virtual names: a write-back is not translated again
  std::vector<LineKey> unkept_;    // lines on their way from memory that are not to be kept; few, if any
  std::vector<Part> parts_;
  // Of a slice whose lines a table keeps track of. Each is empty most of the time.
  std::deque<LineKey> dropping_;  // lines that are to leave, one per cycle
  std::vector<LineKey> drop_on_arrival_;
  std::deque<AccessRef> replays_out_;
  std::deque<AccessRef> replays_in_;  // as many as there are requests in flight, at most
  Pool<AccessRef> bypassing_;         // requests that were not looked up and await their line
  std::vector<PendingAtomic> atomics_;
};

}  // namespace terrace
