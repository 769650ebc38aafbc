// The barrier objects of mbarrier, 64 bits in shared memory. The ISA leaves their encoding open. Here it is: arrivals that
// the phase still waits for (20 bits), arrivals that every phase expects (20 bits), a bit that says that it was
// initialised, and the parity of the phase. A state, as arrive gives it, is the word before the arrival.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/types.h"

namespace terrace::ptx {

struct MbarrierWord {
  static constexpr u64 kMostArrivals = (u64{1} << 20) - 1;

  u64 bits = 0;

  static MbarrierWord initial(u64 count) { return {count | count << 20 | kInitialised}; }
  bool initialised() const { return (bits & kInitialised) != 0; }
  u64 pending() const { return bits & kMostArrivals; }
  u64 expected() const { return bits >> 20 & kMostArrivals; }
  u32 parity() const { return static_cast<u32>(bits >> 63); }

  void add_pending(u64 count) { bits += count; }
  /// Not more than are pending. With the last one the next phase begins.
  void arrive(u64 count) {
    bits -= count;
    if (pending() == 0) bits = (bits ^ kParity) | expected();
  }
  /// From the next phase on, so many fewer are expected. Before the arrival itself.
  void drop(u64 count) { bits -= count << 20; }

 private:
  static constexpr u64 kInitialised = u64{1} << 40, kParity = u64{1} << 63;
};

/// As an atomic on the barrier: one arrival. Too many are ignored here, where no lane is left to fault.
u64 arrive_once(u8* pointer, u64, u64);

}  // namespace terrace::ptx
