// Where warp instructions come from. The SM sees this and nothing else: whether a PTX machine, a trace or an
// intercepted CUDA program is behind it cannot be told.
//
// Nothing runs ahead of issue: a warp's view shows the instruction at its program counter, `execute` performs it when the
// SM issues it. Loads read memory as it was when the cycle began; stores go to the SM's StoreLog
// and take effect when the cycle ends, so no outcome depends on the order in which SMs tick. Atomics on global memory
// are only recorded; they are performed when the timing model says so (`perform_atomic`), line by line.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/archive.h"
#include "engine/types.h"
#include "frontend/guest_memory.h"
#include "frontend/program.h"

namespace terrace {

/// Which pipeline an instruction uses, hence its latency and issue interval.
enum class InstClass : u8 { kInteger, kFloat, kDouble, kSpecial, kControl, kBarrier, kFence, kMemory, kTensor };
inline constexpr u32 kInstClasses = 9;

enum class MemoryAction : u8 {
  kNone,
  kLoad,
  kStore,
  kAtomic,
  kReduction,  // an atomic without a result
  kCopy        // from global to shared memory, asynchronously
};
enum class MemorySpace : u8 { kNone, kGlobal, kShared, kLocal, kConstant, kParameter, kGeneric };

/// What an instruction has to do with the asynchronous copies that its warp made before.
enum class CopyOrder : u8 {
  kNone,
  kCommit,      // those since the last commit become a group
  kWaitGroups,  // issues when all but the youngest `copy_groups` groups have arrived
  kWaitAll      // issues when all have arrived
};

/// What the SM may know of an instruction before it issues. Immutable, one per static instruction.
struct DecodedInst {
  InstClass cls = InstClass::kInteger;
  MemoryAction action = MemoryAction::kNone;
  MemorySpace space = MemorySpace::kNone;  // kGeneric: each lane's address decides, at execution
  u8 lane_bytes = 0;                       // bytes that each active lane touches
  u8 sources = 0;                          // registers[0 .. sources) are read,
  u8 destinations = 0;                     // registers[sources .. sources + destinations) are written
  bool volatile_access = false;            // bypasses the L1
  bool asks_l2 = false;                    // .cg or .cv: bypasses the L1 where cache operators are obeyed
  bool after_atomics = false;              // waits until the warp's atomics have been performed, as a barrier does
  CopyOrder copy_order = CopyOrder::kNone;
  u8 copy_groups = 0;
  u16 tensor_work = 0;              // kTensor: multiply-accumulates, as many as an f16 instruction of this length has
  std::array<u16, 34> registers{};  // scoreboard names; data and predicate registers share one numbering
  u32 line = 0;                     // in the source, for messages
};

/// A warp that lives in a stream. Its number means nothing and decides nothing.
enum class WarpRef : u32 {};
enum class BlockRef : u32 {};
enum class AtomicRef : u32 {};
inline constexpr AtomicRef kNoAtomic{~u32{0}};

enum class WarpStatus : u8 { kRunning, kAtBarrier, kDone, kFaulted };

/// What everyone may see of a warp. An SM looks at it each time a warp could issue, so it is read where it stands instead
/// of being asked for.
struct WarpView {
  const DecodedInst* insts = nullptr;  // of its kernel
  u32 pc = 0;                          // among them
  WarpStatus status = WarpStatus::kRunning;

  /// The instruction at the program counter. The warp must be kRunning.
  const DecodedInst& next() const { return insts[pc]; }
};

/// What executing an instruction did. The arrays belong to the caller and are reused.
struct Effect {
  u64 active = 0;  // lanes that executed it, after the guard predicate
  WarpStatus status = WarpStatus::kRunning;
  MemoryAction action = MemoryAction::kNone;
  MemorySpace space = MemorySpace::kNone;  // as resolved: never kGeneric
  /// Memory accesses: each active lane touches `bytes` at address[lane] in global (and local, translated) memory, or at
  /// that offset in shared memory. A local access wider than a word touches words + 1 ... at `stride` bytes apart.
  u8 bytes = 0;
  u8 words = 1;
  u64 stride = 0;
  std::array<u64, 64> address;
  /// Lanes of a generic access that went to shared memory while the others went to global memory.
  u64 shared_lanes = 0;
  AtomicRef atomic = kNoAtomic;
  u64 atomic_lanes = 0;  // lanes that `atomic` waits for: all but those of shared or local memory
  /// The warp has jumped back in a loop that waits for memory to change: others should have their turn.
  bool polls = false;
  /// Warps of the same block that a barrier let go because of this instruction, as bits by index in the block.
  u64 released_warps = 0;
  /// If the warp faulted: kernel, file and line, instruction, address, nearest allocation. A tenant that touches memory that
  /// is not its own, or whose program breaks a rule of the machine, is stopped, and nobody else.
  std::string fault;
};

/// The stores of one SM in one cycle. They become visible together, when the cycle ends.
class StoreLog {
 public:
  /// A store that continues the previous one is merged with it.
  void push(GuestMemory& memory, VirtAddr va, const void* bytes, u32 count);
  /// Something else that may be seen only when the cycle ends. It is done in its place among the stores.
  void defer(std::function<void()> action);
  /// In the order in which they were pushed.
  void commit();
  bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    GuestMemory* memory;  // null: an action
    VirtAddr va;
    u32 first, count;  // in bytes_, or in actions_
  };
  std::vector<Entry> entries_;
  std::vector<u8> bytes_;
  std::vector<std::function<void()>> actions_;
};

