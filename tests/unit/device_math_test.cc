// The mathematical functions that device code gets without a device library (workloads/include/terrace_device/math.h),
// compiled and executed on many operands against the host's functions in long double. The bounds are those of
// docs/your_program.md.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <bit>
#include <climits>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "engine/rng.h"
#include "frontend/device_code.h"
#include "support/paths.h"
#include "unit/arith_cases.h"
#include "unit/ptx_harness.h"

namespace terrace::ptx {
namespace {

using Wide = long double;

/// Which operands count: all there are, or a range besides. A random image is as often tiny as huge.
enum class Domain { kAll, kAboveMinusOne, kUnit, kAngles, kLogGamma };

struct Function {
  std::string name;
  std::function<Wide(Wide, Wide)> reference;
  Domain domain;
  double f32, f64;  // largest error, in units of the last place
};

template <class T>
class Operands {
 public:
  explicit Operands(Domain domain) : domain_(domain), rng_(1, "device math") {}
  T next() {
    switch (rng_.below(4)) {
      case 0:
        return special();
      case 1:
        return image();
      case 2:
        return between(-3, 3);
      default:
        return domain_ == Domain::kAngles ? between(-100'000, 100'000) : between(-100, 100);
    }
  }
  bool admits(T x) const {
    if (domain_ == Domain::kUnit) return !(x > 1) && !(x < -1);
    if (domain_ == Domain::kAboveMinusOne) return !(x < -1);
    // There it has zeros that are no numbers of the type: CUDA bounds no relative error either.
    if (domain_ == Domain::kLogGamma) return !(x > T(-11.0001) && x < T(-2.2637));
    return true;
  }

