// SPDX-License-Identifier: MIT
#include "frontend/ptx/execute/machine.h"

#include <algorithm>
#include <cstring>

#include "engine/check.h"
#include "frontend/launch_origin.h"
#include "frontend/ptx/decode/decode.h"
#include "frontend/ptx/execute/simt_stack.h"
#include "frontend/ptx/execute/strands.h"
#include "frontend/ptx/read/plain_names.h"

namespace terrace::ptx {

Machine::Machine(GuestMemory& memory, MachineConfig config)
    : memory_(memory), config_(config), stride_(config.warp_width <= 32 ? 32 : 64) {
  if (config.warp_width < 1 || config.warp_width > 64)
    input_error("warp_width = {} is not possible; choose 1 to 64", config.warp_width);
  blocks_.reserve(kMostBlocksAtOnce);
  warps_.reserve(u64{kMostBlocksAtOnce} * kWarpsPerBlock);
}

Machine::Machine(Module module, GuestMemory& memory, MachineConfig config) : Machine(memory, config) {
  const Loaded& loaded = modules_[add(std::move(module))];
  for (const Variable& variable : loaded.module.variables) {
    const auto placed = loaded.variables.find(variable.name);
    if (placed != loaded.variables.end()) memory_.define_symbol(variable.name, placed->second, variable.bytes);
  }
}

Machine::~Machine() = default;

u32 Machine::add(Module module) {
  Loaded& loaded = modules_.emplace_back();
  loaded.module = std::move(module);
  try {
    place_variables(loaded);
  } catch (...) {
    for (const VirtAddr first : loaded.allocations) memory_.free(first);
    modules_.pop_back();
    throw;
  }
  return static_cast<u32>(modules_.size() - 1);
}

void Machine::clear() {
  SIM_CHECK(launches_.empty(), "modules are forgotten while a launch of theirs is in flight");
  for (const Loaded& loaded : modules_)
    for (const VirtAddr first : loaded.allocations) memory_.free(first);
  for (const LocalMemory& local : local_memories_) memory_.free(local.first);
  local_memories_.clear();
  for (const GridWorkspace& workspace : grid_workspaces_) memory_.free(workspace.first);
  grid_workspaces_.clear();
  modules_.clear();
  textures_.clear();
  surfaces_.clear();
  if (runtime_.heap.placed()) memory_.free(runtime_.heap.first());
  runtime_.heap.leave();
}

bool Machine::set_heap_bytes(u64 bytes) {
  if (runtime_.heap.placed()) return false;
  config_.heap_bytes = bytes;
  return true;
}

void Machine::place_heap() {
  if (runtime_.heap.placed() || config_.heap_bytes == 0) return;
  runtime_.heap.place(memory_.allocate("device heap", config_.heap_bytes), config_.heap_bytes);
}

void Machine::print_to(Printer printer) {
  show_printed();
  printer_ = std::move(printer);
}

void Machine::show_printed() {
  if (!printer_) return;
  if (const std::string text = runtime_.take_printed(); !text.empty()) printer_(text);
}

/// Module variables share one allocation per space, as a driver packs them; a touch beyond the last one is a fault.
void Machine::place_variables(Loaded& loaded) const {
  for (const Space space : {Space::kGlobal, Space::kConst}) {
    u64 bytes = 0;
    std::vector<std::pair<const Variable*, u64>> placed;
    for (const Variable& variable : loaded.module.variables) {
      if (variable.space != space || variable.bytes == 0) continue;
      if (variable.declared && variable.initial.empty()) continue;
      const u64 align = std::max<u64>(variable.align, 16);
      bytes = (bytes + align - 1) / align * align;
      placed.emplace_back(&variable, bytes);
      bytes += variable.bytes;
    }
    if (placed.empty()) continue;
    const VirtAddr base = memory_.allocate(
        fmt::format("{} of {}", space == Space::kConst ? "constants" : "variables", loaded.module.file), bytes);
    loaded.allocations.push_back(base);
    if (space == Space::kConst) loaded.constants = base;
    for (const auto& [variable, offset] : placed) loaded.variables[variable->name] = {base.raw + offset};
  }
  write_variables(loaded);
}

void Machine::write_variables(const Loaded& loaded) const {
  for (const Variable& variable : loaded.module.variables) {
    const auto placed = loaded.variables.find(variable.name);
    if (placed == loaded.variables.end()) continue;
    std::span<u8> bytes = memory_.write(placed->second, variable.bytes);
    std::fill(bytes.begin(), bytes.end(), u8{0});
    std::copy(variable.initial.begin(), variable.initial.end(), bytes.begin());
    for (const Relocation& relocation : variable.relocations) {
      const auto target = loaded.variables.find(relocation.symbol);
      const auto function = loaded.module.function_index.find(relocation.symbol);
      if (target == loaded.variables.end() && function == loaded.module.function_index.end())
        input_error("{}:{}: the initialiser of {} names {}, which is not a .global or .const variable of this module",
                    loaded.module.file, relocation.line, variable.name, relocation.symbol);
      const u64 address = (target == loaded.variables.end() ? function_address(function->second) : target->second.raw) +
                          static_cast<u64>(relocation.addend);
      std::memcpy(bytes.data() + relocation.offset, &address, relocation.bytes);
    }
  }
}

void Machine::begin_run() {
  for (const Loaded& loaded : modules_) write_variables(loaded);
  runtime_.heap.clear();
}

std::optional<Machine::PlacedVariable> Machine::variable(u32 module, std::string_view name) const {
  const Loaded& loaded = modules_.at(module);
  const auto placed = loaded.variables.find(name);
  if (placed == loaded.variables.end()) return std::nullopt;
  return PlacedVariable{placed->second, loaded.module.variables[loaded.module.variable_index.at(name)].bytes};
}

const Function* Machine::declaration(u32 module, std::string_view kernel) const {
  const Module& its = modules_.at(module).module;
  const auto found = its.function_index.find(kernel);
  if (found == its.function_index.end()) return find_by_plain_name(its, kernel);
  const Function& function = its.functions[found->second];
  return function.entry && function.defined ? &function : nullptr;
}

const Code& Machine::code(u32 module, std::string_view kernel) {
  Loaded& loaded = modules_.at(module);
  const auto decoded = loaded.kernels.find(kernel);
  if (decoded != loaded.kernels.end()) return decoded->second;
  const Function* function = declaration(module, kernel);
  if (function == nullptr) {
    std::string names;
    for (const std::string_view name : kernels(module))
      names.append(names.empty() ? "" : ", ")
          .append(name)
          .append(source_name(name) == name ? "" : fmt::format(" ({})", source_name(name)));
    input_error("{} has no kernel \"{}\"; it has {}", loaded.module.file, kernel, names.empty() ? "none" : names);
  }
  const auto known = loaded.kernels.find(function->name);  // under its own name
  if (known != loaded.kernels.end()) return known->second;
  return loaded.kernels.emplace(function->name, decode_kernel(loaded.module, *function, loaded.variables, stride_))
      .first->second;
}

void Machine::check_launch(const Launch& launch, const Function& kernel, const Code& code) const {
  const u64 threads = launch.block.count();
  const u32 width = config_.warp_width;
  if (threads == 0 || launch.grid.count() == 0)
    input_error("kernel {} is launched with an empty grid or block; give at least one thread", kernel.name);
  if (!fits(launch.block, kMostThreads))
    input_error("kernel {} is launched with a block of {} x {} x {} threads; at most {} x {} x {} are possible",
                kernel.name, launch.block.x, launch.block.y, launch.block.z, kMostThreads.x, kMostThreads.y,
                kMostThreads.z);
  if (!fits(launch.grid, kMostBlocks))
    input_error("kernel {} is launched with a grid of {} x {} x {} blocks; at most {} x {} x {} are possible",
                kernel.name, launch.grid.x, launch.grid.y, launch.grid.z, kMostBlocks.x, kMostBlocks.y, kMostBlocks.z);
  if (threads > kMostThreadsOfBlock || (threads + width - 1) / width > kWarpsPerBlock)
    input_error("kernel {} is launched with {} threads per block; at most {} threads and {} warps of {} fit",
                kernel.name, threads, kMostThreadsOfBlock, kWarpsPerBlock, width);
  if (kernel.max_threads != 0 && threads > kernel.max_threads)
    input_error("kernel {} is launched with {} threads per block but is compiled for at most {} (.maxntid)",
                kernel.name, threads, kernel.max_threads);
  if (kernel.required_threads != 0 && threads != kernel.required_threads)
    input_error("kernel {} is launched with {} threads per block but is compiled for exactly {} (.reqntid)",
                kernel.name, threads, kernel.required_threads);
  if (launch.arguments.size() != kernel.params.size())
    input_error("kernel {} takes {} arguments, {} are given", kernel.name, kernel.params.size(),
                launch.arguments.size());
  if (u64{code.static_shared_bytes} + launch.dynamic_shared_bytes > GuestMemory::kWindowBytes)
    input_error("kernel {} asks for {} bytes of shared memory; at most {} are possible", kernel.name,
                u64{code.static_shared_bytes} + launch.dynamic_shared_bytes, GuestMemory::kWindowBytes);
}

namespace {

/// The same bytes mean something else to a kernel that takes them for another kind of number. Parameters of type .bN say
/// nothing about theirs.
void check_kind(KernelArgument::Kind kind, const std::string& which, const Function& kernel, const Variable& param) {
  const bool whole = is_signed(param.type) || facts(param.type).family == 'u';
  if (kind == KernelArgument::Kind::kFloat && whole)
    input_error("{} of kernel {} is a floating-point number, its parameter {} is of type .{}; give a whole number",
                which, kernel.name, param.name, type_name(param.type));
  if (kind == KernelArgument::Kind::kWhole && is_float(param.type))
    input_error("{} of kernel {} is a whole number, its parameter {} is of type .{}; give it a decimal point or a type",
                which, kernel.name, param.name, type_name(param.type));
}

}  // namespace

std::vector<u8> Machine::pack_arguments(const Launch& launch, const Function& kernel) {
  std::vector<u8> params(kernel.param_bytes, 0);
  for (u32 i = 0; i < kernel.params.size(); ++i) {
    const Variable& param = kernel.variables[kernel.params[i]];
    const auto& bytes = launch.arguments[i].bytes;
    const std::string which =
        launch.arguments[i].origin.empty() ? fmt::format("argument {}", i) : launch.arguments[i].origin;
    if (bytes.size() != param.bytes)
      input_error("{} of kernel {} has {} bytes, its parameter {} has {}; check its type", which, kernel.name,
                  bytes.size(), param.name, param.bytes);
    check_kind(launch.arguments[i].kind, which, kernel, param);
    std::copy(bytes.begin(), bytes.end(), params.begin() + static_cast<std::ptrdiff_t>(param.offset));
  }
  return params;
}

LaunchShape Machine::begin_launch(const Launch& launch) {
  const Code& code = *with_origin(launch, [&] {
    const Code* its = &this->code(launch.module, launch.kernel);
    check_launch(launch, *its->functions[0].source, *its);
    return its;
  });
  const Function& kernel = *code.functions[0].source;
  LaunchState state;
  state.code = &code;
  state.grid = launch.grid;
  state.block = launch.block;
  state.id = LaunchId{++begun_};
  state.width = config_.warp_width;
  state.threads_per_block = static_cast<u32>(launch.block.count());
  state.warps_per_block = (state.threads_per_block + state.width - 1) / state.width;
  state.threads = launch.blocks() * state.threads_per_block;
  state.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  state.shared_bytes = code.static_shared_bytes + launch.dynamic_shared_bytes;
  state.params = pack_arguments(launch, kernel);
  state.local_bytes = local_bytes(code);
  state.local_base = take_local_memory(state.id, code.kernel, state.threads * state.local_bytes);
  state.constants = modules_[launch.module].constants;
  if (code.uses_grid_workspace) state.grid_workspace = take_grid_workspace(state.id);
  if (code.uses_heap) place_heap();
  LaunchShape shape;
  shape.kernel = launch.kernel;
  shape.blocks = launch.blocks();
  shape.threads_per_block = state.threads_per_block;
  shape.warps_per_block = state.warps_per_block;
  shape.registers_per_thread = code.registers_per_thread;
  shape.shared_bytes_per_block = state.shared_bytes;
  shape.scoreboard_names = code.scoreboard_names;
  shape.launch = state.id;
  launches_.emplace(state.id, std::move(state));
  return shape;
}

void Machine::end_launch(LaunchId launch) {
  const auto ended = launches_.find(launch);
  SIM_CHECK(ended != launches_.end() && ended->second.live_blocks == 0, "launch {} ends twice, or before its blocks",
            index(launch));
  for (LocalMemory& memory : local_memories_) {
    if (memory.user == launch) memory.user.reset();
  }
  for (GridWorkspace& workspace : grid_workspaces_) {
    if (workspace.user == launch) workspace.user.reset();
  }
  launches_.erase(ended);
  show_printed();
}

std::vector<std::string_view> Machine::kernels(u32 module) const {
  std::vector<std::string_view> names;
  for (const Function& function : modules_.at(module).module.functions) {
    if (function.entry && function.defined) names.push_back(function.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Local memory of all threads of a launch. A launch that needs no more than what an ended one had takes its place: the
/// largest that is free.
VirtAddr Machine::take_local_memory(LaunchId launch, std::string_view kernel, u64 bytes) {
  if (bytes == 0) return {};
  const auto free = std::find_if(local_memories_.rbegin(), local_memories_.rend(),
                                 [&](const LocalMemory& memory) { return !memory.user; });
  if (free != local_memories_.rend() && free->bytes >= bytes) {
    free->user = launch;
    return free->first;
  }
  const LocalMemory grown{memory_.allocate(fmt::format("local memory of {}", kernel), bytes), bytes, launch};
  local_memories_.insert(std::upper_bound(local_memories_.begin(), local_memories_.end(), bytes,
                                          [](u64 size, const LocalMemory& memory) { return size < memory.bytes; }),
                         grown);
  return grown.first;
}

/// One that no launch in flight has.
VirtAddr Machine::take_grid_workspace(LaunchId launch) {
  constexpr u64 kBytes = 8;  // a size and a counter, as cooperative groups declare it
  for (GridWorkspace& workspace : grid_workspaces_) {
    if (workspace.user) continue;
    workspace.user = launch;
    return workspace.first;
  }
  grid_workspaces_.push_back({memory_.allocate("grid barrier", kBytes), launch});
  return grid_workspaces_.back().first;
}

u32 Machine::claim_block(LaunchState& launch) {
  const std::lock_guard lock(claims_);
  note_change();
  ++launch.live_blocks;
  if (!free_blocks_.empty()) {
    const u32 number = free_blocks_.back();
    free_blocks_.pop_back();
    return number;
  }
  SIM_CHECK(blocks_.size() < kMostBlocksAtOnce, "{} blocks are in flight", blocks_.size());
  blocks_.push_back(std::make_unique<Block>());
  warps_.resize(blocks_.size() * kWarpsPerBlock, nullptr);
  return static_cast<u32>(blocks_.size() - 1);
}

BlockRef Machine::begin_block(LaunchId id, u64 number, SmId sm) {
  const auto found = launches_.find(id);
  SIM_CHECK(found != launches_.end() && number < found->second.threads / found->second.threads_per_block,
            "block {} is not part of launch {}", number, index(id));
  LaunchState& launch = found->second;
  const u32 place = claim_block(launch);
  Block& block = *blocks_[place];
  block.launch = &launch;
  block.number = number;
  block.sm = sm;
  block.live = true;
  block.shared.assign(launch.shared_bytes, 0);
  block.running = launch.warps_per_block;
  block.barriers.fill({});
  block.warps.resize(launch.warps_per_block);
  for (u32 w = 0; w < launch.warps_per_block; ++w) prepare_warp(block, block.warps[w], w);
  link_block(place);
  return BlockRef{place};
}

/// What stays when its warps are restored from bytes.
void Machine::link_block(u32 place) {
  Block& block = *blocks_[place];
  for (Warp& warp : block.warps) {
    warp.code = block.launch->code;
    warp.insts = warp.code->decoded.data();
    warp.block = &block;
    warps_[place * kWarpsPerBlock + warp.index] = &warp;
  }
}

void Machine::prepare_warp(Block& block, Warp& warp, u32 number) {
  const LaunchState& launch = *block.launch;
  const Code& code = *launch.code;
  const u32 first_thread = number * launch.width;
  const u32 lanes = std::min(launch.width, launch.threads_per_block - first_thread);
  warp.index = number;
  warp.pc = code.functions[0].first;
  warp.reconverge = kNowhere;
  warp.alive = lanes == 64 ? ~u64{0} : (u64{1} << lanes) - 1;
  warp.active = warp.full = warp.alive;
  warp.carry = 0;
  warp.status = WarpStatus::kRunning;
  warp.barrier = warp.reduction = 0;
  warp.barrier_pc = warp.reduction_place = warp.poll_pc = 0;
  warp.pending_atomics = 0;
  warp.jumps = 0;
  warp.stop_polling();
  warp.rounds = 0;
  warp.lanes = ~u64{0};
  warp.gathered = false;
  warp.strands.clear();
  warp.stack.clear();
  warp.frames.assign(1, Frame{});
  warp.frame().full = warp.alive;
  warp.registers.assign(u64{code.rows_total} * stride_, 0);
  warp.params.assign(u64{code.params_total} / 4 * stride_, 0);
  warp.predicates.assign(code.predicates_total, 0);
}

WarpRef Machine::warp(BlockRef block, u32 number) const {
  return WarpRef{index(block) * kWarpsPerBlock + number};
}

void Machine::end_block(BlockRef block) {
  const std::lock_guard lock(claims_);
  Block& ended = *blocks_[index(block)];
  SIM_CHECK(ended.live, "a block ends twice");
  ended.live = false;
  --ended.launch->live_blocks;
  free_blocks_.push_back(index(block));
}

namespace {

/// The running lanes for which the instruction's guard holds.
inline u64 guarded(const Warp& warp, const Inst& inst) {
  if (inst.guard == kNoGuard) return warp.active;
  const u64 guard = warp.predicates[warp.frame().predicate_base + inst.guard];
  return warp.active & (inst.guard_negated ? ~guard : guard);
}

}  // namespace

/// A barrier or an instruction that names its members, in a parted warp. False: others must come first.
bool Machine::gather_lanes(Warp& warp, const Inst& inst, u64 active) const {
  u64 needed = warp.alive;
  if (inst.members != kNoOperand) {
    const u8* row = inst.members & kInPool
                        ? reinterpret_cast<const u8*>(warp.code->pool.data()) + (inst.members & ~kInPool)
                        : reinterpret_cast<const u8*>(warp.registers.data()) +
                              u64{warp.frame().row_base} * stride_ * 4 + inst.members;
    needed = active;
    for (u64 rest = active; rest != 0; rest &= rest - 1) {
      const u32 lane = static_cast<u32>(std::countr_zero(rest));
      u32 mask;
      std::memcpy(&mask, row + u64{lane} * sizeof mask, sizeof mask);
      needed |= u64{mask} << (lane & ~(kHalf - 1));
    }
  }
  if (gather(warp, needed)) return true;
  settle(warp, *warp.code, stride_);
  return false;
}

void Machine::execute(WarpRef ref, Cycle now, StoreLog& stores, Effect& effect) {
  Warp& warp = at(ref);
  SIM_DCHECK(warp.status == WarpStatus::kRunning, "a warp that does not run is issued");
  const Code& code = *warp.code;
  const Inst& inst = code.insts[warp.pc];
  u64 active = guarded(warp, inst);
  effect.active = active;
  effect.status = WarpStatus::kRunning;
  effect.action = MemoryAction::kNone;
  effect.space = MemorySpace::kNone;
  effect.shared_lanes = 0;
  effect.atomic = kNoAtomic;
  effect.polls = false;
  effect.released_warps = 0;
  if (parted(warp) && (inst.flags & kGathers) != 0 && active != 0) {
    if (!gather_lanes(warp, inst, active)) {
      effect.active = 0;
      return;
    }
    active = effect.active = guarded(warp, inst);  // with those that came
  }
  const Frame& frame = warp.frame();
  Execution x{*this,
              *warp.block->launch,
              memory_,
              *warp.block,
              warp,
              stores,
              effect,
              now,
              warp.pc,
              active,
              active == warp.full,
              stride_,
              reinterpret_cast<u8*>(warp.registers.data()) + u64{frame.row_base} * stride_ * 4,
              reinterpret_cast<const u8*>(code.pool.data()),
              warp.predicates.data() + frame.predicate_base};
  if (inst.flow == Flow::kNext) {
    ++warp.pc;
    if (active != 0) inst.run(x, inst);
    if (warp.pc == warp.reconverge) settle(warp, code, stride_);
  } else {
    inst.run(x, inst);
  }
  if (warp.active == 0 && warp.status == WarpStatus::kRunning) finish_warp(warp, effect);
  effect.status = warp.status;
}

void Machine::finish_warp(Warp& warp, Effect& effect) {
  warp.status = WarpStatus::kDone;
  note_change();
  --warp.block->running;
  complete_barriers(*warp.block, &effect);
}

void Machine::raise_fault(Execution& x, u32 lane, const std::string& what) {
  if (x.warp.status == WarpStatus::kFaulted) return;
  x.warp.status = WarpStatus::kFaulted;
  x.effect.fault = fmt::format("kernel {}, {}: lane {} of warp {} of block {} {}", x.warp.code->kernel,
                               position(*x.warp.code, x.pc), lane, x.warp.index, x.block.number, what);
}

std::string Machine::position(const Code& code, u32 pc) {
  const Statement* statement = code.statements[pc];
  if (statement == nullptr) return fmt::format("{}:{}", code.module->file, code.decoded[pc].line);
  std::string text;
  for (const char c : statement->text) {
    const bool blank = c == '\t' || c == '\n' || c == '\r' || c == ' ';
    if (!blank)
      text.push_back(c);
    else if (!text.empty() && text.back() != ' ')
      text.push_back(' ');
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return fmt::format("{}, \"{}\"", place_of(*code.module, *statement), text);
}

std::string Machine::whereabouts(WarpRef ref) const {
  const Warp& warp = at(ref);
  const std::string who = fmt::format("warp {} of block {}", warp.index, warp.block->number);
  switch (warp.status) {
    case WarpStatus::kRunning:
      return fmt::format("{} runs at {}", who, position(*warp.code, warp.pc));
    case WarpStatus::kAtBarrier: {
      const Barrier& barrier = warp.block->barriers[warp.barrier];
      const u32 expected = barrier.expected != 0 ? barrier.expected : warp.block->running;
      return fmt::format("{} waits at {} for barrier {}, where {} of {} warps have arrived", who,
                         position(*warp.code, warp.barrier_pc), warp.barrier, barrier.arrived, expected);
    }
    case WarpStatus::kDone:
      return fmt::format("{} is done", who);
    case WarpStatus::kFaulted:
      return fmt::format("{} faulted", who);
  }
  return who;
}

void Machine::enter_call(Execution& x, u32 function, u32 call, u64 lanes) {
  Warp& warp = x.warp;
  warp.stop_polling();
  const Code& code = *warp.code;
  const Frame& caller = warp.frame();
  const FunctionImage& from = code.functions[caller.function];
  const FunctionImage& to = code.functions[function];
  Frame callee;
  callee.function = function;
  callee.call = call;
  callee.row_base = std::max(caller.row_base + from.rows, free_row(warp, code));
  callee.predicate_base = caller.predicate_base + from.predicates;
  callee.param_base = caller.param_base + from.param_bytes;
  callee.local_base = caller.local_base + from.local_bytes;
  callee.full = lanes;
  if (warp.frames.size() >= most_frames() || callee.local_base + to.local_bytes > x.launch.local_bytes) {
    const u32 lane = static_cast<u32>(std::countr_zero(lanes));
    return raise_fault(
        x, lane,
        fmt::format("calls {} at depth {}, deeper than the stack of {} bytes of local memory and {} calls "
                    "allows; bound the recursion, or give it a larger stack",
                    to.source->name, warp.frames.size(), x.launch.local_bytes, most_frames()));
  }
  // Recursion goes deeper than the chain of calls that storage was sized for.
  const u64 words = u64{callee.row_base + to.rows} * stride_;
  if (warp.registers.size() < words) warp.registers.resize(words, 0);
  const u64 params = u64{callee.param_base + to.param_bytes} / 4 * stride_;
  if (warp.params.size() < params) warp.params.resize(params, 0);
  if (warp.predicates.size() < callee.predicate_base + to.predicates)
    warp.predicates.resize(callee.predicate_base + to.predicates, 0);
  copy_params(warp, stride_, lanes, code.calls[call].arguments, caller.param_base, callee.param_base);
  suspend(warp, warp.pc + 1, warp.reconverge, warp.active);
  callee.depth = static_cast<u32>(warp.stack.size());
  warp.frames.push_back(callee);
  warp.pc = to.first;
  warp.reconverge = kNowhere;
  warp.active = lanes;
  warp.full = parted(warp) ? full_lanes(warp) : lanes;
}

}  // namespace terrace::ptx
