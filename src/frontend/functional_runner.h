// Runs a program without timing: launches in the order of issue, block after block, the warps of resident blocks in
// turn, one instruction each. While all resident blocks wait for memory to change, another one begins: blocks that wait for
// each other go on. Stores take effect after each instruction and atomics at once. What it counts are facts of
// the program, the same on every machine: instructions by class, lines and pages touched per access.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <vector>

#include "engine/types.h"
#include "frontend/inst_stream.h"
#include "frontend/program.h"

namespace terrace {

struct FunctionalConfig {
  u32 resident_blocks = 1;
  /// Of one launch. What runs longer is taken for an endless loop.
  u64 instruction_limit = u64{10} << 30;
  bool count = true;  // all facts; otherwise only warp instructions, launches and blocks
  /// How many may be resident when they wait for each other: about as many as on the largest GPUs (132 SMs of 32 blocks).
  u32 most_resident_blocks = 4096;
};

struct FunctionalCounts {
  static constexpr u32 kLineBytes = 128, kPageBytes = 4096;
  static constexpr u32 kSpaces = 7;  // MemorySpace

  u64 warp_instructions = 0;
  u64 thread_instructions = 0;
  std::array<u64, kInstClasses> by_class{};
  std::array<u64, kSpaces> accesses{};  // warp instructions that touch a space
  // Global and local accesses only.
  u64 line_accesses = 0;  // warp accesses
  u64 lines = 0;          // distinct lines, summed over accesses
  u64 pages = 0;          // distinct pages, summed over accesses
  u32 max_lines = 0, max_pages = 0;
  u64 launches = 0, blocks = 0;

  FunctionalCounts& operator+=(const FunctionalCounts& other);
  double lines_per_access() const { return line_accesses == 0 ? 0 : double(lines) / double(line_accesses); }
  double pages_per_access() const { return line_accesses == 0 ? 0 : double(pages) / double(line_accesses); }
};

class FunctionalRunner {
 public:
  FunctionalRunner(InstStream& stream, FunctionalConfig config = {}) : stream_(stream), config_(config) {}

  /// The whole program: initialise, every launch, not the check. Throws InputError for what the program does wrong.
  void run(Program& program, GuestMemory& memory);
  void run(const Launch& launch);
  const FunctionalCounts& counts() const { return counts_; }

 private:
  struct ResidentWarp {
    WarpRef ref;
    const WarpView* view;
  };
  struct Resident {
    BlockRef block;
    std::vector<ResidentWarp> warps;
    u32 done = 0;
    u64 polled = 0;      // warps that have polled since a block last began, as bits
    bool waits = false;  // all that run have
  };
  Resident begin_block(const LaunchShape& shape, u64 number);
  void step(const ResidentWarp& warp);
  void count(const DecodedInst& inst);
  void count_addresses();
  bool turn(Resident& resident);
  bool make_room(std::vector<Resident>& residents);
  [[noreturn]] void explain_barriers(const std::vector<Resident>& residents) const;

  InstStream& stream_;
  FunctionalConfig config_;
  FunctionalCounts counts_;
  StoreLog stores_;
  Effect effect_;
  u64 executed_ = 0;  // warp instructions of the launch that runs
  u32 room_ = 1;      // for resident blocks
  std::string kernel_;
};

}  // namespace terrace
