// The PTX machine: the InstStream that executes compiled CUDA kernels. One machine belongs to one tenant: its modules,
// its memory, its launches, of which several may be in flight. Most programs have one module; a CUDA process brings one
// for each of its object files. A kernel is decoded when it is first launched: one that cannot be executed does not keep
// the others from running.
//
// Simplified: a warp is the unit of barriers, as before Volta: when some of its lanes arrive, the warp has arrived, and
// lanes that wait elsewhere in the warp do not run meanwhile; only lanes that run apart because they waited for each other
// are gathered first (strands.h). Indirect calls are refused. Integer
// division by zero gives all ones, quotient and remainder (docs/ptx.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/out_of_line.h"
#include "frontend/device_code.h"
#include "frontend/inst_stream.h"
#include "frontend/ptx/execute/device_runtime.h"
#include "frontend/ptx/execute/execution.h"
#include "frontend/ptx/execute/recurrence.h"
#include "frontend/ptx/execute/texture.h"
#include "frontend/ptx/read/module.h"

namespace terrace::ptx {

struct MachineConfig {
  u32 warp_width = 32;
  u64 heap_bytes = DeviceHeap::kBytes;
  u64 loop_limit = DeviceCode::kLoopLimit;
  u64 stack_bytes = DeviceCode::kStackBytes;
};

enum class AtomicOp : u8 { kAdd, kMin, kMax, kAnd, kOr, kXor, kExch, kCas, kInc, kDec };

/// Applies an atomic to the word at `word`; gives what it held.
using AtomicFunction = u64 (*)(u8* word, u64 operand, u64 compare);
/// A number that stands for such a function in a checkpoint.
u32 atomic_number(AtomicFunction function);
AtomicFunction atomic_of_number(u32 number);

/// An atomic of one warp that waits to be performed.
struct PendingAtomic {
  AtomicFunction function = nullptr;
  Warp* warp = nullptr;
  u8* shared = nullptr;       // of the block, if addresses are offsets there: arrivals that wait for copies
  std::atomic<u64> lanes{0};  // not yet performed: slices of the L2 perform theirs at once
  u32 result_place = 0;       // byte offset in Warp::registers, or kNoOperand
  bool wide = false;
  u8 bytes = 0;
  bool watched = false;  // of a warp that polls: what it changes ends the wait of others
  std::array<u64, 64> address, operand, compare;
};

class Machine final : public InstStream {
 public:
  /// Without a module; `add` brings them.
  explicit Machine(GuestMemory& memory, MachineConfig config = {});
  /// With one, whose variables are symbols of the memory.
  Machine(Module module, GuestMemory& memory, MachineConfig config = {});
  ~Machine() override;

  LaunchShape begin_launch(const Launch& launch) override;
  void end_launch(LaunchId launch) override;
  BlockRef begin_block(LaunchId launch, u64 block, SmId sm) override;
  WarpRef warp(BlockRef block, u32 index) const override;
  const WarpView& view(WarpRef warp) const override { return at(warp); }
  void end_block(BlockRef block) override;
  void execute(WarpRef warp, Cycle now, StoreLog& stores, Effect& effect) override;
  void perform_atomic(AtomicRef atomic, u64 lanes) override;
  void begin_run() override;
  BlockImage save(BlockRef block) const override;
  BlockRef restore(LaunchId launch, const BlockImage& image, SmId sm) override;
  std::string whereabouts(WarpRef warp) const override;
  std::optional<std::string> find_endless_loop() override;
  void archive(Archive& a) override;
  bool serves_threads() const override { return true; }

  /// Places the module's variables in the memory; its number is what Launch::module calls it.
  u32 add(Module module);
  /// Forgets all modules and frees what they and their launches allocated. Nothing may be in flight.
  void clear();
  struct PlacedVariable {
    VirtAddr first;
    u64 bytes;
  };
  /// A .global or .const variable of a module, if it has one of that name.
  std::optional<PlacedVariable> variable(u32 module, std::string_view name) const;
  /// By name.
  std::vector<std::string_view> kernels(u32 module) const;
  /// The kernel as PTX declares it, or null.
  const Function* declaration(u32 module, std::string_view kernel) const;
  /// The kernel, decoded. One that is not there, or cannot be executed, is an InputError.
  const Code& code(u32 module, std::string_view kernel);

  u32 warp_width() const { return config_.warp_width; }
  /// What kernels can take with malloc. It can be changed until one that does is launched; then the answer is false.
  u64 heap_bytes() const { return config_.heap_bytes; }
  bool set_heap_bytes(u64 bytes);
  /// What each thread of a kernel that recurses has for it, beyond the longest chain of calls that is known; of kernels that
  /// are launched from now on.
  u64 stack_bytes() const { return config_.stack_bytes; }
  void set_stack_bytes(u64 bytes) { config_.stack_bytes = bytes; }
  /// Local memory of a thread of that kernel.
  u64 local_bytes(const Code& code) const { return code.local_bytes + (code.recursive ? config_.stack_bytes : 0); }

  void print_to(Printer printer) override;
  /// Without a printer, text waits here.
  std::string take_printed() { return runtime_.take_printed(); }

  /// Objects that kernels may name.
  ObjectTable<Texture>& textures() { return textures_; }
  ObjectTable<Surface>& surfaces() { return surfaces_; }

