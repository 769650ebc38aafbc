// Integer arithmetic. What each operation computes is in arith/integer.h; here it meets operand types.
// SPDX-License-Identifier: MIT
#include <utility>

#include "frontend/ptx/arith/integer.h"
#include "frontend/ptx/execute/execution.h"
#include "frontend/ptx/execute/select_type.h"

namespace terrace::ptx {
namespace {

// An operation for every integer type T, and its handler.
#define TERRACE_BINARY(Name, per_lane, expression)       \
  struct Name {                                          \
    static constexpr bool kPerLane = per_lane;           \
    template <class T>                                   \
    static T apply(T a, T b) {                           \
      return static_cast<T>(expression);                 \
    }                                                    \
  };                                                     \
  template <class T>                                     \
  struct Name##Handler {                                 \
    static constexpr Handler value = binary<Name, T, T>; \
  };
TERRACE_BINARY(Add, false, int_add(a, b))
TERRACE_BINARY(Sub, false, int_sub(a, b))
TERRACE_BINARY(MulLo, false, mul_lo(a, b))
TERRACE_BINARY(MulHi, false, mul_hi(a, b))
TERRACE_BINARY(Min, false, a < b ? a : b)
TERRACE_BINARY(Max, false, a < b ? b : a)
TERRACE_BINARY(Div, true, int_div(a, b))
TERRACE_BINARY(Rem, true, int_rem(a, b))
#undef TERRACE_BINARY

/// Two 16-bit values in a register, each on its own.
template <class Op, class T>
struct Packed {
  static u32 apply(u32 a, u32 b) {
    const T low = Op::apply(static_cast<T>(a), static_cast<T>(b));
    const T high = Op::apply(static_cast<T>(a >> 16), static_cast<T>(b >> 16));
    return u32{static_cast<u16>(high)} << 16 | static_cast<u16>(low);
  }
};
template <class Op>
Handler packed_handler(Type type) {
  return type == Type::kS16x2 ? binary<Packed<Op, i16>, u32, u32> : binary<Packed<Op, u16>, u32, u32>;
}
/// .relu: a negative result becomes 0.
template <class Op>
struct Relu {
  template <class T>
  static T apply(T a, T b) {
    const T result = Op::apply(a, b);
    return result < 0 ? T(0) : result;
  }
};

struct AddSat {
  static i32 apply(i32 a, i32 b) { return add_sat(a, b); }
};
struct SubSat {
  static i32 apply(i32 a, i32 b) { return sub_sat(a, b); }
};
struct MulWide {
  template <class T>
  static auto apply(T a, T b) {
    return mul_wide(a, b);
  }
};
template <class T>
struct MadLo {
  static T apply(T a, T b, T c) { return int_add(mul_lo(a, b), c); }
  static constexpr Handler value = ternary<MadLo<T>, T, T>;
};
template <class T>
struct MadHi {
  static T apply(T a, T b, T c) { return int_add(mul_hi(a, b), c); }
  static constexpr Handler value = ternary<MadHi<T>, T, T>;
};
struct MadWide {
  template <class T, class W>
  static W apply(T a, T b, W c) {
    return int_add(static_cast<W>(mul_wide(a, b)), c);
  }
};
struct MadHiSat {
  static i32 apply(i32 a, i32 b, i32 c) { return mad_hi_sat(a, b, c); }
};
template <class T>
struct Sad {
  static T apply(T a, T b, T c) { return sad(a, b, c); }
  static constexpr Handler value = ternary<Sad<T>, T, T>;
};
template <class T>
struct Neg {
  static T apply(T a) { return int_neg(a); }
  static constexpr Handler value = unary<Neg<T>, T, T>;
};
template <class T>
struct Abs {
  static T apply(T a) { return int_abs(static_cast<std::make_signed_t<T>>(a)); }
  static constexpr Handler value = unary<Abs<T>, T, T>;
};

template <class T, bool kHigh>
struct Mul24 {
  static T apply(T a, T b) { return kHigh ? mul24_hi(a, b) : mul24_lo(a, b); }
  static constexpr Handler value = binary<Mul24, T, T>;
};
template <class T, bool kHigh>
struct Mad24 {
  static T apply(T a, T b, T c) { return int_add(kHigh ? mul24_hi(a, b) : mul24_lo(a, b), c); }
  static constexpr Handler value = ternary<Mad24, T, T>;
};
struct Mad24HiSat {
  static i32 apply(i32 a, i32 b, i32 c) { return mad24_hi_sat(a, b, c); }
};

Handler mul_wide_handler(Type type) {
  switch (type) {
    case Type::kU16:
      return binary<MulWide, u32, u16>;
    case Type::kS16:
      return binary<MulWide, i32, i16>;
    case Type::kU32:
      return binary<MulWide, u64, u32>;
    case Type::kS32:
      return binary<MulWide, i64, i32>;
    default:
      return nullptr;
  }
}
Handler mad_wide_handler(Type type) {
  switch (type) {
    case Type::kU16:
      return ternary<MadWide, u32, u16, u16, u32>;
    case Type::kS16:
      return ternary<MadWide, i32, i16, i16, i32>;
    case Type::kU32:
      return ternary<MadWide, u64, u32, u32, u64>;
    case Type::kS32:
      return ternary<MadWide, i64, i32, i32, i64>;
    default:
      return nullptr;
  }
}
Type widened(Type type) {
  return bytes_of(type) == 2 ? Type::kU32 : Type::kU64;
}

// The carry chain. `mode`: bit 0 reads the carry, bit 1 writes it.
constexpr u8 kReadsCarry = 1, kWritesCarry = 2;

template <class T, class F>
void carry_chain(Execution& x, const Inst& i, F&& f) {
  u64 carries = x.warp.carry;
  x.write_each<T>(i.d, [&](u32 lane) {
    const bool in = (i.mode & kReadsCarry) != 0 && ((x.warp.carry >> lane) & 1) != 0;
    bool out = false;
    const T result = f(lane, in, out);
    carries = out ? carries | (u64{1} << lane) : carries & ~(u64{1} << lane);
    return result;
  });
  if (i.mode & kWritesCarry) x.warp.carry = carries;
}
template <class T, bool kSubtract>
void run_add_carry(Execution& x, const Inst& i) {
  const auto* a = x.src<T>(i.a);
  const auto* b = x.src<T>(i.b);
  carry_chain<T>(x, i, [=](u32 lane, bool in, bool& out) {
    return kSubtract ? sub_borrow<T>(a[lane], b[lane], in, out) : add_carry<T>(a[lane], b[lane], in, out);
  });
}
/// T's signedness only matters for the high half of the product.
template <class T, bool kHigh>
void run_mad_carry(Execution& x, const Inst& i) {
  using U = std::make_unsigned_t<T>;
  const auto* a = x.src<T>(i.a);
  const auto* b = x.src<T>(i.b);
  const auto* c = x.src<T>(i.c);
  carry_chain<U>(x, i, [=](u32 lane, bool in, bool& out) {
    const T p = static_cast<T>(a[lane]), q = static_cast<T>(b[lane]);
    return add_carry<U>(static_cast<U>(kHigh ? mul_hi(p, q) : mul_lo(p, q)), c[lane], in, out);
  });
}

void decode_add_carry(Decoding& d, bool subtract, bool reads, bool writes) {
  const Type type = d.expect_type();
  binary_operands(d, type);
  d.inst.mode = static_cast<u8>((reads ? kReadsCarry : 0) | (writes ? kWritesCarry : 0));
  const bool wide = bytes_of(type) == 8;
  if (!is_integer(type) || bytes_of(type) < 4) choose(d, nullptr, type);
  d.inst.run = subtract ? (wide ? run_add_carry<u64, true> : run_add_carry<u32, true>)
                        : (wide ? run_add_carry<u64, false> : run_add_carry<u32, false>);
}

void decode_mad_carry(Decoding& d, bool reads, bool writes) {
  const Type type = d.expect_type();
  const int part = d.take_any({"lo", "hi"});
  if (part < 0) d.refuse("needs .lo or .hi");
  ternary_operands(d, type);
  d.inst.mode = static_cast<u8>((reads ? kReadsCarry : 0) | (writes ? kWritesCarry : 0));
  const bool high = part == 1;
  switch (type) {
    case Type::kU32:
      d.inst.run = high ? run_mad_carry<u32, true> : run_mad_carry<u32, false>;
      break;
    case Type::kS32:
      d.inst.run = high ? run_mad_carry<i32, true> : run_mad_carry<i32, false>;
      break;
    case Type::kU64:
      d.inst.run = high ? run_mad_carry<u64, true> : run_mad_carry<u64, false>;
      break;
    case Type::kS64:
      d.inst.run = high ? run_mad_carry<i64, true> : run_mad_carry<i64, false>;
      break;
    default:
      choose(d, nullptr, type);
  }
}

template <class Op>
Handler extreme_handler(Type type, bool relu) {
  const bool packed = type == Type::kU16x2 || type == Type::kS16x2;
  if (!relu) return packed ? packed_handler<Op>(type) : nullptr;
  if (type == Type::kS32) return binary<Relu<Op>, i32, i32>;
  return type == Type::kS16x2 ? packed_handler<Relu<Op>>(type) : nullptr;
}

bool names_float(const Statement& statement) {
  for (const auto modifier : statement.modifiers) {
    const auto type = parse_type(modifier);
    if (type) return is_float(*type) || facts(*type).family == 'h';
  }
  return false;
}

}  // namespace

