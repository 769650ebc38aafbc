// Kernels that share a GPU in pairs (docs/silicon.md). Each runs from its launch until a time that it is told, in units of work, and
// counts those that its warps did within a window of time. On a GPU the time is the GPU's own, in nanoseconds, the same for all
// processes; in Terrace it is the cycle. What their memory holds does not matter.
// SPDX-License-Identifier: MIT
#include "device_clock.h"
#include "device_memory.h"

namespace {

// Words of `out`: a word for each SM, twice, and some for the whole.
constexpr u32 kMostSms = 1024, kClaims = 0, kCounts = kMostSms, kPlaces = 2 * kMostSms, kLastBegin = kPlaces + 1,
              kClock = kPlaces + 2, kSink = kPlaces + 6;

struct Task {
  u64* data;
  u64* out;
  u64 bytes;             // of data
  u64 first_sm, end_sm;  // blocks elsewhere leave
  u64 sms;               // of the GPU
  u64 start, end;        // of the window
};

/// Where a warp is among those of its tenant.
struct Place {
  u64 block, warp, lane;  // the block's number among those that stay
  u64 warps;              // of a block
  __device__ u64 number() const { return block * warps + warp; }
};

__device__ __forceinline__ u64 add_to(u64* at, u64 value) {
  u64 old;
  asm volatile("atom.global.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(at), "l"(value) : "memory");
  return old;
}

/// Many more blocks are launched than the GPU has SMs. One stays on each of the tenant's SMs, the others leave at once.
__device__ __forceinline__ u32 claim(const Task& task) {
  const u32 sm = sm_number();
  if (sm < task.first_sm || sm >= task.end_sm || nanosecond_now() >= task.end) return ~0u;
  if (add_to(&task.out[kClaims + sm], 1) != 0) return ~0u;
  asm volatile("atom.global.max.u64 _, [%0], %1;" ::"l"(&task.out[kLastBegin]), "l"(nanosecond_now()) : "memory");
  return static_cast<u32>(add_to(&task.out[kPlaces], 1));
}

template <class Work>
__device__ __forceinline__ void occupy(const Task& task) {
  __shared__ u32 claimed;
  if (threadIdx.x == 0) claimed = claim(task);
  barrier();
  if (claimed == ~0u) return;
  const Place place{claimed, threadIdx.x / kWarp, threadIdx.x % kWarp, blockDim.x / kWarp};
  Work work(task, place);
  const u64 cycle = cycle_now();
  u64 now = nanosecond_now(), done = 0;
  const u64 begin = now;
#pragma unroll 1
  while (now < task.end) {
    work.unit();
    now = nanosecond_now();
    if (now > task.start && now <= task.end) ++done;
  }
  if (work.sink() == kNever) task.out[kSink] = 1;
  if (place.lane == 0) add_to(&task.out[kCounts + sm_number()], done);
  if (place.number() == 0 && place.lane == 0) {
    task.out[kClock] = cycle_now() - cycle;
    task.out[kClock + 1] = now - begin;
  }
}

/// Multiplications and additions in registers.
struct Compute {
  float x[8], y;
  __device__ Compute(const Task&, const Place& place) : y(1.0f - 1e-3f * place.lane) {
    for (u32 k = 0; k < 8; ++k) x[k] = static_cast<float>(k);
  }
  __device__ __forceinline__ void unit() {
#pragma unroll
    for (u32 i = 0; i < 32; ++i)
      for (u32 k = 0; k < 8; ++k) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x[k]) : "f"(y));
  }
  __device__ u64 sink() const { return static_cast<u64>(x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7]); }
};

struct Shared {
  u32 at[4];
  __device__ Shared(const Task&, const Place& place) {
    __shared__ u32 places[4096];
    u32 base;
    asm volatile("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(base) : "l"(&places[0]));
    for (u32 i = threadIdx.x; i < 4096; i += blockDim.x) places[i] = base + 4 * i;
    barrier();
    for (u32 k = 0; k < 4; ++k) at[k] = base + 4 * static_cast<u32>((place.warp * 128 + k * 32 + place.lane) % 4096);
  }
  __device__ __forceinline__ void unit() {
#pragma unroll
    for (u32 i = 0; i < 32; ++i) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at[i % 4])::"memory");
  }
  __device__ u64 sink() const { return at[0] ^ at[1] ^ at[2] ^ at[3]; }
};

