// A libFuzzer target for what processes may send to the simulator's socket: scripts/fuzz builds and runs it.
// SPDX-License-Identifier: MIT
#include "fuzz/try_framing.h"

extern "C" int LLVMFuzzerTestOneInput(const terrace::u8* bytes, std::size_t count) {
  terrace::cuda::try_protocol({bytes, count});
  return 0;
}
