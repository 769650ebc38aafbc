// Functions and their inverses: exp and log, pow and cbrt, tanh and its parts.
// SPDX-License-Identifier: MIT
#include <math.h>

__global__ void inverses(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  float a = expf(logf(v)), b = exp2f(log2f(v)), c = powf(cbrtf(v), 3.0f), d = powf(10.0f, log10f(v));
  float t = tanhf(v), u = (expf(v) - expf(-v)) / (expf(v) + expf(-v));
  float worst = fmaxf(fmaxf(fabsf(a / v - 1), fabsf(b / v - 1)), fmaxf(fabsf(c / v - 1), fabsf(d / v - 1)));
  worst = fmaxf(worst, fabsf(t - u));
  out[i] =
      worst < 2e-6f && !isnan(worst) && floorf(v) + 1 >= ceilf(v) && roundf(0.5f) == 1 && fmodf(7.5f, 2.0f) == 1.5f;
}
