// What compilers' output says to the runtime library when a program begins, for programs that say it by hand.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

struct dim3 {
  unsigned x, y, z;
};
extern "C" {
void** __cudaRegisterFatBinary(const void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaRegisterFunction(void**, const void*, const char*, const char*, int, void*, void*, void*, void*, int*);
int cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, void*);
int cudaDeviceSynchronize();
}

template <class T>
void put(std::string& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// A container with PTX.
inline std::string fat_binary(std::string text) {
  text.resize((text.size() + 8) / 8 * 8);
  std::string bytes(16 + 64, '\0');
  put<std::uint32_t>(bytes, 0, 0xBA55ED50);
  put<std::uint16_t>(bytes, 4, 1);
  put<std::uint16_t>(bytes, 6, 16);
  put<std::uint64_t>(bytes, 8, 64 + text.size());
  put<std::uint16_t>(bytes, 16, 1);
  put<std::uint32_t>(bytes, 16 + 4, 64);
  put<std::uint64_t>(bytes, 16 + 8, text.size());
  put<std::uint32_t>(bytes, 16 + 28, 75);
  return bytes + text;
}
