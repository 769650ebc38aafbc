// The microbenchmarks and the pairs of bench/silicon, as far as they can be tested without a GPU: what is asked of one, and that
// the same kernels run in Terrace.
// SPDX-License-Identifier: MIT
#include "bench/silicon/silicon.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "bench/silicon/micro_points.h"
#include "bench/silicon/tenants.h"
#include "engine/check.h"
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

}  // namespace
}  // namespace terrace::silicon
