// An instruction stream that follows a script: every warp runs the same operations, some times over, with addresses
// from a function. It stands in for a program wherever a test must know exactly which instructions run.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <vector>

#include "engine/check.h"
#include "frontend/inst_stream.h"

namespace terrace {

/// Which warp of which block, in which round of the script.
struct ScriptPlace {
  u64 block;
  u32 warp;
  u32 round;
};

struct ScriptOp {
  DecodedInst inst;
  std::function<u64(const ScriptPlace&, u32 lane)> address = {};
};

inline DecodedInst plain_inst(InstClass cls, std::vector<u16> reads, std::vector<u16> writes) {
  DecodedInst inst;
  inst.cls = cls;
  inst.sources = static_cast<u8>(reads.size());
  inst.destinations = static_cast<u8>(writes.size());
  std::copy(reads.begin(), reads.end(), inst.registers.begin());
  std::copy(writes.begin(), writes.end(), inst.registers.begin() + inst.sources);
  return inst;
}

inline DecodedInst memory_inst(MemoryAction action, MemorySpace space, u8 bytes, std::vector<u16> reads,
                               std::vector<u16> writes) {
  DecodedInst inst = plain_inst(InstClass::kMemory, std::move(reads), std::move(writes));
  inst.action = action;
  inst.space = space;
  inst.lane_bytes = bytes;
  return inst;
}

class ScriptedStream : public InstStream {
 public:
  ScriptedStream(std::vector<ScriptOp> script, u32 rounds, u32 width = 32)
      : script_(std::move(script)), rounds_(rounds), width_(width) {
    exit_.cls = InstClass::kControl;
  }

  LaunchShape begin_launch(const Launch& launch) override {
    warps_per_block_ = static_cast<u32>((launch.block.count() + width_ - 1) / width_);
    return {launch.kernel,        launch.blocks(), static_cast<u32>(launch.block.count()), warps_per_block_, 16, 0, 64,
            LaunchId{++launches_}};
  }
  BlockRef begin_block(LaunchId, u64 block, SmId) override {
    return place({block, 0, std::vector<State>(warps_per_block_)});
  }
  WarpRef warp(BlockRef block, u32 number) const override { return WarpRef(u32(block) * 64 + number); }
  const WarpView& view(WarpRef warp) const override { return blocks_[index(warp) / 64].views[index(warp) % 64]; }
  void end_block(BlockRef) override { ++ended; }
  BlockImage save(BlockRef ref) const override {
    const Block& block = blocks_[index(ref)];
    BlockImage image;
    const auto put = [&](const void* from, size_t bytes) {
      image.bytes.insert(image.bytes.end(), static_cast<const u8*>(from), static_cast<const u8*>(from) + bytes);
    };
    put(&block.number, sizeof(block.number));
    put(&block.arrived, sizeof(block.arrived));
    put(block.warps.data(), block.warps.size() * sizeof(State));
    return image;
  }
  BlockRef restore(LaunchId, const BlockImage& image, SmId) override {
    Block block{0, 0, std::vector<State>(warps_per_block_)};
    const u8* from = image.bytes.data();
    const auto take = [&](void* to, size_t bytes) {
      std::memcpy(to, from, bytes);
      from += bytes;
    };
    take(&block.number, sizeof(block.number));
    take(&block.arrived, sizeof(block.arrived));
    take(block.warps.data(), block.warps.size() * sizeof(State));
    return place(std::move(block));
  }
  std::string whereabouts(WarpRef) const override { return "in a script"; }
  void archive(Archive& a) override {
    a(warps_per_block_, launches_, blocks_, ended, atomic_lanes);
    for (Block& block : blocks_) show(block);
  }

  void execute(WarpRef warp, Cycle, StoreLog&, Effect& effect) override {
    Block& block = blocks_[index(warp) / 64];
    step(block, index(warp) % 64, effect);
    show(block);
  }
  void perform_atomic(AtomicRef, u64 lanes) override { atomic_lanes += static_cast<u64>(std::popcount(lanes)); }

