// What few ticks need stays out of them. A host keeps 32 KB of code at hand, and the units of one simulated cycle run through
// more than that; what gcc puts into a tick and nobody executes pushes out what the next unit needs.
// SPDX-License-Identifier: MIT
#pragma once

/// In front of a function that is called seldom, from code that runs in most cycles.
#define TERRACE_OUT_OF_LINE [[gnu::noinline]]