/// Reads pieces of 2 KB, a warp at a time. Own: within 64 KB of each block; otherwise all over the tenant's memory, warps
/// side by side.
template <bool kOwn, bool kReads, bool kWrites>
struct Stream {
  static constexpr u64 kPiece = 2048, kOwnPieces = 32;
  u64 base;
  u32 at, step, pieces, sum = 0;
  __device__ Stream(const Task& task, const Place& place)
      : base(address_of(task.data) + place.lane * 16 + (kOwn ? place.block * kOwnPieces * kPiece : 0)),
        at(static_cast<u32>(kOwn ? place.warp : place.number())),
        step(static_cast<u32>(kOwn ? place.warps : task.sms * place.warps)),
        pieces(static_cast<u32>(kOwn ? kOwnPieces : task.bytes / (kReads && kWrites ? 2 : 1) / kPiece)) {
    at %= pieces;
  }
  __device__ __forceinline__ void piece() {
    const u64 from = base + at * kPiece;
    Vector v[4] = {{at, step, at, sum}, {at, at, step, sum}, {step, at, at, sum}, {at, at, at, sum}};
    if (kReads)
      for (u32 k = 0; k < 4; ++k) v[k] = load_vector(from + k * 512);
    if (kWrites)
      for (u32 k = 0; k < 4; ++k) store_vector(from + (kReads ? pieces * kPiece : 0) + k * 512, v[k]);
    else
      for (u32 k = 0; k < 4; ++k) sum += folded(v[k]);
    at = (at + step) % pieces;
  }
  __device__ __forceinline__ void unit() {
    piece();
    piece();
  }
  __device__ u64 sink() const { return sum; }
};
using ReadOwn = Stream<true, true, false>;
using Read = Stream<false, true, false>;
using Write = Stream<false, false, true>;
using Copy = Stream<false, true, true>;

/// A piece is read, and 512 multiplications and additions follow.
struct Mixed {
  Read stream;
  Compute compute;
  __device__ Mixed(const Task& task, const Place& place) : stream(task, place), compute(task, place) {}
  __device__ __forceinline__ void unit() {
    stream.piece();
    compute.unit();
    compute.unit();
  }
  __device__ u64 sink() const { return stream.sink() + compute.sink(); }
};

/// Words of 8 bytes anywhere, four at a time.
enum class At { kRead, kUpdate, kAdd };
template <At kWhat>
struct Random {
  u64 base, mask, state, sum = 0;
  __device__ Random(const Task& task, const Place& place)
      : base(address_of(task.data)),
        mask(task.bytes - 8),  // bytes is a power of two
        state((place.number() * kWarp + place.lane + 1) * 0x9e3779b97f4a7c15) {}
  __device__ __forceinline__ void unit() {
    u64 at[4], value[4];
    for (u32 k = 0; k < 4; ++k) {
      state = next_random(state);
      at[k] = base + (state & mask);
    }
    if (kWhat == At::kAdd) {
      for (u32 k = 0; k < 4; ++k) add_word(at[k], 1);
      return;
    }
    for (u32 k = 0; k < 4; ++k) value[k] = load_cached(at[k]);
    for (u32 k = 0; k < 4; ++k) sum += value[k];
    if (kWhat == At::kUpdate)
      for (u32 k = 0; k < 4; ++k) store_word(at[k], value[k] ^ state);
  }
  __device__ u64 sink() const { return sum; }
};

/// Loads that wait for each other, anywhere: latency is all that counts.
struct Chase {
  u64 base, mask, state;
  __device__ Chase(const Task& task, const Place& place)
      : base(address_of(task.data)),
        mask(task.bytes - 8),
        state((place.number() * kWarp + place.lane + 1) * 0x9e3779b97f4a7c15) {}
  __device__ __forceinline__ void unit() {
    for (u32 k = 0; k < 4; ++k) state = next_random(state + load_cached(base + (state & mask)));
  }
  __device__ u64 sink() const { return state; }
};

/// One line of each page of 2 MB, pages in random order: the L2 holds the lines, TLBs must hold the pages.
struct Pages {
  static constexpr u64 kPage = 2 << 20;
  u64 base, state, sum = 0;
  u32 pages;
  __device__ Pages(const Task& task, const Place& place)
      : base(address_of(task.data)),
        state((place.number() * kWarp + place.lane + 1) * 0x9e3779b97f4a7c15),
        pages(static_cast<u32>(task.bytes / kPage)) {}
  __device__ __forceinline__ void unit() {
    u64 value[4];
    for (u32 k = 0; k < 4; ++k) {
      state = next_random(state);
      const u64 page = static_cast<u32>(state >> 32) % pages;
      value[k] = load_from_l2(base + page * kPage + (page * 37 * 128 & (kPage - 128)));
    }
    for (u32 k = 0; k < 4; ++k) sum += value[k];
  }
  __device__ u64 sink() const { return sum; }
};

}  // namespace

extern "C" __global__ void time_now(u64* out) {
  *out = nanosecond_now();
}

// Launched with at most 1,024 threads, one block for each SM; so many registers that this is allowed.
#define TENANT(name, Work)                                                                          \
  extern "C" __global__ void __launch_bounds__(1024)                                                \
      name(u64* data, u64* out, u64 bytes, u64 first_sm, u64 end_sm, u64 sms, u64 start, u64 end) { \
    occupy<Work>({data, out, bytes, first_sm, end_sm, sms, start, end});                            \
  }
TENANT(tenant_compute, Compute)
TENANT(tenant_shared, Shared)
TENANT(tenant_read_own, ReadOwn)
TENANT(tenant_read, Read)
TENANT(tenant_write, Write)
TENANT(tenant_copy, Copy)
TENANT(tenant_mixed, Mixed)
TENANT(tenant_random_read, Random<At::kRead>)
TENANT(tenant_random_update, Random<At::kUpdate>)
TENANT(tenant_random_add, Random<At::kAdd>)
TENANT(tenant_chase, Chase)
TENANT(tenant_pages, Pages)
