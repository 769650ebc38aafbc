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
