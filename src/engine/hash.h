// Content hashes (XXH64): run ids and digests of statistics. The same bytes give the same number on every machine.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "engine/types.h"

namespace terrace {

u64 hash64(std::string_view bytes);

/// Sixteen hexadecimal digits, as hashes are shown to people and written to files.
std::string hash_text(u64 hash);

}  // namespace terrace
