// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "tests/unit/ptx_opcode_rows.h"

namespace terrace::opcodes {
namespace {

constexpr Kind kWholeKinds[] = {kU16, kS16, kU32, kS32, kU64, kS64};

Kind doubled(const Kind& kind) {
  if (kind.bits == 16) return kind.is_signed() ? kS32 : kU32;
  return kind.is_signed() ? kS64 : kU64;
}

/// The exact product as 128 bits: exact for every pair of operands, though the sign of u64 products is lost.
u128 product(const Kind& kind, u64 a, u64 b) {
  return static_cast<u128>(kind.value(a)) * static_cast<u128>(kind.value(b));
}
u64 high_half(const Kind& kind, u64 a, u64 b) {
  const u128 p = product(kind, a, b);
  return kind.wrap(static_cast<i128>(p >> kind.bits));
}

void arithmetic_rows(Rows& rows, const Kind& t) {
  const auto binary = [&](const char* name, auto function) {
    rows.push_back(
        {fmt::format("{}.{}", name, t.name), t, {t, t}, [=](const u64* o) { return t.wrap(function(t, o[0], o[1])); }});
  };
  binary("add", [](Kind k, u64 a, u64 b) { return k.value(a) + k.value(b); });
  binary("sub", [](Kind k, u64 a, u64 b) { return k.value(a) - k.value(b); });
  binary("mul.lo", [](Kind k, u64 a, u64 b) { return static_cast<i128>(product(k, a, b)); });
  binary("mul.hi", [](Kind k, u64 a, u64 b) { return i128{high_half(k, a, b)}; });
  // The ISA leaves division by zero open; an H200 gives all ones for quotient and remainder.
  binary("div", [](Kind k, u64 a, u64 b) { return k.value(b) == 0 ? i128{-1} : k.value(a) / k.value(b); });
  binary("rem", [](Kind k, u64 a, u64 b) { return k.value(b) == 0 ? i128{-1} : k.value(a) % k.value(b); });
  binary("min", [](Kind k, u64 a, u64 b) { return std::min(k.value(a), k.value(b)); });
  binary("max", [](Kind k, u64 a, u64 b) { return std::max(k.value(a), k.value(b)); });
  rows.push_back({fmt::format("mad.lo.{}", t.name), t, {t, t, t}, [=](const u64* o) {
                    return t.wrap(static_cast<i128>(product(t, o[0], o[1]) + static_cast<u128>(t.value(o[2]))));
                  }});
  rows.push_back({fmt::format("mad.hi.{}", t.name), t, {t, t, t}, [=](const u64* o) {
                    return t.wrap(i128{high_half(t, o[0], o[1])} + t.value(o[2]));
                  }});
  rows.push_back({fmt::format("sad.{}", t.name), t, {t, t, t}, [=](const u64* o) {
                    const i128 a = t.value(o[0]), b = t.value(o[1]);
                    return t.wrap(t.value(o[2]) + (a < b ? b - a : a - b));
                  }});
  if (t.bits < 64) {
    const Kind w = doubled(t);
    rows.push_back({fmt::format("mul.wide.{}", t.name), w, {t, t}, [=](const u64* o) {
                      return w.wrap(static_cast<i128>(product(t, o[0], o[1])));
                    }});
    rows.push_back({fmt::format("mad.wide.{}", t.name), w, {t, t, w}, [=](const u64* o) {
                      return w.wrap(static_cast<i128>(product(t, o[0], o[1])) + w.value(o[2]));
                    }});
  }
  if (t.is_signed()) {
    rows.push_back({fmt::format("neg.{}", t.name), t, {t}, [=](const u64* o) { return t.wrap(-t.value(o[0])); }});
    rows.push_back({fmt::format("abs.{}", t.name), t, {t}, [=](const u64* o) {
                      return t.wrap(t.value(o[0]) < 0 ? -t.value(o[0]) : t.value(o[0]));
                    }});
  }
}

void saturating_rows(Rows& rows) {
  rows.push_back({"add.sat.s32", kS32, {kS32, kS32}, [](const u64* o) {
                    return kS32.clamp(kS32.value(o[0]) + kS32.value(o[1]));
                  }});
  rows.push_back({"sub.sat.s32", kS32, {kS32, kS32}, [](const u64* o) {
                    return kS32.clamp(kS32.value(o[0]) - kS32.value(o[1]));
                  }});
  rows.push_back({"mad.hi.sat.s32", kS32, {kS32, kS32, kS32}, [](const u64* o) {
                    return kS32.clamp(((kS32.value(o[0]) * kS32.value(o[1])) >> 32) + kS32.value(o[2]));
                  }});
}

/// Halves of a register, each on its own, and .relu, which makes a negative result 0.
void packed_rows(Rows& rows) {
  using Binary = i128 (*)(i128, i128);
  const std::pair<const char*, Binary> operations[] = {
      {"add", [](i128 a, i128 b) { return a + b; }},
      {"min", [](i128 a, i128 b) { return std::min(a, b); }},
      {"max", [](i128 a, i128 b) { return std::max(a, b); }},
      {"min.relu", [](i128 a, i128 b) { return std::max(std::min(a, b), i128{0}); }},
      {"max.relu", [](i128 a, i128 b) { return std::max(std::max(a, b), i128{0}); }}};
  const std::pair<Kind, Kind> kinds[] = {{kU16, kU16x2}, {kS16, kS16x2}};
  for (const auto& [name, operation] : operations) {
    const bool relu = std::string_view(name).ends_with("relu");
    for (const auto& [half, pair] : kinds) {
      if (relu && !half.is_signed()) continue;
      rows.push_back({fmt::format("{}.{}", name, pair.name), pair, {pair, pair}, [=](const u64* o) {
                        const u64 low = half.wrap(operation(half.value(o[0]), half.value(o[1])));
                        const u64 high = half.wrap(operation(half.value(o[0] >> 16), half.value(o[1] >> 16)));
                        return high << 16 | low;
                      }});
    }
    if (relu)
      rows.push_back({fmt::format("{}.s32", name), kS32, {kS32, kS32}, [=](const u64* o) {
                        return kS32.wrap(operation(kS32.value(o[0]), kS32.value(o[1])));
                      }});
  }
}

void mul24_rows(Rows& rows) {
  for (const Kind& t : {kU32, kS32}) {
    const auto low24 = [t](u64 x) {
      const i128 v = static_cast<i128>(x & 0xff'ffff);
      return t.is_signed() && (x & 0x80'0000) != 0 ? v - (1 << 24) : v;
    };
    rows.push_back({fmt::format("mul24.lo.{}", t.name), t, {t, t}, [=](const u64* o) {
                      return t.wrap(low24(o[0]) * low24(o[1]));
                    }});
    rows.push_back({fmt::format("mul24.hi.{}", t.name), t, {t, t}, [=](const u64* o) {
                      return t.wrap((low24(o[0]) * low24(o[1])) >> 16);
                    }});
    rows.push_back({fmt::format("mad24.lo.{}", t.name), t, {t, t, t}, [=](const u64* o) {
                      return t.wrap(low24(o[0]) * low24(o[1]) + t.value(o[2]));
                    }});
    rows.push_back({fmt::format("mad24.hi.{}", t.name), t, {t, t, t}, [=](const u64* o) {
                      return t.wrap(((low24(o[0]) * low24(o[1])) >> 16) + t.value(o[2]));
                    }});
  }
}

void compare_rows(Rows& rows) {
  using Test = bool (*)(i128, i128);
  const std::pair<const char*, Test> tests[] = {
      {"eq", [](i128 a, i128 b) { return a == b; }}, {"ne", [](i128 a, i128 b) { return a != b; }},
      {"lt", [](i128 a, i128 b) { return a < b; }},  {"le", [](i128 a, i128 b) { return a <= b; }},
      {"gt", [](i128 a, i128 b) { return a > b; }},  {"ge", [](i128 a, i128 b) { return a >= b; }},
      {"lo", [](i128 a, i128 b) { return a < b; }},  {"ls", [](i128 a, i128 b) { return a <= b; }},
      {"hi", [](i128 a, i128 b) { return a > b; }},  {"hs", [](i128 a, i128 b) { return a >= b; }}};
  const auto add = [&](const char* name, Test test, const Kind& t) {
    rows.push_back({fmt::format("setp.{}.{}", name, t.name), kPred, {t, t}, [=](const u64* o) {
                      return u64{test(t.value(o[0]), t.value(o[1]))};
                    }});
  };
  for (const auto& [name, test] : tests) {
    const std::string_view spelling = name;
    const bool unsigned_only = spelling == "lo" || spelling == "ls" || spelling == "hi" || spelling == "hs";
    for (const Kind& t : kWholeKinds)
      if (!t.is_signed() || !unsigned_only) add(name, test, t);
    if (spelling == "eq" || spelling == "ne")
      for (const Kind& t : {kB16, kB32, kB64}) add(name, test, t);
    rows.push_back({fmt::format("set.{}.u32.u32", name), kU32, {kU32, kU32}, [=](const u64* o) {
                      return test(kU32.value(o[0]), kU32.value(o[1])) ? u64{0xffff'ffff} : 0;
                    }});
  }
  rows.push_back({"setp.lt.and.s32",
                  kPred,
                  {kS32, kS32, kS32},
                  [](const u64* o) { return u64{kS32.value(o[0]) < kS32.value(o[1]) && kS32.value(o[2]) < 0}; },
                  "setp.lt.s32 P, C, 0; setp.lt.and.s32 P, A, B, P;"});
  rows.push_back({"setp.ge.or.u64",
                  kPred,
                  {kU64, kU64, kS32},
                  [](const u64* o) { return u64{o[0] >= o[1] || kS32.value(o[2]) >= 0}; },
                  "setp.lt.s32 P, C, 0; setp.ge.or.u64 P, A, B, !P;"});
  rows.push_back({"setp.eq.xor.s16",
                  kPred,
                  {kS16, kS16, kS32},
                  [](const u64* o) { return u64{(kS16.value(o[0]) == kS16.value(o[1])) != (kS32.value(o[2]) < 0)}; },
                  "setp.lt.s32 P, C, 0; setp.eq.xor.s16 P, A, B, P;"});
}

void select_rows(Rows& rows) {
  for (const Kind& t : {kB16, kB32, kB64, kU16, kU32, kU64, kS16, kS32, kS64, kF32, kF64}) {
    rows.push_back({fmt::format("selp.{}", t.name),
                    t,
                    {t, t, kS32},
                    [](const u64* o) { return kS32.value(o[2]) < 0 ? o[0] : o[1]; },
                    fmt::format("setp.lt.s32 P, C, 0; selp.{} D, A, B, P;", t.name)});
  }
  for (const Kind& t : {kB32, kU64, kF32})
    rows.push_back({fmt::format("slct.{}.s32", t.name), t, {t, t, kS32}, [](const u64* o) {
                      return kS32.value(o[2]) >= 0 ? o[0] : o[1];
                    }});
  for (const Kind& t : {kB16, kB32, kB64, kU16, kS32, kU64, kF32, kF64})
    rows.push_back({fmt::format("mov.{}", t.name), t, {t}, [](const u64* o) { return o[0]; }});
  rows.push_back(
      {"mov.b64 (pack)", kB64, {kB32, kB32}, [](const u64* o) { return o[1] << 32 | o[0]; }, "mov.b64 D, {A, B};"});
  rows.push_back(
      {"mov.b32 (pack)", kB32, {kB16, kB16}, [](const u64* o) { return o[1] << 16 | o[0]; }, "mov.b32 D, {A, B};"});
  rows.push_back({"mov.b64 (unpack)",
                  kB32,
                  {kB64},
                  [](const u64* o) { return (o[0] >> 32) ^ (o[0] & 0xffff'ffff); },
                  "{ .reg .b32 lo, hi; mov.b64 {lo, hi}, A; xor.b32 D, lo, hi; }"});
}

bool bit(u64 x, u64 position) {
  return position < 64 && ((x >> position) & 1) != 0;
}

void logic_rows(Rows& rows) {
  for (const Kind& t : {kB16, kB32, kB64}) {
    const auto name = [&](const char* op) { return fmt::format("{}.{}", op, t.name); };
    rows.push_back({name("and"), t, {t, t}, [](const u64* o) { return o[0] & o[1]; }});
    rows.push_back({name("or"), t, {t, t}, [](const u64* o) { return o[0] | o[1]; }});
    rows.push_back({name("xor"), t, {t, t}, [](const u64* o) { return o[0] ^ o[1]; }});
    rows.push_back({name("not"), t, {t}, [=](const u64* o) { return t.wrap(static_cast<i128>(~o[0])); }});
    rows.push_back({name("cnot"), t, {t}, [](const u64* o) { return u64{o[0] == 0}; }});
    rows.push_back({name("shl"), t, {t, kAmount}, [=](const u64* o) {
                      return o[1] >= u64(t.bits) ? 0 : t.wrap(static_cast<i128>(u128{o[0]} << o[1]));
                    }});
    rows.push_back(
        {name("shr"), t, {t, kAmount}, [=](const u64* o) { return o[1] >= u64(t.bits) ? 0 : o[0] >> o[1]; }});
  }
  for (const Kind& t : kWholeKinds)
    rows.push_back({fmt::format("shr.{}", t.name), t, {t, kAmount}, [=](const u64* o) {
                      return t.wrap(t.value(o[0]) >> std::min<u64>(o[1], 100));
                    }});
  using Logic = bool (*)(bool, bool);
  const std::pair<const char*, Logic> operations[] = {{"and", [](bool a, bool b) { return a && b; }},
                                                      {"or", [](bool a, bool b) { return a || b; }},
                                                      {"xor", [](bool a, bool b) { return a != b; }}};
  for (const auto& [op, logic] : operations)
    rows.push_back({fmt::format("{}.pred", op),
                    kPred,
                    {kS32, kS32},
                    [=](const u64* o) { return u64{logic(kS32.value(o[0]) < 0, kS32.value(o[1]) < 0)}; },
                    fmt::format("{{ .reg .pred q; setp.lt.s32 P, A, 0; setp.lt.s32 q, B, 0; {}.pred P, P, q; }}", op)});
  rows.push_back({"not.pred",
                  kPred,
                  {kS32},
                  [](const u64* o) { return u64{kS32.value(o[0]) >= 0}; },
                  "setp.lt.s32 P, A, 0; not.pred P, P;"});
  rows.push_back({"mov.pred",
                  kPred,
                  {kS32},
                  [](const u64* o) { return u64{kS32.value(o[0]) < 0}; },
                  "{ .reg .pred q; setp.lt.s32 q, A, 0; mov.pred P, q; }"});
  for (const u32 table : {0x96u, 0xe8u, 0xcau, 0x1bu, 0x80u, 0xfeu})
    rows.push_back({fmt::format("lop3.b32 {:#x}", table),
                    kB32,
                    {kB32, kB32, kB32},
                    [=](const u64* o) {
                      u64 r = 0;
                      for (u32 k = 0; k < 32; ++k)
                        r |= u64{(table >> (bit(o[0], k) * 4 + bit(o[1], k) * 2 + bit(o[2], k))) & 1} << k;
                      return r;
                    },
                    fmt::format("lop3.b32 D, A, B, C, {};", table)});
}

/// bfe, bit by bit from the ISA's pseudo-code.
u64 extracted(const Kind& t, u64 a, u64 position, u64 length) {
  const u64 pos = position & 255, len = length & 255, top = static_cast<u64>(t.bits - 1);
  const bool sign = t.is_signed() && len != 0 && bit(a, std::min(pos + len - 1, top));
  u64 r = 0;
  for (u64 k = 0; k <= top; ++k)
    if (k < len && pos + k <= top ? bit(a, pos + k) : sign) r |= u64{1} << k;
  return r;
}

void field_rows(Rows& rows) {
  for (const Kind& t : {kU32, kS32, kU64, kS64}) {
    rows.push_back({fmt::format("bfe.{}", t.name), t, {t, kAmount, kAmount}, [=](const u64* o) {
                      return extracted(t, o[0], o[1], o[2]);
                    }});
    const auto leading = [=](u64 a) {
      u64 found = 0xffff'ffff;
      for (u64 k = 0; k < u64(t.bits); ++k)
        if (bit(a, k) != (t.value(a) < 0)) found = k;
      return found;
    };
    rows.push_back({fmt::format("bfind.{}", t.name), kU32, {t}, [=](const u64* o) { return leading(o[0]); }});
    rows.push_back({fmt::format("bfind.shiftamt.{}", t.name), kU32, {t}, [=](const u64* o) {
                      const u64 found = leading(o[0]);
                      return found == 0xffff'ffff ? found : u64(t.bits) - 1 - found;
                    }});
  }
  for (const Kind& t : {kB32, kB64}) {
    rows.push_back({fmt::format("bfi.{}", t.name), t, {t, t, kAmount, kAmount}, [=](const u64* o) {
                      u64 r = o[1];
                      const u64 pos = o[2] & 255, len = o[3] & 255;
                      for (u64 k = 0; k < len && pos + k < u64(t.bits); ++k)
                        r = (r & ~(u64{1} << (pos + k))) | (u64{bit(o[0], k)} << (pos + k));
                      return r;
                    }});
    rows.push_back({fmt::format("popc.{}", t.name), kU32, {t}, [](const u64* o) {
                      u64 n = 0;
                      for (u64 k = 0; k < 64; ++k) n += bit(o[0], k);
                      return n;
                    }});
    rows.push_back({fmt::format("clz.{}", t.name), kU32, {t}, [=](const u64* o) {
                      u64 n = 0;
                      while (n < u64(t.bits) && !bit(o[0], u64(t.bits) - 1 - n)) ++n;
                      return n;
                    }});
    rows.push_back({fmt::format("brev.{}", t.name), t, {t}, [=](const u64* o) {
                      u64 r = 0;
                      for (u64 k = 0; k < u64(t.bits); ++k) r |= u64{bit(o[0], k)} << (u64(t.bits) - 1 - k);
                      return r;
                    }});
  }
  rows.push_back({"bmsk.clamp.b32", kB32, {kAmount, kAmount}, [](const u64* o) {
                    u64 r = 0;
                    for (u64 k = 0; k < 32; ++k) r |= u64{k >= o[0] && k - o[0] < o[1]} << k;
                    return r;
                  }});
  rows.push_back({"fns.b32",
                  kB32,
                  {kB32, kAmount, kS32},
                  [](const u64* o) {
                    const u64 base = o[1] & 31;
                    const i128 offset = kS32.value(o[2]) % 5;
                    i128 left = offset == 0 ? 1 : (offset < 0 ? -offset : offset);
                    for (i128 p = static_cast<i128>(base); p >= 0 && p < 32; p += offset < 0 ? -1 : 1) {
                      if (bit(o[0], static_cast<u64>(p)) && --left == 0) return static_cast<u64>(p);
                      if (offset == 0) break;
                    }
                    return u64{0xffff'ffff};
                  },
                  "and.b32 B, B, 31; rem.s32 C, C, 5; fns.b32 D, A, B, C;"});
}

/// The selectors of prmt's modes as the ISA's table lists them, byte 3 first.
void permute_rows(Rows& rows) {
  const std::pair<const char*, const char*> modes[] = {
      {".f4e", "3210 4321 5432 6543"}, {".b4e", "5670 6701 7012 0123"}, {".rc8", "0000 1111 2222 3333"},
      {".ecl", "3210 3211 3222 3333"}, {".ecr", "0000 1110 2210 3210"}, {".rc16", "1010 3232 1010 3232"}};
  const auto byte = [](const u64* o, u64 index) { return ((o[1] << 32 | o[0]) >> (8 * index)) & 0xff; };
  rows.push_back({"prmt.b32", kB32, {kB32, kB32, kB32}, [=](const u64* o) {
                    u64 r = 0;
                    for (u64 i = 0; i < 4; ++i) {
                      const u64 select = o[2] >> (4 * i);
                      const u64 picked = byte(o, select & 7);
                      r |= ((select & 8) != 0 ? (picked >= 0x80 ? 0xff : 0) : picked) << (8 * i);
                    }
                    return r;
                  }});
  for (const auto& [name, table] : modes)
    rows.push_back(
        {fmt::format("prmt.b32{}", name), kB32, {kB32, kB32, kB32}, [=, t = std::string(table)](const u64* o) {
           u64 r = 0;
           for (u64 i = 0; i < 4; ++i) r |= byte(o, static_cast<u64>(t[(o[2] & 3) * 5 + 3 - i] - '0')) << (8 * i);
           return r;
         }});
  for (const char* mode : {"wrap", "clamp"}) {
    const bool wrap = mode[0] == 'w';
    const auto used = [=](u64 n) { return wrap ? n % 32 : std::min<u64>(n, 32); };
    rows.push_back({fmt::format("shf.l.{}.b32", mode), kB32, {kB32, kB32, kAmount}, [=](const u64* o) {
                      return kB32.wrap(static_cast<i128>((u128{o[1]} << 32 | o[0]) << used(o[2]) >> 32));
                    }});
    rows.push_back({fmt::format("shf.r.{}.b32", mode), kB32, {kB32, kB32, kAmount}, [=](const u64* o) {
                      return kB32.wrap(static_cast<i128>((u128{o[1]} << 32 | o[0]) >> used(o[2])));
                    }});
  }
}

void dot_rows(Rows& rows) {
  for (const Kind& x : {kU32, kS32}) {
    for (const Kind& y : {kU32, kS32}) {
      const auto lane = [](const Kind& t, u64 word, u64 index, int bits) {
        const Kind narrow{t.cls, bits, ""};
        return narrow.value(word >> (static_cast<u64>(bits) * index));
      };
      const Kind t = x.is_signed() || y.is_signed() ? kS32 : kU32;
      rows.push_back({fmt::format("dp4a.{}.{}", x.name, y.name), t, {kB32, kB32, t}, [=](const u64* o) {
                        i128 sum = t.value(o[2]);
                        for (u64 i = 0; i < 4; ++i) sum += lane(x, o[0], i, 8) * lane(y, o[1], i, 8);
                        return t.wrap(sum);
                      }});
      for (const u64 half : {0, 2})
        rows.push_back({fmt::format("dp2a.{}.{}.{}", half == 0 ? "lo" : "hi", x.name, y.name),
                        t,
                        {kB32, kB32, t},
                        [=](const u64* o) {
                          i128 sum = t.value(o[2]);
                          for (u64 i = 0; i < 2; ++i) sum += lane(x, o[0], i, 16) * lane(y, o[1], i + half, 8);
                          return t.wrap(sum);
                        }});
    }
  }
}

/// Three links of a chain each, so that carries both enter and leave.
void carry_rows(Rows& rows) {
  for (const Kind& t : {kU32, kS32, kU64, kS64}) {
    const Kind u = t.bits == 32 ? kU32 : kU64;
    const auto sum = [=](u64 a, u64 b, u64& carry) {
      const i128 exact = u.value(a) + u.value(b) + static_cast<i128>(carry);
      carry = exact > u.value(~u64{0});
      return u.wrap(exact);
    };
    const auto difference = [=](u64 a, u64 b, u64& borrow) {
      const i128 exact = u.value(a) - u.value(b) - static_cast<i128>(borrow);
      borrow = exact < 0;
      return u.wrap(exact);
    };
    const std::string n = t.name;
    rows.push_back({"add.cc/addc." + n,
                    t,
                    {t, t, t},
                    [=](const u64* o) {
                      u64 c = 0;
                      const u64 x = sum(o[0], o[1], c), y = sum(x, o[2], c);
                      return sum(y, o[0], c);
                    },
                    fmt::format("add.cc.{0} X, A, B; addc.cc.{0} X, X, C; addc.{0} D, X, A;", n)});
    rows.push_back({"sub.cc/subc." + n,
                    t,
                    {t, t, t},
                    [=](const u64* o) {
                      u64 c = 0;
                      const u64 x = difference(o[0], o[1], c), y = difference(x, o[2], c);
                      return difference(y, o[0], c);
                    },
                    fmt::format("sub.cc.{0} X, A, B; subc.cc.{0} X, X, C; subc.{0} D, X, A;", n)});
    const auto low = [=](u64 a, u64 b) { return u.wrap(static_cast<i128>(product(t, a, b))); };
    const auto high = [=](u64 a, u64 b) { return high_half(t, a, b); };
    rows.push_back({"mad.lo.cc/madc.hi.cc/madc.lo." + n,
                    t,
                    {t, t, t},
                    [=](const u64* o) {
                      u64 c = 0;
                      const u64 x = sum(low(o[0], o[1]), o[2], c), y = sum(high(o[0], o[1]), x, c);
                      return sum(low(y, o[2]), o[0], c);
                    },
                    fmt::format("mad.lo.cc.{0} X, A, B, C; madc.hi.cc.{0} X, A, B, X; madc.lo.{0} D, X, C, A;", n)});
    rows.push_back({"mad.hi.cc/madc.lo.cc/madc.hi." + n,
                    t,
                    {t, t, t},
                    [=](const u64* o) {
                      u64 c = 0;
                      const u64 x = sum(high(o[0], o[1]), o[2], c), y = sum(low(o[0], o[1]), x, c);
                      return sum(high(y, o[2]), o[0], c);
                    },
                    fmt::format("mad.hi.cc.{0} X, A, B, C; madc.lo.cc.{0} X, A, B, X; madc.hi.{0} D, X, C, A;", n)});
  }
}

}  // namespace

Rows integer_rows() {
  Rows rows;
  for (const Kind& t : kWholeKinds) arithmetic_rows(rows, t);
  saturating_rows(rows);
  packed_rows(rows);
  mul24_rows(rows);
  compare_rows(rows);
  select_rows(rows);
  logic_rows(rows);
  field_rows(rows);
  permute_rows(rows);
  dot_rows(rows);
  carry_rows(rows);
  return rows;
}

}  // namespace terrace::opcodes
