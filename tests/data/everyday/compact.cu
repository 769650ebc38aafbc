// What is odd moves together: ballots, counts of bits, one atomic for a warp.
// SPDX-License-Identifier: MIT

__global__ void countOdd(const int* in, int* count, int* sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool odd = i < n && (in[i] & 1);
  unsigned int votes = __ballot_sync(0xffffffff, odd);
  int lane = threadIdx.x & 31, base = 0;
  if (lane == 0) base = atomicAdd(count, __popc(votes));
  base = __shfl_sync(0xffffffff, base, 0);
  if (odd) atomicAdd(sum, base + __popc(votes & ((1u << lane) - 1)));
  if (__any_sync(0xffffffff, odd) != !__all_sync(0xffffffff, !odd)) atomicAdd(sum, -1000000);
}
