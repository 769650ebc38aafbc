// As much of the CUDA runtime's header as the programs beside this file use, so that clang compiles them without NVIDIA's toolkit:
// words of the language, built-in variables, and declarations of the calls.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
};

struct BuiltinIndex {
  __declspec(property(get = get_x)) unsigned x;
  static __device__ unsigned get_x() { return __nvvm_read_ptx_sreg_tid_x(); }
};
struct BuiltinBlockIndex {
  __declspec(property(get = get_x)) unsigned x;
  static __device__ unsigned get_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
};
struct BuiltinBlockSize {
  __declspec(property(get = get_x)) unsigned x;
  static __device__ unsigned get_x() { return __nvvm_read_ptx_sreg_ntid_x(); }
};
struct BuiltinGridSize {
  __declspec(property(get = get_x)) unsigned x;
  static __device__ unsigned get_x() { return __nvvm_read_ptx_sreg_nctaid_x(); }
};
extern const __device__ __attribute__((weak)) BuiltinIndex threadIdx;
extern const __device__ __attribute__((weak)) BuiltinBlockIndex blockIdx;
extern const __device__ __attribute__((weak)) BuiltinBlockSize blockDim;
extern const __device__ __attribute__((weak)) BuiltinGridSize gridDim;

typedef int cudaError_t;
typedef int cudaLimit;
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
struct cudaFuncAttributes {
  size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes, carveout;
  int reserved[32];
};
struct cudaPointerAttributes {
  int type, device;
  void *devicePointer, *hostPointer;
  long reserved[8];
};
struct cudaExtent {
  size_t width, height, depth;
};
struct cudaPitchedPtr {
  void* ptr;
  size_t pitch, xsize, ysize;
};
struct cudaPos {
  size_t x, y, z;
};
struct cudaMemcpy3DParms {
  void* srcArray;
  cudaPos srcPos;
  cudaPitchedPtr srcPtr;
  void* dstArray;
  cudaPos dstPos;
  cudaPitchedPtr dstPtr;
  cudaExtent extent;
  cudaMemcpyKind kind;
};
struct cudaMemcpy3DPeerParms {
  void* srcArray;
  cudaPos srcPos;
  cudaPitchedPtr srcPtr;
  int srcDevice;
  void* dstArray;
  cudaPos dstPos;
  cudaPitchedPtr dstPtr;
  int dstDevice;
  cudaExtent extent;
};
struct cudaLaunchAttribute {
  int id, pad;
  union {
    char bytes[64];
    int number;
    unsigned size[3];
    cudaEvent_t event;
  } val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};
typedef int cudaChannelFormatKind;
typedef int cudaTextureAddressMode;
typedef int cudaTextureFilterMode;
typedef int cudaTextureReadMode;
typedef void* cudaArray_t;
enum { cudaResourceTypeArray, cudaResourceTypeMipmappedArray, cudaResourceTypeLinear, cudaResourceTypePitch2D };
struct cudaChannelFormatDesc {
  int x, y, z, w, f;
};
struct cudaResourceDesc {
  int resType;
  union {
    struct {
      cudaArray_t array;
    } array;
    struct {
      void* devPtr;
      cudaChannelFormatDesc desc;
      size_t sizeInBytes;
    } linear;
    struct {
      void* devPtr;
      cudaChannelFormatDesc desc;
      size_t width, height, pitchInBytes;
    } pitch2D;
    int reserved[32];
  } res;
};
struct cudaTextureDesc {
  int addressMode[3], filterMode, readMode, sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned maxAnisotropy;
  int mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization, seamlessCubemap;
};

extern "C" {
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorString(cudaError_t);
const char* cudaGetErrorName(cudaError_t);
cudaError_t cudaGetDeviceCount(int*);
cudaError_t cudaGetDevice(int*);
cudaError_t cudaSetDevice(int);
cudaError_t cudaGetDeviceProperties(void*, int);
cudaError_t cudaDeviceGetAttribute(int*, int, int);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaDeviceSetLimit(int limit, size_t value);
cudaError_t cudaDeviceGetLimit(size_t* value, int limit);
cudaError_t cudaMalloc(void**, size_t);
cudaError_t cudaFree(void*);
cudaError_t cudaMallocManaged(void**, size_t, unsigned);
cudaError_t cudaMallocHost(void**, size_t);
cudaError_t cudaHostAlloc(void**, size_t, unsigned);
cudaError_t cudaHostGetDevicePointer(void**, void*, unsigned);
cudaError_t cudaFreeHost(void*);
cudaError_t cudaMallocPitch(void**, size_t*, size_t, size_t);
cudaError_t cudaMalloc3D(cudaPitchedPtr*, cudaExtent);
cudaError_t cudaMemGetInfo(size_t*, size_t*);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes*, const void*);
cudaError_t cudaMemcpy(void*, const void*, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t);
cudaError_t cudaMemcpy2D(void*, size_t, const void*, size_t, size_t, size_t, cudaMemcpyKind);
cudaError_t cudaMemset(void*, int, size_t);
cudaError_t cudaMemsetAsync(void*, int, size_t, cudaStream_t);
cudaError_t cudaMemset2D(void*, size_t, int, size_t, size_t);
cudaError_t cudaMemcpyToSymbol(const void*, const void*, size_t, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpyFromSymbol(void*, const void*, size_t, size_t, cudaMemcpyKind);
cudaError_t cudaGetSymbolAddress(void**, const void*);
cudaError_t cudaGetSymbolSize(size_t*, const void*);
cudaError_t cudaStreamCreate(cudaStream_t*);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamQuery(cudaStream_t);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned);
cudaError_t cudaLaunchHostFunc(cudaStream_t, void (*)(void*), void*);
cudaError_t cudaEventCreate(cudaEvent_t*);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t);
cudaError_t cudaEventSynchronize(cudaEvent_t);
cudaError_t cudaEventQuery(cudaEvent_t);
cudaError_t cudaEventElapsedTime(float*, cudaEvent_t, cudaEvent_t);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void*);
cudaError_t cudaFuncSetAttribute(const void*, int, int);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int*, const void*, int, size_t);
cudaError_t cudaLaunchCooperativeKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t cudaGraphCreate(void**, unsigned);

