// LUH: the kernels of LULESH that carry its traffic: stress forces at the corners of hexahedra, hourglass forces, their
// sums at the nodes, the equation of state. Gathers of three or four lines; with leak=true every step writes to pages
// that no step before it touched. Variant: mask (45 x 45 x 45 elements; temporaries are never freed).
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "frontend/workload.h"
#include "hydro_reference.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

constexpr u32 kThreads = 256, kHourglassElements = 32;
constexpr u64 kCorners = HydroMesh::kCorners;
constexpr double kDamping = 0.01;

enum class Kernels : u8 { kTraffic, kAll };

class Lulesh final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 side = 45;
    Kernels kernels = Kernels::kAll;
    bool leak = false;

    void describe(Fields& v) override {
      v("side", side, in(1, 200), "elements along each of the three dimensions");
      v("kernels", kernels, {"traffic", "all"},
        "traffic: stress and its sums at the nodes; all: hourglass and state too");
      v("leak", leak, "every step has temporaries of its own, as in the original, which frees none");
      WorkloadParams::describe(v);
    }
    u64 elements() const { return u64{side} * side * side; }
    u64 nodes() const { return u64{side + 1} * (side + 1) * (side + 1); }
    u32 temporaries() const { return leak ? iters : 1; }

   protected:
    std::string_view iters_doc() const override { return "time steps"; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.side = 3;
        break;
      case InputSize::kTiny:
        p.side = 32, p.kernels = Kernels::kTraffic;
        break;
      case InputSize::kSmall:
        p.kernels = Kernels::kTraffic, p.iters = 4;
        break;
      case InputSize::kPaper:
        p.leak = true, p.iters = 10;
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) {
    const bool all = p.kernels == Kernels::kAll;
    const u64 corners = kCorners * p.elements() * sizeof(double);
    // Positions and forces (and velocities) of the nodes, the lists between nodes and elements, and the elements' own.
    const u64 kept = p.nodes() * ((all ? 9 : 6) * sizeof(double) + kCorners * sizeof(i32)) +
                     p.elements() * (kCorners * sizeof(i32) + (all ? 6 : 0) * sizeof(double));
    const u64 temporary = (all ? 12 : 3) * corners + 4 * p.elements() * sizeof(double);
    return kept + p.temporaries() * temporary;
  }

  explicit Lulesh(const Params& params) : p_(params), mesh_(params.side, params.seed) {}

  void allocate(GuestMemory& memory) override {
    make(memory, position_, {"x", "y", "z"}, p_.nodes());
    if (all()) make(memory, velocity_, {"vx", "vy", "vz"}, p_.nodes());
    make(memory, force_, {"fx", "fy", "fz"}, p_.nodes());
    nodes_ = Buffer<i32>(memory, "nodes", kCorners * p_.elements());
    corners_ = Buffer<i32>(memory, "corners", kCorners * p_.nodes());
    if (all())
      make(memory, state_, {"energy", "pressure", "viscosity", "sound", "reference", "compression"}, p_.elements());
    temporary_.resize(p_.temporaries());
    for (u64 step = 0; step < temporary_.size(); ++step) {
      Temporary& t = temporary_[step];
      const std::string number = step ? std::to_string(step) : "";
      for (u64 i = 0; i < 3; ++i) {
        t.stress[i] = Buffer<double>(memory, "stress_" + axis(i) + number, p_.elements());
        t.corner_force[i] = Buffer<double>(memory, "stress_force_" + axis(i) + number, kCorners * p_.elements());
        if (!all()) continue;
        t.derivative[i] = Buffer<double>(memory, "derivative_" + axis(i) + number, kCorners * p_.elements());
        t.corner[i] = Buffer<double>(memory, "corner_" + axis(i) + number, kCorners * p_.elements());
        t.hourglass[i] = Buffer<double>(memory, "hourglass_" + axis(i) + number, kCorners * p_.elements());
      }
      t.volume = Buffer<double>(memory, "volume" + number, p_.elements());
    }
  }

  void fill(GuestMemory& memory) override {
    for (u64 i = 0; i < 3; ++i) {
      copy(memory, position_[i], mesh_.position[i]);
      if (all()) copy(memory, velocity_[i], mesh_.velocity[i]);
      fill_with(memory, force_[i], 0.0);
    }
    copy(memory, nodes_, mesh_.nodes);
    copy(memory, corners_, mesh_.corners);
    if (all()) {
      copy(memory, state_[kEnergy], mesh_.energy);
      for (const u64 i : {kPressure, kViscosity, kSound}) fill_with(memory, state_[i], 0.0);
      copy(memory, state_[kReference], mesh_.reference);
      copy(memory, state_[kCompression], mesh_.compression);
    }
    for (const Temporary& t : temporary_) {
      for (u64 i = 0; i < 3; ++i) {
        fill_with(memory, t.stress[i], 0.0);
        for (const auto* buffer : {&t.corner_force[i], &t.derivative[i], &t.corner[i], &t.hourglass[i]}) {
          if (buffer->size() > 0) fill_with(memory, *buffer, 0.0);
        }
      }
      fill_with(memory, t.volume, 0.0);
    }
    for (u64 i = 0; i < 3; ++i) copy(memory, temporary_[0].stress[i], mesh_.stress);
  }

  u64 launches() const override { return u64{kernels()} * p_.iters; }

  Launch launch(GuestMemory& memory, u64 number) override {
    const u64 step = number / kernels();
    const Temporary& now = temporary_[p_.leak ? step : 0];
    // Without an equation of state nothing sets the stress of a later step: it stays what it was.
    if (p_.leak && !all() && number % kernels() == 0) {
      for (u64 i = 0; i < 3; ++i) copy(memory, now.stress[i], mesh_.stress);
    }
    switch (number % kernels()) {
      case 0:
        return stress(now);
      case 1:
        return gather(now.corner_force, 0);
      case 2:
        return hourglass(now);
      case 3:
        return gather(now.hourglass, 1);
      default:
        return state(now, temporary_[p_.leak && step + 1 < p_.iters ? step + 1 : p_.leak ? step : 0]);
    }
  }

  /// The steps on the host, in the same order. Of a whole mesh the forces add up to nothing.
  CheckResult check(const GuestMemory& memory) const override {
    HydroReference reference(mesh_, kDamping);
    reference.launched_elements = std::min(p_.elements(), sliced_blocks(p_.elements()) * kThreads);
    reference.launched_nodes = std::min(p_.nodes(), sliced_blocks(p_.nodes()) * kThreads);
    const Launch hourglass_blocks = sliced_launch("", {hourglass_grid()}, {kThreads}, p_.slice);
    reference.hourglass_elements = std::min(p_.elements(), hourglass_blocks.blocks() * kHourglassElements);
    for (u32 step = 0; step < p_.iters; ++step) reference.step(all(), p_.leak && step > 0);

    CheckResult result = compare(memory, "fx", force_[0], reference.force[0]);
    result = both(result, compare(memory, "fy", force_[1], reference.force[1]));
    result = both(result, compare(memory, "fz", force_[2], reference.force[2]));
    if (all()) {
      result = both(result, compare(memory, "energy", state_[kEnergy], reference.energy));
      result = both(result, compare(memory, "pressure", state_[kPressure], reference.pressure));
      result = both(result, compare(memory, "sound", state_[kSound], reference.sound));
    }
    return p_.slice.millionths == Fraction::kOne ? both(result, conserved(memory)) : result;
  }

 private:
  enum State : u64 { kEnergy, kPressure, kViscosity, kSound, kReference, kCompression };
  struct Temporary {
    Buffer<double> stress[3], corner_force[3], derivative[3], corner[3], hourglass[3], volume;
  };

  bool all() const { return p_.kernels == Kernels::kAll; }
  u32 kernels() const { return all() ? 5 : 2; }
  u32 elements() const { return static_cast<u32>(p_.elements()); }
  u32 hourglass_grid() const { return blocks_of(elements(), kHourglassElements); }
  static std::string axis(u64 i) { return std::string(1, "xyz"[i]); }
  u64 sliced_blocks(u64 count) const { return over(count, "").blocks(); }
  Launch over(u64 count, const char* kernel) const {
    return sliced_launch(kernel, {static_cast<u32>(blocks_of(count, u64{kThreads}))}, {kThreads}, p_.slice);
  }

  template <u64 kCount>
  static void make(GuestMemory& memory, Buffer<double> (&buffers)[kCount], const char* const (&names)[kCount],
                   u64 count) {
    for (u64 i = 0; i < kCount; ++i) buffers[i] = Buffer<double>(memory, names[i], count);
  }
  template <class T>
  static void copy(GuestMemory& memory, const Buffer<T>& buffer, const std::vector<T>& values) {
    std::copy(values.begin(), values.end(), buffer.write(memory).begin());
  }
  static void add_all(Launch& call, const Buffer<double> (&buffers)[3]) {
    for (const auto& buffer : buffers) call.argument(buffer);
  }

  Launch stress(const Temporary& t) const {
    Launch call = over(p_.elements(), "luh_stress");
    add_all(call, position_);
    call.argument(nodes_);
    add_all(call, t.stress);
    add_all(call, t.corner_force);
    call.argument(t.volume).argument(elements());
    return call;
  }
  Launch gather(const Buffer<double> (&from)[3], u32 adds) const {
    Launch call = over(p_.nodes(), "luh_gather");
    call.argument(corners_);
    add_all(call, from);
    add_all(call, force_);
    call.argument(static_cast<u32>(p_.nodes())).argument(adds);
    return call;
  }
  Launch hourglass(const Temporary& t) const {
    Launch call = sliced_launch("luh_hourglass", {hourglass_grid()}, {kThreads}, p_.slice);
    add_all(call, position_);
    add_all(call, velocity_);
    call.argument(nodes_).argument(t.volume);
    add_all(call, t.derivative);
    add_all(call, t.corner);
    add_all(call, t.hourglass);
    call.argument(kDamping).argument(elements());
    return call;
  }
  Launch state(const Temporary& now, const Temporary& next) const {
    Launch call = over(p_.elements(), "luh_eos");
    for (const u64 i : {kEnergy, kPressure, kViscosity, kSound}) call.argument(state_[i]);
    call.argument(now.volume).argument(state_[kReference]).argument(state_[kCompression]);
    add_all(call, next.stress);
    call.argument(elements());
    return call;
  }

  static CheckResult compare(const GuestMemory& memory, std::string_view what, const Buffer<double>& buffer,
                             const std::vector<double>& want) {
    double greatest = 0;
    for (const double value : want) greatest = std::max(greatest, std::fabs(value));
    RelativeCheck comparison(what, 1e-9, greatest);
    const auto got = buffer.read(memory);
    for (u64 i = 0; i < want.size(); ++i) comparison.compare(i, got[i], want[i]);
    return comparison.result();
  }
  /// The check classes refuse sums of zero, which is what is right here: what is compared is one plus the share left.
  CheckResult conserved(const GuestMemory& memory) const {
    RelativeCheck comparison("1 + total over summed magnitudes of the forces", 1e-9);
    for (u64 i = 0; i < 3; ++i) {
      double total = 0, magnitudes = 0;
      for (const double value : force_[i].read(memory)) {
        total += value;
        magnitudes += std::fabs(value);
      }
      comparison.compare(i, 1 + total / magnitudes, 1);
    }
    return comparison.result();
  }

  Params p_;
  HydroMesh mesh_;
  Buffer<double> position_[3], velocity_[3], force_[3], state_[6];
  Buffer<i32> nodes_, corners_;
  std::vector<Temporary> temporary_;
};

const RegisterWorkload<Lulesh> kRegistered{{
    .name = "luh",
    .purpose = "hydrodynamics on hexahedra: gathers between nodes and elements, fresh pages each step if asked",
    .origin = "LLNL LULESH",
    .papers = "MASK",
    .module = "luh",
    .variants = {"mask"},
}};

}  // namespace
}  // namespace terrace
