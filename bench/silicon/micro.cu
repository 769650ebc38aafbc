// Microbenchmarks (docs/silicon.md). They run on a real GPU and, unchanged, in Terrace: what they measure, they measure with the
// SM's own clock. micro_points.cc says with which arguments. Every kernel takes `data`, `out`, numbers of 64 bits, and last the round:
// repeats of one measurement differ in it, so that those in memory need not find what the one before has left in the caches.
// Compiles with clang (cmake/silicon.cmake) and with nvcc (docs/silicon.md).
// SPDX-License-Identifier: MIT
#include "device_clock.h"
#include "device_memory.h"

// The rate of the clock: cycles in so many nanoseconds.
extern "C" __global__ void spin(u64*, u64* out, u64 nanoseconds, u64) {
  const Begin begin = begin_span(out);
  while (nanosecond_now() - begin.nanosecond < nanoseconds) {
  }
  end_span(out, begin, 0);
}

// Makes a closed chain of pointers: element i points to (i factor + offset) mod elements. The chain visits all elements when
// factor - 1 is a multiple of 4 and of every prime factor of `elements`, and offset shares no factor with it.
extern "C" __global__ void link(u64* data, u64*, u64 elements, u64 stride, u64 factor, u64 offset, u64) {
  const u64 threads = u64{gridDim.x} * blockDim.x;
  for (u64 i = global_thread(); i < elements; i += threads)
    store_word(address_of(data) + i * stride, address_of(data) + (i * factor + offset) % elements * stride);
}

// Reads every element from all over the GPU, so that the L2 holds what fits; elements begin at an offset.
extern "C" __global__ void touch(u64* data, u64* out, u64 elements, u64 stride, u64 offset, u64) {
  const u64 threads = u64{gridDim.x} * blockDim.x;
  u64 sink = 0;
  for (u64 i = global_thread(); i < elements; i += threads)
    sink ^= load_from_l2(address_of(data) + offset + i * stride);
  if (sink == kNever) out[kCounted] = sink;
}

// One thread follows the chain: `warm` steps unmeasured, then `steps`. Rounds begin an eighth of the elements apart. What no L1
// holds is warmed up in the first round only: the L2 keeps it.
extern "C" __global__ void chase(u64* data, u64* out, u64 elements, u64 stride, u64 warm, u64 steps, u64 past_l1,
                                 u64 round) {
  constexpr u64 kMostInL1 = 8192, kFew = 256;  // elements
  if (round > 0 && elements > kMostInL1 && warm > kFew) warm = kFew;
  u64 at = address_of(data) + elements / 8 * (round % 8) * stride;
  if (past_l1 != 0) {
#pragma unroll 1
    for (u64 i = 0; i < warm; ++i) at = load_from_l2(at);
    if (at == 0) out[kCounted] = at;
    const Begin begin = begin_span(out);
#pragma unroll 1
    for (u64 i = 0; i < steps; i += 16) {
#pragma unroll
      for (u32 k = 0; k < 16; ++k) at = load_from_l2(at);
    }
    end_span(out, begin, at);
  } else {
#pragma unroll 1
    for (u64 i = 0; i < warm; ++i) at = load_cached(at);
    if (at == 0) out[kCounted] = at;
    const Begin begin = begin_span(out);
#pragma unroll 1
    for (u64 i = 0; i < steps; i += 16) {
#pragma unroll
      for (u32 k = 0; k < 16; ++k) at = load_cached(at);
    }
    end_span(out, begin, at);
  }
}

// From every SM to every one of some lines in the L2: cycles of so many loads that wait for each other, behind the blocks' six
// words, a row for each block. Blocks begin at different lines, so that they meet seldom. Every line points to itself
// (`link` with factor 1 and offset 0).
extern "C" __global__ void lines(u64* data, u64* out, u64 lines, u64 stride, u64 loads, u64) {
  const Begin begin = begin_span(out);
  u64 sink = 0;
#pragma unroll 1
  for (u64 k = 0; k < lines; ++k) {
    const u64 line = (k + u64{blockIdx.x} * 7) % lines;
    u64 at = address_of(data) + line * stride;
    at = load_from_l2(load_from_l2(at));
    if (at == 0) out[kCounted] = at;
    const u64 start = cycle_now();
#pragma unroll 1
    for (u64 i = 0; i < loads; i += 8) {
#pragma unroll
      for (u32 u = 0; u < 8; ++u) at = load_from_l2(at);
    }
    if (at == 0) out[kCounted] = at;
    const u64 end = cycle_now();
    out[u64{kSpanWords} * gridDim.x + blockIdx.x * lines + line] = end - start;
    sink ^= at;
  }
  end_span(out, begin, sink);
}

