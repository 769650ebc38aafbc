// --live: a page about what a command does, for as long as it does it.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "cli/command_line.h"
#include "live/live_board.h"
#include "live/live_server.h"

namespace terrace {

class LivePage {
 public:
  /// Says where the page is, on standard error, unless `quiet`.
  LivePage(const LiveOptions& options, std::string title, std::string kind, bool quiet);
  LiveBoard& board() { return board_; }

 private:
  LiveBoard board_;
  LiveServer server_;
};

}  // namespace terrace
