// The asynchronous copies of a warp that are under way, in the order in which they issued, and the arrivals at barriers
// that wait for them. Simplified: groups are the warp's, not each thread's own. Where threads of a warp commit apart, a
// wait covers more than it has to, never less.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

#include "engine/archive.h"
#include "engine/types.h"
#include "frontend/inst_stream.h"

namespace terrace {

class CopyQueue {
 public:
  bool empty() const { return entries_.empty(); }
  /// A copy is under way; `id` names it.
  void begin(u32 id) { entries_.push_back({.id = id, .group = groups_}); }
  void commit() { ++groups_; }
  /// An arrival is due when every copy so far has come. Not when there is none.
  void add_arrival(AtomicRef arrival, u64 lanes) {
    entries_.push_back({.group = groups_, .arrival = arrival, .lanes = lanes});
  }
  /// Whether an instruction need not wait any more.
  bool lets_pass(const DecodedInst& inst) const {
    if (entries_.empty()) return true;
    // The oldest entry is always a copy: arrivals leave as soon as nothing is before them.
    if (inst.copy_order == CopyOrder::kWaitGroups) return entries_.front().group + inst.copy_groups >= groups_;
    return inst.copy_order != CopyOrder::kWaitAll;
  }
  /// A copy has come. Arrivals that waited for no other are handed to `perform(arrival, lanes)`.
  template <class F>
  void complete(u32 id, F&& perform) {
    const auto is_it = [id](const Entry& entry) { return entry.arrival == kNoAtomic && entry.id == id; };
    entries_.erase(std::find_if(entries_.begin(), entries_.end(), is_it));
    while (!entries_.empty() && entries_.front().arrival != kNoAtomic) {
      perform(entries_.front().arrival, entries_.front().lanes);
      entries_.erase(entries_.begin());
    }
  }
  void archive(Archive& a) { a(entries_, groups_); }

 private:
  struct Entry {
    u32 id = 0;
    u32 group = 0;
    AtomicRef arrival = kNoAtomic;  // or a copy
    u64 lanes = 0;
  };
  std::vector<Entry> entries_;
  u32 groups_ = 0;  // committed so far
};

}  // namespace terrace
