// Units of one cycle may tick on several threads at once (Scheduler::Options::threads). What they share keeps a part for
// each thread and finds it by this number.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/types.h"

namespace terrace {

inline constexpr u32 kMaxTickThreads = 64;

/// To which thread the unit belongs that ticks here: 0 outside of ticks, and always when there is one thread. Only the
/// scheduler writes it. No result may depend on it.
inline thread_local constinit u32 tick_thread = 0;

}  // namespace terrace
