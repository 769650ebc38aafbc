// What the host sides of workloads share when they make inputs: buffers of drawn or equal values, and sizes in whole
// blocks or tiles.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string_view>

#include "engine/rng.h"
#include "engine/types.h"
#include "frontend/guest_memory.h"

namespace terrace {

/// Every element uniform in [low, high), from the stream of that name.
template <class Float>
void draw_uniform(GuestMemory& memory, const Buffer<Float>& buffer, u64 seed, std::string_view stream, double low,
                  double high) {
  Rng rng(seed, stream);
  for (Float& value : buffer.write(memory)) value = static_cast<Float>(rng.uniform(low, high));
}

template <class T>
void fill_with(GuestMemory& memory, const Buffer<T>& buffer, T value) {
  const auto values = buffer.write(memory);
  std::fill(values.begin(), values.end(), value);
}

/// So many blocks of `size` hold `count`.
template <class Integer>
constexpr Integer blocks_of(Integer count, Integer size) {
  return (count + size - 1) / size;
}
template <class Integer>
constexpr Integer round_up(Integer count, Integer size) {
  return blocks_of(count, size) * size;
}

}  // namespace terrace
