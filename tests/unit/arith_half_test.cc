// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "frontend/ptx/arith/half.h"
#include "tests/unit/arith_cases.h"
#include "tests/unit/float_reference.h"

namespace terrace::ptx {
namespace {

template <class F>
constexpr reference::Shape shape_of() {
  return std::same_as<F, F16> ? reference::kF16 : reference::kBF16;
}

template <class F, bool Ftz>
void check_arithmetic() {
  constexpr reference::Shape kShape = shape_of<F>();
  const std::string suffix = fmt::format(" of {} bits{}", kShape.precision, Ftz ? ".ftz" : "");
  Mismatches adds("add" + suffix), subs("sub" + suffix), muls("mul" + suffix), fmas("fma" + suffix);
  Rng rng(8, suffix);
  const auto value = [](u64 bits) { return F{static_cast<u16>(bits)}; };
  using P = mpfr_srcptr;
  for (u32 i = 0; i < 4 * kArithCases; ++i) {
    const u64 a = operand(rng, kShape), b = operand(rng, kShape), c = operand(rng, kShape);
    const auto expected = [&](auto operation, std::initializer_list<u64> operands) {
      return reference::arithmetic(kShape, MPFR_RNDN, Ftz, operands, {}, operation);
    };
    adds.check(half_add<Ftz>(value(a), value(b)).bits,
               expected([](mpfr_ptr r, P p, P q, P, mpfr_rnd_t m) { return mpfr_add(r, p, q, m); }, {a, b}), a, b);
    subs.check(half_sub<Ftz>(value(a), value(b)).bits,
               expected([](mpfr_ptr r, P p, P q, P, mpfr_rnd_t m) { return mpfr_sub(r, p, q, m); }, {a, b}), a, b);
    muls.check(half_mul<Ftz>(value(a), value(b)).bits,
               expected([](mpfr_ptr r, P p, P q, P, mpfr_rnd_t m) { return mpfr_mul(r, p, q, m); }, {a, b}), a, b);
    fmas.check(half_fma<Ftz>(value(a), value(b), value(c)).bits,
               expected([](mpfr_ptr r, P p, P q, P s, mpfr_rnd_t m) { return mpfr_fma(r, p, q, s, m); }, {a, b, c}), a,
               b, c);
  }
}
TEST(ArithHalf, F16ArithmeticRoundsOnce) {
  check_arithmetic<F16, false>();
}
TEST(ArithHalf, F16ArithmeticFlushesSubnormals) {
  check_arithmetic<F16, true>();
}
TEST(ArithHalf, Bf16ArithmeticRoundsOnce) {
  check_arithmetic<BF16, false>();
}

template <class F>
void check_unary() {
  constexpr reference::Shape kShape = shape_of<F>();
  Mismatches negs("neg"), abss("abs"), sats("sat");
  const u64 one = static_cast<u64>(1 - kShape.min_exponent) << (kShape.precision - 1);
  for (u64 bits = 0; bits < 0x1'0000; ++bits) {
    const F x{static_cast<u16>(bits)};
    const bool nan = kShape.nan(bits);
    negs.check(neg(x).bits, nan ? kShape.default_nan : bits ^ kShape.sign(), bits);
    abss.check(abs(x).bits, nan ? kShape.default_nan : kShape.magnitude(bits), bits);
    sats.check(half_saturate(x).bits, nan || kShape.negative(bits) ? 0 : (bits > one ? one : bits), bits);
  }
}
TEST(ArithHalf, NegAbsAndSaturationOfEveryHalf) {
  check_unary<F16>();
  check_unary<BF16>();
}

template <class F>
void check_order() {
  constexpr reference::Shape kShape = shape_of<F>();
  Mismatches minimum("min"), maximum("max.NaN"), less("lt"), unordered("geu");
  const auto key = [&](u64 x) {
    return kShape.negative(x) ? -static_cast<i64>(kShape.magnitude(x)) - 1 : static_cast<i64>(x);
  };
  Rng rng(9, "half order");
  for (u32 i = 0; i < 4 * kArithCases; ++i) {
    const u64 a = operand(rng, kShape), b = operand(rng, kShape);
    const F x{static_cast<u16>(a)}, y{static_cast<u16>(b)};
    const bool na = kShape.nan(a), nb = kShape.nan(b);
    const u64 smaller = na ? (nb ? kShape.default_nan : b) : (nb ? a : (key(a) < key(b) ? a : b));
    minimum.check(half_min(x, y).bits, smaller, a, b);
    maximum.check(half_max<NanRule::kNan>(x, y).bits, na || nb ? kShape.default_nan : (key(a) < key(b) ? b : a), a, b);
    const bool zeros = kShape.magnitude(a) == 0 && kShape.magnitude(b) == 0;
    const bool is_less = !na && !nb && !zeros && key(a) < key(b);
    less.check(half_compare<Compare::kLt>(x, y), is_less, a, b);
    unordered.check(half_compare<Compare::kGeu>(x, y), !is_less, a, b);
  }
}
TEST(ArithHalf, OrderOfHalvesFollowsSignAndMagnitude) {
  check_order<F16>();
  check_order<BF16>();
}

TEST(ArithHalf, APackedOperationActsOnBothHalves) {
  const auto add = [](F16 x, F16 y) { return half_add(x, y); };
  EXPECT_EQ(both<F16>(add, 0x3c00'4000u, 0x3c00'3c00u), 0x4000'4200u);  // {1, 2} + {1, 1} = {2, 3}
}

}  // namespace
}  // namespace terrace::ptx
