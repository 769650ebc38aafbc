// Choosing a handler by operand type: `by_integer<F>(type)` gives F<u32>::value for .u32 and so on, null where the
// instruction has no such form.
// SPDX-License-Identifier: MIT
#pragma once

#include "frontend/ptx/decode/decode.h"

namespace terrace::ptx {

/// .bN counts as unsigned.
template <template <class> class F>
Handler by_integer(Type type) {
  switch (type) {
    case Type::kU16:
    case Type::kB16:
      return F<u16>::value;
    case Type::kS16:
      return F<i16>::value;
    case Type::kU32:
    case Type::kB32:
      return F<u32>::value;
    case Type::kS32:
      return F<i32>::value;
    case Type::kU64:
    case Type::kB64:
      return F<u64>::value;
    case Type::kS64:
      return F<i64>::value;
    default:
      return nullptr;
  }
}

/// Signedness does not matter.
template <template <class> class F>
Handler by_width(Type type) {
  switch (bytes_of(type)) {
    case 2:
      return F<u16>::value;
    case 4:
      return F<u32>::value;
    case 8:
      return F<u64>::value;
    default:
      return nullptr;
  }
}

/// Sets the handler, or refuses the type.
inline void choose(Decoding& d, Handler handler, Type type) {
  if (handler == nullptr) d.refuse("type .{} is not supported by this instruction", type_name(type));
  d.inst.run = handler;
}

/// d = op(a), d = op(a, b), d = op(a, b, c), all of one type.
inline void unary_operands(Decoding& d, Type type) {
  d.expect_operands(2, 2);
  d.destination(kFieldD, 0, type);
  d.source(kFieldA, 1, type);
}
inline void binary_operands(Decoding& d, Type type) {
  d.expect_operands(3, 3);
  d.destination(kFieldD, 0, type);
  d.source(kFieldA, 1, type);
  d.source(kFieldB, 2, type);
}
inline void ternary_operands(Decoding& d, Type type) {
  d.expect_operands(4, 4);
  d.destination(kFieldD, 0, type);
  d.source(kFieldA, 1, type);
  d.source(kFieldB, 2, type);
  d.source(kFieldC, 3, type);
}

}  // namespace terrace::ptx
