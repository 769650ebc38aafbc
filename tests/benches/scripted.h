// What stands around a unit on its bench: units that push at stated cycles and write down what arrives when. They know
// nothing but the links between them and the unit under test.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "engine/archive.h"
#include "engine/funnel.h"
#include "engine/link.h"
#include "engine/scheduler.h"
#include "engine/types.h"
#include "noc/crossbar.h"
#include "wire/line_map.h"

namespace terrace {

/// What a bench was is put into one that was built and scripted in the same way, and has not run.
template <class Bench>
void copy_state(Bench& from, Bench& to) {
  SavedState saved;
  saved(from);
  const std::vector<std::byte> bytes = saved.take();
  RestoredState restored(bytes);
  restored(to);
}

/// Does what a script says, in order. Whoever refuses an action must wake this unit: it does not ask again by itself.
class Scripted final : public Unit {
 public:
  /// Whether it could be done in this cycle.
  using Action = std::function<bool(Cycle now)>;
  /// Called in every tick; answers when it wants to be called again.
  using Reaction = std::function<Cycle(Cycle now)>;

  Scripted(Scheduler& scheduler, std::string name)
      : scheduler_(scheduler), id_(scheduler.add(*this, std::move(name))) {}
  UnitId id() const { return id_; }

  /// Not before that cycle, and not before what stands earlier in the script.
  void at(Cycle cycle, Action action) {
    script_.push_back({cycle, std::move(action)});
    // Before the first cycle nobody needs waking: everyone ticks in it.
    if (scheduler_.now() > 0) scheduler_.wake(id_, std::max(cycle, scheduler_.now()));
  }
  void always(Reaction reaction) { reactions_.push_back(std::move(reaction)); }

  Cycle tick(Cycle now) override {
    Cycle next = kNever;
    for (const Reaction& reaction : reactions_) next = std::min(next, reaction(now));
    for (; done_ < script_.size(); ++done_) {
      if (script_[done_].at > now) return std::min(next, script_[done_].at);
      if (!script_[done_].action(now)) break;
    }
    return next;
  }
  void explain(std::ostream& out) const override {
    if (done_ < script_.size()) out << script_.size() - done_ << " actions are left\n";
  }
  bool finished() const { return done_ == script_.size(); }
  /// How far it is. What its actions and reactions remember is their bench's.
  void archive(Archive& a) { a(done_); }

 private:
  struct Step {
    Cycle at;
    Action action;
  };
  Scheduler& scheduler_;
  UnitId id_;
  std::vector<Step> script_;
  std::size_t done_ = 0;
  std::vector<Reaction> reactions_;
};

/// The end of a link or of a port: takes all that has arrived, from cycle `open` on.
template <class T>
struct Inbox {
  struct Arrival {
    Cycle at;
    T what;
  };
  Cycle open = 0;
  std::vector<Arrival> seen;

  Cycle take(Link<T>& link, Cycle now) {
    if (now < open) return open;
    while (link.front(now)) seen.push_back({now, link.pop(now)});
    return kNever;
  }
  Cycle take(Funnel<T>& funnel, Cycle now) {
    funnel.absorb(now);
    if (now < open) return open;
    for (u32 input = funnel.next_ready(0); input != Funnel<T>::kNoInput; input = funnel.next_ready(0)) {
      seen.push_back({now, funnel.pop(input, now)});
    }
    return kNever;
  }
  Cycle take(Crossbar<T>& crossbar, u32 output, Cycle now) {
    crossbar.absorb(output, now);
    if (now < open) return open;
    while (crossbar.front(output, now)) seen.push_back({now, crossbar.receive(output, now)});
    return kNever;
  }
  std::vector<Cycle> times() const {
    std::vector<Cycle> all;
    for (const Arrival& arrival : seen) all.push_back(arrival.at);
    return all;
  }
};

/// Answers that leave a fixed time after their request came, in order.
template <class T>
class Delay {
 public:
  void push(Cycle at, T message) { waiting_.push_back({at, std::move(message)}); }
  /// Sends what is due; for a Scripted's `always`.
  Cycle send(Link<T>& link, Cycle now) {
    while (!waiting_.empty() && waiting_.front().first <= now) {
      if (!link.can_push(now)) return kNever;
      link.push(now, std::move(waiting_.front().second));
      waiting_.pop_front();
    }
    return waiting_.empty() ? kNever : waiting_.front().first;
  }
  void archive(Archive& a) { a(waiting_); }

 private:
  std::deque<std::pair<Cycle, T>> waiting_;
};

/// One slice; lines go round the channels.
class BenchMap final : public LineMap {
 public:
  BenchMap(u32 line_bytes, u32 channels) : line_bytes_(line_bytes), channels_(channels) {}
  u32 slice_of(LineKey) const override { return 0; }
  u32 channel_of(PhysAddr line) const override { return static_cast<u32>(line.raw / line_bytes_ % channels_); }

 private:
  u32 line_bytes_, channels_;
};

}  // namespace terrace
