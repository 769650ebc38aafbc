// What the forward-backward table, L2 slices and SMs say to each other when caches call lines by virtual names.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/types.h"
#include "wire/line_key.h"

namespace terrace {

/// From the table to an L2 slice.
struct SliceCommand {
  enum class Kind : u8 {
    kReplay,    // whoever waits for `line` looks for `leading` instead, the name under which its page is cached
    kGrant,     // whoever waits for `line` may write to it, and looks for it again
    kDrop,      // lines of a page leave: those at the places in `lines`, counted from `line`,
    kDropRange  // or all of them, up to but not including `leading`
  };
  Kind kind = Kind::kReplay;
  LineKey line, leading;
  u64 lines = 0;
  // Of kReplay: the table knows that somebody who waits wants to write; kernels may not write under the name of `line`.
  bool for_write = false, read_only = false;
};

/// From the table to an SM: its L1 may hold lines of this page, which goes.
struct PageInvalidation {
  u64 page = 0;  // its key (wire/translate.h)
  u32 id = 0;    // comes back when it is done
};

}  // namespace terrace
