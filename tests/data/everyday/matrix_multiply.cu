// Tiles of two matrices; the second is twice the identity.
// SPDX-License-Identifier: MIT
#define TILE 16

__global__ void identity(float* m, int n) {
  dim3 at(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y);
  m[at.y * n + at.x] = at.x == at.y ? 2.0f : 0.0f;
}

__global__ void matMul(const float* A, const float* B, float* C, int n) {
  __shared__ float a[TILE][TILE], b[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < n / TILE; ++t) {
    a[threadIdx.y][threadIdx.x] = A[row * n + t * TILE + threadIdx.x];
    b[threadIdx.y][threadIdx.x] = B[(t * TILE + threadIdx.y) * n + col];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE; ++k) sum = fmaf(a[threadIdx.y][k], b[k][threadIdx.x], sum);
    __syncthreads();
  }
  C[row * n + col] = sum;
}
