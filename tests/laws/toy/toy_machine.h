// A toy GPU for the laws of time: cores, caches, crossbars, memory channels and page walkers with invented behaviour,
// but with the shape of the real machine: about a hundred units that sleep, wake each other through links and push back
// when full. The laws are tested on it, with mistakes planted that they must catch; the engine's speed is measured on
// it.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/scheduler.h"
#include "engine/types.h"

namespace terrace::toy {

/// What the warps do, per 1,024 instructions and per access; invented, to reach different regimes.
struct Mix {
  std::string name;
  u32 memory_per_1024;  // instructions that access memory
  u32 reuse_per_1024;   // accesses that go to the SM's own few lines
  u32 pages;            // the others spread over so many pages of 32 lines
  u32 active_sms;       // SMs that have warps at all
};
const std::vector<Mix>& mixes();
const Mix& mix(const std::string& name);

/// Mistakes a developer could make, one at a time. Each breaks one law, and none looks wrong or crashes.
enum class Mistake : u8 {
  kNone,
  kForgottenWake,    // a unit sleeps although it knows when it has work
  kSameCycleCredit,  // a place freed in this cycle is used in this cycle
  kPointerPerTick,   // a round-robin pointer moves on each tick, not on each grant
  kCounterPerTick    // a statistic counts ticks, not cycles
};

struct Config {
  u32 sms = 30, slices = 24, channels = 12, walkers = 16, tenants = 2;
  u32 warps = 64;
  u32 queue = 16;  // entries of each queue and each miss table; 1 or 2 makes everything push back
  u64 instructions = 100'000;
  u64 seed = 1;
  Mix mix = mixes()[0];
  Mistake mistake = Mistake::kNone;
  Scheduler::Options options;
};

struct Result {
  u64 digest = 0;
  u64 cycles = 0, instructions = 0, ticks = 0, walks = 0, dram_accesses = 0;
  std::string summary;  // every statistic by name, to say what differs
};

/// Runs until all instructions are issued and nothing is in flight. Throws Deadlock if that never comes.
Result run(const Config& config);

}  // namespace terrace::toy
