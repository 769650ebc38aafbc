// QTC: quality-threshold clustering of points in a plane. Distances are gathered down columns of a matrix: up to 32
// pages an access. The rest is barriers and a search by one thread. Variants: mask (4,096 points), dws (2,048).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

constexpr u32 kThreads = 64, kCached = 12;  // as in qtc.cu
constexpr float kThreshold = 1.0f;
constexpr float kNone = std::numeric_limits<float>::max();
constexpr double kSquare = 20, kMostRadius = 10;
constexpr u32 kGroups = 30;  // a group has at most one point in so many

struct Point {
  double x, y;
};

/// In discs: centre, radius and number are drawn; then of each point the direction and the distance from the centre.
std::vector<Point> draw_points(u32 count, u64 seed) {
  Rng rng(seed, "qtc.points");
  const auto on_square = [](double at) { return at >= 0 && at <= kSquare; };
  std::vector<Point> points;
  while (points.size() < count) {
    const double x = rng.uniform(0, kSquare), y = rng.uniform(0, kSquare), radius = rng.uniform(0, kMostRadius);
    for (u64 left = rng.below(std::max(2u, count / kGroups)); left > 0 && points.size() < count;) {
      const double a = rng.uniform(-1, 1), b = rng.uniform(-1, 1), square = a * a + b * b;
      if (square > 1 || square == 0) continue;
      const double factor = radius * rng.unit() / std::sqrt(square);
      const Point point{x + factor * a, y + factor * b};
      if (!on_square(point.x) || !on_square(point.y)) continue;
      points.push_back(point);
      --left;
    }
  }
  return points;
}

float distance(const Point& a, const Point& b) {
  const double x = a.x - b.x, y = a.y - b.y;
  return static_cast<float>(std::sqrt(x * x + y * y));
}

struct Neighbourhood {
  std::vector<std::vector<i32>> lists;  // without the point itself, rising
  u32 width = 1;

  Neighbourhood(u32 count, u64 seed) : lists(count) {
    const std::vector<Point> points = draw_points(count, seed);
    for (u32 a = 0; a < count; ++a) {
      for (u32 b = 0; b < count; ++b) {
        if (a == b || std::fabs(points[a].x - points[b].x) > 2 * double{kThreshold}) continue;  // most are far away
        if (distance(points[a], points[b]) <= kThreshold) lists[a].push_back(static_cast<i32>(b));
      }
      width = std::max(width, static_cast<u32>(lists[a].size()));
    }
  }
};

class Clustering final : public Program {
 public:
  struct Params : WorkloadParams {
    u32 points = 2048;
    u32 blocks = 256;
    u32 seeds = 0;

    Params() { iters = 0; }
    void describe(Fields& v) override {
      v("points", points, in(2, 1 << 15), "points to cluster");
      v("blocks", blocks, in(1, 1 << 16), "blocks that grow clusters");
      v("seeds", seeds, in(0, 1 << 16), "seeds that a block tries in a round at most; 0: all that are its own");
      WorkloadParams::describe(v);
    }

   protected:
    u64 least_iters() const override { return 0; }
    std::string_view iters_doc() const override { return "rounds, a cluster each; 0: until no two points are near"; }
  };

  static void preset(InputSize size, std::string_view variant, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.points = 100, p.blocks = 3, p.seeds = 1, p.iters = 1;
        break;
      case InputSize::kTiny:
        p.seeds = 1, p.iters = 1;
        p.slice = {Fraction::kOne / 4};
        break;
      case InputSize::kSmall:
        p.iters = 1;
        break;
      case InputSize::kPaper:
        p.points = variant == "mask" ? 4096 : 2048;
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) {
    const u64 width = Neighbourhood(p.points, p.seed).width;
    const u64 words = p.points + width + 4;  // distances, neighbours, degrees, list, winners
    return p.points * (words * 4 + p.blocks + 1) + 8 * u64{p.blocks} + 4;
  }

  explicit Clustering(const Params& params) : p_(params), near_(params.points, params.seed) {
    if (near_.width > kThreads * kCached)
      input_error("qtc: a point has {} neighbours, more than the {} a block can hold; choose fewer points", near_.width,
                  kThreads * kCached);
  }

