// The command line.
// SPDX-License-Identifier: MIT
#include <signal.h>

#include "cli/commands.h"
#include "engine/interrupt.h"

int main(int argc, char** argv) {
  terrace::catch_interrupts();
  signal(SIGPIPE, SIG_IGN);  // a closed pipe is told in a sentence, by whoever writes to it
  signal(SIGXFSZ, SIG_IGN);  // likewise a file that may not grow any more
  return terrace::exit_code_of([&] { return terrace::run_command_line(argc, argv); });
}
