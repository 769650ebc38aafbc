// Integer instructions against plain bit-by-bit or 128-bit definitions taken from the PTX ISA's pseudo-code.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/rng.h"
#include "frontend/ptx/arith/integer.h"
#include "tests/unit/arith_cases.h"

namespace terrace::ptx {
namespace {

__extension__ typedef __int128 i128;

template <class T>
T operand(Rng& rng) {
  const u64 special[] = {0,    1, 2, ~u64{0}, u64{1} << (sizeof(T) * 8 - 1), (u64{1} << (sizeof(T) * 8 - 1)) - 1,
                         0x55, 31};
  return static_cast<T>(rng.below(4) == 0 ? special[rng.below(8)] : rng.next() >> rng.below(64));
}
u32 amount(Rng& rng) {
  const u32 special[] = {0, 31, 32, 33, 63, 64, 65, 255, 256, ~0u};
  return rng.below(3) == 0 ? special[rng.below(10)] : static_cast<u32>(rng.below(70));
}
template <class T>
u64 raw(T x) {
  return static_cast<std::make_unsigned_t<T>>(x);
}

template <class T>
void check_products() {
  Mismatches lo("mul.lo"), hi("mul.hi"), wide("mul.wide"), sads("sad"), quotients("div"), remainders("rem");
  Rng rng(10, "products");
  for (u32 i = 0; i < kArithCases; ++i) {
    const T a = operand<T>(rng), b = operand<T>(rng), c = operand<T>(rng);
    __extension__ typedef unsigned __int128 u128;
    const u128 product = std::signed_integral<T> ? static_cast<u128>(i128{a} * i128{b}) : u128{raw(a)} * raw(b);
    lo.check(raw(mul_lo(a, b)), raw(static_cast<T>(product)), raw(a), raw(b));
    hi.check(raw(mul_hi(a, b)), raw(static_cast<T>(product >> (sizeof(T) * 8))), raw(a), raw(b));
    if constexpr (sizeof(T) < 8) {
      wide.check(raw(mul_wide(a, b)), raw(static_cast<decltype(mul_wide(a, b))>(product)), raw(a), raw(b));
    }
    const i128 distance = i128{a} < i128{b} ? i128{b} - a : i128{a} - b;
    sads.check(raw(sad(a, b, c)), raw(static_cast<T>(distance + c)), raw(a), raw(b), raw(c));
    quotients.check(raw(int_div(a, b)), b == 0 ? raw(static_cast<T>(-1)) : raw(static_cast<T>(i128{a} / b)), raw(a),
                    raw(b));
    remainders.check(raw(int_rem(a, b)), b == 0 ? raw(static_cast<T>(-1)) : raw(static_cast<T>(i128{a} % b)), raw(a),
                     raw(b));
  }
}
TEST(ArithInteger, ProductsQuotientsAndDistancesMatch128BitArithmetic) {
  check_products<i16>();
  check_products<u16>();
  check_products<i32>();
  check_products<u32>();
  check_products<i64>();
  check_products<u64>();
}

TEST(ArithInteger, SaturatingSumsClamp) {
  Mismatches adds("add.sat"), subs("sub.sat"), mads("mad.hi.sat");
  Rng rng(11, "saturating");
  const auto clamp = [](i128 x) {
    return static_cast<u32>(static_cast<i32>(std::clamp<i64>(static_cast<i64>(x), INT32_MIN, INT32_MAX)));
  };
  for (u32 i = 0; i < kArithCases; ++i) {
    const i32 a = operand<i32>(rng), b = operand<i32>(rng), c = operand<i32>(rng);
    adds.check(static_cast<u32>(add_sat(a, b)), clamp(i128{a} + b), raw(a), raw(b));
    subs.check(static_cast<u32>(sub_sat(a, b)), clamp(i128{a} - b), raw(a), raw(b));
    mads.check(static_cast<u32>(mad_hi_sat(a, b, c)), clamp(((i128{a} * b) >> 32) + c), raw(a), raw(b), raw(c));
  }
}

TEST(ArithInteger, TwentyFourBitProductsUseTheLowBitsOnly) {
  EXPECT_EQ(mul24_lo<u32>(0xff00'0003, 0x0100'0005), 15u);
  EXPECT_EQ(mul24_hi<u32>(0x00ff'ffff, 0x00ff'ffff), 0xffff'fe00u);  // 0xfffffe000001 >> 16
  EXPECT_EQ(mul24_lo<i32>(0x00ff'ffff, 7), -7);
  EXPECT_EQ(mul24_hi<i32>(0x0080'0000, 0x007f'ffff), static_cast<i32>((-(i64{1} << 23) * ((1 << 23) - 1)) >> 16));
}

template <class T>
bool bit(T x, u32 position) {
  return position < sizeof(T) * 8 && ((raw(x) >> position) & 1) != 0;
}

template <class T>
void check_fields() {
  constexpr u32 kWidth = sizeof(T) * 8;
  using U = std::make_unsigned_t<T>;
  Mismatches extract("bfe"), insert("bfi"), find("bfind"), shift("bfind.shiftamt"), reverse("brev"), left("shl"),
      right("shr");
  Rng rng(12, "fields");
  for (u32 i = 0; i < kArithCases; ++i) {
    const T a = operand<T>(rng), b = operand<T>(rng);
    const u32 p = amount(rng), n = amount(rng);
    const u32 pos = p & 255, len = n & 255;
    // The ISA's pseudo-code of bfe, bit by bit.
    const bool sign = std::signed_integral<T> && len != 0 && bit(a, std::min(pos + len - 1, kWidth - 1));
    U field = 0;
    for (u32 k = 0; k < kWidth; ++k)
      if (k < len && pos + k < kWidth ? bit(a, pos + k) : sign) field |= U{1} << k;
    extract.check(raw(bfe(a, p, n)), field, raw(a), p, n);
    U inserted = static_cast<U>(b);
    for (u32 k = 0; k < len && pos + k < kWidth; ++k) {
      inserted = static_cast<U>((inserted & ~(U{1} << (pos + k))) | (U{bit(a, k)} << (pos + k)));
    }
    insert.check(raw(bfi<U>(static_cast<U>(a), static_cast<U>(b), p, n)), inserted, raw(a), raw(b), p, n);
    u32 top = ~0u;
    for (u32 k = 0; k < kWidth; ++k)
      if (bit(a, k) != (std::signed_integral<T> && a < 0)) top = k;
    find.check(bfind(a), top, raw(a));
    shift.check(bfind_shiftamt(a), top == ~0u ? top : kWidth - 1 - top, raw(a));
    U mirrored = 0;
    for (u32 k = 0; k < kWidth; ++k) mirrored |= U{bit(a, k)} << (kWidth - 1 - k);
    reverse.check(brev<U>(static_cast<U>(a)), mirrored, raw(a));
    left.check(raw(shl<U>(static_cast<U>(a), p)), p >= kWidth ? 0 : raw(static_cast<U>(u64{raw(a)} << p)), raw(a), p);
    right.check(raw(shr(a, p)), raw(static_cast<T>(i128{a} >> std::min(p, 127u))), raw(a), p);
  }
}
TEST(ArithInteger, BitFieldsAndShiftsMatchTheirBitByBitDefinition) {
  check_fields<u32>();
  check_fields<i32>();
  check_fields<u64>();
  check_fields<i64>();
}

TEST(ArithInteger, SixteenBitShiftsClampToTheirWidth) {
  for (u32 by = 0; by < 40; ++by) {
    EXPECT_EQ(shl<u16>(0xffff, by), static_cast<u16>(by < 16 ? 0xffffu << by : 0));
    EXPECT_EQ(shr<i16>(-3, by), static_cast<i16>(-3 >> std::min(by, 15u)));
    EXPECT_EQ(shr<u16>(0xfffd, by), by < 16 ? 0xfffd >> by : 0);
  }
}

TEST(ArithInteger, FunnelShiftsMoveOneWordThroughTheOther) {
  Mismatches left("shf.l.wrap"), right("shf.r.wrap"), left_clamp("shf.l.clamp"), right_clamp("shf.r.clamp");
  Rng rng(13, "funnel");
  for (u32 i = 0; i < kArithCases; ++i) {
    const u32 low = operand<u32>(rng), high = operand<u32>(rng), by = amount(rng);
    const u32 wrapped = by % 32, clamped = std::min(by, 32u);
    const auto bit64 = [&](u32 k) { return k < 32 ? bit(low, k) : bit(high, k - 32); };
    u32 expect_l[2] = {}, expect_r[2] = {};
    for (u32 k = 0; k < 32; ++k) {
      u32 way = 0;
      for (const u32 amount_used : {wrapped, clamped}) {
        expect_l[way] |= u32{bit64(32 + k - amount_used)} << k;
        expect_r[way] |= u32{bit64(k + amount_used)} << k;
        ++way;
      }
    }
    left.check(shf_l<true>(low, high, by), expect_l[0], low, high, by);
    right.check(shf_r<true>(low, high, by), expect_r[0], low, high, by);
    left_clamp.check(shf_l<false>(low, high, by), expect_l[1], low, high, by);
    right_clamp.check(shf_r<false>(low, high, by), expect_r[1], low, high, by);
  }
}

TEST(ArithInteger, Lop3LooksEachBitUpInItsTable) {
  Mismatches wrong("lop3");
  Rng rng(14, "lop3");
  for (u32 table = 0; table < 256; ++table) {
    const u32 a = operand<u32>(rng), b = operand<u32>(rng), c = operand<u32>(rng);
    u32 expected = 0;
    for (u32 k = 0; k < 32; ++k) expected |= ((table >> (bit(a, k) * 4 + bit(b, k) * 2 + bit(c, k))) & 1) << k;
    wrong.check(lop3(a, b, c, table), expected, a, b, c, table);
  }
}

TEST(ArithInteger, PermutePicksBytesByTheTablesOfTheIsa) {
  const u32 a = 0x8384'0102, b = 0x8788'0506;  // bytes 0..7: 02 01 84 83 06 05 88 87
  EXPECT_EQ((prmt<Permute::kDefault>(a, b, 0x7654)), b);
  EXPECT_EQ((prmt<Permute::kDefault>(a, b, 0xfa20)), 0xffff'8402u);  // sign of bytes 7 and 2, byte 2, byte 0
  EXPECT_EQ((prmt<Permute::kForward4>(a, b, 1)), 0x0683'8401u);
  EXPECT_EQ((prmt<Permute::kBackward4>(a, b, 1)), 0x8887'0201u);  // bytes 6 7 0 1
  EXPECT_EQ((prmt<Permute::kReplicate8>(a, b, 2)), 0x8484'8484u);
  EXPECT_EQ((prmt<Permute::kEdgeLeft>(a, b, 2)), 0x8384'8484u);   // 3 2 2 2
  EXPECT_EQ((prmt<Permute::kEdgeRight>(a, b, 2)), 0x8484'0102u);  // 2 2 1 0
  EXPECT_EQ((prmt<Permute::kReplicate16>(a, b, 1)), 0x8384'8384u);
}

TEST(ArithInteger, DotProductsSumSignedAndUnsignedLanes) {
  EXPECT_EQ((dp4a<false, false>(0xff01'0203, 0x0203'0405, 10)), 10 + 255u * 2 + 3 + 8 + 15);
  EXPECT_EQ((dp4a<true, true>(0xff01'0203, 0x0203'0405, 10)), 10 - 2u + 3 + 8 + 15);
  EXPECT_EQ((dp4a<true, false>(0xff00'0000, 0xff00'0000, 0)), 0u - 255u);
  EXPECT_EQ((dp2a<true, true, false>(0xffff'0002, 0x0000'03fe, 1)), static_cast<u32>(1 - 3 - 4));
  EXPECT_EQ((dp2a<false, false, true>(0xffff'0002, 0x03fe'0000, 1)), 1 + 0xffffu * 3 + 2 * 0xfe);
}

TEST(ArithInteger, FnsWalksSetBitsFromTheBase) {
  // Expected values from an H200.
  EXPECT_EQ(fns(0xf0, 5, 0), 5u);
  EXPECT_EQ(fns(0xf0, 5, 2), 6u);
  EXPECT_EQ(fns(0xf0, 5, -1), 5u);
  EXPECT_EQ(fns(0xf0, 5, -2), 4u);
  EXPECT_EQ(fns(0xf0, 8, -1), 7u);
  EXPECT_EQ(fns(0xf0, 0, 0), ~0u);
  EXPECT_EQ(fns(0xf0, 32, 1), ~0u);
}

TEST(ArithInteger, MasksClampOrWrapTheirAmounts) {
  // Expected values from an H200.
  EXPECT_EQ(bmsk<false>(4, 64), 0xffff'fff0u);
  EXPECT_EQ(bmsk<false>(32, 1), 0u);
  EXPECT_EQ(bmsk<true>(0x24, 0x21), 0x10u);
}

template <class T>
void check_carries() {
  Mismatches sums("add.cc"), differences("sub.cc");
  Rng rng(15, "carry");
  for (u32 i = 0; i < kArithCases; ++i) {
    const T a = operand<T>(rng), b = operand<T>(rng);
    const bool in = rng.below(2) != 0;
    bool out = false;
    const T sum = add_carry(a, b, in, out);
    const i128 exact = i128{a} + b + in;
    sums.check(sum, static_cast<T>(exact), a, b, u32{in});
    sums.check(out, exact > i128{std::numeric_limits<T>::max()}, a, b, u32{in});
    const T difference = sub_borrow(a, b, in, out);
    const i128 lower = i128{a} - b - in;
    differences.check(difference, static_cast<T>(lower), a, b, u32{in});
    differences.check(out, lower < 0, a, b, u32{in});
  }
}
TEST(ArithInteger, CarriesAndBorrowsAreThoseOfTheExactSum) {
  check_carries<u32>();
  check_carries<u64>();
}

}  // namespace
}  // namespace terrace::ptx
