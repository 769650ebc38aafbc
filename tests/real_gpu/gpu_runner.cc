// SPDX-License-Identifier: MIT
#include "real_gpu/gpu_runner.h"

#include <algorithm>

#include "engine/check.h"

namespace terrace::real_gpu {

GpuRunner::GpuRunner(Gpu& gpu, const ptx::Module& module, const std::string& image, GuestMemory& memory)
    : gpu_(gpu), memory_(memory), module_(gpu.load(image)) {
  // The GPU's loader has given the variables their first values; addresses among them are its own.
  memory.take_host_writes();
  for (const ptx::Variable& variable : module.variables) {
    if ((variable.space != ptx::Space::kGlobal && variable.space != ptx::Space::kConst) || variable.bytes == 0)
      continue;
    if (variable.declared && variable.initial.empty()) continue;
    const std::string name(variable.name);
    pieces_[memory.symbol(name).first.raw] = {variable.bytes, gpu.variable(module_, name), true};
  }
}

GpuRunner::~GpuRunner() {
  release_buffers();
  gpu_.unload(module_);
}

void GpuRunner::release_buffers() {
  for (auto piece = pieces_.begin(); piece != pieces_.end();) {
    if (!piece->second.variable) gpu_.release(piece->second.address);
    piece = piece->second.variable ? std::next(piece) : pieces_.erase(piece);
  }
}

void GpuRunner::run(Program& program, u64 first_buffer, const GpuListener& listener) {
  release_buffers();
  const auto& all = memory_.allocations();
  for (u64 i = first_buffer; i < all.size(); ++i)
    pieces_[all[i].first.raw] = {all[i].bytes, gpu_.allocate(all[i].bytes), false};
  program.initialise(memory_);
  for_each_launch(program, memory_, [&](const Launch& launch) {
    for (const auto& range : memory_.take_host_writes()) send(range.first.raw, range.bytes, listener);
    const Launch there = relocated(launch);
    if (listener.launching) listener.launching(there);
    gpu_.launch(module_, there);
    ++launches_;
    if (listener.host_reads) fetch();
  });
}

std::vector<GpuRunner::Extent> GpuRunner::extents() const {
  std::vector<Extent> all;
  for (const auto& [first, piece] : pieces_)
    if (piece.address != 0) all.push_back({piece.address, piece.bytes});
  return all;
}

void GpuRunner::send(u64 first, u64 bytes, const GpuListener& listener) {
  auto piece = pieces_.upper_bound(first);
  SIM_CHECK(piece != pieces_.begin(), "the host wrote to {:#x}, which the GPU does not have", first);
  --piece;
  const u64 offset = first - piece->first;
  SIM_CHECK(offset + bytes <= piece->second.bytes, "the host wrote beyond the end of a buffer");
  if (piece->second.address == 0) input_error("the GPU's module has no variable at {:#x}", first);
  gpu_.upload(piece->second.address + offset, memory_.at({first}), bytes);
  if (listener.uploaded) listener.uploaded(piece->second.address + offset, {memory_.at({first}), bytes});
}

/// The host reads through spans that it may keep: everything is brought back.
void GpuRunner::fetch() {
  for (const auto& [first, piece] : pieces_)
    if (!piece.variable) gpu_.download(memory_.at({first}), piece.address, piece.bytes);
}

/// Guest addresses among the arguments become the GPU's. A number that happens to be one would be changed as well; they
/// start at 2^32, so sizes and counts are none.
Launch GpuRunner::relocated(Launch launch) const {
  for (KernelArgument& argument : launch.arguments) {
    for (u64 at = 0; at + sizeof(u64) <= argument.bytes.size(); at += sizeof(u64)) {
      u64 word = 0;
      std::memcpy(&word, argument.bytes.data() + at, sizeof word);
      auto piece = pieces_.upper_bound(word);
      if (piece == pieces_.begin()) continue;
      --piece;
      const u64 offset = word - piece->first;
      if (offset > piece->second.bytes || piece->second.address == 0) continue;
      const u64 moved = piece->second.address + offset;
      std::memcpy(argument.bytes.data() + at, &moved, sizeof moved);
    }
  }
  return launch;
}

}  // namespace terrace::real_gpu
