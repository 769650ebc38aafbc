// Mistakes that a test plants into the real machine, to show that the checks of line_truth.h have teeth. Only dev
// builds can make one; in others the question is answered "no" at compile time.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/types.h"

namespace terrace {

enum class Mistake : u8 {
  kNone,
  kDropTenantCompare,  // a TLB compares pages without their address space
  kDropTenantInWalkCache,
  kDropTenantInL1,   // a virtual L1 compares names of lines without their address space
  kDropTenantInL2,   // and so does a virtual L2
  kNeighboursFrame,  // a TLB returns the frame beside the right one
  kSkipFlush,        // a TLB is not flushed
  kLoseWriteBack,    // a dirty line leaves the L2 and never reaches memory
  kKeepL1,           // an L1 is not emptied when a kernel is launched
  kKeepLineBit,      // the forward-backward table does not hear that a line left
  kForgetPageLock,   // it lets lines of a page through that is on its way out
  kSkipL1Filter      // an L1 does not look whether it holds lines of such a page
};

class PlantedMistake {
 public:
#ifdef TERRACE_DCHECK
  /// It strikes at every occasion but the first `spared`.
  void plant(Mistake what, u32 spared) {
    what_ = what;
    spared_ = spared;
  }
  bool strikes(Mistake what) const { return what == what_ && ++occasions_ > spared_; }

 private:
  Mistake what_ = Mistake::kNone;
  u32 spared_ = 0;
  mutable u32 occasions_ = 0;
#else
  constexpr bool strikes(Mistake) const { return false; }
#endif
};

}  // namespace terrace