// Rates. Each warp goes on for so many cycles and counts how often it went round, so that all blocks are at work all the time.
// Bandwidth: block b in step i is at data + b own + ((b first + i step) mod (mask + 1)), where each of its threads takes
// four times 16 bytes, each a block's width apart. A round lies `shift` bytes from the one before.
#define STREAM_PLACE                                                                            \
  const u64 width = u64{blockDim.x} * 16;                                                       \
  const u64 base = address_of(data) + round * shift + blockIdx.x * own + u64{threadIdx.x} * 16; \
  const u64 begins = blockIdx.x * first;

extern "C" __global__ void stream_read(u64* data, u64* out, u64 own, u64 first, u64 step, u64 mask, u64 cycles,
                                       u64 shift, u64 round) {
  STREAM_PLACE
  u32 sink = 0;
  const Begin begin = begin_span(out);
  u64 i = 0;
#pragma unroll 1
  for (; cycle_now() - begin.cycle < cycles; ++i) {
    const u64 at = base + ((begins + i * step) & mask);
    const Vector v0 = load_vector(at), v1 = load_vector(at + width), v2 = load_vector(at + 2 * width),
                 v3 = load_vector(at + 3 * width);
    sink +=
        v0.a ^ v0.b ^ v0.c ^ v0.d ^ v1.a ^ v1.b ^ v1.c ^ v1.d ^ v2.a ^ v2.b ^ v2.c ^ v2.d ^ v3.a ^ v3.b ^ v3.c ^ v3.d;
  }
  end_span(out, begin, sink, i);
}

extern "C" __global__ void stream_write(u64* data, u64* out, u64 own, u64 first, u64 step, u64 mask, u64 cycles,
                                        u64 shift, u64 round) {
  STREAM_PLACE
  const Begin begin = begin_span(out);
  u64 i = 0;
#pragma unroll 1
  for (; cycle_now() - begin.cycle < cycles; ++i) {
    const u64 at = base + ((begins + i * step) & mask);
    const Vector v{static_cast<u32>(i), threadIdx.x, static_cast<u32>(round), blockIdx.x};
    for (u32 k = 0; k < 4; ++k) store_vector(at + k * width, v);
  }
  end_span(out, begin, 0, i);
}

// Reads in the first half of the place, writes in the second, `half` bytes on.
extern "C" __global__ void stream_copy(u64* data, u64* out, u64 own, u64 first, u64 step, u64 mask, u64 cycles,
                                       u64 shift, u64 half, u64 round) {
  STREAM_PLACE
  const Begin begin = begin_span(out);
  u64 i = 0;
#pragma unroll 1
  for (; cycle_now() - begin.cycle < cycles; ++i) {
    const u64 at = base + ((begins + i * step) & mask);
    const Vector v0 = load_vector(at), v1 = load_vector(at + width), v2 = load_vector(at + 2 * width),
                 v3 = load_vector(at + 3 * width);
    store_vector(at + half, v0);
    store_vector(at + half + width, v1);
    store_vector(at + half + 2 * width, v2);
    store_vector(at + half + 3 * width, v3);
  }
  end_span(out, begin, 0, i);
}

// Words of 4 bytes, `stride` bytes from lane to lane, four such accesses of a warp at a time. All warps of the grid walk on
// together.
extern "C" __global__ void strided(u64* data, u64* out, u64 stride, u64 mask, u64 cycles, u64 shift, u64 round) {
  const u64 warps = u64{gridDim.x} * blockDim.x / kWarp, warp = global_thread() / kWarp;
  const u64 reach = kWarp * stride;  // of one access of a warp
  const u64 base = address_of(data) + round * shift + threadIdx.x % kWarp * stride;
  u32 sink = 0;
  const Begin begin = begin_span(out);
  u64 i = 0;
#pragma unroll 1
  for (; cycle_now() - begin.cycle < cycles; i += 4) {
    u32 word[4];
    for (u32 k = 0; k < 4; ++k) word[k] = load_word(base + (((i + k) * warps + warp) * reach & mask));
    sink += word[0] ^ word[1] ^ word[2] ^ word[3];
  }
  end_span(out, begin, sink, i);
}

