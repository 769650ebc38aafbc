// Devices.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>

#include "api.h"

using namespace terrace::cudart;

namespace {

constexpr int kComputeMajor = 9, kComputeMinor = 0;                        // as the PTX that the simulator reads
constexpr int kLimitStackSize = 0, kLimitMallocHeapSize = 2, kLimits = 7;  // as CUDA numbers them

// Sizes of textures: those of compute capability 9.0.
constexpr int kTexture1D = 131072, kTextureLinear1D = 1 << 28;
constexpr int kTexture2D[] = {131072, 65536}, kTexturePitched[] = {131072, 65000, 2097120};

constexpr const char* kBusId = "0000:00:00.0";

/// cudaDeviceProp of CUDA 13. What the simulated device has nothing to say about stays zero.
struct Properties13 {
  char name[256];
  char uuid[16], luid[8];
  unsigned node_mask;
  std::size_t memory, shared_per_block;
  int registers_per_block, warp_size;
  std::size_t memory_pitch;
  int threads_per_block, most_threads[3], most_blocks[3];
  std::size_t constants;
  int major, minor;
  std::size_t texture_align, texture_pitch_align;
  int sms, integrated, maps_host_memory;
  int texture_1d, mipmap_1d, texture_2d[2], mipmap_2d[2], texture_pitched[3], textures[30];  // the rest, and surfaces
  std::size_t surface_align;
  int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, copy_engines, unified_addressing, bus_width,
      l2_bytes, persisting_l2, threads_per_sm, stream_priorities, global_l1, local_l1;
  std::size_t shared_per_sm;
  int registers_per_sm, managed_memory, multi_gpu, multi_gpu_group, host_atomics, pageable_access,
      concurrent_managed_access, preemption, host_pointers, cooperative_launch;
  std::size_t shared_per_block_optin;
  int pageable_tables, direct_managed, blocks_per_sm, access_window;
  std::size_t reserved_shared;
  int more[20], reserved[56];
};
/// The same of CUDA 12.
struct Properties12 {
  char name[256];
  char uuid[16], luid[8];
  unsigned node_mask;
  std::size_t memory, shared_per_block;
  int registers_per_block, warp_size;
  std::size_t memory_pitch;
  int threads_per_block, most_threads[3], most_blocks[3], clock_khz;
  std::size_t constants;
  int major, minor;
  std::size_t texture_align, texture_pitch_align;
  int overlap, sms, timeout, integrated, maps_host_memory, mode;
  int texture_1d, mipmap_1d, texture_linear_1d, texture_2d[2], mipmap_2d[2], texture_pitched[3], textures[30];
  std::size_t surface_align;
  int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, copy_engines, unified_addressing, memory_clock_khz,
      bus_width, l2_bytes, persisting_l2, threads_per_sm, stream_priorities, global_l1, local_l1;
  std::size_t shared_per_sm;
  int registers_per_sm, managed_memory, multi_gpu, multi_gpu_group, host_atomics, double_ratio, pageable_access,
      concurrent_managed_access, preemption, host_pointers, cooperative_launch, cooperative_devices;
  std::size_t shared_per_block_optin;
  int pageable_tables, direct_managed, blocks_per_sm, access_window;
  std::size_t reserved_shared;
  int more[20], reserved[56];
};

// As large as the programs' own.
static_assert(sizeof(Properties13) == 1008 && sizeof(Properties12) == 1032);

template <class Properties>
int describe(Properties* to, int device) {
  if (to == nullptr) return kInvalidValue;
  if (device != 0) return kInvalidDevice;
  const DeviceFacts& facts = Link::instance().device();
  if (facts.sms == 0) return kNoDevice;
  *to = {};
  std::strncpy(to->name, ("Terrace " + facts.name).c_str(), sizeof to->name - 1);
  to->memory = facts.memory_bytes;
  to->shared_per_block = std::min<std::size_t>(kUsualSharedBytes, facts.sm_shared_bytes);
  to->registers_per_block = static_cast<int>(facts.sm_registers);
  to->warp_size = static_cast<int>(facts.warp_width);
  to->memory_pitch = 0x7fffffff;
  to->threads_per_block = to->most_threads[0] = to->most_threads[1] = 1024;
  to->most_threads[2] = 64;
  to->most_blocks[0] = 0x7fffffff;
  to->most_blocks[1] = to->most_blocks[2] = 65535;
  to->constants = 64 << 10;
  to->major = kComputeMajor;
  to->minor = kComputeMinor;
  to->texture_align = 512;
  to->texture_pitch_align = 32;
  to->texture_1d = kTexture1D;
  std::copy(std::begin(kTexture2D), std::end(kTexture2D), to->texture_2d);
  std::copy(std::begin(kTexturePitched), std::end(kTexturePitched), to->texture_pitched);
  if constexpr (requires { to->texture_linear_1d; }) to->texture_linear_1d = kTextureLinear1D;
  to->sms = static_cast<int>(facts.sms);
  to->maps_host_memory = 1;
  to->concurrent_kernels = 1;
  to->copy_engines = 2;
  to->unified_addressing = 1;
  to->bus_width = 256;
  to->l2_bytes = static_cast<int>(facts.l2_bytes);
  to->threads_per_sm = static_cast<int>(facts.sm_warps * facts.warp_width);
  to->stream_priorities = 1;
  to->global_l1 = to->local_l1 = 1;
  to->shared_per_sm = to->shared_per_block_optin = facts.sm_shared_bytes;
  to->registers_per_sm = static_cast<int>(facts.sm_registers);
  to->managed_memory = 1;
  to->cooperative_launch = 1;
  to->blocks_per_sm = static_cast<int>(facts.sm_blocks);
  if constexpr (requires { to->clock_khz; }) {
    to->clock_khz = static_cast<int>(facts.core_mhz * 1000);
    to->memory_clock_khz = to->clock_khz;
    to->overlap = 1;
  }
  return kSuccess;
}

/// By the numbers of cudaDeviceAttr; those that do not apply are zero.
int attribute(int which) {
  const DeviceFacts& facts = Link::instance().device();
  switch (which) {
    case 1:
    case 2:
    case 3:
      return 1024;
    case 4:
      return 64;
    case 5:
      return 0x7fffffff;
    case 6:
    case 7:
      return 65535;
    case 8:
      return static_cast<int>(std::min<std::size_t>(kUsualSharedBytes, facts.sm_shared_bytes));
    case 9:
      return 64 << 10;
    case 10:
      return static_cast<int>(facts.warp_width);
    case 11:
      return 0x7fffffff;
    case 12:
    case 82:
      return static_cast<int>(facts.sm_registers);
    case 13:
    case 36:
      return static_cast<int>(facts.core_mhz * 1000);
    case 14:
      return 512;
    case 15:
    case 19:
    case 31:
    case 41:
    case 78:
    case 79:
    case 80:
    case 83:
    case 95:
      return 1;
    case 16:
      return static_cast<int>(facts.sms);
    case 21:
      return kTexture1D;
    case 22:
    case 23:
      return kTexture2D[which - 22];
    case 69:
      return kTextureLinear1D;
    case 70:
    case 71:
    case 72:
      return kTexturePitched[which - 70];
    case 37:
      return 256;
    case 38:
      return static_cast<int>(facts.l2_bytes);
    case 39:
      return static_cast<int>(facts.sm_warps * facts.warp_width);
    case 40:
      return 2;
    case 75:
      return kComputeMajor;
    case 76:
      return kComputeMinor;
    case 81:
    case 97:
      return static_cast<int>(facts.sm_shared_bytes);
    case 106:
      return static_cast<int>(facts.sm_blocks);
    default:
      return 0;
  }
}

/// Limits that the program may set and read, and that bound nothing here. CUDA's defaults, and its order: the stack (which the
/// simulator keeps), printf's buffer, the heap (likewise), depths and pending launches of kernels that launch kernels, sizes
/// of the L2.
std::size_t ignored_limits[kLimits] = {0, std::size_t{1} << 20, 0, 2, 2048, 64, 0};

/// By which the simulator is told of a limit, if it keeps it.
std::optional<Call> call_of(int limit) {
  if (limit == kLimitStackSize) return Call::kStackBytes;
  if (limit == kLimitMallocHeapSize) return Call::kHeapBytes;
  return std::nullopt;
}

}  // namespace

