// When a run ends.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "engine/types.h"

namespace terrace {

/// When every tenant has completed once, or after so many cycles or thread instructions.
struct Until {
  enum class Kind : u8 { kCompleted, kCycles, kInstructions };
  Kind kind = Kind::kCompleted;
  u64 count = 0;
};

/// "completed", "cycles:N", "instructions:N"; nothing for anything else.
std::optional<Until> parse_until(std::string_view text);

}  // namespace terrace
