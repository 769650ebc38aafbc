// A queue of limited capacity in one array. Pushing to a full ring is a broken invariant: its owner asks first.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <memory>

#include "engine/archive.h"
#include "engine/check.h"
#include "engine/types.h"

namespace terrace {

template <class T>
class Ring {
 public:
  Ring() = default;
  explicit Ring(u32 capacity) : Ring(capacity, capacity) {}
  /// So many entries at first, and more when they are needed: for one of many, most of them short. A push may then move
  /// what is in it.
  Ring(u32 capacity, u32 at_first)
      : entries_(std::make_unique<T[]>(std::bit_ceil(at_first))),
        mask_(std::bit_ceil(at_first) - 1),
        capacity_(capacity) {}

  u32 size() const { return tail_ - head_; }
  u32 capacity() const { return capacity_; }
  bool empty() const { return head_ == tail_; }
  bool full() const { return size() >= capacity_; }

  void push(T value) {
    SIM_DCHECK(!full(), "push to a full ring of {}", capacity_);
    if (size() > mask_) [[unlikely]]
      grow();
    entries_[tail_++ & mask_] = std::move(value);
  }
  T& front() { return entries_[head_ & mask_]; }
  const T& front() const { return entries_[head_ & mask_]; }
  /// The element `n` places behind the front.
  T& operator[](u32 n) { return entries_[(head_ + n) & mask_]; }
  const T& operator[](u32 n) const { return entries_[(head_ + n) & mask_]; }
  T pop() {
    SIM_DCHECK(!empty(), "pop from an empty ring");
    return std::move(entries_[head_++ & mask_]);
  }
  void clear() { head_ = tail_ = 0; }

  void archive(Archive& a) {
    u32 count = size();
    a(count);
    if (a.restores()) {
      clear();
      while (mask_ < count && mask_ + 1 < capacity_) grow();
      tail_ = count;
    }
    for (u32 i = 0; i < count; ++i) a((*this)[i]);
  }

 private:
  void grow() {
    auto more = std::make_unique<T[]>(2 * size_t{mask_} + 2);
    for (u32 at = head_; at != tail_; ++at) more[at & (2 * mask_ + 1)] = std::move(entries_[at & mask_]);
    entries_ = std::move(more);
    mask_ = 2 * mask_ + 1;
  }

  std::unique_ptr<T[]> entries_;
  u32 mask_ = 0;
  u32 capacity_ = 0;
  u32 head_ = 0;  // head_ and tail_ run freely and wrap together
  u32 tail_ = 0;
};

}  // namespace terrace
