// Miss entries (MSHRs): which keys are being fetched, and which requests wait for each, in order of arrival. The table
// owns its waiters: a request may wait in several tables on its way, so it cannot hold the list itself.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <utility>
#include <vector>

#include "engine/archive.h"
#include "engine/check.h"
#include "engine/types.h"

namespace terrace {

enum class Join : u8 {
  kFirst,   // a new entry: the caller must fetch the key
  kMerged,  // joined an entry that is being fetched
  kFull     // no entry is free, or the key's entry takes no more waiters; nothing changed
};

template <class Waiter>
class MissTable {
 public:
  MissTable() = default;
  /// At most `entries` keys, each with at most `merges` waiters (the first one included).
  MissTable(u32 entries, u32 merges) : merges_(merges), free_entries_(entries), entries_(entries) {
    SIM_CHECK(entries > 0 && merges > 0, "a miss table of {} entries and {} merges", entries, merges);
    index_.assign(std::bit_ceil(entries * kPlacesPerEntry), kNone);
    index_shift_ = 64 - static_cast<u32>(std::countr_zero(index_.size()));
    for (u32 i = 0; i < entries; ++i) free_entries_[i] = entries - 1 - i;
  }

  /// What `join` would say, without doing it.
  Join would_join(u64 key) const {
    const u32 entry = find(key);
    if (entry == kNone) return free_entries_.empty() ? Join::kFull : Join::kFirst;
    return entries_[entry].count < merges_ ? Join::kMerged : Join::kFull;
  }
  Join join(u64 key, const Waiter& waiter) {
    const u32 entry = find(key);
    if (entry == kNone) {
      if (free_entries_.empty()) return Join::kFull;
      join_first(key, waiter);
      return Join::kFirst;
    }
    if (entries_[entry].count >= merges_) return Join::kFull;
    append(entries_[entry], waiter);
    return Join::kMerged;
  }
  /// Joins with a key of which `would_join` has just said that it would be the first.
  void join_first(u64 key, const Waiter& waiter) {
    SIM_DCHECK(find(key) == kNone && !free_entries_.empty(), "key {:#x} is being fetched already, or none can be", key);
    const u32 entry = free_entries_.back();
    free_entries_.pop_back();
    entries_[entry] = {key, kNone, kNone, 0, 0};
    insert(key, entry);
    append(entries_[entry], waiter);
  }
  /// The key has arrived: calls `each(waiter)` in order of arrival and frees the entry. Returns how many there were.
  template <class F>
  u32 release(u64 key, F&& each) {
    const u32 place = place_of(key);
    const u32 entry = index_[place];
    if (entry == kNone) return 0;
    const u32 count = entries_[entry].count;
    u32 node = entries_[entry].first;
    erase_at(place);
    free_entries_.push_back(entry);
    while (node != kNone) {
      // The node is free before its waiter is called: the call may well join again.
      const Waiter waiter = nodes_[node].waiter;
      const u32 next = std::exchange(nodes_[node].next, free_node_);
      free_node_ = std::exchange(node, next);
      each(waiter);
    }
    return count;
  }
  /// Part of the key has arrived, and more is on its way: calls `each(waiter)`, in order of arrival, for those of whom
  /// `ready(waiter)` is true. It may change them. The entry stays, with the others.
  template <class P, class F>
  void release_some(u64 key, P&& ready, F&& each) {
    Entry& entry = entries_[find(key)];
    u32 node = std::exchange(entry.first, kNone), last = kNone;
    while (node != kNone) {
      const u32 next = std::exchange(nodes_[node].next, kNone);
      if (ready(nodes_[node].waiter)) {
        const Waiter waiter = nodes_[node].waiter;
        nodes_[node].next = std::exchange(free_node_, node);
        --entry.count;
        each(waiter);
      } else {
        (last == kNone ? entry.first : nodes_[last].next) = node;
        last = node;
      }
      node = next;
    }
    entry.last = last;
  }
  /// The parts of a key that are on their way, a bit each, as the caller sees them. The key is being fetched.
  u64& awaited(u64 key) { return entries_[find(key)].awaited; }
  u64 awaited(u64 key) const { return entries_[find(key)].awaited; }
  /// Calls `each(key)`, in no order that may matter.
  template <class F>
  void for_each_key(F&& each) const {
    for (const u32 entry : index_) {
      if (entry != kNone) each(entries_[entry].key);
    }
  }
  /// Calls `each(key, visit)` for every entry, in no order that may matter; `visit(f)` calls f for each of its waiters.
  template <class F>
  void for_each_entry(F&& each) const {
    for (const u32 entry : index_) {
      if (entry == kNone) continue;
      each(entries_[entry].key, [&](auto&& visit) {
        for (u32 node = entries_[entry].first; node != kNone; node = nodes_[node].next) visit(nodes_[node].waiter);
      });
    }
  }
  bool contains(u64 key) const { return find(key) != kNone; }
  u32 size() const { return static_cast<u32>(entries_.size() - free_entries_.size()); }
  bool empty() const { return size() == 0; }
  bool full() const { return free_entries_.empty(); }

