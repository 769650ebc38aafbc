// PTX's operand types and state spaces, and their spellings.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "engine/types.h"

namespace terrace::ptx {

enum class Type : u8 {
  kNone,
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kB128,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kF16x2,
  kBf16,
  kBf16x2,
  kF32,
  kF64,
  kU16x2,
  kS16x2
};

struct TypeFacts {
  std::string_view name;
  u8 bytes;
  char family;  // p predicate, b bits, u unsigned, s signed, f floating point, h packed halves, w packed integers
};
inline constexpr std::array<TypeFacts, 23> kTypeFacts{
    {{"", 0, '-'},       {"pred", 0, 'p'}, {"b8", 1, 'b'},  {"b16", 2, 'b'},   {"b32", 4, 'b'},   {"b64", 8, 'b'},
     {"b128", 16, 'b'},  {"u8", 1, 'u'},   {"u16", 2, 'u'}, {"u32", 4, 'u'},   {"u64", 8, 'u'},   {"s8", 1, 's'},
     {"s16", 2, 's'},    {"s32", 4, 's'},  {"s64", 8, 's'}, {"f16", 2, 'f'},   {"f16x2", 4, 'h'}, {"bf16", 2, 'f'},
     {"bf16x2", 4, 'h'}, {"f32", 4, 'f'},  {"f64", 8, 'f'}, {"u16x2", 4, 'w'}, {"s16x2", 4, 'w'}}};

constexpr const TypeFacts& facts(Type type) {
  return kTypeFacts[static_cast<u8>(type)];
}
constexpr std::string_view type_name(Type type) {
  return facts(type).name;
}
constexpr u32 bytes_of(Type type) {
  return facts(type).bytes;
}
constexpr bool is_float(Type type) {
  return facts(type).family == 'f';
}
constexpr bool is_signed(Type type) {
  return facts(type).family == 's';
}
constexpr bool is_integer(Type type) {
  return facts(type).family == 'u' || facts(type).family == 's' || facts(type).family == 'b';
}
/// How many 32-bit rows a register of this type takes: none for predicates, which live in lane masks.
constexpr u32 rows_of(Type type) {
  return type == Type::kPred ? 0 : (bytes_of(type) + 3) / 4;
}

constexpr std::optional<Type> parse_type(std::string_view name) {
  for (std::size_t t = 1; t < kTypeFacts.size(); ++t)
    if (kTypeFacts[t].name == name) return static_cast<Type>(t);
  return std::nullopt;
}

enum class Space : u8 { kGeneric, kReg, kParam, kLocal, kShared, kGlobal, kConst };

constexpr std::optional<Space> parse_space(std::string_view name) {
  if (name == "param") return Space::kParam;
  if (name == "local") return Space::kLocal;
  if (name == "shared") return Space::kShared;
  if (name == "global") return Space::kGlobal;
  if (name == "const") return Space::kConst;
  return std::nullopt;
}

}  // namespace terrace::ptx
