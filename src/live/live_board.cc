// SPDX-License-Identifier: MIT
#include "live/live_board.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/check.h"
#include "engine/interrupt.h"
#include "text/tree.h"

namespace terrace {

void LiveBoard::publish(const std::string& sample) {
  published_ = Clock::now();
  const std::lock_guard lock(mutex_);
  samples_.push_back(sample);
  if (samples_.size() <= kRemembered) return;
  samples_.pop_front();
  ++first_;
}

void LiveBoard::check_stop() {
  const std::lock_guard lock(mutex_);
  if (stop_) throw Interrupted();
}

bool LiveBoard::may_begin() {
  const std::lock_guard lock(mutex_);
  if (!paused_) return true;
  if (steps_ == 0) return false;
  --steps_;
  return true;
}

bool LiveBoard::must_wait() {
  check_stop();
  return !may_begin();
}

/// Ctrl-C on the terminal ends the wait too.
void LiveBoard::wait() {
  std::unique_lock lock(mutex_);
  while (paused_ && steps_ == 0 && !stop_) {
    changed_.wait_for(lock, kBetweenSamples);
    check_interrupt();
  }
  if (stop_) throw Interrupted();
  if (paused_) --steps_;
}

void LiveBoard::ask(Request request) {
  const std::lock_guard lock(mutex_);
  switch (request) {
    case Request::kPause:
      paused_ = true;
      break;
    case Request::kResume:
      paused_ = false;
      steps_ = 0;
      break;
    case Request::kStep:
      paused_ = true;
      ++steps_;
      break;
    case Request::kStop:
      stop_ = true;
      break;
  }
  changed_.notify_all();
}

std::string LiveBoard::samples(u64 from) {
  const std::lock_guard lock(mutex_);
  std::string title = json_text(Tree(title_));
  title.pop_back();
  from = std::clamp<u64>(from, first_, first_ + samples_.size());
  std::string text =
      fmt::format(R"({{"title":{},"kind":"{}","paused":{},"from":{},"samples":[)", title, kind_, paused_, from);
  for (u64 i = from - first_; i < samples_.size(); ++i) text += (i == from - first_ ? "" : ",") + samples_[i];
  return text + "]}";
}

}  // namespace terrace