void decode_add_sub(Decoding& d) {
  if (names_float(d.statement)) return decode_float_add_sub(d);
  const bool subtract = d.statement.opcode == "sub";
  if (d.take("cc")) return decode_add_carry(d, subtract, false, true);
  const bool sat = d.take("sat");
  const Type type = d.expect_type();
  binary_operands(d, type);
  if (facts(type).family == 'w') return choose(d, subtract || sat ? nullptr : packed_handler<Add>(type), type);
  if (!sat) return choose(d, subtract ? by_integer<SubHandler>(type) : by_integer<AddHandler>(type), type);
  if (type != Type::kS32) d.refuse(".sat exists for .s32 only");
  d.inst.run = subtract ? binary<SubSat, i32, i32> : binary<AddSat, i32, i32>;
}

void decode_carry(Decoding& d) {
  const bool writes = d.take("cc");
  if (d.statement.opcode == "madc") return decode_mad_carry(d, true, writes);
  decode_add_carry(d, d.statement.opcode == "subc", true, writes);
}

void decode_mul(Decoding& d) {
  if (names_float(d.statement)) return decode_float_mul(d);
  const int part = d.take_any({"lo", "hi", "wide"});
  const Type type = d.expect_type();
  if (part < 0) d.refuse("needs .lo, .hi or .wide");
  if (part != 2) {
    binary_operands(d, type);
    return choose(d, part == 0 ? by_integer<MulLoHandler>(type) : by_integer<MulHiHandler>(type), type);
  }
  choose(d, mul_wide_handler(type), type);
  d.expect_operands(3, 3);
  d.destination(kFieldD, 0, widened(type));
  d.source(kFieldA, 1, type);
  d.source(kFieldB, 2, type);
}