 private:
  T between(T low, T high) {
    return low + (high - low) * static_cast<T>(static_cast<double>(rng_.next() >> 11) * 0x1p-53);
  }
  T image() {
    if constexpr (sizeof(T) == 4)
      return std::bit_cast<T>(static_cast<u32>(rng_.next()));
    else
      return std::bit_cast<T>(rng_.next());
  }
  T special() {
    using L = std::numeric_limits<T>;
    const T all[] = {0,
                     T(-0.0),
                     1,
                     -1,
                     2,
                     -2,
                     T(0.5),
                     T(-0.5),
                     3,
                     10,
                     L::infinity(),
                     -L::infinity(),
                     L::quiet_NaN(),
                     L::min(),
                     L::denorm_min(),
                     L::max(),
                     -L::max(),
                     L::epsilon(),
                     T(1) + L::epsilon(),
                     T(1) - L::epsilon(),
                     T(1.5707963267948966),
                     T(3.141592653589793),
                     T(2.5),
                     T(-3.5),
                     T(1e9),
                     T(-1e9)};
    return all[rng_.below(std::size(all))];
  }
  Domain domain_;
  Rng rng_;
};

/// How far a result is from the reference, in units of the last place; huge if they cannot be compared.
template <class T>
double error_of(T got, Wide expected) {
  using L = std::numeric_limits<T>;
  if (std::isnan(expected)) return std::isnan(got) ? 0 : 1e30;
  if (std::isnan(got)) return 1e30;
  const T rounded = static_cast<T>(expected);
  if (got == rounded) return std::signbit(got) == std::signbit(rounded) ? 0 : 1e30;
  if (std::isinf(rounded) || std::isinf(got)) {
    const T finite = std::isinf(got) ? rounded : got;  // next to the end there is
    return std::abs(finite) == L::max() ? 1 : 1e30;
  }
  const int exponent = std::max(rounded == 0 ? L::min_exponent - 1 : std::ilogb(rounded), L::min_exponent - 1);
  return static_cast<double>(std::abs(static_cast<Wide>(got) - expected) /
                             std::ldexp(Wide{1}, exponent - L::digits + 1));
}

/// The fraction of a half turn, from -1 to 1, is exact; then what is near to a half turn is turned back.
Wide turned(Wide x) {
  return std::remainder(x, Wide{2});
}
Wide sine_of_half_turns(Wide x) {
  const Wide part = turned(x);
  const Wide near = std::abs(part) > 0.5L ? std::copysign(1.0L, part) - part : part;
  return near == 0 ? std::copysign(0.0L, x) : std::sin(3.141592653589793238462643383279502884L * near);
}
Wide cosine_of_half_turns(Wide x) {
  const Wide part = std::abs(turned(x));
  return part == 0.5L ? 0.0L : std::sin(3.141592653589793238462643383279502884L * (0.5L - part));
}

constexpr Wide kRootHalf = 0.7071067811865475244008443621048490392L;

/// The x whose erfc is y: bisection until Newton's steps on the logarithm are sure to end at it.
Wide inverse_complement(Wide y) {
  if (!(y >= 0 && y <= 2)) return std::numeric_limits<Wide>::quiet_NaN();
  if (y == 0 || y == 2) return y == 0 ? INFINITY : -INFINITY;
  if (y > 1) return -inverse_complement(2 - y);
  Wide low = 0, high = 40;
  for (int i = 0; i < 12; ++i) (std::erfc((low + high) / 2) > y ? low : high) = (low + high) / 2;
  constexpr Wide kSlope = 1.1283791670955125738961589031215451717L;  // 2 / sqrt(pi)
  for (int i = 0; i < 4; ++i) {
    const Wide found = std::erfc(low);
    low += std::log(found / y) * found / (kSlope * std::exp(-low * low));
  }
  return low;
}
Wide inverse_error(Wide y) {
  if (std::abs(y) > 0.5L) return std::copysign(inverse_complement(1 - std::abs(y)), y);
  constexpr Wide kSlope = 1.1283791670955125738961589031215451717L;
  Wide x = y / kSlope;
  for (int i = 0; i < 6 && y != 0; ++i) x -= (std::erf(x) - y) / (kSlope * std::exp(-x * x));
  return x;
}

/// e^(x^2) erfc(x): the square with what it lacks, and a series where both factors are beyond the ends.
Wide scaled_complement(Wide x) {
  if (x > 20) {
    const Wide half = 1 / (2 * x * x);
    Wide series = 1;
    for (int n = 9; n > 0; --n) series = 1 - (2 * n - 1) * half * series;
    return 0.5641895835477562869480794515607725858L / x * series;
  }
  if (x < -100) return std::numeric_limits<Wide>::infinity();
  const Wide square = x * x;
  return std::exp(square) * (1 + std::fma(x, x, -square)) * std::erfc(x);
}
/// Infinite if a part is.
Wide length(std::initializer_list<Wide> parts) {
  Wide sum = 0;
  bool infinite = false;
  for (const Wide part : parts) {
    sum += part * part;
    infinite |= std::isinf(part);
  }
  return infinite ? INFINITY : std::sqrt(sum);
}

const std::vector<Function>& functions() {
  using W = Wide;
  static const std::vector<Function> kFunctions{
#define ONE(name, domain, f32, f64)                                      \
  Function {                                                             \
    #name, [](W x, W) { return std::name(x); }, Domain::domain, f32, f64 \
  }
#define TWO(name, f32, f64)                                                 \
  Function {                                                                \
    #name, [](W x, W y) { return std::name(x, y); }, Domain::kAll, f32, f64 \
  }
      ONE(sqrt, kAll, 0.5, 0.501),
      {"rsqrt", [](W x, W) { return 1 / std::sqrt(x); }, Domain::kAll, 1, 1.5},
      ONE(cbrt, kAll, 1, 1),
      ONE(exp, kAll, 1.5, 1.5),
      ONE(exp2, kAll, 1.5, 1.5),
      {"exp10", [](W x, W) { return ::exp10l(x); }, Domain::kAll, 2, 2},
      ONE(expm1, kAll, 2, 2),
      ONE(log, kAll, 1, 1),
      ONE(log2, kAll, 1, 1),
      ONE(log10, kAll, 1, 1),
      ONE(log1p, kAboveMinusOne, 1, 1),
      ONE(sin, kAngles, 1.5, 1.5),
      ONE(cos, kAngles, 1.5, 1.5),
      ONE(tan, kAngles, 3, 3),
      {"sinpi", [](W x, W) { return sine_of_half_turns(x); }, Domain::kAngles, 1.5, 1.5},
      {"cospi", [](W x, W) { return cosine_of_half_turns(x); }, Domain::kAngles, 1.5, 1.5},
      ONE(asin, kUnit, 3, 3),
      ONE(acos, kUnit, 3, 3),
      ONE(atan, kAll, 2, 2),
      ONE(sinh, kAll, 3, 3),
      ONE(cosh, kAll, 2, 2),
      ONE(tanh, kAll, 3, 3),
      ONE(fabs, kAll, 0, 0),
      ONE(floor, kAll, 0, 0),
      ONE(ceil, kAll, 0, 0),
      ONE(trunc, kAll, 0, 0),
      ONE(rint, kAll, 0, 0),
      ONE(round, kAll, 0, 0),
      TWO(pow, 2, 2),
      TWO(atan2, 2.5, 2.5),
      TWO(fmod, 0, 0),
      TWO(hypot, 1.5, 1.5),
      // As PTX has it, -0 is less than +0.
      {"fmin", [](W x, W y) { return x == y ? (std::signbit(x) ? x : y) : std::fmin(x, y); }, Domain::kAll, 0, 0},
      {"fmax", [](W x, W y) { return x == y ? (std::signbit(x) ? y : x) : std::fmax(x, y); }, Domain::kAll, 0, 0},
      TWO(fdim, 0.5, 0.501),
      TWO(copysign, 0, 0),
      ONE(erf, kAll, 2, 2),
      ONE(erfc, kAll, 4, 5),
      {"erfinv", [](W x, W) { return inverse_error(x); }, Domain::kUnit, 2, 5},
      {"erfcinv", [](W x, W) { return inverse_complement(x); }, Domain::kUnit, 4, 6},
      {"normcdf", [](W x, W) { return std::erfc(-x * kRootHalf) / 2; }, Domain::kAll, 5, 5},
      {"normcdfinv", [](W x, W) { return -inverse_complement(2 * x) / kRootHalf; }, Domain::kUnit, 5, 8},
      ONE(asinh, kAll, 3, 3),
      ONE(acosh, kAll, 4, 3),
      ONE(atanh, kUnit, 3, 3),
      ONE(lgamma, kLogGamma, 1, 4),
      ONE(tgamma, kAll, 1, 5),
      {"erfcx", [](W x, W) { return scaled_complement(x); }, Domain::kAll, 1, 4},
      {"rcbrt", [](W x, W) { return 1 / std::cbrt(x); }, Domain::kAll, 1, 1},
      ONE(logb, kAll, 0, 0),
      TWO(remainder, 0, 0),
      {"rhypot", [](W x, W y) { return 1 / length({x, y}); }, Domain::kAll, 1, 2},
      {"norm3d", [](W x, W y) { return length({x, y, 1}); }, Domain::kAll, 1, 1.5},
      {"rnorm3d", [](W x, W y) { return 1 / length({x, y, 1}); }, Domain::kAll, 1, 2},
      {"norm4d", [](W x, W y) { return length({x, y, 1, x}); }, Domain::kAll, 1, 1.5},
#undef TWO
#undef ONE
  };
  return kFunctions;
}

class DeviceMath : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const DeviceCode code = read_device_code(source_folder() + "/tests/data/device_math.cu");
    text_ = code.text;
  }

