// A CUDA program that makes the calls which tests/cuda/api.cu does not: copies and fills of every shape, now and in a stream, with
// one default stream and with one for each thread; launches with attributes; what may be asked about streams, kernels and devices.
// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_mini.h"
#include "expect.h"

enum { kInvalidValue = 1, kInvalidPitch = 12, kInvalidFunction = 98, kInvalidDevice = 101, kUnsupportedLimit = 215 };
enum {
  kInvalidHandle = 400,
  kCooperativeTooLarge = 720,
  kAlreadyRegistered = 712,
  kNotRegistered = 713,
  kNotSupported = 801
};

__device__ int values[8];
__global__ void add(int* data, int count, int by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] += by;
}
__global__ void reverse(int* data) {
  extern __shared__ int kept[];
  kept[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = kept[blockDim.x - 1 - threadIdx.x];
}

/// The calls that exist twice. Those without a stream stand for both in one form.
struct Calls {
  decltype(&cudaLaunchKernel) launch;
  decltype(&cudaLaunchKernelExC) launch_with;
  decltype(&cudaMallocAsync) allocate;
  decltype(&cudaFreeAsync) release;
  decltype(&cudaMemcpyAsync) copy;
  decltype(&cudaMemcpy2DAsync) copy_rows;
  decltype(&cudaMemcpy3DAsync) copy_box;
  decltype(&cudaMemcpy3DPeerAsync) copy_peer_box;
  decltype(&cudaMemcpyToSymbolAsync) to_symbol;
  decltype(&cudaMemcpyFromSymbolAsync) from_symbol;
  decltype(&cudaMemsetAsync) fill;
  decltype(&cudaMemset2DAsync) fill_rows;
  decltype(&cudaMemset3DAsync) fill_box;
  decltype(&cudaMemPrefetchAsync) prefetch;
  decltype(&cudaStreamSynchronize) wait;
  decltype(&cudaStreamQuery) query;
  decltype(&cudaStreamWaitEvent) wait_event;
  decltype(&cudaStreamAddCallback) call_back;
  decltype(&cudaLaunchHostFunc) host_function;
  decltype(&cudaStreamGetPriority) priority;
  decltype(&cudaStreamGetFlags) flags;
  decltype(&cudaStreamGetId) id;
  decltype(&cudaStreamGetDevice) device;
  decltype(&cudaStreamIsCapturing) captures;
  decltype(&cudaStreamAttachMemAsync) attach;
  decltype(&cudaEventRecord) record;
  decltype(&cudaEventRecordWithFlags) record_with;
  decltype(&cudaMemcpy) copy_now;
  decltype(&cudaMemcpy2D) copy_rows_now;
  decltype(&cudaMemcpy3D) copy_box_now;
  decltype(&cudaMemcpy3DPeer) copy_peer_box_now;
  decltype(&cudaMemcpyToSymbol) to_symbol_now;
  decltype(&cudaMemcpyFromSymbol) from_symbol_now;
  decltype(&cudaMemset) fill_now;
  decltype(&cudaMemset2D) fill_rows_now;
  decltype(&cudaMemset3D) fill_box_now;
};
#define CALLS(async, now)            \
  {cudaLaunchKernel##async,          \
   cudaLaunchKernelExC##async,       \
   cudaMallocAsync##async,           \
   cudaFreeAsync##async,             \
   cudaMemcpyAsync##async,           \
   cudaMemcpy2DAsync##async,         \
   cudaMemcpy3DAsync##async,         \
   cudaMemcpy3DPeerAsync##async,     \
   cudaMemcpyToSymbolAsync##async,   \
   cudaMemcpyFromSymbolAsync##async, \
   cudaMemsetAsync##async,           \
   cudaMemset2DAsync##async,         \
   cudaMemset3DAsync##async,         \
   cudaMemPrefetchAsync##async,      \
   cudaStreamSynchronize##async,     \
   cudaStreamQuery##async,           \
   cudaStreamWaitEvent##async,       \
   cudaStreamAddCallback##async,     \
   cudaLaunchHostFunc##async,        \
   cudaStreamGetPriority##async,     \
   cudaStreamGetFlags##async,        \
   cudaStreamGetId##async,           \
   cudaStreamGetDevice##async,       \
   cudaStreamIsCapturing##async,     \
   cudaStreamAttachMemAsync##async,  \
   cudaEventRecord##async,           \
   cudaEventRecordWithFlags##async,  \
   cudaMemcpy##now,                  \
   cudaMemcpy2D##now,                \
   cudaMemcpy3D##now,                \
   cudaMemcpy3DPeer##now,            \
   cudaMemcpyToSymbol##now,          \
   cudaMemcpyFromSymbol##now,        \
   cudaMemset##now,                  \
   cudaMemset2D##now,                \
   cudaMemset3D##now}
static const Calls kOneDefault = CALLS(, ), kOnePerThread = CALLS(_ptsz, _ptds);

constexpr int kCount = 64;

static void flat_copies(const Calls& calls) {
  int host[kCount], back[kCount], *device = nullptr, *other = nullptr;
  for (int i = 0; i < kCount; ++i) host[i] = i;
  OK(calls.allocate((void**)&device, sizeof host, 0));
  OK(cudaMalloc((void**)&other, sizeof host));
  // A launch is ahead of each copy and fill, so that they take their turn in the stream.
  int count = kCount, by = 5;
  void* arguments[] = {&device, &count, &by};
  OK(calls.copy(device, host, sizeof host, cudaMemcpyHostToDevice, 0));
  OK(calls.launch((const void*)add, 1, kCount, arguments, 0, 0));
  OK(calls.copy(other, device, sizeof host, cudaMemcpyDeviceToDevice, 0));
  OK(calls.fill(device, 1, 8, 0));
  OK(calls.copy(back, other, sizeof back, cudaMemcpyDeviceToHost, 0));
  OK(calls.wait(0));
  for (int i = 0; i < kCount; ++i) EXPECT(back[i] == i + 5);
  OK(calls.copy_now(back, device, sizeof back, cudaMemcpyDeviceToHost));
  EXPECT(back[0] == 0x01010101 && back[1] == 0x01010101 && back[2] == 7);
  OK(calls.launch((const void*)add, 1, kCount, arguments, 0, 0));
  OK(calls.fill_now(device, 0, 4));
  OK(calls.copy_now(back, device, sizeof back, cudaMemcpyDeviceToHost));
  EXPECT(back[0] == 0 && back[2] == 12);
  OK(cudaMemcpyPeer(other, 0, device, 0, sizeof back));
  OK(cudaMemcpyPeerAsync(other + 1, 0, device, 0, 4, 0));
  OK(calls.copy_now(back, other, sizeof back, cudaMemcpyDeviceToHost));
  EXPECT(back[0] == 0 && back[1] == 0 && back[2] == 12);
  REFUSED(cudaMemcpyPeer(other, 1, device, 0, 4), kInvalidDevice);
  REFUSED(cudaMemcpyPeerAsync(other, 0, device, 1, 4, 0), kInvalidDevice);
  OK(calls.to_symbol_now(&values, host, 16, 0, cudaMemcpyHostToDevice));
  OK(calls.to_symbol(&values, host + 4, 16, 16, cudaMemcpyHostToDevice, 0));
  OK(calls.from_symbol(back, &values, 32, 0, cudaMemcpyDeviceToHost, 0));
  OK(calls.query(0));
  EXPECT(memcmp(host, back, 32) == 0);
  OK(calls.from_symbol_now(back, &values, 4, 28, cudaMemcpyDeviceToHost));
  EXPECT(back[0] == 7);
  REFUSED(calls.to_symbol_now(&values, host, 32, 4, cudaMemcpyHostToDevice), kInvalidValue);
  OK(calls.release(device, 0));
  OK(cudaFree(other));
}

static void pitched_copies(const Calls& calls) {
  constexpr int kWidth = 10, kHeight = 4;
  char rows[kHeight][kWidth], back[kHeight][kWidth];
  for (int i = 0; i < kWidth * kHeight; ++i) rows[i / kWidth][i % kWidth] = (char)i;
  void* device = nullptr;
  size_t pitch = 0;
  OK(cudaMallocPitch(&device, &pitch, kWidth, kHeight));
  OK(calls.copy_rows(device, pitch, rows, kWidth, kWidth, kHeight, cudaMemcpyHostToDevice, 0));
  OK(calls.fill_rows((char*)device + 2, pitch, 77, 3, 2, 0));
  OK(calls.copy_rows(back, kWidth, device, pitch, kWidth, kHeight, cudaMemcpyDeviceToHost, 0));
  OK(calls.wait(0));
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) EXPECT(back[y][x] == (y < 2 && x >= 2 && x < 5 ? 77 : rows[y][x]));
  OK(calls.copy_rows_now(device, pitch, rows, kWidth, kWidth, kHeight, cudaMemcpyHostToDevice));
  OK(calls.fill_rows_now((char*)device + pitch, pitch, 78, 1, 1));
  OK(calls.copy_rows_now(back, kWidth, device, pitch, kWidth, kHeight, cudaMemcpyDeviceToHost));
  EXPECT(back[0][0] == 0 && back[1][0] == 78 && back[1][1] == 11 && back[2][0] == 20);
  REFUSED(calls.copy_rows(device, 4, rows, kWidth, kWidth, 1, cudaMemcpyHostToDevice, 0), kInvalidPitch);
  OK(cudaFree(device));
}

static void box_copies(const Calls& calls) {
  constexpr size_t kX = 6, kY = 3, kZ = 2;
  unsigned char box[kZ][kY][kX], back[kZ][kY][kX];
  for (size_t i = 0; i < sizeof box; ++i) (&box[0][0][0])[i] = (unsigned char)i;
  const cudaExtent all{kX, kY, kZ};
  cudaPitchedPtr one, two;
  OK(cudaMalloc3D(&one, all));
  OK(cudaMalloc3D(&two, all));
  cudaMemcpy3DParms in{}, out{};
  in.srcPtr = {box, kX, kX, kY};
  in.dstPtr = one;
  in.extent = out.extent = all;
  in.kind = cudaMemcpyHostToDevice;
  out.srcPtr = two;
  out.dstPtr = {back, kX, kX, kY};
  out.kind = cudaMemcpyDeviceToHost;
  cudaMemcpy3DPeerParms over{};
  over.srcPtr = one;
  over.dstPtr = two;
  over.extent = all;
  OK(calls.copy_box(&in, 0));
  OK(calls.copy_peer_box(&over, 0));
  // A part of the box: rows and slices outside it keep their bytes.
  OK(calls.fill_box(two, 99, {2, 2, 2}, 0));
  OK(calls.copy_box(&out, 0));
  OK(calls.wait(0));
  for (size_t z = 0; z < kZ; ++z)
    for (size_t y = 0; y < kY; ++y)
      for (size_t x = 0; x < kX; ++x) EXPECT(back[z][y][x] == (x < 2 && y < 2 ? 99 : box[z][y][x]));
  // From inside one box to another place.
  in.srcPos = {1, 1, 1};
  in.dstPos = {3, 0, 0};
  in.extent = {2, 2, 1};
  OK(calls.copy_box_now(&in));
  OK(calls.copy_peer_box_now(&over));
  OK(calls.fill_box_now(two, 98, {1, 1, 1}));
  OK(calls.copy_box_now(&out));
  EXPECT(back[0][0][0] == 98 && back[0][0][3] == box[1][1][1] && back[0][1][4] == box[1][2][2]);
  EXPECT(back[0][2][3] == box[0][2][3] && back[1][0][0] == box[1][0][0]);
  OK(calls.fill_box_now(two, 1, {1, 1, 0}));
  over.dstDevice = 1;
  REFUSED(calls.copy_peer_box(&over, 0), kInvalidDevice);
  OK(cudaFree(one.ptr));
  OK(cudaFree(two.ptr));
}

static void set_flag(void* flag) {
  *(int*)flag = 1;
}
static void set_status(cudaStream_t, cudaError_t status, void* flag) {
  *(int*)flag = status == 0 ? 2 : -1;
}

static void stream_calls(const Calls& calls) {
  int number = -1, called = 0;
  unsigned flags = 9;
  unsigned long long id = 0, other = 0;
  cudaStream_t stream;
  OK(cudaStreamCreateWithPriority(&stream, 1, -1));
  OK(calls.flags(stream, &flags));
  EXPECT(flags == 1);
  OK(calls.flags(0, &flags));
  EXPECT(flags == 0);
  OK(calls.priority(stream, &number));
  OK(calls.device(stream, &number));
  EXPECT(number == 0);
  OK(calls.captures(stream, &number));
  EXPECT(number == 0);
  OK(calls.id(stream, &id));
  OK(calls.id(0, &other));
  EXPECT(id != other);
  cudaEvent_t event, untimed;
  OK(cudaEventCreate(&event));
  OK(cudaEventCreateWithFlags(&untimed, 2));
  OK(calls.record(event, 0));
  OK(calls.record_with(untimed, stream, 0));
  OK(calls.wait_event(0, untimed, 0));
  OK(calls.host_function(0, set_flag, &called));
  EXPECT(called == 1);
  OK(calls.call_back(stream, set_status, &called, 0));
  EXPECT(called == 2);
  float ms = 0;
  OK(cudaEventElapsedTime(&ms, event, event));
  REFUSED(cudaEventElapsedTime(&ms, event, untimed), kInvalidHandle);
  int* managed = nullptr;
  OK(cudaMallocManaged((void**)&managed, 64, 1));
  OK(calls.prefetch(managed, 64, 0, 0));
  OK(calls.attach(stream, managed, 64, 1));
  OK(cudaMemAdvise(managed, 64, 1, 0));
  OK(cudaFree(managed));
  OK(cudaStreamDestroy(stream));
  REFUSED(calls.flags(stream, &flags), kInvalidHandle);
  REFUSED(calls.wait(stream), kInvalidHandle);
  REFUSED(cudaStreamDestroy((cudaStream_t)2), kInvalidHandle);
  OK(cudaEventDestroy(event));
  OK(cudaEventDestroy(untimed));
}

static void attributes(const Calls& calls) {
  int host[kCount], *device = nullptr;
  OK(cudaMalloc((void**)&device, sizeof host));
  OK(cudaMemset(device, 0, sizeof host));
  cudaEvent_t event;
  OK(cudaEventCreate(&event));
  // Hints, a cluster of one block, a grid that is not cooperative, and an event that is recorded behind the kernel.
  cudaLaunchAttribute list[6] = {};
  list[0].id = 8;
  list[0].val.number = -1;
  list[1].id = 4;
  list[1].val.size[0] = list[1].val.size[1] = list[1].val.size[2] = 1;
  list[2].id = 2;
  list[3].id = 12;
  list[3].val.event = event;
  list[4].id = 6;
  list[4].val.number = 1;
  cudaLaunchConfig_t how{};
  how.gridDim = 1;
  how.blockDim = kCount;
  how.attrs = list;
  how.numAttrs = 6;
  int count = kCount, by = 3;
  void* arguments[] = {&device, &count, &by};
  OK(calls.launch_with(&how, (const void*)add, arguments));
  OK(cudaEventSynchronize(event));
  void* kernel = nullptr;
  const char* name = nullptr;
  OK(cudaGetKernel(&kernel, (const void*)add));
  OK(cudaFuncGetName(&name, (const void*)add));
  EXPECT(strcmp(name, "_Z3addPiii") == 0);
  OK(calls.launch(kernel, 1, kCount, arguments, 0, 0));
  OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) EXPECT(host[i] == 6);
  list[1].val.size[0] = 2;
  REFUSED(calls.launch_with(&how, (const void*)add, arguments), kNotSupported);
  list[1].id = 0;
  list[2].val.number = 1;
  OK(calls.launch_with(&how, (const void*)add, arguments));
  how.gridDim = 1 << 20;
  REFUSED(calls.launch_with(&how, (const void*)add, arguments), kCooperativeTooLarge);
  how.gridDim = 1;
  REFUSED(calls.launch_with(nullptr, (const void*)add, arguments), kInvalidValue);
  REFUSED(calls.launch_with(&how, &how, arguments), kInvalidFunction);
  REFUSED(cudaFuncGetName(&name, &how), kInvalidFunction);
  OK(cudaEventDestroy(event));
  OK(cudaFree(device));
}