  // For handlers.
  DeviceRuntime& runtime() { return runtime_; }
  void raise_fault(Execution& x, u32 lane, const std::string& what);
  /// The running lanes have taken a branch to an instruction before it.
  void jump_back(Execution& x, const Inst& inst);
  /// Something that warps may wait for has changed.
  void note_change() {
    changes_.fetch_add(1, std::memory_order_relaxed);
    watches_.store(false, std::memory_order_relaxed);
  }
  /// Whether it is being found out if all warps go round loops that nothing ends. The first change ends that, so what may
  /// change anything says so then (`disturb`); nobody needs to know of changes otherwise.
  bool watches() const { return watches_.load(std::memory_order_relaxed); }
  void disturb() {
    if (watches()) note_change();
  }
  /// Bytes are written where these are.
  void disturb(const u8* old, const void* bytes, u64 count) {
    if (watches() && std::memcmp(old, bytes, count) != 0) note_change();
  }
  void enter_call(Execution& x, u32 function, u32 call, u64 lanes);
  /// A warp arrives at a barrier; `threads` of 0 means all that run. Waiting warps are let go when it is complete.
  struct Arrival {
    u32 id, threads;
    bool wait;
    u8 reduction;  // kNoReduction, or what bar.red computes
    u32 result;    // place of its result: a row, or a predicate
    u64 votes;     // lanes whose predicate holds
  };
  static constexpr u8 kNoReduction = 0, kReducePopc = 1, kReduceAnd = 2, kReduceOr = 3;
  void arrive(Execution& x, const Arrival& arrival);
  PendingAtomic& new_atomic(Execution& x);

 private:
  // At once: far more than any machine has room for. Only what is used becomes real memory.
  static constexpr u32 kMostBlocksAtOnce = u32{1} << 16;
  static constexpr u32 kMaxCallDepth = 128;   // the stack of local memory is usually spent earlier
  static constexpr u32 kLeastFrameBytes = 8;  // what a GPU keeps of a caller at least: where to go on

  struct Loaded {
    Module module;
    std::map<std::string_view, VirtAddr> variables;
    VirtAddr constants{GuestMemory::kBase};  // where its .const variables begin
    std::vector<VirtAddr> allocations;
    std::map<std::string_view, Code> kernels;  // that have been launched
  };

  void place_variables(Loaded& loaded) const;
  void write_variables(const Loaded& loaded) const;
  void check_launch(const Launch& launch, const Function& kernel, const Code& code) const;
  static std::vector<u8> pack_arguments(const Launch& launch, const Function& kernel);
  VirtAddr take_local_memory(LaunchId launch, std::string_view kernel, u64 bytes);
  /// Frames of one warp: a call takes some of a GPU's stack, whatever its function keeps there.
  u64 most_frames() const { return std::max<u64>(kMaxCallDepth, config_.stack_bytes / kLeastFrameBytes); }
  VirtAddr take_grid_workspace(LaunchId launch);
  void place_heap();
  void show_printed();
  void prepare_warp(Block& block, Warp& warp, u32 index);
  u32 claim_block(LaunchState& launch);
  bool gather_lanes(Warp& warp, const Inst& inst, u64 active) const;
  void finish_warp(Warp& warp, Effect& effect);
  void complete_barriers(Block& block, Effect* effect);
  void release(Block& block, u32 id, Effect* effect);
  Warp& at(WarpRef warp) const { return *warps_[index(warp)]; }
  static std::string position(const Code& code, u32 pc);
  void archive_launches(Archive& a);
  void archive_blocks(Archive& a);
  void archive_atomics(Archive& a);
  void archive_watch(Archive& a);
  bool limit_jumps(Execution& x);
  TERRACE_OUT_OF_LINE void watch(const Execution& x);
  template <class F>
  void each_live_warp(F&& f);
  bool gives_way(const Warp& warp) const;
  void begin_watch();
  bool goes_round(Warp& warp);
  std::string say_endless(const Warp& warp, u64 warps, u64 clock_jumps) const;
  void link_block(u32 place);

  GuestMemory& memory_;
  MachineConfig config_;
  u32 stride_;
  std::deque<Loaded> modules_;                // never moves: code points into them
  std::map<LaunchId, LaunchState> launches_;  // in flight
  u32 begun_ = 0;                             // launches
  struct LocalMemory {
    VirtAddr first;
    u64 bytes = 0;
    std::optional<LaunchId> user;
  };
  std::vector<LocalMemory> local_memories_;  // each as large as the ones before it, or larger
  /// What a barrier of the whole grid counts in. It begins as zeros, and each barrier leaves it as the next one needs it.
  struct GridWorkspace {
    VirtAddr first;
    std::optional<LaunchId> user;
  };
  std::vector<GridWorkspace> grid_workspaces_;
  // SMs on several threads begin and end blocks and record atomics: one at a time. They look at blocks and warps without
  // asking, so these stay where they are.
  std::mutex claims_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<u32> free_blocks_;
  std::vector<Warp*> warps_;  // by WarpRef: block number times kWarpsPerBlock plus index
  std::deque<PendingAtomic> atomics_;
  std::vector<u32> free_atomics_;
  // How often something changed that a warp may wait for, as far as it matters while others poll; and the count when an
  // endless loop was last looked for.
  std::atomic<u64> changes_{0};
  u64 changes_seen_ = 0;
  // Of each warp that there was when the watch began.
  std::atomic<bool> watches_{false};
  std::unordered_map<const Warp*, Recurrence> recurrences_;
  bool some_give_way_ = false;
  DeviceRuntime runtime_;
  ObjectTable<Texture> textures_{1};
  ObjectTable<Surface> surfaces_{u64{1} << 40};  // no number means both
  Printer printer_;
};

inline constexpr u32 kWarpsPerBlock = 64;  // Effect::released_warps has a bit for each

}  // namespace terrace::ptx
