// SPDX-License-Identifier: MIT
#include "frontend/user/npy.h"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>

namespace terrace::user {
namespace {

constexpr std::string_view kMagic{"\x93NUMPY", 6};
/// As NumPy calls the elements. It has no bf16: those are read and written as the 16 bits that they are.
constexpr std::array<std::string_view, 12> kTypes{"|i1", "|u1", "<i2", "<u2", "<i4", "<u4",
                                                  "<i8", "<u8", "<f4", "<f8", "<f2", "<u2"};
constexpr u64 kAlignment = 64;          // the elements begin at a multiple of it
constexpr u64 kMostHeader = 64 * 1024;  // that of an array with as many dimensions as NumPy allows is far shorter

/// What follows 'key': in the head, up to where the next key may begin.
std::optional<std::string_view> value_of(std::string_view head, std::string_view key) {
  const std::string quoted = fmt::format("'{}':", key);
  std::size_t at = head.find(quoted);
  if (at == head.npos) return std::nullopt;
  at = head.find_first_not_of(' ', at + quoted.size());
  return at == head.npos ? std::nullopt : std::optional(head.substr(at));
}

/// The elements of an array of this shape: (), (3,) or (3, 4).
std::optional<u64> elements_of(std::string_view shape) {
  if (!shape.starts_with('(')) return std::nullopt;
  shape.remove_prefix(1);
  u64 product = 1;
  while (true) {
    while (shape.starts_with(' ') || shape.starts_with(',')) shape.remove_prefix(1);
    if (shape.starts_with(')')) return product;
    u64 extent = 0;
    const auto [end, error] = std::from_chars(shape.data(), shape.data() + shape.size(), extent);
    if (error != std::errc{} || __builtin_mul_overflow(product, extent, &product)) return std::nullopt;
    shape.remove_prefix(static_cast<std::size_t>(end - shape.data()));
  }
}

}  // namespace

u64 read_npy_header(std::FILE* file, const std::string& path, Element type, u64 count, const Place& place) {
  const auto broken = [&] { input_error("{}: is not a .npy file that can be read; write it with numpy.save", path); };
  std::array<unsigned char, 12> start{};
  if (std::fread(start.data(), 1, 8, file) != 8 ||
      std::string_view(reinterpret_cast<const char*>(start.data()), 6) != kMagic)
    broken();
  const u64 length_bytes = start[6] == 1 ? 2 : 4;  // of version 2 and 3: 4
  if (start[6] < 1 || start[6] > 3 || std::fread(start.data() + 8, 1, length_bytes, file) != length_bytes) broken();
  u64 length = 0;
  for (u64 i = 0; i < length_bytes; ++i) length |= u64{start[8 + i]} << (8 * i);
  if (length > kMostHeader) broken();
  std::string head(length, ' ');
  if (std::fread(head.data(), 1, length, file) != length) broken();

  const auto descr = value_of(head, "descr"), order = value_of(head, "fortran_order"), shape = value_of(head, "shape");
  if (!descr || !order || !shape) broken();
  const std::string_view wanted = kTypes[static_cast<u8>(type)];
  const std::string_view has = descr->substr(0, descr->find_first_of(",}"));
  if (has != fmt::format("'{}'", wanted))
    place.refuse("is of type {} ('{}' in NumPy), but {} holds {}; convert it with astype",
                 kElements[static_cast<u8>(type)], wanted, path, printable(has));
  const std::optional<u64> holds = elements_of(*shape);
  if (!holds) broken();
  const bool several = shape->substr(0, shape->find(')')).find(", ") != shape->npos;  // dimensions
  if (several && order->starts_with("True"))
    place.refuse("needs its elements row by row, but {} holds them column by column; use numpy.ascontiguousarray",
                 path);
  if (*holds != count) place.refuse("has {} elements, but {} holds {}", count, path, *holds);
  return 8 + length_bytes + length;
}

std::string npy_header(Element type, u64 count) {
  std::string head =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", kTypes[static_cast<u8>(type)], count);
  const u64 before = kMagic.size() + 4;
  head.append(kAlignment - (before + head.size() + 1) % kAlignment, ' ');
  head += '\n';
  const u64 length = head.size();
  std::string all(kMagic);
  for (const u64 byte : {u64{1}, u64{0}, length & 0xff, length >> 8}) all += static_cast<char>(byte);
  return all + head;
}

}  // namespace terrace::user