  template <class T>
  void measure(const Function& function, double bound) {
    Operands<T> operands(function.domain);
    std::vector<T> xs, ys;
    while (xs.size() < kArithCases) {
      const T x = operands.next(), y = operands.next();
      if (!operands.admits(x)) continue;
      xs.push_back(x);
      ys.push_back(y);
    }
    Harness harness(text_);
    const Buffer<T> x = harness.buffer("x", xs), y = harness.buffer("y", ys), out = harness.buffer("out", xs);
    Launch launch = harness.launch({(kArithCases + 127) / 128}, {128}, x, y, out, static_cast<int>(kArithCases));
    launch.kernel = function.name + (sizeof(T) == 4 ? "_f32" : "_f64");
    harness.run(launch);
    const std::vector<T> results = harness.read(out);
    double worst = 0;
    u64 at = 0;
    for (u64 i = 0; i < results.size(); ++i) {
      const double error = error_of(results[i], function.reference(xs[i], ys[i]));
      if (error > worst) {
        worst = error;
        at = i;
      }
    }
    RecordProperty(launch.kernel, std::to_string(worst));
    EXPECT_LE(worst, bound) << fmt::format("{}({}, {}) = {}, not {}", launch.kernel, xs[at], ys[at], results[at],
                                           static_cast<double>(function.reference(xs[at], ys[at])));
  }

