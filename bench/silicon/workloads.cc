// The workloads on a real GPU, kernel by kernel. A workload runs once with its host, which checks the result; then all that it had
// the GPU do is done again and timed: memory as it was before the first launch, an L2 full of other data, and events around each
// launch. The GPU finds many launches in its queue while it still spins, so that no launch waits for the host.
// SPDX-License-Identifier: MIT
#include "workloads.h"

#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>

#include "engine/check.h"
#include "json_file.h"
#include "micro_points.h"
#include "processes.h"
#include "recording.h"
#include "silicon.h"
#include "text/tree.h"

namespace terrace::silicon {
namespace {

using real_gpu::Gpu;
using real_gpu::GpuRunner;

constexpr u32 kRepeats = 5;
constexpr double kMostSeconds = 60;  // of one workload

/// Processes that prepare share the GPU; one that measures has it for itself.
class Turn {
 public:
  Turn(int file, int kind) : file_(file) {
    if (flock(file_, kind) != 0) input_error("a lock cannot be had");
  }
  ~Turn() { flock(file_, LOCK_UN); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  int file_;
};

/// Times launches one by one.
class Stopwatch {
 public:
  Stopwatch(Gpu& gpu, const std::string& folder)
      : gpu_(gpu),
        micro_(gpu.load(read_file(folder + "/micro.ptx"))),
        own_(gpu.load(own_module(folder))),
        stream_(gpu.make_stream()),
        other_(gpu.allocate(kOtherBytes)),
        out_(gpu.allocate(kOutWords * sizeof(u64))) {
    spin(kWarmUp);
    gpu.wait(stream_);
  }

  /// In microseconds, by launch, of one repeat.
  std::vector<double> replay(Gpu::Module* module, const Recording& recording) {
    restore(gpu_, recording, stream_);
    // Reads of what no program has: 32 bytes each, twice the L2.
    start({"touch", 2 * gpu_.sms(), 1024, {kOtherBytes / 32, 32, 0}});
    gpu_.wait(stream_);
    std::vector<double> times;
    u64 at = 0;
    while (at < recording.steps.size()) {
      if (const auto* upload = std::get_if<Recording::Upload>(&recording.steps[at])) {
        gpu_.start_upload(upload->to, upload->bytes.data(), upload->bytes.size(), stream_);
        gpu_.wait(stream_);
        ++at;
        continue;
      }
      std::vector<const Launch*> batch;
      for (; at < recording.steps.size() && batch.size() < kBatch; ++at) {
        const auto* launch = std::get_if<Launch>(&recording.steps[at]);
        if (!launch) break;
        batch.push_back(launch);
      }
      const std::vector<double> taken = time(module, batch);
      times.insert(times.end(), taken.begin(), taken.end());
    }
    return times;
  }

  /// Microseconds of a kernel without instructions on such a grid, the median of several.
  double empty(const Launch& like) {
    const std::array key{
        like.grid.x, like.grid.y, like.grid.z, like.block.x, like.block.y, like.block.z, like.dynamic_shared_bytes};
    if (const auto known = empty_.find(key); known != empty_.end()) return known->second;
    Launch launch;
    launch.kernel = "nothing";
    launch.grid = like.grid;
    launch.block = like.block;
    launch.dynamic_shared_bytes = like.dynamic_shared_bytes;
    const std::vector<const Launch*> batch(9, &launch);
    std::vector<double> times = time(own_, batch);
    std::sort(times.begin(), times.end());
    return empty_[key] = times[times.size() / 2];
  }

  /// Cycles of an SM in a microsecond, now.
  double megahertz() {
    spin(kSpinForClock);
    gpu_.wait(stream_);
    std::array<u64, kOutWords> span{};
    gpu_.download(span.data(), out_, sizeof span);
    return 1000.0 * static_cast<double>(span[1] - span[0]) / static_cast<double>(span[3] - span[2]);
  }

 private:
  static constexpr u64 kOtherBytes = u64{1} << 28, kOutWords = Point::kSpanWords;
  static constexpr u64 kWarmUp = 300'000'000, kSpinForClock = 300'000;  // nanoseconds
  static constexpr u64 kBatch = 128;  // launches; a stream's queue holds some 1,000 commands
  static constexpr u64 kSpinForHost = 100'000, kSpinForLaunch = 15'000;  // nanoseconds: longer than the host takes

  void start(const Step& step) { gpu_.start(micro_, launch_of(step, other_, out_, 0), stream_); }
  void spin(u64 nanoseconds) { start({"spin", 1, 1, {nanoseconds}}); }

