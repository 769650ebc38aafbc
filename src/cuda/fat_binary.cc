// SPDX-License-Identifier: MIT
#include "cuda/fat_binary.h"

#include <zstd.h>

#include <cstring>

#include "engine/check.h"

namespace terrace::cuda {
namespace {

constexpr u32 kMagic = 0xBA55ED50;
constexpr u16 kPtxEntry = 1;
constexpr u64 kZstd = 0x8000, kLz4 = 0x2000;           // flags of an entry
constexpr u64 kMostTextBytes = u64{256} << 20;         // chosen: far above any module
constexpr u64 kContainerBytes = 16, kEntryBytes = 64;  // of the headers, at least

template <class T>
T field(std::span<const u8> bytes, u64 offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

[[noreturn]] void refuse(std::string_view why) {
  input_error("a fat binary of the program {}; build the program again", why);
}

std::string text_of(std::span<const u8> entry, u64 header) {
  const u64 flags = field<u64>(entry, 40), whole = field<u64>(entry, 56);
  const u32 compressed = field<u32>(entry, 16);
  std::span<const u8> payload = entry.subspan(header);
  if ((flags & (kZstd | kLz4)) == 0) return {reinterpret_cast<const char*>(payload.data()), payload.size()};
  if (compressed > payload.size()) refuse("is truncated");
  payload = payload.first(compressed);
  if (whole > kMostTextBytes) refuse("has PTX of an impossible size");
  if ((flags & kLz4) != 0) {
    std::optional<std::string> text = decompress_lz4(payload, whole);
    if (!text) refuse("has PTX that LZ4 cannot decompress");
    return *text;
  }
  std::string text(whole, '\0');
  const size_t count = ZSTD_decompress(text.data(), text.size(), payload.data(), payload.size());
  if (ZSTD_isError(count) || count != whole) refuse("has PTX that zstd cannot decompress");
  return text;
}

}  // namespace

std::optional<std::string> decompress_lz4(std::span<const u8> bytes, u64 size) {
  std::string out;
  out.reserve(size);
  size_t at = 0;
  // A length of 15 in a token goes on in the bytes that follow, up to the first that is not 255.
  const auto length = [&](u64 of_token) -> std::optional<u64> {
    if (of_token != 15) return of_token;
    for (u64 sum = of_token; at < bytes.size();) {
      const u8 more = bytes[at++];
      sum += more;
      if (more != 255) return sum;
    }
    return std::nullopt;
  };
  while (at < bytes.size()) {
    const u8 token = bytes[at++];
    const std::optional<u64> literals = length(token >> 4);
    if (!literals || *literals > bytes.size() - at || *literals > size - out.size()) return std::nullopt;
    out.append(reinterpret_cast<const char*>(bytes.data()) + at, *literals);
    at += *literals;
    if (at == bytes.size()) break;  // the last sequence has literals only
    if (bytes.size() - at < 2) return std::nullopt;
    const u64 back = u64{bytes[at]} | u64{bytes[at + 1]} << 8;
    at += 2;
    const std::optional<u64> copied = length(token & 15);
    if (!copied || back == 0 || back > out.size() || *copied + 4 > size - out.size()) return std::nullopt;
    // Byte by byte: what is copied may overlap what is written.
    for (u64 i = 0; i < *copied + 4; ++i) out.push_back(out[out.size() - back]);
  }
  if (out.size() != size) return std::nullopt;
  return out;
}

std::optional<std::string> ptx_of_fat_binary(std::span<const u8> bytes) {
  std::optional<std::string> newest;
  u32 newest_architecture = 0;
  if (bytes.size() < kContainerBytes) refuse("is truncated");
  if (field<u32>(bytes, 0) != kMagic) refuse("has no valid beginning");
  // Object files that were linked together may have their containers one behind the other.
  while (bytes.size() >= kContainerBytes && field<u32>(bytes, 0) == kMagic) {
    const u64 header = field<u16>(bytes, 6), size = field<u64>(bytes, 8);
    if (header < kContainerBytes || header > bytes.size() || size > bytes.size() - header) refuse("is truncated");
    std::span<const u8> entries = bytes.subspan(header, size);
    while (entries.size() >= kEntryBytes) {
      const u64 entry_header = field<u32>(entries, 4), payload = field<u64>(entries, 8);
      if (entry_header < kEntryBytes || entry_header > entries.size() || payload > entries.size() - entry_header)
        refuse("has an entry that is truncated");
      const u32 architecture = field<u32>(entries, 28);
      if (field<u16>(entries, 0) == kPtxEntry && (!newest || architecture > newest_architecture)) {
        newest = text_of(entries.first(entry_header + payload), entry_header);
        newest_architecture = architecture;
      }
      entries = entries.subspan(entry_header + payload);
    }
    bytes = bytes.subspan(header + size);
    if (newest) break;
  }
  // Padding behind the text is zero.
  if (newest) newest->resize(std::strlen(newest->c_str()));
  return newest;
}

}  // namespace terrace::cuda
