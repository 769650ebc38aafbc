// Says in one sentence that this processor is too old, before any other code of the program can meet an instruction it
// lacks. This file alone is compiled for the oldest x86-64; its constructor runs before all others.
// SPDX-License-Identifier: MIT
#if defined(__x86_64__)
#include <unistd.h>

namespace {

__attribute__((constructor(101))) void refuse_an_old_processor() {
  __builtin_cpu_init();
  const bool new_enough = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                          __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  if (new_enough) return;
  constexpr char kSentence[] =
      "terrace: this processor lacks AVX2, FMA or BMI2 (the level x86-64-v3); run it on a processor made since 2015.\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kSentence, sizeof kSentence - 1);
  _exit(2);
}

}  // namespace
#endif
