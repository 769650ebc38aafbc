// What the rows of the opcode table are tried on, and as what text: special and random operands, the same on every machine,
// in a kernel of one instruction.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/rng.h"
#include "tests/unit/ptx_harness.h"
#include "tests/unit/ptx_opcode_rows.h"

namespace terrace::opcodes {

inline u64 operand_of(Rng& rng, const Kind& kind) {
  const u64 integers[] = {0,   1, 2, 3, ~u64{0}, ~u64{1}, u64{1} << (kind.bits - 1), (u64{1} << (kind.bits - 1)) - 1,
                          0x55};
  switch (kind.cls) {
    case Kind::kFloat: {
      if (rng.below(4) != 0) return operand(rng, *kind.shape);
      // Around the limits of the integer types.
      const u64 bias = static_cast<u64>(1 - kind.shape->min_exponent);
      const u64 field = bias - 2 + rng.below(bias + 67 < 2 * bias ? 68 : bias);
      const u64 fraction = rng.below(3) == 0 ? 0 - rng.below(2) : rng.next();
      return (rng.below(2) != 0 ? kind.shape->sign() : 0) | field << (kind.shape->precision - 1) |
             (fraction & (kind.shape->min_normal() - 1));
    }
    case Kind::kPacked:
      return operand(rng, *kind.shape) << 16 | operand(rng, *kind.shape);
    case Kind::kAmount: {
      const u64 amounts[] = {0, 15, 16, 31, 32, 33, 63, 64, 255, 256, 0xffff'ffff};
      return rng.below(3) == 0 ? amounts[rng.below(11)] : rng.below(66);
    }
    default: {
      const u64 value = rng.below(3) == 0 ? integers[rng.below(9)] : rng.next() >> rng.below(64);
      return kind.wrap(static_cast<i128>(rng.below(4) == 0 ? 0 - value : value));
    }
  }
}

/// A row's statements in the harness's spelling: %d, %a, ..., with scratch registers declared.
inline ptx::Operation operation_of(const Row& row) {
  std::string text = row.body;
  if (text.empty()) {
    text = row.opcode + (row.result.cls == Kind::kPredicate ? " P" : " D");
    for (u32 i = 0; i < row.operands.size(); ++i) text += std::string(", ") + "ABCE"[i];
    text += ";";
  }
  const bool predicate = row.result.cls == Kind::kPredicate;
  std::string spelled = predicate ? "" : fmt::format(".reg .pred %P; .reg .b{} %X; ", row.result.register_bits());
  for (u64 i = 0; i < text.size(); ++i) {
    const auto letter = [&](u64 at) { return at < text.size() && (std::isalnum(text[at]) || text[at] == '_'); };
    const bool alone = (i == 0 || (!letter(i - 1) && text[i - 1] != '.')) && !letter(i + 1);
    const std::string_view names = "ABCEDXP";
    if (!alone || names.find(text[i]) == names.npos)
      spelled += text[i];
    else if (text[i] == 'P')
      spelled += predicate ? "%d" : "%P";
    else if (text[i] == 'X')
      spelled += "%X";
    else
      spelled += std::string("%") + static_cast<char>(std::tolower(text[i]));
  }
  const auto raw = [](const Kind& kind) {
    return kind.cls == Kind::kPredicate ? std::string("pred") : fmt::format("b{}", kind.bits);
  };
  ptx::Operation operation{spelled, raw(row.result), {}};
  for (const Kind& kind : row.operands) operation.operands.push_back(raw(kind));
  return operation;
}

inline std::vector<std::array<u64, 4>> operand_tuples(const Row& row, const std::string& stream, u32 count,
                                                      u64 seed = 1) {
  Rng rng(seed, stream + row.opcode);
  std::vector<std::array<u64, 4>> values(count);
  for (auto& tuple : values)
    for (u32 i = 0; i < row.operands.size(); ++i) tuple[i] = operand_of(rng, row.operands[i]);
  return values;
}

/// Whether an approximate result is near enough: same class and sign, and few units away.
inline bool near(const Row& row, u64 actual, u64 expected) {
  const reference::Shape& shape = *row.result.shape;
  if (shape.magnitude(expected) > shape.infinity() || shape.negative(actual) != shape.negative(expected)) return false;
  const u64 distance = actual > expected ? actual - expected : expected - actual;
  return static_cast<double>(distance) <= row.ulps;
}

}  // namespace terrace::opcodes
