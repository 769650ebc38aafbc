// The barrier of cooperative groups for clang, which has none of its own: one thread of each block adds to a counter that the driver
// places, so that its highest bit changes when all have, and waits for that.
// SPDX-License-Identifier: MIT
#pragma once

__device__ void sync_grid() {
  __nvvm_bar_sync(0);
  if (threadIdx.x == 0) {
    unsigned high, low, before, now;
    asm("mov.u32 %0, %%envreg1;" : "=r"(high));
    asm("mov.u32 %0, %%envreg2;" : "=r"(low));
    unsigned* counter = (unsigned*)((unsigned long long)high << 32 | low) + 1;
    const unsigned mine = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1;
    asm volatile("atom.add.release.gpu.u32 %0,[%1],%2;" : "=r"(before) : "l"(counter), "r"(mine) : "memory");
    do asm volatile("ld.acquire.gpu.u32 %0,[%1];" : "=r"(now) : "l"(counter) : "memory");
    while (((before ^ now) & 0x80000000u) == 0);
  }
  __nvvm_bar_sync(0);
}
