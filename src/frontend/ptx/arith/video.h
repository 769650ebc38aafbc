// Video instructions of PTX: arithmetic on bytes and halves of registers, alone (vadd) or two and four at a time (vadd2, vadd4),
// with a second operation on the result. As the PTX ISA's pseudo-code computes them, on exact intermediate results.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/types.h"
#include "frontend/ptx/arith/integer.h"

namespace terrace::ptx {

enum class VideoOp : u8 { kAdd, kSub, kAbsDiff, kMin, kMax, kAverage, kShl, kShr, kMad, kEq, kNe, kLt, kLe, kGt, kGe };
enum class VideoSecond : u8 { kNone, kAdd, kMin, kMax };

/// Which part of a register: all of it, a byte or a half.
inline constexpr u16 kWholeWord = 0, kFirstByte = 1, kFirstHalf = 5;

struct VideoForm {
  static constexpr u8 kSignedA = 1, kSignedB = 2, kSignedD = 4, kSaturate = 8, kWrap = 16, kPlusOne = 32,
                      kNegateProduct = 64, kNegateC = 128;
  VideoOp op = VideoOp::kAdd;
  VideoSecond second = VideoSecond::kNone;
  u16 a = kWholeWord, b = kWholeWord;  // parts; of two or four elements, a hexadecimal digit for each, element 0 last
  u8 d = kWholeWord;  // part; of elements, a bit for each that is written; of kMad, bits to shift right by
  u8 flags = 0;

