// The load-store unit of an SM: memory instructions wait here in order, one line access leaves per port and cycle,
// through the L1 or past it. A head that cannot go blocks those behind it. Stores do not block their warp; atomics are
// performed at the L2.
// SPDX-License-Identifier: MIT
#pragma once

#include <iosfwd>
#include <memory>
#include <vector>

#include "cache/l1_cache.h"
#include "cache/l1_synonyms.h"
#include "engine/out_of_line.h"
#include "engine/pool.h"
#include "engine/ring.h"
#include "engine/types.h"
#include "frontend/inst_stream.h"
#include "noc/crossbar.h"
#include "sm/coalescer.h"
#include "sm/config.h"
#include "sm/translator.h"
#include "wire/access.h"
#include "wire/fbt.h"
#include "wire/line_map.h"
#include "wire/line_truth.h"
#include "wire/timeline.h"

namespace terrace {

/// What page walks meant to the memory instructions that asked for them (a page that several asked for counts for the
/// first). The measurements of the ISCA'18 paper.
struct InstructionWalkStats {
  static constexpr u32 kBuckets = 16, kBucketReads = 16;
  PerTenant<Counter> instructions, walks, reads, several, interleaved, first_latency, last_latency, gap;
  std::array<PerTenant<Counter>, kBuckets> work;
  void describe(StatFields& v);
};

struct LoadStoreStats {
  PerTenant<Counter> instructions, lines, completed_lines, latency;
  PerTenant<Counter> tlb_missed, tlb_missed_l1_hits, tlb_missed_l1_merges;
  Counter blocked_cycles;
  InstructionWalkStats walks;
  void describe(StatFields& v) {
    v("instructions", instructions, "instructions", "memory instructions that passed the coalescer");
    v("lines", lines, "lines", "line requests of these instructions");
    v("completed_lines", completed_lines, "lines", "line requests answered");
    v("latency", latency, "cycles", "issue to completion, summed over memory instructions");
    v("tlb_missed", tlb_missed, "lines", "line loads whose page missed in the L1 TLB, before the L1");
    v("tlb_missed_l1_hits", tlb_missed_l1_hits, "lines", "of those, loads that then hit in the L1");
    v("tlb_missed_l1_merges", tlb_missed_l1_merges, "lines",
      "of those, loads that then joined a pending fetch of the L1");
    v("blocked_cycles", blocked_cycles, "cycles", "cycles in which the oldest access was refused");
    v.identity("every line request is answered", sum(lines), sum(completed_lines));
    v.group("walks", walks);
  }
};

class LoadStoreUnit {
 public:
  struct Wiring {
    Crossbar<AccessRef>& requests;
    Crossbar<AccessRef>& replies;
    const LineMap& map;
    AccessPool& accesses;
    LineTruth& truth;
    Translator::Wiring translation;
    /// If pages may go while the SM runs: where it hears of that, and where it says that its L1 has forgotten them.
    struct Pages {
      Link<PageInvalidation>* invalidations = nullptr;
      Funnel<u32>* acknowledgements = nullptr;  // input: the SM's number
      u32 page_shift = 12;
    };
    Pages pages = {};
  };
  /// A memory instruction all of whose lines have been answered.
  struct Done {
    u8 warp = 0;
    MemoryAction action{};
    const DecodedInst* inst = nullptr;
    u32 dynamic_id = 0;
  };

  LoadStoreUnit(const SmConfig& config, const L1Config& l1, const L1TlbConfig& tlb, const NocConfig& noc,
                LineShape lines, SmId sm, Wiring wiring);

  bool full() const { return waiting_count_ == config_.memory_queue; }
  /// Takes a memory instruction as it issued; not when full. `dynamic_id` names it among those of the SM.
  void accept(const Effect& effect, u64 lanes, const DecodedInst& inst, u8 warp, TenantId tenant, u32 dynamic_id,
              Cycle now);

  /// Takes what arrived, then makes line accesses. Instructions that completed are appended to `done`.
  void accept_replies(Cycle now, std::vector<Done>& done);
  void accept_translations(Cycle now) {
    if (translator_.has_answer(now)) take_translations(now);
  }
  void accept_invalidations(Cycle now) {
    if (wiring_.pages.invalidations != nullptr) take_invalidations(now);
  }
  void advance(Cycle now);
  Cycle next_wakeup(Cycle now) const;

  /// Every memory instruction has been answered.
  bool drained() const { return records_.live() == 0 && translator_.idle(); }
  void invalidate_l1() {
    if (!wiring_.truth.mistake.strikes(Mistake::kKeepL1)) l1_.clear();
    if (synonyms_.on()) synonyms_.clear();
  }
  void explain(std::ostream& out) const;
  /// Closes statistics that run over cycles.
  void settle(Cycle now);
  /// From now on: follows memory instructions, one at a time, and keeps at most so many. Before the first cycle.
  void follow_requests(std::size_t most) { follower_ = std::make_unique<RequestFollower>(most); }
  void archive(Archive& a);
  /// Null when none is followed.
  const RequestFollower* follower() const { return follower_.get(); }

  Translator& translator() { return translator_; }
  const Translator& translator() const { return translator_; }

  LoadStoreStats stats;
  L1Stats& l1_stats() { return l1_.stats; }
  const L1Stats& l1_stats() const { return l1_.stats; }
  void observe_l1(TagObserver* observer) { l1_.observe(observer); }
  L1FilterStats* l1_filter_stats() { return l1_.filter_stats(); }
  L1SynonymStats* l1_synonym_stats() { return synonyms_.on() ? &synonyms_.stats : nullptr; }
  /// For checks: whether the L1 holds lines of a page of the forward-backward table.
  bool holds_page(u64 page_key) const { return l1_.holds_page(first_line_of(page_key)); }