// Random words of 8 bytes, four at a time of each thread. what: 0 reads, 1 reads and writes, 2 adds atomically.
extern "C" __global__ void random_words(u64* data, u64* out, u64 mask, u64 cycles, u64 what, u64 round) {
  u64 state = (global_thread() + 1) * 0x9e3779b97f4a7c15 + round * 0xd1b54a32d192ed03, sink = 0;
  const Begin begin = begin_span(out);
  u64 i = 0;
#pragma unroll 1
  for (; cycle_now() - begin.cycle < cycles; i += 4) {
    u64 at[4], value[4];
    for (u32 k = 0; k < 4; ++k) {
      state = next_random(state);
      at[k] = address_of(data) + (state & mask & ~u64{7});
    }
    if (what < 2) {
      for (u32 k = 0; k < 4; ++k) value[k] = load_cached(at[k]);
      for (u32 k = 0; k < 4; ++k) sink += value[k];
      if (what == 1)
        for (u32 k = 0; k < 4; ++k) store_word(at[k], value[k] ^ state);
    } else {
      for (u32 k = 0; k < 4; ++k) add_word(at[k], 1);
    }
  }
  end_span(out, begin, sink, i);
}

// Atomic additions to data + lane + warp + block, each times its bytes. With a result (atom), or without (red).
extern "C" __global__ void atomics(u64* data, u64* out, u64 lane_bytes, u64 warp_bytes, u64 block_bytes, u64 result,
                                   u64 cycles, u64) {
  const u64 at =
      address_of(data) + threadIdx.x % kWarp * lane_bytes + threadIdx.x / kWarp * warp_bytes + blockIdx.x * block_bytes;
  u32 sink = 0;
  const Begin begin = begin_span(out);
  u64 i = 0;
  if (result != 0) {
#pragma unroll 1
    for (; cycle_now() - begin.cycle < cycles; i += 4) {
      u32 old[4];
      for (u32 k = 0; k < 4; ++k)
        asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(old[k]) : "l"(at), "r"(1) : "memory");
      sink += old[0] ^ old[1] ^ old[2] ^ old[3];
    }
  } else {
#pragma unroll 1
    for (; cycle_now() - begin.cycle < cycles; i += 4)
      for (u32 k = 0; k < 4; ++k) add_word(at, 1);
  }
  end_span(out, begin, sink, i);
}

// One thread; each addition, of nothing, begins when the one before has told the old value, which is the address (`link` with
// one element that points to itself).
extern "C" __global__ void atomic_chain(u64* data, u64* out, u64 count, u64) {
  u64 at = address_of(data);
  const Begin begin = begin_span(out);
#pragma unroll 1
  for (u64 i = 0; i < count; i += 8) {
#pragma unroll
    for (u32 k = 0; k < 8; ++k) {
      u64 old;
      asm volatile("atom.global.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(at), "l"(u64{0}) : "memory");
      at = old;
    }
  }
  end_span(out, begin, at);
}

namespace {

__shared__ __attribute__((aligned(16))) u32 places[4096];

__device__ __forceinline__ u32 shared_address(const u32* pointer) {
  u32 address;
  asm volatile("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(address) : "l"(pointer));
  return address;
}
__device__ __forceinline__ u32 load_shared(u32 address) {
  u32 value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}
/// Every word holds its own address.
__device__ __forceinline__ void fill_places() {
  for (u32 i = threadIdx.x; i < 4096; i += blockDim.x) places[i] = shared_address(&places[i]);
  barrier();
}

}  // namespace

// Shared memory: lanes are `words` words apart, loads wait for each other.
extern "C" __global__ void shared_chain(u64*, u64* out, u64 words, u64 count, u64) {
  fill_places();
  u32 at = shared_address(&places[threadIdx.x * words % 4096]);
  const Begin begin = begin_span(out);
#pragma unroll 1
  for (u64 i = 0; i < count; i += 16) {
#pragma unroll
    for (u32 k = 0; k < 16; ++k) at = load_shared(at);
  }
  end_span(out, begin, at);
}

// The same with four chains for each thread; lanes are `words` words apart, warps begin at the same place.
extern "C" __global__ void shared_rate(u64*, u64* out, u64 words, u64 count, u64) {
  fill_places();
  u32 at[4];
  for (u32 k = 0; k < 4; ++k) at[k] = shared_address(&places[(threadIdx.x % kWarp * words + k * 32) % 4096]);
  const Begin begin = begin_span(out);
#pragma unroll 1
  for (u64 i = 0; i < count; i += 16) {
#pragma unroll
    for (u32 k = 0; k < 16; ++k) at[k % 4] = load_shared(at[k % 4]);
  }
  end_span(out, begin, at[0] ^ at[1] ^ at[2] ^ at[3]);
}

// 16 bytes for each lane, next to each other, four chains.
extern "C" __global__ void shared_wide(u64*, u64* out, u64 count, u64) {
  fill_places();
  u32 at[4], sink = 0;
  for (u32 k = 0; k < 4; ++k) at[k] = shared_address(&places[threadIdx.x % kWarp * 4 + k * 128]);
  const Begin begin = begin_span(out);
#pragma unroll 1
  for (u64 i = 0; i < count; i += 16) {
#pragma unroll
    for (u32 k = 0; k < 16; ++k) {
      Vector v;
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v.a), "=r"(v.b), "=r"(v.c), "=r"(v.d)
                   : "r"(at[k % 4])
                   : "memory");
      at[k % 4] = v.a;
      sink += v.b ^ v.c ^ v.d;
    }
  }
  end_span(out, begin, at[0] ^ at[1] ^ at[2] ^ at[3] ^ sink);
}

