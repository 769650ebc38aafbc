// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <tuple>

#include "tests/unit/ptx_opcode_rows.h"

namespace terrace::opcodes {
namespace {

using reference::Shape;
using P = mpfr_srcptr;
/// An MPFR operation on up to three operands, and the order in which NaN operands win.
struct Operation {
  const char* name;
  u32 operands;
  int (*exact)(mpfr_ptr, P, P, P, mpfr_rnd_t);
};
constexpr Operation kAdd{"add", 2, [](mpfr_ptr r, P a, P b, P, mpfr_rnd_t m) { return mpfr_add(r, a, b, m); }};
constexpr Operation kSub{"sub", 2, [](mpfr_ptr r, P a, P b, P, mpfr_rnd_t m) { return mpfr_sub(r, a, b, m); }};
constexpr Operation kMul{"mul", 2, [](mpfr_ptr r, P a, P b, P, mpfr_rnd_t m) { return mpfr_mul(r, a, b, m); }};
constexpr Operation kFma{"fma", 3, [](mpfr_ptr r, P a, P b, P c, mpfr_rnd_t m) { return mpfr_fma(r, a, b, c, m); }};
constexpr Operation kDiv{"div", 2, [](mpfr_ptr r, P a, P b, P, mpfr_rnd_t m) { return mpfr_div(r, a, b, m); }};
constexpr Operation kRcp{"rcp", 1, [](mpfr_ptr r, P a, P, P, mpfr_rnd_t m) { return mpfr_ui_div(r, 1, a, m); }};
constexpr Operation kSqrt{"sqrt", 1, [](mpfr_ptr r, P a, P, P, mpfr_rnd_t m) { return mpfr_sqrt(r, a, m); }};

u64 evaluate(const Shape& shape, const Operation& op, mpfr_rnd_t mode, bool ftz, const u64* o) {
  if (op.operands == 1) return reference::arithmetic(shape, mode, ftz, {o[0]}, {o[0]}, op.exact);
  if (op.operands == 2) {
    // Of two NaNs the second wins, except in division (H200).
    const bool second = op.exact != kDiv.exact;
    return reference::arithmetic(shape, mode, ftz, {o[0], o[1]}, {o[second ? 1 : 0], o[second ? 0 : 1]}, op.exact);
  }
  return reference::arithmetic(shape, mode, ftz, {o[0], o[1], o[2]}, {o[1], o[2], o[0]}, op.exact);
}

void arithmetic_row(Rows& rows, const Kind& t, const Operation& op, const std::string& mode_name, mpfr_rnd_t mode,
                    bool ftz, bool sat) {
  const Shape* shape = t.shape;
  rows.push_back({fmt::format("{}{}{}{}.{}", op.name, mode_name, ftz ? ".ftz" : "", sat ? ".sat" : "", t.name), t,
                  std::vector<Kind>(op.operands, t), [=](const u64* o) {
                    const u64 bits = evaluate(*shape, op, mode, ftz, o);
                    return sat ? saturated(*shape, bits) : bits;
                  }});
}

void arithmetic_rows(Rows& rows, const Kind& t) {
  const bool single = t.bits == 32;
  for (u32 m = 0; m < 4; ++m) {
    for (const bool ftz : {false, true}) {
      if (ftz && !single) continue;
      for (const bool sat : {false, true}) {
        if (sat && !single) continue;
        for (const Operation& op : {kAdd, kSub, kMul, kFma})
          arithmetic_row(rows, t, op, fmt::format(".{}", kModes[m]), reference::kRoundings[m], ftz, sat);
        if (m == 0)
          for (const Operation& op : {kAdd, kSub, kMul}) arithmetic_row(rows, t, op, "", MPFR_RNDN, ftz, sat);
      }
      for (const Operation& op : {kDiv, kRcp, kSqrt})
        arithmetic_row(rows, t, op, fmt::format(".{}", kModes[m]), reference::kRoundings[m], ftz, false);
    }
  }
}

u64 extreme(const Shape& shape, u64 a, u64 b, bool max, bool nan_wins) {
  if (shape.nan(a) && shape.nan(b)) return nan_wins ? shape.default_nan : reference::nan_result(shape, {b, a});
  if (shape.nan(a) || shape.nan(b)) return nan_wins ? shape.default_nan : (shape.nan(a) ? b : a);
  return (float_order(shape, a) < float_order(shape, b)) != max ? a : b;
}

void extreme_rows(Rows& rows, const Kind& t, bool ftz, bool modifiers) {
  const Shape& shape = *t.shape;
  for (const bool max : {false, true}) {
    for (u32 form = 0; form < (modifiers ? 4u : 1u); ++form) {
      const bool nan_wins = (form & 1) != 0, xorsign = (form & 2) != 0;
      rows.push_back({fmt::format("{}{}{}{}.{}", max ? "max" : "min", ftz ? ".ftz" : "", nan_wins ? ".NaN" : "",
                                  xorsign ? ".xorsign.abs" : "", t.name),
                      t,
                      {t, t},
                      [=](const u64* o) {
                        const u64 a = ftz ? shape.flushed(o[0]) : o[0], b = ftz ? shape.flushed(o[1]) : o[1];
                        if (!xorsign) return extreme(shape, a, b, max, nan_wins);
                        const u64 r = extreme(shape, shape.magnitude(a), shape.magnitude(b), max, nan_wins);
                        return shape.nan(r) ? shape.default_nan : r | ((a ^ b) & shape.sign());
                      }});
    }
  }
}

void sign_rows(Rows& rows, const Kind& t, bool ftz) {
  const Shape& shape = *t.shape;
  const std::string suffix = fmt::format("{}.{}", ftz ? ".ftz" : "", t.name);
  rows.push_back({"neg" + suffix, t, {t}, [=](const u64* o) {
                    const u64 x = ftz ? shape.flushed(o[0]) : o[0];
                    return shape.nan(x) ? reference::nan_result(shape, {x}) : x ^ shape.sign();
                  }});
  rows.push_back({"abs" + suffix, t, {t}, [=](const u64* o) {
                    const u64 x = ftz ? shape.flushed(o[0]) : o[0];
                    return shape.nan(x) ? reference::nan_result(shape, {x}) : shape.magnitude(x);
                  }});
}

/// Comparison as the ISA words it: an ordered test and whether unordered operands pass.
struct Comparison {
  const char* name;
  bool less, equal, greater, unordered;
};
constexpr Comparison kComparisons[] = {
    {"eq", false, true, false, false}, {"ne", true, false, true, false},  {"lt", true, false, false, false},
    {"le", true, true, false, false},  {"gt", false, false, true, false}, {"ge", false, true, true, false},
    {"equ", false, true, false, true}, {"neu", true, false, true, true},  {"ltu", true, false, false, true},
    {"leu", true, true, false, true},  {"gtu", false, false, true, true}, {"geu", false, true, true, true},
    {"num", true, true, true, false},  {"nan", false, false, false, true}};

bool holds(const Shape& shape, const Comparison& c, u64 a, u64 b) {
  if (shape.nan(a) || shape.nan(b)) return c.unordered;
  const int order = mpfr_cmp(reference::Number(shape, a), reference::Number(shape, b));
  return order < 0 ? c.less : (order > 0 ? c.greater : c.equal);
}

void compare_rows(Rows& rows, const Kind& t, bool ftz) {
  const Shape& shape = *t.shape;
  for (const Comparison& c : kComparisons) {
    const auto test = [=](const u64* o) {
      return holds(shape, c, ftz ? shape.flushed(o[0]) : o[0], ftz ? shape.flushed(o[1]) : o[1]);
    };
    rows.push_back({fmt::format("setp.{}{}.{}", c.name, ftz ? ".ftz" : "", t.name), kPred, {t, t}, [=](const u64* o) {
                      return u64{test(o)};
                    }});
    if (t.bits < 32) continue;
    rows.push_back({fmt::format("set.{}{}.u32.{}", c.name, ftz ? ".ftz" : "", t.name), kU32, {t, t}, [=](const u64* o) {
                      return test(o) ? u64{0xffff'ffff} : 0;
                    }});
    rows.push_back({fmt::format("set.{}{}.f32.{}", c.name, ftz ? ".ftz" : "", t.name), kF32, {t, t}, [=](const u64* o) {
                      return test(o) ? u64{0x3f80'0000} : 0;
                    }});
  }
}

void property_rows(Rows& rows, const Kind& t) {
  const Shape& shape = *t.shape;
  using Test = bool (*)(const Shape&, u64);
  const std::pair<const char*, Test> tests[] = {
      {"finite", [](const Shape& s, u64 x) { return s.magnitude(x) < s.infinity(); }},
      {"infinite", [](const Shape& s, u64 x) { return s.magnitude(x) == s.infinity(); }},
      {"number", [](const Shape& s, u64 x) { return !s.nan(x); }},
      {"notanumber", [](const Shape& s, u64 x) { return s.nan(x); }},
      {"normal",
       [](const Shape& s, u64 x) { return s.magnitude(x) == 0 || (!s.subnormal(x) && s.magnitude(x) < s.infinity()); }},
      {"subnormal", [](const Shape& s, u64 x) { return s.subnormal(x) && s.magnitude(x) != 0; }}};
  for (const auto& [name, test] : tests)
    rows.push_back(
        {fmt::format("testp.{}.{}", name, t.name), kPred, {t}, [=](const u64* o) { return u64{test(shape, o[0])}; }});
  rows.push_back({fmt::format("copysign.{}", t.name), t, {t, t}, [=](const u64* o) {
                    return (o[0] & shape.sign()) | shape.magnitude(o[1]);
                  }});
}

/// `set` on halves, and with halves as results: all bits of a 16-bit integer or 1.0 stand for true.
void half_set_rows(Rows& rows, const Kind& t, const Kind& pair, bool ftz) {
  const Shape& shape = *t.shape;
  const u64 one = one_bits(shape);
  for (const Comparison& c : kComparisons) {
    const auto test = [=](u64 a, u64 b) {
      a &= 0xffff, b &= 0xffff;
      return holds(shape, c, ftz ? shape.flushed(a) : a, ftz ? shape.flushed(b) : b);
    };
    const std::string name = fmt::format("{}{}", c.name, ftz ? ".ftz" : "");
    const auto single = [&](const Kind& result, u64 truth) {
      rows.push_back({fmt::format("set.{}.{}.{}", name, result.name, t.name), result, {t, t}, [=](const u64* o) {
                        return test(o[0], o[1]) ? truth : 0;
                      }});
    };
    single(kU16, 0xffff);
    single(kS16, 0xffff);
    single(kU32, 0xffff'ffff);
    single(kS32, 0xffff'ffff);
    single(t, one);
    const auto packed = [&](const Kind& result, u64 truth) {
      rows.push_back(
          {fmt::format("set.{}.{}.{}", name, result.name, pair.name), result, {pair, pair}, [=](const u64* o) {
             return (test(o[0], o[1]) ? truth : 0) | (test(o[0] >> 16, o[1] >> 16) ? truth << 16 : 0);
           }});
    };
    packed(kU32, 0xffff);
    packed(kS32, 0xffff);
    packed(pair, one);
    // Both predicates, as two bits.
    rows.push_back({fmt::format("setp.{}.{}", name, pair.name),
                    kU32,
                    {pair, pair},
                    [=](const u64* o) { return u64{test(o[0], o[1])} | u64{test(o[0] >> 16, o[1] >> 16)} << 1; },
                    fmt::format("{{ .reg .pred q; setp.{}.{} P|q, A, B; selp.u32 D, 1, 0, P; selp.u32 X, 2, 0, q; "
                                "or.b32 D, D, X; }}",
                                name, pair.name)});
  }
}

/// The same combined with a predicate, C < 0, which serves both halves.
void half_combined_rows(Rows& rows, const Kind& t, const Kind& pair) {
  const Shape& shape = *t.shape;
  const auto less = [=](u64 a, u64 b) { return holds(shape, kComparisons[2], a & 0xffff, b & 0xffff); };
  using Logic = bool (*)(bool, bool);
  const std::tuple<const char*, const char*, Logic> operations[] = {
      {"and", "P", [](bool a, bool b) { return a && b; }},
      {"or", "!P", [](bool a, bool b) { return a || !b; }},
      {"xor", "P", [](bool a, bool b) { return a != b; }}};
  for (const auto& [op, predicate, logic] : operations) {
    const auto both = [=, function = logic](const u64* o, u64 truth) {
      const bool c = kS32.value(o[2]) < 0;
      return (function(less(o[0], o[1]), c) ? truth : 0) |
             (function(less(o[0] >> 16, o[1] >> 16), c) ? truth << 16 : 0);
    };
    rows.push_back({fmt::format("set.lt.{0}.{1}.{1}", op, pair.name),
                    pair,
                    {pair, pair, kS32},
                    [=, one = one_bits(shape)](const u64* o) { return both(o, one); },
                    fmt::format("setp.lt.s32 P, C, 0; set.lt.{0}.{1}.{1} D, A, B, {2};", op, pair.name, predicate)});
    rows.push_back(
        {fmt::format("setp.lt.{}.{}", op, pair.name),
         kU32,
         {pair, pair, kS32},
         [=](const u64* o) { return (both(o, 1) & 1) | both(o, 1) >> 15; },
         fmt::format("{{ .reg .pred q, r; setp.lt.s32 P, C, 0; setp.lt.{}.{} r|q, A, B, {}; selp.u32 D, 1, 0, "
                     "r; selp.u32 X, 2, 0, q; or.b32 D, D, X; }}",
                     op, pair.name, predicate)});
  }
}

/// Halves as results of other comparisons.
void half_result_rows(Rows& rows) {
  for (const Kind& result : {kF16, kBF16}) {
    const u64 one = one_bits(*result.shape);
    for (const Kind& t : {kU16, kS16, kU32, kS32, kU64, kS64})
      rows.push_back({fmt::format("set.le.{}.{}", result.name, t.name), result, {t, t}, [=](const u64* o) {
                        return t.value(o[0]) <= t.value(o[1]) ? one : 0;
                      }});
    for (const Kind& t : {kF32, kF64})
      rows.push_back({fmt::format("set.leu.{}.{}", result.name, t.name), result, {t, t}, [=](const u64* o) {
                        return holds(*t.shape, kComparisons[9], o[0], o[1]) ? one : 0;
                      }});
  }
  rows.push_back({"set.gt.bf16.f16", kBF16, {kF16, kF16}, [](const u64* o) {
                    return holds(reference::kF16, kComparisons[4], o[0], o[1]) ? one_bits(reference::kBF16) : 0;
                  }});
}

/// A row of a half applied to both halves of registers.
Row packed(const Row& row, const Kind& kind) {
  Row both{row.opcode + "x2", kind, std::vector<Kind>(row.operands.size(), kind), {}};
  both.reference = [single = row.reference, n = row.operands.size()](const u64* o) {
    u64 low[3] = {}, high[3] = {};
    for (u64 i = 0; i < n; ++i) {
      low[i] = o[i] & 0xffff;
      high[i] = (o[i] >> 16) & 0xffff;
    }
    return single(high) << 16 | single(low);
  };
  return both;
}

}  // namespace

Rows float_rows() {
  Rows rows;
  for (const Kind& t : {kF32, kF64}) {
    arithmetic_rows(rows, t);
    extreme_rows(rows, t, false, t.bits == 32);
    sign_rows(rows, t, false);
    compare_rows(rows, t, false);
    property_rows(rows, t);
  }
  extreme_rows(rows, kF32, true, true);
  sign_rows(rows, kF32, true);
  compare_rows(rows, kF32, true);
  rows.push_back({"slct.ftz.u32.f32", kU32, {kU32, kU32, kF32}, [](const u64* o) {
                    // A NaN selects b, as any comparison with it fails; -0 counts as zero.
                    const u64 c = reference::kF32.flushed(o[2]);
                    return !reference::kF32.nan(c) &&
                                   (!reference::kF32.negative(c) || reference::kF32.magnitude(c) == 0)
                               ? o[0]
                               : o[1];
                  }});
  return rows;
}

Rows half_rows() {
  Rows rows;
  const std::pair<Kind, Kind> halves[] = {{kF16, kF16x2}, {kBF16, kBF16x2}};
  for (const auto& [t, pair] : halves) {
    Rows singles;
    for (const char* mode : {"", ".rn"}) {
      for (const Operation& op : {kAdd, kSub, kMul}) {
        arithmetic_row(singles, t, op, mode, MPFR_RNDN, false, false);
        if (t.shape == &reference::kF16) {
          arithmetic_row(singles, t, op, mode, MPFR_RNDN, true, false);
          arithmetic_row(singles, t, op, mode, MPFR_RNDN, false, true);
        }
      }
    }
    arithmetic_row(singles, t, kFma, ".rn", MPFR_RNDN, false, false);
    if (t.shape == &reference::kF16) {
      arithmetic_row(singles, t, kFma, ".rn", MPFR_RNDN, true, false);
      arithmetic_row(singles, t, kFma, ".rn", MPFR_RNDN, false, true);
    }
    const Shape* shape = t.shape;
    singles.push_back({fmt::format("fma.rn.relu.{}", t.name), t, {t, t, t}, [=](const u64* o) {
                         const u64 bits = evaluate(*shape, kFma, MPFR_RNDN, false, o);
                         return !shape->nan(bits) && shape->negative(bits) ? 0 : bits;
                       }});
    extreme_rows(singles, t, false, true);
    sign_rows(singles, t, false);
    for (const Row& row : singles) {
      rows.push_back(row);
      rows.push_back(packed(row, pair));
    }
    compare_rows(rows, t, false);
  }
  compare_rows(rows, kF16, true);
  return rows;
}

Rows half_compare_rows() {
  Rows rows;
  half_set_rows(rows, kF16, kF16x2, false);
  half_set_rows(rows, kF16, kF16x2, true);
  half_set_rows(rows, kBF16, kBF16x2, false);
  half_combined_rows(rows, kF16, kF16x2);
  half_combined_rows(rows, kBF16, kBF16x2);
  half_result_rows(rows);
  return rows;
}

}  // namespace terrace::opcodes
