// Forces between particles in boxes. A block has a home box, a thread one of its particles; the particles of the
// neighbouring boxes pass through shared memory. The force stays in global memory, read and written for every pair, as
// old compilers left it: that traffic is what bounds the program.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {

constexpr u32 kMostParticles = 100;  // of a box; shared memory has room for as many
constexpr u32 kNeighbours = 26;

template <class T>
struct Vector {
  T v, x, y, z;
};

struct Neighbour {
  int x, y, z, number;
  long long offset;
};
struct Box {
  int x, y, z, number;
  long long offset;  // of its first particle
  int neighbours;
  Neighbour neighbour[kNeighbours];
};

__device__ __forceinline__ float exponential(float x) {
  return fast_exp(x);
}
__device__ __forceinline__ double exponential(double x) {
  return exp_f64(x);
}

template <class T>
__device__ __forceinline__ void add(T* at, T value) {
  volatile T* memory = at;
  *memory = *memory + value;
}

template <class T>
__device__ __forceinline__ void forces(const Box* boxes, const Vector<T>* particles, const T* charges, Vector<T>* force,
                                       u32 per_box, T a2) {
  __shared__ Vector<T> home[kMostParticles];
  __shared__ Vector<T> other[kMostParticles];
  __shared__ T charge[kMostParticles];
  const Box* box = boxes + blockIdx.x;
  const long long first = box->offset;

#pragma unroll 1
  for (u32 i = threadIdx.x; i < per_box; i += blockDim.x) home[i] = particles[first + i];
  __syncthreads();

#pragma unroll 1
  for (int k = 0; k < 1 + box->neighbours; ++k) {
    const u32 number = k == 0 ? blockIdx.x : static_cast<u32>(box->neighbour[k - 1].number);
    const long long other_first = boxes[number].offset;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < per_box; i += blockDim.x) {
      other[i] = particles[other_first + i];
      charge[i] = charges[other_first + i];
    }
    __syncthreads();
#pragma unroll 1
    for (u32 i = threadIdx.x; i < per_box; i += blockDim.x) {
      Vector<T>* sum = force + first + i;
#pragma unroll 1
      for (u32 j = 0; j < per_box; ++j) {
        const T r2 =
            home[i].v + other[j].v - (home[i].x * other[j].x + home[i].y * other[j].y + home[i].z * other[j].z);
        const T vij = exponential(-a2 * r2);
        const T fs = 2 * vij;
        add(&sum->v, charge[j] * vij);
        add(&sum->x, charge[j] * (fs * (home[i].x - other[j].x)));
        add(&sum->y, charge[j] * (fs * (home[i].y - other[j].y)));
        add(&sum->z, charge[j] * (fs * (home[i].z - other[j].z)));
      }
    }
    __syncthreads();
  }
}

}  // namespace

extern "C" __global__ void lavamd_f64(const void* boxes, const void* particles, const double* charges, void* force,
                                      u32 per_box, double a2) {
  forces<double>(static_cast<const Box*>(boxes), static_cast<const Vector<double>*>(particles), charges,
                 static_cast<Vector<double>*>(force), per_box, a2);
}

extern "C" __global__ void lavamd_f32(const void* boxes, const void* particles, const float* charges, void* force,
                                      u32 per_box, float a2) {
  forces<float>(static_cast<const Box*>(boxes), static_cast<const Vector<float>*>(particles), charges,
                static_cast<Vector<float>*>(force), per_box, a2);
}
