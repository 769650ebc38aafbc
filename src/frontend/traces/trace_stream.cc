// SPDX-License-Identifier: MIT
#include "frontend/traces/trace_stream.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "engine/check.h"

namespace terrace::traces {

/// What was recorded of a block.
struct TraceStream::BlockTrace {
  Dim3 position;
  std::vector<std::vector<Step>> warps;
  std::vector<u64> addresses;  // of steps that list them
};

struct TraceStream::LaunchState {
  LaunchId id{};
  const KernelFile* file = nullptr;
  KernelHeader header;
  std::string path;
  std::unique_ptr<KernelTrace> reader;
  u64 read = 0;  // blocks that the reader is past
  u64 threads = 0;
  VirtAddr local;
  /// Blocks that were saved are mostly restored: they need not be read again.
  mutable std::map<u64, std::shared_ptr<const BlockTrace>> saved;
};

struct TraceStream::Block {
  const LaunchState* launch = nullptr;
  u64 number = 0;
  std::shared_ptr<const BlockTrace> trace;
  std::vector<WarpState> warps;
  std::vector<WarpView> views;  // of them
};

namespace {

bool ends_warp(const DecodedInst& inst) {
  return inst.cls == InstClass::kControl;
}

}  // namespace

TraceStream::TraceStream(std::string folder, Manifest manifest, GuestMemory& memory)
    : folder_(std::move(folder)),
      manifest_(std::move(manifest)),
      memory_(memory),
      decoder_(OpcodeTable::read(folder_)) {
  end_.cls = InstClass::kControl;
}

TraceStream::~TraceStream() = default;

TraceStream::Block& TraceStream::block_of(WarpRef warp) {
  return blocks_[index(warp) / kMostWarps];
}
const TraceStream::Block& TraceStream::block_of(WarpRef warp) const {
  return blocks_[index(warp) / kMostWarps];
}

TraceStream::LaunchState TraceStream::open_trace(const KernelFile& file) const {
  LaunchState state;
  state.file = &file;
  state.path = (std::filesystem::path(folder_) / file.name).string();
  state.reader = std::make_unique<KernelTrace>(state.path);
  state.header = state.reader->header();
  return state;
}

LaunchShape TraceStream::begin_launch(const Launch& launch) {
  if (launch.module >= manifest_.files.size())
    input_error("{}: there are {} traces, but the launch asks for number {}", folder_, manifest_.files.size(),
                launch.module);
  const KernelFile& file = manifest_.files[launch.module];
  LaunchState state = open_trace(file);
  if (state.header.kernel != launch.kernel || state.header.grid != launch.grid || state.header.block != launch.block)
    input_error("{}: was recorded from another launch than this one of {}", state.path, launch.kernel);
  if (launch.blocks() > file.blocks)
    input_error("{}: {} blocks were recorded, but the launch has {}", state.path, file.blocks, launch.blocks());
  state.id = LaunchId(++begun_);
  state.threads = launch.blocks() * state.header.block.count();
  state.local = take_local_memory(state.id, file, state.threads);
  LaunchShape shape;
  shape.kernel = launch.kernel;
  shape.blocks = launch.blocks();
  shape.threads_per_block = static_cast<u32>(state.header.block.count());
  shape.warps_per_block = state.header.warps();
  shape.registers_per_thread = (state.header.registers + 7) / 8 * 8;
  shape.shared_bytes_per_block = state.header.shared_bytes;
  shape.scoreboard_names = kRegisters;
  shape.launch = state.id;
  const LaunchId id = state.id;
  launches_.emplace(id, std::move(state));
  return shape;
}

void TraceStream::end_launch(LaunchId launch) {
  for (LocalMemory& local : local_memories_)
    if (local.user == launch) local.user = LaunchId{};
  launches_.erase(launch);
}

/// Local memory of all threads of a launch: what an ended one had, where that is enough.
VirtAddr TraceStream::take_local_memory(LaunchId launch, const KernelFile& file, u64 threads) {
  const u64 bytes = threads * file.local_bytes;
  if (bytes == 0) return {};
  for (LocalMemory& local : local_memories_) {
    if (local.user != LaunchId{} || local.bytes < bytes) continue;
    local.user = launch;
    return local.first;
  }
  local_memories_.push_back({memory_.allocate("local memory of " + file.name, bytes), bytes, launch});
  return local_memories_.back().first;
}

/// Blocks are mostly asked for in the order of the file. What lies before the place of the reader needs a new one.
std::shared_ptr<const TraceStream::BlockTrace> TraceStream::read_block(LaunchState& launch, u64 number) {
  if (number < launch.read) {
    launch.reader = std::make_unique<KernelTrace>(launch.path);
    launch.read = 0;
  }
  const auto shorter = [&] {
    input_error("{}: has fewer blocks than before; it was changed during the run", launch.path);
  };
  for (; launch.read < number; ++launch.read)
    if (!launch.reader->skip_block()) shorter();
  auto trace = std::make_shared<BlockTrace>();
  trace->warps.resize(launch.header.warps());
  const std::optional<Dim3> position = launch.reader->next_block([&](u32 warp, const TraceLine& line) {
    Step step{decoder_.decode(line, launch.reader->place()), line.mask};
    if (decoder_.has_addresses(step.inst)) {
      step.form = line.form;
      step.base = line.form == AddressForm::kList ? trace->addresses.size() : line.base;
      step.stride = line.form == AddressForm::kList ? 0 : line.stride;
      if (line.form == AddressForm::kList)
        trace->addresses.insert(trace->addresses.end(), line.addresses.begin(), line.addresses.end());
    }
    trace->warps[warp].push_back(step);
  });
  if (!position) shorter();
  ++launch.read;
  trace->position = *position;
  return trace;
}

BlockRef TraceStream::place_block(LaunchState& launch, u64 number, std::shared_ptr<const BlockTrace> trace) {
  u32 place = static_cast<u32>(blocks_.size());
  if (free_blocks_.empty()) {
    blocks_.emplace_back();
  } else {
    place = free_blocks_.back();
    free_blocks_.pop_back();
  }
  const u32 warps = launch.header.warps();
  blocks_[place] = {&launch, number, std::move(trace), std::vector<WarpState>(warps), std::vector<WarpView>(warps)};
  show_all(blocks_[place]);
  return BlockRef{place};
}

BlockRef TraceStream::begin_block(LaunchId launch, u64 block, SmId) {
  LaunchState& state = launches_.at(launch);
  return place_block(state, block, read_block(state, block));
}

WarpRef TraceStream::warp(BlockRef block, u32 number) const {
  return WarpRef{static_cast<u32>(block) * kMostWarps + number};
}

const WarpView& TraceStream::view(WarpRef warp) const {
  return block_of(warp).views[index(warp) % kMostWarps];
}

/// Brings what is to be seen of a warp up to date.
void TraceStream::show(Block& block, u32 number) const {
  const WarpState& warp = block.warps[number];
  const std::vector<Step>& steps = block.trace->warps[number];
  const DecodedInst& next = warp.next == steps.size() ? end_ : decoder_.inst(steps[warp.next].inst);
  block.views[number] = {&next, 0, warp.status};
}

void TraceStream::show_all(Block& block) const {
  for (u32 number = 0; number < block.warps.size(); ++number) show(block, number);
}

void TraceStream::end_block(BlockRef block) {
  blocks_[index(block)] = {};
  free_blocks_.push_back(static_cast<u32>(block));
}

void TraceStream::execute(WarpRef ref, Cycle, StoreLog&, Effect& effect) {
  Block& block = block_of(ref);
  const u32 number = index(ref) % kMostWarps;
  step(block, number, effect);
  show(block, number);
}

void TraceStream::step(Block& block, u32 number, Effect& effect) {
  WarpState& warp = block.warps[number];
  const std::vector<Step>& steps = block.trace->warps[number];
  effect.active = 0;
  effect.status = WarpStatus::kRunning;
  effect.action = MemoryAction::kNone;
  effect.space = MemorySpace::kNone;
  effect.bytes = 0;
  effect.words = 1;
  effect.stride = 0;
  effect.shared_lanes = effect.atomic_lanes = effect.released_warps = 0;
  effect.atomic = kNoAtomic;
  bool done = warp.next == steps.size();
  if (!done) {
    const Step& step = steps[warp.next++];
    const DecodedInst& inst = decoder_.inst(step.inst);
    effect.active = step.mask;
    if (inst.cls == InstClass::kMemory && step.mask != 0) access(block, number, step, inst, effect);
    // Predicated off in all lanes, a barrier is nothing.
    if (inst.cls == InstClass::kBarrier && step.mask != 0) {
      warp.status = effect.status = WarpStatus::kAtBarrier;
      return complete_barrier(block, effect);
    }
    done = warp.next == steps.size() && ends_warp(inst);
  }
  if (!done) return;
  warp.status = effect.status = WarpStatus::kDone;
  complete_barrier(block, effect);
}

/// Those who wait go on when nobody is missing any more.
void TraceStream::complete_barrier(Block& block, Effect& effect) {
  u64 waiting = 0;
  for (u32 i = 0; i < block.warps.size(); ++i) {
    if (block.warps[i].status == WarpStatus::kRunning) return;
    if (block.warps[i].status == WarpStatus::kAtBarrier) waiting |= u64{1} << i;
  }
  for (u32 i = 0; i < block.warps.size(); ++i) {
    if (block.warps[i].status != WarpStatus::kAtBarrier) continue;
    block.warps[i].status = WarpStatus::kRunning;
    show(block, i);
  }
  effect.released_warps = waiting;
}

void TraceStream::access(const Block& block, u32 warp, const Step& step, const DecodedInst& inst,
                         Effect& effect) const {
  effect.action = inst.action;
  effect.space = inst.space;
  effect.bytes = inst.lane_bytes;
  if (step.form == AddressForm::kNone) return;  // constants: no addresses are needed
  const LaunchState& launch = *block.launch;
  const u64 first_thread = block.number * launch.header.block.count() + u64{warp} * kWarpThreads;
  u64 shared = 0, local = 0;
  const u64* list = block.trace->addresses.data() + (step.form == AddressForm::kList ? step.base : 0);
  for_each_address(step.mask, step.form, step.base, step.stride, list, [&](u32 lane, u64 address) {
    const Place place = Decoder::place(launch.header, inst.space, address);
    effect.address[lane] = place.offset;
    if (place.space == MemorySpace::kShared) shared |= u64{1} << lane;
    if (place.space != MemorySpace::kLocal) return;
    local |= u64{1} << lane;
    // Words of the same offset lie next to each other, thread after thread.
    const u64 offset = place.offset - launch.file->local_first;
    effect.address[lane] = launch.local.raw + (offset / 4 * launch.threads + first_thread + lane) * 4 + offset % 4;
  });
  effect.space = shared == effect.active  ? MemorySpace::kShared
                 : local == effect.active ? MemorySpace::kLocal
                                          : MemorySpace::kGlobal;
  if (effect.space == MemorySpace::kGlobal) effect.shared_lanes = shared;
  if (effect.space == MemorySpace::kLocal) {
    effect.words = static_cast<u8>(std::max(1, inst.lane_bytes / 4));
    effect.bytes = std::min<u8>(inst.lane_bytes, 4);
    effect.stride = launch.threads * 4;
  }
  const bool atomic = inst.action == MemoryAction::kAtomic || inst.action == MemoryAction::kReduction;
  if (atomic) effect.atomic_lanes = effect.active & ~shared & ~local;
  if (effect.atomic_lanes != 0) effect.atomic = AtomicRef{0};
}

/// Where the warps are, and as many bytes as their registers and the shared memory of the block take: those would be moved.
BlockImage TraceStream::save(BlockRef ref) const {
  const Block& block = blocks_[index(ref)];
  const KernelHeader& header = block.launch->header;
  const u64 states = block.warps.size() * sizeof(WarpState);
  const u64 contents = u64{header.registers} * 4 * kWarpThreads * header.warps() + header.shared_bytes;
  BlockImage image{std::vector<u8>(sizeof block.number + states + contents)};
  std::memcpy(image.bytes.data(), &block.number, sizeof block.number);
  std::memcpy(image.bytes.data() + sizeof block.number, block.warps.data(), states);
  block.launch->saved.insert_or_assign(block.number, block.trace);
  return image;
}

BlockRef TraceStream::restore(LaunchId launch, const BlockImage& image, SmId) {
  LaunchState& state = launches_.at(launch);
  u64 number = 0;
  SIM_CHECK(image.bytes.size() >= sizeof number + state.header.warps() * sizeof(WarpState), "a block image is damaged");
  std::memcpy(&number, image.bytes.data(), sizeof number);
  std::shared_ptr<const BlockTrace> trace;
  if (const auto kept = state.saved.find(number); kept != state.saved.end()) {
    trace = std::move(kept->second);
    state.saved.erase(kept);
  } else {
    trace = read_block(state, number);
  }
  const BlockRef ref = place_block(state, number, std::move(trace));
  std::vector<WarpState>& warps = blocks_[index(ref)].warps;
  std::memcpy(warps.data(), image.bytes.data() + sizeof number, warps.size() * sizeof(WarpState));
  show_all(blocks_[index(ref)]);
  return ref;
}

/// Where everybody is. What was recorded is read again.
void TraceStream::archive(Archive& a) {
  a.part("traces");
  a.expect(manifest_.files.size(), "the number of traces");
  for (const KernelFile& file : manifest_.files) a.expect(file.hash, "the hash of the trace " + file.name);
  a(begun_, local_memories_);
  archive_launches(a);
  archive_blocks(a);
}

void TraceStream::archive_launches(Archive& a) {
  std::vector<std::pair<LaunchId, u64>> files;
  for (const auto& [id, state] : launches_) files.emplace_back(id, state.file - manifest_.files.data());
  a(files);
  if (a.restores()) {
    launches_.clear();
    for (const auto& [id, file] : files)
      launches_.emplace(id, open_trace(manifest_.files.at(file))).first->second.id = id;
  }
  for (auto& [id, state] : launches_) a(state.threads, state.local);
}

void TraceStream::archive_blocks(Archive& a) {
  u64 places = blocks_.size();
  a(places, free_blocks_);
  if (a.restores()) {
    blocks_.clear();
    blocks_.resize(places);
  }
  std::vector<Block*> read;
  for (Block& block : blocks_) {
    LaunchId launch = block.launch == nullptr ? LaunchId{} : block.launch->id;
    a(launch);
    if (launch == LaunchId{}) continue;
    a(block.number, block.warps);
    block.launch = &launches_.at(launch);
    read.push_back(&block);
  }
  if (!a.restores()) return;
  // In the order of the file: then it is read once.
  std::ranges::sort(read, {}, [](const Block* block) { return block->number; });
  for (Block* block : read) {
    block->trace = read_block(launches_.at(block->launch->id), block->number);
    block->views.resize(block->warps.size());
    show_all(*block);
  }
}

std::string TraceStream::whereabouts(WarpRef ref) const {
  const Block& block = block_of(ref);
  const u32 number = index(ref) % kMostWarps;
  const Dim3& at = block.trace->position;
  return fmt::format("{}, thread block {},{},{}, warp {}, after {} of {} instructions{}", block.launch->path, at.x,
                     at.y, at.z, number, block.warps[number].next, block.trace->warps[number].size(),
                     block.warps[number].status == WarpStatus::kAtBarrier ? ", at a barrier" : "");
}

}  // namespace terrace::traces
