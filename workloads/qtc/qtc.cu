// Quality-threshold clustering: from every point not yet in a cluster one is grown by adding, again and again, the
// neighbour whose greatest distance to the members is smallest; the largest wins and its points leave. A block of 64
// threads grows a cluster. Its candidates are in registers; their distances to the newest member are a column of the
// matrix, a row per lane.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr u32 kThreads = 64;
constexpr u32 kCached = 12;  // candidates of a thread
constexpr float kNone = 3.402823466e38f;

struct Points {
  const float* distances;  // [points][points]
  const int* neighbours;   // [points][width], in rising order, -1 at the end
  const int* degrees;      // with the point itself
  const u8* clustered;
  u32 points, width;
  float threshold;
};

/// A thread's candidates from number I on: their greatest distance to the members, now that `latest` is one, and the best.
/// A recursion, since the compiler does not unroll a loop that ends early, and registers cannot be indexed.
template <u32 I>
__device__ __forceinline__ void visit(const Points& all, u32 neighbours, u32 latest, const u8* members,
                                      const int (&ids)[kCached], float (&farthest)[kCached], float& best,
                                      int& best_id) {
  if constexpr (I < kCached) {
    if (I * kThreads >= neighbours) return;  // all threads do
    const int id = ids[I];
    if (id >= 0) {
      const bool taken = all.clustered[id] | members[id];
      const float distance = all.distances[static_cast<u32>(id) * all.points + latest];
      farthest[I] = distance > farthest[I] ? distance : farthest[I];
      if (!taken && farthest[I] <= all.threshold && farthest[I] < best) {  // ids rise: the first of equals stays
        best = farthest[I];
        best_id = id;
      }
    }
    visit<I + 1>(all, neighbours, latest, members, ids, farthest, best, best_id);
  }
}

/// The size of the cluster that grows from `seed`; `members` marks it. All threads of the block call it.
__device__ __forceinline__ int grow(const Points& all, u32 seed, u8* members) {
  __shared__ float nearest[kThreads];
  __shared__ int candidate[kThreads];
  __shared__ int chosen;
  const u32 t = threadIdx.x;
#pragma unroll 1
  for (u32 p = t; p < all.points; p += kThreads) members[p] = p == seed;

  const u32 neighbours = static_cast<u32>(all.degrees[seed]) - 1;
  int ids[kCached];
  float farthest[kCached];
#pragma unroll
  for (u32 i = 0; i < kCached; ++i) {
    const u32 k = i * kThreads + t;
    ids[i] = k < neighbours ? all.neighbours[seed * all.width + k] : -1;
    farthest[i] = 0.0f;
  }
  __syncthreads();

  u32 latest = seed;
  int size = 1;
#pragma unroll 1
  while (true) {
    float best = kNone;
    int best_id = -1;
    visit<0>(all, neighbours, latest, members, ids, farthest, best, best_id);
    nearest[t] = best;
    candidate[t] = best_id;
    __syncthreads();
    if (t == 0) {
#pragma unroll 1
      for (u32 other = 1; other < kThreads; ++other) {
        const float theirs = nearest[other];
        if (theirs > best || (theirs == best && candidate[other] >= best_id)) continue;
        best = theirs;
        best_id = candidate[other];
      }
      chosen = best_id;
      if (best_id >= 0) members[best_id] = 1;
    }
    __syncthreads();
    const int next = chosen;
    if (next < 0) return size;
    latest = static_cast<u32>(next);
    ++size;
  }
}
}  // namespace

extern "C" __global__ void qtc_degrees(const int* neighbours, u32 width, int* degrees, u32 points) {
  const u32 p = global_thread();
  if (p >= points) return;
  int count = 1;
#pragma unroll 1
  for (u32 k = 0; k < width && neighbours[p * width + k] >= 0; ++k) ++count;
  degrees[p] = count;
}

/// Block b takes the seeds b, b + blocks, ... of the list, `seeds` at most, and notes {size, seed} of its best. A seed that
/// cannot give more is skipped.
extern "C" __global__ void qtc_main(const float* distances, const int* neighbours, const int* degrees,
                                    const u8* clustered, const int* list, u32 listed, u32 seeds, u8* masks, int2* best,
                                    u32 points, u32 width, float threshold) {
  const Points all = {distances, neighbours, degrees, clustered, points, width, threshold};
  int2 mine = {0, -1};
#pragma unroll 1
  for (u32 n = 0, i = blockIdx.x; n < seeds && i < listed; ++n, i += gridDim.x) {
    const int seed = list[i];
    if (degrees[seed] <= mine.x) continue;
    const int size = grow(all, static_cast<u32>(seed), masks + blockIdx.x * points);
    if (size > mine.x) mine = {size, seed};
  }
  if (threadIdx.x == 0) best[blockIdx.x] = mine;
}

/// One thread: the largest cluster of all blocks, of equal ones that with the first seed.
extern "C" __global__ void qtc_reduce(const int2* best, u32 blocks, int2* winner) {
  int2 largest = {0, -1};
#pragma unroll 1
  for (u32 b = 0; b < blocks; ++b) {
    const int2 other = best[b];
    if (other.x > largest.x || (other.x == largest.x && other.x > 0 && other.y < largest.y)) largest = other;
  }
  *winner = largest;
}

/// One block: grows the winner again, into the first mask, and takes its members off the list.
extern "C" __global__ void qtc_trim(const float* distances, const int* neighbours, const int* degrees,
                                    const u8* clustered, const int2* winner, int* list, int* listed, u8* masks,
                                    u32 points, u32 width, float threshold) {
  __shared__ int stays[kThreads];
  const Points all = {distances, neighbours, degrees, clustered, points, width, threshold};
  grow(all, static_cast<u32>(winner->y), masks);
  const u32 t = threadIdx.x, count = static_cast<u32>(*listed);
  u32 kept = 0;
#pragma unroll 1
  for (u32 first = 0; first < count; first += kThreads) {
    const int point = first + t < count ? list[first + t] : -1;
    stays[t] = point >= 0 && !masks[point];
    __syncthreads();  // everything of this stretch is read before any of it is overwritten
    u32 before = kept;
#pragma unroll 1
    for (u32 other = 0; other < kThreads; ++other) {
      if (other == t && stays[t]) list[before] = point;
      before += static_cast<u32>(stays[other]);
    }
    kept = before;
    __syncthreads();
  }
  if (t == 0) *listed = static_cast<int>(kept);
}

extern "C" __global__ void qtc_update_mask(const u8* masks, u8* clustered, u32 points) {
  const u32 p = global_thread();
  if (p < points && masks[p]) clustered[p] = 1;
}
