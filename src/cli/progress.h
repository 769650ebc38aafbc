// How far a long command has come. On a terminal one line is rewritten, at most ten times a second; elsewhere a plain
// line now and then: not before ten seconds have passed since the last, and then only when another tenth is done or a
// minute has gone by, so that logs stay short.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "engine/types.h"

namespace terrace {

class Progress {
 public:
  enum class Style : u8 { kQuiet, kTerminal, kLines };
  static Style style_of_stderr(bool quiet);

  /// `seconds` and `out` are the clock and standard error; tests bring their own.
  Progress(std::string title, Style style, std::function<double()> seconds, std::function<void(std::string_view)> out);
  Progress(std::string title, Style style);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Whether a line would be written now: ask this first, often; it costs one look at the clock.
  bool due(double fraction_done) const;
  /// `fraction_done` is from 0 to 1, or negative when it is unknown.
  void update(double fraction_done, Cycle cycles, u64 warp_instructions);
  /// The same with words of the caller's own in place of cycles and speed.
  void update(double fraction_done, const std::string& words);
  /// Clears a terminal's line. The destructor does it too.
  void finish();

 private:
  std::string line(double fraction_done, const std::string& words) const;

  std::string title_;
  Style style_;
  std::function<double()> seconds_;
  std::function<void(std::string_view)> out_;
  double started_, last_;
  double last_fraction_ = 0;
  bool shown_ = false;
};

}  // namespace terrace
