// sinf and cosf of many angles, in float and in double.
// SPDX-License-Identifier: MIT

__global__ void waves(const float* x, float* f, double* d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s, c;
  sincosf(x[i], &s, &c);
  f[i] = s * s + c * c + fabsf(sinf(x[i]) - s) + fabsf(cosf(x[i]) - c);
  double angle = x[i];
  d[i] = sin(angle) * sin(angle) + pow(cos(angle), 2) + fabs(atan2(sin(1.0), cos(1.0)) - 1.0);
}