  void allocate(GuestMemory& memory) override {
    const u64 n = p_.points;
    distances_ = Buffer<float>(memory, "distances", n * n);
    neighbours_ = Buffer<i32>(memory, "neighbours", n * near_.width);
    degrees_ = Buffer<i32>(memory, "degrees", n);
    masks_ = Buffer<u8>(memory, "masks", n * p_.blocks);
    clustered_ = Buffer<u8>(memory, "clustered", n);
    list_ = Buffer<i32>(memory, "list", n);
    listed_ = Buffer<i32>(memory, "listed", 1);
    best_ = Buffer<i32>(memory, "best", 2 * u64{p_.blocks});
    winners_ = Buffer<i32>(memory, "winners", 2 * n);
  }

  void initialise(GuestMemory& memory) override {
    const std::vector<Point> points = draw_points(p_.points, p_.seed);
    const auto matrix = distances_.write(memory);
    for (u64 a = 0; a < p_.points; ++a) {
      for (u64 b = 0; b < p_.points; ++b) {
        const float apart = distance(points[a], points[b]);
        matrix[a * p_.points + b] = apart <= kThreshold ? apart : kNone;
      }
    }
    fill_with(memory, neighbours_, -1);
    const auto neighbours = neighbours_.write(memory);
    for (u64 p = 0; p < p_.points; ++p) {
      list_.set(memory, p, static_cast<i32>(p));
      std::copy(near_.lists[p].begin(), near_.lists[p].end(), neighbours.subspan(p * near_.width).begin());
    }
    fill_with(memory, degrees_, 0);
    fill_with(memory, masks_, u8{0});
    fill_with(memory, clustered_, u8{0});
    fill_with(memory, best_, 0);
    fill_with(memory, winners_, 0);
    listed_.set(memory, 0, static_cast<i32>(p_.points));
    rounds_ = 0;
    step_ = Step::kDegrees;
  }

  std::optional<Launch> next(GuestMemory& memory) override {
    switch (step_) {
      case Step::kDegrees:
        step_ = Step::kMain;
        return simple("qtc_degrees", blocks_of(p_.points, kThreads), kThreads)
            .argument(neighbours_)
            .argument(near_.width)
            .argument(degrees_)
            .argument(p_.points);
      case Step::kMain:
        if ((p_.iters && rounds_ == p_.iters) || listed_.get(memory, 0) == 0) return std::nullopt;
        step_ = Step::kReduce;
        return grow_all(static_cast<u32>(listed_.get(memory, 0)));
      case Step::kReduce:
        step_ = Step::kTrim;
        return simple("qtc_reduce", 1, 1).argument(best_).argument(launched_blocks()).argument(winner());
      case Step::kTrim:
        if (winners_.get(memory, 2 * u64{rounds_}) <= 1) return std::nullopt;
        step_ = Step::kUpdate;
        return trim();
      case Step::kUpdate:
        step_ = Step::kMain;
        ++rounds_;
        return simple("qtc_update_mask", blocks_of(p_.points, kThreads), kThreads)
            .argument(masks_)
            .argument(clustered_)
            .argument(p_.points);
    }
    return std::nullopt;
  }

  void archive(Archive& a) override { a(step_, rounds_); }

  /// The rounds again on the host: degrees, winners, the list and what is clustered must be the same.
  CheckResult check(const GuestMemory& memory) const override;

 private:
  enum class Step : u8 { kDegrees, kMain, kReduce, kTrim, kUpdate };

  static Launch simple(std::string_view kernel, u32 blocks, u32 threads) {
    return sliced_launch(std::string(kernel), {blocks}, {threads}, {Fraction::kOne});
  }
  u64 winner() const { return winners_.address().raw + 8 * u64{rounds_}; }
  u32 launched_blocks() const {
    return static_cast<u32>(sliced_launch("", {p_.blocks}, {kThreads}, p_.slice).blocks());
  }
  u32 most_seeds() const { return p_.seeds ? p_.seeds : p_.points; }
  Launch& add_points(Launch& launch) const {
    return launch.argument(p_.points).argument(near_.width).argument(kThreshold);
  }
  Launch grow_all(u32 listed) const {
    Launch launch = sliced_launch("qtc_main", {p_.blocks}, {kThreads}, p_.slice);
    launch.argument(distances_).argument(neighbours_).argument(degrees_).argument(clustered_).argument(list_);
    launch.argument(listed).argument(most_seeds()).argument(masks_).argument(best_);
    return add_points(launch);
  }
  Launch trim() const {
    Launch launch = simple("qtc_trim", 1, kThreads);
    launch.argument(distances_).argument(neighbours_).argument(degrees_).argument(clustered_).argument(winner());
    launch.argument(list_).argument(listed_).argument(masks_);
    return add_points(launch);
  }

