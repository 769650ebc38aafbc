// CP: direct Coulomb potential on a plane of points. Pure arithmetic: atoms come from constant memory in batches of up
// to 4,000, one launch each; memory is touched once per launch.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "engine/rng.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

// As cp.cu has them.
constexpr u32 kBatchAtoms = 4000;
constexpr u32 kBlockColumns = 16, kBlockRows = 8, kColumnsPerBlock = 32;

constexpr float kSpacing = 0.1f;
constexpr u64 kCheckedPoints = 1024;

struct Atom {
  float x, y, dz_squared, charge;
};

class CoulombPotential final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 width = 256, height = 256;
    u32 atoms = 50;

    void describe(Fields& v) override {
      v("width", width, in(1, 1 << 15), "points in a row (rounded up to 32)");
      v("height", height, in(1, 1 << 15), "rows of points (rounded up to 8)");
      v("atoms", atoms, in(1, 1'000'000), "atoms, in batches of at most 4,000 a launch");
      WorkloadParams::describe(v);
    }
    u32 columns() const { return round_up(width, kColumnsPerBlock); }
    u32 rows() const { return round_up(height, kBlockRows); }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    const auto shape = [&p](u32 side, u32 atoms) { p.width = p.height = side, p.atoms = atoms; };
    switch (size) {
      case InputSize::kMini:
        return shape(64, 10);
      case InputSize::kTiny:
        return shape(256, 50);
      case InputSize::kSmall:
        return shape(512, 140);
      case InputSize::kPaper:
        return shape(1024, 200);
    }
  }
  static u64 footprint_bytes(const Params& p) { return u64{p.columns()} * p.rows() * sizeof(float); }

  explicit CoulombPotential(const Params& params) : p_(params) {
    Rng rng(p_.seed, "cp.atoms");
    for (u32 i = 0; i < p_.atoms; ++i) {
      // One draw per statement: the order of evaluation inside an expression is the compiler's.
      const double x = rng.uniform(0, double{kSpacing} * p_.columns());
      const double y = rng.uniform(0, double{kSpacing} * p_.rows());
      const double dz = rng.uniform(kSpacing, double{kSpacing} * p_.columns());  // never in the plane itself
      const double charge = rng.uniform(-1, 1);
      atoms_.push_back(
          {static_cast<float>(x), static_cast<float>(y), static_cast<float>(dz * dz), static_cast<float>(charge)});
    }
  }

  void allocate(GuestMemory& memory) override {
    potential_ = Buffer<float>(memory, "potential", u64{p_.columns()} * p_.rows());
  }

  void fill(GuestMemory& memory) override { fill_with(memory, potential_, 0.0f); }

  u64 launches() const override { return batches() * p_.iters; }

  Launch launch(GuestMemory& memory, u64 number) override {
    const u32 first = static_cast<u32>(number % batches()) * kBatchAtoms;
    const u32 count = std::min(kBatchAtoms, p_.atoms - first);
    write_module_variable(memory, "cp_atoms", std::as_bytes(std::span(atoms_).subspan(first, count)));
    Launch batch = sliced_launch("cenergy", {p_.columns() / kColumnsPerBlock, p_.rows() / kBlockRows},
                                 {kBlockColumns, kBlockRows}, p_.slice);
    batch.argument(potential_).argument(p_.columns()).argument(count).argument(kSpacing);
    launched_blocks_ = batch.blocks();
    return batch;
  }
  void archive_host(Archive& a) override { a(launched_blocks_); }

  /// At a sample of the points. Charges of both signs cancel: where little is left, the error is relative to what the
  /// potential is on average.
  CheckResult check(const GuestMemory& memory) const override {
    const auto got = potential_.read(memory);
    const auto points = launched_points();
    std::vector<double> want;
    double sum = 0;
    for (const u64 point : points) {
      want.push_back(p_.iters * reference(point));
      sum += std::fabs(want.back());
    }
    RelativeCheck check("potential", 1e-4, sum / static_cast<double>(points.size()));
    for (u64 i = 0; i < points.size(); ++i) check.compare(points[i], got[points[i]], want[i]);
    return check.result();
  }

 private:
  u64 batches() const { return blocks_of(p_.atoms, kBatchAtoms); }
  double reference(u64 point) const {
    const u64 row = point / p_.columns(), column = point % p_.columns();
    const double x = double{kSpacing} * static_cast<double>(column), y = double{kSpacing} * static_cast<double>(row);
    double sum = 0;
    for (const Atom& atom : atoms_) {
      const double dx = x - double{atom.x}, dy = y - double{atom.y};
      sum += double{atom.charge} / std::sqrt(dx * dx + dy * dy + double{atom.dz_squared});
    }
    return sum;
  }
  /// Every point of a small map, else a random sample, of those whose block was launched.
  std::vector<u64> launched_points() const {
    const u64 all = u64{p_.columns()} * p_.rows();
    const bool every_point = all <= 16 * kCheckedPoints;
    Rng rng(p_.seed, "cp.checked_points");
    std::vector<u64> points;
    for (u64 tries = 0; tries < all && (every_point || points.size() < kCheckedPoints); ++tries) {
      const u64 point = every_point ? tries : rng.below(all);
      const u64 block = point / p_.columns() / kBlockRows * (p_.columns() / kColumnsPerBlock) +
                        point % p_.columns() / kColumnsPerBlock;
      if (block < launched_blocks_) points.push_back(point);
    }
    return points;
  }

  Params p_;
  std::vector<Atom> atoms_;
  Buffer<float> potential_;
  u64 launched_blocks_ = 0;
};

const RegisterWorkload<CoulombPotential> kRegistered{{
    .name = "cp",
    .purpose = "direct Coulomb potential: arithmetic and constant memory, almost no global memory",
    .origin = "GPGPU-Sim, Parboil cp",
    .papers = "CD",
    .module = "cp",
    .variants = {"cd"},
}};

}  // namespace
}  // namespace terrace