  u64 ended = 0, atomic_lanes = 0;
  bool never_completes_barriers = false;

 private:
  struct State {
    u32 op = 0, round = 0;
    WarpStatus status = WarpStatus::kRunning;
  };
  struct Block {
    u64 number;
    u32 arrived;
    std::vector<State> warps;
    std::vector<WarpView> views = {};  // of them
    void archive(Archive& a) { a(number, arrived, warps); }
  };
  BlockRef place(Block block) {
    blocks_.push_back(std::move(block));
    show(blocks_.back());
    return BlockRef(blocks_.size() - 1);
  }
  void show(Block& block) const {
    block.views.resize(block.warps.size());
    for (size_t i = 0; i < block.warps.size(); ++i) {
      const State& state = block.warps[i];
      block.views[i] = {state.round == rounds_ ? &exit_ : &script_[state.op].inst, 0, state.status};
    }
  }
  void step(Block& block, u32 number, Effect& effect) {
    State& state = block.warps[number];
    effect.active = width_ == 64 ? ~u64{0} : (u64{1} << width_) - 1;
    effect.status = WarpStatus::kRunning;
    effect.action = MemoryAction::kNone;
    effect.released_warps = effect.shared_lanes = 0;
    effect.words = 1;
    effect.atomic = kNoAtomic;
    effect.atomic_lanes = effect.active;
    if (state.round == rounds_) return void(effect.status = state.status = WarpStatus::kDone);
    const ScriptOp& op = script_[state.op];
    effect.action = op.inst.action;
    effect.space = op.inst.space;
    effect.bytes = op.inst.lane_bytes;
    if (op.address) {
      for (u32 lane = 0; lane < width_; ++lane)
        effect.address[lane] = op.address({block.number, number, state.round}, lane);
    }
    if (effect.action == MemoryAction::kAtomic || effect.action == MemoryAction::kReduction)
      effect.atomic = AtomicRef{0};
    if (++state.op == script_.size()) {
      state.op = 0;
      ++state.round;
    }
    if (op.inst.cls == InstClass::kBarrier) arrive(block, state, effect);
  }
  void arrive(Block& block, State& state, Effect& effect) {
    effect.status = state.status = WarpStatus::kAtBarrier;
    if (++block.arrived < block.warps.size() || never_completes_barriers) return;
    block.arrived = 0;
    for (State& warp : block.warps) warp.status = WarpStatus::kRunning;
    effect.released_warps = block.warps.size() == 64 ? ~u64{0} : (u64{1} << block.warps.size()) - 1;
  }

  std::vector<ScriptOp> script_;
  u32 rounds_;
  u32 width_;
  u32 warps_per_block_ = 1;  // of all launches
  u32 launches_ = 0;
  DecodedInst exit_;
  std::vector<Block> blocks_;
};

/// The host side of a script: launches of so many blocks of so many warps, over one buffer.
class ScriptProgram final : public Program {
 public:
  ScriptProgram(u32 blocks, u32 threads, u64 buffer_bytes = 1 << 20, u32 launches = 1)
      : blocks_(blocks), threads_(threads), bytes_(buffer_bytes), launches_(launches) {}
  void allocate(GuestMemory& memory) override { memory.allocate("buffer", bytes_); }
  void initialise(GuestMemory&) override { left_ = launches_; }
  std::optional<Launch> next(GuestMemory&) override {
    if (left_ == 0) return std::nullopt;
    if (left_ < launches_ && between_launches) between_launches();
    --left_;
    Launch launch;
    launch.kernel = "script";
    launch.grid = {blocks_, 1, 1};
    launch.block = {threads_, 1, 1};
    launch.stream = left_ % streams;
    launch.host_waits = streams == 1;
    return launch;
  }
  CheckResult check(const GuestMemory&) const override { return {true, ""}; }
  void archive(Archive& a) override { a(left_); }

  std::function<void()> between_launches;
  u32 streams = 1;  // with more than one the host does not wait

 private:
  u32 blocks_, threads_;
  u64 bytes_;
  u32 launches_, left_ = 0;
};

}  // namespace terrace
