// Monte Carlo neutron cross-section lookup on a unionised energy grid, one lookup per thread: draw an energy and a
// material, search the energy, then interpolate five reaction channels for each nuclide of the material.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

struct GridPoint {
  double energy;
  double channel[5];
};

// Upper ends of the twelve materials' shares of the lookups; the last is 1 but for rounding and is not asked.
__constant__ double xs_cumulative[12];

namespace {

constexpr u32 kMaterials = 12;
constexpr u32 kChannels = 5;
constexpr u32 kMostNuclides = 34;  // entries of a material's row; shorter ones are padded
constexpr u64 kMultiplier = 2806196910506780709ull;
constexpr u64 kModulusMask = (u64{1} << 63) - 1;

// The state of the generator x -> a x + 1 (mod 2^63), n steps on, in as many rounds as n has bits.
__device__ __forceinline__ u64 jump_ahead(u64 state, u64 n) {
  u64 a = kMultiplier, c = 1, total_a = 1, total_c = 0;
#pragma unroll 1
  for (; n > 0; n >>= 1) {
    if (n & 1) {
      total_a *= a;
      total_c = total_c * a + c;
    }
    c *= a + 1;
    a *= a;
  }
  return (total_a * state + total_c) & kModulusMask;
}

__device__ __forceinline__ double draw(u64& state) {
  state = (kMultiplier * state + 1) & kModulusMask;
  return static_cast<double>(state) * 0x1p-63;
}

__device__ __forceinline__ u32 pick_material(double roll) {
  u32 material = 0;
#pragma unroll 1
  while (material < kMaterials - 1 && roll >= xs_cumulative[material]) ++material;
  return material;
}

// The last entry that is not above `energy`, or the first.
__device__ __forceinline__ u32 search(const double* energies, u32 count, double energy) {
  u32 low = 0, length = count - 1;
#pragma unroll 1
  while (length > 1) {
    const u32 half = length / 2;
    if (energies[low + half] > energy) {
      length = half;
    } else {
      low += half;
      length -= half;
    }
  }
  return low;
}

}  // namespace

extern "C" __global__ void xs_lookup(const double* union_energies, const int* index_grid, const GridPoint* grid,
                                     const int* nuclide_counts, const int* materials, const double* concentrations,
                                     u64* verification, u32 lookups, u32 nuclides, u32 points, u64 seed) {
  const u32 lookup = global_thread();
  if (lookup >= lookups) return;
  u64 state = jump_ahead(seed, 2ull * lookup);
  const double energy = draw(state);
  const u32 material = pick_material(draw(state));
  const int* indexes = index_grid + u64{search(union_energies, nuclides * points, energy)} * nuclides;

  double sum[kChannels] = {};
  const u32 first = material * kMostNuclides;
  const u32 last = first + static_cast<u32>(nuclide_counts[material]);
#pragma unroll 1
  for (u32 k = first; k < last; ++k) {
    const u32 nuclide = static_cast<u32>(materials[k]);
    const double concentration = concentrations[k];
    const GridPoint* low = grid + (nuclide * points + static_cast<u32>(indexes[nuclide]));
    const GridPoint* high = low + 1;
    const double share = (high->energy - energy) / (high->energy - low->energy);
#pragma unroll
    for (u32 channel = 0; channel < kChannels; ++channel) {
      const double top = high->channel[channel];
      sum[channel] += concentration * (top - share * (top - low->channel[channel]));
    }
  }

  u32 largest = 0;
  double most = sum[0];
#pragma unroll
  for (u32 channel = 1; channel < kChannels; ++channel) {
    if (sum[channel] > most) {
      most = sum[channel];
      largest = channel;
    }
  }
  verification[lookup] = largest + 1;
}
