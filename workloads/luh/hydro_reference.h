// The mesh of LUH, a cube of slightly disturbed hexahedra, and its time steps on the host.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <vector>

#include "engine/types.h"

namespace terrace {

struct HydroMesh {
  static constexpr u64 kCorners = 8;

  HydroMesh(u32 side, u64 seed);
  u64 elements() const { return stress.size(); }
  u64 all_nodes() const { return position[0].size(); }

  std::vector<double> position[3], velocity[3];                // of the nodes
  std::vector<i32> nodes;                                      // [8][elements]
  std::vector<i32> corners;                                    // [8][nodes]: the nodes' entries of corner arrays, or -1
  std::vector<double> stress, energy, reference, compression;  // of the elements at the start
};

class HydroReference {
 public:
  HydroReference(const HydroMesh& mesh, double damping);
  /// One time step with hourglass forces and the equation of state, or without. The forces and volumes of elements
  /// outside the slice are what they were, or nothing if this step's temporaries are `fresh`.
  void step(bool all, bool fresh);

  u64 launched_elements = 0, launched_nodes = 0, hourglass_elements = 0;
  std::vector<double> force[3];                 // of the nodes
  std::vector<double> energy, pressure, sound;  // of the elements

 private:
  using Corners = std::array<std::array<double, HydroMesh::kCorners>, 3>;
  Corners corners_of(u64 element, const std::vector<double> (&values)[3]) const;
  void add_stress_forces(u64 element);
  void add_hourglass_forces(u64 element);
  void gather(const std::vector<double> (&from)[3], bool adds);
  void change_state(u64 element);

  const HydroMesh& mesh_;
  double damping_;
  std::vector<double> stress_, viscosity_, volume_;
  std::vector<double> stress_force_[3], hourglass_force_[3];  // [8][elements]
};

}  // namespace terrace
