// f16 and bf16 arithmetic, each operation rounded once: operands are exact doubles, an inexact double result is made
// odd (rounding.h) and narrowed. The results have 11 and 8 bits, so the 53 of a double leave room for the odd bit.
// Packed forms (f16x2, bf16x2) apply an operation to both halves of a register with `both`.
// SPDX-License-Identifier: MIT
#pragma once

#include "frontend/ptx/arith/convert.h"

namespace terrace::ptx {

/// Rounding is to nearest: PTX has no other for halves.
template <NarrowFloat F>
inline F half_add(F a, F b) {
  return narrow<F, Round::kNearestEven>(detail::odd_sum<Round::kNearestEven>(widen(a), widen(b)));
}
template <NarrowFloat F>
inline F half_sub(F a, F b) {
  return half_add(a, neg(b));
}
template <NarrowFloat F>
inline F half_mul(F a, F b) {
  return narrow<F, Round::kNearestEven>(widen(a) * widen(b));  // at most 22 bits: exact
}
template <NarrowFloat F>
inline F half_fma(F a, F b, F c) {
  return narrow<F, Round::kNearestEven>(detail::odd_sum<Round::kNearestEven>(widen(a) * widen(b), widen(c)));
}

/// .sat for halves, and .relu of fma: into [+0, 1], a NaN becomes +0; or negatives to +0, a NaN canonical.
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

template <Compare C, NarrowFloat F>
inline bool half_compare(F a, F b) {
  return compare<C>(widen_to_float(a), widen_to_float(b));
}

/// Applies an operation to the low and the high halves of registers: both<F16>(half_add<F16>, a, b).
template <NarrowFloat F, class Operation, class... Registers>
inline u32 both(Operation operation, Registers... registers) {
  const F low = operation(F{static_cast<u16>(registers)}...);
  const F high = operation(F{static_cast<u16>(registers >> 16)}...);
  return u32{high.bits} << 16 | low.bits;
}

}  // namespace terrace::ptx