  /// Bit for bit; any NaN is as good as another.
  template <class T>
  void compare(const std::string& name, const std::function<T(T, T)>& reference) {
    Operands<T> operands(Domain::kAll);
    Rng rng(2, "powers");
    std::vector<T> xs, ys;
    for (u64 i = 0; i < kArithCases; ++i) {
      xs.push_back(operands.next());
      // To where results are not normal, and beyond.
      ys.push_back(name == "ldexp" ? static_cast<T>(static_cast<i64>(rng.below(5000)) - 2500) : operands.next());
    }
    Harness harness(text_);
    const Buffer<T> x = harness.buffer("x", xs), y = harness.buffer("y", ys), out = harness.buffer("out", xs);
    Launch launch = harness.launch({(kArithCases + 127) / 128}, {128}, x, y, out, static_cast<int>(kArithCases));
    launch.kernel = name + (sizeof(T) == 4 ? "_f32" : "_f64");
    harness.run(launch);
    const std::vector<T> results = harness.read(out);
    u64 wrong = 0;
    for (u64 i = 0; i < results.size(); ++i) {
      const T expected = reference(xs[i], ys[i]);
      const bool same =
          std::isnan(expected) ? std::isnan(results[i]) : std::memcmp(&expected, &results[i], sizeof expected) == 0;
      if (!same && ++wrong < 4)
        ADD_FAILURE() << fmt::format("{}({}, {}) = {}, not {}", launch.kernel, xs[i], ys[i], results[i], expected);
    }
    EXPECT_EQ(wrong, 0u) << launch.kernel;
  }
  template <class T>
  void compare_parts() {
    int power = 0;
    T whole = 0;
    compare<T>("nextafter", [](T x, T y) { return std::nextafter(x, y); });
    compare<T>("ldexp", [](T x, T y) { return std::ldexp(x, static_cast<int>(y)); });
    compare<T>("ilogb", [](T x, T) {
      return static_cast<T>(std::isnan(x) ? INT_MIN : x == 0 ? INT_MIN : std::ilogb(x));
    });
    compare<T>("frexp", [&](T x, T) { return std::frexp(x, &power); });
    compare<T>("frexp_power", [&](T x, T) {
      std::frexp(x, &power);
      return static_cast<T>(std::isfinite(x) ? power : 0);
    });
    compare<T>("modf", [&](T x, T) { return std::modf(x, &whole); });
    compare<T>("modf_whole", [&](T x, T) {
      std::modf(x, &whole);
      return whole;
    });
    compare<T>("remquo_bits", [&](T x, T y) {
      const T rest = std::remquo(x, y, &power);
      return static_cast<T>(std::isnan(rest) ? 0 : power < 0 ? -(-power & 7) : power & 7);
    });
  }

  static std::string text_;
};
std::string DeviceMath::text_;

TEST_F(DeviceMath, PartsOfNumbersAreExact) {
  compare_parts<float>();
  compare_parts<double>();
}

TEST_F(DeviceMath, FloatFunctionsAreWithinTheirBounds) {
  for (const Function& function : functions()) measure<float>(function, function.f32);
}

TEST_F(DeviceMath, DoubleFunctionsAreWithinTheirBounds) {
  for (const Function& function : functions()) measure<double>(function, function.f64);
}

}  // namespace
}  // namespace terrace::ptx
