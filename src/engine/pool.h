// Objects in flight, named by 32-bit handles. A pool grows in chunks while it warms up and then never allocates;
// objects never move. In debug builds a handle carries a generation, so that using a freed object is caught.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "engine/check.h"
#include "engine/types.h"

namespace terrace {

template <class T>
struct Handle {
  u32 raw = ~u32{0};
  bool valid() const { return raw != ~u32{0}; }
  friend bool operator==(Handle, Handle) = default;
};

template <class T>
class Pool {
 public:
  /// A fresh object, as its default constructor leaves it.
  Handle<T> make() {
    if (free_head_ == kNone) grow();
    const u32 index = free_head_;
    Entry& entry = entry_at(index);
    free_head_ = entry.next_free;
    entry.value = T{};
    entry.next_free = kLive;
    ++live_;
    return {name(index)};
  }
  void free(Handle<T> handle) {
    Entry& entry = checked(handle);
    entry.next_free = free_head_;
    free_head_ = handle.raw & kIndexMask;
    if constexpr (kGenerations) ++entry.generation;
    --live_;
  }
  T& operator[](Handle<T> handle) { return checked(handle).value; }
  const T& operator[](Handle<T> handle) const { return const_cast<Pool*>(this)->checked(handle).value; }
  u32 live() const { return live_; }
  /// A small number of the object's own while it lives: for arrays beside the pool.
  static u32 place(Handle<T> handle) { return handle.raw & kIndexMask; }

 private:
#ifdef TERRACE_DCHECK
  static constexpr bool kGenerations = true;
#else
  static constexpr bool kGenerations = false;
#endif
  // 24 bits of index leave 8 for the generation: 16 M objects of 64 bytes would be a gigabyte in flight.
  static constexpr u32 kIndexBits = 24, kIndexMask = (u32{1} << kIndexBits) - 1;
  static constexpr u32 kChunkBits = 10, kChunk = u32{1} << kChunkBits;
  static constexpr u32 kNone = ~u32{0}, kLive = ~u32{0} - 1;

  struct Entry {
    T value{};
    u32 next_free = kNone;
    u8 generation = 0;
  };

  Entry& entry_at(u32 index) { return chunks_[index >> kChunkBits][index & (kChunk - 1)]; }
  Entry& checked(Handle<T> handle) {
    Entry& entry = entry_at(handle.raw & kIndexMask);
    SIM_DCHECK(entry.next_free == kLive && entry.generation == u8(handle.raw >> kIndexBits),
               "a handle to an object that was freed");
    return entry;
  }
  u32 name(u32 index) {
    if constexpr (kGenerations) return index | u32{entry_at(index).generation} << kIndexBits;
    return index;
  }
  void grow() {
    const u32 first = static_cast<u32>(chunks_.size()) * kChunk;
    SIM_CHECK(first + kChunk <= kIndexMask, "a pool holds {} objects: something never frees them", live_);
    chunks_.push_back(std::make_unique<Entry[]>(kChunk));
    for (u32 i = kChunk; i-- > 0;) {
      entry_at(first + i).next_free = free_head_;
      free_head_ = first + i;
    }
  }

  std::vector<std::unique_ptr<Entry[]>> chunks_;
  u32 free_head_ = kNone;
  u32 live_ = 0;
};

}  // namespace terrace
