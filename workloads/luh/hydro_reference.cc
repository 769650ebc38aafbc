// SPDX-License-Identifier: MIT
#include "hydro_reference.h"

#include <algorithm>
#include <cmath>

#include "engine/rng.h"

namespace terrace {
namespace {

constexpr u64 kCorners = HydroMesh::kCorners;

/// Where the corners of an element lie from its first one.
constexpr u64 kCornerPlaces[kCorners][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                            {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
/// The corners of the six faces, in the order in which their area points outwards.
constexpr u64 kFaces[6][4] = {{0, 1, 2, 3}, {0, 4, 5, 1}, {1, 5, 6, 2}, {2, 6, 7, 3}, {3, 7, 4, 0}, {4, 7, 6, 5}};

/// The four hourglass modes are products of where a corner lies along the axes.
double mode_sign(u64 mode, u64 corner) {
  const double x = kCornerPlaces[corner][0] ? 1 : -1, y = kCornerPlaces[corner][1] ? 1 : -1;
  const double z = kCornerPlaces[corner][2] ? 1 : -1;
  const double signs[4] = {y * z, x * z, x * y, x * y * z};
  return signs[mode];
}

double triple(const double* a, const double* b, const double* c) {
  return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

}  // namespace

HydroMesh::HydroMesh(u32 side, u64 seed) {
  const u64 n = side, row = n + 1, count = n * n * n, node_count = row * row * row;
  Rng rng(seed, "luh.mesh");
  const double spacing = 1.125 / static_cast<double>(side);
  for (u64 node = 0; node < node_count; ++node) {
    const u64 place[3] = {node % row, node / row % row, node / row / row};
    for (u64 i = 0; i < 3; ++i) {
      position[i].push_back(spacing * (static_cast<double>(place[i]) + rng.uniform(-0.1, 0.1)));
      velocity[i].push_back(rng.uniform(-1, 1));
    }
  }
  nodes.resize(kCorners * count);
  corners.assign(kCorners * node_count, -1);
  for (u64 element = 0; element < count; ++element) {
    const u64 x = element % n, y = element / n % n, z = element / n / n;
    for (u64 k = 0; k < kCorners; ++k) {
      const auto& place = kCornerPlaces[k];
      const u64 node = ((z + place[2]) * row + y + place[1]) * row + x + place[0];
      nodes[k * count + element] = static_cast<i32>(node);
      corners[k * node_count + node] = static_cast<i32>(k * count + element);
    }
    stress.push_back(-rng.uniform(0.5, 1.5));
    energy.push_back(rng.uniform(1, 2));
    reference.push_back(spacing * spacing * spacing);
    compression.push_back(rng.uniform(-0.05, 0.05));
  }
}

HydroReference::HydroReference(const HydroMesh& mesh, double damping)
    : energy(mesh.energy), mesh_(mesh), damping_(damping), stress_(mesh.stress) {
  const u64 elements = mesh.elements();
  for (u64 i = 0; i < 3; ++i) {
    force[i].assign(mesh.all_nodes(), 0.0);
    stress_force_[i].assign(kCorners * elements, 0.0);
    hourglass_force_[i].assign(kCorners * elements, 0.0);
  }
  for (auto* values : {&pressure, &sound, &viscosity_, &volume_}) values->assign(elements, 0.0);
}

void HydroReference::step(bool all, bool fresh) {
  if (fresh) {
    std::fill(volume_.begin(), volume_.end(), 0.0);
    for (u64 i = 0; i < 3; ++i) {
      std::fill(stress_force_[i].begin(), stress_force_[i].end(), 0.0);
      std::fill(hourglass_force_[i].begin(), hourglass_force_[i].end(), 0.0);
    }
  }
  for (u64 e = 0; e < launched_elements; ++e) add_stress_forces(e);
  gather(stress_force_, false);
  if (!all) return;
  for (u64 e = 0; e < hourglass_elements; ++e) add_hourglass_forces(e);
  gather(hourglass_force_, true);
  for (u64 e = 0; e < launched_elements; ++e) change_state(e);
}

HydroReference::Corners HydroReference::corners_of(u64 element, const std::vector<double> (&values)[3]) const {
  Corners corners;
  for (u64 k = 0; k < kCorners; ++k) {
    const u64 node = static_cast<u64>(mesh_.nodes[k * mesh_.elements() + element]);
    for (u64 i = 0; i < 3; ++i) corners[i][k] = values[i][node];
  }
  return corners;
}

void HydroReference::add_stress_forces(u64 element) {
  const Corners p = corners_of(element, mesh_.position);
  Corners area{};
  for (const auto& face : kFaces) {
    double along[3], across[3];
    for (u64 i = 0; i < 3; ++i) {
      along[i] = 0.5 * (p[i][face[3]] + p[i][face[2]] - p[i][face[1]] - p[i][face[0]]);
      across[i] = 0.5 * (p[i][face[2]] + p[i][face[1]] - p[i][face[3]] - p[i][face[0]]);
    }
    for (u64 i = 0; i < 3; ++i) {
      const u64 j = (i + 1) % 3, k = (i + 2) % 3;
      for (const u64 corner : face) area[i][corner] += 0.25 * (along[j] * across[k] - along[k] * across[j]);
    }
  }
  double sum = 0;
  for (u64 k = 0; k < kCorners; ++k) {
    for (u64 i = 0; i < 3; ++i) {
      sum += area[i][k] * p[i][k];
      stress_force_[i][k * mesh_.elements() + element] = -stress_[element] * area[i][k];
    }
  }
  volume_[element] = sum / 3;
}

/// The volume of an element is a sum over its faces; its derivative by a corner's place is taken from the triple products
/// of the faces' corners that contain it, each face the mean of its two divisions into triangles.
void HydroReference::add_hourglass_forces(u64 element) {
  const Corners p = corners_of(element, mesh_.position), u = corners_of(element, mesh_.velocity);
  Corners derivative{};
  const auto vector = [&p](u64 corner) { return std::array<double, 3>{p[0][corner], p[1][corner], p[2][corner]}; };
  for (const auto& face : kFaces) {
    for (u64 first = 0; first < 4; ++first) {  // triangles without the corner before `first`
      const u64 t[3] = {face[first], face[(first + 1) % 4], face[(first + 2) % 4]};
      for (u64 j = 0; j < 3; ++j) {
        const auto b = vector(t[(j + 1) % 3]), c = vector(t[(j + 2) % 3]);
        for (u64 i = 0; i < 3; ++i) {
          double unit[3] = {};
          unit[i] = 1;
          derivative[i][t[j]] -= triple(unit, b.data(), c.data()) / 12;  // a sixth, of one of two divisions
        }
      }
    }
  }
  const double per_volume = volume_[element] > 0 ? 1 / volume_[element] : 0;  // zero: outside the slice
  double forces[3][kCorners] = {};
  for (u64 mode = 0; mode < 4; ++mode) {
    double of_mode[3] = {}, gamma[kCorners], speed[3] = {};
    for (u64 k = 0; k < kCorners; ++k) {
      for (u64 i = 0; i < 3; ++i) of_mode[i] += mode_sign(mode, k) * p[i][k];
    }
    for (u64 k = 0; k < kCorners; ++k) {
      double share = 0;
      for (u64 i = 0; i < 3; ++i) share += derivative[i][k] * of_mode[i];
      gamma[k] = mode_sign(mode, k) - share * per_volume;
      for (u64 i = 0; i < 3; ++i) speed[i] += gamma[k] * u[i][k];
    }
    for (u64 k = 0; k < kCorners; ++k) {
      for (u64 i = 0; i < 3; ++i) forces[i][k] -= damping_ * gamma[k] * speed[i];
    }
  }
  for (u64 k = 0; k < kCorners; ++k) {
    for (u64 i = 0; i < 3; ++i) hourglass_force_[i][k * mesh_.elements() + element] = forces[i][k];
  }
}

void HydroReference::gather(const std::vector<double> (&from)[3], bool adds) {
  const u64 nodes = mesh_.all_nodes();
  for (u64 node = 0; node < launched_nodes; ++node) {
    for (u64 i = 0; i < 3; ++i) {
      double sum = 0;
      for (u64 k = 0; k < kCorners; ++k) {
        const i32 corner = mesh_.corners[k * nodes + node];
        if (corner >= 0) sum += from[i][static_cast<u64>(corner)];
      }
      force[i][node] = adds ? force[i][node] + sum : sum;
    }
  }
}

/// Predicts and corrects the energy with the pressure of half the compression, as the device does.
void HydroReference::change_state(u64 e) {
  const auto pressure_at = [](double squeezed, double energy_now) { return 2.0 / 3 * (squeezed + 1) * energy_now; };
  const double relative = volume_[e] / mesh_.reference[e], change = mesh_.compression[e];
  const double squeezed = 1 / relative - 1, before = pressure[e] + viscosity_[e];
  const auto viscosity_at = [change](double sound_speed) {
    return change < 0 ? change * change * (sound_speed + 0.25) : 0;
  };
  constexpr double kLeast = 1e-9;
  double now = std::max(kLeast, energy[e] - 0.5 * change * before);
  const double half_pressure = pressure_at(1 / (relative + 0.5 * change) - 1, now);
  const double viscosity = viscosity_at(std::sqrt(2.0 / 3 * (now + relative * half_pressure)));
  now = std::max(kLeast, now + 0.5 * change * (3 * before - 4 * (half_pressure + viscosity)));
  const double first = pressure_at(squeezed, now);
  now = std::max(kLeast, now - change * (7 * before - 8 * (half_pressure + viscosity) + first + viscosity) / 6);
  energy[e] = now;
  pressure[e] = pressure_at(squeezed, now);
  sound[e] = std::sqrt(2.0 / 3 * (now + relative * pressure[e]));
  viscosity_[e] = viscosity_at(sound[e]);
  stress_[e] = -pressure[e] - viscosity_[e];
}

}  // namespace terrace
