// Objects side by side that are made once and never move: what cannot be copied, and is looked up by number in every tick.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>

#include "engine/check.h"
#include "engine/types.h"

namespace terrace {

template <class T>
class FixedArray {
 public:
  explicit FixedArray(u32 most) : begin_(std::allocator<T>().allocate(most)), most_(most) {}
  FixedArray(const FixedArray&) = delete;
  FixedArray& operator=(const FixedArray&) = delete;
  ~FixedArray() {
    std::destroy_n(begin_, size_);
    std::allocator<T>().deallocate(begin_, most_);
  }

  template <class... Args>
  T& add(Args&&... args) {
    SIM_CHECK(size_ < most_, "an array of {} objects gets one more", most_);
    T* const made = std::construct_at(begin_ + size_, std::forward<Args>(args)...);
    ++size_;
    return *made;
  }
  u32 size() const { return size_; }
  T& operator[](u32 i) { return begin_[i]; }
  const T& operator[](u32 i) const { return begin_[i]; }
  T* begin() { return begin_; }
  T* end() { return begin_ + size_; }

 private:
  T* begin_;
  u32 size_ = 0, most_;
};

}  // namespace terrace