/// Dynamic shared memory: as much as a block has without asking, and no more, until the program asks.
static void function_attributes() {
  cudaFuncAttributes facts;
  int most = 0, blocks = 0, host[kCount], *device = nullptr;
  size_t bytes = 0;
  const void* kernel = (const void*)reverse;
  OK(cudaDeviceGetAttribute(&most, 97, 0));  // with opting in
  OK(cudaMalloc((void**)&device, sizeof host));
  OK(cudaFuncGetAttributes(&facts, kernel));
  EXPECT(facts.maxDynamicSharedSizeBytes > 0 && facts.maxDynamicSharedSizeBytes <= 48 << 10 && facts.carveout == -1);
  OK(cudaFuncSetAttribute(kernel, 8, 1024));
  OK(cudaFuncGetAttributes(&facts, kernel));
  EXPECT(facts.maxDynamicSharedSizeBytes == 1024);
  reverse<<<1, kCount, 1024>>>(device);
  OK(cudaGetLastError());
  reverse<<<1, kCount, 1028>>>(device);
  EXPECT(cudaGetLastError() == kInvalidValue);
  OK(cudaFuncSetAttribute(kernel, 8, most));
  REFUSED(cudaFuncSetAttribute(kernel, 8, most + 1), kInvalidValue);
  REFUSED(cudaFuncSetAttribute(kernel, 8, -1), kInvalidValue);
  OK(cudaFuncSetAttribute(kernel, 9, 50));
  REFUSED(cudaFuncSetAttribute(kernel, 9, 101), kInvalidValue);
  OK(cudaFuncGetAttributes(&facts, kernel));
  EXPECT(facts.carveout == 50);
  REFUSED(cudaFuncSetAttribute(kernel, 11, 2), kNotSupported);
  REFUSED(cudaFuncSetAttribute(kernel, 99, 2), kInvalidValue);
  OK(cudaFuncSetCacheConfig(kernel, 1));
  OK(cudaFuncSetSharedMemConfig(kernel, 1));
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, kernel, kCount, most, 0));
  EXPECT(blocks == 1);
  OK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, 2, kCount));
  EXPECT(bytes == (size_t)most / 2);
  OK(cudaFree(device));
}

