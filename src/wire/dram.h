// What an L2 slice (or a walker that goes straight to memory) and a memory channel say to each other, a line at a time.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/types.h"
#include "wire/line_truth.h"

namespace terrace {

struct DramRequest {
  PhysAddr line;  // address of the line's first byte
  u32 tag = 0;    // comes back with the reply; means nothing to the channel
  TenantId tenant{};
  u8 walk_level = 0;                      // 0 for data
  bool write = false;                     // writes are posted: no reply
  [[no_unique_address]] LineCopy copy{};  // what a write carries
};

struct DramReply {
  PhysAddr line;
  u32 tag = 0;
  TenantId tenant{};  // whose read it answers
  [[no_unique_address]] LineCopy copy{};
};

}  // namespace terrace
