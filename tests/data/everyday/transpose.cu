// A tile in shared memory with a column to spare; dim3 in two dimensions.
// SPDX-License-Identifier: MIT
#define TILE 32
#define ROWS 8

__global__ void transpose(const int* in, int* out, int width) {
  __shared__ int tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS) out[(y + j) * width + x] = tile[threadIdx.x][threadIdx.y + j];
}
