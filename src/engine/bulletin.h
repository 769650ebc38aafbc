// A value that one unit publishes and any number of units read: slowly changing facts that policies need from other
// units. A published value is visible from the next cycle on.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/archive.h"
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

  void archive(Archive& a) { a(before_, latest_, published_); }

 private:
  T before_;
  T latest_;
  Cycle published_ = kNever;
};

}  // namespace terrace
