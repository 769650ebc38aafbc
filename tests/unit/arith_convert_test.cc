// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <limits>

#include "frontend/ptx/arith/convert.h"
#include "tests/unit/arith_cases.h"
#include "tests/unit/float_reference.h"

namespace terrace::ptx {
namespace {

__extension__ typedef __int128 i128;

template <class F>
constexpr reference::Shape shape_of() {
  if (std::same_as<F, float>) return reference::kF32;
  if (std::same_as<F, double>) return reference::kF64;
  return std::same_as<F, F16> ? reference::kF16 : reference::kBF16;
}
template <class F>
F value(u64 bits) {
  return from_bits<F>(static_cast<typename Format<F>::Bits>(bits));
}
template <class I>
I integer_operand(Rng& rng) {
  const u64 raw = rng.next() >> rng.below(64);
  return static_cast<I>(rng.below(2) != 0 ? raw : 0 - raw);
}
template <class I>
u64 unsigned_bits(I x) {
  return static_cast<std::make_unsigned_t<I>>(x);
}

template <class F, class I, Round R>
void check_int_to_float() {
  Mismatches wrong(fmt::format("cvt.mode{}.f{}.{}{}", index(R), shape_of<F>().width,
                               std::signed_integral<I> ? "s" : "u", sizeof(I) * 8));
  Rng rng(3, "int_to_float");
  for (u32 i = 0; i < kArithCases / 4; ++i) {
    const I x = integer_operand<I>(rng);
    const u64 expected =
        reference::rounded(shape_of<F>(), reference::kRoundings[index(R)], false, [&](mpfr_ptr r, mpfr_rnd_t mode) {
          return std::signed_integral<I> ? mpfr_set_si(r, static_cast<i64>(x), mode)
                                         : mpfr_set_ui(r, unsigned_bits(x), mode);
        });
    wrong.check(bits_of(int_to_float<F, R>(x)), expected, unsigned_bits(x));
  }
}

/// The integer nearest in the given direction, clamped; what a NaN becomes is stated by the ISA per pair of types.
template <class I>
u64 expected_integer(const reference::Shape& from, u64 bits, mpfr_rnd_t mode) {
  constexpr int kWidth = static_cast<int>(sizeof(I)) * 8;
  if (from.nan(bits)) return from.width == 64 || kWidth == 64 ? u64{1} << (kWidth - 1) : 0;
  const reference::Number x(from, bits);
  if (mpfr_cmp_d(x, 0x1p64) >= 0) return unsigned_bits(std::numeric_limits<I>::max());
  if (mpfr_cmp_d(x, -0x1p64) <= 0) return unsigned_bits(std::numeric_limits<I>::min());
  mpz_t z;
  mpz_init(z);
  mpfr_get_z(z, x, mode);
  i128 n = (static_cast<i128>(mpz_get_ui(z)));  // of the magnitude, which is below 2^64
  if (mpz_size(z) > 1) n = i128{1} << 64;
  if (mpz_sgn(z) < 0) n = -n;
  mpz_clear(z);
  constexpr i128 kMin = std::numeric_limits<I>::min(), kMax = std::numeric_limits<I>::max();
  return unsigned_bits(static_cast<I>(n < kMin ? kMin : (n > kMax ? kMax : n)));
}

/// Floats around the limits of every integer type, besides the usual ones.
u64 operand_for_integers(Rng& rng, const reference::Shape& shape) {
  if (rng.below(2) != 0) return operand(rng, shape);
  const u64 bias = static_cast<u64>(1 - shape.min_exponent);
  const u64 highest = bias + 66 < 2 * bias ? bias + 66 : 2 * bias;
  const u64 field = bias - 2 + rng.below(highest - bias + 2);
  const u64 fraction = rng.below(3) == 0 ? 0 - rng.below(2) : rng.next();
  return (rng.below(2) != 0 ? shape.sign() : 0) | field << (shape.precision - 1) |
         (fraction & (shape.min_normal() - 1));
}

template <class I, class F, Round R>
void check_float_to_int() {
  Mismatches wrong(fmt::format("cvt.mode{}i.{}{}.f{}", index(R), std::signed_integral<I> ? "s" : "u", sizeof(I) * 8,
                               shape_of<F>().width));
  const mpfr_rnd_t mode = reference::kRoundings[index(R)];
  const auto check = [&](u64 bits) {
    wrong.check(unsigned_bits(float_to_int<I, R>(value<F>(bits))), expected_integer<I>(shape_of<F>(), bits, mode),
                bits);
  };
  if (sizeof(F) == 2) {
    for (u64 bits = 0; bits < 0x1'0000; ++bits) check(bits);
  } else {
    Rng rng(4, "float_to_int");
    for (u32 i = 0; i < kArithCases / 4; ++i) check(operand_for_integers(rng, shape_of<F>()));
  }
}

template <class F, class I>
void check_all_modes() {
  check_int_to_float<F, I, Round::kNearestEven>();
  check_int_to_float<F, I, Round::kZero>();
  check_int_to_float<F, I, Round::kDown>();
  check_int_to_float<F, I, Round::kUp>();
  check_float_to_int<I, F, Round::kNearestEven>();
  check_float_to_int<I, F, Round::kZero>();
  check_float_to_int<I, F, Round::kDown>();
  check_float_to_int<I, F, Round::kUp>();
}
template <class F>
void check_all_integers() {
  check_all_modes<F, i8>();
  check_all_modes<F, u8>();
  check_all_modes<F, i16>();
  check_all_modes<F, u16>();
  check_all_modes<F, i32>();
  check_all_modes<F, u32>();
  check_all_modes<F, i64>();
  check_all_modes<F, u64>();
}
TEST(ArithConvert, IntegersToAndFromF16InEveryModeMatchMpfr) {
  check_all_integers<F16>();
}
TEST(ArithConvert, IntegersToAndFromBf16InEveryModeMatchMpfr) {
  check_all_integers<BF16>();
}
TEST(ArithConvert, IntegersToAndFromF32InEveryModeMatchMpfr) {
  check_all_integers<float>();
}
TEST(ArithConvert, IntegersToAndFromF64InEveryModeMatchMpfr) {
  check_all_integers<double>();
}

template <class To, class From, Round R, bool Ftz>
void check_float_to_float() {
  constexpr reference::Shape kFrom = shape_of<From>(), kTo = shape_of<To>();
  Mismatches wrong(fmt::format("cvt.mode{}{}.f{}({}).f{}({})", index(R), Ftz ? ".ftz" : "", kTo.width, kTo.precision,
                               kFrom.width, kFrom.precision));
  const auto check = [&](u64 bits) {
    const reference::Number x(kFrom, Ftz && kFrom.width == 32 ? kFrom.flushed(bits) : bits);
    const u64 expected = kFrom.nan(bits)
                             ? reference::converted_nan(kFrom, kTo, Ftz && kFrom.width == 32 ? kFrom.default_nan : bits)
                             : reference::rounded(kTo, reference::kRoundings[index(R)], Ftz && kTo.width == 32,
                                                  [&](mpfr_ptr r, mpfr_rnd_t mode) { return mpfr_set(r, x, mode); });
    wrong.check(bits_of(float_to_float<To, R, Ftz>(value<From>(bits))), expected, bits);
  };
  if (kFrom.width == 16) {
    for (u64 bits = 0; bits < 0x1'0000; ++bits) check(bits);
  } else {
    Rng rng(5, "float_to_float");
    for (u32 i = 0; i < kArithCases; ++i) {
      // Half of the operands lie where the narrower format ends or ties.
      u64 bits = operand(rng, kFrom);
      if (kFrom.precision > kTo.precision && rng.below(2) != 0) {
        const reference::Number narrow_value(kTo, operand(rng, kTo));
        bits = reference::encode(kFrom, narrow_value) + (rng.below(3) << (kFrom.precision - kTo.precision - 1)) +
               rng.below(3) - 1;
      }
      check(bits);
    }
  }
}
template <class To, class From, bool Ftz = false>
void check_every_mode() {
  check_float_to_float<To, From, Round::kNearestEven, Ftz>();
  check_float_to_float<To, From, Round::kZero, Ftz>();
  check_float_to_float<To, From, Round::kDown, Ftz>();
  check_float_to_float<To, From, Round::kUp, Ftz>();
}
TEST(ArithConvert, F64ToNarrowerFloatsInEveryModeMatchesMpfr) {
  check_every_mode<float, double>();
  check_every_mode<float, double, true>();
  check_every_mode<F16, double>();
  check_every_mode<BF16, double>();
}
TEST(ArithConvert, F32ToHalvesInEveryModeMatchesMpfr) {
  check_every_mode<F16, float>();
  check_every_mode<BF16, float>();
}
TEST(ArithConvert, WideningIsExactForEveryHalf) {
  check_float_to_float<float, F16, Round::kNearestEven, false>();
  check_float_to_float<double, F16, Round::kNearestEven, false>();
  check_float_to_float<float, BF16, Round::kNearestEven, false>();
  check_float_to_float<double, BF16, Round::kNearestEven, false>();
}
TEST(ArithConvert, WideningF32ToF64IsExactAndFlushesWhenAsked) {
  check_float_to_float<double, float, Round::kNearestEven, false>();
  check_float_to_float<double, float, Round::kNearestEven, true>();
}
TEST(ArithConvert, BetweenTheTwoHalvesEveryValueMatchesMpfr) {
  check_every_mode<F16, BF16>();
  check_every_mode<BF16, F16>();
}

template <class F, Round R>
void check_integral() {
  constexpr reference::Shape kShape = shape_of<F>();
  Mismatches wrong(fmt::format("cvt.mode{}i to itself, f{}", index(R), kShape.width));
  const auto check = [&](u64 bits) {
    const reference::Number x(kShape, bits);
    u64 expected = reference::rounded(kShape, MPFR_RNDN, false, [&](mpfr_ptr r, mpfr_rnd_t) {
      mpfr_rint(r, x, reference::kRoundings[index(R)]);
      return 0;
    });
    if (kShape.nan(bits)) expected = reference::nan_result(kShape, {bits});
    wrong.check(bits_of(round_to_integral<R>(value<F>(bits))), expected, bits);
  };
  Rng rng(6, "integral");
  for (u32 i = 0; i < 0x1'0000; ++i) check(kShape.width == 16 ? i : operand_for_integers(rng, kShape));
}
template <class F>
void check_integral_modes() {
  check_integral<F, Round::kNearestEven>();
  check_integral<F, Round::kZero>();
  check_integral<F, Round::kDown>();
  check_integral<F, Round::kUp>();
}
TEST(ArithConvert, RoundingToAnIntegralValueMatchesMpfr) {
  check_integral_modes<F16>();
  check_integral_modes<float>();
  check_integral_modes<double>();
}

template <class To, class From>
void check_saturation() {
  Mismatches wrong(fmt::format("cvt.sat from {} to {} bytes", sizeof(From), sizeof(To)));
  constexpr i128 kMin = std::numeric_limits<To>::min(), kMax = std::numeric_limits<To>::max();
  Rng rng(7, "saturation");
  for (u32 i = 0; i < 20'000; ++i) {
    const From x = integer_operand<From>(rng);
    const i128 wide = x;
    wrong.check(unsigned_bits(int_to_int_saturate<To>(x)),
                unsigned_bits(static_cast<To>(wide < kMin ? kMin : (wide > kMax ? kMax : wide))), unsigned_bits(x));
  }
}
template <class From>
void check_saturation_to_all() {
  check_saturation<i8, From>();
  check_saturation<u8, From>();
  check_saturation<i16, From>();
  check_saturation<u16, From>();
  check_saturation<i32, From>();
  check_saturation<u32, From>();
  check_saturation<i64, From>();
  check_saturation<u64, From>();
}
TEST(ArithConvert, SaturatingIntegerConversionsClampToTheDestination) {
  check_saturation_to_all<i8>();
  check_saturation_to_all<u8>();
  check_saturation_to_all<i16>();
  check_saturation_to_all<u16>();
  check_saturation_to_all<i32>();
  check_saturation_to_all<u32>();
  check_saturation_to_all<i64>();
  check_saturation_to_all<u64>();
}

TEST(ArithConvert, Tf32KeepsTenMantissaBits) {
  // Expected values from an H200.
  EXPECT_EQ(float_to_tf32_rna(from_bits<float>(0x3f80'1000)), 0x3f80'2000u);
  EXPECT_EQ(float_to_tf32_rna(from_bits<float>(0x3f80'0fff)), 0x3f80'0000u);
  EXPECT_EQ(float_to_tf32_rna(from_bits<float>(0x7f7f'ffff)), 0x7f80'0000u);
  EXPECT_EQ(float_to_tf32_rna(from_bits<float>(0xff80'1234)), 0xff80'0000u);
  EXPECT_EQ((narrow<TF32, Round::kNearestEven>(from_bits<float>(0x3f80'1000)).bits), 0x3f80'0000u);
  EXPECT_EQ((narrow<TF32, Round::kNearestEven>(double{kNan<float>}).bits), 0x7fff'e000u);
  EXPECT_EQ((narrow<TF32, Round::kZero>(-1.5).bits), 0xbfc0'0000u);
}

TEST(ArithConvert, APackedConversionPutsTheFirstOperandInTheUpperHalf) {
  EXPECT_EQ((pack_halves<F16, Round::kNearestEven>(1.0f, -2.0f)), 0x3c00'c000u);
  EXPECT_EQ((pack_halves<BF16, Round::kNearestEven>(1.0f, -2.0f)), 0x3f80'c000u);
}

}  // namespace
}  // namespace terrace::ptx
