// What a page shows while something runs, and what its buttons ask for. The one who works publishes a sample now and then
// and obeys between two steps of its work; the server's threads read samples and ask. Nothing else is shared.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>

#include "engine/types.h"

namespace terrace {

class LiveBoard {
 public:
  enum class Request : u8 { kPause, kResume, kStep, kStop };

  /// `title` and `kind` ("run" or "sweep") are for the page.
  LiveBoard(std::string title, std::string kind) : title_(std::move(title)), kind_(std::move(kind)) {}

  // For the one who works.
  /// Whether a sample is wanted now. Ask this first, often: it costs one look at the clock.
  bool due() const { return Clock::now() - published_ >= kBetweenSamples; }
  /// A JSON table.
  void publish(const std::string& sample);
  /// Between two steps of the work: waits while somebody has paused it, and throws Interrupted when it is to stop.
  /// `publish_first` is called before it waits, so that the page shows where it stands.
  template <class F>
  void obey(F&& publish_first) {
    if (!must_wait()) return;
    publish_first();
    wait();
  }
  /// Without waiting: whether one more step may begin. It uses up a step that was asked for.
  bool may_begin();
  /// Throws Interrupted when it is to stop.
  void check_stop();

  // For the server.
  void ask(Request request);
  /// As JSON: the samples from number `from` on, of those that are remembered, and whether the work is paused.
  std::string samples(u64 from);

 private:
  using Clock = std::chrono::steady_clock;
  /// Ten samples a second move smoothly, and cost nothing beside the work.
  static constexpr std::chrono::milliseconds kBetweenSamples{100};
  /// Five minutes, for a page that is opened late.
  static constexpr std::size_t kRemembered = 3000;

  bool must_wait();
  void wait();

  const std::string title_, kind_;
  Clock::time_point published_{};  // only the one who works looks at it
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> samples_;
  u64 first_ = 0;  // number of the oldest that is remembered
  bool paused_ = false, stop_ = false;
  u64 steps_ = 0;
};

}  // namespace terrace
