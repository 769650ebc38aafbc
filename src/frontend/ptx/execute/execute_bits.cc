// Logic, shifts, bit fields, permutes and dot products.
// SPDX-License-Identifier: MIT
#include "frontend/ptx/arith/integer.h"
#include "frontend/ptx/execute/execution.h"
#include "frontend/ptx/execute/select_type.h"

namespace terrace::ptx {
namespace {

#define TERRACE_LOGIC(Name, expression)                     \
  template <class T>                                        \
  struct Name {                                             \
    static T apply(T a, T b) {                              \
      return static_cast<T>(expression);                    \
    }                                                       \
    static constexpr Handler value = binary<Name, T, T>;    \
  };                                                        \
  void Name##_predicate(Execution& x, const Inst& i) {      \
    const u64 a = x.predicates[i.a], b = x.predicates[i.b]; \
    x.write_predicate(i.d, expression);                     \
  }
TERRACE_LOGIC(And, a& b)
TERRACE_LOGIC(Or, a | b)
TERRACE_LOGIC(Xor, a ^ b)
#undef TERRACE_LOGIC

template <class T>
struct Not {
  static T apply(T a) { return static_cast<T>(~a); }
  static constexpr Handler value = unary<Not, T, T>;
};
void not_predicate(Execution& x, const Inst& i) {
  x.write_predicate(i.d, ~x.predicates[i.a]);
}
template <class T>
struct Cnot {
  static T apply(T a) { return a == 0 ? T(1) : T(0); }
  static constexpr Handler value = unary<Cnot, T, T>;
};

template <class T>
struct Shl {
  static T apply(T a, u32 by) { return shl<T>(a, by); }
  static constexpr Handler value = binary<Shl, T, T, u32>;
};
template <class T>
struct Shr {
  static T apply(T a, u32 by) { return shr<T>(a, by); }
  static constexpr Handler value = binary<Shr, T, T, u32>;
};
template <bool kLeft, bool kWrap>
struct FunnelShift {
  static u32 apply(u32 low, u32 high, u32 by) {
    return kLeft ? shf_l<kWrap>(low, high, by) : shf_r<kWrap>(low, high, by);
  }
  static constexpr Handler value = ternary<FunnelShift, u32, u32>;
};

#define TERRACE_BITS(Name, R, expression)               \
  template <class T>                                    \
  struct Name {                                         \
    static R apply(T a) {                               \
      return expression;                                \
    }                                                   \
    static constexpr Handler value = unary<Name, R, T>; \
  };
TERRACE_BITS(Clz, u32, clz(a))
TERRACE_BITS(Popc, u32, popc(a))
TERRACE_BITS(Bfind, u32, bfind(a))
TERRACE_BITS(BfindShift, u32, bfind_shiftamt(a))
TERRACE_BITS(Brev, T, brev(a))
#undef TERRACE_BITS

template <template <class> class F>
Handler by_word(Type type) {
  switch (type) {
    case Type::kB32:
    case Type::kU32:
      return F<u32>::value;
    case Type::kB64:
    case Type::kU64:
      return F<u64>::value;
    default:
      return nullptr;
  }
}
template <template <class> class F>
Handler by_signed_word(Type type) {
  if (type == Type::kS32) return F<i32>::value;
  if (type == Type::kS64) return F<i64>::value;
  return by_word<F>(type);
}

template <class T>
struct Bfe {
  static T apply(T a, u32 position, u32 length) { return bfe<T>(a, position, length); }
  static constexpr Handler value = ternary<Bfe, T, T, u32, u32>;
};
/// bfi has four operands: the length is in e.
template <class T>
void run_bfi(Execution& x, const Inst& i) {
  const auto* a = x.src<T>(i.a);
  const auto* b = x.src<T>(i.b);
  const auto* position = x.src<u32>(i.c);
  const auto* length = x.src<u32>(i.e);
  x.write<T>(i.d, [=](Lane lane) { return bfi<T>(a[lane], b[lane], position[lane], length[lane]); });
}
template <bool kWrap>
struct Bmsk {
  static u32 apply(u32 position, u32 length) { return bmsk<kWrap>(position, length); }
  static constexpr Handler value = binary<Bmsk, u32, u32>;
};
struct Fns {
  static constexpr bool kPerLane = true;
  static u32 apply(u32 mask, u32 base, i32 offset) { return fns(mask, base, offset); }
};

void run_lop3(Execution& x, const Inst& i) {
  const auto* a = x.src<u32>(i.a);
  const auto* b = x.src<u32>(i.b);
  const auto* c = x.src<u32>(i.c);
  const u32 table = static_cast<u32>(i.imm);
  x.write<u32>(i.d, [=](Lane lane) { return lop3(a[lane], b[lane], c[lane], table); });
}

template <Permute P>
struct Prmt {
  static u32 apply(u32 a, u32 b, u32 c) { return prmt<P>(a, b, c); }
  static constexpr Handler value = ternary<Prmt, u32, u32>;
};
template <bool kA, bool kB>
struct Dp4a {
  static u32 apply(u32 a, u32 b, u32 c) { return dp4a<kA, kB>(a, b, c); }
  static constexpr Handler value = ternary<Dp4a, u32, u32>;
};
template <bool kA, bool kB, bool kHigh>
struct Dp2a {
  static u32 apply(u32 a, u32 b, u32 c) { return dp2a<kA, kB, kHigh>(a, b, c); }
  static constexpr Handler value = ternary<Dp2a, u32, u32>;
};
template <bool kA, bool kB>
Handler dot_product(bool four, bool high) {
  if (four) return Dp4a<kA, kB>::value;
  return high ? Dp2a<kA, kB, true>::value : Dp2a<kA, kB, false>::value;
}

void decode_predicate_logic(Decoding& d) {
  const bool unary_form = d.statement.opcode == "not";
  d.expect_operands(unary_form ? 2 : 3, unary_form ? 2 : 3);
  if (!d.is_predicate(d.operand(0))) d.refuse("the result must be a predicate register");
  d.predicate_destination(kFieldD, d.operand(0).index);
  d.predicate_source(kFieldA, d.operand(1));
  if (!unary_form) d.predicate_source(kFieldB, d.operand(2));
  if (d.inst.flags & kNegateC) d.refuse("negated operands are not supported here");
  d.inst.run = unary_form                    ? not_predicate
               : d.statement.opcode == "and" ? And_predicate
               : d.statement.opcode == "or"  ? Or_predicate
                                             : Xor_predicate;
}

}  // namespace