// Each of these exists a second time for programs with a default stream for each thread.
#define TWICE(suffix)                                                                                                  \
  cudaError_t cudaLaunchKernelExC##suffix(const cudaLaunchConfig_t*, const void*, void**);                             \
  cudaError_t cudaMallocAsync##suffix(void**, size_t, cudaStream_t);                                                   \
  cudaError_t cudaFreeAsync##suffix(void*, cudaStream_t);                                                              \
  cudaError_t cudaMemcpy2DAsync##suffix(void*, size_t, const void*, size_t, size_t, size_t, cudaMemcpyKind,            \
                                        cudaStream_t);                                                                 \
  cudaError_t cudaMemcpy3DAsync##suffix(const cudaMemcpy3DParms*, cudaStream_t);                                       \
  cudaError_t cudaMemcpy3DPeerAsync##suffix(const cudaMemcpy3DPeerParms*, cudaStream_t);                               \
  cudaError_t cudaMemcpyToSymbolAsync##suffix(const void*, const void*, size_t, size_t, cudaMemcpyKind, cudaStream_t); \
  cudaError_t cudaMemcpyFromSymbolAsync##suffix(void*, const void*, size_t, size_t, cudaMemcpyKind, cudaStream_t);     \
  cudaError_t cudaMemset2DAsync##suffix(void*, size_t, int, size_t, size_t, cudaStream_t);                             \
  cudaError_t cudaMemset3DAsync##suffix(cudaPitchedPtr, int, cudaExtent, cudaStream_t);                                \
  cudaError_t cudaMemPrefetchAsync##suffix(const void*, size_t, int, cudaStream_t);                                    \
  cudaError_t cudaStreamAddCallback##suffix(cudaStream_t, void (*)(cudaStream_t, cudaError_t, void*), void*,           \
                                            unsigned);                                                                 \
  cudaError_t cudaStreamGetPriority##suffix(cudaStream_t, int*);                                                       \
  cudaError_t cudaStreamGetFlags##suffix(cudaStream_t, unsigned*);                                                     \
  cudaError_t cudaStreamGetId##suffix(cudaStream_t, unsigned long long*);                                              \
  cudaError_t cudaStreamGetDevice##suffix(cudaStream_t, int*);                                                         \
  cudaError_t cudaStreamIsCapturing##suffix(cudaStream_t, int*);                                                       \
  cudaError_t cudaStreamAttachMemAsync##suffix(cudaStream_t, void*, size_t, unsigned);                                 \
  cudaError_t cudaEventRecordWithFlags##suffix(cudaEvent_t, cudaStream_t, unsigned);
