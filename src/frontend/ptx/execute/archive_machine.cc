// The machine in a checkpoint. Decoded code and module variables' places come from the module, which must be the same one;
// links between launches, blocks, warps and atomics are written as their numbers.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "engine/check.h"
#include "engine/hash.h"
#include "frontend/ptx/execute/machine.h"

namespace terrace::ptx {

void Machine::archive(Archive& a) {
  a.part("PTX machine");
  a.expect(modules_.size(), "the number of modules of device code");
  for (const Loaded& loaded : modules_)
    a.expect(hash64(*loaded.module.text), fmt::format("the hash of the device code {}", loaded.module.file));
  a(begun_, config_.heap_bytes, config_.stack_bytes, local_memories_, grid_workspaces_, changes_, changes_seen_);
  a(runtime_, textures_, surfaces_);
  archive_launches(a);
  archive_blocks(a);
  archive_atomics(a);
  archive_watch(a);
}

/// Of a watch that a change has ended nothing is left but who gives way until warps are looked at again.
void Machine::archive_watch(Archive& a) {
  a(watches_, some_give_way_);
  if (a.restores()) recurrences_.clear();
  if (!watches() && !some_give_way_) return;
  for (const auto& block : blocks_) {
    if (!block->live) continue;
    for (const Warp& warp : block->warps) a(recurrences_[&warp]);
  }
}

void Machine::archive_launches(Archive& a) {
  u64 count = launches_.size();
  a(count);
  std::vector<LaunchState> states(a.restores() ? count : 0);
  std::vector<LaunchState*> all;
  for (LaunchState& state : states) all.push_back(&state);
  if (!a.restores())
    for (auto& [id, state] : launches_) all.push_back(&state);
  for (LaunchState* state : all) {
    u32 module = 0;
    std::string kernel;
    if (!a.restores()) {
      while (&modules_[module].module != state->code->module) ++module;
      kernel = state->code->kernel;
    }
    a(module, kernel, *state);
    if (a.restores()) state->code = &code(module, kernel);
  }
  if (!a.restores()) return;
  launches_.clear();
  for (LaunchState& state : states) {
    const LaunchId id = state.id;
    launches_.emplace(id, std::move(state));
  }
}

/// Of blocks that have ended only the places are left.
void Machine::archive_blocks(Archive& a) {
  u64 places = blocks_.size();
  a(places, free_blocks_);
  if (a.restores()) {
    SIM_CHECK(places <= kMostBlocksAtOnce, "{} blocks are in flight", places);
    blocks_.clear();
    for (u64 place = 0; place < places; ++place) blocks_.push_back(std::make_unique<Block>());
    warps_.assign(places * kWarpsPerBlock, nullptr);
  }
  for (u32 place = 0; place < places; ++place) {
    Block& block = *blocks_[place];
    a(block.live);
    if (!block.live) continue;
    LaunchId launch = a.restores() ? LaunchId{} : block.launch->id;
    a(launch);
    block.launch = &launches_.at(launch);
    a(block);
    if (a.restores()) link_block(place);
  }
}

/// Lanes that have been performed are no longer looked at.
void Machine::archive_atomics(Archive& a) {
  u64 places = atomics_.size();
  a(places, free_atomics_);
  if (a.restores()) {
    atomics_.clear();
    for (u64 place = 0; place < places; ++place) atomics_.emplace_back();
  }
  std::vector<bool> free(places);
  for (const u32 place : free_atomics_) free[place] = true;
  std::map<const Block*, u32> places_of_blocks;
  for (u32 place = 0; place < blocks_.size(); ++place) places_of_blocks[blocks_[place].get()] = place;
  for (u64 place = 0; place < places; ++place) {
    if (free[place]) continue;
    PendingAtomic& atomic = atomics_[place];
    u32 function = 0, warp = 0;
    bool shared = atomic.shared != nullptr;
    if (!a.restores()) {
      SIM_CHECK(atomic.warp->block->live, "an atomic of a block that has ended is pending");
      function = atomic_number(atomic.function);
      warp = places_of_blocks.at(atomic.warp->block) * kWarpsPerBlock + atomic.warp->index;
    }
    a(function, warp, shared, atomic.lanes, atomic.result_place, atomic.wide, atomic.bytes, atomic.watched);
    if (a.restores()) {
      atomic.function = atomic_of_number(function);
      atomic.warp = warps_.at(warp);
      atomic.shared = shared ? atomic.warp->block->shared.data() : nullptr;
    }
    for (u64 rest = atomic.lanes.load(std::memory_order_relaxed); rest != 0; rest &= rest - 1) {
      const u32 lane = static_cast<u32>(std::countr_zero(rest));
      a(atomic.address[lane]);
      if (!shared) a(atomic.operand[lane], atomic.compare[lane]);
    }
  }
}

}  // namespace terrace::ptx