void decode_logic(Decoding& d) {
  const Type type = d.expect_type();
  if (type == Type::kPred) return decode_predicate_logic(d);
  if (d.statement.opcode == "not") {
    unary_operands(d, type);
    return choose(d, by_width<Not>(type), type);
  }
  binary_operands(d, type);
  choose(d,
         d.statement.opcode == "and"  ? by_width<And>(type)
         : d.statement.opcode == "or" ? by_width<Or>(type)
                                      : by_width<Xor>(type),
         type);
}

void decode_cnot(Decoding& d) {
  const Type type = d.expect_type();
  unary_operands(d, type);
  choose(d, by_width<Cnot>(type), type);
}

void decode_shift(Decoding& d) {
  const Type type = d.expect_type();
  d.expect_operands(3, 3);
  d.destination(kFieldD, 0, type);
  d.source(kFieldA, 1, type);
  d.source(kFieldB, 2, Type::kU32);
  choose(d, d.statement.opcode == "shl" ? by_width<Shl>(type) : by_integer<Shr>(type), type);
}

void decode_funnel_shift(Decoding& d) {
  const int direction = d.take_any({"l", "r"});
  const int amount = d.take_any({"wrap", "clamp"});
  const Type type = d.expect_type();
  if (direction < 0 || amount < 0 || type != Type::kB32) d.refuse("needs .l or .r, .wrap or .clamp, and .b32");
  ternary_operands(d, type);
  d.inst.run = direction == 0 ? (amount == 0 ? FunnelShift<true, true>::value : FunnelShift<true, false>::value)
                              : (amount == 0 ? FunnelShift<false, true>::value : FunnelShift<false, false>::value);
}

