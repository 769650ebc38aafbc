// The slot `mmu.walk_order`: in which order does a queue give out the walks that wait in it? A queue owns its walks
// from `push` to `pop`. A walk scheduler (translation/walk_scheduler.h) has one queue, or one for each walker: the two
// slots combine freely.
//
//   push     a walk that found no walker. It may look into the walk caches (`score`), off the critical path.
//   pop      when a walker is free; only when size() > 0. The walk says how many cycles choosing it took.
//   started  a walk of the same scheduler began without waiting.
//
// Contract: every walk that was pushed is popped exactly once; nothing depends on anything but these calls.
// SPDX-License-Identifier: MIT
#pragma once

#include "config/registry.h"
#include "engine/archive.h"
#include "engine/types.h"

namespace terrace {

/// A page walk that waits for a walker or is under way.
struct Walk {
  u64 key = 0;  // address space and page
  u64 page = 0;
  u64 order = 0;  // grows with arrival
  Cycle arrived = 0;
  u32 inst = 0;  // 20 bits: of the instruction that asked first; they wrap, collisions are tolerated
  TenantId tenant{};
  bool scored = false;      // the walk caches were asked when it arrived
  u8 selection_cycles = 0;  // of choosing it
};
/// The width of an instruction's name in a walk (SIMT-aware, §4).
inline constexpr u32 kInstBits = 20;
constexpr u32 instruction_name(u32 dynamic_id) {
  return dynamic_id & ((u32{1} << kInstBits) - 1);
}

/// What a policy may ask the walk caches.
class WalkCacheView {
 public:
  virtual ~WalkCacheView() = default;
  /// How many reads a walk would need now; entries that it counts on are noted. Recency does not change.
  virtual u32 score(const Walk& walk) = 0;
};

class WalkOrder {
 public:
  struct Context {
    u32 entries = 1;  // never more than this many wait
    u32 queue = 0;    // which queue of its scheduler this is
    u64 seed = 1;
    WalkCacheView* walk_cache = nullptr;
  };
  static constexpr SlotInfo kSlot{"mmu.walk_order", "walk order", "which walk of a queue goes first"};

  virtual ~WalkOrder() = default;
  virtual void push(Walk walk, Cycle now) = 0;
  virtual Walk pop(Cycle now) = 0;
  virtual u32 size() const = 0;
  virtual void started(const Walk& /*walk*/) {}
  /// A promise, which the contract suite holds it to and nobody else asks for: no walk waits while more than so many younger
  /// ones of its queue are given out.
  static constexpr u64 kUnbounded = ~u64{0};
  virtual u64 most_passed() const = 0;
  /// What changes while it runs, for checkpoints; `{}` when nothing does. Between cycles only.
  virtual void archive(Archive& a) = 0;
};

}  // namespace terrace