// Atomic additions to shared memory, lanes `words` words apart.
extern "C" __global__ void shared_atomics(u64*, u64* out, u64 words, u64 count, u64) {
  fill_places();
  const u32 at = shared_address(&places[threadIdx.x * words % 4096]);
  u32 sink = 0;
  const Begin begin = begin_span(out);
#pragma unroll 1
  for (u64 i = 0; i < count; i += 4) {
    u32 old[4];
    for (u32 k = 0; k < 4; ++k)
      asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(old[k]) : "r"(at), "r"(1) : "memory");
    sink += old[0] ^ old[1] ^ old[2] ^ old[3];
  }
  end_span(out, begin, sink);
}

extern "C" __global__ void barriers(u64*, u64* out, u64 count, u64) {
  const Begin begin = begin_span(out);
#pragma unroll 1
  for (u64 i = 0; i < count; i += 16) {
#pragma unroll
    for (u32 k = 0; k < 16; ++k) barrier();
  }
  end_span(out, begin, 0);
}

// Operands that the compilers cannot know: they hold whatever lies in `out`.
#define SEED (threadIdx.x + static_cast<u32>(round))
#define OPERAND(k) (load_word(address_of(out) + 8 * k) ^ SEED)

// One instruction, many times: NAME_latency has one chain, NAME_rate eight for each thread. An iteration is 128 instructions,
// so that the loop adds 2 to 3 %. Every other instruction has `other` in place of `second`: the driver's compiler would make
// one of two that have the same operand.
#define INSTRUCTION(name, type, letter, first, second, other, third, text)                                \
  extern "C" __global__ void name##_latency(u64*, u64* out, u64 count, u64 round) {                       \
    [[maybe_unused]] const u32 a = OPERAND(0), b = OPERAND(1), c = OPERAND(2);                            \
    type x = static_cast<type>(first);                                                                    \
    const type y = static_cast<type>(second), w = static_cast<type>(other), z = static_cast<type>(third); \
    const Begin begin = begin_span(out);                                                                  \
    _Pragma("unroll 1") for (u64 i = 0; i < count; i += 128) {                                            \
      _Pragma("unroll") for (u32 k = 0; k < 64; ++k) {                                                    \
        asm volatile(text : "+" letter(x) : letter(y), letter(z));                                        \
        asm volatile(text : "+" letter(x) : letter(w), letter(z));                                        \
      }                                                                                                   \
    }                                                                                                     \
    end_span(out, begin, static_cast<u64>(x));                                                            \
  }                                                                                                       \
  extern "C" __global__ void __launch_bounds__(1024) name##_rate(u64*, u64* out, u64 count, u64 round) {  \
    [[maybe_unused]] const u32 a = OPERAND(0), b = OPERAND(1), c = OPERAND(2);                            \
    type x[8];                                                                                            \
    const type y = static_cast<type>(second), w = static_cast<type>(other), z = static_cast<type>(third); \
    for (u32 k = 0; k < 8; ++k) x[k] = static_cast<type>(first + k);                                      \
    const Begin begin = begin_span(out);                                                                  \
    _Pragma("unroll 1") for (u64 i = 0; i < count; i += 128) {                                            \
      _Pragma("unroll") for (u32 k = 0; k < 8; ++k) {                                                     \
        for (u32 n = 0; n < 8; ++n) asm volatile(text : "+" letter(x[n]) : letter(y), letter(z));         \
        for (u32 n = 0; n < 8; ++n) asm volatile(text : "+" letter(x[n]) : letter(w), letter(z));         \
      }                                                                                                   \
    }                                                                                                     \
    type sum = x[0];                                                                                      \
    for (u32 k = 1; k < 8; ++k) sum = sum + x[k];                                                         \
    end_span(out, begin, static_cast<u64>(sum));                                                          \
  }

