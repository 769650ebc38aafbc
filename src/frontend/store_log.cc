// SPDX-License-Identifier: MIT
#include <cstring>
#include <utility>

#include "frontend/inst_stream.h"

namespace terrace {

void StoreLog::push(GuestMemory& memory, VirtAddr va, const void* bytes, u32 count) {
  const u32 first = static_cast<u32>(bytes_.size());
  bytes_.resize(first + count);
  std::memcpy(bytes_.data() + first, bytes, count);
  // Where a page begins, another allocation may, whose bytes lie elsewhere on the host.
  if (!entries_.empty() && va.raw % GuestMemory::kGranuleBytes != 0) {
    Entry& last = entries_.back();
    if (last.memory == &memory && last.va.raw + last.count == va.raw) {
      last.count += count;
      return;
    }
  }
  entries_.push_back({&memory, va, first, count});
}

void StoreLog::defer(std::function<void()> action) {
  entries_.push_back({nullptr, {}, static_cast<u32>(actions_.size()), 0});
  actions_.push_back(std::move(action));
}

void StoreLog::commit() {
  for (const Entry& entry : entries_) {
    if (entry.memory == nullptr) [[unlikely]]
      actions_[entry.first]();
    else
      std::memcpy(entry.memory->at(entry.va), bytes_.data() + entry.first, entry.count);
  }
  entries_.clear();
  bytes_.clear();
  actions_.clear();
}

}  // namespace terrace
