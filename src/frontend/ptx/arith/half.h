// f16 and bf16 arithmetic, each operation rounded once: operands are exact doubles, an inexact double result is made
// odd (rounding.h) and narrowed. The results have 11 and 8 bits, so the 53 of a double leave room for the odd bit.
// Packed forms (f16x2, bf16x2) apply an operation to both halves of a register with `both`.
// SPDX-License-Identifier: MIT
#pragma once

#include "frontend/ptx/arith/convert.h"

namespace terrace::ptx {

/// Rounding is to nearest: PTX has no other for halves. Ftz flushes operands and, as narrow says, results.
template <bool Ftz = false, NarrowFloat F>
inline F half_add(F a, F b) {
  if constexpr (Ftz) a = flush(a), b = flush(b);
  return narrow<F, Round::kNearestEven, Ftz>(detail::odd_sum<Round::kNearestEven>(widen(a), widen(b)));
}
template <bool Ftz = false, NarrowFloat F>
inline F half_sub(F a, F b) {
  return half_add<Ftz>(a, neg(b));
}
template <bool Ftz = false, NarrowFloat F>
inline F half_mul(F a, F b) {
  if constexpr (Ftz) a = flush(a), b = flush(b);
  return narrow<F, Round::kNearestEven, Ftz>(widen(a) * widen(b));  // at most 22 bits: exact
}
template <bool Ftz = false, NarrowFloat F>
inline F half_fma(F a, F b, F c) {
  if constexpr (Ftz) a = flush(a), b = flush(b), c = flush(c);
  return narrow<F, Round::kNearestEven, Ftz>(detail::odd_sum<Round::kNearestEven>(widen(a) * widen(b), widen(c)));
}

/// .sat for halves: into [+0, 1], a NaN becomes +0.
template <NarrowFloat F>
inline F half_saturate(F x) {
  return narrow<F, Round::kNearestEven>(saturate(widen_to_float(x)));
}

/// The result of min or max is one of the operands, so going through float loses nothing.
template <NanRule N = NanRule::kOther, NarrowFloat F>
inline F half_min(F a, F b) {
  return narrow<F, Round::kNearestEven>(min<N>(widen_to_float(a), widen_to_float(b)));
}
template <NanRule N = NanRule::kOther, NarrowFloat F>
inline F half_max(F a, F b) {
  return narrow<F, Round::kNearestEven>(max<N>(widen_to_float(a), widen_to_float(b)));
}

/// .xorsign.abs, as for f32.
template <NanRule N, NarrowFloat F>
inline F half_min_xorsign_abs(F a, F b) {
  return narrow<F, Round::kNearestEven>(min_xorsign_abs<N>(widen_to_float(a), widen_to_float(b)));
}
template <NanRule N, NarrowFloat F>
inline F half_max_xorsign_abs(F a, F b) {
  return narrow<F, Round::kNearestEven>(max_xorsign_abs<N>(widen_to_float(a), widen_to_float(b)));
}

template <Compare C, NarrowFloat F>
inline bool half_compare(F a, F b) {
  return compare<C>(widen_to_float(a), widen_to_float(b));
}

/// Applies an operation to the low and the high halves of registers: both<F16>([](F16 x, F16 y) { return half_add(x,
/// y); }, a, b).
template <NarrowFloat F, class Operation, class... Registers>
inline u32 both(Operation operation, Registers... registers) {
  const F low = operation(F{static_cast<u16>(registers)}...);
  const F high = operation(F{static_cast<u16>(registers >> 16)}...);
  return u32{high.bits} << 16 | low.bits;
}

}  // namespace terrace::ptx