static void host_memory() {
  static char registered[4096];
  cudaPointerAttributes what;
  unsigned flags = 9;
  OK(cudaHostRegister(registered, sizeof registered, 0));
  OK(cudaPointerGetAttributes(&what, registered + 5));
  EXPECT(what.type == 1);
  REFUSED(cudaHostRegister(registered, sizeof registered, 0), kAlreadyRegistered);
  OK(cudaHostGetFlags(&flags, registered));
  EXPECT(flags == 0);
  OK(cudaHostUnregister(registered));
  OK(cudaPointerGetAttributes(&what, registered));
  EXPECT(what.type == 0);
  REFUSED(cudaHostUnregister(registered), kNotRegistered);
  REFUSED(cudaHostRegister(nullptr, 4, 0), kInvalidValue);
}

/// Some fields of CUDA 13's cudaDeviceProp, at their places; the same can be asked one by one.
static void device_properties() {
  struct Field {
    size_t offset;
    int attribute;
  };
  static unsigned char properties[4096];
  OK(cudaGetDeviceProperties(properties, 0));
  const Field fields[] = {{308, 10}, {320, 1},  {384, 16}, {396, 21}, {404, 22}, {560, 31},
                          {584, 40}, {596, 38}, {604, 39}, {672, 97}, {688, 106}};
  for (const Field& field : fields) {
    int value = 0, asked = -1;
    memcpy(&value, properties + field.offset, sizeof value);
    OK(cudaDeviceGetAttribute(&asked, field.attribute, 0));
    if (value != asked || value == 0) fprintf(stderr, "offset %zu has %d, not %d\n", field.offset, value, asked);
    EXPECT(value == asked && value != 0);
  }
}

