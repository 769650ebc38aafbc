// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <thread>

#include "engine/check.h"
#include "frontend/workload.h"
#include "real_gpu/gpu_runner.h"
#include "recording.h"
#include "silicon.h"
#include "text/tree.h"

namespace terrace::silicon {
namespace {

using real_gpu::Gpu;
using real_gpu::GpuRunner;

struct Subject {
  std::string workload;
  const char* printed = "";  // the class that the paper gives it
  bool host_reads = true;    // between its launches
};

/// The paper took larger inputs for hardware than for simulation, because of its larger caches. These have data beyond an L2
/// cache of 50 MB where the paper calls a program memory-intensive, and eight blocks or more for each of 132 SMs.
const std::vector<Subject>& subjects() {
  static const std::vector<Subject> kAll = {
      {"dxtc:variant=cd,width=1024,height=1024", "compute", false},
      {"tpacf:variant=cd,points=2048,sets=600", "compute", false},
      {"bino:variant=cd,options=1024", "compute", false},
      {"leu:variant=cd,columns=2156,rows=300", "compute", false},
      {"cp:variant=cd,width=2048,height=2048,atoms=1000", "compute", false},
      {"merge:variant=cd,keys=33554432", "compute", false},
      {"pathfinder:variant=cd", "compute", false},
      {"lavamd:variant=cd,boxes=16", "memory", false},
      {"gaussian:variant=cd,dim=8192,iters=8", "memory", false},
      {"lbm:variant=cd,z=300", "memory", false},
      {"dwt2d:variant=cd", "memory", false},
      {"gesummv:variant=cd,rows=65536,columns=1024,ld=1024", "memory", false},
      {"pvc:variant=cd,records=2000000", "memory", true},
      {"sc:variant=cd,points=270336,dimensions=64", "memory", false},
  };
  return kAll;
}

/// Blocks that sleep on all SMs but some.
class Shadow {
 public:
  Shadow(Gpu& gpu, const std::string& folder)
      : gpu_(gpu),
        module_(gpu.load(own_module(folder))),
        stream_(gpu.make_stream()),
        look_(gpu.make_stream()),
        stop_(gpu.allocate(sizeof(u32))),
        counts_(gpu.allocate(2 * sizeof(u32))),
        present_(gpu.allocate(kMostSms * sizeof(u32))),
        per_sm_(gpu.threads_per_sm() / kThreads),
        blocks_(gpu.sms() * per_sm_) {
    start(~0u);
    gpu.wait(stream_);
    std::vector<u32> present(kMostSms);
    gpu.download_now(present.data(), present_, present.size() * sizeof(u32), look_);
    for (u32 sm = 0; sm < kMostSms; ++sm)
      if (present[sm] > 0) numbers_.push_back(sm);
    if (numbers_.size() != gpu.sms())
      input_error("{} of {} SMs took a block of the shadow kernel; is the GPU in use by others?", numbers_.size(),
                  gpu.sms());
  }

  /// Returns when all but so many SMs sleep.
  void leave(u32 sms) {
    if (sms == numbers_.size()) return;
    start(numbers_[sms]);
    asleep_ = true;
    const u32 expected = per_sm_ * (static_cast<u32>(numbers_.size()) - sms);
    u32 counts[2] = {};
    for (u32 tries = 0; counts[1] < expected && tries < 5000; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      gpu_.download_now(counts, counts_, sizeof counts, look_);
    }
    if (counts[1] == expected) return;
    wake();
    input_error("{} blocks of the shadow kernel sleep where {} should; is the GPU in use by others?", counts[1],
                expected);
  }
  void wake() {
    if (!asleep_) return;
    const u32 one = 1;
    gpu_.start_upload(stop_, &one, sizeof one, look_);
    gpu_.wait(look_);
    gpu_.wait(stream_);
    asleep_ = false;
  }

 private:
  static constexpr u32 kThreads = 1024, kMostSms = 1024;
  static constexpr u64 kLimit = 120'000'000'000;  // nanoseconds: after two minutes it ends by itself

