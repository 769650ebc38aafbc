// A fat binary with one entry of PTX, as compilers embed them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "engine/types.h"

namespace terrace::cuda {

template <class T>
void put(std::vector<u8>& bytes, u64 at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

inline std::vector<u8> fat_binary(const std::string& payload, u64 flags = 0x11, u64 whole = 0) {
  std::vector<u8> bytes(16 + 64);
  put<u32>(bytes, 0, 0xBA55ED50);
  put<u16>(bytes, 4, 1);
  put<u16>(bytes, 6, 16);
  put<u64>(bytes, 8, 64 + payload.size());
  put<u16>(bytes, 16, 1);
  put<u32>(bytes, 20, 64);
  put<u64>(bytes, 24, payload.size());
  put<u32>(bytes, 32, static_cast<u32>(payload.size()));
  put<u32>(bytes, 44, 70);
  put<u64>(bytes, 56, flags);
  put<u64>(bytes, 72, whole);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

}  // namespace terrace::cuda
