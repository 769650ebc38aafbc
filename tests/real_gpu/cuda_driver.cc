// SPDX-License-Identifier: MIT
#include "real_gpu/cuda_driver.h"

#include <dlfcn.h>

#include <algorithm>

#include "engine/check.h"

namespace terrace::real_gpu {
namespace {

using Result = int;

/// A function of the driver, looked up when first called; `_v2` and its like are part of the exported names.
template <class... Args>
class Function {
 public:
  explicit Function(const char* name) : name_(name) {}

  Result attempt(Args... args) {
    static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) input_error("libcuda.so.1 cannot be opened ({}); install an NVIDIA driver", dlerror());
    if (!function_) function_ = reinterpret_cast<Result (*)(Args...)>(dlsym(library, name_));
    if (!function_) input_error("libcuda.so.1 has no {}; install a newer NVIDIA driver", name_);
    return function_(args...);
  }
  void operator()(Args... args) {
    if (const Result result = attempt(args...); result != 0) explain(result);
  }

 private:
  [[noreturn]] void explain(Result result) const;

  const char* name_;
  Result (*function_)(Args...) = nullptr;
};

Function<Result, const char**> error_text("cuGetErrorString");
Function<unsigned> init("cuInit");
Function<int*, int> device_get("cuDeviceGet");
Function<char*, int, int> device_name("cuDeviceGetName");
Function<void**, int> retain_context("cuDevicePrimaryCtxRetain");
Function<void*> set_context("cuCtxSetCurrent");
Function<> synchronize("cuCtxSynchronize");
Function<u64*, std::size_t> mem_alloc("cuMemAlloc_v2");
Function<std::size_t*, std::size_t*> mem_info("cuMemGetInfo_v2");
Function<u64> mem_free("cuMemFree_v2");
Function<u64, unsigned char, std::size_t> mem_set("cuMemsetD8_v2");
Function<u64, const void*, std::size_t> to_device("cuMemcpyHtoD_v2");
Function<void*, u64, std::size_t> to_host("cuMemcpyDtoH_v2");
Function<void**, const void*> module_load("cuModuleLoadData");
Function<void*> module_unload("cuModuleUnload");
Function<u64*, std::size_t*, void*, const char*> module_global("cuModuleGetGlobal_v2");
Function<void**, void*, const char*> module_function("cuModuleGetFunction");
Function<void*, int, int> set_attribute("cuFuncSetAttribute");
Function<int*, int, void*> function_attribute("cuFuncGetAttribute");
Function<int*, void*, int, std::size_t> most_blocks("cuOccupancyMaxActiveBlocksPerMultiprocessor");
Function<void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**>
    launch_kernel("cuLaunchKernel");
Function<int*, int, int> device_attribute("cuDeviceGetAttribute");
Function<void**, unsigned> stream_create("cuStreamCreate");
Function<void*> stream_synchronize("cuStreamSynchronize");
Function<u64, u64, std::size_t, void*> copy_async("cuMemcpyDtoDAsync_v2");
Function<u64, const void*, std::size_t, void*> to_device_async("cuMemcpyHtoDAsync_v2");
Function<void*, u64, std::size_t, void*> to_host_async("cuMemcpyDtoHAsync_v2");
Function<void**, unsigned> event_create("cuEventCreate");
Function<void*, void*> event_record("cuEventRecord");
Function<float*, void*, void*> event_elapsed("cuEventElapsedTime");

template <class... Args>
void Function<Args...>::explain(Result result) const {
  const char* text = nullptr;
  error_text.attempt(result, &text);
  input_error("{} failed on the GPU: error {}, {}", name_, result, text ? text : "unknown to its driver");
}

constexpr int kMaxDynamicShared = 8;             // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr int kStaticShared = 1;                 // CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
constexpr int kLocalBytes = 3;                   // CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES
constexpr int kRegisters = 4;                    // CU_FUNC_ATTRIBUTE_NUM_REGS
constexpr int kMultiprocessors = 16;             // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
constexpr int kThreadsPerMultiprocessor = 39;    // CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR
constexpr unsigned kNonBlockingStream = 1;       // CU_STREAM_NON_BLOCKING
constexpr u32 kSharedWithoutAsking = 48 * 1024;  // a block may have this much by default (CUDA programming guide)

}  // namespace

struct Gpu::Module {};
struct Gpu::Stream {};
struct Gpu::Event {};

