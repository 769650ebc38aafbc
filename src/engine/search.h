// Finds a key among the ways of a set, four at a time.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/types.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace terrace {

/// The place of `key` among `count` keys, or -1. No key stands twice.
inline i32 find_key(const u64* keys, u32 count, u64 key) {
  u32 at = 0;
#if defined(__AVX2__)
  const __m256i wanted = _mm256_set1_epi64x(static_cast<long long>(key));
  for (; at + 4 <= count; at += 4) {
    const __m256i four = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys + at));
    const int equal = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(four, wanted)));
    if (equal != 0) return static_cast<i32>(at) + __builtin_ctz(static_cast<unsigned>(equal));
  }
#endif
  for (; at < count; ++at) {
    if (keys[at] == key) return static_cast<i32>(at);
  }
  return -1;
}

}  // namespace terrace
