// C = A B on tensor cores: A (m x k) and B (k x n) of f16, row by row, C of f32. A block computes 32 x 32 elements with four
// warps and keeps two tiles of each factor in shared memory: one is copied while the other is multiplied. In `gemm_groups` the
// copies are waited for by groups, in `gemm_barriers` by barrier objects; `gemm_wmma` does without copies.
#include "terrace_device.h"

namespace {

constexpr u32 kTile = 32, kDepth = 16, kStages = 2;
struct Tiles {
  u16 a[kStages][kTile][kDepth];
  u16 b[kStages][kDepth][kTile];
};

__device__ u32 in_shared(const void* pointer) {
  u32 address;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(address) : "l"(pointer));
  return address;
}

// 128 threads: 64 copy 16 bytes each of A's tile, 64 of B's.
__device__ void copy_tiles(Tiles& tiles, u32 stage, const u16* a, const u16* b, u32 n, u32 k, u32 at) {
  const u32 t = threadIdx.x, u = t & 63;
  const void* to;
  const u16* from;
  if (t < 64) {
    to = &tiles.a[stage][u / 2][u % 2 * 8];
    from = a + (blockIdx.y * kTile + u / 2) * k + at + u % 2 * 8;
  } else {
    to = &tiles.b[stage][u / 4][u % 4 * 8];
    from = b + (at + u / 4) * n + blockIdx.x * kTile + u % 4 * 8;
  }
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(in_shared(to)), "l"(from) : "memory");
}

// A warp's 16 x 16 elements: one fragment of A, two of B.
__device__ void multiply(const Tiles& tiles, u32 stage, float (&sum)[2][4]) {
  const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, row = warp / 2 * 16, col = warp % 2 * 16;
  u32 a[4], b[2];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(in_shared(&tiles.a[stage][row + lane % 16][lane / 16 * 8])));
  for (u32 half = 0; half < 2; ++half) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1])
                 : "r"(in_shared(&tiles.b[stage][lane % 16][col + half * 8])));
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(sum[half][0]), "+f"(sum[half][1]), "+f"(sum[half][2]), "+f"(sum[half][3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}

__device__ void write_sums(float* c, u32 n, const float (&sum)[2][4]) {
  const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const u32 row = blockIdx.y * kTile + warp / 2 * 16 + lane / 4,
            col = blockIdx.x * kTile + warp % 2 * 16 + lane % 4 * 2;
  for (u32 half = 0; half < 2; ++half)
    for (u32 i = 0; i < 4; ++i) c[(row + i / 2 * 8) * n + col + half * 8 + i % 2] = sum[half][i];
}

}  // namespace

extern "C" __global__ void gemm_groups(const u16* a, const u16* b, float* c, u32 n, u32 k) {
  __shared__ __attribute__((aligned(16))) Tiles tiles;
  float sum[2][4] = {};
  copy_tiles(tiles, 0, a, b, n, k, 0);
  asm volatile("cp.async.commit_group;" ::: "memory");
  for (u32 at = 0, stage = 0; at < k; at += kDepth, stage ^= 1) {
    if (at + kDepth < k) {
      copy_tiles(tiles, stage ^ 1, a, b, n, k, at + kDepth);
      asm volatile("cp.async.commit_group;" ::: "memory");
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_all;" ::: "memory");
    }
    __syncthreads();
    multiply(tiles, stage, sum);
    __syncthreads();
  }
  write_sums(c, n, sum);
}

extern "C" __global__ void gemm_barriers(const u16* a, const u16* b, float* c, u32 n, u32 k) {
  __shared__ __attribute__((aligned(16))) Tiles tiles;
  __shared__ unsigned long long arrived[kStages];
  if (threadIdx.x < kStages)
    asm volatile("mbarrier.init.shared.b64 [%0], 128;" ::"r"(in_shared(&arrived[threadIdx.x])) : "memory");
  __syncthreads();
  float sum[2][4] = {};
  u32 parity = 0;
  const auto begin = [&](u32 stage, u32 at) {
    copy_tiles(tiles, stage, a, b, n, k, at);
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(in_shared(&arrived[stage])) : "memory");
  };
  begin(0, 0);
  for (u32 at = 0, stage = 0; at < k; at += kDepth, stage ^= 1) {
    if (at + kDepth < k) begin(stage ^ 1, at + kDepth);
    asm volatile("{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra WAIT; }" ::"r"(
                     in_shared(&arrived[stage])),
                 "r"(parity)
                 : "memory");
    multiply(tiles, stage, sum);
    if (stage == 1) parity ^= 1;
    __syncthreads();
  }
  write_sums(c, n, sum);
}

extern "C" __global__ void gemm_wmma(const u16* a, const u16* b, float* c, u32 n, u32 k) {
  const u32 warp = threadIdx.x >> 5, row = blockIdx.y * kTile + warp / 2 * 16, col = blockIdx.x * kTile + warp % 2 * 16;
  float sum[8] = {};
  for (u32 at = 0; at < k; at += kDepth) {
    int left[8], right[8];
    __hmma_m16n16k16_ld_a(left, reinterpret_cast<const int*>(a + row * k + at), k, 0);
    __hmma_m16n16k16_ld_b(right, reinterpret_cast<const int*>(b + at * n + col), n, 0);
    __hmma_m16n16k16_mma_f32f32(sum, left, right, sum, 0, 0);
  }
  __hmma_m16n16k16_st_c_f32(c + row * n + col, sum, n, 0);
}
