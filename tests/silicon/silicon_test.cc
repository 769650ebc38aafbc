// The microbenchmarks and the pairs of bench/silicon, as far as they can be tested without a GPU: what is asked of one, and that
// the same kernels run in Terrace.
// SPDX-License-Identifier: MIT
#include "bench/silicon/silicon.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "bench/silicon/micro_points.h"
#include "bench/silicon/processes.h"
#include "bench/silicon/tenants.h"
#include "bench/silicon/workloads.h"
#include "cli/paths.h"
#include "config/loader.h"
#include "engine/check.h"
#include "run/run.h"
#include "support/paths.h"
#include "text/tree.h"

namespace terrace::silicon {
namespace {

std::string modules() {
  return build_folder() + "/silicon_modules";
}

double number(const Tree& tree) {
  return std::visit(
      [](const auto& value) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) return static_cast<double>(value);
        return -1.0;
      },
      tree.value);
}

TEST(SiliconPoints, HaveLabelsOfTheirOwn) {
  std::set<std::string> seen;
  for (const Point& point : micro_points({})) {
    std::string label = point.group;
    for (const auto& [key, value] : point.labels) label += " " + key + "=" + value;
    EXPECT_TRUE(seen.insert(label).second) << label;
  }
  EXPECT_GT(seen.size(), 900u);
}

