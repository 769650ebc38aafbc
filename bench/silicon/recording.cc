// SPDX-License-Identifier: MIT
#include "recording.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/tree.h"

namespace terrace::silicon {

using real_gpu::Gpu;
using real_gpu::GpuRunner;

ReadyWorkload::ReadyWorkload(Gpu& gpu, const std::string& folder, const WorkloadRequest& request)
    : file_(fmt::format("{}/{}.ptx", folder, find_workload(request.name).info().module)),
      ptx_(read_file(file_)),
      program_(find_workload(request.name).make(*resolve_params(request))),
      gpu_(gpu),
      variables_(ptx::parse_module(file_, ptx_), memory_),
      runner_(gpu, ptx::parse_module(file_, ptx_), ptx_, memory_),
      first_buffer_(memory_.allocations().size()) {
  program_->allocate(memory_);
}

Recording ReadyWorkload::record(bool host_reads) {
  Recording recording;
  real_gpu::GpuListener listener;
  listener.host_reads = host_reads;
  listener.uploaded = [&](Gpu::Address to, std::span<const u8> what) {
    if (recording.launches > 0) recording.steps.push_back(Recording::Upload{to, {what.begin(), what.end()}});
  };
  listener.launching = [&](const Launch& launch) {
    if (recording.launches++ == 0) {
      for (const GpuRunner::Extent& extent : runner_.extents()) {
        const Gpu::Address copy = gpu_.allocate(extent.bytes);
        gpu_.start_copy(copy, extent.first, extent.bytes, nullptr);
        recording.beginning.push_back({extent, copy});
      }
      gpu_.wait(nullptr);
    }
    recording.most_blocks = std::max(recording.most_blocks, launch.grid.count());
    recording.steps.emplace_back(launch);
  };
  runner_.run(*program_, first_buffer_, listener);
  return recording;
}

void restore(Gpu& gpu, const Recording& recording, Gpu::Stream* stream) {
  for (const Recording::Saved& saved : recording.beginning)
    gpu.start_copy(saved.original.first, saved.copy, saved.original.bytes, stream);
  gpu.wait(stream);
}

double replay(Gpu& gpu, Gpu::Module* module, const Recording& recording, Gpu::Stream* stream,
              std::vector<Gpu::Event*>& events) {
  restore(gpu, recording, stream);
  u64 used = 0;
  const auto mark = [&] {
    if (used == events.size()) events.push_back(gpu.make_event());
    gpu.record(events[used++], stream);
  };
  bool running = false;
  for (const auto& step : recording.steps) {
    const auto* launch = std::get_if<Launch>(&step);
    if ((launch != nullptr) != running) mark();
    running = launch != nullptr;
    if (launch)
      gpu.start(module, *launch, stream);
    else
      gpu.start_upload(std::get<0>(step).to, std::get<0>(step).bytes.data(), std::get<0>(step).bytes.size(), stream);
  }
  if (running) mark();
  gpu.wait(stream);
  double sum = 0;
  for (u64 i = 0; i + 1 < used; i += 2) sum += gpu.milliseconds(events[i], events[i + 1]);
  return sum;
}

}  // namespace terrace::silicon
