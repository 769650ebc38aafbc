// SC: streamcluster's gain of a candidate centre. The walk over the coordinates touches a new page with every access; the
// point records are 32 bytes apart. Variants: mask (65,536 points), cd (262,144).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/workload.h"
#include "frontend/workload_alias.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

constexpr u32 kThreads = 512, kMostDimensions = 512;  // as in sc.cu

struct Point {
  float weight;
  u64 coordinates;
  i64 assigned;
  float cost;
};
static_assert(sizeof(Point) == 32);

class StreamCluster final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 points = 65'536;
    u32 dimensions = 256;
    u32 centres = 20;

    void describe(Fields& v) override {
      v("points", points, in(2, 1 << 24), "points, a thread each");
      v("dimensions", dimensions, in(1, kMostDimensions), "coordinates of a point");
      v("centres", centres, in(1, 1024), "centres that are open");
      WorkloadParams::describe(v);
    }

   protected:
    std::string_view iters_doc() const override { return "candidates, a launch each"; }
  };

  static void preset(InputSize size, std::string_view variant, Params& p) {
    const bool many_blocks = variant == "cd";  // eight for each of 24 SMs
    const auto shape = [&p](u32 points, u32 dimensions, u32 candidates) {
      p.points = points, p.dimensions = dimensions, p.iters = candidates;
    };
    switch (size) {
      case InputSize::kMini:
        return p.centres = 4, shape(600, 6, 1);
      case InputSize::kTiny:
        return many_blocks ? shape(192 * kThreads, 16, 1) : shape(16'384, 128, 1);
      case InputSize::kSmall:
        return many_blocks ? shape(192 * kThreads, 160, 2) : shape(65'536, 256, 2);
      case InputSize::kPaper:
        return shape(many_blocks ? 262'144 : 65'536, 256, 36);
    }
  }
  static u64 footprint_bytes(const Params& p) {
    const u64 words = u64{p.dimensions} + 1 + p.centres + 1;  // coordinates, the centre's number, work
    return p.points * (words * 4 + sizeof(Point) + 1);
  }

  explicit StreamCluster(const Params& params) : p_(params) {}

  void allocate(GuestMemory& memory) override {
    coordinates_ = Buffer<float>(memory, "coordinates", u64{p_.dimensions} * p_.points);
    points_ = Buffer<Point>(memory, "points", p_.points);
    centre_number_ = Buffer<i32>(memory, "centre_number", p_.points);
    switches_ = Buffer<u8>(memory, "switches", p_.points);
    work_ = Buffer<float>(memory, "work", u64{p_.points} * (p_.centres + 1));
  }

  /// The first points are the centres; every point belongs to one of them, and costs about as much as to any other.
  void fill(GuestMemory& memory) override {
    draw_uniform(memory, coordinates_, p_.seed, "sc.coordinates", 0, 1);
    Rng rng(p_.seed, "sc.points");
    const double far = p_.dimensions / 6.0;  // the mean square of the distance between two points
    const auto points = points_.write(memory);
    for (u64 i = 0; i < p_.points; ++i) {
      const double weight = rng.uniform(0.5, 1.5);
      // Member by member: a whole point would bring along whatever stands between its members.
      points[i].weight = static_cast<float>(weight);
      points[i].coordinates = i;
      points[i].assigned = std::min<i64>(static_cast<i64>(rng.below(p_.centres)), p_.points - 1);
      points[i].cost = static_cast<float>(weight * far * rng.uniform(0.5, 1.5));
    }
    for (u32 i = 0; i < p_.points; ++i) centre_number_.set(memory, i, i < p_.centres ? static_cast<i32>(i) : -1);
  }

  u64 launches() const override { return p_.iters; }

  /// The host starts every candidate afresh.
  Launch launch(GuestMemory& memory, u64 number) override {
    fill_with(memory, switches_, u8{0});
    fill_with(memory, work_, 0.0f);
    Launch gain = sliced_launch("pgain", {blocks_of(p_.points, kThreads)}, {kThreads}, p_.slice);
    gain.argument(points_).argument(coordinates_).argument(centre_number_).argument(switches_).argument(work_);
    gain.argument(p_.points).argument(p_.dimensions).argument(candidate(number)).argument(p_.centres);
    launched_points_ = std::min<u64>(gain.blocks() * kThreads, p_.points);
    return gain;
  }
  void archive_host(Archive& a) override { a(launched_points_); }

  /// The last candidate. Where both costs agree to single precision, either decision is right.
  CheckResult check(const GuestMemory& memory) const override {
    const auto coordinates = coordinates_.read(memory);
    const auto points = points_.read(memory);
    const auto switches = switches_.read(memory);
    const auto work = work_.read(memory);
    const u32 x = candidate(p_.iters - 1);
    RelativeCheck amounts("work", 1e-3, p_.dimensions / 6.0);
    ExactCheck decisions("switches");
    u64 open = 0;
    for (u64 p = 0; p < p_.points; ++p) {
      double square = 0;
      for (u64 d = 0; d < p_.dimensions; ++d) {
        const double apart = double{coordinates[d * p_.points + p]} - double{coordinates[d * p_.points + x]};
        square += apart * apart;
      }
      const double cost = square * double{points[p].weight}, current = points[p].cost;
      if (std::fabs(cost - current) < 1e-5 * current) {
        ++open;
        continue;
      }
      const bool launched = p < launched_points_, better = launched && cost < current;
      decisions.compare(p, switches[p], better);
      const u64 column = better ? p_.centres : static_cast<u64>(points[p].assigned);
      const double amount = !launched ? 0 : better ? cost - current : current - cost;
      for (u64 k = 0; k <= p_.centres; ++k)
        amounts.compare(p * (p_.centres + 1) + k, double{work[p * (p_.centres + 1) + k]}, k == column ? amount : 0);
    }
    CheckResult result = both(decisions.result(), amounts.result());
    result.message += fmt::format(", {} points undecided", open);
    return result;
  }

 private:
  u32 candidate(u64 number) const {
    Rng rng(p_.seed + number, "sc.candidate");
    return static_cast<u32>(rng.below(p_.points));
  }

  Params p_;
  Buffer<float> coordinates_, work_;
  Buffer<Point> points_;
  Buffer<i32> centre_number_;
  Buffer<u8> switches_;
  u64 launched_points_ = 0;
};

const RegisterWorkload<StreamCluster> kRegistered{{
    .name = "sc",
    .purpose = "streamcluster's gain of a new centre: a new page with every access, records of 32 bytes",
    .origin = "Rodinia streamcluster",
    .papers = "MASK, CD",
    .module = "sc",
    .variants = {"mask", "cd"},
    .paper_needs_variant = true,
}};
const RegisterAlias kAlias{"streamcluster", "sc"};

}  // namespace
}  // namespace terrace
