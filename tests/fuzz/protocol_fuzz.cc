// A libFuzzer target for what processes may send to the simulator's socket: scripts/fuzz builds and runs it.
// SPDX-License-Identifier: MIT
#include "fuzz/try_clients.h"

extern "C" int LLVMFuzzerTestOneInput(const terrace::u8* bytes, std::size_t count) {
  terrace::cuda::try_clients({bytes, count});
  return 0;
}
