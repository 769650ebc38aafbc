// What an L2 slice keeps of each line, and what its policies may see of one.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/types.h"
#include "wire/access.h"
#include "wire/line_truth.h"

namespace terrace {

struct L2Line {
  TenantId tenant{};
  u8 walk_level = 0;  // 1 root .. 4 leaf of the page-table entry that was asked for; 0: data
  bool dirty = false;
  bool writable = true;  // the permission of its page when it came; lines with virtual names only
  u8 written = 0;        // the sectors that were written to
  u64 missing = 0;       // its words that only memory has; a line that has no sectors, and such words, is dirty
  [[no_unique_address]] LineCopy copy{};
};

/// A request as it comes to a slice.
struct L2Request {
  TenantId tenant{};
  AccessKind kind{};
  u8 walk_level = 0;  // as above
};

}  // namespace terrace
