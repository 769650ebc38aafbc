// A hash of a few bits: the remainder of a key, as a polynomial over GF(2), by a primitive one (Rau, ISCA 1991). Keys that
// differ by any stride spread evenly. Two hashes by different polynomials are independent, so that a slice and a set in it
// can be chosen by the same key; the reciprocal polynomial is there for that.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <iterator>

#include "engine/check.h"
#include "engine/types.h"

namespace terrace {

class PolynomialHash {
  static constexpr u32 kMostBits = 24, kPlaces = 16;
  /// The remainder of each hexadecimal digit at each place; those of a key add up without carries.
  using Remainders = std::array<u32, kPlaces * 16>;

 public:
  PolynomialHash() = default;
  explicit PolynomialHash(u32 bits, bool reciprocal = false) {
    SIM_CHECK(bits <= kMostBits, "a hash of {} bits; {} are the most", bits, kMostBits);
    // All hashes of so many bits read the same table: one for each cache of a machine would push out what else they need.
    static const std::array<Remainders, 2 * (kMostBits + 1)> all = all_remainders();
    remainders_ = all[2 * bits + (reciprocal ? 1 : 0)].data();
  }

  u32 operator()(u64 key) const {
    u32 hash = 0;
    for (const u32* digit = remainders_; key != 0; key >>= 4, digit += 16) hash ^= digit[key & 15];
    return hash;
  }

 private:
  static std::array<Remainders, 2 * (kMostBits + 1)> all_remainders() {
    std::array<Remainders, 2 * (kMostBits + 1)> all{};
    for (u32 bits = 0; bits <= kMostBits; ++bits) {
      all[2 * bits] = remainders_of(bits, false);
      all[2 * bits + 1] = remainders_of(bits, true);
    }
    return all;
  }

  static Remainders remainders_of(u32 bits, bool reciprocal) {
    // Primitive polynomials of degree 0 to 24, in bits (Peterson and Weldon's table).
    static constexpr u32 kPolynomials[] = {0x1,      0x3,      0x7,      0xb,      0x13,    0x25,    0x43,
                                           0x83,     0x11d,    0x211,    0x409,    0x805,   0x1053,  0x201b,
                                           0x4443,   0x8003,   0x1100b,  0x20009,  0x40081, 0x80027, 0x100009,
                                           0x200005, 0x400003, 0x800021, 0x1000087};
    static_assert(std::size(kPolynomials) == kMostBits + 1);
    u32 polynomial = kPolynomials[bits];
    if (reciprocal) {
      u32 turned = 0;
      for (u32 bit = 0; bit <= bits; ++bit) turned |= (polynomial >> bit & 1) << (bits - bit);
      polynomial = turned;
    }
    u32 remainder[64];
    for (u32 bit = 0; bit < 64; ++bit) {
      remainder[bit] = bit == 0 ? 1 : remainder[bit - 1] << 1;
      if ((remainder[bit] >> bits) != 0) remainder[bit] ^= polynomial;
    }
    Remainders remainders{};
    for (u32 place = 0; place < kPlaces; ++place) {
      for (u32 digit = 0; digit < 16; ++digit) {
        for (u32 bit = 0; bit < 4; ++bit)
          if ((digit >> bit & 1) != 0) remainders[place * 16 + digit] ^= remainder[place * 4 + bit];
      }
    }
    return remainders;
  }

  const u32* remainders_ = nullptr;
};

}  // namespace terrace