TWICE()
TWICE(_ptsz)
#undef TWICE
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms*);
cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms*);
cudaError_t cudaMemset3D(cudaPitchedPtr, int, cudaExtent);
cudaError_t cudaMemcpyPeer(void*, int, const void*, int, size_t);
cudaError_t cudaMemcpyPeerAsync(void*, int, const void*, int, size_t, cudaStream_t);
// The others of that kind are declared above.
cudaError_t cudaLaunchKernel_ptsz(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t cudaMemcpyAsync_ptsz(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t);
cudaError_t cudaMemsetAsync_ptsz(void*, int, size_t, cudaStream_t);
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t);
cudaError_t cudaStreamQuery_ptsz(cudaStream_t);
cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t, cudaEvent_t, unsigned);
cudaError_t cudaLaunchHostFunc_ptsz(cudaStream_t, void (*)(void*), void*);
cudaError_t cudaEventRecord_ptsz(cudaEvent_t, cudaStream_t);
cudaError_t cudaMemcpy_ptds(void*, const void*, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpy2D_ptds(void*, size_t, const void*, size_t, size_t, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpy3D_ptds(const cudaMemcpy3DParms*);
cudaError_t cudaMemcpy3DPeer_ptds(const cudaMemcpy3DPeerParms*);
cudaError_t cudaMemcpyToSymbol_ptds(const void*, const void*, size_t, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpyFromSymbol_ptds(void*, const void*, size_t, size_t, cudaMemcpyKind);
cudaError_t cudaMemset_ptds(void*, int, size_t);
cudaError_t cudaMemset2D_ptds(void*, size_t, int, size_t, size_t);
cudaError_t cudaMemset3D_ptds(cudaPitchedPtr, int, cudaExtent);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t*, unsigned, int);
cudaError_t cudaFuncSetCacheConfig(const void*, int);
cudaError_t cudaFuncGetName(const char**, const void*);
cudaError_t cudaGetKernel(void**, const void*);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int*, const void*, int, size_t, unsigned);
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t*, const void*, int, int);
cudaError_t cudaHostRegister(void*, size_t, unsigned);
cudaError_t cudaHostUnregister(void*);
cudaError_t cudaHostGetFlags(unsigned*, void*);
cudaError_t cudaMemAdvise(const void*, size_t, int, int);
cudaChannelFormatDesc cudaCreateChannelDesc(int, int, int, int, int);
cudaError_t cudaMallocArray(void**, const cudaChannelFormatDesc*, size_t, size_t, unsigned);
cudaError_t cudaMalloc3DArray(void**, const cudaChannelFormatDesc*, cudaExtent, unsigned);
cudaError_t cudaFreeArray(void*);
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc*, cudaExtent*, unsigned*, void*);
cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc*, const void*);
#define TWICE(async, now)                                                                                              \
  cudaError_t cudaMemcpy2DToArrayAsync##async(void*, size_t, size_t, const void*, size_t, size_t, size_t,              \
                                              cudaMemcpyKind, cudaStream_t);                                           \
  cudaError_t cudaMemcpy2DFromArrayAsync##async(void*, size_t, const void*, size_t, size_t, size_t, size_t,            \
                                                cudaMemcpyKind, cudaStream_t);                                         \
  cudaError_t cudaMemcpyToArrayAsync##async(void*, size_t, size_t, const void*, size_t, cudaMemcpyKind, cudaStream_t); \
  cudaError_t cudaMemcpyFromArrayAsync##async(void*, const void*, size_t, size_t, size_t, cudaMemcpyKind,              \
                                              cudaStream_t);                                                           \
  cudaError_t cudaMemcpy2DToArray##now(void*, size_t, size_t, const void*, size_t, size_t, size_t, cudaMemcpyKind);    \
  cudaError_t cudaMemcpy2DFromArray##now(void*, size_t, const void*, size_t, size_t, size_t, size_t, cudaMemcpyKind);  \
  cudaError_t cudaMemcpyToArray##now(void*, size_t, size_t, const void*, size_t, cudaMemcpyKind);                      \
  cudaError_t cudaMemcpyFromArray##now(void*, const void*, size_t, size_t, size_t, cudaMemcpyKind);                    \
  cudaError_t cudaMemcpy2DArrayToArray##now(void*, size_t, size_t, const void*, size_t, size_t, size_t, size_t,        \
                                            cudaMemcpyKind);
TWICE(, )
TWICE(_ptsz, _ptds)
#undef TWICE
cudaError_t cudaCreateTextureObject(unsigned long long*, const cudaResourceDesc*, const cudaTextureDesc*, const void*);
cudaError_t cudaDestroyTextureObject(unsigned long long);
cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc*, unsigned long long);
cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc*, unsigned long long);
cudaError_t cudaCreateSurfaceObject(unsigned long long*, const cudaResourceDesc*);
cudaError_t cudaDestroySurfaceObject(unsigned long long);
cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc*, unsigned long long);
cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t*, const cudaChannelFormatDesc*, int);
cudaError_t cudaChooseDevice(int*, const void*);
cudaError_t cudaInitDevice(int, unsigned, unsigned);
cudaError_t cudaSetDeviceFlags(unsigned);
cudaError_t cudaGetDeviceFlags(unsigned*);
cudaError_t cudaSetValidDevices(int*, int);
cudaError_t cudaDeviceSetCacheConfig(int);
cudaError_t cudaDeviceGetCacheConfig(int*);
cudaError_t cudaDeviceSetSharedMemConfig(int);
cudaError_t cudaDeviceGetSharedMemConfig(int*);
cudaError_t cudaFuncSetSharedMemConfig(const void*, int);
cudaError_t cudaDeviceCanAccessPeer(int*, int, int);
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned);
cudaError_t cudaDeviceDisablePeerAccess(int);
cudaError_t cudaDeviceGetP2PAttribute(int*, int, int, int);
cudaError_t cudaDeviceGetPCIBusId(char*, int, int);
cudaError_t cudaDeviceGetByPCIBusId(int*, const char*);
cudaError_t cudaDeviceGetStreamPriorityRange(int*, int*);
cudaError_t cudaDriverGetVersion(int*);
cudaError_t cudaRuntimeGetVersion(int*);
cudaError_t cudaProfilerStart();
cudaError_t cudaProfilerStop();
}
