// The command line.
// SPDX-License-Identifier: MIT
#include <signal.h>

#include "cli/commands.h"
#include "engine/interrupt.h"

int main(int argc, char** argv) {
  terrace::catch_interrupts();
  signal(SIGPIPE, SIG_IGN);  // the write fails instead, and the command ends quietly
  signal(SIGXFSZ, SIG_IGN);  // the same for a file that reaches its size limit
  return terrace::exit_code_of([&] { return terrace::run_command_line(argc, argv); });
}
