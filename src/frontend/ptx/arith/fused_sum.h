// The sum of products that a tensor instruction forms for one element of its result. The ISA leaves order, rounding and
// intermediate precision open. This is how Hopper's tensor cores do it, as Xie et al. found ("MMA-Sim: Bit-Accurate Reference
// Model of Tensor Cores and Matrix Cores", arXiv 2511.10909, 2025): products are exact; all of them and the accumulator are
// aligned to the largest exponent, cut off 25 bits behind its point, and added exactly; the sum is cut to f32, or rounded to
// the nearest f16. A term that is zero counts with the exponent -126.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <limits>

#include "frontend/ptx/arith/convert.h"

namespace terrace::ptx {

/// Bits of a format: precision counts the leading one, width the sign too.
struct NumberShape {
  int precision, min_exponent, width;
};
inline constexpr NumberShape kShapeF16{11, -14, 16}, kShapeBf16{8, -126, 16}, kShapeTf32{11, -126, 19},
    kShapeF32{24, -126, 32};

enum class NumberKind : u8 { kFinite, kInfinite, kNan };

/// A number taken apart: significand / 2^(precision - 1) * 2^exponent, if it is finite.
struct Unpacked {
  i64 significand = 0;  // has the sign; of an infinity only that counts
  int exponent = 0;
  NumberKind kind = NumberKind::kFinite;
};

inline Unpacked unpack(u32 bits, NumberShape shape) {
  const int fraction = shape.precision - 1;
  const u32 magnitude = bits & ((u32{1} << (shape.width - 1)) - 1);
  const bool negative = (bits >> (shape.width - 1) & 1) != 0;
  const u32 biased = magnitude >> fraction, mantissa = magnitude & ((u32{1} << fraction) - 1);
  const u32 special = (u32{1} << (shape.width - shape.precision)) - 1;
  Unpacked number;
  number.exponent = shape.min_exponent + (biased > 0 ? static_cast<int>(biased) - 1 : 0);
  number.significand = i64{mantissa | u32{biased > 0} << fraction};
  if (negative) number.significand = -number.significand;
  if (biased == special) number.kind = mantissa != 0 ? NumberKind::kNan : NumberKind::kInfinite;
  return number;
}

class FusedSum {
 public:
  static constexpr u32 kMostTerms = 17;  // 16 products and the accumulator
  static constexpr int kKeptBits = 25, kExponentOfZero = -126;

  void add_product(const Unpacked& a, const Unpacked& b, int precision) {
    if (a.kind != NumberKind::kFinite || b.kind != NumberKind::kFinite) {
      const bool nan =
          a.kind == NumberKind::kNan || b.kind == NumberKind::kNan || a.significand == 0 || b.significand == 0;
      return nan ? add_nan() : add_infinity((a.significand < 0) != (b.significand < 0));
    }
    add_term(a.significand * b.significand, a.exponent + b.exponent, 2 * (precision - 1));
  }
  void add(const Unpacked& c, int precision) {
    if (c.kind == NumberKind::kNan) return add_nan();
    if (c.kind == NumberKind::kInfinite) return add_infinity(c.significand < 0);
    add_term(c.significand, c.exponent, precision - 1);
  }
  /// Exact; infinities and NaN as such. A sum of zeros is +0.
  double total() const {
    if (nan_ || (plus_infinity_ && minus_infinity_)) return std::numeric_limits<double>::quiet_NaN();
    if (plus_infinity_ || minus_infinity_) return std::numeric_limits<double>::infinity() * (plus_infinity_ ? 1 : -1);
    i64 sum = 0;
    for (u32 i = 0; i < count_; ++i) sum += aligned(terms_[i]);
    if (sum == 0) return 0;
    const int scale = largest_ - kKeptBits;  // above -300: a double holds it
    return static_cast<double>(sum) * from_bits<double>(static_cast<u64>(1023 + scale) << 52);
  }

 private:
  struct Term {
    i64 significand;
    int exponent, fraction;
  };
  void add_nan() { nan_ = true; }
  void add_infinity(bool negative) { (negative ? minus_infinity_ : plus_infinity_) = true; }
  void add_term(i64 significand, int exponent, int fraction) {
    largest_ = std::max(largest_, significand == 0 ? kExponentOfZero : exponent);
    if (significand != 0) terms_[count_++] = {significand, exponent, fraction};
  }
  /// In units of the last bit that is kept.
  i64 aligned(const Term& term) const {
    const int shift = kKeptBits - term.fraction - (largest_ - term.exponent);
    const i64 magnitude = term.significand < 0 ? -term.significand : term.significand;
    const i64 kept = shift >= 0 ? magnitude << shift : (shift > -63 ? magnitude >> -shift : 0);
    return term.significand < 0 ? -kept : kept;
  }

  Term terms_[kMostTerms];
  u32 count_ = 0;
  int largest_ = -10'000;
  bool nan_ = false, plus_infinity_ = false, minus_infinity_ = false;
};

/// f32 is cut off; what lies beyond its largest number becomes infinite.
inline u32 fused_to_f32(double total) {
  if (total >= 0x1p128) return Format<float>::kInf;
  if (total <= -0x1p128) return Format<float>::kInf | kSignBit<float>;
  return narrow_bits<float, Round::kZero>(total);
}
inline u32 fused_to_f16(double total) {
  return narrow_bits<F16, Round::kNearestEven>(total);
}

}  // namespace terrace::ptx
