// An SM's data cache: write-through without allocation, misses to one line merged. Lines are fetched whole, or in sectors
// (`sector_bytes`): then a line may be here in part, and whoever lacks sectors of it fetches only those. A member of the SM,
// not a unit: a hit crosses no link.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "cache/config.h"
#include "cache/l1_filter.h"
#include "engine/miss_table.h"
#include "engine/out_of_line.h"
#include "engine/tag_array.h"
#include "engine/types.h"
#include "stats/stat_fields.h"
#include "wire/line_key.h"
#include "wire/line_shape.h"
#include "wire/line_truth.h"

namespace terrace {

struct L1Stats {
  PerTenant<Counter> loads, hits, misses, merges, stores, atomics;
  PerTenant<Counter> sector_misses;  // only where lines have sectors
  Counter fills, evictions, invalidations;
  void describe(StatFields& v) {
    v("loads", loads, "lines", "line loads accepted");
    v("hits", hits, "lines", "loads that hit");
    v("misses", misses, "lines", "loads that missed and fetched the line");
    v("merges", merges, "lines", "loads that missed and joined a pending fetch");
    v("sector_misses", sector_misses, "lines",
      "of the misses, loads that found other sectors of their line here or on their way (sector_bytes)");
    v("stores", stores, "lines", "line stores (write-through)");
    v("atomics", atomics, "lines", "line atomics, performed at the L2");
    v("fills", fills, "lines", "lines filled");
    v("evictions", evictions, "lines", "lines evicted");
    v("invalidations", invalidations, "times", "invalidations of the whole cache");
    v.ratio("hit_rate", sum(hits), sum(loads), "hits per load");
    v.identity("a load hits, misses or merges", sum(loads), sum(hits, misses, merges));
  }
};

class L1Cache {
 public:
  enum class Outcome : u8 { kHit, kMiss, kMerged, kRefused };
  struct Waiter {
    u32 record = 0;
    u8 lacks = 1;  // sectors that it waits for
    [[no_unique_address]] WantedLine wanted{};
  };

  L1Cache(const L1Config& config, LineShape lines)
      : divided_(lines.divided()),
        tags_({.entries = config.bytes / lines.line_bytes(), .ways = config.ways}),
        misses_(config.miss_entries, config.miss_merges) {}

  /// From now on pages may go. Before the first cycle.
  void keep_filter(u32 entries, u32 lines_per_page_shift) {
    filter_.emplace(entries);
    page_shift_ = lines_per_page_shift;
  }
  /// The page of these lines goes: an L1 that holds or awaits one of them is emptied.
  void drop_page(LineKey first_line) {
    const u64 page = page_of(first_line.raw());
    ++filter_->stats.checks;
    bool awaited = false;
    // What is awaited under another name may come as a line of this page, sent before it went.
    own_name_only_.clear();
    misses_.for_each_key([&](u64 line) {
      awaited |= page_of(line) == page;
      own_name_only_.push_back(LineKey::from_raw(line));
    });
    if (!awaited && !filter_->holds(page)) return;
    ++filter_->stats.matches;
    clear();
  }
  bool holds_page(LineKey first_line) const {
    bool holds = false;
    for (u32 entry = 0; entry < tags_.entries(); ++entry)
      holds |= tags_.valid(entry) && page_of(tags_.key(entry)) == page_of(first_line.raw());
    return holds;
  }
  L1FilterStats* filter_stats() { return filter_ ? &filter_->stats : nullptr; }

