// A table of instructions with what each must compute: one row per opcode, type and modifiers. References are written
// from the PTX ISA in 128-bit integers and MPFR and share no code with the PTX machine. Rows run through the real
// reader and executor (ptx_opcode_test.cc), and the references themselves were compared with an H200.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/unit/float_reference.h"

namespace terrace::opcodes {

__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;

/// What an operand is: how its values are chosen, and how wide the register is that holds it.
struct Kind {
  enum Class { kUnsigned, kSigned, kBits, kFloat, kPacked, kPredicate, kAmount };
  Class cls;
  int bits;          // of the value
  const char* name;  // as PTX spells it
  const reference::Shape* shape = nullptr;

  int register_bits() const { return bits < 16 ? 16 : bits; }
  bool is_signed() const { return cls == kSigned; }
  /// The mathematical value of an integer kind.
  i128 value(u64 raw) const {
    const u64 masked = bits == 64 ? raw : raw & ((u64{1} << bits) - 1);
    const i128 wide = static_cast<i128>(masked);
    return is_signed() && ((masked >> (bits - 1)) & 1) != 0 ? wide - (i128{1} << bits) : wide;
  }
  /// Modulo 2^bits.
  u64 wrap(i128 x) const {
    const u64 low = static_cast<u64>(static_cast<u128>(x));
    return bits == 64 ? low : low & ((u64{1} << bits) - 1);
  }
  u64 clamp(i128 x) const {
    const i128 least = is_signed() ? -(i128{1} << (bits - 1)) : 0;
    const i128 most = (i128{1} << (is_signed() ? bits - 1 : bits)) - 1;
    return wrap(x < least ? least : (x > most ? most : x));
  }
};

inline constexpr Kind kU8{Kind::kUnsigned, 8, "u8"}, kS8{Kind::kSigned, 8, "s8"}, kU16{Kind::kUnsigned, 16, "u16"},
    kS16{Kind::kSigned, 16, "s16"}, kU32{Kind::kUnsigned, 32, "u32"}, kS32{Kind::kSigned, 32, "s32"},
    kU64{Kind::kUnsigned, 64, "u64"}, kS64{Kind::kSigned, 64, "s64"}, kB16{Kind::kBits, 16, "b16"},
    kB32{Kind::kBits, 32, "b32"}, kB64{Kind::kBits, 64, "b64"}, kF16{Kind::kFloat, 16, "f16", &reference::kF16},
    kBF16{Kind::kFloat, 16, "bf16", &reference::kBF16}, kF32{Kind::kFloat, 32, "f32", &reference::kF32},
    kF64{Kind::kFloat, 64, "f64", &reference::kF64}, kF16x2{Kind::kPacked, 32, "f16x2", &reference::kF16},
    kBF16x2{Kind::kPacked, 32, "bf16x2", &reference::kBF16}, kPred{Kind::kPredicate, 1, "pred"},
    kAmount{Kind::kAmount, 32, "u32"}, kU16x2{Kind::kBits, 32, "u16x2"}, kS16x2{Kind::kBits, 32, "s16x2"};

/// The registers a row's instruction may name: A B C E are its operands, D its result, X scratch of D's width, P a
/// predicate.
using Reference = std::function<u64(const u64* operands)>;

struct Row {
  std::string opcode;
  Kind result;
  std::vector<Kind> operands;
  Reference reference;
  std::string body = {};  // the statements, when they are not "opcode D, A, B, C;"
  double ulps = 0;        // an approximate result may be this many units in the last place away from the reference
  double absolute = 0;    // or this much
};
using Rows = std::vector<Row>;

Rows integer_rows();
Rows float_rows();
Rows half_rows();
Rows half_compare_rows();
Rows convert_rows();
Rows approx_rows();
Rows video_rows();

inline u64 one_bits(const reference::Shape& shape) {
  return static_cast<u64>(1 - shape.min_exponent) << (shape.precision - 1);
}
/// .sat on a float result.
inline u64 saturated(const reference::Shape& shape, u64 bits) {
  if (shape.nan(bits) || shape.negative(bits)) return 0;
  return bits > one_bits(shape) ? one_bits(shape) : bits;
}
/// Sign and magnitude as one integer: orders non-NaN floats, -0 before +0.
inline i64 float_order(const reference::Shape& shape, u64 bits) {
  const i64 magnitude = static_cast<i64>(shape.magnitude(bits));
  return shape.negative(bits) ? -magnitude - 1 : magnitude;
}

inline constexpr const char* kModes[] = {"rn", "rz", "rm", "rp"};

}  // namespace terrace::opcodes
