// All atomics, and two that programs build from atomicCAS.
// SPDX-License-Identifier: MIT

__device__ float atomicMaxFloat(float* at, float value) {
  int old = __float_as_int(*at), seen;
  do {
    seen = old;
    old = atomicCAS((int*)at, seen, __float_as_int(fmaxf(value, __int_as_float(seen))));
  } while (seen != old);
  return __int_as_float(old);
}

__global__ void everyAtomic(int* i, unsigned int* u, unsigned long long* l, float* f) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&i[0], t);
  atomicSub(&i[1], t);
  atomicMin(&i[2], -t);
  atomicMax(&i[3], t);
  atomicExch(&i[4], 7);
  atomicAnd(&i[5], ~(1 << (t & 31)));
  atomicOr(&i[6], 1 << (t & 31));
  atomicXor(&i[7], t);
  atomicInc(&u[0], 99u);
  atomicDec(&u[1], 99u);
  atomicMin(&u[2], (unsigned int)t);
  atomicMax(&u[3], (unsigned int)t);
  atomicAdd(&l[0], (unsigned long long)t << 32);
  atomicMax(&l[1], (unsigned long long)t << 32);
  atomicOr(&l[2], 1ull << (t & 63));
  atomicCAS(&l[3], 0ull, 5ull);
  atomicMaxFloat(f, t * 0.5f);
}

__global__ void verdict(const int* i, const unsigned int* u, const unsigned long long* l, const float* f, int* good) {
  *good = i[0] == 130816 && i[1] == -130816 && i[2] == -511 && i[3] == 511 && i[4] == 7 && i[5] == 0 && i[6] == -1 &&
          i[7] == 0 && u[0] == 12 && u[1] == 88 && u[2] == 0 && u[3] == 511 && l[0] == 130816ull << 32 &&
          l[1] == 511ull << 32 && l[2] == ~0ull && l[3] == 5 && *f == 255.5f;
}
