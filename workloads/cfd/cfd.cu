// Euler's equations of a gas on an unstructured mesh: cells of four faces, explicit steps of third order. A quantity of
// all cells is contiguous; a face reads the five of the cell behind it.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr float kGamma = 1.4f;
constexpr float kViscosity = 0.2f;  // artificial
constexpr int kFaces = 4;
constexpr int kWall = -1;
constexpr int kFarField = -2;

struct State {
  float density, mx, my, mz, energy;
};
}  // namespace

/// The far field: its state.
__constant__ float cfd_far_field[5];

namespace {

__device__ __forceinline__ State load(const float* variables, u32 i, u32 cells) {
  State s;
  s.density = variables[i];
  s.mx = variables[i + cells];
  s.my = variables[i + 2 * cells];
  s.mz = variables[i + 3 * cells];
  s.energy = variables[i + 4 * cells];
  return s;
}

__device__ __forceinline__ void store(float* variables, u32 i, u32 cells, const State& s) {
  variables[i] = s.density;
  variables[i + cells] = s.mx;
  variables[i + 2 * cells] = s.my;
  variables[i + 3 * cells] = s.mz;
  variables[i + 4 * cells] = s.energy;
}

struct Gas {
  float vx, vy, vz, speed, pressure, sound;
};

__device__ __forceinline__ Gas gas_of(const State& s) {
  Gas g;
  g.vx = s.mx / s.density;
  g.vy = s.my / s.density;
  g.vz = s.mz / s.density;
  const float squared = g.vx * g.vx + g.vy * g.vy + g.vz * g.vz;
  g.speed = fast_sqrt(squared);
  g.pressure = (kGamma - 1.0f) * (s.energy - 0.5f * s.density * squared);
  g.sound = fast_sqrt(kGamma * g.pressure / s.density);
  return g;
}

/// Adds half of what a cell sends through a face with normal n.
__device__ __forceinline__ void add_half_flux(State& flux, const State& s, const Gas& g, float nx, float ny, float nz) {
  const float through = 0.5f * (nx * g.vx + ny * g.vy + nz * g.vz);
  flux.density += 0.5f * (nx * s.mx + ny * s.my + nz * s.mz);
  flux.mx += through * s.mx + 0.5f * nx * g.pressure;
  flux.my += through * s.my + 0.5f * ny * g.pressure;
  flux.mz += through * s.mz + 0.5f * nz * g.pressure;
  flux.energy += through * (s.energy + g.pressure);
}
}  // namespace

extern "C" __global__ void cfd_step_factor(const float* variables, const float* areas, float* factors, u32 cells) {
  const u32 i = global_thread();
  const Gas g = gas_of(load(variables, i, cells));
  factors[i] = 0.5f / (fast_sqrt(areas[i]) * (g.speed + g.sound));
}

extern "C" __global__ void cfd_flux(const int* neighbours, const float* normals, const float* variables, float* fluxes,
                                    u32 cells) {
  const u32 i = global_thread();
  const State own = load(variables, i, cells);
  const Gas gas = gas_of(own);
  State flux = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 1
  for (int face = 0; face < kFaces; ++face) {
    const int behind = neighbours[i + face * cells];
    const float nx = normals[i + face * cells];
    const float ny = normals[i + (face + kFaces) * cells];
    const float nz = normals[i + (face + 2 * kFaces) * cells];
    if (behind >= 0) {
      const State other = load(variables, static_cast<u32>(behind), cells);
      const Gas there = gas_of(other);
      const float area = fast_sqrt(nx * nx + ny * ny + nz * nz);
      const float damping = area * kViscosity * 0.5f * (gas.speed + there.speed + gas.sound + there.sound);
      flux.density += damping * (own.density - other.density);
      flux.mx += damping * (own.mx - other.mx);
      flux.my += damping * (own.my - other.my);
      flux.mz += damping * (own.mz - other.mz);
      flux.energy += damping * (own.energy - other.energy);
      add_half_flux(flux, own, gas, nx, ny, nz);
      add_half_flux(flux, other, there, nx, ny, nz);
    } else if (behind == kWall) {
      flux.mx += nx * gas.pressure;
      flux.my += ny * gas.pressure;
      flux.mz += nz * gas.pressure;
    } else if (behind == kFarField) {
      const State far = {cfd_far_field[0], cfd_far_field[1], cfd_far_field[2], cfd_far_field[3], cfd_far_field[4]};
      add_half_flux(flux, own, gas, nx, ny, nz);
      add_half_flux(flux, far, gas_of(far), nx, ny, nz);
    }
  }
  store(fluxes, i, cells, flux);
}

/// One stage of the step: of three, the first goes a third of it, the second a half, the last all of it.
extern "C" __global__ void cfd_time_step(const float* old, float* variables, const float* factors, const float* fluxes,
                                         float part, u32 cells) {
  const u32 i = global_thread();
  const float factor = factors[i] * part;
  State s = load(old, i, cells);
  const State flux = load(fluxes, i, cells);
  s.density -= factor * flux.density;
  s.mx -= factor * flux.mx;
  s.my -= factor * flux.my;
  s.mz -= factor * flux.mz;
  s.energy -= factor * flux.energy;
  store(variables, i, cells, s);
}
