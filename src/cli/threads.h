// --threads: how many threads simulate one run.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "config/field_text.h"
#include "engine/check.h"
#include "engine/tick_thread.h"

namespace terrace {

/// What the user typed, or `otherwise` if that is nothing.
inline u32 threads_of(const std::string& text, const std::string& command, u32 otherwise) {
  if (text.empty()) return otherwise;
  const auto threads = parse_integer(text);
  if (!threads || *threads == 0 || *threads > kMaxTickThreads)
    input_error("{}: --threads must be a whole number from 1 to {}, not {}", command, kMaxTickThreads, text);
  return static_cast<u32>(*threads);
}

}  // namespace terrace
