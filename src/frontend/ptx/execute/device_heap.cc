// SPDX-License-Identifier: MIT
#include "frontend/ptx/execute/device_heap.h"

#include <algorithm>
#include <iterator>

namespace terrace::ptx {

void DeviceHeap::place(VirtAddr first, u64 bytes) {
  first_ = first;
  bytes_ = bytes;
  clear();
}

void DeviceHeap::clear() {
  taken_.clear();
  free_.clear();
  if (bytes_ != 0) free_[first_.raw] = bytes_;
}

u64 DeviceHeap::take(u64 bytes) {
  if (bytes == 0 || bytes > bytes_) return 0;
  const u64 whole = (bytes + kAlign - 1) / kAlign * kAlign;
  const auto found = std::find_if(free_.begin(), free_.end(), [&](const auto& place) { return place.second >= whole; });
  if (found == free_.end()) return 0;
  const auto [address, free_bytes] = *found;
  free_.erase(found);
  if (free_bytes > whole) free_[address + whole] = free_bytes - whole;
  taken_[address] = whole;
  return address;
}

void DeviceHeap::give_back(u64 address) {
  const auto held = taken_.find(address);
  if (held == taken_.end()) return;
  const auto place = free_.insert(*held).first;
  taken_.erase(held);
  const auto above = std::next(place);
  if (above != free_.end() && place->first + place->second == above->first) {
    place->second += above->second;
    free_.erase(above);
  }
  if (place == free_.begin()) return;
  const auto below = std::prev(place);
  if (below->first + below->second == place->first) {
    below->second += place->second;
    free_.erase(place);
  }
}

}  // namespace terrace::ptx
