// What the programs share that run first on single, then on double precision: their parameters, which of the two a pass
// runs, and arrays of bytes that hold either.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "engine/types.h"
#include "frontend/guest_memory.h"
#include "frontend/workload.h"

namespace terrace {

enum class FloatPass : u8 { kF32, kF64, kBoth };

/// `iters` passes over an array with each type that is asked for, single precision first.
struct FloatPassParams : WorkloadParams {
  u32 kib = 1024;
  u32 blocks = 64;
  FloatPass element = FloatPass::kF32;

  void describe(Fields& v) override {
    v("element", element, {"f32", "f64", "both"}, "type of the elements; both: first f32, then f64 in the same array");
    WorkloadParams::describe(v);
  }
  u64 bytes() const { return u64{kib} * 1024; }
  u64 passes() const { return element == FloatPass::kBoth ? 2 * u64{iters} : iters; }
  bool is_double(u64 pass) const {
    return element == FloatPass::kF64 || (element == FloatPass::kBoth && pass >= iters);
  }
  u64 widest_bytes() const { return element == FloatPass::kF32 ? sizeof(float) : sizeof(double); }
  u64 element_bytes(u64 pass) const { return is_double(pass) ? sizeof(double) : sizeof(float); }
};

template <class T>
std::span<const T> elements_of(std::span<const u8> bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

template <class T>
void fill_modulo_three(std::span<u8> bytes) {
  T* values = reinterpret_cast<T*>(bytes.data());
  for (u64 i = 0; i < bytes.size() / sizeof(T); ++i) values[i] = static_cast<T>(i % 3);
}
/// 0, 1, 2, 0, ...: sums stay whole numbers, which single precision holds exactly up to 2^24, double far beyond.
inline void fill_pass_input(GuestMemory& memory, const Buffer<u8>& buffer, bool is_double) {
  const auto bytes = buffer.write(memory);
  is_double ? fill_modulo_three<double>(bytes) : fill_modulo_three<float>(bytes);
}

}  // namespace terrace
