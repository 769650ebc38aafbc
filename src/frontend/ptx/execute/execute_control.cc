// Branches, calls, returns, barriers and fences.
// SPDX-License-Identifier: MIT
#include <bit>

#include "frontend/ptx/decode/decode.h"
#include "frontend/ptx/execute/device_runtime.h"
#include "frontend/ptx/execute/machine.h"
#include "frontend/ptx/execute/simt_stack.h"

namespace terrace::ptx {
namespace {

void run_branch(Execution& x, const Inst& i) {
  Warp& warp = x.warp;
  branch(warp, *x.launch.code, x.stride, x.active, i.target, i.reconverge);
  if (i.target > x.pc) return;
  if (x.active != 0 && warp.pc == i.target)
    x.machine.jump_back(x, i);
  else
    warp.stop_polling();  // it has left the loop
}

/// brx.idx: lanes go to many places; each group of lanes runs in the order of the list.
void run_table(Execution& x, const Inst& i) {
  Warp& warp = x.warp;
  const u32* targets = x.launch.code->lists.data() + i.list;
  const auto* row = x.src<u32>(i.a);
  u64 rest = x.active;
  const u64 others = warp.active & ~x.active;
  const u32 next = warp.pc + 1;
  if (i.reconverge != warp.reconverge) suspend(warp, i.reconverge, warp.reconverge, warp.active);
  warp.active = 0;
  warp.reconverge = i.reconverge;
  if (others != 0) suspend(warp, next, i.reconverge, others);
  while (rest != 0) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    const u32 choice = row[lane];
    if (choice >= i.target)
      return x.machine.raise_fault(
          x, lane, fmt::format("takes entry {} of a branch table of {}; the index must be smaller", choice, i.target));
    u64 same = 0;
    for (u64 lanes = rest; lanes != 0; lanes &= lanes - 1) {
      const u32 l = static_cast<u32>(std::countr_zero(lanes));
      if (row[l] == choice) same |= u64{1} << l;
    }
    rest &= ~same;
    if (targets[choice] != i.reconverge) suspend(warp, targets[choice], i.reconverge, same);
  }
  settle(warp, *x.launch.code, x.stride);
}

void run_call(Execution& x, const Inst& i) {
  if (x.active == 0) {
    ++x.warp.pc;
    return settle(x.warp, *x.launch.code, x.stride);
  }
  x.machine.enter_call(x, i.target, static_cast<u32>(i.imm), x.active);
}

/// Lanes that call different functions do so one function after the other; then all go on together.
void run_pointer_call(Execution& x, const Inst& i) {
  Warp& warp = x.warp;
  const Code& code = *x.launch.code;
  if (x.active == 0) {
    ++warp.pc;
    return settle(warp, code, x.stride);
  }
  const auto* addresses = x.src<u64>(i.a);
  const u32 lane = static_cast<u32>(std::countr_zero(x.active));
  const u64 address = addresses[lane];
  u32 number = 0;
  while (number < i.target && pointer_callee(code, i, number).address != address) ++number;
  if (number == i.target)
    return x.machine.raise_fault(
        x, lane,
        fmt::format("calls what is at {:#x}, which is no function of this module with these parameters; call through a "
                    "pointer to one",
                    address));
  u64 same = 0;
  x.each([&](u32 l) { same |= u64{addresses[l] == address} << l; });
  if (const u64 others = x.active & ~same; others != 0) {
    const u32 next = warp.pc + 1;
    if (next != warp.reconverge) suspend(warp, next, warp.reconverge, warp.active);
    suspend(warp, warp.pc, next, others);
    warp.reconverge = next;
    warp.active = same;
  }
  const PointerCallee callee = pointer_callee(code, i, number);
  x.machine.enter_call(x, callee.function, callee.call, same);
}

void run_return(Execution& x, const Inst& i) {
  const Code& code = *x.launch.code;
  const u32 end = code.functions[x.warp.frame().function].end;
  branch(x.warp, code, x.stride, x.active, end, i.reconverge == kNowhere ? end : i.reconverge);
}

void run_exit(Execution& x, const Inst&) {
  exit_lanes(x.warp, x.active);
  if (x.warp.active != 0) ++x.warp.pc;
  settle(x.warp, *x.launch.code, x.stride);
}

void run_trap(Execution& x, const Inst&) {
  if (x.active == 0) {
    ++x.warp.pc;
    return settle(x.warp, *x.launch.code, x.stride);
  }
  x.machine.raise_fault(x, static_cast<u32>(std::countr_zero(x.active)), "executes a trap");
}

void run_nothing(Execution&, const Inst&) {}
/// Whoever sleeps lets others go first. For how long is not modelled.
void run_sleep(Execution& x, const Inst&) {
  x.effect.polls = true;
}

void run_barrier(Execution& x, const Inst& i) {
  const u32 lane = static_cast<u32>(std::countr_zero(x.active));
  const u32 id = x.src<u32>(i.a)[lane];
  if (id >= 16)
    return x.machine.raise_fault(x, lane, fmt::format("names barrier {}; a block has barriers 0 to 15", id));
  Machine::Arrival arrival{id, i.b == kNoOperand ? 0 : x.src<u32>(i.b)[lane], (i.flags & kHasResult) == 0, i.mode, i.d,
                           0};
  if (i.mode != Machine::kNoReduction) {
    arrival.votes = x.predicates[i.c];
    if (i.flags & kNegateC) arrival.votes = ~arrival.votes;
  }
  x.machine.arrive(x, arrival);
}

}  // namespace