TERRACE_API int cudaGetDeviceCount(int* count) {
  if (count == nullptr) return done(kInvalidValue);
  *count = Link::instance().device().sms == 0 ? 0 : 1;
  return done(*count == 0 ? kNoDevice : kSuccess);
}
TERRACE_API int cudaGetDevice(int* device) {
  if (device == nullptr) return done(kInvalidValue);
  *device = 0;
  return kSuccess;
}
TERRACE_API int cudaSetDevice(int device) {
  return done(device == 0 ? kSuccess : kInvalidDevice);
}
TERRACE_API int cudaInitDevice(int device, unsigned, unsigned) {
  return cudaSetDevice(device);
}
TERRACE_API int cudaChooseDevice(int* device, const void*) {
  return cudaGetDevice(device);
}
TERRACE_API int cudaSetDeviceFlags(unsigned) {
  return kSuccess;
}
TERRACE_API int cudaGetDeviceFlags(unsigned* flags) {
  *flags = 0;
  return kSuccess;
}
TERRACE_API int cudaSetValidDevices(int*, int) {
  return kSuccess;
}
TERRACE_API int cudaGetDeviceProperties(Properties13* to, int device) {
  return done(describe(to, device));
}
TERRACE_API int cudaGetDeviceProperties_v2(Properties12* to, int device) {
  return done(describe(to, device));
}
TERRACE_API int cudaDeviceGetAttribute(int* value, int which, int device) {
  if (value == nullptr) return done(kInvalidValue);
  if (device != 0) return done(kInvalidDevice);
  *value = attribute(which);
  return kSuccess;
}
TERRACE_API int cudaDeviceSynchronize() {
  return done(wait());
}
TERRACE_API int cudaThreadSynchronize() {
  return done(wait());
}
TERRACE_API int cudaDeviceSetCacheConfig(int) {
  return kSuccess;
}
TERRACE_API int cudaThreadSetCacheConfig(int) {
  return kSuccess;
}
TERRACE_API int cudaDeviceGetCacheConfig(int* config) {
  *config = 0;
  return kSuccess;
}
TERRACE_API int cudaDeviceSetSharedMemConfig(int) {
  return kSuccess;
}
TERRACE_API int cudaDeviceGetSharedMemConfig(int* config) {
  *config = 0;
  return kSuccess;
}
TERRACE_API int cudaDeviceSetLimit(int limit, std::size_t value) {
  if (limit < 0 || limit >= kLimits) return done(kUnsupportedLimit);
  const auto call = call_of(limit);
  if (!call) {
    ignored_limits[limit] = value;
    return kSuccess;
  }
  Writer fields;
  fields.u32(1).u64(value);
  return done(Link::instance().ask_status(*call, fields));
}
TERRACE_API int cudaDeviceGetLimit(std::size_t* value, int limit) {
  if (value == nullptr) return done(kInvalidValue);
  if (limit < 0 || limit >= kLimits) return done(kUnsupportedLimit);
  const auto call = call_of(limit);
  if (!call) {
    *value = ignored_limits[limit];
    return kSuccess;
  }
  Writer fields;
  fields.u32(0).u64(0);
  const Answer answer = Link::instance().ask(*call, fields);
  *value = answer.reader().u64();
  return done(answer.status);
}
// There is one device, so nothing is a peer of it.
TERRACE_API int cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (can == nullptr) return done(kInvalidValue);
  if (device != 0 || peer != 0) return done(kInvalidDevice);
  *can = 0;
  return kSuccess;
}
TERRACE_API int cudaDeviceEnablePeerAccess(int, unsigned) {
  return done(kInvalidDevice);
}
TERRACE_API int cudaDeviceDisablePeerAccess(int) {
  return done(kInvalidDevice);
}
TERRACE_API int cudaDeviceGetP2PAttribute(int*, int, int, int) {
  return done(kInvalidDevice);
}
TERRACE_API int cudaDeviceGetPCIBusId(char* id, int bytes, int device) {
  if (id == nullptr || bytes <= static_cast<int>(std::strlen(kBusId))) return done(kInvalidValue);
  if (device != 0) return done(kInvalidDevice);
  std::strcpy(id, kBusId);
  return kSuccess;
}
TERRACE_API int cudaDeviceGetByPCIBusId(int* device, const char* id) {
  if (device == nullptr || id == nullptr) return done(kInvalidValue);
  if (std::strcmp(id, kBusId) != 0) return done(kInvalidDevice);
  *device = 0;
  return kSuccess;
}
TERRACE_API int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = 0;
  return kSuccess;
}
TERRACE_API int cudaDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}
TERRACE_API int cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}
TERRACE_API int cudaProfilerStart() {
  return kSuccess;
}
TERRACE_API int cudaProfilerStop() {
  return kSuccess;
}
