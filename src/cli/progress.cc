// SPDX-License-Identifier: MIT
#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

namespace terrace {

namespace {

constexpr double kRewriteSeconds = 0.1, kLineSeconds = 10, kSilentSeconds = 60, kTenth = 0.1;

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<u64>(seconds + 0.5);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

Progress::Style Progress::style_of_stderr(bool quiet) {
  return quiet ? Style::kQuiet : isatty(STDERR_FILENO) ? Style::kTerminal : Style::kLines;
}

Progress::Progress(std::string title, Style style, std::function<double()> seconds,
                   std::function<void(std::string_view)> out)
    : title_(std::move(title)),
      style_(style),
      seconds_(std::move(seconds)),
      out_(std::move(out)),
      started_(seconds_()),
      last_(started_) {}

Progress::Progress(std::string title, Style style)
    : Progress(std::move(title), style, wall_seconds, [](std::string_view text) {
        // Progress that cannot be shown is no reason to fail.
        static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
        std::fflush(stderr);
      }) {}

Progress::~Progress() {
  finish();
}

bool Progress::due(double fraction_done) const {
  if (style_ == Style::kQuiet) return false;
  const double since = seconds_() - last_;
  if (style_ == Style::kTerminal) return since >= kRewriteSeconds;
  return since >= kLineSeconds && (fraction_done - last_fraction_ >= kTenth || since >= kSilentSeconds);
}

void Progress::update(double fraction_done, Cycle cycles, u64 warp_instructions) {
  const double elapsed = seconds_() - started_;
  update(fraction_done, fmt::format("{:.1f} M cycles, {:.2f} M warp-instructions/s", static_cast<double>(cycles) / 1e6,
                                    elapsed > 0 ? static_cast<double>(warp_instructions) / elapsed / 1e6 : 0.0));
}

void Progress::update(double fraction_done, const std::string& words) {
  if (!due(fraction_done)) return;
  last_ = seconds_();
  last_fraction_ = fraction_done;
  const std::string text = line(fraction_done, words);
  out_(style_ == Style::kTerminal ? "\r" + text + "\x1b[K" : text + "\n");
  shown_ = true;
}

void Progress::finish() {
  if (shown_ && style_ == Style::kTerminal) out_("\r\x1b[K");
  shown_ = false;
}

std::string Progress::line(double fraction_done, const std::string& words) const {
  const double elapsed = last_ - started_;
  std::string text = title_ + ": ";
  if (fraction_done >= 0) text += fmt::format("{:.0f} %, ", 100 * fraction_done);
  text += words;
  // Before a hundredth is done an extrapolation says nothing.
  if (fraction_done >= 0.01)
    text += fmt::format(", {} left", duration_text(elapsed * (1 - fraction_done) / fraction_done));
  return text;
}

}  // namespace terrace