void decode_mad(Decoding& d) {
  if (names_float(d.statement)) return decode_fma(d);  // mad.f32 is fma on every supported architecture
  if (d.take("cc")) return decode_mad_carry(d, false, true);
  const int part = d.take_any({"lo", "hi", "wide"});
  const bool sat = d.take("sat");
  const Type type = d.expect_type();
  if (part < 0) d.refuse("needs .lo, .hi or .wide");
  if (part == 2) {
    choose(d, mad_wide_handler(type), type);
    d.expect_operands(4, 4);
    d.destination(kFieldD, 0, widened(type));
    d.source(kFieldA, 1, type);
    d.source(kFieldB, 2, type);
    d.source(kFieldC, 3, widened(type));
    return;
  }
  ternary_operands(d, type);
  if (sat) {
    if (type != Type::kS32 || part != 1) d.refuse(".sat exists for .hi.s32 only");
    d.inst.run = ternary<MadHiSat, i32, i32>;
    return;
  }
  choose(d, part == 0 ? by_integer<MadLo>(type) : by_integer<MadHi>(type), type);
}

void decode_mul24(Decoding& d) {
  const bool adds = d.statement.opcode == "mad24";
  const int part = d.take_any({"lo", "hi"});
  const bool sat = d.take("sat");
  const Type type = d.expect_type();
  if (part < 0 || (type != Type::kU32 && type != Type::kS32)) d.refuse("needs .lo or .hi, and .u32 or .s32");
  adds ? ternary_operands(d, type) : binary_operands(d, type);
  const bool high = part == 1, is_s32 = type == Type::kS32;
  if (sat) {
    if (!adds || !high || !is_s32) d.refuse(".sat exists for mad24.hi.s32 only");
    d.inst.run = ternary<Mad24HiSat, i32, i32>;
  } else if (adds) {
    d.inst.run = is_s32 ? (high ? Mad24<i32, true>::value : Mad24<i32, false>::value)
                        : (high ? Mad24<u32, true>::value : Mad24<u32, false>::value);
  } else {
    d.inst.run = is_s32 ? (high ? Mul24<i32, true>::value : Mul24<i32, false>::value)
                        : (high ? Mul24<u32, true>::value : Mul24<u32, false>::value);
  }
}

void decode_div(Decoding& d) {
  if (names_float(d.statement)) return decode_float_div(d);
  const Type type = d.expect_type();
  d.facts.cls = InstClass::kSpecial;
  binary_operands(d, type);
  choose(d, by_integer<DivHandler>(type), type);
}

void decode_rem(Decoding& d) {
  const Type type = d.expect_type();
  d.facts.cls = InstClass::kSpecial;
  binary_operands(d, type);
  choose(d, by_integer<RemHandler>(type), type);
}

void decode_min_max(Decoding& d) {
  if (names_float(d.statement)) return decode_float_min_max(d);
  const bool smallest = d.statement.opcode == "min", relu = d.take("relu");
  const Type type = d.expect_type();
  binary_operands(d, type);
  if (relu && type != Type::kS32 && type != Type::kS16x2) d.refuse(".relu exists for .s32 and .s16x2 only");
  if (relu || facts(type).family == 'w')
    return choose(d, smallest ? extreme_handler<Min>(type, relu) : extreme_handler<Max>(type, relu), type);
  choose(d, smallest ? by_integer<MinHandler>(type) : by_integer<MaxHandler>(type), type);
}

void decode_neg_abs(Decoding& d) {
  if (names_float(d.statement)) return decode_float_neg_abs(d);
  const Type type = d.expect_type();
  unary_operands(d, type);
  choose(d, d.statement.opcode == "neg" ? by_integer<Neg>(type) : by_integer<Abs>(type), type);
}

void decode_sad(Decoding& d) {
  const Type type = d.expect_type();
  ternary_operands(d, type);
  choose(d, by_integer<Sad>(type), type);
}

}  // namespace terrace::ptx
