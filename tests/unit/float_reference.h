// What IEEE arithmetic and PTX's .ftz give, computed with MPFR on bit patterns: the reference that the arithmetic under
// src/frontend/ptx is held to. It shares no code with it.
// SPDX-License-Identifier: MIT
#pragma once

#include <gmp.h>
#include <mpfr.h>

#include <array>
#include <initializer_list>
#include <vector>

#include "engine/rng.h"
#include "engine/types.h"

namespace terrace::reference {

struct Shape {
  int width, precision, min_exponent, max_exponent;
  u64 default_nan;
  bool keeps_nan;  // arithmetic passes a NaN operand on

  u64 sign() const { return u64{1} << (width - 1); }
  u64 infinity() const { return static_cast<u64>(max_exponent * 2 + 1) << (precision - 1); }
  u64 min_normal() const { return u64{1} << (precision - 1); }
  u64 quiet_bit() const { return u64{1} << (precision - 2); }
  u64 magnitude(u64 bits) const { return bits & (sign() - 1); }
  bool negative(u64 bits) const { return (bits & sign()) != 0; }
  bool nan(u64 bits) const { return magnitude(bits) > infinity(); }
  bool subnormal(u64 bits) const { return magnitude(bits) < min_normal(); }
  u64 flushed(u64 bits) const { return subnormal(bits) ? bits & sign() : bits; }
};
inline constexpr Shape kF16{16, 11, -14, 15, 0x7fff, false};
inline constexpr Shape kBF16{16, 8, -126, 127, 0x7fff, false};
inline constexpr Shape kF32{32, 24, -126, 127, 0x7fff'ffff, false};
inline constexpr Shape kF64{64, 53, -1022, 1023, 0xfff8'0000'0000'0000, true};

/// An MPFR number with the precision it was made with.
class Number {
 public:
  explicit Number(int precision = 64) { mpfr_init2(value_, precision); }
  Number(const Shape& shape, u64 bits) : Number(shape.precision) {
    const u64 magnitude = shape.magnitude(bits);
    const u64 fraction = magnitude & (shape.min_normal() - 1);
    const int field = static_cast<int>(magnitude >> (shape.precision - 1));
    if (shape.nan(bits)) {
      mpfr_set_nan(value_);
    } else if (magnitude == shape.infinity()) {
      mpfr_set_inf(value_, 1);
    } else {
      const u64 significand = field > 0 ? fraction + shape.min_normal() : fraction;
      mpfr_set_ui_2exp(value_, significand, (field > 0 ? field - 1 : 0) + shape.min_exponent - shape.precision + 1,
                       MPFR_RNDN);
    }
    mpfr_setsign(value_, value_, shape.negative(bits), MPFR_RNDN);
  }
  ~Number() { mpfr_clear(value_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  operator mpfr_ptr() { return value_; }
  operator mpfr_srcptr() const { return value_; }

 private:
  mpfr_t value_;
};

/// The bits of a number that the shape holds exactly.
inline u64 encode(const Shape& shape, mpfr_srcptr x) {
  const u64 sign = mpfr_signbit(x) ? shape.sign() : 0;
  if (mpfr_nan_p(x)) return shape.default_nan;
  if (mpfr_inf_p(x)) return sign | shape.infinity();
  if (mpfr_zero_p(x)) return sign;
  mpz_t integer;
  mpz_init(integer);
  const long scale = mpfr_get_z_2exp(integer, x);
  const long exponent = mpfr_get_exp(x) - 1;
  const long unit = (exponent > shape.min_exponent ? exponent : shape.min_exponent) - shape.precision + 1;
  if (scale >= unit)
    mpz_mul_2exp(integer, integer, static_cast<mp_bitcnt_t>(scale - unit));
  else
    mpz_tdiv_q_2exp(integer, integer, static_cast<mp_bitcnt_t>(unit - scale));
  mpz_abs(integer, integer);
  const u64 significand = mpz_get_ui(integer);
  mpz_clear(integer);
  const u64 field = exponent > shape.min_exponent ? static_cast<u64>(exponent - shape.min_exponent) : 0;
  return sign | ((field << (shape.precision - 1)) + significand);
}

/// Runs operation(result, rounding), which returns MPFR's ternary value, and rounds its result once to the shape. With
/// ftz a result below the smallest normal number, rounded with unbounded exponent, becomes zero.
template <class Operation>
u64 rounded(const Shape& shape, mpfr_rnd_t rounding, bool ftz, Operation operation) {
  Number result(shape.precision);
  int ternary = operation(static_cast<mpfr_ptr>(result), rounding);
  const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
  if (ftz && mpfr_regular_p(static_cast<mpfr_srcptr>(result)) && mpfr_get_exp(result) - 1 < shape.min_exponent)
    return mpfr_signbit(static_cast<mpfr_srcptr>(result)) ? shape.sign() : 0;
  mpfr_set_emin(shape.min_exponent - shape.precision + 2);
  mpfr_set_emax(shape.max_exponent + 1);
  ternary = mpfr_check_range(result, ternary, rounding);
  mpfr_subnormalize(result, ternary, rounding);
  mpfr_set_emin(emin);
  mpfr_set_emax(emax);
  return encode(shape, result);
}

/// The NaN arithmetic returns: for f64 the first of the listed operands that is one, made quiet.
inline u64 nan_result(const Shape& shape, std::initializer_list<u64> operands) {
  for (const u64 operand : operands)
    if (shape.keeps_nan && shape.nan(operand)) return operand | shape.quiet_bit();
  return shape.default_nan;
}

/// NaNs between formats as an H200 converts them: f64 passes them on, bf16 to f32 is a plain shift, anything else
/// canonical.
inline u64 converted_nan(const Shape& from, const Shape& to, u64 bits) {
  if (from.precision == 8 && to.width == 32) return bits << 16;
  if (from.width != 64 && to.width != 64) return to.default_nan;
  const u64 payload = bits & (from.min_normal() - 1);
  const int left = to.precision - from.precision;
  const u64 moved = left >= 0 ? payload << left : payload >> -left;
  return (from.negative(bits) ? to.sign() : 0) | to.infinity() | to.quiet_bit() | moved;
}

/// add(a, b), fma(a, b, c) and their like on bits. The operands whose NaN wins come first in `nan_order`.
template <class Operation>
u64 arithmetic(const Shape& shape, mpfr_rnd_t rounding, bool ftz, std::initializer_list<u64> operands,
               std::initializer_list<u64> nan_order, Operation operation) {
  std::vector<u64> flushed;
  for (const u64 operand : operands) flushed.push_back(ftz ? shape.flushed(operand) : operand);
  flushed.resize(3);
  const Number a(shape, flushed[0]), b(shape, flushed[1]), c(shape, flushed[2]);
  const u64 bits =
      rounded(shape, rounding, ftz, [&](mpfr_ptr r, mpfr_rnd_t mode) { return operation(r, a, b, c, mode); });
  return shape.nan(bits) ? nan_result(shape, nan_order) : bits;
}

/// Operands that find mistakes: special values, values of like size that cancel, few set bits that tie, and anything.
inline u64 operand(Rng& rng, const Shape& shape) {
  const u64 one = static_cast<u64>(-shape.min_exponent + 1) << (shape.precision - 1);
  const std::array<u64, 16> special{0,
                                    1,
                                    shape.min_normal() - 1,
                                    shape.min_normal(),
                                    shape.min_normal() + 1,
                                    one,
                                    one + 1,
                                    one - 1,
                                    one + shape.min_normal() / 2,
                                    one - shape.min_normal(),
                                    shape.infinity() - 1,
                                    shape.infinity() - shape.min_normal(),
                                    shape.infinity(),
                                    shape.infinity() + 1,
                                    shape.infinity() + shape.quiet_bit() + 5,
                                    one + (static_cast<u64>(shape.precision - 1) << (shape.precision - 1))};
  const u64 sign = rng.below(2) != 0 ? shape.sign() : 0;
  const u64 fraction = rng.next() & (shape.min_normal() - 1);
  const auto at = [&](u64 exponent_field, u64 bits) { return sign | (exponent_field << (shape.precision - 1)) | bits; };
  const u64 bias = static_cast<u64>(1 - shape.min_exponent);
  switch (rng.below(6)) {
    case 0:
      return sign | special[rng.below(special.size())];
    case 1:
      return at(bias - 2 + rng.below(5), fraction);
    case 2:
      return at(rng.below(4), fraction);
    case 3:
      return at(2 * bias - rng.below(4), fraction);
    case 4:
      return at(1 + rng.below(2 * bias), (u64{1} << rng.below(shape.precision - 1)) ^ (rng.below(2) != 0 ? 1 : 0));
    default:
      return sign | (rng.next() & (shape.sign() - 1));
  }
}

/// The four IEEE directions in the order of Round.
inline constexpr std::array<mpfr_rnd_t, 4> kRoundings{MPFR_RNDN, MPFR_RNDZ, MPFR_RNDD, MPFR_RNDU};

}  // namespace terrace::reference
