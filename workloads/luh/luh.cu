// Shock hydrodynamics on hexahedra, the kernels that carry the traffic of LULESH: forces of the stress on the corners of
// every element, forces against hourglass modes, their sums at the nodes, and the equation of state. Corner arrays hold
// corner k of all elements before corner k + 1: [8][elements].
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr u32 kCorners = 8;
constexpr u32 kLanes = 32;  // elements of a block of `luh_hourglass`

__device__ __forceinline__ double square_root(double x) {
#ifdef TERRACE_DEVICE_CLANG
  return __nvvm_sqrt_rn_d(x);
#else
  return __dsqrt_rn(x);
#endif
}

/// Adds a quarter of a face's area vector, along one axis, to each of its corners.
__device__ __forceinline__ void add_face(double* b, const double* y, const double* z, int p, int q, int r, int s) {
  const double y0 = 0.5 * (y[s] + y[r] - y[q] - y[p]), y1 = 0.5 * (y[r] + y[q] - y[s] - y[p]);
  const double z0 = 0.5 * (z[s] + z[r] - z[q] - z[p]), z1 = 0.5 * (z[r] + z[q] - z[s] - z[p]);
  const double area = 0.25 * (y0 * z1 - z0 * y1);
  b[p] += area;
  b[q] += area;
  b[r] += area;
  b[s] += area;
}

/// The outward area of the corners of an element along the axis that follows y and z.
__device__ __forceinline__ void corner_areas(double* b, const double* y, const double* z) {
#pragma unroll
  for (u32 k = 0; k < kCorners; ++k) b[k] = 0.0;
  add_face(b, y, z, 0, 1, 2, 3);
  add_face(b, y, z, 0, 4, 5, 1);
  add_face(b, y, z, 1, 5, 6, 2);
  add_face(b, y, z, 2, 6, 7, 3);
  add_face(b, y, z, 3, 7, 4, 0);
  add_face(b, y, z, 4, 7, 6, 5);
}

/// For each corner the six that the derivative of the volume by its position depends on.
__constant__ const u8 kAround[kCorners][6] = {{1, 2, 3, 4, 5, 7}, {2, 3, 0, 5, 6, 4}, {3, 0, 1, 6, 7, 5},
                                              {0, 1, 2, 7, 4, 6}, {7, 6, 5, 0, 3, 1}, {4, 7, 6, 1, 0, 2},
                                              {5, 4, 7, 2, 1, 3}, {6, 5, 4, 3, 2, 0}};

/// The signs of the four hourglass modes at each corner.
__constant__ const float kModes[4][kCorners] = {{1, 1, -1, -1, -1, -1, 1, 1},
                                                {1, -1, -1, 1, -1, 1, 1, -1},
                                                {1, -1, 1, -1, 1, -1, 1, -1},
                                                {-1, 1, -1, 1, 1, -1, 1, -1}};

struct Column {
  const double* values;  // [kCorners][kLanes] in shared memory
  u32 lane;
  __device__ __forceinline__ double operator[](u32 corner) const { return values[corner * kLanes + lane]; }
};

__device__ __forceinline__ double volume_derivative(const Column& y, const Column& z, const u8* at) {
  return ((y[at[1]] + y[at[2]]) * (z[at[0]] + z[at[1]]) - (y[at[0]] + y[at[1]]) * (z[at[1]] + z[at[2]]) +
          (y[at[0]] + y[at[4]]) * (z[at[3]] + z[at[4]]) - (y[at[3]] + y[at[4]]) * (z[at[0]] + z[at[4]]) -
          (y[at[2]] + y[at[5]]) * (z[at[3]] + z[at[5]]) + (y[at[3]] + y[at[5]]) * (z[at[2]] + z[at[5]])) /
         12.0;
}

/// The sum over the corners of an element of what each of its threads brings.
__device__ __forceinline__ double sum_of_corners(double value, double* scratch) {
  __syncthreads();
  scratch[threadIdx.x] = value;
  __syncthreads();
  double sum = 0.0;
#pragma unroll 1
  for (u32 i = threadIdx.x % kLanes; i < kCorners * kLanes; i += kLanes) sum += scratch[i];
  return sum;
}
}  // namespace

extern "C" __global__ void luh_stress(const double* x, const double* y, const double* z, const int* nodes,
                                      const double* sxx, const double* syy, const double* szz, double* fx, double* fy,
                                      double* fz, double* volume, u32 elements) {
  const u32 e = global_thread();
  if (e >= elements) return;
  double px[kCorners], py[kCorners], pz[kCorners];
#pragma unroll
  for (u32 k = 0; k < kCorners; ++k) {
    const int node = nodes[e + k * elements];
    px[k] = x[node];
    py[k] = y[node];
    pz[k] = z[node];
  }
  double bx[kCorners], by[kCorners], bz[kCorners];
  corner_areas(bx, py, pz);
  corner_areas(by, pz, px);
  corner_areas(bz, px, py);
  double sum = 0.0;
  const double xx = sxx[e], yy = syy[e], zz = szz[e];
#pragma unroll
  for (u32 k = 0; k < kCorners; ++k) {
    sum += bx[k] * px[k] + by[k] * py[k] + bz[k] * pz[k];
    fx[e + k * elements] = -xx * bx[k];
    fy[e + k * elements] = -yy * by[k];
    fz[e + k * elements] = -zz * bz[k];
  }
  volume[e] = sum / 3.0;
}