INSTRUCTION(fadd, float, "f", 1.0f + c, 1e-9f * a, 1e-9f * b, 0, "add.rn.f32 %0, %0, %1;")
INSTRUCTION(fmul, float, "f", 1.0f + c, 1.0f - 1e-12f * a, 1.0f + 1e-12f * b, 0, "mul.rn.f32 %0, %0, %1;")
INSTRUCTION(ffma, float, "f", 1.0f, 1.0f - 1e-9f * a, 1.0f - 1e-9f * b, 1e-9f * c, "fma.rn.f32 %0, %0, %1, %2;")
INSTRUCTION(hfma2, u32, "r", c, 0x38003800u - (a & 255), 0x34003400u - (b & 255), 0x30003000u,
            "fma.rn.f16x2 %0, %0, %1, %2;")
INSTRUCTION(dadd, double, "d", 1.0 + c, 1e-9 * a, 1e-9 * b, 0, "add.rn.f64 %0, %0, %1;")
INSTRUCTION(dfma, double, "d", 1.0, 1.0 - 1e-9 * a, 1.0 - 1e-9 * b, 1e-9 * c, "fma.rn.f64 %0, %0, %1, %2;")
INSTRUCTION(iadd, u32, "r", c, a, b, 0, "add.u32 %0, %0, %1;")
INSTRUCTION(imax, u32, "r", c, a, b, 0, "max.u32 %0, %0, %1;")
INSTRUCTION(imad, u32, "r", c, a, b, c, "mad.lo.u32 %0, %0, %1, %2;")
INSTRUCTION(iadd64, u64, "l", c, a, b, 0, "add.u64 %0, %0, %1;")
INSTRUCTION(lop3, u32, "r", c, a, b, c, "lop3.b32 %0, %0, %1, %2, 0x2d;")
INSTRUCTION(shf, u32, "r", c, a, b, c, "shf.l.wrap.b32 %0, %0, %1, %2;")
INSTRUCTION(prmt, u32, "r", c, a, b, c, "prmt.b32 %0, %0, %1, %2;")
INSTRUCTION(popc, u32, "r", a, 0, 0, 0, "popc.b32 %0, %0;")
INSTRUCTION(ex2, float, "f", 1.0f + a, 0, 0, 0, "ex2.approx.ftz.f32 %0, %0;")
INSTRUCTION(rsqrt, float, "f", 1.0f + a, 0, 0, 0, "rsqrt.approx.ftz.f32 %0, %0;")
INSTRUCTION(shfl, u32, "r", c, a & 31, b & 31, 0, "shfl.sync.bfly.b32 %0, %0, %1, 31, 0xffffffff;")
// A conversion to float, whose bits are the next whole number: of a conversion and its reverse nothing would be left.
INSTRUCTION(cvt, u32, "r", a, 0, 0, 0, "{ .reg .f32 t; cvt.rn.f32.u32 t, %0; mov.b32 %0, t; }")
// A comparison and a selection.
INSTRUCTION(select, u32, "r", c, a, b, c, "{ .reg .pred p; setp.lt.u32 p, %0, %1; selp.b32 %0, %2, %0, p; }")
// An addition and a logical operation: of two additions that follow each other, the driver's compiler makes one of three operands.
INSTRUCTION(iadd_lop3, u32, "r", c, a, b, c, "{ add.u32 %0, %0, %1; xor.b32 %0, %0, %2; }")