Handler end_of_function(bool entry) {
  return entry ? run_exit : run_return;
}

void decode_bra(Decoding& d) {
  d.take("uni");
  d.expect_operands(1, 1);
  d.inst.flow = Flow::kBranch;
  d.inst.target = d.label(d.operand(0));
  d.inst.run = run_branch;
}

void decode_brx(Decoding& d) {
  d.take("uni");
  if (!d.take("idx")) d.refuse("only brx.idx is known");
  d.expect_operands(2, 2);
  d.source(kFieldA, 0, Type::kU32);
  const TargetList* list = nullptr;
  for (const TargetList& candidate : d.function().target_lists)
    if (candidate.name == d.operand(1).name) list = &candidate;
  if (list == nullptr) d.refuse("{} is not a list of .branchtargets", d.operand(1).name);
  d.inst.flow = Flow::kTable;
  d.start_list();
  for (const Operand& target : list->targets) d.list_value(d.label(target));
  d.inst.target = static_cast<u32>(list->targets.size());
  d.inst.run = run_table;
}

void decode_ret(Decoding& d) {
  d.take("uni");
  d.expect_operands(0, 0);
  const bool exits = d.statement.opcode == "exit";
  d.inst.flow = exits ? Flow::kExit : Flow::kReturn;
  d.inst.run = end_of_function(exits || d.function().entry);
}

void decode_trap(Decoding& d) {
  d.inst.flow = Flow::kTrap;
  d.inst.run = run_trap;
}

void decode_nothing(Decoding& d) {
  d.take("u32");
  d.take("mask");
  for (const Operand& operand : d.statement.operands)
    if (operand.kind == OperandKind::kRegister) d.source(kFieldA, operand, Type::kU32);
  d.inst.run = d.statement.opcode == "nanosleep" ? run_sleep : run_nothing;
}

void decode_fence(Decoding& d) {
  for (const auto word : {"sc", "acq_rel", "acquire", "release", "cta", "cluster", "gpu", "gl", "sys"}) d.take(word);
  d.inst.run = run_nothing;
}

