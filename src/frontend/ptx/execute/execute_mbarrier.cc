// mbarrier: barrier objects in shared memory. Nothing blocks here: test_wait and try_wait answer at once, and programs ask
// again. (The ISA lets try_wait suspend the thread for a time that it leaves to the system.)
// SPDX-License-Identifier: MIT
#include <cstring>

#include "frontend/ptx/execute/access.h"
#include "frontend/ptx/execute/mbarrier.h"
#include "frontend/ptx/execute/select_type.h"

namespace terrace::ptx {
namespace {

enum class Kind : u8 { kInit, kInval, kArrive, kArriveDrop, kTestWait, kTryWait };
constexpr u8 kMayComplete = 0, kNoComplete = 1;  // Inst::bytes
constexpr u32 kWordBytes = 8;

MbarrierWord word_at(const u8* pointer) {
  MbarrierWord word;
  std::memcpy(&word, pointer, kWordBytes);
  return word;
}

/// The barrier of each active lane; false: the warp faulted.
bool find_barriers(Execution& x, const Inst& i, bool writes, Access& access) {
  if (writes) x.machine.disturb();
  find_addresses(x, i);
  if (!resolve(x, i, kWordBytes, writes, access)) return false;
  if (x.effect.space == MemorySpace::kShared) return true;
  x.machine.raise_fault(x, static_cast<u32>(std::countr_zero(x.active)),
                        "gives an address outside of shared memory; barrier objects lie in shared memory only");
  return false;
}

bool check_initialised(Execution& x, u32 lane, MbarrierWord word) {
  if (word.initialised()) return true;
  x.machine.raise_fault(x, lane, "uses a barrier object that is not initialised; call mbarrier.init before");
  return false;
}

u64 count_of(const Execution& x, const Inst& i, u32 lane) {
  return i.b == kNoOperand ? 1 : x.src<u32>(i.b)[lane];
}

void run_init(Execution& x, const Inst& i) {
  Access access;
  x.effect.action = MemoryAction::kStore;
  if (!find_barriers(x, i, true, access)) return;
  x.each([&](u32 lane) {
    const u64 count = count_of(x, i, lane);
    if (count == 0 || count > MbarrierWord::kMostArrivals)
      return x.machine.raise_fault(
          x, lane, fmt::format("expects {} arrivals; 1 to {} are possible", count, MbarrierWord::kMostArrivals));
    const MbarrierWord word = MbarrierWord::initial(count);
    std::memcpy(access.pointer[lane], &word, kWordBytes);
  });
}

void run_inval(Execution& x, const Inst& i) {
  Access access;
  x.effect.action = MemoryAction::kStore;
  if (!find_barriers(x, i, true, access)) return;
  x.each([&](u32 lane) {
    if (!check_initialised(x, lane, word_at(access.pointer[lane]))) return;
    std::memset(access.pointer[lane], 0, kWordBytes);
  });
}

/// Lanes arrive one after the other.
template <bool kDrops>
void run_arrive(Execution& x, const Inst& i) {
  Access access;
  x.effect.action = MemoryAction::kAtomic;
  if (!find_barriers(x, i, true, access)) return;
  x.each([&](u32 lane) {
    if (x.warp.status == WarpStatus::kFaulted) return;
    MbarrierWord word = word_at(access.pointer[lane]);
    if (!check_initialised(x, lane, word)) return;
    const u64 count = count_of(x, i, lane);
    if (count == 0 || count > word.pending())
      return x.machine.raise_fault(
          x, lane, fmt::format("arrives {} times at a barrier that waits for {} more", count, word.pending()));
    if (i.bytes == kNoComplete && count == word.pending())
      return x.machine.raise_fault(x, lane, "completes the phase with an arrival that is marked .noComplete");
    if (i.d != kNoOperand) x.dst<u64>(i.d)[lane] = word.bits;
    if (kDrops) word.drop(count);
    word.arrive(count);
    std::memcpy(access.pointer[lane], &word, kWordBytes);
  });
}

/// A phase is complete when another one is under way. States and parities of older phases mean nothing (ISA).
template <bool kParity>
void run_test_wait(Execution& x, const Inst& i) {
  Access access;
  x.effect.action = MemoryAction::kLoad;
  if (!find_barriers(x, i, false, access)) return;
  u64 complete = 0;
  x.each([&](u32 lane) {
    const MbarrierWord word = word_at(access.pointer[lane]);
    if (!check_initialised(x, lane, word)) return;
    const u32 asked = kParity ? x.src<u32>(i.b)[lane] & 1 : MbarrierWord{x.src<u64>(i.b)[lane]}.parity();
    complete |= u64{word.parity() != asked} << lane;
  });
  x.write_predicate(i.d, complete);
}

void run_pending_count(Execution& x, const Inst& i) {
  const auto* state = x.src<u64>(i.a);
  x.write_each<u32>(i.d, [&](u32 lane) { return static_cast<u32>(MbarrierWord{state[lane]}.pending()); });
}

void decode_wait(Decoding& d, bool may_suspend) {
  const bool parity = d.take("parity");
  d.expect_operands(3, may_suspend ? 4 : 3);
  if (!d.is_predicate(d.operand(0))) d.refuse("the result must be a predicate register");
  d.predicate_destination(kFieldD, d.operand(0).index);
  d.source(kFieldB, 2, parity ? Type::kU32 : Type::kB64);
  if (d.operands() == 4) d.source(kFieldC, 3, Type::kU32);  // for how long to suspend at most
  d.facts.action = MemoryAction::kLoad;
  d.inst.run = parity ? run_test_wait<true> : run_test_wait<false>;
}

void decode_arrive(Decoding& d, bool drops) {
  if (d.take("expect_tx")) d.refuse("transaction counts are not supported: there are no bulk copies");
  const bool no_complete = d.take("noComplete");
  d.expect_operands(no_complete ? 3 : 2, 3);
  if (d.operand(0).kind != OperandKind::kSink) d.destination(kFieldD, 0, Type::kB64);
  if (d.operands() == 3) d.source(kFieldB, 2, Type::kU32);
  d.inst.bytes = no_complete ? kNoComplete : kMayComplete;
  d.facts.action = MemoryAction::kAtomic;
  d.inst.run = drops ? run_arrive<true> : run_arrive<false>;
}

}  // namespace

void decode_mbarrier(Decoding& d) {
  if (d.take("pending_count")) {
    if (!d.take("b64")) d.refuse("needs .b64");
    d.expect_operands(2, 2);
    d.destination(kFieldD, 0, Type::kU32);
    d.source(kFieldA, 1, Type::kB64);
    d.facts.cls = InstClass::kInteger;
    d.inst.run = run_pending_count;
    return;
  }
  const int kind = d.take_any({"init", "inval", "arrive", "arrive_drop", "test_wait", "try_wait"});
  if (kind < 0) d.refuse("only init, inval, arrive, arrive_drop, test_wait, try_wait and pending_count are supported");
  for (const auto word : {"release", "acquire", "relaxed", "cta"}) d.take(word);
  const Space space = d.take_space().value_or(Space::kGeneric);
  if (space != Space::kGeneric && space != Space::kShared) d.refuse("acts on shared memory only");
  if (!d.take("b64")) d.refuse("needs .b64");
  d.elementwise = false;
  d.facts.action = MemoryAction::kStore;
  switch (static_cast<Kind>(kind)) {
    case Kind::kInit:
      d.expect_operands(2, 2);
      d.source(kFieldB, 1, Type::kU32);
      d.inst.run = run_init;
      break;
    case Kind::kInval:
      d.expect_operands(1, 1);
      d.inst.run = run_inval;
      break;
    case Kind::kArrive:
    case Kind::kArriveDrop:
      decode_arrive(d, static_cast<Kind>(kind) == Kind::kArriveDrop);
      break;
    default:
      decode_wait(d, static_cast<Kind>(kind) == Kind::kTryWait);
  }
  const bool result = static_cast<Kind>(kind) >= Kind::kArrive;
  const auto named = d.address(d.operand(result ? 1 : 0));
  d.inst.mode = static_cast<u8>(space == Space::kGeneric && named ? *named : space);
  // Whatever the address register, the object lies in shared memory, or the warp faults.
  d.facts.space = MemorySpace::kShared;
  d.facts.lane_bytes = kWordBytes;
  d.facts.after_atomics = true;
}

}  // namespace terrace::ptx
