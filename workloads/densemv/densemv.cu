// Dense matrix-vector kernels of PolyBench: MVT, ATAX, BICG and GESUMMV. One thread per matrix row, walking along the
// row (each lane on a page of its own), or one per column (coalesced).
//
// Three forms of the accumulator. `plain`: the source says out[i] += ..., pointers may alias, so today's compilers keep
// the sum in a register and store it every time. `volatile`: loaded and stored every time, as in the papers' days.
// `register`: stored once, at the end.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {

enum class Accumulate { kPlain, kVolatile, kRegister };

template <Accumulate form, class T>
struct Accumulator {
  T* out;
  T sum;
  __device__ __forceinline__ Accumulator(T* at, u32 zero) : out(at), sum(0) {
    if (zero) *out = 0;
    if constexpr (form == Accumulate::kRegister) sum = zero ? T(0) : *out;
  }
  __device__ __forceinline__ void add(T term) {
    if constexpr (form == Accumulate::kPlain) *out += term;
    if constexpr (form == Accumulate::kVolatile) {
      volatile T* memory = out;
      *memory = *memory + term;
    }
    if constexpr (form == Accumulate::kRegister) sum += term;
  }
  __device__ __forceinline__ void finish() {
    if constexpr (form == Accumulate::kRegister) *out = sum;
  }
};

template <Accumulate form, class T>
__device__ __forceinline__ void walk_row(const T* matrix, const T* v, T* out, u32 ld, u32 rows, u32 columns, u32 zero) {
  const u32 i = global_thread();
  if (i >= rows) return;
  const T* row = matrix + u64{i} * ld;
  Accumulator<form, T> sum(&out[i], zero);
#pragma unroll 1
  for (u32 j = 0; j < columns; ++j) sum.add(row[j] * v[j]);
  sum.finish();
}

template <Accumulate form, class T>
__device__ __forceinline__ void walk_column(const T* matrix, const T* v, T* out, u32 ld, u32 rows, u32 columns,
                                            u32 zero) {
  const u32 j = global_thread();
  if (j >= columns) return;
  const T* column = matrix + j;
  Accumulator<form, T> sum(&out[j], zero);
#pragma unroll 1
  for (u32 i = 0; i < rows; ++i) {
    sum.add(*column * v[i]);
    column += ld;
  }
  sum.finish();
}

template <Accumulate form, class T>
__device__ __forceinline__ void sum_two(const T* a, const T* b, const T* x, T* y, T* tmp, u32 ld, u32 rows, u32 columns,
                                        T alpha, T beta) {
  const u32 i = global_thread();
  if (i >= rows) return;
  const T* row_a = a + u64{i} * ld;
  const T* row_b = b + u64{i} * ld;
  Accumulator<form, T> sum_a(&tmp[i], 1);
  Accumulator<form, T> sum_b(&y[i], 1);
#pragma unroll 1
  for (u32 j = 0; j < columns; ++j) {
    sum_a.add(row_a[j] * x[j]);
    sum_b.add(row_b[j] * x[j]);
  }
  sum_a.finish();
  sum_b.finish();
  y[i] = alpha * tmp[i] + beta * y[i];
}

}  // namespace

#define KERNELS(suffix, form, T)                                                                                   \
  extern "C" __global__ void row_walk_##suffix(const T* matrix, const T* v, T* out, u32 ld, u32 rows, u32 columns, \
                                               u32 zero) {                                                         \
    walk_row<form>(matrix, v, out, ld, rows, columns, zero);                                                       \
  }                                                                                                                \
  extern "C" __global__ void col_walk_##suffix(const T* matrix, const T* v, T* out, u32 ld, u32 rows, u32 columns, \
                                               u32 zero) {                                                         \
    walk_column<form>(matrix, v, out, ld, rows, columns, zero);                                                    \
  }                                                                                                                \
  extern "C" __global__ void gesummv_##suffix(const T* a, const T* b, const T* x, T* y, T* tmp, u32 ld, u32 rows,  \
                                              u32 columns, T alpha, T beta) {                                      \
    sum_two<form>(a, b, x, y, tmp, ld, rows, columns, alpha, beta);                                                \
  }

KERNELS(plain_f32, Accumulate::kPlain, float)
KERNELS(volatile_f32, Accumulate::kVolatile, float)
KERNELS(register_f32, Accumulate::kRegister, float)
KERNELS(plain_f64, Accumulate::kPlain, double)
KERNELS(volatile_f64, Accumulate::kVolatile, double)
KERNELS(register_f64, Accumulate::kRegister, double)
