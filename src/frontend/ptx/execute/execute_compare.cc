// Comparisons and selection: setp, set, selp, slct, testp.
// SPDX-License-Identifier: MIT
#include <array>

#include "frontend/ptx/arith/float_ops.h"
#include "frontend/ptx/arith/half.h"
#include "frontend/ptx/execute/execution.h"
#include "frontend/ptx/execute/select_type.h"

namespace terrace::ptx {
namespace {

// Inst::mode: how the comparison is combined with a predicate. Inst::imm: what true looks like in the result of `set`.
constexpr u8 kAlone = 0, kCombineAnd = 1, kCombineOr = 2;  // 3 is xor

u64 combine(const Execution& x, const Inst& i, u64 holds) {
  if (i.mode == kAlone) return holds;
  const u64 c = i.flags & kNegateC ? ~x.predicates[i.c] : x.predicates[i.c];
  switch (i.mode) {
    case kCombineAnd:
      return holds & c;
    case kCombineOr:
      return holds | c;
    default:
      return holds ^ c;
  }
}

template <Compare C, class T, bool kFlush>
bool holds_for(T a, T b) {
  if constexpr (kFlush)
    return holds_for<C, T, false>(flush(a), flush(b));
  else if constexpr (std::is_class_v<T>)
    return half_compare<C>(a, b);
  else
    return compare<C>(a, b);
}

template <Compare C, class T, bool kFlush = false>
void run_setp(Execution& x, const Inst& i) {
  const auto* a = x.src<T>(i.a);
  const auto* b = x.src<T>(i.b);
  const u64 holds =
      x.where([=](Lane lane) { return holds_for<C, T, kFlush>(from_raw<T>(a[lane]), from_raw<T>(b[lane])); });
  if (i.flags & kHasResult) {
    const u64 result = combine(x, i, holds);
    const u32 truth = static_cast<u32>(i.imm);
    x.write<u32>(i.d, [=](Lane lane) { return (result >> lane) & 1 ? truth : 0; });
    return;
  }
  // p = (a cmp b) boolop c; q = !(a cmp b) boolop c. c is read before p or q may overwrite it.
  const u64 p = combine(x, i, holds), q = combine(x, i, ~holds);
  if (i.d != kNoOperand) x.write_predicate(i.d, p);
  if (i.e != kNoOperand) x.write_predicate(i.e, q);
}

/// Packed halves: p is the low ones' result and q the high ones', each combined with the same predicate.
template <Compare C, class F, bool kFlush>
void run_packed(Execution& x, const Inst& i) {
  const auto* a = x.src<u32>(i.a);
  const auto* b = x.src<u32>(i.b);
  const auto half_holds = [=](Lane lane, u32 shift) {
    return holds_for<C, F, kFlush>(F{static_cast<u16>(a[lane] >> shift)}, F{static_cast<u16>(b[lane] >> shift)});
  };
  const u64 low = combine(x, i, x.where([=](Lane lane) { return half_holds(lane, 0); }));
  const u64 high = combine(x, i, x.where([=](Lane lane) { return half_holds(lane, 16); }));
  if (i.flags & kHasResult) {
    const u32 truth = static_cast<u32>(i.imm);
    x.write<u32>(i.d,
                 [=](Lane lane) { return ((low >> lane) & 1 ? truth : 0) | ((high >> lane) & 1 ? truth << 16 : 0); });
    return;
  }
  if (i.d != kNoOperand) x.write_predicate(i.d, low);
  if (i.e != kNoOperand) x.write_predicate(i.e, high);
}

template <Compare C, class T, bool kFlush, bool kPacked>
constexpr Handler compare_form() {
  if constexpr (kPacked)
    return run_packed<C, T, kFlush>;
  else
    return run_setp<C, T, kFlush>;
}
template <class T, bool kFlush = false, bool kPacked = false>
Handler float_compare(int c) {
  static constexpr std::array<Handler, 14> kHandlers = {
      compare_form<Compare::kEq, T, kFlush, kPacked>(),  compare_form<Compare::kNe, T, kFlush, kPacked>(),
      compare_form<Compare::kLt, T, kFlush, kPacked>(),  compare_form<Compare::kLe, T, kFlush, kPacked>(),
      compare_form<Compare::kGt, T, kFlush, kPacked>(),  compare_form<Compare::kGe, T, kFlush, kPacked>(),
      compare_form<Compare::kEqu, T, kFlush, kPacked>(), compare_form<Compare::kNeu, T, kFlush, kPacked>(),
      compare_form<Compare::kLtu, T, kFlush, kPacked>(), compare_form<Compare::kLeu, T, kFlush, kPacked>(),
      compare_form<Compare::kGtu, T, kFlush, kPacked>(), compare_form<Compare::kGeu, T, kFlush, kPacked>(),
      compare_form<Compare::kNum, T, kFlush, kPacked>(), compare_form<Compare::kNan, T, kFlush, kPacked>()};
  return kHandlers[static_cast<u32>(c)];
}
template <class T>
Handler integer_compare(int c) {
  static constexpr std::array<Handler, 6> kHandlers = {run_setp<Compare::kEq, T>, run_setp<Compare::kNe, T>,
                                                       run_setp<Compare::kLt, T>, run_setp<Compare::kLe, T>,
                                                       run_setp<Compare::kGt, T>, run_setp<Compare::kGe, T>};
  return c < 6 ? kHandlers[static_cast<u32>(c)] : nullptr;
}

Handler compare_handler(int c, Type type, bool ftz) {
  switch (type) {
    case Type::kB16:
    case Type::kU16:
      return integer_compare<u16>(c);
    case Type::kS16:
      return integer_compare<i16>(c);
    case Type::kB32:
    case Type::kU32:
      return integer_compare<u32>(c);
    case Type::kS32:
      return integer_compare<i32>(c);
    case Type::kB64:
    case Type::kU64:
      return integer_compare<u64>(c);
    case Type::kS64:
      return integer_compare<i64>(c);
    case Type::kF32:
      return ftz ? float_compare<float, true>(c) : float_compare<float>(c);
    case Type::kF64:
      return float_compare<double>(c);
    case Type::kF16:
      return ftz ? float_compare<F16, true>(c) : float_compare<F16>(c);
    case Type::kF16x2:
      return ftz ? float_compare<F16, true, true>(c) : float_compare<F16, false, true>(c);
    case Type::kBf16:  // these have no .ftz
      return ftz ? nullptr : float_compare<BF16>(c);
    case Type::kBf16x2:
      return ftz ? nullptr : float_compare<BF16, false, true>(c);
    default:
      return nullptr;
  }
}

/// What `set` writes for true, in each half when the source is packed; 0 where the ISA has no such pair of types.
u32 truth_of(Type result, Type source) {
  const bool packed = facts(source).family == 'h', half = bytes_of(source) == 2 && is_float(source);
  if (packed && result == source) return result == Type::kF16x2 ? 0x3c00 : 0x3f80;
  switch (result) {
    case Type::kU32:
    case Type::kS32:
      return packed ? 0xffff : 0xffff'ffff;
    case Type::kU16:
    case Type::kS16:
      return half ? 0xffff : 0;
    case Type::kF32:
      return half || packed ? 0 : 0x3f80'0000;
    case Type::kF16:
      return packed || source == Type::kBf16 ? 0 : 0x3c00;
    case Type::kBf16:
      return packed ? 0 : 0x3f80;
    default:
      return 0;
  }
}

/// Operands a, b and the predicate they combine with; the handler for the comparison.
void decode_comparison(Decoding& d, bool ftz, int boolop, int c, Type type) {
  d.expect_operands(boolop < 0 ? 3 : 4, boolop < 0 ? 3 : 4);
  d.source(kFieldA, 1, type);
  d.source(kFieldB, 2, type);
  if (boolop >= 0) {
    d.predicate_source(kFieldC, d.operand(3));
    d.inst.mode = static_cast<u8>(boolop + 1);
  }
  choose(d, c < 0 ? nullptr : compare_handler(c, type, ftz), type);
}

int take_compare(Decoding& d) {
  const int unsigned_order = d.take_any({"lo", "ls", "hi", "hs"});  // lt, le, gt, ge of unsigned operands
  if (unsigned_order >= 0) return unsigned_order + 2;
  return d.take_any(  // in the order of Compare
      {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
}

template <class T>
void run_selp(Execution& x, const Inst& i) {
  const auto* a = x.src<T>(i.a);
  const auto* b = x.src<T>(i.b);
  const u64 c = i.flags & kNegateC ? ~x.predicates[i.c] : x.predicates[i.c];
  if constexpr (sizeof(T) == 8) {
    x.write<T>(i.d, [=](Lane lane) { return (c >> lane) & 1 ? a[lane] : b[lane]; });
  } else {
    const u32 halves[2] = {static_cast<u32>(c), static_cast<u32>(c >> 32)};
    x.write<T>(i.d,
               [=](Lane lane) { return static_cast<T>((halves[lane / 32] >> (lane % 32)) & 1 ? a[lane] : b[lane]); });
  }
}

template <class T, class C>
struct Slct {
  // -0 counts as 0, a NaN selects b
  static T apply(T a, T b, C c) { return c >= C(0) ? a : b; }
  static constexpr Handler value = ternary<Slct, T, T, T, C>;
};
template <class T>
struct SlctFlush {
  static T apply(T a, T b, float c) { return flush(c) >= 0 ? a : b; }
  static constexpr Handler value = ternary<SlctFlush, T, T, T, float>;
};
template <class T>
using SlctS32 = Slct<T, i32>;
template <class T>
using SlctF32 = Slct<T, float>;

template <TestProperty P, class T>
void run_testp(Execution& x, const Inst& i) {
  const auto* a = x.src<T>(i.a);
  x.write_predicate(i.d, x.where([=](Lane lane) { return testp<P>(from_raw<T>(a[lane])); }));
}
template <class T>
Handler testp_handler(int property) {
  static constexpr std::array<Handler, 6> kHandlers = {
      run_testp<TestProperty::kFinite, T>, run_testp<TestProperty::kInfinite, T>,
      run_testp<TestProperty::kNumber, T>, run_testp<TestProperty::kNotANumber, T>,
      run_testp<TestProperty::kNormal, T>, run_testp<TestProperty::kSubnormal, T>};
  return kHandlers[static_cast<u32>(property)];
}

}  // namespace

void decode_setp(Decoding& d) {
  const bool ftz = d.take("ftz");
  const int c = take_compare(d);
  const int boolop = d.take_any({"and", "or", "xor"});
  const Type type = d.expect_type();
  decode_comparison(d, ftz, boolop, c, type);
  const Operand& result = d.operand(0);
  if (result.kind != OperandKind::kSink) {
    if (!d.is_predicate(result)) d.refuse("the result must be a predicate register");
    d.predicate_destination(kFieldD, result.index);
  }
  if (result.pair != kNoIndex) d.predicate_destination(kFieldE, result.pair);
}

void decode_set(Decoding& d) {
  const bool ftz = d.take("ftz");
  const int c = take_compare(d);
  const int boolop = d.take_any({"and", "or", "xor"});
  const Type result = d.expect_type();
  const Type type = d.expect_type();
  d.inst.imm = truth_of(result, type);
  if (d.inst.imm == 0)
    d.refuse("results of type .{} do not exist for operands of type .{}; use setp and selp", type_name(result),
             type_name(type));
  decode_comparison(d, ftz, boolop, c, type);
  d.destination(kFieldD, 0, result);
  d.inst.flags |= kHasResult;
}

void decode_selp(Decoding& d) {
  const Type type = d.expect_type();
  d.expect_operands(4, 4);
  d.destination(kFieldD, 0, type);
  d.source(kFieldA, 1, type);
  d.source(kFieldB, 2, type);
  d.predicate_source(kFieldC, d.operand(3));
  choose(d, bytes_of(type) == 8 ? run_selp<u64> : bytes_of(type) >= 2 ? run_selp<u32> : nullptr, type);
}

void decode_slct(Decoding& d) {
  const bool ftz = d.take("ftz");
  const Type type = d.expect_type();
  const Type selector = d.expect_type();
  d.expect_operands(4, 4);
  d.destination(kFieldD, 0, type);
  d.source(kFieldA, 1, type);
  d.source(kFieldB, 2, type);
  d.source(kFieldC, 3, selector);
  choose(d,
         selector == Type::kS32   ? by_width<SlctS32>(type)
         : selector != Type::kF32 ? nullptr
         : ftz                    ? by_width<SlctFlush>(type)
                                  : by_width<SlctF32>(type),
         type);
}

void decode_testp(Decoding& d) {
  const int property = d.take_any({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  const Type type = d.expect_type();
  d.expect_operands(2, 2);
  if (property < 0) d.refuse("the property is not known");
  if (!d.is_predicate(d.operand(0))) d.refuse("the result must be a predicate register");
  d.predicate_destination(kFieldD, d.operand(0).index);
  d.source(kFieldA, 1, type);
  choose(d,
         type == Type::kF32   ? testp_handler<float>(property)
         : type == Type::kF64 ? testp_handler<double>(property)
                              : nullptr,
         type);
}

}  // namespace terrace::ptx