  void start(u32 first) {
    const std::vector<u8> zero(kMostSms * sizeof(u32));
    gpu_.start_upload(stop_, zero.data(), sizeof(u32), stream_);
    gpu_.start_upload(counts_, zero.data(), 2 * sizeof(u32), stream_);
    gpu_.start_upload(present_, zero.data(), zero.size(), stream_);
    gpu_.wait(stream_);
    Launch launch;
    launch.kernel = "shadow";
    launch.grid = {blocks_};
    launch.block = {kThreads};
    launch.argument(stop_).argument(counts_).argument(present_).argument(first).argument(kLimit);
    gpu_.start(module_, launch, stream_);
  }

  Gpu& gpu_;
  Gpu::Module* module_;
  Gpu::Stream *stream_, *look_;
  Gpu::Address stop_, counts_, present_;
  u32 per_sm_, blocks_;
  std::vector<u32> numbers_;  // of the SMs there are, rising
  bool asleep_ = false;
};

std::vector<u32> sm_counts(u32 sms) {
  std::vector<u32> counts{1};
  for (u32 n = 4; n < sms; n += 4) counts.push_back(n);
  counts.push_back(sms);
  return counts;
}

}  // namespace

std::string own_module(const std::string& folder) {
  return read_file(folder + "/silicon.ptx");
}

void measure_scaling(const std::string& folder, const std::string& out, const std::vector<std::string>& workloads) {
  constexpr u32 kTimes = 3;
  constexpr double kLong = 1000;  // milliseconds: so long a run is not repeated, its spread is small against it
  std::vector<Subject> chosen;
  for (const std::string& workload : workloads) {
    const auto known = std::find_if(subjects().begin(), subjects().end(),
                                    [&](const Subject& subject) { return subject.workload == workload; });
    chosen.push_back(known != subjects().end() ? *known : Subject{workload});
  }
  if (chosen.empty()) chosen = subjects();

  Gpu gpu;
  Shadow shadow(gpu, folder);
  Gpu::Stream* const stream = gpu.make_stream();
  std::vector<Gpu::Event*> events;
  std::string text = fmt::format("{{\n  \"gpu\": \"{}\",\n  \"sms\": {},\n  \"workloads\": [", gpu.name(), gpu.sms());
  const char* between = "\n";
  for (const Subject& subject : chosen) {
    WorkloadRequest request = parse_workload(subject.workload, InputSize::kPaper);
    request.slice = Fraction{Fraction::kOne};
    ReadyWorkload workload(gpu, folder, request);
    const Recording recording = workload.record(subject.host_reads);
    replay(gpu, workload.module(), recording, stream, events);  // what is done once, such as making room, is done here

    text += fmt::format(
        "{}    {{\"workload\": \"{}\", \"printed\": \"{}\", \"launches\": {}, \"most_blocks\": {}, \"points\": [",
        between, subject.workload, subject.printed, recording.launches, recording.most_blocks);
    between = ",\n";
    const char* comma = "";
    for (const u32 sms : sm_counts(gpu.sms())) {
      std::vector<double> times;
      shadow.leave(sms);
      while (times.size() < kTimes && (times.empty() || times.front() < kLong))
        times.push_back(replay(gpu, workload.module(), recording, stream, events));
      shadow.wake();
      std::sort(times.begin(), times.end());
      text += fmt::format("{}\n      {{\"sms\": {}, \"ms\": {:.4f}, \"least_ms\": {:.4f}, \"most_ms\": {:.4f}}}", comma,
                          sms, times[times.size() / 2], times.front(), times.back());
      comma = ",";
    }
    text += "]}";
    for (const Recording::Saved& saved : recording.beginning) gpu.release(saved.copy);
    fmt::print("{}\n", subject.workload);
    std::ofstream(out) << text << "\n  ]\n}\n";  // what is known is there if a later one fails
  }
}

}  // namespace terrace::silicon
