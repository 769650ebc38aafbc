// When a run ends.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "engine/types.h"

namespace terrace {

/// When every tenant has completed once, at the latest after so many cycles or thread instructions; or after so many
/// cycles whoever has completed: a window.
struct Until {
  enum class Kind : u8 { kCompleted, kCycles, kInstructions, kWindow };
  Kind kind = Kind::kCompleted;
  u64 count = 0;
};

/// One of kUntilForms; nothing for anything else.
std::optional<Until> parse_until(std::string_view text);
inline constexpr std::string_view kUntilForms = R"("completed", "cycles:N", "instructions:N" or "window:N")";

bool is_window(std::string_view until);
/// What a window asks of other keys, as the end of a sentence about run.until.
inline constexpr std::string_view kWindowRelaunches =
    "starts tenants that complete again to its end; remove run.relaunch = false, or use cycles:N";
inline constexpr std::string_view kWindowHasNoCap =
    "ends after its cycles only; remove run.instruction_cap, or use cycles:N";

}  // namespace terrace
