// Clock domains as exact integer ratios to the core clock: no floating point, no drift however long the run.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <numeric>

#include "engine/check.h"
#include "engine/quotient.h"
#include "engine/types.h"

namespace terrace {

/// A clock that ticks `numerator` times while the core clock ticks `denominator` times.
class ClockDomain {
 public:
  ClockDomain() = default;
  ClockDomain(u64 own_frequency, u64 core_frequency) {
    SIM_CHECK(own_frequency > 0 && core_frequency > 0, "a clock of frequency {} against {}", own_frequency,
              core_frequency);
    const u64 common = std::gcd(own_frequency, core_frequency);
    numerator_ = own_frequency / common;
    denominator_ = core_frequency / common;
    by_numerator_ = Quotient(numerator_);
    by_denominator_ = Quotient(denominator_);
    // Products of both directions, the second of them rounded up, must be small enough for both quotients.
    const u64 larger = std::max(numerator_, denominator_);
    narrow_ = std::max<u64>(Quotient(larger).limit() / larger, 1) - 1;
  }

  /// How many own cycles have begun by core cycle `core`; cycle 0 begins with core cycle 0.
  u64 local(Cycle core) const {
    if (core < narrow_) [[likely]]
      return by_denominator_(core * numerator_);
    return static_cast<u64>(static_cast<Wide>(core) * numerator_ / denominator_);
  }

  /// The first core cycle in which own cycle `local` has begun: the inverse of `local`, rounded up.
  Cycle core(u64 local) const {
    if (local < narrow_) [[likely]]
      return by_numerator_(local * denominator_ + numerator_ - 1);
    return static_cast<Cycle>((static_cast<Wide>(local) * denominator_ + numerator_ - 1) / numerator_);
  }

  friend bool operator==(const ClockDomain&, const ClockDomain&) = default;

 private:
  __extension__ using Wide = unsigned __int128;
  u64 numerator_ = 1;
  u64 denominator_ = 1;
  Quotient by_numerator_, by_denominator_;
  u64 narrow_ = ~u64{0} - 1;  // below that, 64 bits are enough
};

}  // namespace terrace
