// What the files of the runtime library share: CUDA's types as its calls pass them, and how a call ends.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "link.h"

#define TERRACE_API extern "C" __attribute__((visibility("default")))

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;

namespace terrace::cudart {

/// Remembers a failure for cudaGetLastError.
int done(int status);
/// A call that is not supported: one line on standard error, the first time.
int unserved(const char* call);

/// cudaMemcpyKind.
enum Kind { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kByAddress };

/// CUDA's own names of default streams are 0 and 1 (of the process) and 2 (of the calling thread).
inline constexpr std::uintptr_t kLegacyStream = 1, kPerThreadStream = 2;
inline const cudaStream_t kOfThisThread = reinterpret_cast<cudaStream_t>(kPerThreadStream);
/// The stream as the simulator numbers it.
std::uint64_t number(cudaStream_t stream);
inline std::uint64_t number(cudaEvent_t event) {
  return reinterpret_cast<std::uintptr_t>(event);
}

struct Extent {
  std::size_t width, height, depth;
};
struct PitchedPointer {
  void* first;
  std::size_t pitch, width, height;
};
struct Position {
  std::size_t x, y, z;
};
/// cudaMemcpy3DParms.
struct Copy3D {
  void* from_array;
  Position from_at;
  PitchedPointer from;
  void* to_array;
  Position to_at;
  PitchedPointer to;
  Extent extent;
  int kind;
};
/// cudaMemcpy3DPeerParms.
struct PeerCopy3D {
  void* from_array;
  Position from_at;
  PitchedPointer from;
  int from_device;
  void* to_array;
  Position to_at;
  PitchedPointer to;
  int to_device;
  Extent extent;
};
/// cudaChannelFormatDesc: bits of each component, and a cudaChannelFormatKind.
struct ChannelFormat {
  int bits[4];
  int kind;
};
/// Bytes of a texel, or 0 where its components are not one, two or four of the same 8, 16 or 32 bits.
std::size_t texel_bytes(const ChannelFormat& format);
/// cudaArray: one or two dimensions, row by row.
struct Array {
  void* first;
  std::size_t pitch, width, height;  // in texels; height 0: one dimension
  ChannelFormat format;
  unsigned flags;
  std::size_t rows() const { return height == 0 ? 1 : height; }
  std::size_t row_bytes() const { return width * texel_bytes(format); }
};
/// cudaArraySurfaceLoadStore: kernels may write it.
inline constexpr unsigned kForSurfaces = 2;
/// The array, if it is one.
const Array* find_array(const void* array);
void forget_arrays();
/// Between rows of an array and pitched memory; x in bytes.
int copy_array(void* array, std::size_t x, std::size_t y, void* memory, std::size_t pitch, std::size_t width,
               std::size_t height, int kind, bool to_array, std::uint64_t stream, bool async);
/// As if the array had one row; x in bytes.
int copy_array_bytes(void* array, std::size_t x, std::size_t y, void* memory, std::size_t bytes, int kind,
                     bool to_array, std::uint64_t stream, bool async);
int copy_between_arrays(void* to, std::size_t to_x, std::size_t to_y, const void* from, std::size_t from_x,
                        std::size_t from_y, std::size_t width, std::size_t height, std::uint64_t stream);

/// cudaLaunchAttribute: a number and 64 bytes whose meaning depends on it.
struct LaunchAttribute {
  int which;
  int pad;
  union {
    int number;
    unsigned size[3];
    cudaEvent_t event;
    unsigned char bytes[64];
  } value;
};
/// cudaLaunchConfig_t.
struct LaunchConfiguration {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t stream;
  const LaunchAttribute* attributes;
  unsigned attribute_count;
};

/// Copies `height` rows of `width` bytes; `kind` is a cudaMemcpyKind.
int copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
         std::size_t height, int kind, std::uint64_t stream, bool async);
int copy3d(const Copy3D* how, std::uint64_t stream, bool async);
int copy_peer3d(const PeerCopy3D* how, std::uint64_t stream, bool async);
int copy_symbol(const void* symbol, void* host, std::size_t bytes, std::size_t offset, int kind, bool to_symbol,
                std::uint64_t stream, bool async);
int fill(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height, std::uint64_t stream);
int fill3d(const PitchedPointer& to, int value, const Extent& extent, std::uint64_t stream);
int launch(Kernel& kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared, cudaStream_t stream);
int launch(const LaunchConfiguration* how, const void* host, void** arguments, cudaStream_t stream);
int wait();
/// Forgets what the library keeps about streams and events.
void forget_streams();

}  // namespace terrace::cudart
