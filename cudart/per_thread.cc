// The calls of programs whose default stream is that of each thread (nvcc --default-stream per-thread): the same calls,
// with the thread's stream where a program names stream 0 or none.
// SPDX-License-Identifier: MIT
#include "api.h"

using namespace terrace::cudart;

namespace {

cudaStream_t own(cudaStream_t stream) {
  return stream == nullptr ? kOfThisThread : stream;
}

}  // namespace

TERRACE_API int cudaLaunchKernel(const void* host, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                 cudaStream_t stream);
TERRACE_API int cudaLaunchCooperativeKernel(const void* host, dim3 grid, dim3 block, void** arguments,
                                            std::size_t shared, cudaStream_t stream);
TERRACE_API int __cudaLaunchKernel(void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                   cudaStream_t stream);
TERRACE_API int cudaMallocAsync(void** to, std::size_t bytes, cudaStream_t stream);
TERRACE_API int cudaFreeAsync(void* address, cudaStream_t stream);
TERRACE_API int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, cudaStream_t stream);
TERRACE_API int cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                  std::size_t width, std::size_t height, int kind, cudaStream_t stream);
TERRACE_API int cudaMemcpy3DAsync(const Copy3D* how, cudaStream_t stream);
TERRACE_API int cudaMemcpy3DPeerAsync(const PeerCopy3D* how, cudaStream_t stream);
TERRACE_API int cudaMemcpy2DToArrayAsync(void* to, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
                                         std::size_t width, std::size_t height, int kind, cudaStream_t stream);
TERRACE_API int cudaMemcpy2DFromArrayAsync(void* to, std::size_t pitch, const void* from, std::size_t x, std::size_t y,
                                           std::size_t width, std::size_t height, int kind, cudaStream_t stream);
TERRACE_API int cudaMemcpyToArrayAsync(void* to, std::size_t x, std::size_t y, const void* from, std::size_t bytes,
                                       int kind, cudaStream_t stream);
TERRACE_API int cudaMemcpyFromArrayAsync(void* to, const void* from, std::size_t x, std::size_t y, std::size_t bytes,
                                         int kind, cudaStream_t stream);
TERRACE_API int cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                                        int kind, cudaStream_t stream);
TERRACE_API int cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes, std::size_t offset, int kind,
                                          cudaStream_t stream);
TERRACE_API int cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream);
TERRACE_API int cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                                  cudaStream_t stream);
TERRACE_API int cudaMemset3DAsync(PitchedPointer to, int value, Extent extent, cudaStream_t stream);
TERRACE_API int cudaStreamSynchronize(cudaStream_t stream);
TERRACE_API int cudaStreamQuery(cudaStream_t stream);
TERRACE_API int cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
TERRACE_API int cudaStreamAddCallback(cudaStream_t stream, void (*call)(cudaStream_t, int, void*), void* data,
                                      unsigned flags);
TERRACE_API int cudaLaunchHostFunc(cudaStream_t stream, void (*call)(void*), void* data);
TERRACE_API int cudaStreamGetPriority(cudaStream_t stream, int* priority);
TERRACE_API int cudaStreamGetFlags(cudaStream_t stream, unsigned* flags);
TERRACE_API int cudaStreamGetId(cudaStream_t stream, unsigned long long* id);
TERRACE_API int cudaStreamGetDevice(cudaStream_t stream, int* device);
TERRACE_API int cudaStreamIsCapturing(cudaStream_t stream, int* status);
TERRACE_API int cudaStreamAttachMemAsync(cudaStream_t stream, void* first, std::size_t bytes, unsigned flags);
TERRACE_API int cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
TERRACE_API int cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags);

