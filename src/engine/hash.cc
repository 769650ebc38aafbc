// SPDX-License-Identifier: MIT
#include "engine/hash.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace terrace {

u64 hash64(std::string_view bytes) {
  return XXH64(bytes.data(), bytes.size(), 0);
}

std::string hash_text(u64 hash) {
  return fmt::format("{:016x}", hash);
}

}  // namespace terrace
