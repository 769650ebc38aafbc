// write_protocol_seeds FOLDER: what fuzzing the protocol begins from, a file for each try.
// SPDX-License-Identifier: MIT
#include <fstream>

#include "fuzz/protocol_seeds.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int number = 0;
  std::vector<std::vector<terrace::u8>> seeds = terrace::cuda::protocol_seeds();
  for (auto& seed : terrace::cuda::framing_seeds()) seeds.push_back(std::move(seed));
  for (const auto& seed : seeds) {
    std::ofstream file(std::string(argv[1]) + "/seed_" + std::to_string(number++), std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
    if (!file) return 1;
  }
  return 0;
}
