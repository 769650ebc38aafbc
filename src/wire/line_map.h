// Which part of the memory system serves a line: the L2 slice by the line's name, the memory channel by its address.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/types.h"
#include "wire/line_key.h"

namespace terrace {

class LineMap {
 public:
  virtual ~LineMap() = default;
  virtual u32 slice_of(LineKey line) const = 0;
  virtual u32 channel_of(PhysAddr line) const = 0;
};

}  // namespace terrace
