// What the parts of the toy machine share: requests in flight, statistics, and the planted mistake.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/link.h"
#include "engine/pool.h"
#include "engine/scheduler.h"
#include "toy_machine.h"

namespace terrace::toy {

inline constexpr u32 kPageLines = 32;  // 4 KB of 128-byte lines
inline constexpr u32 kWalkLevels = 4;

struct Access {
  u64 line = 0;
  u16 source = 0;  // SM, or the number of SMs for the MMU
  u16 slice = 0;
  u8 warp = 0;
  u8 tenant = 0;
  u8 level = 0;  // of a walk; 0 is data
};
using AccessRef = Handle<Access>;
using AccessLink = Link<AccessRef>;
struct Translation {
  u64 page = 0;
  u16 sm = 0;
  u8 tenant = 0;
};

struct Stats {
  u64 issued = 0, l1_hits = 0, l1_misses = 0, l1_merges = 0, tlb_hits = 0, tlb_misses = 0, l2_hits = 0, l2_misses = 0;
  u64 dram_accesses = 0, row_hits = 0, walks = 0, walk_cycles = 0, shared_tlb_hits = 0, grants = 0, latency = 0;
  u64 stalled_cycles = 0;
  template <class F>
  void each(F&& f) const {
    f("issued", issued), f("l1_hits", l1_hits), f("l1_misses", l1_misses), f("l1_merges", l1_merges);
    f("tlb_hits", tlb_hits), f("tlb_misses", tlb_misses), f("l2_hits", l2_hits), f("l2_misses", l2_misses);
    f("dram_accesses", dram_accesses), f("row_hits", row_hits), f("walks", walks), f("walk_cycles", walk_cycles);
    f("shared_tlb_hits", shared_tlb_hits), f("grants", grants), f("latency", latency);
    f("stalled_cycles", stalled_cycles);
  }
};

/// What all units share: the configuration, the requests in flight and where to count.
struct World {
  const Config& config;
  Scheduler scheduler;
  Pool<Access> accesses;
  u64 translations_in_flight = 0;

  explicit World(const Config& c) : config(c), scheduler(c.options) {}
  bool has(Mistake mistake) const { return config.mistake == mistake; }
  LinkShape shape(u32 latency) const { return {.rate = 1, .latency = latency, .capacity = config.queue}; }
};

}  // namespace terrace::toy
