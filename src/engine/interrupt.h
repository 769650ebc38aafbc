// Ctrl-C. The first one only raises a flag, which long work looks at between cycles and between launches; a second one
// ends the process at once. Either way no half-written file stays behind.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace terrace {

inline constexpr int kInterruptedExitCode = 130;

/// For SIGINT and SIGTERM. Once, at the start of the program.
void catch_interrupts();

bool interrupted();
/// Throws Interrupted if the user asked to stop.
void check_interrupt();

/// A file that is to be removed if the process ends at once. At most 32 at a time; more are not remembered.
void remove_if_killed(const std::string& path);
void keep_if_killed(const std::string& path);

}  // namespace terrace
