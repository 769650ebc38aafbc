// Objects in flight, named by 32-bit handles. A pool grows in chunks while it warms up and then never allocates;
// objects never move. In debug builds a handle carries a generation, so that using a freed object is caught.
//
// Units on several threads may use a SharedPool at once. An object is made and freed by units of one thread, which has a
// list of free objects of its own; in between, any unit that was given the handle may use it.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/archive.h"
#include "engine/check.h"
#include "engine/tick_thread.h"
#include "engine/types.h"

namespace terrace {

template <class T>
struct Handle {
  u32 raw = ~u32{0};
  bool valid() const { return raw != ~u32{0}; }
  friend bool operator==(Handle, Handle) = default;
};

template <class T, bool kShared = false>
class Pool {
 public:
  Pool() {
    // Other threads look into it while it grows.
    if constexpr (kShared) chunks_.reserve(kMostChunks);
  }

  /// A fresh object, as its default constructor leaves it.
  Handle<T> make() {
    List& list = own_list();
    if (list.free_head == kNone) grow(list);
    const u32 index = list.free_head;
    Entry& entry = entry_at(index);
    list.free_head = entry.next_free;
    entry.value = T{};
    entry.next_free = kLive;
    ++list.live;
    return {name(index)};
  }
  void free(Handle<T> handle) {
    List& list = own_list();
    Entry& entry = checked(handle);
    entry.next_free = list.free_head;
    list.free_head = handle.raw & kIndexMask;
    if constexpr (kGenerations) ++entry.generation;
    --list.live;
  }
  T& operator[](Handle<T> handle) { return checked(handle).value; }
  const T& operator[](Handle<T> handle) const { return const_cast<Pool*>(this)->checked(handle).value; }
  /// Of a shared pool: between cycles.
  u32 live() const {
    u32 all = 0;
    for (const List& list : lists_) all += list.live;
    return all;
  }
  /// A small number of the object's own while it lives: for arrays beside the pool.
  static u32 place(Handle<T> handle) { return handle.raw & kIndexMask; }

  /// Handles stay valid. Lists stay as they are, also when the machine goes on with another number of threads: what one
  /// frees that another has made is found in its own list.
  void archive(Archive& a) {
    u64 chunks = chunks_.size();
    a(chunks);
    while (chunks_.size() < chunks) chunks_.push_back(std::make_unique<Entry[]>(kChunk));
    for (const std::unique_ptr<Entry[]>& chunk : chunks_) {
      for (u32 i = 0; i < kChunk; ++i) {
        a(chunk[i].next_free, chunk[i].generation);
        if (chunk[i].next_free == kLive) a(chunk[i].value);
      }
    }
    for (List& list : lists_) a(list.free_head, list.live);
  }

 private:
#ifdef TERRACE_DCHECK
  static constexpr bool kGenerations = true;
#else
  static constexpr bool kGenerations = false;
#endif
  // 24 bits of index leave 8 for the generation: 16 M objects of 64 bytes would be a gigabyte in flight.
  static constexpr u32 kIndexBits = 24, kIndexMask = (u32{1} << kIndexBits) - 1;
  static constexpr u32 kChunkBits = 10, kChunk = u32{1} << kChunkBits;
  static constexpr u32 kMostChunks = kIndexMask / kChunk;
  static constexpr u32 kNone = ~u32{0}, kLive = ~u32{0} - 1;

  struct Entry {
    T value{};
    u32 next_free = kNone;
    u8 generation = 0;
  };

  struct alignas(kShared ? 64 : alignof(u32)) List {
    u32 free_head = kNone;
    u32 live = 0;
  };

  List& own_list() { return lists_[kShared ? tick_thread : 0]; }
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
  [[gnu::cold, gnu::noinline]] void grow(List& list) {
    const std::lock_guard lock(growing_);
    const u32 first = static_cast<u32>(chunks_.size()) * kChunk;
    SIM_CHECK(chunks_.size() < kMostChunks, "a pool holds {} objects: something never frees them", first);
    chunks_.push_back(std::make_unique<Entry[]>(kChunk));
    for (u32 i = kChunk; i-- > 0;) {
      entry_at(first + i).next_free = list.free_head;
      list.free_head = first + i;
    }
  }

  std::vector<std::unique_ptr<Entry[]>> chunks_;
  std::array<List, kShared ? kMaxTickThreads : 1> lists_;
  std::mutex growing_;
};

template <class T>
using SharedPool = Pool<T, true>;

}  // namespace terrace
