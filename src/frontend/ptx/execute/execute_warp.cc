// Instructions in which lanes see one another: shuffles, votes, matches, reductions. A 64-wide warp is two halves of 32
// lanes that know nothing of each other.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>

#include "frontend/ptx/execute/execution.h"
#include "frontend/ptx/execute/machine.h"
#include "frontend/ptx/execute/select_type.h"

namespace terrace::ptx {
namespace {

/// Runs f(first lane of the half, lanes, members) for the active lanes of each half that name the same members: those
/// meet, whatever other lanes of their half do, as the tiles of a warp do. A lane that is named but runs elsewhere has
/// diverged or exited: it does not take part. Without a member mask (before Volta) all active lanes meet.
template <class F>
void for_each_group(const Execution& x, u32 place, F&& f) {
  for (u32 base = 0; base < x.stride; base += kHalf) {
    u32 group = 0;
    for (u32 left = static_cast<u32>(x.active >> base); left != 0; left &= ~group) {
      if (place == kNoOperand) {
        f(base, left, left);
        break;
      }
      const auto* masks = x.src<u32>(place) + base;
      const u32 mask = masks[std::countr_zero(left)];
      group = 0;
      for (u32 rest = left; rest != 0; rest &= rest - 1) {
        const u32 lane = static_cast<u32>(std::countr_zero(rest));
        group |= u32{masks[lane] == mask} << lane;
      }
      f(base, group, group & mask);
    }
  }
}

/// row[lane] = value for the lanes of a group.
void write_group(const Execution& x, u32 place, u32 base, u32 group, u32 value) {
  auto* row = x.dst<u32>(place);
  for (u32 rest = group; rest != 0; rest &= rest - 1) row[base + static_cast<u32>(std::countr_zero(rest))] = value;
}

enum class Shuffle : u8 { kUp, kDown, kBfly, kIdx };

/// Source lane and whether it is in range, as the ISA's pseudocode for shfl has it.
std::pair<u32, bool> shuffle_source(Shuffle mode, u32 lane, u32 b, u32 c) {
  const u32 amount = b & 31, clamp = c & 31, segment = (c >> 8) & 31;
  const u32 most = (lane & segment) | (clamp & ~segment), least = lane & segment;
  u32 from = lane;
  bool good = false;
  switch (mode) {
    case Shuffle::kUp:
      from = lane - amount;
      good = static_cast<i32>(from) >= static_cast<i32>(most);
      break;
    case Shuffle::kDown:
      from = lane + amount;
      good = from <= most;
      break;
    case Shuffle::kBfly:
      from = lane ^ amount;
      good = from <= most;
      break;
    case Shuffle::kIdx:
      from = least | (amount & ~segment);
      good = from <= most;
      break;
  }
  return {good ? from : lane, good};
}

void run_shfl(Execution& x, const Inst& i) {
  const auto* a = x.src<u32>(i.a);
  const auto* b = x.src<u32>(i.b);
  const auto* c = x.src<u32>(i.c);
  u32 values[64];
  for (u32 lane = 0; lane < x.stride; ++lane) values[lane] = a[lane];
  u64 in_range = 0;
  const Shuffle mode = static_cast<Shuffle>(i.mode);
  auto* row = i.d == kNoOperand ? nullptr : x.dst<u32>(i.d);
  x.each([&](u32 lane) {
    const u32 base = lane & ~(kHalf - 1);
    const auto [from, good] = shuffle_source(mode, lane - base, b[lane], c[lane]);
    if (row != nullptr) row[lane] = values[base + from];
    in_range |= u64{good} << lane;
  });
  if (i.e != kNoOperand) x.write_predicate(i.e, in_range);
}

enum class Vote : u8 { kAll, kAny, kUni, kBallot };

void run_vote(Execution& x, const Inst& i) {
  const u64 predicate = i.flags & kNegateC ? ~x.predicates[i.c] : x.predicates[i.c];
  const Vote mode = static_cast<Vote>(i.mode);
  u64 result = 0;
  for_each_group(x, i.members, [&](u32 base, u32 group, u32 voters) {
    const u32 votes = static_cast<u32>(predicate >> base) & voters;
    if (mode == Vote::kBallot) return write_group(x, i.d, base, group, votes);
    const bool all = votes == voters, any = votes != 0;
    const bool holds = mode == Vote::kAll ? all : mode == Vote::kAny ? any : all || !any;
    if (holds) result |= u64{group} << base;
  });
  if (mode != Vote::kBallot) x.write_predicate(i.d, result);
}

template <class T>
void run_match(Execution& x, const Inst& i) {
  const auto* a = x.src<T>(i.a);
  u32 result[64] = {};
  u64 all_equal = 0;
  for_each_group(x, i.members, [&](u32 base, u32 group, u32 here) {
    bool equal = here != 0;
    for (u32 rest = here; rest != 0; rest &= rest - 1) {
      const u32 lane = static_cast<u32>(std::countr_zero(rest));
      u32 same = 0;
      for (u32 others = here; others != 0; others &= others - 1) {
        const u32 other = static_cast<u32>(std::countr_zero(others));
        same |= u32{a[base + other] == a[base + lane]} << other;
      }
      result[base + lane] = same;
      equal = equal && same == here;
    }
    if (equal) all_equal |= u64{group} << base;
  });
  const bool all = i.mode != 0;
  if (i.d != kNoOperand)
    x.write_each<u32>(i.d, [&](u32 lane) { return all && !((all_equal >> lane) & 1) ? 0 : result[lane]; });
  if (i.e != kNoOperand) x.write_predicate(i.e, all_equal);
}

void run_activemask(Execution& x, const Inst& i) {
  x.write_each<u32>(i.d, [&](u32 lane) { return static_cast<u32>(x.active >> (lane & ~(kHalf - 1))); });
}

enum class Reduce : u8 { kAdd, kMin, kMax, kAnd, kOr, kXor };

template <class T>
T reduce(Reduce op, T a, T b) {
  switch (op) {
    case Reduce::kAdd:
      return static_cast<T>(static_cast<u32>(a) + static_cast<u32>(b));
    case Reduce::kMin:
      return std::min(a, b);
    case Reduce::kMax:
      return std::max(a, b);
    case Reduce::kAnd:
      return a & b;
    case Reduce::kOr:
      return a | b;
    case Reduce::kXor:
      return a ^ b;
  }
  return a;
}

template <class T>
void run_redux(Execution& x, const Inst& i) {
  const auto* a = x.src<T>(i.a);
  u32 result[64] = {};  // the destination may be the source
  for_each_group(x, i.members, [&](u32 base, u32 group, u32 here) {
    if (here == 0) return;
    T value = static_cast<T>(a[base + static_cast<u32>(std::countr_zero(here))]);
    for (u32 rest = here & (here - 1); rest != 0; rest &= rest - 1)
      value = reduce(static_cast<Reduce>(i.mode), value,
                     static_cast<T>(a[base + static_cast<u32>(std::countr_zero(rest))]));
    for (u32 rest = group; rest != 0; rest &= rest - 1)
      result[base + static_cast<u32>(std::countr_zero(rest))] = static_cast<u32>(value);
  });
  x.write_each<u32>(i.d, [&](u32 lane) { return result[lane]; });
}

void run_elect(Execution& x, const Inst& i) {
  u64 elected = 0;
  for_each_group(x, i.members, [&](u32 base, u32 group, u32 here) {
    const u32 leader = static_cast<u32>(std::countr_zero(here | u32{here == 0}));
    if (here != 0) elected |= u64{1} << (base + leader);
    if (i.d != kNoOperand) write_group(x, i.d, base, group, leader);
  });
  if (i.e != kNoOperand) x.write_predicate(i.e, elected);
}

/// d|p or d: the row goes to d, the predicate to e.
void result_and_predicate(Decoding& d, Type type) {
  const Operand& result = d.operand(0);
  if (result.kind != OperandKind::kSink) d.destination(kFieldD, 0, type);
  if (result.pair != kNoIndex) d.predicate_destination(kFieldE, result.pair);
  d.elementwise = false;
}

void members(Decoding& d, u32 operand) {
  d.source(kFieldMembers, operand, Type::kB32);
  d.inst.flags |= kGathers;
}

}  // namespace

void decode_shfl(Decoding& d) {
  const bool sync = d.take("sync");
  const int mode = d.take_any({"up", "down", "bfly", "idx"});
  const Type type = d.expect_type();
  if (mode < 0 || type != Type::kB32) d.refuse("needs .up, .down, .bfly or .idx, and .b32");
  d.expect_operands(sync ? 5 : 4, sync ? 5 : 4);
  result_and_predicate(d, type);
  d.source(kFieldA, 1, type);
  d.source(kFieldB, 2, Type::kB32);
  d.source(kFieldC, 3, Type::kB32);
  if (sync) members(d, 4);
  d.inst.mode = static_cast<u8>(mode);
  d.inst.run = run_shfl;
}

void decode_vote(Decoding& d) {
  const bool sync = d.take("sync");
  const int mode = d.take_any({"all", "any", "uni", "ballot"});
  const Type type = d.expect_type();
  if (mode < 0) d.refuse("needs .all, .any, .uni or .ballot");
  d.expect_operands(sync ? 3 : 2, sync ? 3 : 2);
  d.elementwise = false;
  d.inst.mode = static_cast<u8>(mode);
  if (static_cast<Vote>(mode) == Vote::kBallot) {
    d.destination(kFieldD, 0, type);
  } else {
    if (!d.is_predicate(d.operand(0))) d.refuse("the result must be a predicate register");
    d.predicate_destination(kFieldD, d.operand(0).index);
  }
  d.predicate_source(kFieldC, d.operand(1));
  if (sync) members(d, 2);
  d.inst.run = run_vote;
}

void decode_match(Decoding& d) {
  d.take("sync");
  const int mode = d.take_any({"any", "all"});
  const Type type = d.expect_type();
  if (mode < 0) d.refuse("needs .any or .all");
  d.expect_operands(3, 3);
  result_and_predicate(d, Type::kB32);
  d.source(kFieldA, 1, type);
  members(d, 2);
  d.inst.mode = static_cast<u8>(mode);
  choose(d, type == Type::kB32 ? run_match<u32> : type == Type::kB64 ? run_match<u64> : nullptr, type);
}

void decode_activemask(Decoding& d) {
  d.expect_type();
  d.expect_operands(1, 1);
  d.destination(kFieldD, 0, Type::kB32);
  d.inst.run = run_activemask;
}

void decode_redux(Decoding& d) {
  d.take("sync");
  const int mode = d.take_any({"add", "min", "max", "and", "or", "xor"});
  const Type type = d.expect_type();
  const bool bitwise = mode >= static_cast<int>(Reduce::kAnd);
  if (mode < 0 || !(bitwise ? type == Type::kB32 : type == Type::kU32 || type == Type::kS32))
    d.refuse("needs .add, .min or .max with .u32 or .s32, or .and, .or or .xor with .b32");
  d.expect_operands(3, 3);
  d.elementwise = false;
  d.destination(kFieldD, 0, type);
  d.source(kFieldA, 1, type);
  members(d, 2);
  d.inst.mode = static_cast<u8>(mode);
  d.inst.run = is_signed(type) ? run_redux<i32> : run_redux<u32>;
}

void decode_elect(Decoding& d) {
  d.take("sync");
  d.expect_operands(2, 2);
  result_and_predicate(d, Type::kB32);
  members(d, 1);
  d.inst.run = run_elect;
}

}  // namespace terrace::ptx