static void device_calls() {
  int number = -1, other = -1;
  unsigned flags = 9;
  size_t bytes = 0;
  char id[32];
  OK(cudaInitDevice(0, 0, 0));
  OK(cudaChooseDevice(&number, nullptr));
  EXPECT(number == 0);
  OK(cudaSetDeviceFlags(0));
  OK(cudaGetDeviceFlags(&flags));
  OK(cudaSetValidDevices(&number, 1));
  OK(cudaDeviceSetCacheConfig(1));
  OK(cudaDeviceGetCacheConfig(&number));
  OK(cudaDeviceSetSharedMemConfig(1));
  OK(cudaDeviceGetSharedMemConfig(&number));
  OK(cudaDeviceSetLimit(0, 4096));
  OK(cudaDeviceGetLimit(&bytes, 0));
  EXPECT(bytes == 4096);
  REFUSED(cudaDeviceSetLimit(0, (512 << 10) + 1), kInvalidValue);  // more than a thread's local memory
  REFUSED(cudaDeviceSetLimit(70, 1), kUnsupportedLimit);
  REFUSED(cudaDeviceGetLimit(&bytes, 70), kUnsupportedLimit);
  OK(cudaDeviceCanAccessPeer(&number, 0, 0));
  EXPECT(number == 0);
  REFUSED(cudaDeviceCanAccessPeer(&number, 0, 1), kInvalidDevice);
  REFUSED(cudaDeviceEnablePeerAccess(1, 0), kInvalidDevice);
  REFUSED(cudaDeviceDisablePeerAccess(1), kInvalidDevice);
  REFUSED(cudaDeviceGetP2PAttribute(&number, 1, 0, 1), kInvalidDevice);
  OK(cudaDeviceGetPCIBusId(id, sizeof id, 0));
  OK(cudaDeviceGetByPCIBusId(&number, id));
  EXPECT(number == 0);
  REFUSED(cudaDeviceGetPCIBusId(id, 3, 0), kInvalidValue);
  REFUSED(cudaDeviceGetByPCIBusId(&number, "0000:77:00.0"), kInvalidDevice);
  OK(cudaDeviceGetStreamPriorityRange(&number, &other));
  OK(cudaDriverGetVersion(&number));
  OK(cudaRuntimeGetVersion(&other));
  EXPECT(number == other && number >= 12000);
  OK(cudaProfilerStart());
  OK(cudaProfilerStop());
  REFUSED(cudaGetDeviceCount(nullptr), kInvalidValue);
  REFUSED(cudaDeviceGetAttribute(nullptr, 16, 0), kInvalidValue);
  REFUSED(cudaDeviceGetAttribute(&number, 16, 1), kInvalidDevice);
  const cudaChannelFormatDesc channels = cudaCreateChannelDesc(8, 16, 32, 1, 2);
  EXPECT(channels.x == 8 && channels.y == 16 && channels.z == 32 && channels.w == 1 && channels.f == 2);
}

