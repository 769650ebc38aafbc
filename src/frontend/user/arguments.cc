// SPDX-License-Identifier: MIT
#include "frontend/user/arguments.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace terrace::user {
namespace {

void add_bytes(std::vector<u8>& to, const void* from, u64 bytes) {
  const auto* first = static_cast<const u8*>(from);
  to.insert(to.end(), first, first + bytes);
}

u64 up_to(u64 bytes, u64 align) {
  return (bytes + align - 1) / align * align;
}

Argument address(const NamedBuffer& buffer, u64 offset) {
  Argument argument{{std::vector<u8>(8, 0), KernelArgument::Kind::kWhole}, 8, {}};
  argument.addresses.push_back({0, buffer.number, offset * bytes_of(buffer.type)});
  return argument;
}

/// { buffer = NAME, offset = elements }.
Argument inside_buffer(const Tree& tree, const Place& place, const FindBuffer& find) {
  u64 offset = 0;
  const std::string* name = nullptr;
  for (const auto& [key, value] : tree.members()) {
    if (key == "buffer")
      name = std::get_if<std::string>(&value.value);
    else if (key == "offset")
      offset = number<u64>(value, {place.file, place.key + ".offset", place.line});
    else
      place.refuse("has the unknown key {} beside buffer; it may have offset", key);
  }
  if (name == nullptr) place.refuse("needs the name of a buffer, as in {{ buffer = \"x\", offset = 128 }}");
  const NamedBuffer buffer = find(*name, place);
  if (offset > buffer.count) place.refuse("begins at element {} of \"{}\", which has {}", offset, *name, buffer.count);
  return address(buffer, offset);
}

Argument numbers(Element type, const Tree& tree, const Place& place) {
  return with_type(type, [&](auto zero) {
    using T = decltype(zero);
    Argument argument;
    argument.align = sizeof(T);
    if (tree.is_list()) {  // an array is of no one kind of number to PTX, but bytes
      for (const Tree& item : tree.items()) {
        const T value = number<T>(item, place);
        add_bytes(argument.value.bytes, &value, sizeof value);
      }
      if (tree.items().empty()) place.refuse("is an empty array");
    } else {
      const T value = number<T>(tree, place);
      add_bytes(argument.value.bytes, &value, sizeof value);
      argument.value.kind = kIsReal<T> ? KernelArgument::Kind::kFloat : KernelArgument::Kind::kWhole;
    }
    return argument;
  });
}

Argument members(const Tree& tree, const Place& place, const FindBuffer& find) {
  if (!tree.is_list() || tree.items().empty()) place.refuse("needs a list of members in struct, not {}", tree.text());
  Argument all;
  u64 i = 0;
  for (const Tree& item : tree.items()) {
    const u32 line = item.line != 0 ? item.line : place.line;
    const Argument member = read_argument(item, {place.file, fmt::format("{}.struct[{}]", place.key, i++), line}, find);
    const u64 at = up_to(all.value.bytes.size(), member.align);
    all.value.bytes.resize(at, 0);
    add_bytes(all.value.bytes, member.value.bytes.data(), member.value.bytes.size());
    all.align = std::max(all.align, member.align);
    for (const Address& its : member.addresses) all.addresses.push_back({at + its.at, its.buffer, its.offset});
  }
  all.value.bytes.resize(up_to(all.value.bytes.size(), all.align), 0);
  return all;
}

}  // namespace

Argument read_argument(const Tree& tree, const Place& place, const FindBuffer& find) {
  if (const auto* name = std::get_if<std::string>(&tree.value)) return address(find(*name, place), 0);
  if (!tree.is_table()) {
    const bool real = std::holds_alternative<double>(tree.value);
    return numbers(real ? Element::kF32 : Element::kI32, tree, place);
  }
  if (tree.find("buffer") != nullptr) return inside_buffer(tree, place, find);
  if (tree.members().size() != 1) place.refuse("must be one type with one number, as in {{ f64 = 0.5 }}");
  const auto& [type, value] = tree.members().front();
  if (type == "struct") return members(value, place, find);
  const auto found = std::find(kElements.begin(), kElements.end(), type);
  if (found == kElements.end())
    place.refuse("has the unknown type {}; the types are {} and struct", type, fmt::join(kElements, ", "));
  return numbers(static_cast<Element>(found - kElements.begin()), value, place);
}

}  // namespace terrace::user