/// Which entry of the corner arrays is a node as corner k of an element, for all nodes before k + 1; below zero where
/// there is no such element.
extern "C" __global__ void luh_gather(const int* corners, const double* fx, const double* fy, const double* fz,
                                      double* node_fx, double* node_fy, double* node_fz, u32 nodes, u32 adds) {
  const u32 n = global_thread();
  if (n >= nodes) return;
  double sx = 0.0, sy = 0.0, sz = 0.0;
#pragma unroll 1
  for (u32 k = 0; k < kCorners; ++k) {
    const int corner = corners[n + k * nodes];
    if (corner < 0) continue;
    sx += fx[corner];
    sy += fy[corner];
    sz += fz[corner];
  }
  node_fx[n] = adds ? node_fx[n] + sx : sx;
  node_fy[n] = adds ? node_fy[n] + sy : sy;
  node_fz[n] = adds ? node_fz[n] + sz : sz;
}

/// A block has 32 elements, a warp one corner of each. Writes the volume's derivatives and the positions of the corners,
/// as the original keeps them, and the forces against the four hourglass modes of the velocity.
extern "C" __global__ void luh_hourglass(const double* x, const double* y, const double* z, const double* vx,
                                         const double* vy, const double* vz, const int* nodes, const double* volume,
                                         double* dx, double* dy, double* dz, double* cx, double* cy, double* cz,
                                         double* fx, double* fy, double* fz, double damping, u32 elements) {
  __shared__ double sx[kCorners * kLanes], sy[kCorners * kLanes], sz[kCorners * kLanes], scratch[kCorners * kLanes];
  const u32 lane = threadIdx.x % kLanes, corner = threadIdx.x / kLanes;
  const u32 e = blockIdx.x * kLanes + lane;
  const bool is_element = e < elements;
  const u32 at = e + corner * elements;
  const int node = is_element ? nodes[at] : 0;
  const double px = x[node], py = y[node], pz = z[node];
  const double ux = vx[node], uy = vy[node], uz = vz[node];
  sx[threadIdx.x] = px;
  sy[threadIdx.x] = py;
  sz[threadIdx.x] = pz;
  __syncthreads();

  const Column all_x{sx, lane}, all_y{sy, lane}, all_z{sz, lane};
  const u8* around = kAround[corner];
  const double by_x = volume_derivative(all_y, all_z, around);
  const double by_y = volume_derivative(all_z, all_x, around);
  const double by_z = volume_derivative(all_x, all_y, around);
  if (is_element) {
    dx[at] = by_x;
    dy[at] = by_y;
    dz[at] = by_z;
    cx[at] = px;
    cy[at] = py;
    cz[at] = pz;
  }

  const double own_volume = is_element ? volume[e] : 0.0;
  const double per_volume = own_volume > 0.0 ? 1.0 / own_volume : 0.0;  // zero: its stress was not launched
  double force_x = 0.0, force_y = 0.0, force_z = 0.0;
#pragma unroll 1
  for (u32 mode = 0; mode < 4; ++mode) {
    const double sign = kModes[mode][corner];
    const double mode_x = sum_of_corners(sign * px, scratch);
    const double mode_y = sum_of_corners(sign * py, scratch);
    const double mode_z = sum_of_corners(sign * pz, scratch);
    const double gamma = sign - per_volume * (by_x * mode_x + by_y * mode_y + by_z * mode_z);
    force_x -= damping * gamma * sum_of_corners(gamma * ux, scratch);
    force_y -= damping * gamma * sum_of_corners(gamma * uy, scratch);
    force_z -= damping * gamma * sum_of_corners(gamma * uz, scratch);
  }
  if (is_element) {
    fx[at] = force_x;
    fy[at] = force_y;
    fz[at] = force_z;
  }
}

/// Pressure, energy and sound speed of an ideal gas after its volume changed, and the stress of the next step.
extern "C" __global__ void luh_eos(double* energy, double* pressure, double* viscosity, double* sound,
                                   const double* volume, const double* reference, const double* compression,
                                   double* sxx, double* syy, double* szz, u32 elements) {
  const u32 e = global_thread();
  if (e >= elements) return;
  const double relative = volume[e] / reference[e];
  const double change = compression[e];
  const double squeezed = 1.0 / relative - 1.0;
  const double half_squeezed = 1.0 / (relative + 0.5 * change) - 1.0;
  const double old_pressure = pressure[e], old_viscosity = viscosity[e];
  double energy_now = energy[e] - 0.5 * change * (old_pressure + old_viscosity);
  energy_now = energy_now < 1e-9 ? 1e-9 : energy_now;
  const double half_pressure = (2.0 / 3.0) * (half_squeezed + 1.0) * energy_now;
  const double half_sound = square_root((2.0 / 3.0) * (energy_now + relative * half_pressure));
  double viscosity_now = change < 0.0 ? change * change * half_sound + 0.25 * change * change : 0.0;
  energy_now += 0.5 * change * (3.0 * (old_pressure + old_viscosity) - 4.0 * (half_pressure + viscosity_now));
  energy_now = energy_now < 1e-9 ? 1e-9 : energy_now;
  const double first_pressure = (2.0 / 3.0) * (squeezed + 1.0) * energy_now;
  energy_now -=
      change *
      (7.0 * (old_pressure + old_viscosity) - 8.0 * (half_pressure + viscosity_now) + first_pressure + viscosity_now) /
      6.0;
  energy_now = energy_now < 1e-9 ? 1e-9 : energy_now;
  const double pressure_now = (2.0 / 3.0) * (squeezed + 1.0) * energy_now;
  const double sound_now = square_root((2.0 / 3.0) * (energy_now + relative * pressure_now));
  viscosity_now = change < 0.0 ? change * change * sound_now + 0.25 * change * change : 0.0;
  energy[e] = energy_now;
  pressure[e] = pressure_now;
  viscosity[e] = viscosity_now;
  sound[e] = sound_now;
  sxx[e] = syy[e] = szz[e] = -pressure_now - viscosity_now;
}
