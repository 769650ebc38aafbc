// Which of the ready warps issues. One object per scheduler of an SM.
//
// Contract: `pick` is called when at least one candidate is ready, at most once per cycle, and the warp it returns is a
// candidate and issues in that cycle. Decisions may rest on what `pick` and `started` told, on nothing else.
// SPDX-License-Identifier: MIT
#pragma once

#include "config/registry.h"
#include "engine/archive.h"
#include "engine/types.h"

namespace terrace {

class WarpScheduler {
 public:
  static constexpr SlotInfo kSlot{"sm.warp_scheduler", "warp scheduler", "which ready warp issues"};
  struct Context {
    u32 warps = 64;  // their places on the SM are numbered below this
  };
  virtual ~WarpScheduler() = default;

  /// A new warp of a tenant took this place, or the one that has it goes behind all others, since it waits for them.
  virtual void started(u32 place, TenantId tenant) = 0;
  /// The place of one of the `candidates`: a bit for each, and at least one.
  virtual u32 pick(u64 candidates) = 0;
  /// What changes while it runs, for checkpoints; `{}` when nothing does.
  virtual void archive(Archive& a) = 0;
};

}  // namespace terrace
