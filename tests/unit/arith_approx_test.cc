// The approximate instructions against MPFR: largest error over a sample of all floats, held to the bound of the PTX
// ISA and to the figure that docs/ptx.md states.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "frontend/ptx/arith/approx.h"
#include "support/paths.h"
#include "tests/unit/arith_cases.h"
#include "tests/unit/float_reference.h"

namespace terrace::ptx {
namespace {

using reference::Number;
using reference::Shape;
using Function = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

struct Errors {
  double ulp = 0, relative = 0, absolute = 0;
};

/// The largest errors of `actual` (bits to bits) over operands for which the exact result is normal and finite.
template <class Actual, class Operand>
Errors measure(const Shape& shape, u32 cases, Operand operand_of, Actual actual, Function exact_function) {
  Errors worst;
  Number exact(120), difference(120), scaled(120);
  for (u32 i = 0; i < cases; ++i) {
    const u64 bits = operand_of(i);
    exact_function(exact, Number(shape, bits), MPFR_RNDN);
    if (!mpfr_regular_p(static_cast<mpfr_srcptr>(exact))) continue;
    const long exponent = mpfr_get_exp(exact) - 1;
    if (exponent < shape.min_exponent || exponent > shape.max_exponent) continue;
    const u64 got = actual(bits);
    if (shape.magnitude(got) == shape.infinity()) continue;  // rounded past the largest number
    mpfr_sub(difference, exact, Number(shape, got), MPFR_RNDN);
    mpfr_abs(difference, difference, MPFR_RNDN);
    worst.absolute = std::fmax(worst.absolute, mpfr_get_d(difference, MPFR_RNDU));
    mpfr_mul_2si(scaled, difference, shape.precision - 1 - exponent, MPFR_RNDN);
    worst.ulp = std::fmax(worst.ulp, mpfr_get_d(scaled, MPFR_RNDU));
    mpfr_div(scaled, difference, exact, MPFR_RNDN);
    worst.relative = std::fmax(worst.relative, std::fabs(mpfr_get_d(scaled, MPFR_RNDU)));
  }
  return worst;
}

/// Spread evenly over all bit patterns with the given sign; odd stride so that low bits vary.
auto spread(u32 cases, u64 from, u64 to) {
  return [=](u32 i) { return from + (to - from) / cases * i + (i * 2'654'435'761u) % ((to - from) / cases); };
}

u64 float_bits(float (*function)(float), u64 bits) {
  return bits_of(function(from_bits<float>(static_cast<u32>(bits))));
}

constexpr u32 kCases = kArithCases;

Errors measure_f32(float (*function)(float), Function exact, u64 from, u64 to) {
  return measure(
      reference::kF32, kCases, spread(kCases, from, to), [=](u64 b) { return float_bits(function, b); }, exact);
}

/// Errors are reported on every run, so that docs/ptx.md can be checked by eye against the output as well.
double report(const char* instruction, const char* unit, double error, double documented) {
  std::printf("           %-24s %.4g %s (docs/ptx.md: %.4g)\n", instruction, error, unit, documented);
  return error;
}

int reciprocal_root(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t m) {
  return mpfr_rec_sqrt(r, x, m);
}
int reciprocal(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t m) {
  return mpfr_ui_div(r, 1, x, m);
}

TEST(ArithApprox, Ex2IsWithinTwoUlps) {
  const Errors positive = measure_f32(ex2_approx, mpfr_exp2, 0, 0x4300'0000);
  const Errors negative = measure_f32(ex2_approx, mpfr_exp2, 0x8000'0000, 0xc2fc'0000);
  EXPECT_LE(report("ex2.approx.f32", "ulp", std::fmax(positive.ulp, negative.ulp), 0.501), 0.501);
}

TEST(ArithApprox, Lg2IsWithinTwoToTheMinus22) {
  const Errors all = measure_f32(lg2_approx, mpfr_log2, 1, 0x7f7f'ffff);
  const Errors near_one = measure_f32(lg2_approx, mpfr_log2, 0x3f00'0000, 0x4000'0000);
  EXPECT_LE(report("lg2.approx.f32", "relative", std::fmax(all.relative, near_one.relative), 0x1p-24), 0x1.001p-24);
}

TEST(ArithApprox, SineAndCosineAreWithinTwoToTheMinus20AndAHalf) {
  for (const u64 sign : {u64{0}, u64{0x8000'0000}}) {
    // 2^-20.5 is asked up to 2 pi, 2^-14.7 up to 100 pi; nothing beyond, where these stay accurate all the same.
    const Errors sine = measure_f32(sin_approx, mpfr_sin, sign | 0x80'0000, sign | 0x7f7f'ffff);
    const Errors cosine = measure_f32(cos_approx, mpfr_cos, sign | 0x80'0000, sign | 0x7f7f'ffff);
    EXPECT_LE(report("sin.approx.f32", "absolute", sine.absolute, 0x1p-25), 0x1.001p-25);
    EXPECT_LE(report("cos.approx.f32", "absolute", cosine.absolute, 0x1p-25), 0x1.001p-25);
  }
}

TEST(ArithApprox, TanhIsWithinTwoToTheMinus11) {
  const Errors positive = measure_f32(tanh_approx, mpfr_tanh, 1, 0x4200'0000);
  const Errors negative = measure_f32(tanh_approx, mpfr_tanh, 0x8000'0001, 0xc200'0000);
  EXPECT_LE(report("tanh.approx.f32", "relative", std::fmax(positive.relative, negative.relative), 0x1p-24),
            0x1.001p-24);
}

TEST(ArithApprox, ReciprocalsAndRootsAreWithinOneUlp) {
  const Errors rcp_errors = measure_f32(rcp_approx<false>, reciprocal, 0x40'0000, 0x7e80'0000);
  const Errors sqrt_errors = measure_f32(sqrt_approx<false>, mpfr_sqrt, 1, 0x7f7f'ffff);
  const Errors rsqrt_errors = measure_f32(rsqrt_approx<false>, reciprocal_root, 1, 0x7f7f'ffff);
  EXPECT_LE(report("rcp.approx.f32", "ulp", rcp_errors.ulp, 0.5), 0.5);
  EXPECT_LE(report("sqrt.approx.f32", "relative", sqrt_errors.relative, 0x1p-24), 0x1p-24);
  EXPECT_LE(report("rsqrt.approx.f32", "relative", rsqrt_errors.relative, 0x1p-24), 0x1.001p-24);
}

TEST(ArithApprox, F64ReciprocalsCarryTwentyMantissaBits) {
  const auto f64 = [](double (*function)(double), Function exact) {
    return measure(
        reference::kF64, kCases, spread(kCases, 0x0020'0000'0000'0000, 0x7fc0'0000'0000'0000),
        [=](u64 b) { return bits_of(function(from_bits<double>(b))); }, exact);
  };
  EXPECT_LE(report("rcp.approx.ftz.f64", "relative", f64(rcp_approx_ftz, reciprocal).relative, 0x1p-19), 0x1p-19);
  EXPECT_LE(report("rsqrt.approx.ftz.f64", "relative", f64(rsqrt_approx_ftz, reciprocal_root).relative, 0x1p-19),
            0x1p-19);
  EXPECT_LE(report("rsqrt.approx.f64", "relative", f64(rsqrt_approx, reciprocal_root).relative, 0x1p-52), 0x1p-52);
}

template <class F>
void check_half(const Shape& shape, const char* type, double documented_ex2, double documented_tanh) {
  const auto all = [](u32 i) { return u64{i}; };
  const auto ex2 = [](u64 b) { return u64{half_ex2_approx(F{static_cast<u16>(b)}).bits}; };
  const auto tanh = [](u64 b) { return u64{half_tanh_approx(F{static_cast<u16>(b)}).bits}; };
  const Errors ex2_errors = measure(shape, 0x1'0000, all, ex2, mpfr_exp2);
  const Errors tanh_errors = measure(shape, 0x1'0000, all, tanh, mpfr_tanh);
  EXPECT_LE(report((std::string("ex2.approx.") + type).c_str(), "relative", ex2_errors.relative, documented_ex2),
            documented_ex2);
  EXPECT_LE(report((std::string("tanh.approx.") + type).c_str(), "absolute", tanh_errors.absolute, documented_tanh),
            documented_tanh);
}
TEST(ArithApprox, HalvesAreWithinTheBoundsForEveryOperand) {
  check_half<F16>(reference::kF16, "f16", 0x1.01p-11, 0x1.01p-12);   // the ISA: 2^-9.9 and 2^-10.987
  check_half<BF16>(reference::kBF16, "bf16", 0x1.01p-8, 0x1.01p-9);  // the ISA: 2^-7 and 2^-8
}

TEST(ArithApprox, SpecialOperandsGiveTheTablesOfTheIsa) {
  const float inf = from_bits<float>(0x7f80'0000), nan = from_bits<float>(0xffc0'1234);
  const float tiny = from_bits<float>(1);
  const auto bits = [](float x) { return bits_of(x); };
  constexpr u32 kInf = 0x7f80'0000, kMinusInf = 0xff80'0000, kQuiet = 0x7fff'ffff, kMinusZero = 0x8000'0000;
  EXPECT_EQ(bits(ex2_approx(-inf)), 0u);
  EXPECT_EQ(bits(ex2_approx(inf)), kInf);
  EXPECT_EQ(bits(ex2_approx(-0.0f)), bits(1.0f));
  EXPECT_EQ(bits(ex2_approx(128.0f)), kInf);
  EXPECT_EQ(bits(ex2_approx(-149.0f)), 1u);
  EXPECT_EQ(bits(ex2_approx(nan)), kQuiet);
  EXPECT_EQ(bits(lg2_approx(-inf)), kQuiet);
  EXPECT_EQ(bits(lg2_approx(-0.0f)), kMinusInf);
  EXPECT_EQ(bits(lg2_approx(0.0f)), kMinusInf);
  EXPECT_EQ(bits(lg2_approx(inf)), kInf);
  EXPECT_EQ(bits(lg2_approx(-tiny)), kQuiet);
  EXPECT_EQ(bits(lg2_approx(tiny)), bits(-149.0f));
  EXPECT_EQ(bits(lg2_approx(1.0f)), 0u);
  EXPECT_EQ(bits(sin_approx(inf)), kQuiet);
  EXPECT_EQ(bits(sin_approx(-0.0f)), kMinusZero);
  EXPECT_EQ(bits(sin_approx(-tiny)), kMinusZero);
  EXPECT_EQ(bits(cos_approx(-inf)), kQuiet);
  EXPECT_EQ(bits(cos_approx(-tiny)), bits(1.0f));
  EXPECT_EQ(bits(tanh_approx(-inf)), bits(-1.0f));
  EXPECT_EQ(bits(tanh_approx(-0.0f)), kMinusZero);
  EXPECT_EQ(bits(tanh_approx(-tiny)), 0x8000'0001);
  EXPECT_EQ(bits(tanh_approx(nan)), kQuiet);
  EXPECT_EQ(bits(rcp_approx(-0.0f)), kMinusInf);
  EXPECT_EQ(bits(rcp_approx<true>(-tiny)), kMinusInf);
  EXPECT_EQ(bits(rcp_approx<true>(from_bits<float>(0x7e80'0001))), 0u);
  EXPECT_EQ(bits(rcp_approx(-inf)), kMinusZero);
  EXPECT_EQ(bits(rsqrt_approx(-0.0f)), kMinusInf);
  EXPECT_EQ(bits(rsqrt_approx<true>(-tiny)), kMinusInf);
  EXPECT_EQ(bits(rsqrt_approx(-1.0f)), kQuiet);
  EXPECT_EQ(bits(rsqrt_approx(inf)), 0u);
  EXPECT_EQ(bits(sqrt_approx(-0.0f)), kMinusZero);
  EXPECT_EQ(bits(sqrt_approx(-tiny)), kQuiet);
  EXPECT_EQ(bits(sqrt_approx<true>(-tiny)), kMinusZero);
}

TEST(ArithApprox, DivApproxGivesZeroForDivisorsAbove2To126) {
  // Expected values from an H200 and the ISA.
  const float huge = from_bits<float>(0x7e80'0001), inf = from_bits<float>(0x7f80'0000);
  EXPECT_EQ(bits_of(div_approx(-1.0f, huge)), 0x8000'0000u);
  EXPECT_EQ(bits_of(div_approx(inf, huge)), 0x7fff'ffffu);
  EXPECT_EQ(bits_of(div_approx(1.0f, 0x1p126f)), 0x0080'0000u);
  EXPECT_EQ(bits_of(div_full(0x1.fffffep127f, 0x1.fffffep127f)), bits_of(1.0f));
  EXPECT_EQ(bits_of(rcp_approx_ftz(from_bits<double>(0xfff0'0000'0000'0001))), u64{1} << 63);  // low word is ignored
  EXPECT_EQ(bits_of(rcp_approx_ftz(kNan<double>)), 0x7fff'ffff'0000'0000u);
}

/// The functions of libm whose result depends on the library, with their float and long double forms.
const char* const kLibm[] = {"sin",   "cos",  "tan",    "asin",   "acos",   "atan", "atan2",    "sinh",
                             "cosh",  "tanh", "asinh",  "acosh",  "atanh",  "exp",  "exp2",     "exp10",
                             "expm1", "log",  "log2",   "log10",  "log1p",  "pow",  "cbrt",     "hypot",
                             "erf",   "erfc", "tgamma", "lgamma", "sincos", "fmod", "remainder"};

TEST(ArithApprox, NoObjectOfTheProgramCallsAMathLibraryFunction) {
#ifdef TERRACE_DCHECK
  GTEST_SKIP() << "objects full of sanitizers take long to read; those of the release build are looked at";
#endif
  const std::string list_file = build_folder() + "/objects.txt";
  std::ifstream list(list_file);
  ASSERT_TRUE(list) << "the build did not write " << list_file;
  u32 objects = 0;
  for (std::string object; std::getline(list, object);) {
    ++objects;
    FILE* nm = popen(("nm -u '" + object + "' 2>&1").c_str(), "r");
    ASSERT_NE(nm, nullptr);
    char line[4096];
    while (std::fgets(line, sizeof line, nm) != nullptr) {
      std::istringstream words(line);
      std::string kind, symbol;
      words >> kind >> symbol;
      symbol = symbol.substr(0, symbol.find('@'));
      for (const std::string name : kLibm)
        EXPECT_TRUE(symbol != name && symbol != name + "f" && symbol != name + "l") << object << " calls " << symbol;
    }
    EXPECT_EQ(pclose(nm), 0) << object;
  }
  EXPECT_GT(objects, 3u);
}

}  // namespace
}  // namespace terrace::ptx
