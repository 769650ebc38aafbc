// Page views by MapReduce, the map phase: a thread has a record of a web log, says how much it will emit, and then emits
// a key (where the record is, and a hash of it) and a value, byte by byte as a library that knows neither of them does.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
struct Key {
  u64 log;  // its address
  u32 offset, hash;
};
struct Value {
  u32 size, phase;
};

/// From the thread's own memory. Volatile: the compiler would copy words.
__device__ __forceinline__ void copy_bytes(volatile u8* to, const volatile u8* from, u32 count) {
#pragma unroll 1
  for (u32 i = 0; i < count; ++i) to[i] = from[i];
}
}  // namespace

extern "C" __global__ void pvc_map_count(const int4* records, u32* key_sizes, u32* value_sizes, u32* counts,
                                         u32 count) {
  const u32 i = global_thread();
  if (i >= count) return;
  const bool emits = records[i].y > 0;  // not for an empty line
  key_sizes[i] = emits ? sizeof(Key) : 0;
  value_sizes[i] = emits ? sizeof(Value) : 0;
  counts[i] = emits ? 1 : 0;
}

/// The sizes have become places: what all records before this one emit.
extern "C" __global__ void pvc_map(const u8* log, const int4* records, const u32* key_places, const u32* value_places,
                                   const u32* places, u8* keys, u8* values, int4* directory, u32 count) {
  const u32 i = global_thread();
  if (i >= count) return;
  const int4 record = records[i];  // offset and size of the line
  if (record.y == 0) return;
  u32 hash = 0;
#pragma unroll 1
  for (const u8 *at = log + record.x, *end = at + record.y; at < end; ++at) hash = (hash << 4) ^ (hash >> 28) ^ *at;

  const Key key = {reinterpret_cast<u64>(log), static_cast<u32>(record.x), hash};
  const Value value = {static_cast<u32>(record.y), 0};
  const u32 key_place = key_places[i], value_place = value_places[i];
  copy_bytes(keys + key_place, reinterpret_cast<const volatile u8*>(&key), sizeof(Key));
  copy_bytes(values + value_place, reinterpret_cast<const volatile u8*>(&value), sizeof(Value));
  int4 entry;
  entry.x = static_cast<int>(key_place);
  entry.y = sizeof(Key);
  entry.z = static_cast<int>(value_place);
  entry.w = sizeof(Value);
  directory[places[i]] = entry;
}
