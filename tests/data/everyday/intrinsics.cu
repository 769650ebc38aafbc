// Dot products, reductions of a warp, loads and stores with a cache operator, 16-bit atomics and constants, without an #include.
// SPDX-License-Identifier: MIT

__global__ void intrinsics(int* good, unsigned short* turns, float4* moved, signed char* bytes) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  const int x = t * 2654435761u, y = t * 40503u + 77;
  int sum = t, halves_low = t, halves_high = t;
  unsigned int without_sign = t;
  for (int b = 0; b < 4; ++b) {
    sum += (signed char)(x >> 8 * b) * (signed char)(y >> 8 * b);
    without_sign += (x >> 8 * b & 255) * (y >> 8 * b & 255);
  }
  for (int h = 0; h < 2; ++h) {
    halves_low += (short)(x >> 16 * h) * (signed char)(y >> 8 * h);
    halves_high += (short)(x >> 16 * h) * (signed char)(y >> 8 * (h + 2));
  }
  bool ok = __dp4a(x, y, t) == sum && __dp4a((unsigned)x, (unsigned)y, (unsigned)t) == without_sign;
  ok = ok && __dp2a_lo(x, y, t) == halves_low && __dp2a_hi(x, y, t) == halves_high;
  ok = ok && __dp4a(make_char4(1, -2, 3, 4), make_char4(5, 6, 7, 8), 9) == 55;
  ok = ok && __dp2a_lo(make_short2(300, -2), make_char4(5, 6, 7, 8), 9) == 1497;

  const int first = t - t % 32;
  ok = ok && __reduce_add_sync(~0u, t) == 32 * first + 496 && __reduce_max_sync(~0u, t) == first + 31;
  ok = ok && __reduce_min_sync(~0u, -t) == -first - 31 && __reduce_min_sync(~0u, (unsigned)t) == first;
  ok = ok && __reduce_or_sync(~0u, 1u << t % 32) == ~0u && __reduce_and_sync(~0u, ~(1u << t % 32)) == 0;
  ok = ok && __reduce_xor_sync(~0u, (unsigned)t % 32 + 1) == 32;

  moved[t] = make_float4(t, t + 1, t + 2, t + 3);
  const float4 back = __ldcg(moved + t);
  ok = ok && back.x == t && back.w == t + 3;
  __stcs(moved + t, make_float4(back.w, back.z, back.y, back.x));
  ok = ok && __ldcv(&moved[t].x) == t + 3 && __ldca(&moved[t].w) == t;
  __stwt(bytes + t, (signed char)-5);
  ok = ok && __ldcs(bytes + t) == -5 && __ldlu(bytes + t) == -5;
  __stcg(bytes + t, (signed char)t);
  __stwb(&moved[t].y, 0.5f);
  ok = ok && bytes[t] == (signed char)t && moved[t].y == 0.5f;

  // Each counts once, and leaves the other half of the word alone.
  unsigned short old = turns[t / 256 * 2], expected;
  do {
    expected = old;
    old = atomicCAS(turns + t / 256 * 2, expected, (unsigned short)(expected + 1));
  } while (old != expected);
  ok = ok && turns[t / 256 * 2 + 1] == 0;

  ok = ok && INFINITY > FLT_MAX && FLT_MAX > 3e38f && !(NAN == NAN) && FLT_EPSILON == 0x1p-23f && DBL_MAX > 1e308;
  ok = ok && M_PI == 3.141592653589793 && CUDART_PI_F == (float)M_PI && CUDART_INF_F == INFINITY &&
       INT_MIN + INT_MAX == -1;
  float fraction;
  int power;
  ok = ok && modff(-2.5f, &fraction) == -0.5f && fraction == -2 && frexp(12.0, &power) == 0.75 && power == 4;
  ok = ok && ldexpf(3, -2) == 0.75f && tgammaf(5) == 24 && lgamma(1.0) == 0 && norm3df(2, 3, 6) == 7 && logbf(9) == 3;
  ok = ok && rcbrtf(8) == 0.5f && rhypot(3.0, 4.0) == 0.2 && remainderf(5, 3) == -1 && llrintf(2.5f) == 2;
  float sine, cosine;
  sincospif(0.5f, &sine, &cosine);
  good[t] = ok && sine == 1 && cosine == 0;
}
