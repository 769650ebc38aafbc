// A libFuzzer target for what a CUDA process may say to the simulator: scripts/fuzz builds and runs it.
// SPDX-License-Identifier: MIT
#include "fuzz/try_conversation.h"

extern "C" int LLVMFuzzerTestOneInput(const terrace::u8* bytes, std::size_t count) {
  terrace::cuda::try_conversation({bytes, count});
  return 0;
}