  std::vector<i32> grow(std::span<const float> distances, const std::vector<u8>& clustered, i32 seed) const;

  Params p_;
  Neighbourhood near_;
  Buffer<float> distances_;
  Buffer<i32> neighbours_, degrees_, list_, listed_, best_, winners_;
  Buffer<u8> masks_, clustered_;
  Step step_ = Step::kDegrees;
  u32 rounds_ = 0;  // complete ones
};

std::vector<i32> Clustering::grow(std::span<const float> distances, const std::vector<u8>& clustered, i32 seed) const {
  std::vector<i32> members{seed};
  std::vector<std::pair<float, i32>> candidates;
  for (const i32 p : near_.lists[static_cast<u32>(seed)])
    if (!clustered[static_cast<u32>(p)]) candidates.emplace_back(0.0f, p);
  while (true) {
    for (auto& [farthest, p] : candidates)
      farthest = std::max(farthest, distances[static_cast<u64>(p) * p_.points + static_cast<u64>(members.back())]);
    const auto nearest = std::min_element(candidates.begin(), candidates.end());
    if (nearest == candidates.end() || nearest->first > kThreshold) return members;
    members.push_back(nearest->second);
    candidates.erase(nearest);
  }
}

CheckResult Clustering::check(const GuestMemory& memory) const {
  const auto distances = distances_.read(memory);
  std::vector<i32> winners(2 * u64{p_.points}, 0), list(p_.points);
  for (u32 p = 0; p < p_.points; ++p) list[p] = static_cast<i32>(p);
  std::vector<u8> clustered(p_.points, 0);
  u64 listed = list.size();
  u32 round = 0;
  for (; listed > 0 && (p_.iters == 0 || round < p_.iters); ++round) {
    std::vector<i32> cluster;
    for (u64 block = 0; block < launched_blocks(); ++block) {
      std::vector<i32> best;
      for (u64 n = 0, i = block; n < most_seeds() && i < listed; ++n, i += p_.blocks) {
        if (near_.lists[static_cast<u32>(list[i])].size() + 1 <= best.size()) continue;
        std::vector<i32> grown = grow(distances, clustered, list[i]);
        if (grown.size() > best.size()) best = std::move(grown);
      }
      if (best.size() > cluster.size() || (best.size() == cluster.size() && !best.empty() && best[0] < cluster[0]))
        cluster = std::move(best);
    }
    winners[2 * u64{round}] = static_cast<i32>(cluster.size());
    winners[2 * u64{round} + 1] = cluster[0];
    if (cluster.size() <= 1) break;
    for (const i32 p : cluster) clustered[static_cast<u32>(p)] = 1;
    u64 kept = 0;
    for (u64 i = 0; i < listed; ++i)
      if (!clustered[static_cast<u32>(list[i])]) list[kept++] = list[i];
    listed = kept;
  }
  ExactCheck of_winners("winners"), of_list("list"), of_clustered("clustered"), of_degrees("degrees");
  for (u64 i = 0; i < winners.size(); ++i) of_winners.compare(i, winners_.get(memory, i), winners[i]);
  of_list.compare(list.size(), listed_.get(memory, 0), static_cast<i64>(listed));
  for (u64 i = 0; i < p_.points; ++i) {
    of_list.compare(i, list_.get(memory, i), list[i]);
    of_clustered.compare(i, clustered_.get(memory, i), clustered[i]);
    of_degrees.compare(i, degrees_.get(memory, i), static_cast<i64>(near_.lists[i].size() + 1));
  }
  CheckResult result =
      both(both(of_winners.result(), of_list.result()), both(of_clustered.result(), of_degrees.result()));
  result.message +=
      fmt::format(", {} points left after {} rounds, the first cluster has {}", listed, round, winners[0]);
  return result;
}

const RegisterWorkload<Clustering> kRegistered{{
    .name = "qtc",
    .purpose = "quality-threshold clustering: gathers down columns of a matrix, barriers and a serial search",
    .origin = "SHOC qtclustering",
    .papers = "MASK, DWS",
    .module = "qtc",
    .variants = {"mask", "dws"},
    .paper_needs_variant = true,
}};

}  // namespace
}  // namespace terrace
