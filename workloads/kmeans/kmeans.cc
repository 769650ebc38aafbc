// KMEANS: k-means clustering with the centres in constant memory. One transposition with 32 lines per read, then
// coalesced passes over the points; the host moves the centres between passes. The points are blobs around hidden
// centres, Gaussian in each feature as near as the sum of twelve uniform numbers comes to it.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "engine/check.h"
#include "engine/rng.h"
#include "frontend/workload.h"
#include "support/checks.h"

namespace terrace {
namespace {

constexpr u32 kThreads = 256;
constexpr u32 kConstantFloats = 8192;  // of kmeans_centres
constexpr double kRange = 100;         // hidden centres lie in [0, kRange) in each feature
constexpr double kSpread = 20;         // standard deviation of a blob: neighbours overlap, so that centres keep moving
constexpr u64 kFewChanges = 1000;      // done when fewer than one point in so many changed its centre

class KMeans final : public Program {
 public:
  struct Params : WorkloadParams {
    u32 points = 16'384;
    u32 features = 34;
    u32 centres = 5;

    void describe(Fields& v) override {
      v("points", points, in(1, 1 << 26), "points to cluster");
      v("features", features, in(1, 1024), "features of a point");
      v("centres", centres, in(1, 1024), "centres; the first points are where they start");
      WorkloadParams::describe(v);
    }

   protected:
    u64 least_iters() const override { return 0; }
    std::string_view iters_doc() const override {
      return "times that all points are assigned; 0: until less than 0.1 % of them change";
    }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.points = 600, p.features = 8, p.iters = 1;
        break;
      case InputSize::kTiny:
        p.points = 8192, p.iters = 1;
        break;
      case InputSize::kSmall:
        p.points = 28'000, p.iters = 8;
        break;
      case InputSize::kPaper:
        p.points = 16'384, p.iters = 2;
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) { return u64{p.points} * (2 * sizeof(float) * p.features + sizeof(i32)); }

  explicit KMeans(const Params& params) : p_(params) {
    if (p_.centres * p_.features > kConstantFloats)
      input_error("{} centres of {} features do not fit constant memory; choose at most {} values in all", p_.centres,
                  p_.features, kConstantFloats);
    if (u64{p_.points} * p_.features >= u64{1} << 32)
      input_error("{} points of {} features are more than 32-bit indexes can name; choose fewer", p_.points,
                  p_.features);
    if (p_.points < p_.centres) input_error("{} points cannot have {} centres", p_.points, p_.centres);
  }

  void allocate(GuestMemory& memory) override {
    by_point_ = Buffer<float>(memory, "by_point", u64{p_.points} * p_.features);
    by_feature_ = Buffer<float>(memory, "by_feature", u64{p_.points} * p_.features);
    membership_ = Buffer<i32>(memory, "membership", p_.points);
  }

  void initialise(GuestMemory& memory) override {
    draw_points(by_point_.write(memory));
    for (float& value : by_feature_.write(memory)) value = 0;
    for (i32& centre : membership_.write(memory)) centre = -1;
    before_.assign(p_.points, -1);
    centres_ = first_centres(memory);
    launched_ = 0;
  }

  std::optional<Launch> next(GuestMemory& memory) override {
    const bool inverts = launched_ == 0;
    if (launched_ > 1) {  // an assignment has been made
      const auto membership = membership_.read(memory);
      if (p_.iters ? launched_ > p_.iters : is_settled(membership)) return std::nullopt;
      before_.assign(membership.begin(), membership.end());
      centres_ = moved_centres(memory, before_, centres_);
    }
    Launch call = launch_points(inverts ? "invert" : "assign");
    if (inverts) {
      call.argument(by_point_).argument(by_feature_).argument(p_.points).argument(p_.features);
    } else {
      write_module_variable(memory, "kmeans_centres", std::as_bytes(std::span(centres_)));
      call.argument(by_feature_).argument(membership_).argument(p_.points).argument(p_.features).argument(p_.centres);
    }
    ++launched_;
    return call;
  }

  void archive(Archive& a) override { a(centres_, before_, launched_); }

