// The memory from which kernels take with malloc: one allocation in the tenant's own address space, so that no other
// tenant can reach it. What is taken and what is free is kept outside, where no kernel can overwrite it. The lowest free
// place that is large enough is taken, so the same calls in the same order give the same addresses.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>

#include "engine/archive.h"
#include "engine/types.h"

namespace terrace::ptx {

class DeviceHeap {
 public:
  static constexpr u64 kBytes = u64{8} << 20;  // as CUDA's cudaLimitMallocHeapSize begins
  static constexpr u64 kAlign = 16;            // as CUDA aligns them

  void place(VirtAddr first, u64 bytes);
  bool placed() const { return bytes_ != 0; }
  VirtAddr first() const { return first_; }
  u64 bytes() const { return bytes_; }

  /// Where the bytes begin, or 0 when there is no room, or when none are asked for.
  u64 take(u64 bytes);
  /// Whether what `take` gave begins there.
  bool holds(u64 address) const { return taken_.contains(address); }
  /// What is not held is left alone.
  void give_back(u64 address);
  /// All is free again.
  void clear();
  /// There is no heap any more.
  void leave() { *this = {}; }
  void archive(Archive& a) { a(first_, bytes_, taken_, free_); }

 private:
  VirtAddr first_;
  u64 bytes_ = 0;
  std::map<u64, u64> taken_, free_;  // address -> bytes; no two free places touch
};

}  // namespace terrace::ptx
