// Page views by MapReduce. Map: a thread has a record of a web log, says how much it will emit, and then emits a key (where
// the record is, and a hash of it) and a value, byte by byte as a library that knows neither of them does. Group: a bitonic
// sort by hash, and by text where hashes are the same, brings equal records together. A second pass takes each record that is
// left once, groups by URL, and counts the addresses of each.
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

/// What is sorted: a key's hash and its number. Padding, to a power of two, has kNone for both and comes last.
struct Entry {
  u32 hash, number;
};
constexpr u32 kNone = ~0u;

/// Where the keys' texts are, and how much of each counts.
struct Texts {
  const u8* log;
  const Key* keys;
  const u32* lengths;
};

/// Below zero, zero or above it, as the text of key a comes before, is, or comes behind that of key b.
__device__ __forceinline__ int compare_texts(const Texts& texts, u32 a, u32 b) {
  const u8 *at = texts.log + texts.keys[a].offset, *other = texts.log + texts.keys[b].offset;
  const u32 length = texts.lengths[a], other_length = texts.lengths[b];
#pragma unroll 1
  for (u32 i = 0; i < length && i < other_length; ++i) {
    if (at[i] != other[i]) return static_cast<int>(at[i]) - static_cast<int>(other[i]);
  }
  return static_cast<int>(length) - static_cast<int>(other_length);
}

__device__ __forceinline__ bool comes_behind(const Texts& texts, const Entry& a, const Entry& b) {
  if (a.hash != b.hash) return a.hash > b.hash;
  if (a.number == b.number || b.number == kNone) return false;
  return a.number == kNone || compare_texts(texts, a.number, b.number) > 0;
}

/// Bytes up to the tab that ends so many fields.
__device__ __forceinline__ u32 length_of_fields(const u8* text, u32 fields) {
  u32 length = 0;
#pragma unroll 1
  for (;; ++length) {
    if (text[length] == '\t' && --fields == 0) return length;
  }
}

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

/// Every key becomes an entry; the whole record counts.
extern "C" __global__ void pvc_group_start(const Key* keys, const Value* values, Entry* entries, u32* lengths,
                                           u32 count, u32 padded) {
  const u32 i = global_thread();
  if (i >= padded) return;
  Entry entry = {kNone, kNone};
  if (i < count) {
    entry.hash = keys[i].hash;
    entry.number = i;
    lengths[i] = values[i].size;
  }
  entries[i] = entry;
}

/// The part of a bitonic sort that stays within twice as many entries as a block has threads: from sorted runs of
/// `first / 2` to runs of `last`.
extern "C" __global__ void pvc_sort_block(Entry* entries, const u8* log, const Key* keys, const u32* lengths, u32 first,
                                          u32 last) {
  extern __shared__ Entry sorted[];
  const Texts texts = {log, keys, lengths};
  const u32 threads = blockDim.x, base = blockIdx.x * 2 * threads, t = threadIdx.x;
  sorted[t] = entries[base + t];
  sorted[t + threads] = entries[base + t + threads];
  for (u32 run = first; run <= last; run *= 2) {
    for (u32 stride = run / 2 < threads ? run / 2 : threads; stride > 0; stride /= 2) {
      __syncthreads();
      const u32 low = 2 * stride * (t / stride) + t % stride, high = low + stride;
      const Entry a = sorted[low], b = sorted[high];
      const bool rising = ((base + low) & run) == 0;
      if (rising ? comes_behind(texts, a, b) : comes_behind(texts, b, a)) {
        sorted[low] = b;
        sorted[high] = a;
      }
    }
  }
  __syncthreads();
  entries[base + t] = sorted[t];
  entries[base + t + threads] = sorted[t + threads];
}

/// One step of the sort between entries that are farther apart.
extern "C" __global__ void pvc_sort_step(Entry* entries, const u8* log, const Key* keys, const u32* lengths, u32 run,
                                         u32 stride) {
  const u32 t = global_thread();
  const u32 low = 2 * stride * (t / stride) + t % stride, high = low + stride;
  const Texts texts = {log, keys, lengths};
  const Entry a = entries[low], b = entries[high];
  const bool rising = (low & run) == 0;
  if (rising ? comes_behind(texts, a, b) : comes_behind(texts, b, a)) {
    entries[low] = b;
    entries[high] = a;
  }
}

/// The second map: of equal records the first goes on, with a hash of its URL. From now on URL and address count; those
/// lengths have an array of their own, since neighbours still compare whole records here.
extern "C" __global__ void pvc_map_urls(const Entry* entries, const u8* log, const Key* keys, const u32* lengths,
                                        Entry* urls, u32* url_lengths, u32 padded) {
  const u32 i = global_thread();
  if (i >= padded) return;
  const Entry entry = entries[i];
  const Texts texts = {log, keys, lengths};
  Entry url = {kNone, kNone};
  if (entry.number != kNone &&
      (i == 0 || entries[i - 1].hash != entry.hash || compare_texts(texts, entries[i - 1].number, entry.number) != 0)) {
    const u8* text = log + keys[entry.number].offset;
    u32 hash = 0;
#pragma unroll 1
    for (const u8* at = text; *at != '\t'; ++at) hash = (hash << 4) ^ (hash >> 28) ^ *at;
    url.hash = hash;
    url.number = entry.number;
    url_lengths[entry.number] = length_of_fields(text, 2);
  }
  urls[i] = url;
}

/// The first entry of each URL counts the addresses that follow.
extern "C" __global__ void pvc_count_addresses(const Entry* urls, const u8* log, const Key* keys, const u32* lengths,
                                               u32* addresses, u32 padded) {
  const u32 i = global_thread();
  if (i >= padded) return;
  const Texts texts = {log, keys, lengths};
  const Entry own = urls[i];
  u32 count = 0;
  if (own.number != kNone) {
    const u8* text = log + keys[own.number].offset;
    const u32 length = length_of_fields(text, 1) + 1;  // with the tab
    const auto is_same_url = [&](const Entry& other) {
      if (other.number == kNone || other.hash != own.hash) return false;
      const u8* at = log + keys[other.number].offset;
#pragma unroll 1
      for (u32 k = 0; k < length; ++k) {
        if (at[k] != text[k]) return false;
      }
      return true;
    };
    if (i == 0 || !is_same_url(urls[i - 1])) {
      count = 1;
      Entry before = own;
#pragma unroll 1
      for (u32 j = i + 1; j < padded && is_same_url(urls[j]); ++j) {
        count += compare_texts(texts, before.number, urls[j].number) != 0;
        before = urls[j];
      }
    }
  }
  addresses[i] = count;
}
