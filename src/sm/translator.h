// How an SM learns where its pages lie: its L1 TLB, the misses under way, and the line accesses that wait for them.
// Every memory instruction asks once for each page that it touches, and its other lines on that page use the answer; or,
// if the machine says so, once for each line. Lines of a page that is not known yet are set aside, and others go on, unless the TLB is blocking. On an ideal machine
// every page is known at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <iosfwd>
#include <vector>

#include "engine/funnel.h"
#include "engine/link.h"
#include "engine/miss_table.h"
#include "engine/pool.h"
#include "sm/coalescer.h"
#include "stats/stat_fields.h"
#include "translation/address_space.h"
#include "translation/config.h"
#include "translation/tlb.h"
#include "wire/access.h"
#include "wire/line_truth.h"
#include "wire/translate.h"

namespace terrace {

/// One line of one memory instruction on its way through the SM.
struct LineAccess {
  u64 line = 0;  // virtual line number
  u64 lanes = 0;
  u64 words = 0;
  u32 record = 0;  // the load-store unit's own record of the instruction
  u32 atomic = 0;
  u32 dynamic_id = 0;
  TenantId tenant{};
  u8 warp = 0;
  u8 lane_bytes = 0;
  AccessKind kind{};
  bool past_l1 = false;
  bool tlb_missed = false;
  u8 sectors = 1;  // of the line, that it touches
  u16 pieces = 0;  // how often, if lanes touch several places
  [[no_unique_address]] WantedLine wanted{};
};

/// A page is looked up once for each memory instruction that touches it.
struct L1TlbStats : TlbStats {
  PerTenant<Counter> answers, waiting_instructions, untold_merges;
  void describe(StatFields& v) {
    TlbStats::describe(v);
    v("answers", answers, "pages", "answers received");
    v("waiting_instructions", waiting_instructions, "instructions",
      "instructions that waited for an answer, summed over answers");
    v("untold_merges", untold_merges, "pages",
      "merges that the L2 TLB's fill policy wants to know of but was not told, because the link was full");
    v.ratio("instructions_per_miss", sum(waiting_instructions), sum(answers), "instructions that wait for one page");
    v.identity("every miss is answered", sum(misses), sum(answers));
    v.identity("everyone who waits is let go", sum(misses, merges), sum(waiting_instructions));
  }
};

class Translator {
 public:
  /// The way to the L2 TLB; there is none on an ideal machine.
  struct Port {
    Funnel<TranslationRequest>* requests = nullptr;
    Link<Translation>* answers = nullptr;
    Funnel<MergedWarp>* merged_warps = nullptr;  // if the L2 TLB's fill policy wants them
  };
  struct Wiring {
    TranslateAt at = TranslateAt::kNowhere;
    AddressSpaces& spaces;
    Port port;
    const PlantedMistake* mistake = nullptr;
  };
  enum class Outcome : u8 { kKnown, kSetAside, kRefused };

  Translator(const L1TlbConfig& config, u32 line_shift, SmId sm, Wiring wiring);

  /// The next lines belong to another instruction.
  void begin_instruction() { pages_ = 0; }
  /// Whether an instruction with these lines may begin; if not, it is asked for again when something has changed.
  bool admits(const CoalescedLines& lines, TenantId tenant) {
    return config_.admit == L1TlbConfig::Admit::kPage || !looks_up_ || pages_ > 0 || has_places_for(lines, tenant);
  }
  /// Where a line lies (kKnown); or it waits for its page and comes back through `ready`; or it cannot go yet and is
  /// asked for again when something has changed: then nothing has.
  Outcome translate(const LineAccess& access, PhysAddr& pa, Cycle now);

  /// Whether the line that it refused last would be refused again, because what it lacks has not come since.
  bool still_refuses(Cycle now) {
    return awaits_answer_ || (awaits_place_ && !wiring_.port.requests->can_push(index(sm_), now));
  }

  /// Takes the translations that have arrived; lines that waited become ready. `on_walk` hears of each walk that one of
  /// this SM's instructions asked for, and how long after that it ended.
  template <class F>
  void accept(Cycle now, F&& on_walk);
  bool has_answer(Cycle now) const {
    return wiring_.port.answers != nullptr && wiring_.port.answers->front(now) != nullptr;
  }

  /// Lines whose page is known by now, in order.
  bool any_ready() const { return ready_first_.valid(); }
  const LineAccess& ready() const { return parked_[ready_first_].access; }
  PhysAddr ready_address() const { return parked_[ready_first_].pa; }
  void pop_ready();

