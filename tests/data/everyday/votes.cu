// Lanes that match, barriers that count, active lanes, clocks, a nap.
// SPDX-License-Identifier: MIT

__global__ void votes(int* good) {
  int t = threadIdx.x, lane = t & 31, same;
  unsigned int mates = __match_any_sync(0xffffffff, lane / 4);
  unsigned int all = __match_all_sync(0xffffffff, 5.0f, &same);
  bool ok = mates == 0xfu << (lane / 4 * 4) && all == 0xffffffff && same;
  ok = ok && __syncthreads_count(t < 40) == 40 && __syncthreads_and(t < 128) && !__syncthreads_or(t > 200);
  if (lane < 8) ok = ok && __activemask() == 0xff;
  __syncwarp();
  ok = ok && __shfl_sync(0xffffffff, t, 3, 8) == (t & ~7) + 3;
  ok = ok && __shfl_xor_sync(0xffffffff, (long long)t << 40, 1) == (long long)(t ^ 1) << 40;
  long long before = clock64();
  int ticks = clock();
  __nanosleep(20);
  ok = ok && clock64() >= before && clock() - ticks >= 0;
  good[t] = ok;
}