TEST(SiliconPoints, ChainsVisitEveryElement) {
  std::set<std::pair<u64, u64>> tried;
  for (const Point& point : micro_points({})) {
    if (point.measured.kernel != "chase") continue;
    const std::vector<u64>& link = point.before.at(0).numbers;  // elements, stride, factor, offset
    const u64 elements = link[0];
    EXPECT_LE(elements * link[1], point.data_bytes);
    if (elements > 100'000 || !tried.insert({elements, link[2]}).second) continue;
    std::vector<bool> visited(elements);
    u64 at = 0;
    for (u64 i = 0; i < elements; ++i) {
      visited[at] = true;
      at = (at * link[2] + link[3]) % elements;
    }
    EXPECT_EQ(at, 0u) << elements;
    EXPECT_EQ(std::count(visited.begin(), visited.end(), true), static_cast<std::ptrdiff_t>(elements));
  }
  EXPECT_GT(tried.size(), 50u);
}

TEST(SiliconPoints, StreamsStayInTheirData) {
  u64 streams = 0;
  for (const Point& point : micro_points({})) {
    if (!point.measured.kernel.starts_with("stream_")) continue;
    ++streams;
    const std::vector<u64>& n = point.measured.numbers;  // own, first, step, mask, cycles, shift, and half of copies
    const u64 chunk = u64{point.measured.threads} * 64;
    const u64 reach =
        (kRounds - 1) * n[5] + (point.measured.blocks - 1) * n[0] + n[3] + 1 + chunk + (n.size() > 6 ? n[6] : 0);
    EXPECT_LE(reach - 64, point.data_bytes + chunk) << point.measured.kernel;
  }
  EXPECT_GT(streams, 100u);
}

TEST(SiliconPoints, RefuseAnUnknownGroup) {
  PointOptions options;
  options.groups = {"latencies"};
  EXPECT_THROW(micro_points(options), InputError);
}

TEST(SiliconPoints, ReadWhatABlockWrote) {
  Point point;
  point.kind = Point::Kind::kRate;
  point.counted = true;
  point.work = 32;
  point.measured.blocks = 2;
  // Begin and end in cycles and nanoseconds, the SM, rounds of its warps.
  const Sample sample = read_sample(point, {100, 300, 50, 150, 7, 10, 1000, 1400, 50, 250, 9, 10});
  EXPECT_DOUBLE_EQ(sample.values.at(0), 320.0 / 200 + 320.0 / 400);
  EXPECT_EQ(sample.sms, 2u);
  EXPECT_DOUBLE_EQ(sample.nanoseconds, 200);
  EXPECT_DOUBLE_EQ(sample.megahertz, 2000);
  EXPECT_DOUBLE_EQ(sample.overlap, 0.75);
}

/// The machine has an L1 of 16 KB: a chain of that length stays in it, a longer one does not.
TEST(SiliconPoints, RunInTerrace) {
  const std::string out = testing::TempDir() + "silicon_simulated.json";
  SimulatedOptions options;
  options.gpu = "dws_30sm";
  options.points.groups = {"latency"};
  options.points.wanted = [](const Point& point) {  // in random order, cached
    const u64 bytes = point.data_bytes;
    return point.measured.numbers.back() == 0 && point.before[0].numbers[2] != 1 &&
           (bytes == 4 << 10 || bytes == 16 << 10 || bytes == 24 << 10);
  };
  options.points.shorter = 64;
  simulate_micro(modules(), out, options);
  const Tree result = parse_json(read_file(out), out);
  EXPECT_TRUE(result.find("problems")->items().empty());
  std::map<u64, double> latency;
  for (const Tree& point : result.find("points")->items())
    latency[static_cast<u64>(number(*point.find("bytes")))] = number(point.find("values")->items().at(0));
  ASSERT_EQ(latency.size(), 3u);
  EXPECT_DOUBLE_EQ(latency.at(4 << 10), latency.at(16 << 10));
  EXPECT_GT(latency.at(24 << 10), 2 * latency.at(16 << 10));
  std::filesystem::remove(out);
}

TEST(SiliconPairs, AreThoseOfTheSeed) {
  std::FILE* const made = popen((source_folder() + "/scripts/list_pairs").c_str(), "r");
  ASSERT_NE(made, nullptr);
  std::string text;
  for (int c = std::fgetc(made); c != EOF; c = std::fgetc(made)) text += static_cast<char>(c);
  ASSERT_EQ(pclose(made), 0);
  EXPECT_EQ(text, read_file(source_folder() + "/bench/silicon/pairs.txt"));
}

TEST(SiliconPairs, AreSixtyOfWhichAThirdIsHeld) {
  std::set<std::pair<u32, u32>> seen;
  std::set<u32> kernels;
  u32 held = 0;
  for (const Pair& pair : read_pairs(source_folder() + "/bench/silicon/pairs.txt")) {
    seen.insert(std::minmax(pair.first, pair.second));
    kernels.insert({pair.first, pair.second});
    held += pair.held ? 1 : 0;
  }
  EXPECT_EQ(seen.size(), 60u);
  EXPECT_EQ(held, 20u);
  EXPECT_EQ(kernels.size(), tenant_kernels().size());
}

/// What share_out made of these pieces: the file's points and problems, as text.
std::pair<std::vector<std::string>, std::vector<std::string>> share(const std::vector<std::string>& pieces,
                                                                    const ProcessOptions& options,
                                                                    const std::function<void(u64, std::FILE*)>& work) {
  const std::string out = testing::TempDir() + "silicon_processes.json";
  JsonFile file(out, "nothing");
  share_out(pieces, options, file, work);
  file.finish();
  const Tree result = parse_json(read_file(out), out);
  std::filesystem::remove(out);
  std::pair<std::vector<std::string>, std::vector<std::string>> found;
  for (const Tree& point : result.find("points")->items()) found.first.push_back(point.find("piece")->text());
  for (const Tree& problem : result.find("problems")->items())
    found.second.push_back(problem.find("where")->text() + ": " + problem.find("what")->text());
  return found;
}

TEST(SiliconProcesses, OneThatFailsCostsOnlyItsOwnPoints) {
  const auto [points, problems] =
      share({"first", "throws", "dies", "hangs", "last"}, {.seconds = 100, .each = 1}, [](u64 piece, std::FILE* lines) {
        if (piece == 1) input_error("no such kernel");
        if (piece == 2) std::raise(SIGKILL);
        while (piece == 3) pause();
        std::fprintf(lines, "{\"piece\": %d}\n", static_cast<int>(piece));
      });
  EXPECT_EQ(points, (std::vector<std::string>{"0", "4"}));
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[0], "\"throws\": \"no such kernel\"");
  EXPECT_EQ(problems[1], "\"dies\": \"its process ended by signal 9\"");
  EXPECT_EQ(problems[2], "\"hangs\": \"its process ended by signal 14\"");
}

