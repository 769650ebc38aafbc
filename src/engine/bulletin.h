// A value that one unit publishes and any number read: slow-changing facts that policies need from afar. What is
// published in a cycle is seen from the next cycle on.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/types.h"

namespace terrace {

template <class T>
class Bulletin {
 public:
  explicit Bulletin(T initial = T{}) : before_(initial), latest_(initial) {}

  void publish(Cycle now, const T& value) {
    if (published_ != now) {
      before_ = latest_;
      published_ = now;
    }
    latest_ = value;
  }
  const T& read(Cycle now) const { return published_ == now ? before_ : latest_; }

 private:
  T before_;
  T latest_;
  Cycle published_ = kNever;
};

}  // namespace terrace
