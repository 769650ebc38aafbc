// A loop around launches whose arguments change each time: expressions of the repetition.
// SPDX-License-Identifier: MIT

__global__ void step(int* a, int j, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ j;
  if (other <= i) return;
  if ((a[i] > a[other]) == ((i & k) == 0)) {
    int t = a[i];
    a[i] = a[other];
    a[other] = t;
  }
}

__global__ void mix(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  a[i] = (i * 77 + 13) % n;
}