  /// What a load of these sectors of the line would do; nothing changes. A miss means that something must be fetched:
  /// `to_fetch` says which sectors.
  Outcome look(LineKey line, u8 sectors = 1) const {
    if (divided_ ? lacking(line, sectors) == 0 : tags_.find(line.raw()) >= 0) return Outcome::kHit;
    if (is_outdated(line)) return Outcome::kRefused;
    switch (misses_.would_join(line.raw())) {
      case Join::kFirst:
        return Outcome::kMiss;
      case Join::kMerged:
        return divided_ && to_fetch(line, sectors) != 0 ? Outcome::kMiss : Outcome::kMerged;
      case Join::kFull:
        break;
    }
    return Outcome::kRefused;
  }
  /// Of these sectors, those that are not here,
  u8 lacking(LineKey line, u8 sectors) const {
    if (!divided_) return sectors;
    const i32 entry = tags_.find(line.raw());
    return entry < 0 ? sectors : static_cast<u8>(sectors & ~tags_.meta(static_cast<u32>(entry)).sectors);
  }
  /// and those of them that are not on their way either.
  u8 to_fetch(LineKey line, u8 sectors) const {
    if (!divided_) return sectors;
    const u64 awaited = misses_.contains(line.raw()) ? misses_.awaited(line.raw()) : 0;
    return static_cast<u8>(lacking(line, sectors) & ~awaited);
  }
  /// Does what `look` said. Returns what a hit found; a miss or merge is answered by `fill`.
  const LineCopy* load(LineKey line, Outcome outcome, const Waiter& waiter, TenantId tenant) {
    ++stats.loads[tenant];
    if (outcome == Outcome::kHit) {
      ++stats.hits[tenant];
      return &use(static_cast<u32>(tags_.find(line.raw())))->copy;
    }
    ++(outcome == Outcome::kMiss ? stats.misses : stats.merges)[tenant];
    if (divided_)
      await_sectors(line, outcome, waiter, tenant);
    else if (outcome == Outcome::kMiss)
      misses_.join_first(line.raw(), waiter);
    else
      misses_.join(line.raw(), waiter);
    return nullptr;
  }
  /// A store updates a line that is there, which is returned, and brings in none.
  LineCopy* store(LineKey line, TenantId tenant) {
    ++stats.stores[tenant];
    const i32 entry = tags_.find(line.raw());
    if (entry < 0 || divided_) outdate(line);  // sectors may be on their way to a line that is here
    return entry < 0 ? nullptr : &use(static_cast<u32>(entry))->copy;
  }
  /// Whether a write must ask the table first: its line is here, and came with word that its page may not be written.
  bool denies_write(LineKey line) const {
    if (!filter_) return false;
    const i32 entry = tags_.find(line.raw());
    return entry >= 0 && !tags_.meta(static_cast<u32>(entry)).writable;
  }
  void count_denied() { ++filter_->stats.denied; }
  /// The table has permitted a write to this line.
  void permit(LineKey line) {
    if (const i32 entry = tags_.find(line.raw()); entry >= 0) tags_.meta(static_cast<u32>(entry)).writable = true;
  }
  /// An atomic changes the line at the L2: a copy here is stale.
  void atomic(LineKey line, TenantId tenant) {
    ++stats.atomics[tenant];
    if (const i32 entry = tags_.find(line.raw()); entry >= 0) {
      if (filter_) filter_->remove(page_of(line.raw()));
      tags_.invalidate(static_cast<u32>(entry));
    }
    outdate(line);
  }
  /// A line arrived: whoever waited for it is told, in order. It is kept under its own name, or under the one that leads
  /// (wire/fbt.h), with the permission of its page. One that is outdated is not kept. Of a line that has sectors these ones
  /// arrived, and whoever waits for others waits on.
  template <class F>
  void fill(LineKey line, LineKey leading, const LineCopy& copy, F&& each_waiter, bool writable = true,
            u8 sectors = 1) {
    ++stats.fills;
    if (divided_) return fill_sectors(line, sectors, copy, each_waiter);
    if (is_outdated(line)) {
      std::erase(outdated_, line);
    } else if (may_keep(line, leading)) {
      const u32 victim = tags_.victim(leading.raw());
      stats.evictions += tags_.valid(victim);
      if (filter_ && tags_.valid(victim)) filter_->remove(page_of(tags_.key(victim)));
      tags_.fill(victim, leading.raw()) = {copy, 1, writable};
    }
    misses_.release(line.raw(), each_waiter);
  }
  /// The same, but it is not kept.
  template <class F>
  void let_pass(LineKey line, F&& each_waiter) {
    ++stats.fills;
    std::erase(outdated_, line);
    misses_.release(line.raw(), each_waiter);
  }
  /// What is here and what is being fetched may be old.
  void clear() {
    tags_.clear();
    if (filter_) filter_->clear();
    outdated_.clear();
    misses_.for_each_key([this](u64 line) { outdated_.push_back(LineKey::from_raw(line)); });
    ++stats.invalidations;
  }
  void observe(TagObserver* observer) { tags_.observe(observer); }
  u32 misses_under_way() const { return misses_.size(); }
  void archive(Archive& a) {
    a(tags_, misses_, outdated_, own_name_only_);
    if (filter_) a(*filter_);
  }

