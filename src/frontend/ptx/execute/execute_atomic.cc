// Atomics and reductions. On global memory they are only recorded: the timing model says when they are performed. On
// shared memory, which belongs to the SM, they take effect at once, in lane order.
// SPDX-License-Identifier: MIT
#include <cstring>

#include "frontend/ptx/arith/float_ops.h"
#include "frontend/ptx/arith/half.h"
#include "frontend/ptx/execute/access.h"
#include "frontend/ptx/execute/mbarrier.h"
#include "frontend/ptx/execute/select_type.h"

namespace terrace::ptx {
namespace {

template <AtomicOp kOp, class T>
T combine(T old, T operand, T compare) {
  if constexpr (kOp == AtomicOp::kAdd) {
    if constexpr (std::is_floating_point_v<T>)
      return add<Round::kNearestEven>(old, operand);
    else if constexpr (NarrowFloat<T>)
      return half_add(old, operand);
    else
      return static_cast<T>(old + operand);
  } else if constexpr (kOp == AtomicOp::kMin) {
    return operand < old ? operand : old;
  } else if constexpr (kOp == AtomicOp::kMax) {
    return operand > old ? operand : old;
  } else if constexpr (kOp == AtomicOp::kExch) {
    return operand;
  } else if constexpr (kOp == AtomicOp::kCas) {
    return old == compare ? operand : old;
  } else if constexpr (kOp == AtomicOp::kInc) {
    return old >= operand ? T(0) : static_cast<T>(old + 1);
  } else if constexpr (kOp == AtomicOp::kDec) {
    return old == 0 || old > operand ? operand : static_cast<T>(old - 1);
  } else if constexpr (kOp == AtomicOp::kAnd) {
    return static_cast<T>(old & operand);
  } else if constexpr (kOp == AtomicOp::kOr) {
    return static_cast<T>(old | operand);
  } else {
    return static_cast<T>(old ^ operand);
  }
}

template <AtomicOp kOp, class T>
u64 apply(u8* word, u64 operand, u64 compare) {
  using Raw = RawOf<T>;
  T old;
  std::memcpy(&old, word, sizeof(T));
  const T updated =
      combine<kOp, T>(old, from_raw<T>(static_cast<Raw>(operand)), from_raw<T>(static_cast<Raw>(compare)));
  std::memcpy(word, &updated, sizeof(T));
  return to_raw<T>(old);
}

/// Both halves at once.
template <class F>
u64 apply_packed_add(u8* word, u64 operand, u64) {
  u32 old;
  std::memcpy(&old, word, sizeof old);
  const u32 updated = both<F>([](F a, F b) { return half_add(a, b); }, old, static_cast<u32>(operand));
  std::memcpy(word, &updated, sizeof updated);
  return old;
}

/// On global memory the f32 addition flushes subnormal operands and results; on shared memory it does not (ISA, and as on an H200).
u64 apply_global_f32_add(u8* word, u64 operand, u64) {
  float old;
  std::memcpy(&old, word, sizeof old);
  const float updated = add<Round::kNearestEven, true>(old, from_raw<float>(static_cast<u32>(operand)));
  std::memcpy(word, &updated, sizeof updated);
  return to_raw<float>(old);
}

u64 value_at(const Execution& x, u32 place, bool wide, u32 lane) {
  if (place == kNoOperand) return 0;
  return wide ? u64{x.src<u64>(place)[lane]} : u64{x.src<u32>(place)[lane]};
}

void write_result(const Execution& x, const Inst& i, u32 lane, u64 value) {
  if (i.d == kNoOperand) return;
  if (i.flags & kWideValue)
    x.dst<u64>(i.d)[lane] = value;
  else
    x.dst<u32>(i.d)[lane] = static_cast<u32>(value);
}

/// Whether memory still holds what an atomic found there.
bool holds(const u8* word, u64 old, u32 bytes) {
  return std::memcmp(word, &old, bytes) == 0;  // the lowest bytes of `old` are the value's
}

/// Inst::count is an index into kFunctions.
struct FunctionEntry {
  AtomicOp op;
  Type type;
  AtomicFunction function;
};
constexpr std::array kFunctions = std::to_array<FunctionEntry>({
    {AtomicOp::kAdd, Type::kU32, apply<AtomicOp::kAdd, u32>},
    {AtomicOp::kAdd, Type::kS32, apply<AtomicOp::kAdd, u32>},
    {AtomicOp::kAdd, Type::kU64, apply<AtomicOp::kAdd, u64>},
    {AtomicOp::kAdd, Type::kS64, apply<AtomicOp::kAdd, u64>},
    {AtomicOp::kAdd, Type::kF32, apply<AtomicOp::kAdd, float>},
    {AtomicOp::kAdd, Type::kF64, apply<AtomicOp::kAdd, double>},
    {AtomicOp::kAdd, Type::kF16, apply<AtomicOp::kAdd, F16>},
    {AtomicOp::kAdd, Type::kBf16, apply<AtomicOp::kAdd, BF16>},
    {AtomicOp::kAdd, Type::kF16x2, apply_packed_add<F16>},
    {AtomicOp::kAdd, Type::kBf16x2, apply_packed_add<BF16>},
    {AtomicOp::kMin, Type::kU32, apply<AtomicOp::kMin, u32>},
    {AtomicOp::kMin, Type::kS32, apply<AtomicOp::kMin, i32>},
    {AtomicOp::kMin, Type::kU64, apply<AtomicOp::kMin, u64>},
    {AtomicOp::kMin, Type::kS64, apply<AtomicOp::kMin, i64>},
    {AtomicOp::kMax, Type::kU32, apply<AtomicOp::kMax, u32>},
    {AtomicOp::kMax, Type::kS32, apply<AtomicOp::kMax, i32>},
    {AtomicOp::kMax, Type::kU64, apply<AtomicOp::kMax, u64>},
    {AtomicOp::kMax, Type::kS64, apply<AtomicOp::kMax, i64>},
    {AtomicOp::kAnd, Type::kB32, apply<AtomicOp::kAnd, u32>},
    {AtomicOp::kAnd, Type::kB64, apply<AtomicOp::kAnd, u64>},
    {AtomicOp::kOr, Type::kB32, apply<AtomicOp::kOr, u32>},
    {AtomicOp::kOr, Type::kB64, apply<AtomicOp::kOr, u64>},
    {AtomicOp::kXor, Type::kB32, apply<AtomicOp::kXor, u32>},
    {AtomicOp::kXor, Type::kB64, apply<AtomicOp::kXor, u64>},
    {AtomicOp::kExch, Type::kB32, apply<AtomicOp::kExch, u32>},
    {AtomicOp::kExch, Type::kB64, apply<AtomicOp::kExch, u64>},
    {AtomicOp::kExch, Type::kU32, apply<AtomicOp::kExch, u32>},
    {AtomicOp::kExch, Type::kU64, apply<AtomicOp::kExch, u64>},
    {AtomicOp::kCas, Type::kB16, apply<AtomicOp::kCas, u16>},
    {AtomicOp::kCas, Type::kB32, apply<AtomicOp::kCas, u32>},
    {AtomicOp::kCas, Type::kB64, apply<AtomicOp::kCas, u64>},
    {AtomicOp::kInc, Type::kU32, apply<AtomicOp::kInc, u32>},
    {AtomicOp::kDec, Type::kU32, apply<AtomicOp::kDec, u32>},
});

void run_atomic(Execution& x, const Inst& i) {
  find_addresses(x, i);
  Access access;
  const bool wide = (i.flags & kWideValue) != 0;
  const bool has_result = (i.flags & kHasResult) != 0;
  x.effect.action = has_result ? MemoryAction::kAtomic : MemoryAction::kReduction;
  if (!resolve(x, i, i.bytes, true, access)) return;
  const AtomicFunction function = kFunctions[i.count].function;
  if (access.local_lanes != 0) fill_staging(x, i.bytes, access);
  for (u64 rest = x.active & ~access.global_lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    const u64 old = function(access.pointer[lane], value_at(x, i.b, wide, lane), value_at(x, i.c, wide, lane));
    if ((x.warp.polls != 0 || x.machine.watches()) && !holds(access.pointer[lane], old, i.bytes))
      x.machine.note_change();
    write_result(x, i, lane, old);
  }
  if (access.local_lanes != 0) spill_staging(x, i.bytes, access);
  if (access.global_lanes == 0) return;
  PendingAtomic& pending = x.machine.new_atomic(x);
  pending.function = function == apply<AtomicOp::kAdd, float> ? apply_global_f32_add : function;
  pending.lanes = x.effect.atomic_lanes = access.global_lanes;
  pending.wide = wide;
  pending.bytes = i.bytes;
  pending.watched = x.warp.polls != 0;
  pending.result_place = i.d == kNoOperand
                             ? kNoOperand
                             : i.d + static_cast<u32>(x.window - reinterpret_cast<u8*>(x.warp.registers.data()));
  for (u64 rest = access.global_lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    pending.address[lane] = x.effect.address[lane];
    pending.operand[lane] = value_at(x, i.b, wide, lane);
    pending.compare[lane] = value_at(x, i.c, wide, lane);
  }
}

}  // namespace

void decode_atom(Decoding& d) {
  const bool has_result = d.statement.opcode == "atom";
  for (const auto word : {"relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys", "noftz"})
    d.take(word);
  const Space space = d.take_space().value_or(Space::kGeneric);
  const int op = d.take_any({"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"});
  const Type type = d.expect_type();
  if (op < 0) d.refuse("the operation is not known");
  if (space != Space::kGeneric && space != Space::kGlobal && space != Space::kShared)
    d.refuse("atomics act on global and shared memory only");
  const bool compares = op == static_cast<int>(AtomicOp::kCas);
  const u32 first = has_result ? 1 : 0, operands = first + (compares ? 3 : 2);
  d.expect_operands(operands, operands);
  u32 entry = 0;
  while (entry < kFunctions.size() && !(static_cast<int>(kFunctions[entry].op) == op && kFunctions[entry].type == type))
    ++entry;
  if (entry == kFunctions.size()) choose(d, nullptr, type);
  if (has_result && d.operand(0).kind != OperandKind::kSink) d.destination(kFieldD, 0, type);
  const auto named = d.address(d.operand(first));
  // atom.cas d, [a], compare, new: the operand is the new value.
  d.source(compares ? kFieldC : kFieldB, first + 1, type);
  if (compares) d.source(kFieldB, first + 2, type);
  d.elementwise = false;
  d.inst.mode = static_cast<u8>(space == Space::kGeneric && named ? *named : space);
  d.inst.count = static_cast<u8>(entry);
  d.inst.bytes = static_cast<u8>(bytes_of(type));
  if (bytes_of(type) == 8) d.inst.flags |= kWideValue;
  if (has_result) d.inst.flags |= kHasResult;
  d.facts.action = has_result ? MemoryAction::kAtomic : MemoryAction::kReduction;
  const Space resolved = static_cast<Space>(d.inst.mode);
  d.facts.space = resolved == Space::kShared   ? MemorySpace::kShared
                  : resolved == Space::kGlobal ? MemorySpace::kGlobal
                                               : MemorySpace::kGeneric;
  d.facts.lane_bytes = d.inst.bytes;
  d.inst.run = run_atomic;
}

/// Behind kFunctions come two that no instruction names.
u32 atomic_number(AtomicFunction function) {
  const auto found = std::ranges::find(kFunctions, function, &FunctionEntry::function);
  if (found != kFunctions.end()) return static_cast<u32>(found - kFunctions.begin());
  SIM_CHECK(function == apply_global_f32_add || function == arrive_once, "an atomic without a number");
  return static_cast<u32>(kFunctions.size()) + (function == arrive_once);
}

AtomicFunction atomic_of_number(u32 number) {
  if (number < kFunctions.size()) return kFunctions[number].function;
  SIM_CHECK(number <= kFunctions.size() + 1, "there is no atomic {}", number);
  return number == kFunctions.size() ? apply_global_f32_add : arrive_once;
}

PendingAtomic& Machine::new_atomic(Execution& x) {
  const std::lock_guard lock(claims_);
  u32 place;
  if (free_atomics_.empty()) {
    place = static_cast<u32>(atomics_.size());
    atomics_.emplace_back();
  } else {
    place = free_atomics_.back();
    free_atomics_.pop_back();
  }
  x.effect.atomic = AtomicRef{place};
  ++x.warp.pending_atomics;
  PendingAtomic& atomic = atomics_[place];
  atomic.warp = &x.warp;
  atomic.shared = nullptr;
  return atomic;
}

void Machine::perform_atomic(AtomicRef ref, u64 lanes) {
  PendingAtomic& atomic = atomics_[index(ref)];
  SIM_DCHECK((lanes & ~atomic.lanes.load(std::memory_order_relaxed)) == 0, "lanes of an atomic are performed twice");
  u8* registers = reinterpret_cast<u8*>(atomic.warp->registers.data());
  for (u64 rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    u8* word = atomic.shared != nullptr ? atomic.shared + atomic.address[lane] : memory_.at({atomic.address[lane]});
    const u64 old = atomic.function(word, atomic.operand[lane], atomic.compare[lane]);
    if ((atomic.watched || watches()) && !holds(word, old, atomic.bytes)) note_change();
    if (atomic.result_place == kNoOperand) continue;
    if (atomic.wide)
      std::memcpy(registers + atomic.result_place + lane * 8, &old, 8);
    else
      std::memcpy(registers + atomic.result_place + lane * 4, &old, 4);
  }
  if ((atomic.lanes.fetch_and(~lanes, std::memory_order_acq_rel) & ~lanes) != 0) return;
  const std::lock_guard lock(claims_);
  --atomic.warp->pending_atomics;
  free_atomics_.push_back(index(ref));
}

}  // namespace terrace::ptx
