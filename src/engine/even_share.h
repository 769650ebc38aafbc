// Something countable (SMs, channels, ways) divided among tenants: contiguous shares in the order of the tenants, equal
// or, when they do not divide, one more for the first ones.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "engine/types.h"

namespace terrace {

struct EvenShare {
  u32 first = 0, count = 0;
};

constexpr EvenShare even_share(u32 total, u32 parts, u32 part) {
  const u32 least = total / parts, more = total % parts;
  return {part * least + (part < more ? part : more), least + (part < more)};
}

/// How much each one has.
inline std::vector<u64> even_counts(u32 total, u32 parts) {
  std::vector<u64> counts;
  for (u32 part = 0; part < parts; ++part) counts.push_back(even_share(total, parts, part).count);
  return counts;
}

}  // namespace terrace