TEST(SiliconProcesses, NoneBeginsWhenTheTimeIsOver) {
  const auto [points, problems] = share({"first"}, {.seconds = 0, .each = 1, .hint = "give it more"},
                                        [](u64, std::FILE* lines) { std::fprintf(lines, "{\"piece\": 0}\n"); });
  EXPECT_TRUE(points.empty());
  EXPECT_EQ(problems, (std::vector<std::string>{"\"first\": \"there was no time for it; give it more\""}));
}

TEST(SiliconProcesses, SeveralRunAtOnce) {
  const std::string fifo = testing::TempDir() + "silicon_fifo";
  std::filesystem::remove(fifo);
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  // Each end of a pipe is opened only when somebody opens the other.
  const auto [points, problems] =
      share({"reads", "writes"}, {.at_once = 2, .seconds = 100, .each = 20}, [&](u64 piece, std::FILE* lines) {
        std::fclose(std::fopen(fifo.c_str(), piece == 0 ? "r" : "w"));
        std::fprintf(lines, "{\"piece\": %d}\n", static_cast<int>(piece));
      });
  std::filesystem::remove(fifo);
  EXPECT_EQ(points.size(), 2u);
  EXPECT_TRUE(problems.empty());
}

TEST(SiliconWorkloads, RunOnWholeGrids) {
  // Without names, all there are.
  EXPECT_EQ(workload_subjects({}, InputSize::kSmall).size(), all_workloads().size());
  // The preset of this one launches a tenth of the blocks.
  const auto bfs = workload_subjects({"bfs:vertices=1000"}, InputSize::kTiny);
  ASSERT_EQ(bfs.size(), 1u);
  EXPECT_EQ(resolve_params(bfs[0].request)->slice.millionths, Fraction::kOne);
  EXPECT_THROW(workload_subjects({"bsf"}, InputSize::kTiny), InputError);
}

TEST(SiliconWorkloads, GiveTheCyclesOfEachKernelInTerrace) {
  const std::string out = testing::TempDir() + "silicon_workloads.json";
  WorkloadOptions options;
  options.size = InputSize::kMini;
  options.jobs = 2;
  options.gpu = "dws_30sm";
  options.workloads = {"gaussian", "red:iters=2"};
  simulate_workloads(out, options);
  const Tree result = parse_json(read_file(out), out);
  std::filesystem::remove(out);
  EXPECT_TRUE(result.find("problems")->items().empty());
  std::map<std::string, std::pair<double, double>> kernels;  // launches and cycles
  for (const Tree& point : result.find("points")->items()) {
    EXPECT_EQ(point.find("unfinished"), nullptr);
    for (const Tree& kernel : point.find("kernels")->items())
      kernels[point.find("workload")->text() + kernel.find("kernel")->text()] = {
          number(*kernel.find("launches")), number(kernel.find("cycles")->items().at(0))};
  }
  std::map<std::string, std::pair<double, double>> expected;
  for (const std::string& name : options.workloads) {
    Layers layers;
    layers.gpu.push_back(find_config(kGpus, options.gpu));
    RunRequest request;
    request.config = ConfigLoader<GpuConfig>(layers).config();
    request.config.run.tenants = name;
    request.config.run.size = "mini";
    const RunResult run = simulate(request);
    for (const Tree& record : run.json.find("kernels")->items()) {
      auto& [launches, cycles] = expected["\"" + name + "\"" + record.find("name")->text()];
      ++launches;
      cycles += number(*record.find("ended")) - number(*record.find("began"));
    }
  }
  EXPECT_GE(expected.size(), 3u);
  EXPECT_EQ(kernels, expected);
}

}  // namespace
}  // namespace terrace::silicon
