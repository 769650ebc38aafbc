// The microbenchmarks on a real GPU. Each group is a process of its own: one that fails or hangs costs only its own points.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "engine/check.h"
#include "json_file.h"
#include "micro_points.h"
#include "real_gpu/cuda_driver.h"
#include "silicon.h"
#include "text/tree.h"

namespace terrace::silicon {
namespace {

using real_gpu::Gpu;
using Clock = std::chrono::steady_clock;

double seconds_until(Clock::time_point end) {
  return std::chrono::duration<double>(end - Clock::now()).count();
}

std::vector<Sample> measure(Gpu& gpu, Gpu::Module* module, const Point& point, Gpu::Address data, Gpu::Address out) {
  for (const Step& step : point.before) gpu.launch(module, launch_of(step, data, out, 0));
  std::vector<Sample> samples;
  std::vector<u64> words(point.out_words());
  for (u32 round = 0; round < kRounds; ++round) {
    gpu.launch(module, launch_of(point.measured, data, out, round));
    gpu.download(words.data(), out, words.size() * sizeof(u64));
    if (round > 0) samples.push_back(read_sample(point, words));
  }
  return samples;
}

/// The process of a group: a line for each point, to `lines`.
void measure_group(const std::string& folder, const std::string& group, double seconds, std::FILE* lines) {
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(static_cast<u64>(seconds * 1000));
  Gpu gpu;
  fmt::print(lines, "#{}|{}\n", gpu.name(), gpu.sms());
  Gpu::Module* const module = gpu.load(read_file(folder + "/micro.ptx"));
  PointOptions options;
  options.sms = gpu.sms();
  options.most_bytes = std::min(options.most_bytes, gpu.free_bytes() / 100 * 97);
  options.groups = {group};
  const std::vector<Point> points = micro_points(options);
  u64 data_bytes = 1, out_words = Point::kSpanWords * gpu.sms();
  for (const Point& point : points) {
    data_bytes = std::max(data_bytes, point.data_bytes);
    out_words = std::max(out_words, point.out_words());
  }
  const Gpu::Address data = gpu.allocate(data_bytes), out = gpu.allocate(out_words * sizeof(u64));
  constexpr u64 kWarmUp = 300'000'000;  // nanoseconds: an idle GPU takes a while to raise its clocks
  gpu.launch(module, launch_of({"spin", gpu.sms(), 1, {kWarmUp}}, data, out, 0));
  u64 left = points.size();
  u32 failures = 0;
  for (const Point& point : points) {
    if (seconds_until(end) < 0 || failures == 3) break;  // after a fault, everything fails
    --left;
    try {
      fmt::print(lines, "{}\n", point_json(point, measure(gpu, module, point, data, out)));
      failures = 0;
    } catch (const InputError& error) {
      fmt::print(lines, "!{}: {}\n", point.measured.kernel, error.what());
      ++failures;
    }
    std::fflush(lines);
  }
  if (left > 0) fmt::print(lines, "!{} of {} points were not measured\n", left, points.size());
}

[[noreturn]] void serve(const std::string& folder, const std::string& group, double seconds, int to) {
  alarm(static_cast<unsigned>(seconds) + 10);  // ends a process that hangs in the driver
  std::FILE* const lines = fdopen(to, "w");
  int code = 0;
  try {
    measure_group(folder, group, seconds, lines);
  } catch (const std::exception& error) {
    fmt::print(lines, "!{}\n", error.what());
    code = 2;
  }
  std::fflush(lines);
  _exit(code);
}

}  // namespace

void measure_micro(const std::string& folder, const std::string& out, double budget,
                   const std::vector<std::string>& chosen) {
  PointOptions options;
  options.groups = chosen;
  micro_points(options);  // refuses unknown groups before anything runs
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(static_cast<u64>(budget * 1000));
  const std::vector<std::string> groups = chosen.empty() ? micro_groups() : chosen;
  JsonFile file(out);
  u64 groups_left = groups.size();
  for (const std::string& group : groups) {
    // Twice its even share of the time that is left, so that no group takes it all.
    const double left = seconds_until(end), share = std::min(left, 2 * left / static_cast<double>(groups_left--));
    if (share < 5) {
      file.problem(group, "there was no time for it");
      continue;
    }
    int ends[2];
    if (pipe(ends) != 0) input_error("no more pipes can be made");
    std::fflush(stdout);
    const pid_t id = fork();
    if (id < 0) input_error("no more processes can be made");
    if (id == 0) {
      close(ends[0]);
      serve(folder, group, share - 4, ends[1]);
    }
    close(ends[1]);
    const u64 before = file.points();
    file.take_lines(group, ends[0]);
    int status = 0;
    waitpid(id, &status, 0);
    if (WIFSIGNALED(status)) file.problem(group, fmt::format("its process ended by signal {}", WTERMSIG(status)));
    file.write();
    fmt::print("{}: {} points, {:.0f} s left\n", group, file.points() - before, seconds_until(end));
  }
  file.finish();
  if (file.points() == 0) input_error("nothing was measured; {} says why", out);
}

}  // namespace terrace::silicon