 private:
  struct Record {
    const DecodedInst* inst = nullptr;
    Cycle born = 0;
    u32 lines_left = 0;
    TenantId tenant{};
    u8 warp = 0;
    MemoryAction action{};
    u32 dynamic_id = 0;
    // Of the walks that it asked for.
    u32 walks = 0, reads = 0;
    u64 first_started = 0, last_started = 0;  // sequence numbers
    Cycle first_finished = 0, last_finished = 0;
    Cycle first_latency = 0, last_latency = 0;
    // Its warp has moved on, so that nobody can say after a restore which instruction of its stream it was: a copy.
    std::unique_ptr<DecodedInst> restored = nullptr;
    void archive(Archive& a);
  };
  using RecordRef = Handle<Record>;
  struct Waiting {
    LineAccess common;  // to all its lines
    Cycle at = 0;       // when its look-up in the TLB is over
    u32 next = 0;       // the first line not yet sent
    CoalescedLines lines;
  };
  struct Hit {
    RecordRef record;
    Cycle at = 0;
  };

  /// An access that has passed a virtual L1 and knows its address, on its way out.
  struct Leaving {
    LineAccess access;
    PhysAddr pa;
    Cycle at = 0;  // when its look-up in the TLB is over
  };

  bool anything_to_access(Cycle now) const {
    return (!translates_after_l1() && translator_.any_ready()) ||
           (waiting_count_ > 0 && waiting_[waiting_head_].at <= now);
  }
  void take_translations(Cycle now);
  TERRACE_OUT_OF_LINE void take_invalidations(Cycle now);
  bool is_leaving(const LineAccess& line) const;
  bool is_still_refused(Cycle now);
  bool access_next(Cycle now);
  bool access_head(Cycle now);
  bool translate_then_access(LineAccess& line, Cycle now);
  bool access_then_translate(LineAccess& line, Cycle now);
  bool access_line(const LineAccess& line, PhysAddr pa, Cycle now);
  /// What a load of these sectors would do. Only a planted mistake changes the name.
  L1Cache::Outcome look_in_l1(LineKey& name, u8 sectors) const;
  void note_in_l1(const LineAccess& line, LineKey name, L1Cache::Outcome outcome, Cycle now);
  void send_translated(Cycle now);
  u32 slice_of(const LineAccess& line, PhysAddr pa) const { return wiring_.map.slice_of(name_in_l2(line, pa)); }
  u32 bytes_sent(const LineAccess& line) const;
  void send(const LineAccess& line, PhysAddr pa, u32 slice, u8 sectors, const WantedLine& wanted, Cycle now);
  static bool reads_l1(const LineAccess& line) { return line.kind == AccessKind::kLoad && !line.past_l1; }
  VirtAddr address_of(const LineAccess& line) const { return {line.line << line_shift_}; }
  bool translates_after_l1() const { return translate_at_ == TranslateAt::kAfterL1; }
  bool l1_is_virtual() const { return translates_after_l1() || l2_is_virtual(); }
  bool l2_is_virtual() const { return translate_at_ == TranslateAt::kAfterL2; }
  LineKey name_in_l1(const LineAccess& line, PhysAddr pa) const {
    return l1_is_virtual() ? mapped_name(line) : LineKey::physical(pa.raw >> line_shift_);
  }
  LineKey name_in_l2(const LineAccess& line, PhysAddr pa) const {
    return l2_is_virtual() ? mapped_name(line) : LineKey::physical(pa.raw >> line_shift_);
  }
  /// Its own name, or the one that is known to lead.
  LineKey mapped_name(const LineAccess& line) const {
    const LineKey own = virtual_name(line);
    return synonyms_.on() && line.kind == AccessKind::kLoad ? synonyms_.leading(own) : own;
  }
  LineKey first_line_of(u64 page_key) const {
    return LineKey::of_tenant(tenant_of_key(page_key), page_of_key(page_key)
                                                           << (wiring_.pages.page_shift - line_shift_));
  }
  static LineKey virtual_name(const LineAccess& line) { return LineKey::of_tenant(line.tenant, line.line); }
  WantedLine ask(const LineAccess& line) const;
  void note_walk(RecordRef ref, const WalkReport& walk, Cycle latency);
  void count_walks(const Record& record);
  void accept_reply(Cycle now, std::vector<Done>& done);
  void complete_line(RecordRef ref, Cycle now, std::vector<Done>& done);

  const SmConfig& config_;
  const NocConfig noc_;
  const LineShape lines_;
  const u32 line_shift_;
  const u32 port_;
  Wiring wiring_;
  Coalescer coalescer_;
  Translator translator_;
  L1Cache l1_;
  L1Synonyms synonyms_;
  Pool<Record> records_;
  std::vector<Waiting> waiting_;  // a ring: each entry is filled in place
  u32 waiting_head_ = 0, waiting_count_ = 0;
  Ring<Hit> hits_;
  Ring<Leaving> leaving_;
  u32 hit_cycles_;
  const TranslateAt translate_at_;
  const bool obeys_operators_;
  Cycle blocked_since_ = kNever;
  std::vector<u32> acknowledgements_;          // that found no place yet
  std::unique_ptr<RequestFollower> follower_;  // null: no timeline is wanted
  // Why the access whose turn it is was refused, if it was for one of these reasons.
  static constexpr u32 kNoSlice = ~u32{0};
  bool awaits_line_ = false;       // the L1 has no place for its miss, and no line has come since
  u32 refusing_slice_ = kNoSlice;  // it could not be sent there
};

}  // namespace terrace
