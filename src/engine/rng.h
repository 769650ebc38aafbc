// Randomness, only ever from named streams: the same run seed and the same name give the same numbers on every machine.
// The distributions are ours, since those of the standard library differ between libraries.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "engine/archive.h"
#include "engine/types.h"

namespace terrace {

/// xoshiro256** (Blackman and Vigna, 2018), seeded through splitmix64.
class Rng {
 public:
  Rng(u64 run_seed, std::string_view stream) {
    u64 mix = run_seed ^ hash(stream);
    for (u64& word : state_) word = splitmix(mix);
  }

  u64 next() {
    const u64 result = rotl(state_[1] * 5, 7) * 9;
    const u64 shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotl(state_[3], 45);
    return result;
  }

  /// Uniform in [0, bound); exactly uniform (rejection), bound > 0.
  u64 below(u64 bound) {
    const u64 threshold = (0 - bound) % bound;
    for (;;) {
      const u64 value = next();
      if (value >= threshold) return value % bound;
    }
  }

  /// Uniform in [0, 1), a multiple of 2^-53: exact in double.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  /// Uniform in [low, high), computed with one multiplication and one addition.
  double uniform(double low, double high) { return low + (high - low) * unit(); }

  void archive(Archive& a) { a(state_); }

 private:
  static constexpr u64 rotl(u64 x, int by) { return (x << by) | (x >> (64 - by)); }
  static constexpr u64 splitmix(u64& state) {
    u64 z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// FNV-1a, 64 bits.
  static constexpr u64 hash(std::string_view text) {
    u64 h = 0xcbf29ce484222325;
    for (const char c : text) h = (h ^ static_cast<u8>(c)) * 0x100000001b3;
    return h;
  }

  u64 state_[4];
};

}  // namespace terrace