TERRACE_API int cudaLaunchKernel_ptsz(const void* host, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                      cudaStream_t stream) {
  return cudaLaunchKernel(host, grid, block, arguments, shared, own(stream));
}
TERRACE_API int cudaLaunchCooperativeKernel_ptsz(const void* host, dim3 grid, dim3 block, void** arguments,
                                                 std::size_t shared, cudaStream_t stream) {
  return cudaLaunchCooperativeKernel(host, grid, block, arguments, shared, own(stream));
}
TERRACE_API int __cudaLaunchKernel_ptsz(void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                        cudaStream_t stream) {
  return __cudaLaunchKernel(kernel, grid, block, arguments, shared, own(stream));
}
TERRACE_API int cudaMallocAsync_ptsz(void** to, std::size_t bytes, cudaStream_t stream) {
  return cudaMallocAsync(to, bytes, own(stream));
}
TERRACE_API int cudaFreeAsync_ptsz(void* address, cudaStream_t stream) {
  return cudaFreeAsync(address, own(stream));
}
TERRACE_API int cudaMemcpyAsync_ptsz(void* to, const void* from, std::size_t bytes, int kind, cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, bytes, kind, own(stream));
}
TERRACE_API int cudaMemcpy2DAsync_ptsz(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                       std::size_t width, std::size_t height, int kind, cudaStream_t stream) {
  return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, own(stream));
}
TERRACE_API int cudaMemcpy3DAsync_ptsz(const Copy3D* how, cudaStream_t stream) {
  return cudaMemcpy3DAsync(how, own(stream));
}
TERRACE_API int cudaMemcpy3DPeerAsync_ptsz(const PeerCopy3D* how, cudaStream_t stream) {
  return cudaMemcpy3DPeerAsync(how, own(stream));
}
TERRACE_API int cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* from, std::size_t bytes,
                                             std::size_t offset, int kind, cudaStream_t stream) {
  return cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, own(stream));
}
TERRACE_API int cudaMemcpyFromSymbolAsync_ptsz(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                               int kind, cudaStream_t stream) {
  return cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, own(stream));
}
TERRACE_API int cudaMemsetAsync_ptsz(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return cudaMemsetAsync(to, value, bytes, own(stream));
}
TERRACE_API int cudaMemset2DAsync_ptsz(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                                       cudaStream_t stream) {
  return cudaMemset2DAsync(to, pitch, value, width, height, own(stream));
}
TERRACE_API int cudaMemset3DAsync_ptsz(PitchedPointer to, int value, Extent extent, cudaStream_t stream) {
  return cudaMemset3DAsync(to, value, extent, own(stream));
}
TERRACE_API int cudaStreamSynchronize_ptsz(cudaStream_t stream) {
  return cudaStreamSynchronize(own(stream));
}
TERRACE_API int cudaStreamQuery_ptsz(cudaStream_t stream) {
  return cudaStreamQuery(own(stream));
}
TERRACE_API int cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return cudaStreamWaitEvent(own(stream), event, flags);
}
TERRACE_API int cudaStreamAddCallback_ptsz(cudaStream_t stream, void (*call)(cudaStream_t, int, void*), void* data,
                                           unsigned flags) {
  return cudaStreamAddCallback(own(stream), call, data, flags);
}
TERRACE_API int cudaLaunchHostFunc_ptsz(cudaStream_t stream, void (*call)(void*), void* data) {
  return cudaLaunchHostFunc(own(stream), call, data);
}
TERRACE_API int cudaStreamGetPriority_ptsz(cudaStream_t stream, int* priority) {
  return cudaStreamGetPriority(own(stream), priority);
}
TERRACE_API int cudaStreamGetFlags_ptsz(cudaStream_t stream, unsigned* flags) {
  return cudaStreamGetFlags(own(stream), flags);
}
TERRACE_API int cudaStreamGetId_ptsz(cudaStream_t stream, unsigned long long* id) {
  return cudaStreamGetId(own(stream), id);
}
TERRACE_API int cudaStreamGetDevice_ptsz(cudaStream_t stream, int* device) {
  return cudaStreamGetDevice(own(stream), device);
}
TERRACE_API int cudaStreamIsCapturing_ptsz(cudaStream_t stream, int* status) {
  return cudaStreamIsCapturing(own(stream), status);
}
TERRACE_API int cudaStreamAttachMemAsync_ptsz(cudaStream_t stream, void* first, std::size_t bytes, unsigned flags) {
  return cudaStreamAttachMemAsync(own(stream), first, bytes, flags);
}
TERRACE_API int cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecord(event, own(stream));
}
TERRACE_API int cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return cudaEventRecordWithFlags(event, own(stream), flags);
}
TERRACE_API int cudaMemcpy2DToArrayAsync_ptsz(void* to, std::size_t x, std::size_t y, const void* from,
                                              std::size_t pitch, std::size_t width, std::size_t height, int kind,
                                              cudaStream_t stream) {
  return cudaMemcpy2DToArrayAsync(to, x, y, from, pitch, width, height, kind, own(stream));
}
TERRACE_API int cudaMemcpy2DFromArrayAsync_ptsz(void* to, std::size_t pitch, const void* from, std::size_t x,
                                                std::size_t y, std::size_t width, std::size_t height, int kind,
                                                cudaStream_t stream) {
  return cudaMemcpy2DFromArrayAsync(to, pitch, from, x, y, width, height, kind, own(stream));
}
TERRACE_API int cudaMemcpyToArrayAsync_ptsz(void* to, std::size_t x, std::size_t y, const void* from, std::size_t bytes,
                                            int kind, cudaStream_t stream) {
  return cudaMemcpyToArrayAsync(to, x, y, from, bytes, kind, own(stream));
}
TERRACE_API int cudaMemcpyFromArrayAsync_ptsz(void* to, const void* from, std::size_t x, std::size_t y,
                                              std::size_t bytes, int kind, cudaStream_t stream) {
  return cudaMemcpyFromArrayAsync(to, from, x, y, bytes, kind, own(stream));
}
TERRACE_API int cudaMemPrefetchAsync_ptsz() {
  return kSuccess;
}
TERRACE_API int cudaLaunchKernelExC_ptsz(const LaunchConfiguration* how, const void* host, void** arguments) {
  return done(launch(how, host, arguments, how == nullptr ? nullptr : own(how->stream)));
}