namespace {

struct CallParts {
  const Operand* results = nullptr;
  const Operand* callee = nullptr;
  const Operand* arguments = nullptr;
};

CallParts call_parts(Decoding& d) {
  CallParts parts;
  u32 at = 0;
  if (at < d.operands() && d.operand(at).kind == OperandKind::kList) parts.results = &d.operand(at++);
  if (at < d.operands()) parts.callee = &d.operand(at++);
  if (at < d.operands() && d.operand(at).kind == OperandKind::kList) parts.arguments = &d.operand(at++);
  const bool pointer = parts.callee != nullptr && parts.callee->kind == OperandKind::kRegister;
  // A pointer is followed by the name of a prototype or of a list of targets. What it points to decides.
  if (pointer && at < d.operands() && d.operand(at).kind == OperandKind::kSymbol) ++at;
  if (parts.callee == nullptr || (!pointer && parts.callee->kind != OperandKind::kSymbol) || at != d.operands())
    d.refuse("needs results, a function or a register that points to one, and arguments");
  return parts;
}

void require_param(const Decoding& d, const Operand& actual) {
  if (actual.kind != OperandKind::kVariable || d.function().variables[actual.index].space != Space::kParam)
    d.refuse("'{}' must be a .param variable", actual.name);
}

/// Pairs the caller's .param variables with the callee's, checking their sizes.
std::vector<ParamCopy> pair_params(Decoding& d, const Operand* list, const Function& callee,
                                   const std::vector<u32>& formal, bool to_callee) {
  const u64 given = list == nullptr ? 0 : list->parts.size();
  if (given != formal.size())
    d.refuse("{} takes {} {}, {} are given", callee.name, formal.size(), to_callee ? "arguments" : "results", given);
  std::vector<ParamCopy> copies;
  for (u64 p = 0; p < given; ++p) {
    const Operand& actual = list->parts[p];
    require_param(d, actual);
    const Variable& mine = d.function().variables[actual.index];
    const Variable& theirs = callee.variables[formal[p]];
    if (mine.bytes != theirs.bytes)
      d.refuse("{} has {} bytes, parameter {} of {} has {}", mine.name, mine.bytes, theirs.name, callee.name,
               theirs.bytes);
    const u32 m = static_cast<u32>(mine.offset), t = static_cast<u32>(theirs.offset);
    copies.push_back({to_callee ? m : t, to_callee ? t : m, static_cast<u32>(mine.bytes)});
  }
  return copies;
}

/// A function of the device runtime. Its list has where its arguments and results lie.
void decode_device_call(Decoding& d, const CallParts& parts, const Function& callee, const DeviceFunction& provided) {
  const std::vector<ParamCopy> arguments = pair_params(d, parts.arguments, callee, callee.params, true);
  const std::vector<ParamCopy> results = pair_params(d, parts.results, callee, callee.returns, false);
  d.start_list();
  const auto place = [&](const std::vector<ParamCopy>& copies, const std::vector<u32>& sizes, u32 ParamCopy::* mine) {
    bool fits = copies.size() == sizes.size();
    for (u32 i = 0; fits && i < sizes.size(); ++i) {
      fits = copies[i].bytes == sizes[i] && copies[i].*mine % 4 == 0;
      d.list_value(copies[i].*mine);
    }
    if (!fits) d.refuse("{} takes {}", callee.name, provided.usage);
  };
  place(arguments, provided.arguments, &ParamCopy::from);
  place(results, provided.results, &ParamCopy::to);
  d.decoder().kernel.code.uses_heap |= provided.uses_heap;
  d.inst.flow = provided.returns ? Flow::kNext : Flow::kTrap;
  d.inst.run = provided.run;
}

/// Whether the .param variables given have the sizes of a function's.
bool fit(const Decoding& d, const Operand* list, const Function& callee, const std::vector<u32>& formal) {
  if ((list == nullptr ? 0 : list->parts.size()) != formal.size()) return false;
  for (u32 p = 0; p < formal.size(); ++p) {
    if (d.function().variables[list->parts[p].index].bytes != callee.variables[formal[p]].bytes) return false;
  }
  return true;
}

/// A call through a pointer. Its list has the functions of the module that take such arguments and give such results.
void decode_pointer_call(Decoding& d, const CallParts& parts) {
  KernelDecoder& kernel = d.decoder().kernel;
  for (const Operand* list : {parts.results, parts.arguments}) {
    if (list == nullptr) continue;
    for (const Operand& actual : list->parts) require_param(d, actual);
  }
  d.source(kFieldA, *parts.callee, Type::kU64);
  d.start_list();
  for (const auto& [function, index] : kernel.function_index) {
    if (function->entry || !fit(d, parts.arguments, *function, function->params) ||
        !fit(d, parts.results, *function, function->returns))
      continue;
    d.list_value(static_cast<u32>(function_address(static_cast<u32>(function - kernel.module.functions.data()))));
    d.list_value(index);
    d.list_value(static_cast<u32>(kernel.code.calls.size()));
    kernel.code.calls.push_back({pair_params(d, parts.arguments, *function, function->params, true),
                                 pair_params(d, parts.results, *function, function->returns, false)});
    ++d.inst.target;
  }
  d.inst.flow = Flow::kCallPointer;
  d.inst.run = run_pointer_call;
}

}  // namespace

