// Floating-point arithmetic. What each operation computes is in arith/; here modifiers and types choose a handler.
// SPDX-License-Identifier: MIT
#include <array>

#include "frontend/ptx/arith/approx.h"
#include "frontend/ptx/arith/float_ops.h"
#include "frontend/ptx/arith/half.h"
#include "frontend/ptx/execute/execution.h"
#include "frontend/ptx/execute/select_type.h"

namespace terrace::ptx {
namespace {

#define TERRACE_FLOAT_OP(Name, parameters, arguments, function) \
  struct Name {                                                 \
    template <Round R, bool kFlush, class T>                    \
    static T run parameters {                                   \
      return function<R, kFlush> arguments;                     \
    }                                                           \
  };
TERRACE_FLOAT_OP(Add, (T a, T b), (a, b), add)
TERRACE_FLOAT_OP(Sub, (T a, T b), (a, b), sub)
TERRACE_FLOAT_OP(Mul, (T a, T b), (a, b), mul)
TERRACE_FLOAT_OP(Fma, (T a, T b, T c), (a, b, c), fma)
TERRACE_FLOAT_OP(Div, (T a, T b), (a, b), div)
TERRACE_FLOAT_OP(Rcp, (T a), (a), rcp)
TERRACE_FLOAT_OP(Sqrt, (T a), (a), sqrt)
#undef TERRACE_FLOAT_OP

/// An operation with its modifiers. Flushing is the operation's own business, because it interacts with rounding.
template <class Op, Round R, bool kFlush, bool kSaturate, class T>
struct Modified {
  static constexpr bool kPerLane = sizeof(T) == 8 && R != Round::kNearestEven;  // done in integers, with branches
  template <class... Ts>
  static T apply(Ts... operands) {
    const T result = Op::template run<R, kFlush, T>(operands...);
    if constexpr (kSaturate)
      return saturate(result);
    else
      return result;
  }
};

template <class Op, class T, u32 kOperands, Round R, bool kFlush, bool kSaturate>
constexpr Handler modified() {
  using M = Modified<Op, R, kFlush, kSaturate, T>;
  if constexpr (kOperands == 1)
    return unary<M, T, T>;
  else if constexpr (kOperands == 2)
    return binary<M, T, T>;
  else
    return ternary<M, T, T>;
}
template <class Op, u32 kOperands, Round R>
constexpr std::array<Handler, 4> by_modifiers() {
  return {modified<Op, float, kOperands, R, false, false>(), modified<Op, float, kOperands, R, true, false>(),
          modified<Op, float, kOperands, R, false, true>(), modified<Op, float, kOperands, R, true, true>()};
}

template <class Op, u32 kOperands>
Handler float_handler(Type type, Round round, bool ftz, bool sat) {
  static constexpr std::array<std::array<Handler, 4>, 4> kF32 = {
      by_modifiers<Op, kOperands, Round::kNearestEven>(), by_modifiers<Op, kOperands, Round::kZero>(),
      by_modifiers<Op, kOperands, Round::kDown>(), by_modifiers<Op, kOperands, Round::kUp>()};
  static constexpr std::array<Handler, 4> kF64 = {modified<Op, double, kOperands, Round::kNearestEven, false, false>(),
                                                  modified<Op, double, kOperands, Round::kZero, false, false>(),
                                                  modified<Op, double, kOperands, Round::kDown, false, false>(),
                                                  modified<Op, double, kOperands, Round::kUp, false, false>()};
  const u32 r = static_cast<u32>(round);
  if (type == Type::kF32) return kF32[r][(ftz ? 1 : 0) + (sat ? 2 : 0)];
  if (type == Type::kF64 && !ftz && !sat) return kF64[r];
  return nullptr;
}

/// f16 and bf16, single and packed. An operation's functions are given for f16, f16 with .ftz, bf16, bf16 with .ftz.
enum class After : u8 { kNothing, kSaturate, kRelu };
template <class F, auto kOperation, After kAfter>
struct Half {
  template <class... Ts>
  static F apply(Ts... operands) {
    const F result = kOperation(operands...);
    if constexpr (kAfter == After::kSaturate)
      return half_saturate(result);
    else if constexpr (kAfter == After::kRelu)
      return relu(result);
    else
      return result;
  }
};
template <class F, auto kOperation, After kAfter>
struct PackedHalf {
  template <class... Ts>
  static u32 apply(Ts... registers) {
    return both<F>([](auto... halves) { return Half<F, kOperation, kAfter>::apply(halves...); }, registers...);
  }
};
template <class F, auto kOperation, u32 kOperands, After kAfter>
Handler half_form(bool packed) {
  using Single = Half<F, kOperation, kAfter>;
  using Packed = PackedHalf<F, kOperation, kAfter>;
  if constexpr (kOperands == 1)
    return packed ? unary<Packed, u32, u32> : unary<Single, F, F>;
  else if constexpr (kOperands == 2)
    return packed ? binary<Packed, u32, u32> : binary<Single, F, F>;
  else
    return packed ? ternary<Packed, u32, u32> : ternary<Single, F, F>;
}
template <u32 kOperands, auto kF16, auto kF16Flush, auto kBf16, auto kBf16Flush, After kAfter = After::kNothing>
Handler half_handler(Type type, bool ftz) {
  const bool packed = type == Type::kF16x2 || type == Type::kBf16x2;
  switch (type) {
    case Type::kF16:
    case Type::kF16x2:
      return ftz ? half_form<F16, kF16Flush, kOperands, kAfter>(packed)
                 : half_form<F16, kF16, kOperands, kAfter>(packed);
    case Type::kBf16:
    case Type::kBf16x2:
      return ftz ? half_form<BF16, kBf16Flush, kOperands, kAfter>(packed)
                 : half_form<BF16, kBf16, kOperands, kAfter>(packed);
    default:
      return nullptr;
  }
}
template <auto kOperation, class F>
F flush_two(F a, F b) {
  return kOperation(flush(a), flush(b));
}
template <auto kOperation, class F>
F flush_around(F a) {
  return flush(kOperation(flush(a)));
}
template <class F>
F negated(F a) {
  return neg(a);
}
template <class F>
F absolute(F a) {
  return abs(a);
}
bool is_half(Type type) {
  return bytes_of(type) == 2 || facts(type).family == 'h';
}
/// Only f16 has .ftz and .sat in add, sub, mul and fma; only fma has .relu, and not with .sat.
// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are names of templates, which cannot stand in parentheses.
#define TERRACE_HALF(function, operands, after)                                                                  \
  half_handler<operands, function<false, F16>, function<true, F16>, function<false, BF16>, function<true, BF16>, \
               after>(type, ftz)
#define TERRACE_HALF_SAT(function, operands)                                                      \
  (ftz || sat) && facts(type).name[0] == 'b' ? nullptr                                            \
  : sat                                      ? TERRACE_HALF(function, operands, After::kSaturate) \
                                             : TERRACE_HALF(function, operands, After::kNothing)
#define TERRACE_HALF_UNARY(function)                                               \
  half_handler<1, function<F16>, flush_around<function<F16>, F16>, function<BF16>, \
               flush_around<function<BF16>, BF16>>(type, ftz)
#define TERRACE_HALF_EXTREME(function, nan)                                                    \
  half_handler<2, function<nan, F16>, flush_two<function<nan, F16>, F16>, function<nan, BF16>, \
               flush_two<function<nan, BF16>, BF16>>(type, ftz)
// NOLINTEND(bugprone-macro-parentheses)

InstClass class_of(Type type) {
  return type == Type::kF64 ? InstClass::kDouble : InstClass::kFloat;
}

struct Modifiers {
  Round round;
  bool ftz, sat;
  Type type;
};
Modifiers take_modifiers(Decoding& d) {
  Modifiers m{};
  m.round = d.take_rounding();
  m.ftz = d.take("ftz");
  m.sat = d.take("sat");
  m.type = d.expect_type();
  d.facts.cls = class_of(m.type);
  return m;
}

template <float (*kFunction)(float)>
struct Approx {
  static constexpr bool kPerLane = true;
  static float apply(float x) { return kFunction(x); }
  static constexpr Handler value = unary<Approx, float, float>;
};
template <float (*kFunction)(float)>
float flush_approx(float x) {
  return flush(kFunction(flush(x)));
}
template <float (*kFunction)(float)>
Handler approx_handler(bool ftz) {
  return ftz ? Approx<flush_approx<kFunction>>::value : Approx<kFunction>::value;
}
template <double (*kFunction)(double)>
struct ApproxDouble {
  static constexpr bool kPerLane = true;
  static double apply(double x) { return kFunction(x); }
  static constexpr Handler value = unary<ApproxDouble, double, double>;
};

template <float (*kFunction)(float, float)>
struct ApproxDiv {
  static float apply(float a, float b) { return kFunction(a, b); }
  static constexpr Handler value = binary<ApproxDiv, float, float>;
};

template <class T, bool kMax, NanRule N, bool kFlush, bool kXorsign>
struct Extreme {
  static T in(T x) {
    if constexpr (kFlush)
      return flush(x);
    else
      return x;
  }
  static T apply(T a, T b) {
    if constexpr (kXorsign)
      return kMax ? max_xorsign_abs<N>(in(a), in(b)) : min_xorsign_abs<N>(in(a), in(b));
    else
      return kMax ? max<N>(in(a), in(b)) : min<N>(in(a), in(b));
  }
  static T apply(T a, T b, T c) { return apply(apply(a, b), c); }
};
template <class T, bool kMax, NanRule N, bool kFlush>
Handler extreme_handler(bool xorsign, bool three) {
  if (three) return xorsign ? nullptr : ternary<Extreme<T, kMax, N, kFlush, false>, T, T>;
  return xorsign ? binary<Extreme<T, kMax, N, kFlush, true>, T, T> : binary<Extreme<T, kMax, N, kFlush, false>, T, T>;
}
template <bool kMax>
Handler extreme_f32(bool nan, bool ftz, bool xorsign, bool three) {
  if (nan)
    return ftz ? extreme_handler<float, kMax, NanRule::kNan, true>(xorsign, three)
               : extreme_handler<float, kMax, NanRule::kNan, false>(xorsign, three);
  return ftz ? extreme_handler<float, kMax, NanRule::kOther, true>(xorsign, three)
             : extreme_handler<float, kMax, NanRule::kOther, false>(xorsign, three);
}

template <class T, bool kAbs, bool kFlush>
struct Sign {
  static T apply(T a) {
    if constexpr (kFlush) a = flush(a);
    return kAbs ? abs(a) : neg(a);
  }
  static constexpr Handler value = unary<Sign, T, T>;
};
template <bool kAbs>
Handler sign_handler(Type type, bool ftz) {
  switch (type) {
    case Type::kF32:
      return ftz ? Sign<float, kAbs, true>::value : Sign<float, kAbs, false>::value;
    case Type::kF64:
      return ftz ? nullptr : Sign<double, kAbs, false>::value;
    default:
      if constexpr (kAbs)
        return TERRACE_HALF_UNARY(absolute);
      else
        return TERRACE_HALF_UNARY(negated);
  }
}

template <class T>
struct Copysign {
  static T apply(T a, T b) { return copysign(a, b); }
  static constexpr Handler value = binary<Copysign, T, T>;
};

}  // namespace

void decode_float_add_sub(Decoding& d) {
  const auto [round, ftz, sat, type] = take_modifiers(d);
  const bool subtract = d.statement.opcode == "sub";
  binary_operands(d, type);
  if (is_half(type))
    return choose(d,
                  round != Round::kNearestEven ? nullptr
                  : subtract                   ? (TERRACE_HALF_SAT(half_sub, 2))
                                               : (TERRACE_HALF_SAT(half_add, 2)),
                  type);
  choose(d, subtract ? float_handler<Sub, 2>(type, round, ftz, sat) : float_handler<Add, 2>(type, round, ftz, sat),
         type);
}

void decode_float_mul(Decoding& d) {
  const auto [round, ftz, sat, type] = take_modifiers(d);
  binary_operands(d, type);
  if (is_half(type)) return choose(d, TERRACE_HALF_SAT(half_mul, 2), type);
  choose(d, float_handler<Mul, 2>(type, round, ftz, sat), type);
}

void decode_fma(Decoding& d) {
  const bool relu = d.take("relu");
  const auto [round, ftz, sat, type] = take_modifiers(d);
  ternary_operands(d, type);
  if (is_half(type) && relu) return choose(d, sat ? nullptr : TERRACE_HALF(half_fma, 3, After::kRelu), type);
  if (is_half(type)) return choose(d, TERRACE_HALF_SAT(half_fma, 3), type);
  if (relu) d.refuse(".relu exists for f16 and bf16 only");
  choose(d, float_handler<Fma, 3>(type, round, ftz, sat), type);
}

void decode_float_div(Decoding& d) {
  const int approximate = d.take_any({"approx", "full"});
  const auto [round, ftz, sat, type] = take_modifiers(d);
  binary_operands(d, type);
  d.facts.cls = type == Type::kF64 ? InstClass::kDouble : InstClass::kSpecial;
  if (approximate < 0) return choose(d, float_handler<Div, 2>(type, round, ftz, sat), type);
  if (type != Type::kF32) return choose(d, nullptr, type);
  d.inst.run = approximate == 0 ? (ftz ? ApproxDiv<div_approx<true>>::value : ApproxDiv<div_approx<false>>::value)
                                : (ftz ? ApproxDiv<div_full<true>>::value : ApproxDiv<div_full<false>>::value);
}

void decode_rcp_sqrt(Decoding& d) {
  const bool reciprocal = d.statement.opcode == "rcp";
  const bool approximate = d.take("approx");
  const auto [round, ftz, sat, type] = take_modifiers(d);
  d.facts.cls = type == Type::kF64 ? InstClass::kDouble : InstClass::kSpecial;
  unary_operands(d, type);
  if (!approximate)
    return choose(
        d, reciprocal ? float_handler<Rcp, 1>(type, round, ftz, sat) : float_handler<Sqrt, 1>(type, round, ftz, sat),
        type);
  if (type == Type::kF64) return choose(d, reciprocal && ftz ? ApproxDouble<rcp_approx_ftz>::value : nullptr, type);
  choose(d,
         type != Type::kF32 ? nullptr
         : reciprocal       ? (ftz ? Approx<rcp_approx<true>>::value : Approx<rcp_approx<false>>::value)
                            : (ftz ? Approx<sqrt_approx<true>>::value : Approx<sqrt_approx<false>>::value),
         type);
}

void decode_approx(Decoding& d) {
  const auto opcode = d.statement.opcode;
  if (!d.take("approx")) d.refuse("exists as .approx only");
  const bool ftz = d.take("ftz");
  const Type type = d.expect_type();
  unary_operands(d, type);
  if (type == Type::kF64 && opcode == "rsqrt")
    return choose(d, ftz ? ApproxDouble<rsqrt_approx_ftz>::value : ApproxDouble<rsqrt_approx>::value, type);
  if (is_half(type)) {
    return choose(d,
                  opcode == "ex2"    ? TERRACE_HALF_UNARY(half_ex2_approx)
                  : opcode == "tanh" ? TERRACE_HALF_UNARY(half_tanh_approx)
                                     : nullptr,
                  type);
  }
  choose(d,
         type != Type::kF32 ? nullptr
         : opcode == "ex2"  ? approx_handler<ex2_approx>(ftz)
         : opcode == "lg2"  ? approx_handler<lg2_approx>(ftz)
         : opcode == "sin"  ? approx_handler<sin_approx>(ftz)
         : opcode == "cos"  ? approx_handler<cos_approx>(ftz)
         : opcode == "tanh" ? approx_handler<tanh_approx>(ftz)
                            : (ftz ? Approx<rsqrt_approx<true>>::value : Approx<rsqrt_approx<false>>::value),
         type);
}

void decode_float_min_max(Decoding& d) {
  const bool largest = d.statement.opcode == "max";
  const bool nan = d.take("NaN"), ftz = d.take("ftz");
  const bool xorsign = d.take("xorsign");
  if (xorsign) d.take("abs");
  const Type type = d.expect_type();
  d.facts.cls = class_of(type);
  const bool three = d.operands() == 4 && type == Type::kF32;
  three ? ternary_operands(d, type) : binary_operands(d, type);
  Handler handler = nullptr;
  if (type == Type::kF32) {
    handler = largest ? extreme_f32<true>(nan, ftz, xorsign, three) : extreme_f32<false>(nan, ftz, xorsign, three);
  } else if (type == Type::kF64 && !nan && !ftz && !xorsign) {
    handler = largest ? extreme_handler<double, true, NanRule::kOther, false>(false, false)
                      : extreme_handler<double, false, NanRule::kOther, false>(false, false);
  } else if (is_half(type) && nan) {
    constexpr NanRule kRule = NanRule::kNan;
    handler = xorsign ? (largest ? TERRACE_HALF_EXTREME(half_max_xorsign_abs, kRule)
                                 : TERRACE_HALF_EXTREME(half_min_xorsign_abs, kRule))
                      : (largest ? TERRACE_HALF_EXTREME(half_max, kRule) : TERRACE_HALF_EXTREME(half_min, kRule));
  } else if (is_half(type)) {
    constexpr NanRule kRule = NanRule::kOther;
    handler = xorsign ? (largest ? TERRACE_HALF_EXTREME(half_max_xorsign_abs, kRule)
                                 : TERRACE_HALF_EXTREME(half_min_xorsign_abs, kRule))
                      : (largest ? TERRACE_HALF_EXTREME(half_max, kRule) : TERRACE_HALF_EXTREME(half_min, kRule));
  }
  choose(d, handler, type);
}

void decode_float_neg_abs(Decoding& d) {
  const bool ftz = d.take("ftz");
  const Type type = d.expect_type();
  d.facts.cls = class_of(type);
  unary_operands(d, type);
  choose(d, d.statement.opcode == "abs" ? sign_handler<true>(type, ftz) : sign_handler<false>(type, ftz), type);
}

void decode_copysign(Decoding& d) {
  const Type type = d.expect_type();
  d.facts.cls = class_of(type);
  binary_operands(d, type);
  choose(d, type == Type::kF32 ? Copysign<float>::value : type == Type::kF64 ? Copysign<double>::value : nullptr, type);
}

}  // namespace terrace::ptx
