// Launches of a process: which ones are possible, and what they need.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "cuda/host_session.h"
#include "engine/check.h"
#include "frontend/ptx/decode/inst.h"

namespace terrace::cuda {
namespace {

constexpr u64 kMostArguments = 4096;

}  // namespace

u64 HostSession::blocks_of_sm(const ptx::Code& code, u64 threads, u64 dynamic_shared_bytes) const {
  const DeviceFacts& device = setup_.device;
  const u64 warps = (threads + device.warp_width - 1) / device.warp_width;
  const u64 of_thread = std::min(code.registers_per_thread, setup_.most_registers_of_thread);
  const u64 registers = of_thread * device.warp_width * warps;
  const u64 shared = code.static_shared_bytes + dynamic_shared_bytes;
  u64 blocks = std::min<u64>(device.sm_blocks, device.sm_warps / std::max<u64>(warps, 1));
  if (registers > 0) blocks = std::min(blocks, device.sm_registers / registers);
  if (shared > 0) blocks = std::min(blocks, device.sm_shared_bytes / shared);
  return blocks;
}

void HostSession::occupancy(Reader& fields, Answer& answer) {
  const u32 kernel = fields.u32();
  const u64 threads = fields.u64(), shared = fields.u64();
  if (!fields.complete() || kernel >= kernels_.size() || threads == 0 || threads > kMostThreadsOfBlock ||
      shared > GuestMemory::kWindowBytes) {
    answer.status = Status::kInvalidValue;
    return;
  }
  answer.fields.u32(static_cast<u32>(blocks_of_sm(*kernels_[kernel].code, threads, shared)));
}

void HostSession::launch(Reader& fields, Answer& answer) {
  const u32 number = fields.u32();
  Launch launch;
  launch.grid = {fields.u32(), fields.u32(), fields.u32()};
  launch.block = {fields.u32(), fields.u32(), fields.u32()};
  const u64 shared = fields.u64(), stream = fields.u64();
  const u32 arguments = fields.u32();
  if (!fields.good() || number >= kernels_.size() || arguments > kMostArguments) {
    answer.status = Status::kInvalidDeviceFunction;
    return;
  }
  if (!streams_.contains(stream)) {
    answer.status = Status::kInvalidHandle;
    return;
  }
  const Kernel& kernel = kernels_[number];
  if (arguments != kernel.declaration->params.size()) {
    answer.status = Status::kInvalidValue;
    return;
  }
  for (u32 i = 0; i < arguments; ++i) {
    const auto bytes = fields.data();
    if (bytes.size() != kernel.declaration->variables[kernel.declaration->params[i]].bytes) {
      answer.status = Status::kInvalidValue;
      return;
    }
    launch.arguments.push_back({std::vector<u8>(bytes.begin(), bytes.end())});
  }
  const u64 threads = launch.block.count();
  constexpr u64 kMostThreadsOfGrid = u64{1} << 48;  // more would take years
  const bool possible = fields.complete() && launch.grid.count() > 0 &&
                        launch.grid.count() <= kMostThreadsOfGrid / std::max<u64>(threads, 1) && threads > 0 &&
                        fits(launch.grid, kMostBlocks) && fits(launch.block, kMostThreads) &&
                        threads <= kMostThreadsOfBlock &&
                        shared <= GuestMemory::kWindowBytes - kernel.code->static_shared_bytes;
  if (!possible || (kernel.declaration->required_threads != 0 && threads != kernel.declaration->required_threads)) {
    answer.status = Status::kInvalidConfiguration;
    return;
  }
  if (kernel.code->static_shared_bytes + shared > setup_.device.sm_shared_bytes) {
    answer.status = Status::kInvalidConfiguration;
    return;
  }
  if (blocks_of_sm(*kernel.code, threads, shared) == 0 ||
      (kernel.declaration->max_threads != 0 && threads > kernel.declaration->max_threads)) {
    answer.status = Status::kLaunchOutOfResources;
    return;
  }
  // Local memory is that of all threads of the launch. Twice as much is set aside as the largest launch needs, for others in
  // flight.
  const u64 local = machine_.local_bytes(*kernel.code);
  const u64 left = setup_.device.memory_bytes - std::min(setup_.device.memory_bytes, used_bytes_);
  if (local > 0) {
    const u64 all_threads = launch.grid.count() * threads;
    if (all_threads > left / 2 / local) {
      answer.status = Status::kLaunchOutOfResources;
      answer.sentence =
          fmt::format("kernel {} needs {} bytes of local memory for each thread of the grid, more than is free",
                      kernel.name, local);
      return;
    }
    const u64 bytes = whole_pages(all_threads * local);
    if (bytes > local_bytes_) {
      used_bytes_ += 2 * bytes;
      local_bytes_ = bytes;
    }
  }
  if (kernel.code->uses_heap && !counts_heap_) {
    const u64 bytes = whole_pages(machine_.heap_bytes());
    if (bytes > setup_.device.memory_bytes - std::min(setup_.device.memory_bytes, used_bytes_)) {
      answer.status = Status::kLaunchOutOfResources;
      answer.sentence = fmt::format("kernel {} needs a device heap of {} bytes, more than is free", kernel.name, bytes);
      return;
    }
    used_bytes_ += bytes;
    counts_heap_ = true;
  }
  launch.module = kernel.module;
  launch.kernel = kernel.name;
  launch.dynamic_shared_bytes = static_cast<u32>(shared);
  ++launches_;
  issue(std::move(launch), stream);
}

}  // namespace terrace::cuda
