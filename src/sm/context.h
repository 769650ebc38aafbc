// The warps and blocks that live on an SM, and who among them may issue: what a switch to another tenant puts aside and
// brings back whole. Registers and shared memory themselves are the instruction streams'.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "engine/archive.h"
#include "frontend/inst_stream.h"
#include "sm/config.h"
#include "sm/warp_scheduler.h"
#include "sm/warp_table.h"

namespace terrace {

struct SmContext {
  /// Instructions that compete for the same issue resource.
  enum Pipe : u8 {
    kIntegerPipe,
    kSinglePipe,
    kDoublePipe,
    kSpecialPipe,
    kTensorPipe,
    kControlPipe,
    kSharedPipe,
    kGlobalPipe,
    kPipes
  };
  struct Block {
    BlockRef ref{};
    LaunchId launch{};
    u64 number = 0;  // in its launch
    TenantId tenant{};
    u32 warps = 0, undrained = 0;
    bool live = false;
    std::array<u8, 64> places{};  // of its warps, by index in the block
  };
  static constexpr u32 kWheel = 256;

  explicit SmContext(const SmConfig& config);

  /// Nobody issues any more: whoever was ready or would have been soon is looked at again when this is brought back.
  void put_aside() {
    for (u64 left = issue_candidates(); left != 0; left &= left - 1) {
      warps_[static_cast<u32>(std::countr_zero(left))].state = WarpState::kAsleep;
    }
    ready_.fill(0);
    asleep_.fill(0);
    wheel_in_use_.fill(0);
  }
  u64 issue_candidates() const {
    u64 all = 0;
    for (const u64 ready : ready_) all |= ready;
    return all;
  }
  void archive(Archive& a) {
    a(ready_, live_blocks_, wheel_in_use_, asleep_, free_places_, schedulers_, warps_, scoreboards_, blocks_);
  }

  // Every tick looks at the first of these.
  std::array<u64, kPipes> ready_{};  // warps whose next instruction may issue, by pipe
  u32 live_blocks_ = 0;
  std::array<u64, kWheel / 64> wheel_in_use_{};  // entries of asleep_ that hold a warp, a bit each
  std::array<u64, kWheel> asleep_{};             // warps to look at again, by cycle
  u64 free_places_ = 0;
  std::vector<std::unique_ptr<WarpScheduler>> schedulers_;
  std::array<Warp, 64> warps_;
  std::array<Scoreboard, 64> scoreboards_;
  std::array<Block, 64> blocks_;
};

}  // namespace terrace
