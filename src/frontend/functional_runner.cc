// SPDX-License-Identifier: MIT
#include "frontend/functional_runner.h"

#include <algorithm>
#include <bit>

#include "engine/check.h"
#include "engine/interrupt.h"

namespace terrace {
namespace {

/// Rounds of all resident warps between two looks for an endless loop: seldom enough to cost nothing, and often enough to
/// tell one within a second.
constexpr u64 kRoundsPerLook = 1u << 14;

}  // namespace

FunctionalCounts& FunctionalCounts::operator+=(const FunctionalCounts& other) {
  const auto add = [](auto& to, const auto& from) {
    for (u32 i = 0; i < to.size(); ++i) to[i] += from[i];
  };
  warp_instructions += other.warp_instructions;
  thread_instructions += other.thread_instructions;
  add(by_class, other.by_class);
  add(accesses, other.accesses);
  line_accesses += other.line_accesses;
  lines += other.lines;
  pages += other.pages;
  max_lines = std::max(max_lines, other.max_lines);
  max_pages = std::max(max_pages, other.max_pages);
  launches += other.launches;
  blocks += other.blocks;
  return *this;
}

void FunctionalRunner::run(Program& program, GuestMemory& memory) {
  program.initialise(memory);
  for_each_launch(program, memory, [this](const Launch& launch) { run(launch); });
}

void FunctionalRunner::run(const Launch& launch) {
  const LaunchShape shape = stream_.begin_launch(launch);
  kernel_ = shape.kernel;
  executed_ = 0;
  ++counts_.launches;
  counts_.blocks += shape.blocks;
  std::vector<Resident> residents;
  room_ = config_.resident_blocks;
  u64 next = 0, rounds = 0;
  while (next < shape.blocks || !residents.empty()) {
    while (next < shape.blocks && residents.size() < room_) residents.push_back(begin_block(shape, next++));
    check_interrupt();
    bool progress = false;
    for (Resident& resident : residents) progress |= turn(resident);
    if (!progress) explain_barriers(residents);
    const bool more = next < shape.blocks && make_room(residents);
    if (!more && ++rounds % kRoundsPerLook == 0) {
      const auto endless = stream_.find_endless_loop();
      // Those that have not begun may end it.
      const bool more_blocks = next < shape.blocks && room_ < config_.most_resident_blocks;
      if (endless && !more_blocks) throw InputError(*endless);
      if (endless) room_ = std::min(2 * room_, config_.most_resident_blocks);
    }
    std::erase_if(residents, [&](const Resident& resident) {
      if (resident.done < resident.warps.size()) return false;
      stream_.end_block(resident.block);
      return true;
    });
  }
  counts_.warp_instructions += executed_;
  stream_.end_launch(shape.launch);
}

FunctionalRunner::Resident FunctionalRunner::begin_block(const LaunchShape& shape, u64 number) {
  Resident resident{.block = stream_.begin_block(shape.launch, number), .warps = {}};
  for (u32 w = 0; w < shape.warps_per_block; ++w) {
    const WarpRef warp = stream_.warp(resident.block, w);
    resident.warps.push_back({warp, &stream_.view(warp)});
  }
  return resident;
}

/// If all resident blocks wait, one more may begin.
bool FunctionalRunner::make_room(std::vector<Resident>& residents) {
  if (room_ >= config_.most_resident_blocks) return false;
  if (!std::all_of(residents.begin(), residents.end(), [](const Resident& r) { return r.waits; })) return false;
  for (Resident& resident : residents) resident.polled = 0;
  ++room_;
  return true;
}

/// One instruction of each warp that can run. False when none could.
bool FunctionalRunner::turn(Resident& resident) {
  bool progress = false;
  resident.waits = true;
  for (u32 w = 0; w < resident.warps.size(); ++w) {
    const ResidentWarp& warp = resident.warps[w];
    if (warp.view->status != WarpStatus::kRunning) continue;
    progress = true;
    step(warp);
    if (effect_.polls) resident.polled |= u64{1} << w;
    resident.waits &= (resident.polled >> w & 1) != 0;
    if (effect_.status == WarpStatus::kDone) ++resident.done;
  }
  return progress;
}

void FunctionalRunner::step(const ResidentWarp& warp) {
  if (executed_ == config_.instruction_limit) {
    input_error(
        "kernel {} has executed {} warp instructions without ending: {}; an endless loop, or raise the limit (exec "
        "--limit)",
        kernel_, executed_, stream_.whereabouts(warp.ref));
  }
  ++executed_;
  const DecodedInst& inst = warp.view->next();
  stream_.execute(warp.ref, executed_, stores_, effect_);
  if (effect_.status == WarpStatus::kFaulted) throw InputError(effect_.fault);
  if (effect_.atomic != kNoAtomic) stream_.perform_atomic(effect_.atomic, effect_.atomic_lanes);
  if (!stores_.empty()) stores_.commit();
  if (config_.count) count(inst);
}

void FunctionalRunner::count(const DecodedInst& inst) {
  counts_.thread_instructions += static_cast<u32>(std::popcount(effect_.active));
  ++counts_.by_class[static_cast<u32>(inst.cls)];
  if (effect_.action == MemoryAction::kNone) return;
  ++counts_.accesses[static_cast<u32>(effect_.space)];
  if (effect_.space == MemorySpace::kGlobal || effect_.space == MemorySpace::kLocal) count_addresses();
}

/// Distinct lines and pages among the lanes. Most accesses run upwards, so comparing with the one before finds nearly
/// all repeats; what is left is sorted.
void FunctionalRunner::count_addresses() {
  constexpr u32 kMost = 64 * 8;
  std::array<u64, kMost> lines;
  u32 count = 0;
  bool ordered = true;
  const auto note = [&](u64 line) {
    if (count != 0 && lines[count - 1] == line) return;
    ordered &= count == 0 || lines[count - 1] < line;
    lines[count++] = line;
  };
  for (u32 word = 0; word < effect_.words; ++word) {
    for (u64 rest = effect_.active & ~effect_.shared_lanes; rest != 0; rest &= rest - 1) {
      const u64 address = effect_.address[static_cast<u32>(std::countr_zero(rest))] + word * effect_.stride;
      note(address / FunctionalCounts::kLineBytes);  // accesses are aligned: none straddles a line
    }
  }
  if (count == 0) return;
  if (!ordered) {
    std::sort(lines.begin(), lines.begin() + count);
    count = static_cast<u32>(std::unique(lines.begin(), lines.begin() + count) - lines.begin());
  }
  constexpr u64 kLinesPerPage = FunctionalCounts::kPageBytes / FunctionalCounts::kLineBytes;
  u32 pages = 1;
  for (u32 i = 1; i < count; ++i) pages += lines[i] / kLinesPerPage != lines[i - 1] / kLinesPerPage;
  ++counts_.line_accesses;
  counts_.lines += count;
  counts_.pages += pages;
  counts_.max_lines = std::max(counts_.max_lines, count);
  counts_.max_pages = std::max(counts_.max_pages, pages);
}

void FunctionalRunner::explain_barriers(const std::vector<Resident>& residents) const {
  std::string waiting;
  u32 more = 0;
  for (const Resident& resident : residents) {
    for (const ResidentWarp& warp : resident.warps) {
      if (warp.view->status != WarpStatus::kAtBarrier) continue;
      if (waiting.empty())
        waiting = stream_.whereabouts(warp.ref);
      else
        ++more;
    }
  }
  input_error("kernel {} waits at a barrier that can never complete: {}{}; make every warp reach it", kernel_, waiting,
              more == 0 ? std::string() : fmt::format(" (and {} more warps wait)", more));
}

}  // namespace terrace