static void error_texts() {
  EXPECT(strcmp(cudaGetErrorName(kNotRegistered), "cudaErrorHostMemoryNotRegistered") == 0);
  EXPECT(strcmp(cudaGetErrorString(720), "too many blocks in cooperative launch") == 0);
  EXPECT(strcmp(cudaGetErrorName(716), "cudaErrorMisalignedAddress") == 0);
  EXPECT(strcmp(cudaGetErrorName(915), "cudaErrorInvalidResourceConfiguration") == 0);
  EXPECT(strcmp(cudaGetErrorString(999), "unknown error") == 0);
  EXPECT(strcmp(cudaGetErrorName(-1), "unrecognized error code") == 0);
}

static void* id_of_thread(void* to) {
  OK(cudaStreamGetId_ptsz(0, (unsigned long long*)to));
  return nullptr;
}

/// Each thread has a default stream of its own, which is not the one of the process, and keeps it.
static void threads() {
  unsigned long long ids[3] = {}, again = 0, of_process = 1;
  id_of_thread(&ids[0]);
  id_of_thread(&again);
  EXPECT(ids[0] == again);
  for (int i = 1; i < 3; ++i) {
    pthread_t thread;
    EXPECT(pthread_create(&thread, nullptr, id_of_thread, &ids[i]) == 0);
    EXPECT(pthread_join(thread, nullptr) == 0);
  }
  OK(cudaStreamGetId((cudaStream_t)2, &again));
  OK(cudaStreamGetId(0, &of_process));
  EXPECT(ids[0] == again && of_process == 0);
  EXPECT(ids[0] != 0 && ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2]);
}

static void with(const Calls& calls) {
  flat_copies(calls);
  pitched_copies(calls);
  box_copies(calls);
  stream_calls(calls);
  attributes(calls);
}

int main() {
  with(kOneDefault);
  with(kOnePerThread);
  function_attributes();
  host_memory();
  device_calls();
  device_properties();
  error_texts();
  threads();
  // What was made before a reset is made again.
  OK(cudaDeviceReset());
  flat_copies(kOnePerThread);
  function_attributes();
  threads();
  printf("all calls passed\n");
  return 0;
}
