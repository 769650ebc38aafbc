// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "tests/unit/ptx_opcode_rows.h"

namespace terrace::opcodes {
namespace {

using reference::Number;
using reference::Shape;

constexpr Kind kIntegers[] = {kU8, kS8, kU16, kS16, kU32, kS32, kU64, kS64};

void integer_rows_of(Rows& rows) {
  for (const Kind& to : kIntegers) {
    for (const Kind& from : kIntegers) {
      const auto name = [&](const char* sat) { return fmt::format("cvt{}.{}.{}", sat, to.name, from.name); };
      if (to.name != from.name)
        rows.push_back({name(""), to, {from}, [=](const u64* o) { return to.wrap(from.value(o[0])); }});
      // ptxas refuses .sat where nothing can saturate.
      const bool can =
          to.bits < from.bits || (to.is_signed() != from.is_signed() && (to.bits == from.bits || from.is_signed()));
      if (can) rows.push_back({name(".sat"), to, {from}, [=](const u64* o) { return to.clamp(from.value(o[0])); }});
    }
  }
}

u64 from_integer(const Shape& shape, const Kind& from, u64 raw, mpfr_rnd_t mode) {
  return reference::rounded(shape, mode, false, [&](mpfr_ptr r, mpfr_rnd_t m) {
    return from.is_signed() ? mpfr_set_si(r, static_cast<i64>(from.value(raw)), m)
                            : mpfr_set_ui(r, static_cast<u64>(from.value(raw)), m);
  });
}

/// PTX ISA 9.0: clamped; a NaN gives zero unless the source is f64 or the result has 64 bits, then only the top bit is
/// set.
u64 to_integer(const Kind& to, const Shape& shape, u64 bits, mpfr_rnd_t mode) {
  if (shape.nan(bits)) return shape.width == 64 || to.bits == 64 ? u64{1} << (to.bits - 1) : 0;
  const Number x(shape, bits);
  if (mpfr_cmp_d(x, 0x1p66) > 0) return to.clamp(i128{1} << 70);
  if (mpfr_cmp_d(x, -0x1p66) < 0) return to.clamp(-(i128{1} << 70));
  Number whole(80);
  mpfr_rint(whole, x, mode);
  // In two exact halves, because no MPFR function returns 128 bits.
  Number high(80);
  mpfr_div_2ui(high, whole, 32, MPFR_RNDN);
  mpfr_floor(high, high);
  const i128 upper = mpfr_get_si(high, MPFR_RNDN);
  mpfr_mul_2ui(high, high, 32, MPFR_RNDN);
  mpfr_sub(whole, whole, high, MPFR_RNDN);
  return to.clamp(upper * (i128{1} << 32) + mpfr_get_si(whole, MPFR_RNDN));
}

void integer_float_rows(Rows& rows) {
  for (const Kind& f : {kF16, kBF16, kF32, kF64}) {
    const Shape* shape = f.shape;
    for (const Kind& i : kIntegers) {
      if (f.shape == &reference::kBF16 && i.bits == 8) continue;  // not in the ISA
      for (u32 m = 0; m < 4; ++m) {
        const mpfr_rnd_t mode = reference::kRoundings[m];
        rows.push_back({fmt::format("cvt.{}.{}.{}", kModes[m], f.name, i.name), f, {i}, [=](const u64* o) {
                          return from_integer(*shape, i, o[0], mode);
                        }});
        rows.push_back({fmt::format("cvt.{}i.{}.{}", kModes[m], i.name, f.name), i, {f}, [=](const u64* o) {
                          return to_integer(i, *shape, o[0], mode);
                        }});
      }
      if (f.bits == 32) {
        rows.push_back({fmt::format("cvt.rzi.ftz.{}.f32", i.name), i, {f}, [=](const u64* o) {
                          return to_integer(i, *shape, shape->flushed(o[0]), MPFR_RNDZ);
                        }});
        rows.push_back({fmt::format("cvt.rzi.sat.{}.f32", i.name), i, {f}, [=](const u64* o) {
                          return to_integer(i, *shape, o[0], MPFR_RNDZ);
                        }});
      }
    }
  }
  for (u32 m = 0; m < 4; ++m)
    rows.push_back({fmt::format("cvt.{}.sat.f32.s32", kModes[m]), kF32, {kS32}, [=](const u64* o) {
                      return saturated(reference::kF32,
                                       from_integer(reference::kF32, kS32, o[0], reference::kRoundings[m]));
                    }});
}

u64 converted(const Shape& from, const Shape& to, mpfr_rnd_t mode, bool ftz, u64 bits) {
  const u64 source = ftz && from.width == 32 ? from.flushed(bits) : bits;
  // .ftz on an f32 operand also makes a NaN canonical first (H200).
  if (from.nan(source)) return reference::converted_nan(from, to, ftz && from.width == 32 ? from.default_nan : source);
  const Number x(from, source);
  return reference::rounded(to, mode, ftz && to.width == 32,
                            [&](mpfr_ptr r, mpfr_rnd_t m) { return mpfr_set(r, x, m); });
}

void float_row(Rows& rows, const Kind& to, const Kind& from, const char* mode_name, mpfr_rnd_t mode,
               const char* modifiers) {
  const std::string_view m = modifiers;
  const bool ftz = m.find("ftz") != m.npos, sat = m.find("sat") != m.npos, relu = m.find("relu") != m.npos;
  rows.push_back(
      {fmt::format("cvt{}{}.{}.{}", mode_name, modifiers, to.name, from.name), to, {from}, [=](const u64* o) {
         const u64 bits = converted(*from.shape, *to.shape, mode, ftz, o[0]);
         if (relu) return !to.shape->nan(bits) && to.shape->negative(bits) ? 0 : bits;
         return sat ? saturated(*to.shape, bits) : bits;
       }});
}

void float_float_rows(Rows& rows) {
  const std::pair<Kind, Kind> narrowing[] = {{kF32, kF64}, {kF16, kF64}, {kBF16, kF64}, {kF16, kF32}, {kBF16, kF32}};
  for (u32 m = 0; m < 4; ++m) {
    const std::string mode = fmt::format(".{}", kModes[m]);
    for (const auto& [to, from] : narrowing) {
      float_row(rows, to, from, mode.c_str(), reference::kRoundings[m], "");
      if (to.bits == 32)
        for (const char* modifiers : {".ftz", ".sat", ".ftz.sat"})
          float_row(rows, to, from, mode.c_str(), reference::kRoundings[m], modifiers);
      if (from.bits == 32 && m < 2) float_row(rows, to, from, mode.c_str(), reference::kRoundings[m], ".relu");
    }
    float_row(rows, kF16, kF32, mode.c_str(), reference::kRoundings[m], ".sat");
  }
  float_row(rows, kF64, kF32, "", MPFR_RNDN, "");
  float_row(rows, kF64, kF32, "", MPFR_RNDN, ".ftz");
  float_row(rows, kF64, kF32, "", MPFR_RNDN, ".sat");
  for (const Kind& from : {kF16, kBF16})
    for (const Kind& to : {kF32, kF64}) float_row(rows, to, from, "", MPFR_RNDN, "");
  float_row(rows, kF32, kF16, "", MPFR_RNDN, ".sat");
}

void integral_rows(Rows& rows) {
  for (const Kind& t : {kF16, kF32, kF64}) {
    const Shape* shape = t.shape;
    for (u32 m = 0; m < 4; ++m) {
      const auto integral = [=](u64 bits) {
        if (shape->nan(bits)) return reference::nan_result(*shape, {bits});
        const Number x(*shape, bits);
        Number r(shape->precision);
        mpfr_rint(r, x, reference::kRoundings[m]);
        return reference::encode(*shape, r);
      };
      rows.push_back({fmt::format("cvt.{}i.{}.{}", kModes[m], t.name, t.name), t, {t}, [=](const u64* o) {
                        return integral(o[0]);
                      }});
      if (t.bits != 32) continue;
      rows.push_back({fmt::format("cvt.{}i.ftz.f32.f32", kModes[m]), t, {t}, [=](const u64* o) {
                        return integral(shape->flushed(o[0]));
                      }});
      rows.push_back({fmt::format("cvt.{}i.sat.f32.f32", kModes[m]), t, {t}, [=](const u64* o) {
                        return saturated(*shape, integral(o[0]));
                      }});
    }
  }
  for (const Kind& t : {kF32, kF64})
    rows.push_back({fmt::format("cvt.sat.{}.{}", t.name, t.name), t, {t}, [=](const u64* o) {
                      return saturated(*t.shape, o[0]);
                    }});
  rows.push_back({"cvt.ftz.sat.f32.f32", kF32, {kF32}, [](const u64* o) {
                    return saturated(reference::kF32, reference::kF32.flushed(o[0]));
                  }});
}

void packed_rows(Rows& rows) {
  const std::pair<Kind, const char*> halves[] = {{kF16, "f16x2"}, {kBF16, "bf16x2"}};
  for (const auto& [half, name] : halves)
    for (u32 m = 0; m < 2; ++m)
      for (const bool relu : {false, true})
        rows.push_back({fmt::format("cvt.{}{}.{}.f32", kModes[m], relu ? ".relu" : "", name),
                        kB32,
                        {kF32, kF32},
                        [=, shape = half.shape](const u64* o) {
                          u64 part[2];
                          for (u32 i = 0; i < 2; ++i) {
                            part[i] = converted(reference::kF32, *shape, reference::kRoundings[m], false, o[i]);
                            if (relu && !shape->nan(part[i]) && shape->negative(part[i])) part[i] = 0;
                          }
                          return part[0] << 16 | part[1];
                        }});
  rows.push_back({"cvt.rna.tf32.f32", kB32, {kF32}, [](const u64* o) {
                    // Ties away from zero on the magnitude; infinities and NaNs lose their low bits (H200).
                    const Shape& s = reference::kF32;
                    return s.magnitude(o[0]) >= s.infinity() ? o[0] & ~u64{0x1fff} : (o[0] + 0x1000) & ~u64{0x1fff};
                  }});
}

}  // namespace

Rows convert_rows() {
  Rows rows;
  integer_rows_of(rows);
  integer_float_rows(rows);
  float_float_rows(rows);
  integral_rows(rows);
  packed_rows(rows);
  return rows;
}

/// The exact function rounded to nearest; the machine may be one unit away. Bounds of the ISA are wider (docs/ptx.md).
Rows approx_rows() {
  using Function = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
  struct Approximate {
    const char* name;
    Function exact;
    bool plain, ftz;
  };
  const Approximate functions[] = {
      {"ex2.approx", mpfr_exp2, true, true},
      {"lg2.approx", mpfr_log2, true, true},
      {"sin.approx", mpfr_sin, true, true},
      {"cos.approx", mpfr_cos, true, true},
      {"tanh.approx", mpfr_tanh, true, false},
      {"rcp.approx", [](mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t m) { return mpfr_ui_div(r, 1, x, m); }, true, true},
      {"sqrt.approx", [](mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t m) { return mpfr_sqrt(r, x, m); }, true, true},
      {"rsqrt.approx",
       [](mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t m) {
         if (!mpfr_zero_p(x)) return mpfr_rec_sqrt(r, x, m);
         mpfr_set_inf(r, mpfr_signbit(x) ? -1 : 1);  // the ISA keeps the sign of a zero, MPFR does not
         return 0;
       },
       true, true}};
  Rows rows;
  for (const Approximate& f : functions) {
    for (const bool ftz : {false, true}) {
      if (!(ftz ? f.ftz : f.plain)) continue;
      const bool sine = f.exact == mpfr_sin;
      Row row{fmt::format("{}{}.f32", f.name, ftz ? ".ftz" : ""), kF32, {kF32}, [=](const u64* o) {
                // sin of a subnormal is zero with and without .ftz (table of the ISA).
                const u64 x = ftz || sine ? reference::kF32.flushed(o[0]) : o[0];
                return reference::arithmetic(reference::kF32, MPFR_RNDN, ftz, {x}, {},
                                             [&](mpfr_ptr r, mpfr_srcptr a, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t m) {
                                               return f.exact(r, a, m);
                                             });
              }};
      row.ulps = 1;
      rows.push_back(row);
    }
  }
  for (const bool ftz : {false, true}) {
    const auto quotient = [=](const u64* o) {
      return reference::arithmetic(
          reference::kF32, MPFR_RNDN, ftz, {o[0], o[1]}, {},
          [](mpfr_ptr r, mpfr_srcptr a, mpfr_srcptr b, mpfr_srcptr, mpfr_rnd_t m) { return mpfr_div(r, a, b, m); });
    };
    const char* suffix = ftz ? ".ftz.f32" : ".f32";
    Row full{fmt::format("div.full{}", suffix), kF32, {kF32, kF32}, quotient};
    full.ulps = 2;
    rows.push_back(full);
    Row approx{fmt::format("div.approx{}", suffix), kF32, {kF32, kF32}, [=](const u64* o) {
                 // Above 2^126 the ISA asks for zero, and for NaN if a is infinite.
                 const Shape& s = reference::kF32;
                 const u64 b = s.magnitude(o[1]);
                 if (b <= 0x7e80'0000 || b >= s.infinity()) return quotient(o);
                 return s.magnitude(o[0]) >= s.infinity() ? s.default_nan : (o[0] ^ o[1]) & s.sign();
               }};
    approx.ulps = 2;
    rows.push_back(approx);
  }
  const auto upper = [](u64 bits) { return bits & 0xffff'ffff'0000'0000; };
  const auto coarse = [&](const char* name, Function exact) {
    Row row{name, kF64, {kF64}, [=](const u64* o) {
              const Shape& s = reference::kF64;
              const u64 x = s.flushed(upper(o[0]));
              if (s.nan(x)) return u64{0x7fff'ffff'0000'0000};
              const Number a(s, x);
              const u64 r =
                  reference::rounded(s, MPFR_RNDZ, true, [&](mpfr_ptr p, mpfr_rnd_t m) { return exact(p, a, m); });
              return s.nan(r) ? u64{0x7fff'ffff'0000'0000} : upper(r);
            }};
    row.ulps = 0x1p32;  // one unit of the 20 mantissa bits
    rows.push_back(row);
  };
  coarse("rcp.approx.ftz.f64", functions[5].exact);
  coarse("rsqrt.approx.ftz.f64", functions[7].exact);
  Row fine{"rsqrt.approx.f64", kF64, {kF64}, [f = functions[7].exact](const u64* o) {
             return reference::arithmetic(
                 reference::kF64, MPFR_RNDN, false, {o[0]}, {o[0]},
                 [=](mpfr_ptr r, mpfr_srcptr a, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t m) { return f(r, a, m); });
           }};
  fine.ulps = 2;
  rows.push_back(fine);
  return rows;
}

}  // namespace terrace::opcodes
