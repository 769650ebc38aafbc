// What printf makes of a format and its arguments, as a kernel passes them to vprintf: the arguments lie in a buffer one
// behind the other, each at the next multiple of its own size (4 bytes for int and char, 8 for long, double, pointers).
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engine/types.h"

namespace terrace::ptx {

/// A byte at an address as the printing thread sees it, or nothing where it may not read.
using ByteSource = std::function<std::optional<u8>(u64 address)>;

struct PrintedText {
  std::string text;
  u32 arguments = 0;              // that were taken from the buffer
  std::optional<u64> unreadable;  // the address that ended it
};

/// Ends early when the text has more than `most` bytes. A conversion that C does not have, and %n, is text.
PrintedText format_text(const ByteSource& bytes, u64 format, u64 arguments, u64 most);

}  // namespace terrace::ptx
