// Which part of the memory system holds a line.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/types.h"

namespace terrace {

class LineMap {
 public:
  virtual ~LineMap() = default;
  virtual u32 slice_of(PhysAddr line) const = 0;
  virtual u32 channel_of(PhysAddr line) const = 0;
};

}  // namespace terrace