/// What a kernel launch asks of an SM; block dispatch is limited by these.
struct LaunchShape {
  std::string kernel;
  u64 blocks = 0;
  u32 threads_per_block = 0;
  u32 warps_per_block = 0;
  u32 registers_per_thread = 0;  // 32-bit registers, rounded up to 8
  u32 shared_bytes_per_block = 0;
  u32 scoreboard_names = 0;  // DecodedInst::registers are below this
  LaunchId launch{};
};

/// A block's whole state as a value: warps with their registers and stacks, shared memory, barriers. Its size is what a
/// context switch moves.
struct BlockImage {
  std::vector<u8> bytes;
};

/// Gets text that kernels print.
using Printer = std::function<void(std::string_view)>;

class InstStream {
 public:
  virtual ~InstStream() = default;

  /// Where text goes that kernels print, from now on; nowhere, if the printer is empty. It comes when a launch ends, and
  /// what waits goes to the printer so far. Streams whose kernels cannot print have nothing to do.
  virtual void print_to(Printer) {}
  /// The program runs, for the first time or again: variables of its device code have their initial values.
  virtual void begin_run() {}
  /// A launch begins; others may be in flight. One that does not fit its kernel is an InputError.
  virtual LaunchShape begin_launch(const Launch& launch) = 0;
  /// All blocks of the launch have ended, and no other of it will begin: its state is freed.
  virtual void end_launch(LaunchId) {}
  /// Creates block number `block` of a launch with its warps ready to run; `sm` is what %smid reads.
  virtual BlockRef begin_block(LaunchId launch, u64 block, SmId sm = SmId{0}) = 0;
  virtual WarpRef warp(BlockRef block, u32 index) const = 0;
  /// It stays where it is until the block ends or the stream is restored, and is up to date after each call.
  virtual const WarpView& view(WarpRef warp) const = 0;
  /// All warps are done (or are given up): its state is freed.
  virtual void end_block(BlockRef block) = 0;

  /// Performs the instruction at the warp's program counter. The warp must be kRunning. `now` is what %clock reads.
  virtual void execute(WarpRef warp, Cycle now, StoreLog& stores, Effect& effect) = 0;

  /// Performs the given lanes of a recorded atomic, in lane order, and writes their results into the warp's registers.
  /// When the last lane is performed the reference is dead. Several threads may call it at once, for different lines.
  virtual void perform_atomic(AtomicRef atomic, u64 lanes) = 0;

  /// The block as a value, and a block of the same launch made from one, on the same or another SM. No atomic of the
  /// block may be pending. `save` leaves the block as it is; a restored block is a new one.
  virtual BlockImage save(BlockRef block) const = 0;
  virtual BlockRef restore(LaunchId launch, const BlockImage& image, SmId sm = SmId{0}) = 0;

  /// Where a warp is, in words for a person: file, line and what it waits for.
  virtual std::string whereabouts(WarpRef warp) const = 0;
  /// Asked now and then, between cycles. If since it was last asked all warps have only gone round loops that nothing but a
  /// change in memory can end, and nothing has changed, none will ever end: a sentence that says so. Streams whose
  /// instructions do not depend on memory have nothing to do.
  virtual std::optional<std::string> find_endless_loop() { return std::nullopt; }

  /// All that it holds between cycles. It is restored into a stream that was made of the same code, beside a memory that is
  /// restored as well. SMs hold the numbers of launches, blocks, warps and atomics: they stay what they were.
  virtual void archive(Archive&) = 0;

  /// Whether SMs on several threads may call it at once, each for blocks of its own: begin_block, restore, warp, view,
  /// end_block and execute, and later in the cycle perform_atomic. All other calls come between cycles or, one at a time, when
  /// a cycle ends.
  virtual bool serves_threads() const { return false; }
};

}  // namespace terrace
