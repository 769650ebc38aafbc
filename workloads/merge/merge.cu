// Merge sort of keys with values, stable. sort_shared sorts runs in shared memory. A stage then merges pairs of runs:
// sample_ranks finds where every 128th element of a run belongs in the other one, merge_ranks brings the places of both
// runs' samples into one order, which cuts the pair into pieces of at most 128 elements of each run, and merge_intervals
// merges the pieces.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr u32 kMostRun = 1024, kSample = 128;

/// How many of `count` sorted keys are below `key`, or with `Equal` not above it.
template <bool Equal>
__device__ __forceinline__ u32 rank_of(u32 key, const u32* keys, u32 count) {
  u32 low = 0, high = count;
#pragma unroll 1
  while (low < high) {
    const u32 middle = (low + high) / 2;
    const bool before = Equal ? keys[middle] <= key : keys[middle] < key;
    if (before)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}
}  // namespace

/// A block of run / 2 threads sorts `run` elements: lists of 1, 2, 4 ... are merged, each element by its rank in the
/// other list.
extern "C" __global__ void sort_shared(const u32* keys_in, const u32* values_in, u32* keys_out, u32* values_out,
                                       u32 run) {
  __shared__ u32 keys[kMostRun];
  __shared__ u32 values[kMostRun];
  const u32 t = threadIdx.x, half = run / 2, first = blockIdx.x * run;
  keys[t] = keys_in[first + t];
  values[t] = values_in[first + t];
  keys[t + half] = keys_in[first + t + half];
  values[t + half] = values_in[first + t + half];
#pragma unroll 1
  for (u32 length = 1; length < run; length *= 2) {
    const u32 within = t & (length - 1);
    u32* const base_keys = keys + 2 * (t - within);
    u32* const base_values = values + 2 * (t - within);
    __syncthreads();
    const u32 key_a = base_keys[within], value_a = base_values[within];
    const u32 key_b = base_keys[within + length], value_b = base_values[within + length];
    const u32 place_a = within + rank_of<false>(key_a, base_keys + length, length);
    const u32 place_b = within + rank_of<true>(key_b, base_keys, length);
    __syncthreads();
    base_keys[place_a] = key_a;
    base_values[place_a] = value_a;
    base_keys[place_b] = key_b;
    base_values[place_b] = value_b;
  }
  __syncthreads();
  keys_out[first + t] = keys[t];
  values_out[first + t] = values[t];
  keys_out[first + t + half] = keys[t + half];
  values_out[first + t + half] = values[t + half];
}

/// One thread per sample: its place in the first run of its pair and in the second. The samples of a pair are next to each
/// other, those of the first run before those of the second.
extern "C" __global__ void sample_ranks(const u32* keys, u32* places_a, u32* places_b, u32 run, u32 samples) {
  const u32 sample = global_thread();
  if (sample >= samples) return;
  const u32 each = run / kSample;  // samples of a run
  const u32 in_pair = sample % (2 * each);
  const u32* const first = keys + sample / (2 * each) * 2 * run;
  const u32* const second = first + run;
  if (in_pair < each) {
    places_a[sample] = in_pair * kSample;
    places_b[sample] = rank_of<false>(first[in_pair * kSample], second, run);
  } else {
    places_a[sample] = rank_of<true>(second[(in_pair - each) * kSample], first, run);
    places_b[sample] = (in_pair - each) * kSample;
  }
}

/// The places of a pair's samples, in one order. In either run they rise with the merged sequence, so that each array can
/// be ordered by itself.
extern "C" __global__ void merge_ranks(const u32* places, u32* limits, u32 run, u32 samples) {
  const u32 sample = global_thread();
  if (sample >= samples) return;
  const u32 each = run / kSample, in_pair = sample % (2 * each);
  const u32* const first = places + sample - in_pair;
  const u32 place = places[sample];
  const u32 before =
      in_pair < each ? rank_of<false>(place, first + each, each) : rank_of<true>(place, first, each) - each;
  limits[sample + before] = place;
}

/// A block of 128 threads merges one piece.
extern "C" __global__ void merge_intervals(const u32* keys_in, const u32* values_in, const u32* limits_a,
                                           const u32* limits_b, u32* keys_out, u32* values_out, u32 run) {
  __shared__ u32 keys_a[kSample], keys_b[kSample], keys[2 * kSample], values[2 * kSample];
  const u32 t = threadIdx.x, piece = blockIdx.x, pieces = 2 * run / kSample;
  const u32 pair = piece / pieces * 2 * run;
  const bool last = piece % pieces == pieces - 1;
  const u32 from_a = limits_a[piece], count_a = (last ? run : limits_a[piece + 1]) - from_a;
  const u32 from_b = limits_b[piece], count_b = (last ? run : limits_b[piece + 1]) - from_b;
  const u32 at_a = pair + from_a + t, at_b = pair + run + from_b + t;
  u32 key_a = 0, key_b = 0, value_a = 0, value_b = 0;
  if (t < count_a) {
    keys_a[t] = key_a = keys_in[at_a];
    value_a = values_in[at_a];
  }
  if (t < count_b) {
    keys_b[t] = key_b = keys_in[at_b];
    value_b = values_in[at_b];
  }
  __syncthreads();
  if (t < count_a) {
    const u32 place = t + rank_of<false>(key_a, keys_b, count_b);
    keys[place] = key_a;
    values[place] = value_a;
  }
  if (t < count_b) {
    const u32 place = t + rank_of<true>(key_b, keys_a, count_a);
    keys[place] = key_b;
    values[place] = value_b;
  }
  __syncthreads();
  u32* const keys_to = keys_out + pair + from_a + from_b;
  u32* const values_to = values_out + pair + from_a + from_b;
  const u32 count = count_a + count_b;
#pragma unroll 1
  for (u32 i = t; i < count; i += kSample) {
    keys_to[i] = keys[i];
    values_to[i] = values[i];
  }
}