  std::vector<double> time(Gpu::Module* module, const std::vector<const Launch*>& batch) {
    while (events_.size() < 2 * batch.size()) events_.push_back(gpu_.make_event());
    spin(kSpinForHost + kSpinForLaunch * batch.size());
    for (u64 i = 0; i < batch.size(); ++i) {
      gpu_.record(events_[2 * i], stream_);
      gpu_.start(module, *batch[i], stream_);
      gpu_.record(events_[2 * i + 1], stream_);
    }
    gpu_.wait(stream_);
    std::vector<double> times;
    for (u64 i = 0; i < batch.size(); ++i)
      times.push_back(1000 * gpu_.milliseconds(events_[2 * i], events_[2 * i + 1]));
    return times;
  }

  Gpu& gpu_;
  Gpu::Module *micro_, *own_;
  Gpu::Stream* stream_;
  Gpu::Address other_, out_;
  std::vector<Gpu::Event*> events_;
  std::map<std::array<u32, 7>, double> empty_;
};

std::string measure(Gpu& gpu, const std::string& folder, const Subject& subject, int lock) {
  const WorkloadRequest& request = subject.request;
  ReadyWorkload workload(gpu, folder, request);
  Recording recording;
  {
    const Turn shared(lock, LOCK_SH);
    recording = workload.record(true);
  }
  const CheckResult check = workload.check();

  const Turn own(lock, LOCK_EX);
  Stopwatch stopwatch(gpu, folder);
  stopwatch.replay(workload.module(), recording);  // warms up
  std::vector<double> clocks{stopwatch.megahertz()};
  std::vector<std::vector<double>> repeats;
  for (u32 i = 0; i < kRepeats; ++i) repeats.push_back(stopwatch.replay(workload.module(), recording));
  clocks.push_back(stopwatch.megahertz());
  const double mhz = (clocks[0] + clocks[1]) / 2;

  std::vector<KernelTimes> kernels;
  struct Sums {
    u64 blocks = 0;
    double empty = 0;  // microseconds
    const Launch* first = nullptr;
  };
  std::map<std::string, Sums> sums;
  u64 number = 0;
  for (const auto& step : recording.steps) {
    const auto* launch = std::get_if<Launch>(&step);
    if (!launch) continue;
    KernelTimes& kernel = kernel_of(kernels, launch->kernel);
    kernel.cycles.resize(kRepeats);
    ++kernel.launches;
    for (u32 i = 0; i < kRepeats; ++i) kernel.cycles[i] += repeats[i][number] * mhz;
    ++number;
    Sums& sum = sums[launch->kernel];
    if (!sum.first) sum.first = launch;
    sum.blocks += launch->grid.count();
    sum.empty += stopwatch.empty(*launch);
  }
  for (KernelTimes& kernel : kernels) {
    const Sums& sum = sums[kernel.name];
    const Gpu::Needs needs = gpu.needs(workload.module(), *sum.first);
    kernel.more = fmt::format(
        ", \"blocks\": {}, \"threads\": {}, \"registers\": {}, \"shared_bytes\": {}, \"local_bytes\": {}, "
        "\"blocks_per_sm\": {}, \"empty_cycles\": {:.0f}",
        sum.blocks, sum.first->block.count(), needs.registers, needs.shared_bytes, needs.local_bytes,
        needs.blocks_per_sm, sum.empty * mhz);
  }
  Launch least;
  least.grid = {1};
  least.block = {32};
  return workload_json(
      subject,
      fmt::format(
          ", \"check\": {}, \"mhz\": {:.1f}, \"mhz_apart\": {:.1f}, \"launches\": {}, \"one_block_cycles\": {:.0f}",
          quoted((check.passed ? "passed: " : "failed: ") + check.message), mhz, clocks[1] - clocks[0], number,
          stopwatch.empty(least) * mhz),
      kernels);
}

}  // namespace

void measure_workloads(const std::string& folder, const std::string& out, const WorkloadOptions& options) {
  const std::vector<Subject> subjects = workload_subjects(options.workloads, options.size);
  JsonFile file(out);
  file.set_made(fmt::format("{{\"repeats\": {}, \"at_once\": {}}}", kRepeats, options.jobs));
  share_out(names_of(subjects),
            {.at_once = options.jobs,
             .seconds = static_cast<double>(options.seconds),
             .each = kMostSeconds,
             .hint = "give it a larger --budget"},
            file, [&](u64 piece, std::FILE* lines) {
              // Opened in each process: a lock belongs to whoever opened the file.
              const std::string path = out + ".lock";
              std::FILE* const lock = std::fopen(path.c_str(), "w");
              if (!lock) input_error("{} cannot be written", path);
              Gpu gpu;
              fmt::print(lines, "#{}|{}\n", gpu.name(), gpu.sms());
              fmt::print(lines, "{}\n", measure(gpu, folder, subjects[piece], fileno(lock)));
            });
  std::remove((out + ".lock").c_str());
  file.finish();
  fmt::print("{} of {} workloads\n", file.points(), subjects.size());
  if (file.points() == 0) input_error("nothing was measured; {} says why", out);
}

}  // namespace terrace::silicon