  bool has(u8 flag) const { return (flags & flag) != 0; }
};
static_assert(sizeof(VideoForm) == 8);  // as much as Inst::imm holds

namespace detail {

struct Place {
  u32 shift, bits;
};
inline Place place_of(u32 part) {
  if (part == kWholeWord) return {0, 32};
  if (part < kFirstHalf) return {(part - kFirstByte) * 8, 8};
  return {(part - kFirstHalf) * 16, 16};
}
inline u64 low_bits(u32 bits) {
  return (u64{1} << bits) - 1;
}
/// The lowest `bits` of a word, sign- or zero-extended.
inline i64 extended(u64 word, u32 bits, bool is_signed) {
  const u64 low = word & low_bits(bits);
  return is_signed && (low >> (bits - 1)) != 0 ? static_cast<i64>(low) - (i64{1} << bits) : static_cast<i64>(low);
}
inline i128 clamped(i128 x, u32 bits, bool is_signed) {
  const i128 least = is_signed ? -(i128{1} << (bits - 1)) : 0;
  const i128 most = (i128{1} << (is_signed ? bits - 1 : bits)) - 1;
  return x < least ? least : x > most ? most : x;
}

/// A shift amount is b: a word, not an element.
inline i128 video_primary(const VideoForm& form, i64 a, i64 b) {
  switch (form.op) {
    case VideoOp::kAdd:
      return a + b;
    case VideoOp::kSub:
      return a - b;
    case VideoOp::kAbsDiff:
      return a > b ? a - b : b - a;
    case VideoOp::kMin:
      return a < b ? a : b;
    case VideoOp::kMax:
      return a > b ? a : b;
    case VideoOp::kAverage:  // to the nearest, halves away from zero for sums that are not negative
      return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
    case VideoOp::kShl:
    case VideoOp::kShr: {
      const i64 by = form.has(VideoForm::kWrap) ? b & 31 : b > 32 ? 32 : b;
      return form.op == VideoOp::kShl ? i128{a} * (i128{1} << by) : i128{a} >> by;
    }
    case VideoOp::kEq:
      return a == b;
    case VideoOp::kNe:
      return a != b;
    case VideoOp::kLt:
      return a < b;
    case VideoOp::kLe:
      return a <= b;
    case VideoOp::kGt:
      return a > b;
    case VideoOp::kGe:
      return a >= b;
    case VideoOp::kMad:
      break;
  }
  return 0;
}

}  // namespace detail

/// vadd, vsub, vabsdiff, vmin, vmax, vshl, vshr, vset. A second operation compares a result that was not saturated before it is cut to
/// 32 bits. An unsigned one below zero is then larger than any c, as on an H200.
inline u32 video_scalar(const VideoForm& form, u32 a, u32 b, u32 c) {
  const detail::Place from = detail::place_of(form.a), with = detail::place_of(form.b), to = detail::place_of(form.d);
  const bool is_signed = form.has(VideoForm::kSignedD);
  detail::i128 exact =
      detail::video_primary(form, detail::extended(a >> from.shift, from.bits, form.has(VideoForm::kSignedA)),
                            detail::extended(b >> with.shift, with.bits, form.has(VideoForm::kSignedB)));
  if (form.has(VideoForm::kSaturate)) exact = detail::clamped(exact, to.bits, is_signed);
  const u32 first = static_cast<u32>(static_cast<u64>(exact));
  const bool less = is_signed ? exact < static_cast<i32>(c) : exact >= 0 && exact < c;
  switch (form.second) {
    case VideoSecond::kAdd:
      return first + c;
    case VideoSecond::kMin:
      return less ? first : c;
    case VideoSecond::kMax:
      return less ? c : first;
    case VideoSecond::kNone:
      break;
  }
  const u32 mask = static_cast<u32>(detail::low_bits(to.bits) << to.shift);
  return form.d == kWholeWord ? first : ((first << to.shift) & mask) | (c & ~mask);
}

/// vmad: (a b) + c, where the product or c may be negated, and one added.
inline u32 video_mad(const VideoForm& form, u32 a, u32 b, u32 c) {
  const detail::Place from = detail::place_of(form.a), with = detail::place_of(form.b);
  const bool signed_a = form.has(VideoForm::kSignedA), signed_b = form.has(VideoForm::kSignedB);
  const bool negate = form.has(VideoForm::kNegateProduct), negate_c = form.has(VideoForm::kNegateC);
  const bool is_signed = signed_a || signed_b || negate || negate_c;
  detail::i128 sum = detail::i128{detail::extended(a >> from.shift, from.bits, signed_a)} *
                     detail::extended(b >> with.shift, with.bits, signed_b);
  if (negate) sum = -sum;
  // The ISA inverts c before it extends it: a negated c of 2^31 and more counts as its negative number.
  sum += detail::extended(negate_c ? ~c : c, 32, is_signed);
  sum += form.has(VideoForm::kPlusOne) || negate_c ? 1 : 0;
  sum >>= form.d;
  if (form.has(VideoForm::kSaturate)) sum = detail::clamped(sum, 32, is_signed);
  return static_cast<u32>(static_cast<u64>(sum));
}

/// vadd2, vadd4 and their like, on kCount elements. The results are merged with c's elements, or added to c.
template <u32 kCount>
inline u32 video_elements(const VideoForm& form, u32 a, u32 b, u32 c) {
  constexpr u32 kBits = 32 / kCount;
  const u64 both = u64{b} << 32 | a;
  u32 sum = c, merged = c;
  for (u32 i = 0; i < kCount; ++i) {
    if ((form.d >> i & 1) == 0) continue;
    const u32 from = (form.a >> (4 * i) & 15) * kBits, with = (form.b >> (4 * i) & 15) * kBits;
    detail::i128 exact =
        detail::video_primary(form, detail::extended(both >> from, kBits, form.has(VideoForm::kSignedA)),
                              detail::extended(both >> with, kBits, form.has(VideoForm::kSignedB)));
    if (form.has(VideoForm::kSaturate)) exact = detail::clamped(exact, kBits, form.has(VideoForm::kSignedD));
    const u32 result = static_cast<u32>(static_cast<u64>(exact));
    const u32 mask = static_cast<u32>(detail::low_bits(kBits) << (kBits * i));
    sum += result;
    merged = (merged & ~mask) | ((result << (kBits * i)) & mask);
  }
  return form.second == VideoSecond::kAdd ? sum : merged;
}

}  // namespace terrace::ptx
