// Which of some warps has been on the SM longest. Each place knows which others are older, as a bit each, so that the oldest
// is found in a few steps however many warps are ready: from one to the first of those that are older, until none is.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>

#include "engine/archive.h"
#include "engine/types.h"

namespace terrace {

class WarpAges {
 public:
  /// All others are older than the warp in this place from now on.
  void started(u32 place) {
    const u64 own = u64{1} << place;
    for (u64& older : older_) older &= ~own;
    older_[place] = ~own;
  }
  /// Of these places, one at least.
  u32 oldest(u64 places) const {
    u32 place = static_cast<u32>(std::countr_zero(places));
    for (u64 older = places & older_[place]; older != 0; older = places & older_[place])
      place = static_cast<u32>(std::countr_zero(older));
    return place;
  }
  void archive(Archive& a) { a(older_); }

 private:
  std::array<u64, 64> older_{};  // than the warp in each place
};

}  // namespace terrace
