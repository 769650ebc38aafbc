// What programs written for CUDA's toolkit include, and nvcc includes for them: the device side, and as much of the host
// side that a program whose kernels Terrace runs from a TOML file compiles with its main() in place. That code is read and
// then left out: nothing here runs. A program that is to run with its host code is built with nvcc or clang and run by
// `terrace cuda`.
// SPDX-License-Identifier: MIT
#pragma once

#include "../cuda.h"
#include "std_math.h"

using cudaError_t = int;
using cudaError = int;
using cudaStream_t = struct terrace_host_stream*;
using cudaEvent_t = struct terrace_host_event*;
constexpr cudaError_t cudaSuccess = 0;

enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};

struct cudaDeviceProp {
  char name[256];
  unsigned long totalGlobalMem, sharedMemPerBlock, totalConstMem;
  int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate, major, minor,
      multiProcessorCount, memoryClockRate, memoryBusWidth, l2CacheSize, maxThreadsPerMultiProcessor;
};

/// Host functions, whose arguments nothing looks at.
#define TERRACE_HOST_CALL(name) \
  template <class... Arguments> \
  __host__ cudaError_t name(Arguments&&...)
TERRACE_HOST_CALL(cudaMalloc);
TERRACE_HOST_CALL(cudaMallocHost);
TERRACE_HOST_CALL(cudaMallocManaged);
TERRACE_HOST_CALL(cudaHostAlloc);
TERRACE_HOST_CALL(cudaFree);
TERRACE_HOST_CALL(cudaFreeHost);
TERRACE_HOST_CALL(cudaMemcpy);
TERRACE_HOST_CALL(cudaMemcpyAsync);
TERRACE_HOST_CALL(cudaMemcpyToSymbol);
TERRACE_HOST_CALL(cudaMemcpyFromSymbol);
TERRACE_HOST_CALL(cudaMemset);
TERRACE_HOST_CALL(cudaMemsetAsync);
TERRACE_HOST_CALL(cudaMemGetInfo);
TERRACE_HOST_CALL(cudaMemPrefetchAsync);
TERRACE_HOST_CALL(cudaDeviceSynchronize);
TERRACE_HOST_CALL(cudaThreadSynchronize);
TERRACE_HOST_CALL(cudaDeviceReset);
TERRACE_HOST_CALL(cudaDeviceSetLimit);
TERRACE_HOST_CALL(cudaGetDevice);
TERRACE_HOST_CALL(cudaSetDevice);
TERRACE_HOST_CALL(cudaGetDeviceCount);
TERRACE_HOST_CALL(cudaGetDeviceProperties);
TERRACE_HOST_CALL(cudaGetLastError);
TERRACE_HOST_CALL(cudaPeekAtLastError);
TERRACE_HOST_CALL(cudaStreamCreate);
TERRACE_HOST_CALL(cudaStreamDestroy);
TERRACE_HOST_CALL(cudaStreamSynchronize);
TERRACE_HOST_CALL(cudaEventCreate);
TERRACE_HOST_CALL(cudaEventDestroy);
TERRACE_HOST_CALL(cudaEventRecord);
TERRACE_HOST_CALL(cudaEventSynchronize);
TERRACE_HOST_CALL(cudaEventElapsedTime);
TERRACE_HOST_CALL(cudaFuncSetAttribute);
#undef TERRACE_HOST_CALL
__host__ const char* cudaGetErrorString(cudaError_t error);
__host__ const char* cudaGetErrorName(cudaError_t error);

// What clang makes of kernel<<<grid, block>>>(...).
extern "C" __host__ int cudaConfigureCall(dim3 grid, dim3 block, unsigned long shared = 0, cudaStream_t stream = 0);
extern "C" __host__ unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, unsigned long shared = 0,
                                                             cudaStream_t stream = 0);
extern "C" __host__ cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                                 unsigned long shared, cudaStream_t stream);