namespace {

/// The kernel of a launch, with as much shared memory as that asks for.
void* function_of(Gpu::Module* module, const Launch& launch) {
  void* kernel = nullptr;
  module_function(&kernel, module, launch.kernel.c_str());
  if (launch.dynamic_shared_bytes > kSharedWithoutAsking)
    set_attribute(kernel, kMaxDynamicShared, static_cast<int>(launch.dynamic_shared_bytes));
  return kernel;
}

}  // namespace

Gpu::Gpu() {
  init(0);
  int device = 0;
  device_get(&device, 0);
  void* context = nullptr;
  retain_context(&context, device);
  set_context(context);
}

std::string Gpu::name() const {
  char text[128] = {};
  device_name(text, sizeof text - 1, 0);
  return text;
}

Gpu::Address Gpu::allocate(u64 bytes) {
  Address address = 0;
  mem_alloc(&address, std::max<u64>(bytes, 1));
  mem_set(address, 0, std::max<u64>(bytes, 1));
  return address;
}

void Gpu::release(Address address) {
  mem_free(address);
}

void Gpu::upload(Address to, const void* from, u64 bytes) {
  to_device(to, from, bytes);
}

void Gpu::download(void* to, Address from, u64 bytes) {
  to_host(to, from, bytes);
}

Gpu::Module* Gpu::load(const std::string& image) {
  void* module = nullptr;
  module_load(&module, image.c_str());
  return static_cast<Module*>(module);
}

void Gpu::unload(Module* module) {
  module_unload(module);
}

Gpu::Address Gpu::variable(Module* module, const std::string& name) {
  Address address = 0;
  std::size_t bytes = 0;
  return module_global.attempt(&address, &bytes, module, name.c_str()) == 0 ? address : 0;
}

void Gpu::launch(Module* module, const Launch& launch) {
  start(module, launch, nullptr);
  synchronize();
}

Gpu::Needs Gpu::needs(Module* module, const Launch& launch) {
  void* const kernel = function_of(module, launch);
  const auto attribute = [&](int which) {
    int value = 0;
    function_attribute(&value, which, kernel);
    return static_cast<u32>(value);
  };
  int blocks = 0;
  most_blocks(&blocks, kernel, static_cast<int>(launch.block.count()), launch.dynamic_shared_bytes);
  return {attribute(kRegisters), attribute(kStaticShared) + launch.dynamic_shared_bytes, attribute(kLocalBytes),
          static_cast<u32>(blocks)};
}

void Gpu::start(Module* module, const Launch& launch, Stream* stream) {
  if (launch.blocks() != launch.grid.count())
    input_error("{}: a GPU launches whole grids; run it with slice=1", launch.kernel);
  void* const kernel = function_of(module, launch);
  std::vector<void*> arguments;
  for (const KernelArgument& argument : launch.arguments) arguments.push_back(const_cast<u8*>(argument.bytes.data()));
  launch_kernel(kernel, launch.grid.x, launch.grid.y, launch.grid.z, launch.block.x, launch.block.y, launch.block.z,
                launch.dynamic_shared_bytes, stream, arguments.data(), nullptr);
}

u32 Gpu::sms() const {
  int value = 0;
  device_attribute(&value, kMultiprocessors, 0);
  return static_cast<u32>(value);
}

u32 Gpu::threads_per_sm() const {
  int value = 0;
  device_attribute(&value, kThreadsPerMultiprocessor, 0);
  return static_cast<u32>(value);
}

u64 Gpu::free_bytes() const {
  std::size_t free = 0, total = 0;
  mem_info(&free, &total);
  return free;
}

Gpu::Stream* Gpu::make_stream() {
  void* stream = nullptr;
  stream_create(&stream, kNonBlockingStream);
  return static_cast<Stream*>(stream);
}

void Gpu::start_copy(Address to, Address from, u64 bytes, Stream* stream) {
  copy_async(to, from, bytes, stream);
}

void Gpu::start_upload(Address to, const void* from, u64 bytes, Stream* stream) {
  to_device_async(to, from, bytes, stream);
}

void Gpu::wait(Stream* stream) {
  stream_synchronize(stream);
}

void Gpu::download_now(void* to, Address from, u64 bytes, Stream* stream) {
  to_host_async(to, from, bytes, stream);
  stream_synchronize(stream);
}

Gpu::Event* Gpu::make_event() {
  void* event = nullptr;
  event_create(&event, 0);
  return static_cast<Event*>(event);
}

void Gpu::record(Event* event, Stream* stream) {
  event_record(event, stream);
}

double Gpu::milliseconds(Event* from, Event* to) {
  float result = 0;
  event_elapsed(&result, from, to);
  return double{result};
}

}  // namespace terrace::real_gpu
