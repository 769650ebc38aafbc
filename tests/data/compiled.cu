// Device code for ptx_compiled_test.cc; compiled.ptx is what clang-19 makes of it:
//   clang-19 -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 -nocudainc -nocudalib -O2 -S -fms-extensions
//            --cuda-path=/nonexistent -Xclang -target-feature -Xclang +ptx78 compiled.cu -o compiled.ptx
// It has what the hand-written kernels lack: a local depot, a structure by value, a call with .param space, a switch.
// SPDX-License-Identifier: MIT
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
struct Shape {
  int a;
  float b[3];
  double c;
};
__constant__ float coefficients[4] = {1, 2, 3, 4};
__device__ int table[3] = {7, 8, 9};
__device__ int* pointers[2] = {table, table + 1};
extern __shared__ float exchange[];

__device__ __attribute__((noinline)) float polish(float x, int n, Shape s) {
  float r = x;
  for (int i = 0; i < n; i++) r = r * s.b[i % 3] + s.a;
  return n > 3 ? polish(r, n - 1, s) * 0.5f : r;
}

extern "C" __global__ void k(const float* in, const int* choice, float* out, int n, Shape s) {
  int t = __nvvm_read_ptx_sreg_tid_x() + __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
  if (t >= n) return;
  float local[8];
  for (int i = 0; i < 8; i++) local[(i + choice[t]) & 7] = in[t + i] * coefficients[i & 3];
  exchange[__nvvm_read_ptx_sreg_tid_x()] = local[(choice[t] * 3) & 7];
  __syncthreads();
  float v = 0;
  switch (choice[t]) {
    case 0:
      v = 1;
      break;
    case 1:
      v = exchange[__nvvm_read_ptx_sreg_tid_x() ^ 1];
      break;
    case 2:
      v = polish(in[t], t % 9, s);
      break;
    case 3:
      v = *pointers[t & 1];
      break;
    case 4:
      v = 5.5f / in[t + 1];
      break;
    case 5:
      v = s.b[t % 3];
      break;
  }
  double d = v;
  out[t] = d * s.c + __builtin_sqrt(d < 0 ? -d : d);
}
