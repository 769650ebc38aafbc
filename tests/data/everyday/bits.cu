// Integer intrinsics, against what they mean.
// SPDX-License-Identifier: MIT

__global__ void bits(int* good) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned int x = t * 2654435761u;
  int ones = 0, lowest = 0;
  unsigned int reversed = 0;
  for (int b = 0; b < 32; ++b) {
    ones += x >> b & 1;
    reversed |= (x >> b & 1) << (31 - b);
    if (lowest == 0 && (x >> b & 1)) lowest = b + 1;
  }
  bool ok = __popc(x) == ones && __brev(x) == reversed && __ffs(x) == lowest &&
            __ffsll((long long)x << 20) == (x ? lowest + 20 : 0);
  ok = ok && __clz(x >> 3) >= 3 && __clzll(1) == 63 && __popcll(~0ull) == 64;
  ok = ok && __mul24(t, 3) == 3 * t && __umulhi(x, 1u << 31) == x >> 1 && __mulhi(-2, 1 << 30) == -1;
  ok = ok && __umul64hi(1ull << 63, 6) == 3 && __byte_perm(0x33221100, 0x77665544, 0x7430) == 0x77443300;
  ok = ok && __sad(3, -4, 1u) == 8 && __usad(3u, 9u, 1u) == 7 && __hadd(3, 4) == 3 && __rhadd(3, 4) == 4;
  ok = ok && __funnelshift_l(0x80000000u, 1u, 1) == 3 && __funnelshift_r(2u, 1u, 1) == 0x80000001u;
  ok = ok && min(3u, 5) == 3 && max(-1, 2) == 2 && min(2.0f, 1.0f) == 1 && max(1.0, 2.0f) == 2 && abs(-5) == 5;
  ok = ok && max(1ll, 2ll) == 2 && min(7ul, 9ul) == 7 && abs(-2.5f) == 2.5f && llabs(-3) == 3;
  ok = ok && __float_as_int(1.0f) == 0x3f800000 && __float2int_rn(2.5f) == 2 && __float2int_ru(2.1f) == 3 &&
       __int2float_rn(7) == 7;
  unsigned int copy;
  memcpy(&copy, &x, sizeof x);
  ok = ok && copy == x && lroundf(2.5f) == 3 && lrint(2.5) == 2 && pow(2, 3) == 8 && sinpif(0.5f) == 1;
  good[t] = ok;
}