TERRACE_API int cudaMemcpy_ptds(void* to, const void* from, std::size_t bytes, int kind) {
  return done(copy(to, bytes, from, bytes, bytes, 1, kind, number(kOfThisThread), false));
}
TERRACE_API int cudaMemcpy2D_ptds(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                  std::size_t width, std::size_t height, int kind) {
  return done(copy(to, to_pitch, from, from_pitch, width, height, kind, number(kOfThisThread), false));
}
TERRACE_API int cudaMemcpy3D_ptds(const Copy3D* how) {
  return done(copy3d(how, number(kOfThisThread), false));
}
TERRACE_API int cudaMemcpy3DPeer_ptds(const PeerCopy3D* how) {
  return done(copy_peer3d(how, number(kOfThisThread), false));
}
TERRACE_API int cudaMemcpyToSymbol_ptds(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                                        int kind) {
  return done(copy_symbol(symbol, const_cast<void*>(from), bytes, offset, kind, true, number(kOfThisThread), false));
}
TERRACE_API int cudaMemcpyFromSymbol_ptds(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                          int kind) {
  return done(copy_symbol(symbol, to, bytes, offset, kind, false, number(kOfThisThread), false));
}
TERRACE_API int cudaMemset_ptds(void* to, int value, std::size_t bytes) {
  return done(fill(to, bytes, value, bytes, 1, number(kOfThisThread)));
}
TERRACE_API int cudaMemset2D_ptds(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  return done(fill(to, pitch, value, width, height, number(kOfThisThread)));
}
TERRACE_API int cudaMemset3D_ptds(PitchedPointer to, int value, Extent extent) {
  return done(fill3d(to, value, extent, number(kOfThisThread)));
}
TERRACE_API int cudaMemcpy2DToArray_ptds(void* to, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
                                         std::size_t width, std::size_t height, int kind) {
  return done(
      copy_array(to, x, y, const_cast<void*>(from), pitch, width, height, kind, true, number(kOfThisThread), false));
}
TERRACE_API int cudaMemcpy2DFromArray_ptds(void* to, std::size_t pitch, const void* from, std::size_t x, std::size_t y,
                                           std::size_t width, std::size_t height, int kind) {
  return done(
      copy_array(const_cast<void*>(from), x, y, to, pitch, width, height, kind, false, number(kOfThisThread), false));
}
TERRACE_API int cudaMemcpyToArray_ptds(void* to, std::size_t x, std::size_t y, const void* from, std::size_t bytes,
                                       int kind) {
  return done(copy_array_bytes(to, x, y, const_cast<void*>(from), bytes, kind, true, number(kOfThisThread), false));
}
TERRACE_API int cudaMemcpyFromArray_ptds(void* to, const void* from, std::size_t x, std::size_t y, std::size_t bytes,
                                         int kind) {
  return done(copy_array_bytes(const_cast<void*>(from), x, y, to, bytes, kind, false, number(kOfThisThread), false));
}
TERRACE_API int cudaMemcpy2DArrayToArray_ptds(void* to, std::size_t to_x, std::size_t to_y, const void* from,
                                              std::size_t from_x, std::size_t from_y, std::size_t width,
                                              std::size_t height, int) {
  return done(copy_between_arrays(to, to_x, to_y, from, from_x, from_y, width, height, number(kOfThisThread)));
}
