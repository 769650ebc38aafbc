// Events of one kind, never more than a stated number. When there is no room, every second one goes, and from then on
// only every 2nd, 4th, 8th ... is kept: what remains is spread evenly over all that were seen. Which ones remain depends
// on their numbers alone.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "engine/archive.h"
#include "engine/types.h"

namespace terrace {

template <class T>
class Sampled {
 public:
  /// `most` is rounded down to an even number, and is at least 2.
  explicit Sampled(std::size_t most) : most_(std::max<std::size_t>(most / 2 * 2, 2)) {}

  void add(T event) {
    const u64 number = seen_++;
    if (number % every_ != 0) return;
    if (kept_.size() == most_) thin();
    kept_.push_back(std::move(event));
  }

  const std::vector<T>& kept() const { return kept_; }
  u64 seen() const { return seen_; }
  /// Of how many events one is kept.
  u64 every() const { return every_; }

  void archive(Archive& a) { a(kept_, seen_, every_); }

 private:
  /// The event for which there is no room has an even number among those kept, so it stays.
  void thin() {
    for (std::size_t i = 0; 2 * i < kept_.size(); ++i) kept_[i] = std::move(kept_[2 * i]);
    kept_.resize(kept_.size() / 2);
    every_ *= 2;
  }

  std::size_t most_;
  std::vector<T> kept_;
  u64 seen_ = 0, every_ = 1;
};

}  // namespace terrace
