// Points as float3, scaled to length 1 with rsqrtf.
// SPDX-License-Identifier: MIT

__device__ inline float dot(float3 a, float3 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
__device__ inline float3 operator*(float3 v, float s) {
  return make_float3(v.x * s, v.y * s, v.z * s);
}

__global__ void normalise(const float* x, float* length, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float3 v = make_float3(x[i] + 1, sqrtf(x[i]), 2.0f);
  v = v * rsqrtf(dot(v, v));
  length[i] = sqrt(dot(v, v));
}
