// silicon: two measurements on a real NVIDIA GPU (docs/silicon.md). Opens the driver (libcuda.so.1) at run time.
//   silicon scaling FOLDER OUT.json [WORKLOAD ...]   time by SM count (CD-search, Figure 9)
//   silicon multiplex FOLDER OUT.json [MOST]         processes that share the GPU in turn (MASK, Figure 1)
// FOLDER holds the modules: silicon.ptx and those of the workloads.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "engine/check.h"
#include "silicon.h"

namespace {

using namespace terrace;

int act(const std::vector<std::string>& words) {
  if (words.size() >= 3 && words[0] == "scaling") {
    silicon::measure_scaling(words[1], words[2], {words.begin() + 3, words.end()});
    return 0;
  }
  if ((words.size() == 3 || words.size() == 4) && words[0] == "multiplex") {
    const int most = words.size() == 4 ? std::atoi(words[3].c_str()) : 10;
    if (most < 1 || most > 64) input_error("the number of processes must be from 1 to 64, not {}", words[3]);
    silicon::measure_multiplexing(words[1], words[2], static_cast<unsigned>(most));
    return 0;
  }
  input_error("usage: silicon scaling FOLDER OUT.json [WORKLOAD ...] | multiplex FOLDER OUT.json [MOST]");
}

}  // namespace

int main(int count, char** words) {
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);  // what is known is said at once
  // A kernel that is loaded when first launched would wait for the shadow kernel, which waits for it.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  try {
    return act({words + 1, words + count});
  } catch (const std::exception& error) {
    fmt::print(stderr, "silicon: {}\n", error.what());
    return 2;
  }
}
