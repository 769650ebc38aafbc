// Every mathematical function of terrace_device on its own, for float and double (tests/unit/device_math_test.cc).
// SPDX-License-Identifier: MIT
#include <cuda_runtime.h>

#define OF_TYPE(name, T, suffix, expression)                                            \
  extern "C" __global__ void name##_##suffix(const T* xs, const T* ys, T* out, int n) { \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                                \
    if (i >= n) return;                                                                 \
    const T x = xs[i], y = ys[i];                                                       \
    (void)y;                                                                            \
    out[i] = expression;                                                                \
  }
#define UNARY(name) OF_TYPE(name, float, f32, name##f(x)) OF_TYPE(name, double, f64, name(x))
#define BINARY(name) OF_TYPE(name, float, f32, name##f(x, y)) OF_TYPE(name, double, f64, name(x, y))

UNARY(sqrt)
UNARY(rsqrt)
UNARY(cbrt)
UNARY(exp)
UNARY(exp2)
UNARY(exp10)
UNARY(expm1)
UNARY(log)
UNARY(log2)
UNARY(log10)
UNARY(log1p)
UNARY(sin)
UNARY(cos)
UNARY(tan)
UNARY(sinpi)
UNARY(cospi)
UNARY(asin)
UNARY(acos)
UNARY(atan)
UNARY(sinh)
UNARY(cosh)
UNARY(tanh)
UNARY(fabs)
UNARY(floor)
UNARY(ceil)
UNARY(trunc)
UNARY(rint)
UNARY(round)
BINARY(pow)
BINARY(atan2)
BINARY(fmod)
BINARY(hypot)
BINARY(fmin)
BINARY(fmax)
BINARY(fdim)
BINARY(copysign)
UNARY(erf)
UNARY(erfc)
UNARY(erfinv)
UNARY(erfcinv)
UNARY(normcdf)
UNARY(normcdfinv)
UNARY(asinh)
UNARY(acosh)
UNARY(atanh)
UNARY(lgamma)
UNARY(tgamma)
UNARY(erfcx)
UNARY(rcbrt)
UNARY(logb)
BINARY(remainder)
BINARY(rhypot)
OF_TYPE(norm3d, float, f32, norm3df(x, y, 1))
OF_TYPE(norm3d, double, f64, norm3d(x, y, 1))
OF_TYPE(rnorm3d, float, f32, rnorm3df(x, y, 1))
OF_TYPE(rnorm3d, double, f64, rnorm3d(x, y, 1))
OF_TYPE(norm4d, float, f32, norm4df(x, y, 1, x))
OF_TYPE(norm4d, double, f64, norm4d(x, y, 1, x))

// What is exact, and depends on the type. y is of the size of a power of 2.
BINARY(nextafter)
OF_TYPE(ldexp, float, f32, ldexpf(x, static_cast<int>(y)))
OF_TYPE(ldexp, double, f64, ldexp(x, static_cast<int>(y)))
OF_TYPE(ilogb, float, f32, static_cast<float>(ilogbf(x)))
OF_TYPE(ilogb, double, f64, ilogb(x))
#define SECOND(result, call)                \
  [](auto x, auto y) {                      \
    result other;                           \
    (void)y;                                \
    (void)call;                             \
    return static_cast<decltype(x)>(other); \
  }(x, y)
#define FIRST(result, call) \
  [](auto x, auto y) {      \
    result other;           \
    (void)y;                \
    return call;            \
  }(x, y)
OF_TYPE(frexp, float, f32, FIRST(int, frexpf(x, &other)))
OF_TYPE(frexp, double, f64, FIRST(int, frexp(x, &other)))
OF_TYPE(frexp_power, float, f32, SECOND(int, frexpf(x, &other)))
OF_TYPE(frexp_power, double, f64, SECOND(int, frexp(x, &other)))
OF_TYPE(modf, float, f32, FIRST(float, modff(x, &other)))
OF_TYPE(modf, double, f64, FIRST(double, modf(x, &other)))
OF_TYPE(modf_whole, float, f32, SECOND(float, modff(x, &other)))
OF_TYPE(modf_whole, double, f64, SECOND(double, modf(x, &other)))
OF_TYPE(remquo_bits, float, f32, SECOND(int, remquof(x, y, &other)))
OF_TYPE(remquo_bits, double, f64, SECOND(int, remquo(x, y, &other)))
