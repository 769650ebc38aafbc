// Wraps PTX as compilers do for a CUDA program, so that the test programs need no tool of NVIDIA's:
//   make_fat_binary IN.ptx OUT.fatbin plain|lz4|zstd
// SPDX-License-Identifier: MIT
#include <zstd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace {

template <class T>
void put(std::string& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// One sequence that copies nothing back.
std::string lz4(const std::string& text) {
  std::string bytes(1, static_cast<char>(text.size() < 15 ? text.size() << 4 : 0xf0));
  if (text.size() >= 15) {
    std::size_t rest = text.size() - 15;
    for (; rest >= 255; rest -= 255) bytes.push_back(static_cast<char>(255));
    bytes.push_back(static_cast<char>(rest));
  }
  return bytes + text;
}

std::string zstd(const std::string& text) {
  std::string bytes(ZSTD_compressBound(text.size()), '\0');
  bytes.resize(ZSTD_compress(bytes.data(), bytes.size(), text.data(), text.size(), 3));
  return bytes;
}

/// The two numbers behind a word of the text, such as `.version 7.8`; the second may be missing.
void read_numbers(const std::string& text, const char* behind, unsigned& first, unsigned& second) {
  const std::size_t at = text.find(behind);
  if (at != std::string::npos) std::sscanf(text.c_str() + at + std::strlen(behind), "%u.%u", &first, &second);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "usage: make_fat_binary IN.ptx OUT.fatbin plain|lz4|zstd\n"), 2;
  std::ifstream in(argv[1], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}}, how = argv[3];
  std::string payload = how == "lz4" ? lz4(text) : how == "zstd" ? zstd(text) : text;
  const std::uint32_t compressed = how == "plain" ? 0 : static_cast<std::uint32_t>(payload.size());
  payload.resize((payload.size() + 7) / 8 * 8);
  unsigned major = 0, minor = 0, architecture = 0, none = 0;
  read_numbers(text, ".version ", major, minor);
  read_numbers(text, ".target sm_", architecture, none);
  // As NVIDIA's `fatbinary` writes it, so that its runtime library takes the programs, too.
  std::string entry(80, '\0');
  put<std::uint16_t>(entry, 0, 1);
  put<std::uint16_t>(entry, 2, 0x101);
  put<std::uint32_t>(entry, 4, 80);
  put<std::uint64_t>(entry, 8, payload.size());
  put<std::uint32_t>(entry, 16, compressed);
  put<std::uint32_t>(entry, 20, 64);
  put<std::uint16_t>(entry, 24, static_cast<std::uint16_t>(minor));
  put<std::uint16_t>(entry, 26, static_cast<std::uint16_t>(major));
  put<std::uint32_t>(entry, 28, architecture);
  put<std::uint64_t>(entry, 40, 0x11 | (how == "zstd" ? 0x8000 : how == "lz4" ? 0x2000 : 0));
  put<std::uint64_t>(entry, 56, how == "plain" ? 0 : text.size());
  put<std::uint64_t>(entry, 64, 72);
  entry += payload;
  std::string container(16, '\0');
  put<std::uint32_t>(container, 0, 0xBA55ED50);
  put<std::uint16_t>(container, 4, 1);
  put<std::uint16_t>(container, 6, 16);
  put<std::uint64_t>(container, 8, entry.size());
  std::ofstream(argv[2], std::ios::binary) << container << entry;
  return 0;
}
