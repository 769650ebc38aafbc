// Double arithmetic in the directed rounding modes, in 128-bit integers: no wider hardware type exists to round from,
// and residuals of double arithmetic are not exact near the ends of the range. Rare in kernels, so simple rather than
// fast.
// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "frontend/ptx/arith/rounding.h"

namespace terrace::ptx::soft {

__extension__ typedef unsigned __int128 u128;

/// (-1)^negative x significand x 2^exponent
struct Unpacked {
  bool negative;
  int exponent;
  u128 significand;
};

inline Unpacked unpack(double x) {
  const u64 magnitude = magnitude_of(x);
  const int biased = static_cast<int>(magnitude >> 52);
  const u64 fraction = magnitude & ((u64{1} << 52) - 1);
  return {is_negative(x), (biased > 0 ? biased : 1) - 1075, fraction | (u64{biased > 0} << 52)};
}

inline int leading_zeros(u128 x) {
  const u64 high = static_cast<u64>(x >> 64);
  return high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<u64>(x));
}

/// Shifts right; bits that fall off leave the last bit set.
inline u128 shift_sticky(u128 x, int by) {
  if (by > 127) return x != 0;
  return (x >> by) | ((x & ((u128{1} << by) - 1)) != 0);
}

/// Leading bit at position 125, so that the sum of two such significands still fits.
inline Unpacked normalised(Unpacked x) {
  if (x.significand == 0) return x;
  const int left = leading_zeros(x.significand) - 2;
  x.significand = left >= 0 ? x.significand << left : shift_sticky(x.significand, -left);
  x.exponent -= left;
  return x;
}

/// Rounds once to double. A significand whose last bit is sticky must have at least 55 bits above it.
template <Round R>
inline double pack(Unpacked x) {
  if (x.significand == 0) return from_bits<double>(x.negative ? kSignBit<double> : 0);
  x = normalised(x);
  const int below = -1022 - (x.exponent + 125);
  const int wanted = 126 - 53 + (below > 0 ? below : 0);
  const int drop = wanted < 127 ? wanted : 127;
  const u128 kept = x.significand >> drop;
  const u128 remainder = x.significand - (kept << drop);
  const bool up = rounds_up<R, u128>(x.negative, (kept & 1) != 0, remainder, u128{1} << (drop - 1));
  const u128 rounded = (static_cast<u128>(below > 0 ? 0 : -below) << 52) + kept + up;
  constexpr u64 kInf = Format<double>::kInf;
  const u64 magnitude = rounded < kInf ? static_cast<u64>(rounded) : overflow_magnitude<R, u64>(x.negative, kInf);
  return from_bits<double>(magnitude | (x.negative ? kSignBit<double> : 0));
}

/// Both finite. An exact zero from operands of unlike signs is -0 only when rounding down (IEEE 754, 6.3).
template <Round R>
inline double sum(Unpacked a, Unpacked b) {
  if (a.significand == 0 && b.significand == 0) {
    const bool negative = a.negative == b.negative ? a.negative : R == Round::kDown;
    return from_bits<double>(negative ? kSignBit<double> : 0);
  }
  if (a.significand == 0) return pack<R>(b);
  if (b.significand == 0) return pack<R>(a);
  a = normalised(a);
  b = normalised(b);
  if (a.exponent < b.exponent) std::swap(a, b);
  // At a distance of 0 or 1 nothing falls off; farther apart at most one leading bit cancels, so a sticky bit suffices.
  b.significand = shift_sticky(b.significand, a.exponent - b.exponent);
  b.exponent = a.exponent;
  if (a.negative == b.negative) return pack<R>({a.negative, a.exponent, a.significand + b.significand});
  if (a.significand == b.significand) return from_bits<double>(R == Round::kDown ? kSignBit<double> : 0);
  if (a.significand < b.significand) std::swap(a, b);
  return pack<R>({a.negative, a.exponent, a.significand - b.significand});
}

inline Unpacked product(Unpacked a, Unpacked b) {
  return {a.negative != b.negative, a.exponent + b.exponent, a.significand * b.significand};
}

/// Finite, divisor not zero.
template <Round R>
inline double quotient(Unpacked a, Unpacked b) {
  a = normalised(a);
  const int left = leading_zeros(b.significand) - 75;  // a divisor of 53 bits leaves a quotient of at least 73
  b.significand <<= left;
  b.exponent -= left;
  const u128 q = a.significand / b.significand;
  const bool inexact = a.significand % b.significand != 0;
  return pack<R>({a.negative != b.negative, a.exponent - b.exponent - 1, (q << 1) | inexact});
}

/// Positive and finite. One result bit at a time; the remainder that is left makes the last bit sticky.
template <Round R>
inline double square_root(Unpacked x) {
  x = normalised(x);
  if (x.exponent & 1) {
    x.significand >>= 1;
    x.exponent += 1;
  }
  u128 root = 0;
  u128 rest = x.significand;
  for (u128 bit = u128{1} << 124; bit != 0; bit >>= 2) {
    const u128 trial = root + bit;
    root >>= 1;
    if (rest >= trial) {
      rest -= trial;
      root += bit;
    }
  }
  return pack<R>({false, x.exponent / 2 - 1, (root << 1) | (rest != 0)});
}

}  // namespace terrace::ptx::soft