  L1Stats stats;

 private:
  TERRACE_OUT_OF_LINE void await_sectors(LineKey line, Outcome outcome, const Waiter& waiter, TenantId tenant) {
    const u8 fetched = to_fetch(line, waiter.lacks);
    const i32 entry = tags_.find(line.raw());
    if (entry >= 0) tags_.touch(static_cast<u32>(entry));
    const bool first = misses_.join(line.raw(), waiter) == Join::kFirst;
    misses_.awaited(line.raw()) |= fetched;
    stats.sector_misses[tenant] += outcome == Outcome::kMiss && (entry >= 0 || !first);
  }
  template <class F>
  TERRACE_OUT_OF_LINE void fill_sectors(LineKey line, u8 sectors, const LineCopy& copy, F&& each_waiter) {
    u64& awaited = misses_.awaited(line.raw());
    awaited &= ~u64{sectors};
    const bool last = awaited == 0;
    if (!is_outdated(line))
      keep_sectors(line, sectors, copy);
    else if (last)
      std::erase(outdated_, line);
    if (last) return static_cast<void>(misses_.release(line.raw(), each_waiter));
    misses_.release_some(
        line.raw(),
        [&](Waiter& waiter) {
          waiter.lacks &= static_cast<u8>(~sectors);
          if (waiter.lacks != 0) waiter.wanted.arrives(copy);
          return waiter.lacks == 0;
        },
        each_waiter);
  }
  void keep_sectors(LineKey line, u8 sectors, const LineCopy& copy) {
    if (const i32 entry = tags_.find(line.raw()); entry >= 0) {
      Line& here = tags_.meta(static_cast<u32>(entry));
      here.sectors |= sectors;
      return here.copy.add(copy);
    }
    const u32 victim = tags_.victim(line.raw());
    stats.evictions += tags_.valid(victim);
    tags_.fill(victim, line.raw()) = {copy, sectors, true};
  }
  /// The SM writes to a line that is being fetched: what arrives may be from before, so that nobody else may join.
  void outdate(LineKey line) {
    if (misses_.contains(line.raw()) && !is_outdated(line)) outdated_.push_back(line);
  }
  bool is_outdated(LineKey line) const {
    return !outdated_.empty() && std::find(outdated_.begin(), outdated_.end(), line) != outdated_.end();
  }
  u64 page_of(u64 line) const { return line >> page_shift_; }
  /// Whether a line that arrives is kept: the filter must have room for its page, or the L1 is emptied. One that is here
  /// already, under the name that leads, is not kept twice.
  bool may_keep(LineKey line, LineKey leading) {
    if (!filter_) return true;
    if (!own_name_only_.empty() && std::erase(own_name_only_, line) > 0 && leading != line) return false;
    if (tags_.find(leading.raw()) >= 0) return false;
    if (filter_->add(page_of(leading.raw()))) return true;
    ++filter_->stats.overflows;
    clear();
    std::erase(outdated_, line);
    return false;
  }
  struct Line {
    [[no_unique_address]] LineCopy copy{};
    u8 sectors = 1;        // that are here
    bool writable = true;  // as its page was when it came; lines that a table keeps track of only
  };
  Line* use(u32 entry) {
    tags_.touch(entry);
    return &tags_.meta(entry);
  }

  const bool divided_;  // lines have sectors
  TagArray<Line> tags_;
  MissTable<Waiter> misses_;
  std::vector<LineKey> outdated_;       // few, if any
  std::vector<LineKey> own_name_only_;  // what was awaited when the last page went, or more: few, if any
  std::optional<L1Filter> filter_;
  u32 page_shift_ = 0;
};

}  // namespace terrace
