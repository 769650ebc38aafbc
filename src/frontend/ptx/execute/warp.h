// The state of warps and blocks of the PTX machine. It is plain data: a block can be written to bytes and read back.
//
// Registers lie lane by lane: a 32-bit register is one row of `stride` words, a 64-bit value two rows taken together as one
// row of double words, a predicate a mask of lanes. `stride` is 32, or 64 for wider warps: lanes beyond the warp's
// width are computed along with the others and never looked at.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <memory>
#include <new>
#include <vector>

#include "engine/types.h"
#include "frontend/inst_stream.h"

namespace terrace::ptx {

/// Rows start on cache lines.
template <class T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <class U>
  explicit LineAllocator(const LineAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64})); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t{64}); }
  friend bool operator==(LineAllocator, LineAllocator) { return true; }
};
using Rows = std::vector<u32, LineAllocator<u32>>;

/// Lanes that wait while others run: for their turn, at a reconvergence point, or for a callee to return.
struct Suspended {
  u32 pc;
  u32 reconverge;
  u64 mask;
  friend bool operator==(const Suspended&, const Suspended&) = default;
};

/// A function in progress. The kernel itself is the first.
struct Frame {
  u32 function = 0;
  u32 call = 0;  // Code::calls, for the results
  u32 row_base = 0, predicate_base = 0, param_base = 0, local_base = 0;
  u32 depth = 0;  // of the stack, when all lanes of the frame run together
  u64 full = 0;   // lanes that entered
  friend bool operator==(const Frame&, const Frame&) = default;
};

/// What a part of a warp that does not run waits for: its turn, others where lanes meet, others at a barrier or at an
/// instruction that names them (strands.h).
enum class StrandWait : u8 { kTurn, kMeeting, kGathering };

/// Lanes of a warp that run apart from the others, with a stack of their own. Masks in the stack may name lanes of other
/// strands: those that were expected before the warp parted.
struct Strand {
  u32 pc;
  u32 reconverge;
  u64 active;  // 0: the innermost lanes of the stack run first
  u64 lanes;
  StrandWait wait;
  std::vector<Suspended> stack;
  std::vector<Frame> frames;
  friend bool operator==(const Strand&, const Strand&) = default;
};

struct Block;
struct Code;
struct LaunchState;

struct Warp : WarpView {
  const Code* code = nullptr;  // of its launch
  u32 reconverge = 0;
  u64 active = 0;  // lanes running now
  u64 full = 0;    // lanes of the frame that have not exited: when all run, results need no mask
  u64 alive = 0;   // lanes of the warp that have not exited
  u64 carry = 0;   // the condition-code register's carry bit
  u8 barrier = 0;  // waited for while kAtBarrier
  u32 barrier_pc = 0;
  u8 reduction = 0;         // bar.red: what is computed when the barrier completes,
  u32 reduction_place = 0;  // and where it goes: a row of the window or a predicate
  u32 index = 0;            // in the block
  u32 pending_atomics = 0;
  u64 jumps = 0;          // jumps back, all of them
  u32 poll_pc = 0;        // the jump back of a loop that only a change in memory can end,
  u64 polls = 0;          // how often it was the only one that the warp has made of late,
  u64 polls_seen = 0;     // and the count when endless loops were last looked for
  u32 rounds = 0;         // jumps back of the running lanes while others waited
  u64 lanes = ~u64{0};    // of the running strand; all, while the warp is not parted
  bool gathered = false;  // the running strand has waited for others long enough
  std::vector<Suspended> stack;
  std::vector<Frame> frames;
  std::vector<Strand> strands;  // that wait, the next first
  Rows registers;
  Rows params;
  std::vector<u64> predicates;
  Block* block = nullptr;

  void stop_polling() { polls = polls_seen = 0; }
  /// All but `code`, its instructions and `block`.
  void archive(Archive& a) {
    a(pc, reconverge, active, full, alive, carry, status, barrier, barrier_pc, reduction, reduction_place, index);
    a(pending_atomics, jumps, poll_pc, polls, polls_seen, rounds, lanes, gathered);
    a(stack, frames, strands, registers, params, predicates);
  }

  Frame& frame() { return frames.back(); }
  const Frame& frame() const { return frames.back(); }
};

struct Barrier {
  u32 arrived = 0;   // warps
  u32 expected = 0;  // warps; 0: all that still run
  u64 waiting = 0;   // by index in the block
  bool active() const { return arrived != 0; }
  // bar.red, over the threads that arrived
  u32 threads = 0, votes = 0;
};

struct Block {
  LaunchState* launch = nullptr;
  u64 number = 0;
  SmId sm{};
  bool live = false;
  std::vector<u8> shared;
  std::vector<Warp> warps;
  u32 running = 0;  // warps that are not done
  std::array<Barrier, 16> barriers;

  /// All but `launch`; its warps then lack their links.
  void archive(Archive& a) { a(number, sm, live, shared, warps, running, barriers); }
};

}  // namespace terrace::ptx
