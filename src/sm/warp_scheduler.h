// Which of an SM's ready warps issues next. SPDX-License-Identifier: MIT
#pragma once

#include "config/registry.h"
#include "engine/types.h"

namespace terrace {

/// One for each scheduler of each SM. The SM calls `pick` only when some warp is ready and then issues what it returns:
/// a pick is a grant, so a cycle in which nothing is ready changes nothing.
class WarpScheduler {
 public:
  static constexpr SlotInfo kSlot{"sm.warp_scheduler", "warp scheduler", "which of the ready warps issues next?"};
  struct Context {
    u32 warps = 64;  // places for warps that this scheduler picks from, at most 64
  };

  virtual ~WarpScheduler() = default;
  /// A place gets a new warp; until then its number means nothing.
  virtual void arrive(u32 warp) = 0;
  /// `ready` has a bit for each place whose warp could issue now, at least one. Returns one of them.
  virtual u32 pick(u64 ready) = 0;
};

}  // namespace terrace
