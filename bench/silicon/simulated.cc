// The microbenchmarks in Terrace: each point is a user's program, run on a machine of its own.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/paths.h"
#include "config/loader.h"
#include "engine/check.h"
#include "frontend/stream_kind.h"
#include "frontend/user_program.h"
#include "json_file.h"
#include "micro_points.h"
#include "run/run.h"
#include "silicon.h"

namespace terrace::silicon {
namespace {

std::vector<Sample> simulate_point(const GpuConfig& config, const Point& point, const std::string& program) {
  const ProgramInstance instance = load_user_program(program);
  GuestMemory memory{PageSize(config.pages.bytes)};
  const auto stream = make_stream(instance.code, memory, config.sm.warp_width);
  instance.program->allocate(memory);
  RunRequest request;
  request.config = config;
  request.given.push_back(
      {point.group, instance.program.get(), &memory, stream.get(), [&] { return instance.code.hash(); }});
  const RunResult result = simulate(request);
  if (!result.faults.empty()) input_error("{}", result.faults.front());

  std::vector<Sample> samples;
  for (const GuestMemory::Allocation& buffer : memory.allocations()) {
    if (buffer.name != "out") continue;
    const u64 words = point.out_words();
    for (u32 round = 1; round < kRounds; ++round) {
      std::vector<u64> out(words);
      std::memcpy(out.data(), memory.read({buffer.first.raw + round * words * sizeof(u64)}, words * sizeof(u64)).data(),
                  words * sizeof(u64));
      samples.push_back(read_sample(point, out));
    }
  }
  return samples;
}

}  // namespace

void simulate_micro(const std::string& folder, const std::string& out, const SimulatedOptions& simulated) {
  Layers layers;
  layers.gpu.push_back(find_config(kGpus, simulated.gpu));
  for (const std::string& set : simulated.sets) layers.options.push_back(split_assignment(set, "--set"));
  const GpuConfig config = ConfigLoader<GpuConfig>(layers).config();
  PointOptions options = simulated.points;
  options.sms = config.sm.count;
  const std::vector<Point> points = micro_points(options);
  JsonFile file(out, config.name);
  file.set_machine(config.name, config.sm.count);
  const std::string program =
      fmt::format("{}/silicon_{}.toml", std::filesystem::temp_directory_path().string(), getpid());
  const std::string source = std::filesystem::absolute(folder).string() + "/micro.ptx";
  for (const Point& point : points) {
    std::ofstream(program) << point_toml(point, source);
    try {
      file.point(point_json(point, simulate_point(config, point, program)));
    } catch (const InputError& error) {
      file.problem(point.group, error.what());
    }
  }
  std::filesystem::remove(program);
  file.finish();
  fmt::print("{} points\n", file.points());
}

void write_programs(const std::string& folder, const std::string& to, const PointOptions& options) {
  std::filesystem::create_directories(to);
  const std::string source = std::filesystem::absolute(folder).string() + "/micro.ptx";
  u64 number = 0;
  for (const Point& point : micro_points(options)) {
    std::string labels;
    for (const auto& [key, value] : point.labels) labels += fmt::format(" {} {}", key, value);
    std::ofstream(fmt::format("{}/{}_{}.toml", to, point.group, number++)) << "#" << labels << "\n"
                                                                           << point_toml(point, source);
  }
  fmt::print("{} programs in {}\n", number, to);
}

}  // namespace terrace::silicon
