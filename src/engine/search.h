// Finds a key among the ways of a set, or the way that was used first, four at a time.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/types.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace terrace {

/// The first place of `key` among `count` keys, or -1.
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

/// The place of the least of `count` values, which are different and below 2^63.
inline u32 find_least(const u64* values, u32 count) {
  u32 least = 0, at = 1;
#if defined(__AVX2__)
  if (count >= 8) {
    // The least of every fourth value, and where it stands.
    __m256i lowest = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values));
    __m256i place = _mm256_setr_epi64x(0, 1, 2, 3), here = place;
    for (at = 4; at + 4 <= count; at += 4) {
      here = _mm256_add_epi64(here, _mm256_set1_epi64x(4));
      const __m256i four = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + at));
      const __m256i lower = _mm256_cmpgt_epi64(lowest, four);
      lowest = _mm256_blendv_epi8(lowest, four, lower);
      place = _mm256_blendv_epi8(place, here, lower);
    }
    alignas(32) u64 places[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(places), place);
    least = static_cast<u32>(places[0]);
    for (const u64 one : places) {
      if (values[one] < values[least]) least = static_cast<u32>(one);
    }
  }
#endif
  for (; at < count; ++at) {
    if (values[at] < values[least]) least = at;
  }
  return least;
}

}  // namespace terrace
