// cvt. A source may sit in a wider register than its type, and so may the result, which is then extended as its type
// says.
// SPDX-License-Identifier: MIT
#include <array>

#include "frontend/ptx/arith/convert.h"
#include "frontend/ptx/execute/execution.h"
#include "frontend/ptx/execute/select_type.h"

namespace terrace::ptx {
namespace {

// Inst::flags: kAddress32 here means that the source's type is narrower than its 64-bit register, kWideValue that the
// result's type is narrower than its. Inst::mode holds the modifiers.
constexpr u8 kSourceInWide = kAddress32, kResultInWide = kWideValue;
constexpr u8 kFlush = 1, kSaturate = 2, kRelu = 4;

/// The source row, gathered into `space` where it sits in a wider register.
template <class S>
typename RowPointer<S>::const_type source_row(const Execution& x, const Inst& i, Word* space) {
  if constexpr (sizeof(S) < 8) {
    if (i.flags & kSourceInWide) {
      const auto* wide = x.src<u64>(i.a);
      for (u32 lane = 0; lane < x.stride; ++lane) space[lane] = static_cast<u32>(wide[lane]);
      return space;
    }
  }
  return x.src<S>(i.a);
}

template <class D, class S, class F>
void convert(Execution& x, const Inst& i, F&& f) {
  Word space[64];
  const auto* a = source_row<S>(x, i, space);
  const auto value = [=](Lane lane) -> D { return f(from_raw<S>(a[lane])); };
  if constexpr (std::is_integral_v<D> && sizeof(D) < 8) {
    // Sign or zero extension to the register, whatever its width.
    if (i.flags & kResultInWide) return x.write<u64>(i.d, [=](Lane lane) { return static_cast<u64>(value(lane)); });
    return x.write<u32>(i.d, [=](Lane lane) { return static_cast<u32>(value(lane)); });
  } else {
    x.write<D>(i.d, value);
  }
}

template <class D, class S>
void int_to_int(Execution& x, const Inst& i) {
  if (i.mode & kSaturate)
    convert<D, S>(x, i, [](S v) { return int_to_int_saturate<D>(v); });
  else
    convert<D, S>(x, i, [](S v) { return static_cast<D>(v); });
}

template <class F, class I, Round R>
void int_to_float_row(Execution& x, const Inst& i) {
  if (i.mode & kSaturate) {
    if constexpr (std::is_floating_point_v<F>) {
      convert<F, I>(x, i, [](I v) { return saturate(int_to_float<F, R>(v)); });
      return;
    }
  }
  convert<F, I>(x, i, [](I v) { return int_to_float<F, R>(v); });
}

template <class I, class F, Round R>
void float_to_int_row(Execution& x, const Inst& i) {
  if (i.mode & kFlush) {
    if constexpr (std::is_same_v<F, float>) {
      convert<I, F>(x, i, [](F v) { return float_to_int<I, R>(flush(v)); });
      return;
    }
  }
  convert<I, F>(x, i, [](F v) { return float_to_int<I, R>(v); });
}

template <class F>
F modify(F v, u8 mode) {
  if constexpr (std::is_floating_point_v<F>) {
    if (mode & kSaturate) v = saturate(v);
  } else {
    if (mode & kSaturate) v = narrow<F, Round::kNearestEven>(saturate(widen_to_float(v)));
  }
  if (mode & kRelu) v = relu(v);
  return v;
}
template <class F>
F flush_source(F v, u8 mode) {
  if constexpr (std::is_same_v<F, float>)
    return mode & kFlush ? flush(v) : v;
  else
    return v;
}

template <class D, class S, Round R>
void float_to_float_row(Execution& x, const Inst& i) {
  const u8 mode = i.mode;
  if (mode & kFlush)
    convert<D, S>(x, i, [mode](S v) { return modify(float_to_float<D, R, true>(v), mode); });
  else
    convert<D, S>(x, i, [mode](S v) { return modify(float_to_float<D, R>(v), mode); });
}
/// .rni and its like between equal types.
template <class F, Round R>
void to_integral_row(Execution& x, const Inst& i) {
  const u8 mode = i.mode;
  convert<F, F>(x, i, [mode](F v) { return modify(round_to_integral<R>(flush_source(v, mode)), mode); });
}

// Tables over types, rounding last.
template <template <class, class, Round> class Row, class A, class B>
Handler by_round(Round round) {
  static constexpr std::array<Handler, 4> kHandlers = {Row<A, B, Round::kNearestEven>::value,
                                                       Row<A, B, Round::kZero>::value, Row<A, B, Round::kDown>::value,
                                                       Row<A, B, Round::kUp>::value};
  return kHandlers[static_cast<u32>(round)];
}
template <class F, class I, Round R>
struct IntToFloat {
  static constexpr Handler value = int_to_float_row<F, I, R>;
};
template <class I, class F, Round R>
struct FloatToInt {
  static constexpr Handler value = float_to_int_row<I, F, R>;
};
template <class D, class S, Round R>
struct FloatToFloat {
  static constexpr Handler value = float_to_float_row<D, S, R>;
};
template <class F, class, Round R>
struct ToIntegral {
  static constexpr Handler value = to_integral_row<F, R>;
};

/// Calls f with a value of the C++ type that stands for a PTX type; null for a type that cvt does not have.
template <class F>
Handler with_integer(Type type, F&& f) {
  switch (type) {
    case Type::kU8:
    case Type::kB8:
      return f(u8{});
    case Type::kS8:
      return f(i8{});
    case Type::kU16:
    case Type::kB16:
      return f(u16{});
    case Type::kS16:
      return f(i16{});
    case Type::kU32:
    case Type::kB32:
      return f(u32{});
    case Type::kS32:
      return f(i32{});
    case Type::kU64:
    case Type::kB64:
      return f(u64{});
    case Type::kS64:
      return f(i64{});
    default:
      return nullptr;
  }
}
template <class F>
Handler with_float(Type type, F&& f) {
  switch (type) {
    case Type::kF16:
      return f(F16{});
    case Type::kBf16:
      return f(BF16{});
    case Type::kF32:
      return f(float{});
    case Type::kF64:
      return f(double{});
    default:
      return nullptr;
  }
}

Handler handler_for(Type to, Type from, Round round, bool integral) {
  if (is_integer(to) && is_integer(from))
    return with_integer(to, [&](auto d) {
      return with_integer(from, [&](auto s) -> Handler { return int_to_int<decltype(d), decltype(s)>; });
    });
  if (is_float(to) && is_integer(from))
    return with_float(to, [&](auto d) {
      return with_integer(from, [&](auto s) { return by_round<IntToFloat, decltype(d), decltype(s)>(round); });
    });
  if (is_integer(to) && is_float(from))
    return with_integer(to, [&](auto d) {
      return with_float(from, [&](auto s) { return by_round<FloatToInt, decltype(d), decltype(s)>(round); });
    });
  if (to == from && integral)
    return with_float(to, [&](auto d) { return by_round<ToIntegral, decltype(d), decltype(d)>(round); });
  return with_float(to, [&](auto d) {
    return with_float(from, [&](auto s) { return by_round<FloatToFloat, decltype(d), decltype(s)>(round); });
  });
}

template <class F, Round R>
struct PackHalves {
  static u32 apply(float a, float b) { return pack_halves<F, R>(a, b); }
};
template <class F, Round R>
struct PackHalvesRelu {
  static u32 apply(float a, float b) { return pack_halves<F, R>(relu(a), relu(b)); }
};
template <class F>
Handler pack_handler(Round round, bool relu) {
  if (round == Round::kZero)
    return relu ? binary<PackHalvesRelu<F, Round::kZero>, u32, float> : binary<PackHalves<F, Round::kZero>, u32, float>;
  return relu ? binary<PackHalvesRelu<F, Round::kNearestEven>, u32, float>
              : binary<PackHalves<F, Round::kNearestEven>, u32, float>;
}
struct ToTf32 {
  static u32 apply(float a) { return float_to_tf32_rna(a); }
};

void decode_tf32(Decoding& d) {
  if (!d.take("rna") || d.expect_type() != Type::kF32) d.refuse("only cvt.rna.tf32.f32 is supported");
  d.expect_operands(2, 2);
  d.destination(kFieldD, 0, Type::kB32);
  d.source(kFieldA, 1, Type::kF32);
  d.inst.run = unary<ToTf32, u32, float>;
}

/// The type an operand occupies: the cvt's own, or the 64-bit register it sits in.
Type held_type(Decoding& d, const Operand& operand, Type type, u8 flag) {
  if (bytes_of(type) >= 8 || d.rows(operand) != 2) return type;
  if (is_float(type)) d.refuse("register {} is wider than type .{}", operand.name, type_name(type));
  d.inst.flags |= flag;
  return Type::kB64;
}

Round take_integral_rounding(Decoding& d, bool& integral) {
  const int r = d.take_any({"rni", "rzi", "rmi", "rpi"});
  integral = r >= 0;
  return integral ? static_cast<Round>(r) : d.take_rounding(Round::kNearestEven);
}

}  // namespace

void decode_cvt(Decoding& d) {
  if (d.take("tf32")) return decode_tf32(d);
  bool integral = false;
  const Round round = take_integral_rounding(d, integral);
  const bool ftz = d.take("ftz"), sat = d.take("sat"), relu = d.take("relu");
  const Type to = d.expect_type(), from = d.expect_type();
  if (is_float(to) || is_float(from))
    d.facts.cls = to == Type::kF64 || from == Type::kF64 ? InstClass::kDouble : InstClass::kFloat;
  if (to == Type::kF16x2 || to == Type::kBf16x2) {
    if (from != Type::kF32) choose(d, nullptr, from);
    d.expect_operands(3, 3);
    d.destination(kFieldD, 0, to);
    d.source(kFieldA, 1, from);
    d.source(kFieldB, 2, from);
    return choose(d, to == Type::kF16x2 ? pack_handler<F16>(round, relu) : pack_handler<BF16>(round, relu), to);
  }
  d.expect_operands(2, 2);
  d.inst.mode = static_cast<u8>((ftz ? kFlush : 0) | (sat ? kSaturate : 0) | (relu ? kRelu : 0));
  if (relu && !is_float(to)) d.refuse(".relu needs a floating-point result");
  // Without a rounding modifier a float becomes an integer by truncation; the ISA demands one, older code omits it.
  const Round effective = is_integer(to) && is_float(from) && !integral ? Round::kZero : round;
  choose(d, handler_for(to, from, effective, integral), to);
  d.destination(kFieldD, d.operand(0), held_type(d, d.operand(0), to, kResultInWide));
  d.source(kFieldA, d.operand(1), held_type(d, d.operand(1), from, kSourceInWide));
}

}  // namespace terrace::ptx
