// A libFuzzer target for the PTX reader, decoder and executor: scripts/fuzz builds and runs it.
// SPDX-License-Identifier: MIT
#include "fuzz/try_module.h"

extern "C" int LLVMFuzzerTestOneInput(const terrace::u8* bytes, std::size_t count) {
  terrace::ptx::try_module({reinterpret_cast<const char*>(bytes), count});
  return 0;
}
