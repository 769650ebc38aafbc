// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "frontend/ptx/arith/float_ops.h"
#include "tests/unit/arith_cases.h"
#include "tests/unit/float_reference.h"

namespace terrace::ptx {
namespace {

template <class F>
constexpr reference::Shape shape_of() {
  return std::same_as<F, float> ? reference::kF32 : reference::kF64;
}

template <class F, Round R, bool Ftz>
void check_arithmetic() {
  constexpr reference::Shape kShape = shape_of<F>();
  const mpfr_rnd_t mode = reference::kRoundings[index(R)];
  const std::string suffix = fmt::format("<mode {}{}, f{}>", index(R), Ftz ? ", ftz" : "", kShape.width);
  Mismatches adds("add" + suffix), subs("sub" + suffix), muls("mul" + suffix), fmas("fma" + suffix),
      divs("div" + suffix), rcps("rcp" + suffix), sqrts("sqrt" + suffix);
  Rng rng(1, suffix);
  const auto value = [](u64 bits) { return from_bits<F>(static_cast<typename Format<F>::Bits>(bits)); };
  for (u32 i = 0; i < kArithCases; ++i) {
    const u64 a = operand(rng, kShape), b = operand(rng, kShape);
    u64 c = operand(rng, kShape);
    // Half of the addends nearly cancel the product: there a fused operation shows that it rounds once.
    if (rng.below(2) != 0) c = u64{bits_of(-(value(a) * value(b)))} + rng.below(3) - 1;
    const F x = value(a), y = value(b), z = value(c);
    using P = mpfr_srcptr;
    const auto expected = [&](auto operation, std::initializer_list<u64> operands, std::initializer_list<u64> nans) {
      return reference::arithmetic(kShape, mode, Ftz, operands, nans, operation);
    };
    adds.check(bits_of(add<R, Ftz>(x, y)),
               expected([](mpfr_ptr r, P p, P q, P, mpfr_rnd_t m) { return mpfr_add(r, p, q, m); }, {a, b}, {b, a}), a,
               b);
    subs.check(bits_of(sub<R, Ftz>(x, y)),
               expected([](mpfr_ptr r, P p, P q, P, mpfr_rnd_t m) { return mpfr_sub(r, p, q, m); }, {a, b}, {b, a}), a,
               b);
    muls.check(bits_of(mul<R, Ftz>(x, y)),
               expected([](mpfr_ptr r, P p, P q, P, mpfr_rnd_t m) { return mpfr_mul(r, p, q, m); }, {a, b}, {b, a}), a,
               b);
    fmas.check(
        bits_of(fma<R, Ftz>(x, y, z)),
        expected([](mpfr_ptr r, P p, P q, P s, mpfr_rnd_t m) { return mpfr_fma(r, p, q, s, m); }, {a, b, c}, {b, c, a}),
        a, b, c);
    divs.check(bits_of(div<R, Ftz>(x, y)),
               expected([](mpfr_ptr r, P p, P q, P, mpfr_rnd_t m) { return mpfr_div(r, p, q, m); }, {a, b}, {a, b}), a,
               b);
    rcps.check(bits_of(rcp<R, Ftz>(x)),
               expected([](mpfr_ptr r, P p, P, P, mpfr_rnd_t m) { return mpfr_ui_div(r, 1, p, m); }, {a}, {a}), a);
    sqrts.check(bits_of(sqrt<R, Ftz>(x)),
                expected([](mpfr_ptr r, P p, P, P, mpfr_rnd_t m) { return mpfr_sqrt(r, p, m); }, {a}, {a}), a);
  }
}

TEST(ArithFloat, F32RoundsToNearestAsMpfr) {
  check_arithmetic<float, Round::kNearestEven, false>();
}
TEST(ArithFloat, F32RoundsTowardsZeroAsMpfr) {
  check_arithmetic<float, Round::kZero, false>();
}
TEST(ArithFloat, F32RoundsDownAsMpfr) {
  check_arithmetic<float, Round::kDown, false>();
}
TEST(ArithFloat, F32RoundsUpAsMpfr) {
  check_arithmetic<float, Round::kUp, false>();
}
TEST(ArithFloat, F32FlushesWhatIsSubnormalAfterRoundingToNearest) {
  check_arithmetic<float, Round::kNearestEven, true>();
}
TEST(ArithFloat, F32FlushesWhatIsSubnormalAfterRoundingTowardsZero) {
  check_arithmetic<float, Round::kZero, true>();
}
TEST(ArithFloat, F32FlushesWhatIsSubnormalAfterRoundingDown) {
  check_arithmetic<float, Round::kDown, true>();
}
TEST(ArithFloat, F32FlushesWhatIsSubnormalAfterRoundingUp) {
  check_arithmetic<float, Round::kUp, true>();
}
TEST(ArithFloat, F64RoundsToNearestAsMpfr) {
  check_arithmetic<double, Round::kNearestEven, false>();
}
TEST(ArithFloat, F64RoundsTowardsZeroAsMpfr) {
  check_arithmetic<double, Round::kZero, false>();
}
TEST(ArithFloat, F64RoundsDownAsMpfr) {
  check_arithmetic<double, Round::kDown, false>();
}
TEST(ArithFloat, F64RoundsUpAsMpfr) {
  check_arithmetic<double, Round::kUp, false>();
}

TEST(ArithFloat, SaturationClampsToZeroAndOneAndTurnsNanIntoPositiveZero) {
  EXPECT_EQ(bits_of(saturate(kNan<float>)), 0u);
  EXPECT_EQ(bits_of(saturate(-0.0f)), 0u);
  EXPECT_EQ(saturate(0.25f), 0.25f);
  EXPECT_EQ(saturate(1.5f), 1.0f);
  EXPECT_EQ(saturate(-3.0), 0.0);
}

template <class F>
u64 expected_extreme(u64 a, u64 b, bool max, bool nan_wins) {
  constexpr reference::Shape kShape = shape_of<F>();
  if (kShape.nan(a) && kShape.nan(b)) return nan_wins ? kShape.default_nan : reference::nan_result(kShape, {b, a});
  if (kShape.nan(a) || kShape.nan(b)) return nan_wins ? kShape.default_nan : (kShape.nan(a) ? b : a);
  // Signed magnitudes as integers order exactly as PTX orders floats, -0 before +0.
  const auto key = [&](u64 x) {
    return kShape.negative(x) ? -static_cast<i64>(kShape.magnitude(x)) - 1 : static_cast<i64>(x);
  };
  return (key(a) < key(b)) != max ? a : b;
}

template <class F>
void check_extremes() {
  constexpr reference::Shape kShape = shape_of<F>();
  Mismatches minimum("min"), maximum("max"), minimum_nan("min.NaN"), maximum_nan("max.NaN");
  Rng rng(2, "extremes");
  const auto value = [](u64 bits) { return from_bits<F>(static_cast<typename Format<F>::Bits>(bits)); };
  for (u32 i = 0; i < kArithCases; ++i) {
    const u64 a = operand(rng, kShape), b = operand(rng, kShape);
    minimum.check(bits_of(min(value(a), value(b))), expected_extreme<F>(a, b, false, false), a, b);
    maximum.check(bits_of(max(value(a), value(b))), expected_extreme<F>(a, b, true, false), a, b);
    minimum_nan.check(bits_of(min<NanRule::kNan>(value(a), value(b))), expected_extreme<F>(a, b, false, true), a, b);
    maximum_nan.check(bits_of(max<NanRule::kNan>(value(a), value(b))), expected_extreme<F>(a, b, true, true), a, b);
  }
}
TEST(ArithFloat, MinAndMaxOrderZerosAndTreatNansAsTheIsaSays) {
  check_extremes<float>();
  check_extremes<double>();
}

TEST(ArithFloat, XorsignAbsTakesMagnitudesAndTheProductOfSigns) {
  EXPECT_EQ(min_xorsign_abs<NanRule::kOther>(-1.0f, 2.0f), -1.0f);
  EXPECT_EQ(max_xorsign_abs<NanRule::kOther>(-3.0f, -2.0f), 3.0f);
  EXPECT_EQ(bits_of(min_xorsign_abs<NanRule::kNan>(-kNan<float>, 1.0f)), 0x7fff'ffffu);
  EXPECT_EQ(min_xorsign_abs<NanRule::kOther>(-kNan<float>, -1.0f), 1.0f);
}

template <Compare C>
void check_compare(bool less, bool equal, bool greater, bool unordered) {
  EXPECT_EQ(compare<C>(1.0f, 2.0f), less) << int(C);
  EXPECT_EQ(compare<C>(-0.0f, 0.0f), equal) << int(C);
  EXPECT_EQ(compare<C>(3.0, 2.0), greater) << int(C);
  EXPECT_EQ(compare<C>(kNan<float>, 2.0f), unordered) << int(C);
  EXPECT_EQ(compare<C>(2.0, kNan<double>), unordered) << int(C);
}
TEST(ArithFloat, ComparisonsAnswerForLessEqualGreaterAndUnorderedOperands) {
  check_compare<Compare::kEq>(false, true, false, false);
  check_compare<Compare::kNe>(true, false, true, false);
  check_compare<Compare::kLt>(true, false, false, false);
  check_compare<Compare::kLe>(true, true, false, false);
  check_compare<Compare::kGt>(false, false, true, false);
  check_compare<Compare::kGe>(false, true, true, false);
  check_compare<Compare::kEqu>(false, true, false, true);
  check_compare<Compare::kNeu>(true, false, true, true);
  check_compare<Compare::kLtu>(true, false, false, true);
  check_compare<Compare::kLeu>(true, true, false, true);
  check_compare<Compare::kGtu>(false, false, true, true);
  check_compare<Compare::kGeu>(false, true, true, true);
  check_compare<Compare::kNum>(true, true, true, false);
  check_compare<Compare::kNan>(false, false, false, true);
}

}  // namespace
}  // namespace terrace::ptx
