// Asynchronous copies from global to shared memory. The bytes are copied when the instruction issues, as a load reads its
// value then; when they have arrived is the timing model's business, and what waits for them waits there.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "frontend/ptx/execute/access.h"
#include "frontend/ptx/execute/mbarrier.h"
#include "frontend/ptx/execute/select_type.h"

namespace terrace::ptx {
namespace {

/// Where the bytes go, in Code::lists: base register, offset, whether the register has 32 bits.
struct Target {
  u32 base, offset;
  bool narrow;
};
constexpr u32 kTargetEntries = 3;
Target target_of(const Execution& x, const Inst& i) {
  const u32* list = x.launch.code->lists.data() + i.list;
  return {list[0], list[1], list[2] != 0};
}
u32 target_address(const Execution& x, const Target& target, u32 lane) {
  if (target.base == kNoOperand) return target.offset;
  const u32 base = target.narrow ? u32{x.src<u32>(target.base)[lane]} : static_cast<u32>(x.src<u64>(target.base)[lane]);
  return base + target.offset;
}

/// Bytes that a lane reads; the rest of its target becomes zero.
u32 source_bytes(const Execution& x, const Inst& i, u32 lane) {
  if (i.b != kNoOperand) return x.src<u32>(i.b)[lane];
  if (i.c == kNoOperand) return i.bytes;
  const u64 ignored = i.flags & kNegateC ? ~x.predicates[i.c] : x.predicates[i.c];
  return (ignored >> lane & 1) != 0 ? 0 : i.bytes;
}

void run_copy(Execution& x, const Inst& i) {
  find_addresses(x, i);
  Effect& effect = x.effect;
  effect.action = MemoryAction::kCopy;
  effect.space = MemorySpace::kGlobal;
  effect.bytes = i.bytes;
  effect.words = 1;
  effect.stride = 0;
  x.machine.disturb();
  const Target target = target_of(x, i);
  x.each([&](u32 lane) {
    if (x.warp.status == WarpStatus::kFaulted) return;
    const u64 from = effect.address[lane], to = target_address(x, target, lane);
    const u32 bytes = source_bytes(x, i, lane);
    if (bytes > i.bytes)
      return x.machine.raise_fault(x, lane, fmt::format("reads {} bytes for a copy of {}", bytes, u32{i.bytes}));
    if (to % i.bytes != 0 || to + i.bytes > x.block.shared.size())
      return fault_outside(x, lane, Space::kShared, to, i.bytes, true);
    if (bytes != 0 && (from % i.bytes != 0 || !x.memory.contains({from}, bytes)))
      return fault_outside(x, lane, Space::kGlobal, from, bytes, false);
    u8* place = x.block.shared.data() + to;
    if (bytes != 0) std::memcpy(place, x.memory.at({from}), bytes);
    std::memset(place + bytes, 0, i.bytes - bytes);
    if (bytes != 0) return;
    effect.address[lane] = to;  // it reads nothing and only writes to shared memory
    effect.shared_lanes |= u64{1} << lane;
  });
}

/// The arrivals are performed when the copies have come. Without .noinc each is counted as pending first.
void run_arrive(Execution& x, const Inst& i) {
  Access access;
  x.machine.disturb();
  x.effect.action = MemoryAction::kReduction;
  find_addresses(x, i);
  if (!resolve(x, i, sizeof(MbarrierWord), true, access)) return;
  const u32 first = static_cast<u32>(std::countr_zero(x.active));
  if (x.effect.space != MemorySpace::kShared)
    return x.machine.raise_fault(x, first, "gives an address outside of shared memory");
  x.each([&](u32 lane) {
    MbarrierWord word;
    std::memcpy(&word, access.pointer[lane], sizeof word);
    if (!word.initialised())
      return x.machine.raise_fault(x, lane, "uses a barrier object that is not initialised; call mbarrier.init before");
    if (i.flags & kHasResult) return;  // .noinc
    if (word.pending() == MbarrierWord::kMostArrivals)
      return x.machine.raise_fault(x, lane, "adds an arrival to a barrier that cannot count any more");
    word.add_pending(1);
    std::memcpy(access.pointer[lane], &word, sizeof word);
  });
  if (x.warp.status == WarpStatus::kFaulted) return;
  PendingAtomic& pending = x.machine.new_atomic(x);
  pending.function = arrive_once;
  pending.shared = x.block.shared.data();
  pending.lanes = x.effect.atomic_lanes = x.active;
  pending.result_place = kNoOperand;
  pending.wide = true;
  pending.bytes = sizeof(MbarrierWord);
  pending.watched = x.warp.polls != 0;
  pending.address = x.effect.address;
}

/// commit_group and the waits: what they mean is in the instruction's facts.
void run_order(Execution&, const Inst&) {}

void decode_order(Decoding& d, CopyOrder order) {
  d.facts.cls = InstClass::kControl;
  d.facts.copy_order = order;
  d.inst.run = run_order;
  const u32 operands = order == CopyOrder::kWaitGroups ? 1 : 0;
  d.expect_operands(operands, operands);
  // To wait for more groups than asked for is always allowed.
  if (operands == 1)
    d.facts.copy_groups = static_cast<u8>(std::min<u64>(d.immediate(d.operand(0), "the number of groups"), 255));
}

void decode_arrival(Decoding& d) {
  if (!d.take("arrive")) d.refuse("only cp.async.mbarrier.arrive is known");
  if (d.take("noinc")) d.inst.flags |= kHasResult;
  const Space space = d.take_space().value_or(Space::kGeneric);
  if (space != Space::kGeneric && space != Space::kShared) d.refuse("acts on shared memory only");
  if (!d.take("b64")) d.refuse("needs .b64");
  d.expect_operands(1, 1);
  d.elementwise = false;
  const auto named = d.address(d.operand(0));
  d.inst.mode = static_cast<u8>(space == Space::kGeneric && named ? *named : space);
  d.facts.action = MemoryAction::kReduction;
  d.facts.space = MemorySpace::kShared;
  d.facts.lane_bytes = sizeof(MbarrierWord);
  d.facts.after_atomics = true;
  d.inst.run = run_arrive;
}

void take_target(Decoding& d, const Operand& operand) {
  if (operand.kind != OperandKind::kAddress || operand.parts.size() > 1)
    d.refuse("operand '{}' must be an address in brackets", operand.name);
  d.start_list();
  u32 offset = static_cast<u32>(operand.offset);
  bool narrow = false;
  if (!operand.parts.empty() && operand.parts[0].kind == OperandKind::kRegister) {
    narrow = d.rows(operand.parts[0]) == 1;
    d.list_source(operand.parts[0], narrow ? Type::kB32 : Type::kB64);
  } else {
    d.list_value(kNoOperand);
    const auto location = operand.parts.empty() ? std::nullopt : d.locate(operand.parts[0]);
    if (!operand.parts.empty() && (!location || location->space != Space::kShared))
      d.refuse("the target must lie in shared memory");
    if (location) offset += static_cast<u32>(location->address);
  }
  d.list_value(offset);
  d.list_value(narrow ? 1 : 0);
  static_assert(kTargetEntries == 3);
}

void decode_copy(Decoding& d) {
  const int cached = d.take_any({"ca", "cg"});
  if (d.take("L2::cache_hint")) d.refuse("cache hints from registers are not supported; drop the .L2::cache_hint");
  for (const auto word : {"L2::64B", "L2::128B", "L2::256B"}) d.take(word);
  const bool to_shared = d.take("shared") || d.take("shared::cta"), from_global = d.take("global");
  if (cached < 0 || !to_shared || !from_global) d.refuse("needs .ca or .cg, .shared and .global");
  d.expect_operands(3, 4);
  const u64 bytes = d.immediate(d.operand(2), "the number of bytes");
  if (cached == 0 ? bytes != 4 && bytes != 8 && bytes != 16 : bytes != 16)
    d.refuse("copies {} bytes; .ca takes 4, 8 or 16, .cg takes 16", bytes);
  d.elementwise = false;
  const auto named = d.address(d.operand(1));
  if (named && *named != Space::kGlobal) d.refuse("the source must lie in global memory");
  take_target(d, d.operand(0));
  if (d.operands() == 4) {
    if (d.is_predicate(d.operand(3)))
      d.predicate_source(kFieldC, d.operand(3));
    else
      d.source(kFieldB, 3, Type::kU32);
  }
  d.inst.mode = static_cast<u8>(Space::kGlobal);
  d.inst.bytes = static_cast<u8>(bytes);
  d.facts.action = MemoryAction::kCopy;
  d.facts.space = MemorySpace::kGlobal;
  d.facts.lane_bytes = static_cast<u8>(bytes);
  d.facts.volatile_access = cached == 1;  // .cg goes past the L1
  d.inst.run = run_copy;
}

}  // namespace

u64 arrive_once(u8* pointer, u64, u64) {
  MbarrierWord word;
  std::memcpy(&word, pointer, sizeof word);
  const u64 old = word.bits;
  if (word.initialised() && word.pending() > 0) word.arrive(1);
  std::memcpy(pointer, &word, sizeof word);
  return old;
}

void decode_cp(Decoding& d) {
  if (!d.take("async")) d.refuse("only cp.async is supported");
  if (d.take("bulk") || d.take("reduce")) d.refuse("bulk copies are not supported; use cp.async of 16 bytes instead");
  if (d.take("commit_group")) return decode_order(d, CopyOrder::kCommit);
  if (d.take("wait_group")) return decode_order(d, CopyOrder::kWaitGroups);
  if (d.take("wait_all")) return decode_order(d, CopyOrder::kWaitAll);
  if (d.take("mbarrier")) return decode_arrival(d);
  decode_copy(d);
}

}  // namespace terrace::ptx
