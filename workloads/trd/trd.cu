// STREAM's triad: c = a + 1.75 b, an element a thread.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

extern "C" __global__ void triad(const float* a, const float* b, float* c, float factor, u32 count) {
  const u32 i = global_thread();
  if (i < count) c[i] = a[i] + factor * b[i];
}
