// The command line.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cstring>

#include "version.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    fmt::print("terrace {} (revision {}, {})\n", terrace::version(), terrace::revision(), terrace::compiler());
    return 0;
  }
  fmt::print(stderr, "terrace: --version is all there is so far.\n");
  return 2;
}