  bool idle() const { return misses_.empty() && !any_ready(); }
  bool touched_new_pages() const { return !new_pages_.empty(); }
  /// Gives frames to pages that were touched for the first time; when the cycle ends.
  void commit_new_pages();
  // Between cycles only.
  void flush() { tlb_.flush(); }
  void observe(TagObserver* observer) { tlb_.observe(observer); }
  void flush_page(u64 key) { tlb_.flush_page(key); }
  void flush_tenant(TenantId tenant) { tlb_.flush_tenant(tenant); }
  u32 hit_cycles() const { return config_.hit_cycles; }
  /// The most warps of a tenant that one answer let go since the epoch began.
  u32 most_stalled(TenantId tenant) const { return most_stalled_[tenant]; }
  void begin_epoch() { most_stalled_ = {}; }
  /// Calls `each(tenant, warps)` for every page that is awaited: how many warps wait for it.
  template <class F>
  void each_miss(F&& each) const {
    misses_.for_each_entry([&](u64, auto&& visit) {
      u64 warps = 0;
      TenantId tenant{};
      visit([&](WaitRef ref) {
        warps |= u64{1} << waits_[ref].warp;
        tenant = waits_[ref].tenant;
      });
      each(tenant, static_cast<u32>(std::popcount(warps)));
    });
  }
  void explain(std::ostream& out) const;
  void archive(Archive& a);

  L1TlbStats stats;

 private:
  struct Parked;
  struct Wait;
  using ParkedRef = Handle<Parked>;
  using WaitRef = Handle<Wait>;
  struct Parked {
    LineAccess access;
    PhysAddr pa;
    ParkedRef next;
  };
  /// One instruction that waits for one page.
  struct Wait {
    ParkedRef first, last;
    u32 record = 0;
    u32 page = 0;  // its place among the pages of its instruction
    Cycle since = 0;
    bool asked = false;  // it is the one that asked for the page
    u8 warp = 0;
    TenantId tenant{};
  };
  struct Page {
    WaitRef wait;  // not valid: the frame is known
    PhysAddr frame;
  };

  u64 page_of(const LineAccess& access) const { return access.line >> lines_per_page_shift_; }
  /// What is looked up once for each instruction.
  u64 unit_of(const LineAccess& access) const {
    return config_.look_up == L1TlbConfig::LookUp::kPage ? page_of(access) : access.line;
  }
  bool has_places_for(const CoalescedLines& lines, TenantId tenant);
  u32 known_page(u64 unit) const;
  bool follows_another(const LineAccess& access);
  u32 places_of(const LineAccess& access) const { return access.line % kParkedSets; }
  Outcome look_up(const LineAccess& access, u64 unit, Cycle now);
  void tell_of_merge(const LineAccess& access, u64 key, Cycle now);
  ParkedRef make_parked(const LineAccess& access);
  void park(WaitRef wait, const LineAccess& access);
  void release(WaitRef ref, const Translation& answer, Cycle now);
  PhysAddr in_frame(PhysAddr frame, const LineAccess& access) const {
    const u64 line = access.line & ((u64{1} << lines_per_page_shift_) - 1);
    return {frame.raw + (line << line_shift_)};
  }

  static constexpr u32 kNoPage = ~u32{0};
  static constexpr u32 kParkedSets = 64;  // a choice: few lines wait at a time
  const L1TlbConfig config_;
  const u32 line_shift_;
  const u32 page_shift_;
  const u32 lines_per_page_shift_;
  const SmId sm_;
  Wiring wiring_;
  const bool looks_up_;  // otherwise every page is known here
  Tlb tlb_;
  MissTable<WaitRef> misses_;
  Pool<Wait> waits_;
  Pool<Parked> parked_;
  // What every tick of the SM touches stands together.
  ParkedRef ready_first_, ready_last_;
  // The page at the head found no place, and no answer has come since:
  bool awaits_answer_ = false;                // for a miss,
  bool awaits_place_ = false;                 // or on the way to the L2 TLB
  std::array<u32, kParkedSets> parked_of_{};  // those that wait or are ready, by the last digits of their lines
  struct NewPage {
    TenantId tenant;
    VirtAddr va;
  };
  std::vector<NewPage> new_pages_;
  // The pages, or lines, that the instruction at the head has looked up.
  u32 pages_ = 0;
  u32 last_page_ = 0;
  std::array<u64, kMaxLines> page_number_{};
  std::array<Page, kMaxLines> page_{};
  PerTenant<u32> most_stalled_;
};

template <class F>
void Translator::accept(Cycle now, F&& on_walk) {
  while (has_answer(now)) {
    const Translation answer = wiring_.port.answers->pop(now);
    awaits_answer_ = awaits_place_ = false;
    stats.evictions += tlb_.fill(answer.key, answer.frame);
    const TenantId tenant = tenant_of_key(answer.key);
    ++stats.answers[tenant];
    u64 warps = 0;
    stats.waiting_instructions[tenant] +=
        misses_.release(config_.merge_misses ? answer.key : answer.tag, [&](WaitRef ref) {
          warps |= u64{1} << waits_[ref].warp;
          if (waits_[ref].asked && answer.walk.accesses > 0) {
            on_walk(waits_[ref].record, answer.walk, answer.walk.finished - waits_[ref].since);
          }
          release(ref, answer, now);
        });
    most_stalled_[tenant] = std::max(most_stalled_[tenant], static_cast<u32>(std::popcount(warps)));
  }
}

}  // namespace terrace
