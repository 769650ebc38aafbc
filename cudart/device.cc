// Devices, streams, events and errors.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <set>
#include <string>

#include "api.h"

using namespace terrace::cudart;

namespace {

thread_local int last_error = kSuccess;

constexpr int kComputeMajor = 9, kComputeMinor = 0;                // as the PTX that the simulator reads
constexpr int kLimitPrintfFifoSize = 1, kLimitMallocHeapSize = 2;  // as CUDA numbers them
constexpr std::size_t kUsualSharedBytes = 48 << 10;                // what a block has without asking for more

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
  int textures[34];  // sizes of textures and surfaces
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
  int textures[35];
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

struct ErrorText {
  int number;
  const char *name, *text;
};
constexpr ErrorText kErrors[] = {
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {3, "cudaErrorInitializationError", "initialization error"},
    {9, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {12, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {13, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {17, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {21, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {98, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {200, "cudaErrorInvalidKernelImage", "device kernel image is invalid"},
    {209, "cudaErrorNoKernelImageForDevice", "no kernel image is available for execution on the device"},
    {218, "cudaErrorInvalidPtx", "a PTX JIT compilation failed"},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {600, "cudaErrorNotReady", "device not ready"},
    {700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {701, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {710, "cudaErrorAssert", "device-side assert triggered"},
    {719, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {720, "cudaErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
    {801, "cudaErrorNotSupported", "operation not supported"},
    {999, "cudaErrorUnknown", "unknown error"},
};

int make_stream(cudaStream_t* to, unsigned flags) {
  if (to == nullptr) return kInvalidValue;
  Writer fields;
  fields.u32(flags);
  const Answer answer = Link::instance().ask(Call::kStreamCreate, fields);
  if (answer.status == kSuccess) *to = reinterpret_cast<cudaStream_t>(answer.reader().u64());
  return answer.status;
}

int on_stream(Call call, cudaStream_t stream) {
  Writer fields;
  fields.u64(number(stream));
  return Link::instance().ask_status(call, fields);
}

int on_event(Call call, cudaEvent_t event) {
  Writer fields;
  fields.u64(number(event));
  return Link::instance().ask_status(call, fields);
}

}  // namespace

namespace terrace::cudart {

int done(int status) {
  if (status != kSuccess) last_error = status;
  return status;
}

int unserved(const char* call) {
  static auto* said = new std::set<std::string>;
  const std::lock_guard guard(Link::instance().lock);
  if (said->insert(call).second) say(std::string(call) + " is not supported");
  return kNotSupported;
}

}  // namespace terrace::cudart

TERRACE_API int cudaGetLastError() {
  const int error = last_error;
  // A fault of a kernel stays.
  if (error < 700 || error > 719 || error == 701) last_error = kSuccess;
  return error;
}
TERRACE_API int cudaPeekAtLastError() {
  return last_error;
}
TERRACE_API const char* cudaGetErrorString(int error) {
  for (const ErrorText& each : kErrors)
    if (each.number == error) return each.text;
  return "unrecognized error code";
}
TERRACE_API const char* cudaGetErrorName(int error) {
  for (const ErrorText& each : kErrors)
    if (each.number == error) return each.name;
  return "unrecognized error code";
}

TERRACE_API int cudaGetDeviceCount(int* count) {
  *count = Link::instance().device().sms == 0 ? 0 : 1;
  return done(*count == 0 ? kNoDevice : kSuccess);
}
TERRACE_API int cudaGetDevice(int* device) {
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
  if (device != 0 || value == nullptr) return done(kInvalidDevice);
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
TERRACE_API int cudaDeviceSetLimit(int limit, std::size_t value) {
  if (limit != kLimitMallocHeapSize) return kSuccess;
  Writer fields;
  fields.u32(1).u64(value);
  return done(Link::instance().ask_status(Call::kHeapBytes, fields));
}
TERRACE_API int cudaDeviceGetLimit(std::size_t* value, int limit) {
  if (limit == kLimitMallocHeapSize) {
    Writer fields;
    fields.u32(0).u64(0);
    const Answer answer = Link::instance().ask(Call::kHeapBytes, fields);
    *value = answer.reader().u64();
    return done(answer.status);
  }
  // cudaLimitStackSize's default; the others are not bounded here.
  *value = limit == kLimitPrintfFifoSize ? std::size_t{1} << 20 : 1024;
  return kSuccess;
}
TERRACE_API int cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return kSuccess;
}
TERRACE_API int cudaDeviceGetPCIBusId(char* id, int bytes, int) {
  std::strncpy(id, "0000:00:00.0", static_cast<std::size_t>(bytes));
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

TERRACE_API int cudaStreamCreate(cudaStream_t* to) {
  return done(make_stream(to, 0));
}
TERRACE_API int cudaStreamCreateWithFlags(cudaStream_t* to, unsigned flags) {
  return done(make_stream(to, flags));
}
TERRACE_API int cudaStreamCreateWithPriority(cudaStream_t* to, unsigned flags, int) {
  return done(make_stream(to, flags));
}
TERRACE_API int cudaStreamDestroy(cudaStream_t stream) {
  return done(on_stream(Call::kStreamDestroy, stream));
}
TERRACE_API int cudaStreamSynchronize(cudaStream_t stream) {
  return done(on_stream(Call::kStreamWait, stream));
}
/// A program that polls would never see the simulated machine go on: the question waits for the answer.
TERRACE_API int cudaStreamQuery(cudaStream_t stream) {
  return done(on_stream(Call::kStreamWait, stream));
}
TERRACE_API int cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  Writer fields;
  fields.u64(number(stream)).u64(number(event));
  return done(Link::instance().ask_status(Call::kStreamAfterEvent, fields));
}
TERRACE_API int cudaStreamAddCallback(cudaStream_t stream, void (*call)(cudaStream_t, int, void*), void* data,
                                      unsigned) {
  const int status = on_stream(Call::kStreamWait, stream);
  call(stream, status, data);
  return done(status);
}
TERRACE_API int cudaLaunchHostFunc(cudaStream_t stream, void (*call)(void*), void* data) {
  const int status = on_stream(Call::kStreamWait, stream);
  if (status == kSuccess) call(data);
  return done(status);
}
TERRACE_API int cudaStreamGetPriority(cudaStream_t, int* priority) {
  *priority = 0;
  return kSuccess;
}
TERRACE_API int cudaStreamAttachMemAsync(cudaStream_t, void*, std::size_t, unsigned) {
  return kSuccess;
}

TERRACE_API int cudaEventCreateWithFlags(cudaEvent_t* to, unsigned) {
  if (to == nullptr) return done(kInvalidValue);
  const Answer answer = Link::instance().ask(Call::kEventCreate, {});
  if (answer.status == kSuccess) *to = reinterpret_cast<cudaEvent_t>(answer.reader().u64());
  return done(answer.status);
}
TERRACE_API int cudaEventCreate(cudaEvent_t* to) {
  return cudaEventCreateWithFlags(to, 0);
}
TERRACE_API int cudaEventDestroy(cudaEvent_t event) {
  return done(on_event(Call::kEventDestroy, event));
}
TERRACE_API int cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  Writer fields;
  fields.u64(number(event)).u64(number(stream));
  return done(Link::instance().ask_status(Call::kEventRecord, fields));
}
TERRACE_API int cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return cudaEventRecord(event, stream);
}
TERRACE_API int cudaEventSynchronize(cudaEvent_t event) {
  return done(on_event(Call::kEventWait, event));
}
TERRACE_API int cudaEventQuery(cudaEvent_t event) {
  return done(on_event(Call::kEventWait, event));
}
TERRACE_API int cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  Writer fields;
  fields.u64(number(from)).u64(number(to));
  const Answer answer = Link::instance().ask(Call::kEventElapsed, fields);
  if (answer.status != kSuccess) return done(answer.status);
  Reader cycles = answer.reader();
  const auto began = static_cast<std::int64_t>(cycles.u64()), ended = static_cast<std::int64_t>(cycles.u64());
  *milliseconds =
      static_cast<float>(static_cast<double>(ended - began) / (Link::instance().device().core_mhz * 1000.0));
  return kSuccess;
}
TERRACE_API int cudaEventElapsedTime_v2(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  return cudaEventElapsedTime(milliseconds, from, to);
}
