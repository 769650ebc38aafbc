// Division by a number that is known beforehand, by a multiplication: hosts divide slowly.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/types.h"

namespace terrace {

/// x / divisor for x below limit(). The inverse is rounded up to a multiple of 2^-64, so the product is too large by less
/// than x * 2^-64, which below the limit does not reach the next multiple of 1 / divisor.
class Quotient {
 public:
  Quotient() = default;
  explicit Quotient(u64 divisor) : divisor_(divisor), inverse_(~u64{0} / divisor + 1) {}

  u64 limit() const { return ~u64{0} / divisor_; }
  u64 operator()(u64 x) const { return inverse_ == 0 ? x : static_cast<u64>(static_cast<Wide>(x) * inverse_ >> 64); }

  friend bool operator==(const Quotient&, const Quotient&) = default;

 private:
  __extension__ using Wide = unsigned __int128;
  u64 divisor_ = 1;
  u64 inverse_ = 0;  // 0 stands for 2^64
};

}  // namespace terrace