void decode_bits(Decoding& d) {
  const auto opcode = d.statement.opcode;
  const bool shift = d.take("shiftamt");
  const Type type = d.expect_type();
  d.expect_operands(2, 2);
  d.destination(kFieldD, 0, opcode == "brev" ? type : Type::kU32);
  d.source(kFieldA, 1, type);
  choose(d,
         opcode == "clz"    ? by_word<Clz>(type)
         : opcode == "popc" ? by_word<Popc>(type)
         : opcode == "brev" ? by_word<Brev>(type)
         : shift            ? by_signed_word<BfindShift>(type)
                            : by_signed_word<Bfind>(type),
         type);
}

void decode_bit_field(Decoding& d) {
  const auto opcode = d.statement.opcode;
  const int amount = opcode == "bmsk" ? d.take_any({"wrap", "clamp"}) : 0;
  const Type type = d.expect_type();
  if (opcode == "bmsk") {
    binary_operands(d, Type::kB32);
    d.inst.run = amount == 0 ? Bmsk<true>::value : Bmsk<false>::value;
  } else if (opcode == "fns") {
    ternary_operands(d, Type::kB32);
    d.inst.run = ternary<Fns, u32, u32, u32, i32>;
  } else if (opcode == "bfe") {
    d.expect_operands(4, 4);
    d.destination(kFieldD, 0, type);
    d.source(kFieldA, 1, type);
    d.source(kFieldB, 2, Type::kU32);
    d.source(kFieldC, 3, Type::kU32);
    choose(d, by_signed_word<Bfe>(type), type);
  } else {
    d.expect_operands(5, 5);
    d.destination(kFieldD, 0, type);
    d.source(kFieldA, 1, type);
    d.source(kFieldB, 2, type);
    d.source(kFieldC, 3, Type::kU32);
    d.source(kFieldE, 4, Type::kU32);
    choose(d, type == Type::kB32 ? run_bfi<u32> : type == Type::kB64 ? run_bfi<u64> : nullptr, type);
  }
}

void decode_lop3(Decoding& d) {
  if (d.take("and") || d.take("or")) d.refuse("the form with a predicate result is not supported; use setp");
  const Type type = d.expect_type();
  d.expect_operands(5, 5);
  d.destination(kFieldD, 0, type);
  d.source(kFieldA, 1, type);
  d.source(kFieldB, 2, type);
  d.source(kFieldC, 3, type);
  d.inst.imm = d.immediate(d.operand(4), "the table");
  choose(d, type == Type::kB32 ? run_lop3 : nullptr, type);
}

void decode_prmt(Decoding& d) {
  const Type type = d.expect_type();
  ternary_operands(d, type);
  static constexpr Handler kModes[] = {Prmt<Permute::kForward4>::value,   Prmt<Permute::kBackward4>::value,
                                       Prmt<Permute::kReplicate8>::value, Prmt<Permute::kEdgeLeft>::value,
                                       Prmt<Permute::kEdgeRight>::value,  Prmt<Permute::kReplicate16>::value};
  const int mode = d.take_any({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  choose(d, type != Type::kB32 ? nullptr : mode < 0 ? Prmt<Permute::kDefault>::value : kModes[mode], type);
}

void decode_dot_product(Decoding& d) {
  const bool four = d.statement.opcode == "dp4a";
  const int part = four ? 0 : d.take_any({"lo", "hi"});
  if (part < 0) d.refuse("needs .lo or .hi");
  const Type a = d.expect_type(), b = d.expect_type();
  if (bytes_of(a) != 4 || bytes_of(b) != 4) d.refuse("needs .u32 or .s32 operands");
  ternary_operands(d, Type::kB32);
  const bool high = part == 1;
  d.inst.run = is_signed(a)
                   ? (is_signed(b) ? dot_product<true, true>(four, high) : dot_product<true, false>(four, high))
                   : (is_signed(b) ? dot_product<false, true>(four, high) : dot_product<false, false>(four, high));
}

}  // namespace terrace::ptx