void decode_call(Decoding& d) {
  d.take("uni");
  const CallParts parts = call_parts(d);
  if (parts.callee->kind == OperandKind::kRegister) return decode_pointer_call(d, parts);
  const Module& module = d.decoder().kernel.module;
  const auto found = module.function_index.find(parts.callee->name);
  if (found == module.function_index.end() || module.functions[found->second].entry)
    d.refuse("function {} is not known; system calls are not supported", parts.callee->name);
  const Function& callee = module.functions[found->second];
  if (const DeviceFunction* provided = find_device_function(callee))
    return decode_device_call(d, parts, callee, *provided);
  CallSite site{pair_params(d, parts.arguments, callee, callee.params, true),
                pair_params(d, parts.results, callee, callee.returns, false)};
  auto& calls = d.decoder().kernel.code.calls;
  d.inst.imm = calls.size();
  calls.push_back(std::move(site));
  d.inst.flow = Flow::kCall;
  d.inst.target = d.decoder().kernel.function_index.at(&callee);
  d.inst.run = run_call;
}

void decode_bar(Decoding& d) {
  d.take("cta");
  d.take("aligned");
  if (d.take("warp")) {  // lanes of a warp run together wherever they can; a parted one gathers here
    d.take("sync");
    d.inst.run = run_nothing;
    d.inst.flags |= kGathers;
    if (d.operands() == 1) d.source(kFieldMembers, 0, Type::kU32);
    d.facts.cls = InstClass::kControl;
    return;
  }
  const int kind = d.take_any({"sync", "arrive", "red"});
  if (kind < 0) d.refuse("only sync, arrive and red are known; clusters are not supported");
  d.inst.run = run_barrier;
  d.inst.flags |= kGathers;
  if (kind != 2) {
    d.expect_operands(1, 2);
    d.source(kFieldA, 0, Type::kU32);
    if (d.operands() == 2) d.source(kFieldB, 1, Type::kU32);
    if (kind == 1) d.inst.flags |= kHasResult;  // goes on without waiting
    return;
  }
  d.expect_operands(3, 4);
  const int reduction = d.take_any({"popc", "and", "or"});
  if (reduction < 0) d.refuse("only popc, and, or are known");
  d.inst.mode = static_cast<u8>(reduction + 1);
  const Type type = d.expect_type();
  if (type == Type::kPred) {
    if (!d.is_predicate(d.operand(0))) d.refuse("the result must be a predicate register");
    d.predicate_destination(kFieldD, d.operand(0).index);
  } else {
    d.destination(kFieldD, 0, type);
  }
  d.source(kFieldA, 1, Type::kU32);
  if (d.operands() == 4) d.source(kFieldB, 2, Type::kU32);
  d.predicate_source(kFieldC, d.operand(d.operands() - 1));
}

}  // namespace terrace::ptx