  void archive(Archive& a) {
    a.expect(entries_.size(), "the number of miss entries");
    a(free_entries_, entries_, index_, nodes_, free_node_);
  }

 private:
  static constexpr u32 kNone = ~u32{0};
  static constexpr u32 kPlacesPerEntry = 4;  // a choice: few keys meet, so that most searches end where they begin
  struct Entry {
    u64 key = 0;
    u32 first = kNone, last = kNone, count = 0;
    u64 awaited = 0;
  };
  struct Node {
    Waiter waiter;
    u32 next;
  };

  // Open addressing with linear probing; a hole is closed by moving later entries of the run back.
  u32 home(u64 key) const { return static_cast<u32>(key * 0x9e3779b97f4a7c15 >> index_shift_); }  // Fibonacci hashing
  /// Where the key stands in the index, or would stand.
  u32 place_of(u64 key) const {
    const u32 mask = static_cast<u32>(index_.size()) - 1;
    u32 at = home(key);
    while (index_[at] != kNone && entries_[index_[at]].key != key) at = (at + 1) & mask;
    return at;
  }
  u32 find(u64 key) const { return index_[place_of(key)]; }
  void insert(u64 key, u32 entry) {
    const u32 mask = static_cast<u32>(index_.size()) - 1;
    u32 at = home(key);
    while (index_[at] != kNone) at = (at + 1) & mask;
    index_[at] = entry;
  }
  void erase_at(u32 hole) {
    const u32 mask = static_cast<u32>(index_.size()) - 1;
    for (u32 at = (hole + 1) & mask; index_[at] != kNone; at = (at + 1) & mask) {
      const u32 distance_from_home = (at - home(entries_[index_[at]].key)) & mask;
      if (distance_from_home >= ((at - hole) & mask)) {
        index_[hole] = index_[at];
        hole = at;
      }
    }
    index_[hole] = kNone;
  }
  void append(Entry& entry, const Waiter& waiter) {
    u32 node = free_node_;
    if (node == kNone) {
      node = static_cast<u32>(nodes_.size());
      nodes_.push_back({waiter, kNone});
    } else {
      free_node_ = nodes_[node].next;
      nodes_[node] = {waiter, kNone};
    }
    if (entry.first == kNone) {
      entry.first = node;
    } else {
      nodes_[entry.last].next = node;
    }
    entry.last = node;
    ++entry.count;
  }

  u32 merges_ = 0;
  u32 index_shift_ = 0;
  std::vector<u32> free_entries_;
  std::vector<Entry> entries_;
  std::vector<u32> index_;
  std::vector<Node> nodes_;
  u32 free_node_ = kNone;
};

}  // namespace terrace
