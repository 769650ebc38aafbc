// Replays traces: each warp does what was recorded of it, in that order, as fast as the machine lets it. There are no values:
// stores change nothing and atomics return nothing.
//
// Simplified: all barriers of a block are one, which is complete when every warp that has not ended waits there.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frontend/inst_stream.h"
#include "frontend/traces/decoder.h"
#include "frontend/traces/trace_folder.h"

namespace terrace::traces {

class TraceStream final : public InstStream {
 public:
  /// `memory` must have, or get before the first launch, what the traces touch. It may not be null.
  TraceStream(std::string folder, Manifest manifest, GuestMemory& memory);
  ~TraceStream() override;

  LaunchShape begin_launch(const Launch& launch) override;
  void end_launch(LaunchId launch) override;
  BlockRef begin_block(LaunchId launch, u64 block, SmId sm) override;
  WarpRef warp(BlockRef block, u32 number) const override;
  const WarpView& view(WarpRef warp) const override;
  void end_block(BlockRef block) override;
  void execute(WarpRef warp, Cycle now, StoreLog& stores, Effect& effect) override;
  void perform_atomic(AtomicRef, u64) override {}
  BlockImage save(BlockRef block) const override;
  BlockRef restore(LaunchId launch, const BlockImage& image, SmId sm) override;
  std::string whereabouts(WarpRef warp) const override;
  void archive(Archive& a) override;

 private:
  static constexpr u32 kMostWarps = kMostThreadsOfBlock / kWarpThreads;

  struct BlockTrace;
  struct LaunchState;
  struct Block;
  /// Where a warp is.
  struct WarpState {
    u64 next = 0;
    WarpStatus status = WarpStatus::kRunning;
  };
  LaunchState open_trace(const KernelFile& file) const;
  void archive_launches(Archive& a);
  void archive_blocks(Archive& a);
  std::shared_ptr<const BlockTrace> read_block(LaunchState& launch, u64 number);
  BlockRef place_block(LaunchState& launch, u64 number, std::shared_ptr<const BlockTrace> trace);
  VirtAddr take_local_memory(LaunchId launch, const KernelFile& file, u64 threads);
  void access(const Block& block, u32 warp, const Step& step, const DecodedInst& inst, Effect& effect) const;
  void step(Block& block, u32 number, Effect& effect);
  void complete_barrier(Block& block, Effect& effect);
  void show(Block& block, u32 number) const;
  void show_all(Block& block) const;
  Block& block_of(WarpRef warp);
  const Block& block_of(WarpRef warp) const;

  std::string folder_;
  Manifest manifest_;
  GuestMemory& memory_;
  Decoder decoder_;
  DecodedInst end_;  // of a warp whose last recorded instruction does not end it
  u64 begun_ = 0;
  std::map<LaunchId, LaunchState> launches_;
  std::vector<Block> blocks_;
  std::vector<u32> free_blocks_;
  struct LocalMemory {
    VirtAddr first;
    u64 bytes;
    LaunchId user;  // 0: nobody
  };
  std::vector<LocalMemory> local_memories_;
};

}  // namespace terrace::traces