  /// The whole clustering again, in double. A point within 1e-4 as near to its centre as to the reference's is right.
  CheckResult check(const GuestMemory& memory) const override {
    const auto by_point = by_point_.read(memory), by_feature = by_feature_.read(memory);
    RelativeCheck inverted("by_feature", 0);
    for (u64 point = 0; point < launched_points(); ++point) {
      for (u64 feature = 0; feature < p_.features; ++feature) {
        const u64 to = feature * p_.points + point;
        inverted.compare(to, by_feature[to], by_point[point * p_.features + feature]);
      }
    }
    std::vector<float> centres = first_centres(memory);
    std::vector<i32> want(p_.points, -1);
    for (u64 pass = 1; pass < launched_; ++pass) {
      if (pass > 1) centres = moved_centres(memory, want, centres);
      for (u64 point = 0; point < launched_points(); ++point) want[point] = nearest(memory, centres, point);
    }
    const auto got = membership_.read(memory);
    ExactCheck members("membership");
    for (u64 point = 0; point < launched_points(); ++point) {
      const bool tie =
          got[point] >= 0 && static_cast<u32>(got[point]) < p_.centres &&
          distance(memory, centres, point, got[point]) <= (1 + 1e-4) * distance(memory, centres, point, want[point]);
      members.compare(point, got[point], tie ? got[point] : want[point]);
    }
    CheckResult result = both(inverted.result(), members.result());
    result.message += fmt::format(" after {} passes", launched_ - 1);
    return result;
  }

 private:
  /// On a square grid, as the original has it.
  Launch launch_points(std::string kernel) const {
    const u32 blocks = (p_.points + kThreads - 1) / kThreads;
    u32 side = 1;
    while (side * side < blocks) ++side;
    return sliced_launch(std::move(kernel), {side, side}, {kThreads}, p_.slice);
  }
  u64 launched_points() const { return std::min<u64>(launch_points("").blocks() * kThreads, p_.points); }

  void draw_points(std::span<float> by_point) const {
    Rng rng(p_.seed, "kmeans.points");
    std::vector<double> hidden(u64{p_.centres} * p_.features);
    for (double& value : hidden) value = rng.uniform(0, kRange);
    for (u64 point = 0; point < p_.points; ++point) {
      const u64 blob = rng.below(p_.centres);
      for (u64 feature = 0; feature < p_.features; ++feature) {
        double normal = -6;  // the sum of twelve uniform numbers has mean 6 and variance 1
        for (u32 i = 0; i < 12; ++i) normal += rng.unit();
        by_point[point * p_.features + feature] =
            static_cast<float>(hidden[blob * p_.features + feature] + kSpread * normal);
      }
    }
  }

  std::vector<float> first_centres(const GuestMemory& memory) const {
    const auto by_point = by_point_.read(memory);
    return {by_point.begin(), by_point.begin() + p_.centres * p_.features};
  }

  /// The mean of each centre's points; a centre without any stays.
  std::vector<float> moved_centres(const GuestMemory& memory, const std::vector<i32>& membership,
                                   std::vector<float> centres) const {
    const auto by_point = by_point_.read(memory);
    std::vector<double> sums(centres.size(), 0);
    std::vector<u64> members(p_.centres, 0);
    for (u64 point = 0; point < launched_points(); ++point) {
      const u64 centre = static_cast<u64>(membership[point]);
      ++members[centre];
      for (u64 feature = 0; feature < p_.features; ++feature)
        sums[centre * p_.features + feature] += by_point[point * p_.features + feature];
    }
    for (u64 i = 0; i < centres.size(); ++i) {
      const u64 count = members[i / p_.features];
      if (count) centres[i] = static_cast<float>(sums[i] / static_cast<double>(count));
    }
    return centres;
  }

  bool is_settled(std::span<const i32> membership) const {
    u64 changed = 0;
    for (u64 point = 0; point < launched_points(); ++point) changed += membership[point] != before_[point];
    return changed * kFewChanges < launched_points();
  }

  double distance(const GuestMemory& memory, const std::vector<float>& centres, u64 point, i32 centre) const {
    const auto by_point = by_point_.read(memory);
    double sum = 0;
    for (u64 feature = 0; feature < p_.features; ++feature) {
      const double difference = double{by_point[point * p_.features + feature]} -
                                double{centres[static_cast<u64>(centre) * p_.features + feature]};
      sum += difference * difference;
    }
    return sum;
  }
  i32 nearest(const GuestMemory& memory, const std::vector<float>& centres, u64 point) const {
    i32 best = 0;
    double least = distance(memory, centres, point, 0);
    for (i32 centre = 1; centre < static_cast<i32>(p_.centres); ++centre) {
      const double to_this = distance(memory, centres, point, centre);
      if (to_this >= least) continue;
      least = to_this;
      best = centre;
    }
    return best;
  }

  Params p_;
  Buffer<float> by_point_, by_feature_;
  Buffer<i32> membership_;
  std::vector<float> centres_;
  std::vector<i32> before_;  // membership when the centres last moved
  u64 launched_ = 0;
};

const RegisterWorkload<KMeans> kRegistered{{
    .name = "kmeans",
    .purpose = "k-means clustering: one transposition, then coalesced passes against centres in constant memory",
    .origin = "Rodinia kmeans",
    .papers = "SIMT, VC",
    .module = "kmeans",
    .variants = {"simt", "vc"},
}};

}  // namespace
}  // namespace terrace
