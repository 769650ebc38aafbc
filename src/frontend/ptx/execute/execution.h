// What a handler sees while it runs one instruction of one warp, and the loops over lanes that handlers are made of.
//
// When all lanes of the frame run, rows are computed whole; otherwise results are blended under the mask. Both loops
// have a fixed count of 32 and no branch, so that the compiler turns them into vector instructions.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <type_traits>
#include <vector>

#include "frontend/ptx/decode/inst.h"
#include "frontend/ptx/execute/warp.h"

#ifdef __clang__
#define TERRACE_INDEPENDENT_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define TERRACE_INDEPENDENT_LANES _Pragma("GCC ivdep")
#endif

namespace terrace::ptx {

class Machine;

// Register rows are read as words or double words, whatever wrote them.
using Word = u32 __attribute__((may_alias));
using DoubleWord = u64 __attribute__((may_alias));

template <class T>
struct Row {
  using Raw = std::conditional_t<sizeof(T) == 8, u64, u32>;
};
template <class T>
using RawOf = typename Row<T>::Raw;

/// A row of registers, of words or of double words, whichever hold a T.
template <class T, bool kDouble = sizeof(T) == 8>
struct RowPointer {
  using type = Word*;
  using const_type = const Word*;
};
template <class T>
struct RowPointer<T, true> {
  using type = DoubleWord*;
  using const_type = const DoubleWord*;
};

template <class T>
inline T from_raw(RawOf<T> raw) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
    return std::bit_cast<T>(raw);
  else if constexpr (std::is_class_v<T>)  // f16, bf16
    return T{static_cast<u16>(raw)};
  else
    return static_cast<T>(raw);
}
template <class T>
inline RawOf<T> to_raw(T value) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
    return std::bit_cast<RawOf<T>>(value);
  else if constexpr (std::is_class_v<T>)
    return value.bits;
  else
    return static_cast<RawOf<T>>(static_cast<std::make_unsigned_t<T>>(value));
}

/// Wide enough that the compiler need not think of an index that wraps: rows then become vector instructions.
using Lane = u64;

inline constexpr u32 kHalf = 32;  // lanes of one hardware vector step; warp-wide instructions act on such halves

/// What all blocks of a launch share.
struct LaunchState {
  const Code* code = nullptr;
  Dim3 grid, block;
  LaunchId id{};  // %gridid
  u32 threads_per_block = 0, warps_per_block = 0, width = 32;
  u64 threads = 0;  // of the launch
  std::vector<u8> params;
  VirtAddr local_base;
  u64 local_bytes = 0;      // per thread
  VirtAddr constants;       // where the module's .const variables begin
  VirtAddr grid_workspace;  // if the kernel asks for it
  u32 shared_bytes = 0, dynamic_shared_bytes = 0;
  u64 live_blocks = 0;

  /// All but `code`.
  void archive(Archive& a) {
    a(grid, block, id, threads_per_block, warps_per_block, width, threads, params, local_base, local_bytes);
    a(constants, grid_workspace, shared_bytes, dynamic_shared_bytes, live_blocks);
  }
};

struct Execution {
  Machine& machine;
  const LaunchState& launch;
  GuestMemory& memory;
  Block& block;
  Warp& warp;
  StoreLog& stores;
  Effect& effect;
  Cycle now;
  u32 pc;      // of the instruction; Warp::pc may have moved on
  u64 active;  // after the guard
  bool all;    // active covers every lane whose registers matter
  u32 stride;  // 32 or 64
  u8* window;  // the frame's registers
  const u8* pool;
  u64* predicates;  // the frame's

  template <class T>
  typename RowPointer<T>::const_type src(u32 place) const {
    const u8* base = place & kInPool ? pool : window;
    return reinterpret_cast<typename RowPointer<T>::const_type>(base + (place & ~kInPool));
  }
  template <class T>
  typename RowPointer<T>::type dst(u32 place) const {
    return reinterpret_cast<typename RowPointer<T>::type>(window + place);
  }

  /// row[lane] = f(lane) on the active lanes; f must be harmless on the others.
  template <class T, class F>
  void write(u32 place, F&& f) const {
    auto* row = dst<T>(place);
    if (all) {
      for (Lane base = 0; base < stride; base += kHalf) {
        TERRACE_INDEPENDENT_LANES
        for (Lane lane = 0; lane < kHalf; ++lane) row[base + lane] = to_raw<T>(f(base + lane));
      }
      return;
    }
    for (Lane base = 0; base < stride; base += kHalf) {
      const u32 mask = static_cast<u32>(active >> base);
      TERRACE_INDEPENDENT_LANES
      for (Lane lane = 0; lane < kHalf; ++lane) {
        const auto result = to_raw<T>(f(base + lane));
        row[base + lane] = (mask >> lane) & 1 ? result : row[base + lane];
      }
    }
  }
  /// The same, one active lane after the other: for what does not vectorise or must not see idle lanes.
  template <class F>
  void each(F&& f) const {
    for (u64 rest = active; rest != 0; rest &= rest - 1) f(static_cast<u32>(std::countr_zero(rest)));
  }
  template <class T, class F>
  void write_each(u32 place, F&& f) const {
    auto* row = dst<T>(place);
    each([&](u32 lane) { row[lane] = to_raw<T>(f(lane)); });
  }
  /// The lanes where f holds, of all lanes.
  template <class F>
  u64 where(F&& f) const {
    u64 result = 0;
    for (Lane base = 0; base < stride; base += kHalf) {
      u32 mask = 0;
      for (Lane lane = 0; lane < kHalf; ++lane) mask |= static_cast<u32>(f(base + lane)) << lane;
      result |= u64{mask} << base;
    }
    return result;
  }
  void write_predicate(u32 index, u64 value) const {
    predicates[index] = (predicates[index] & ~active) | (value & active);
  }
};

/// Handlers for operations that only combine rows: Op::apply takes values of types A... and gives an R. Op::kPerLane
/// asks for one lane at a time.
template <class Op>
concept PerLane = requires { requires Op::kPerLane; };

template <class Op, class R, class A>
void unary(Execution& x, const Inst& i) {
  const auto* a = x.src<A>(i.a);
  const auto f = [=](Lane lane) -> R { return Op::apply(from_raw<A>(a[lane])); };
  if constexpr (PerLane<Op>)
    x.write_each<R>(i.d, f);
  else
    x.write<R>(i.d, f);
}

template <class Op, class R, class A, class B = A>
void binary(Execution& x, const Inst& i) {
  const auto* a = x.src<A>(i.a);
  const auto* b = x.src<B>(i.b);
  const auto f = [=](Lane lane) -> R { return Op::apply(from_raw<A>(a[lane]), from_raw<B>(b[lane])); };
  if constexpr (PerLane<Op>)
    x.write_each<R>(i.d, f);
  else
    x.write<R>(i.d, f);
}

template <class Op, class R, class A, class B = A, class C = A>
void ternary(Execution& x, const Inst& i) {
  const auto* a = x.src<A>(i.a);
  const auto* b = x.src<B>(i.b);
  const auto* c = x.src<C>(i.c);
  const auto f = [=](Lane lane) -> R {
    return Op::apply(from_raw<A>(a[lane]), from_raw<B>(b[lane]), from_raw<C>(c[lane]));
  };
  if constexpr (PerLane<Op>)
    x.write_each<R>(i.d, f);
  else
    x.write<R>(i.d, f);
}

}  // namespace terrace::ptx
