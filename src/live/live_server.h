// A page about work that goes on, served to this machine only unless the user says otherwise.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "live/live_board.h"

namespace terrace {

/// Where to listen: PORT, or ADDRESS:PORT.
struct LiveAddress {
  std::string host = "127.0.0.1";
  int port = 0;  // 0: any that is free
};
/// An InputError when it is none, or when others could reach it and `open` is false.
LiveAddress parse_live_address(const std::string& text, bool open);

/// What the page draws with: the style sheet and scripts of reports. They are part of the program and live as long.
struct LiveAssets {
  std::string_view style, chart_script, script;
};

/// Serves until it is destroyed. The board must live as long.
class LiveServer {
 public:
  /// An InputError when the port cannot be had.
  LiveServer(LiveBoard& board, const LiveAddress& address, const LiveAssets& assets);
  ~LiveServer();
  LiveServer(const LiveServer&) = delete;
  LiveServer& operator=(const LiveServer&) = delete;

  const std::string& url() const { return url_; }

 private:
  struct Threads;
  std::unique_ptr<Threads> threads_;
  std::string url_;
};

/// The page. It loads the assets from its own server and nothing from elsewhere.
const char* live_page();

}  // namespace terrace
