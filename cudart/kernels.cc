// Registration of device code, launches, and what programs may ask about kernels and symbols.
// SPDX-License-Identifier: MIT
#include <cstring>
#include <vector>

#include "api.h"

using namespace terrace::cudart;

namespace {

struct Configuration {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t stream;
};
thread_local std::vector<Configuration> configurations;

/// cudaFuncAttributes as far as all versions agree.
struct FunctionAttributes {
  std::size_t shared, constant, local;
  int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared, carveout;
};

/// cudaLaunchConfig_t.
struct LaunchConfiguration {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t stream;
  void* attributes;
  unsigned attribute_count;
};

int copy_symbol(const void* symbol, void* host, std::size_t bytes, std::size_t offset, int kind, bool to_symbol,
                cudaStream_t stream, bool async) {
  std::uint64_t address = 0;
  std::size_t size = 0;
  const int status = Link::instance().symbol_address(symbol, address, size);
  if (status != kSuccess) return status;
  if (offset > size || bytes > size - offset) return kInvalidValue;
  void* place = reinterpret_cast<void*>(address + offset);
  return to_symbol ? copy(place, bytes, host, bytes, bytes, 1, kind, number(stream), async)
                   : copy(host, bytes, place, bytes, bytes, 1, kind, number(stream), async);
}

__attribute__((destructor)) void end() {
  Link::instance().goodbye();
}

}  // namespace

namespace terrace::cudart {

int launch(Kernel& kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared, cudaStream_t stream) {
  Link& link = Link::instance();
  const std::lock_guard guard(link.lock);
  if (const int status = link.prepare(kernel); status != kSuccess) return status;
  if (const int status = link.send_managed(number(stream)); status != kSuccess) return status;
  Writer fields;
  fields.u32(kernel.number).u32(grid.x).u32(grid.y).u32(grid.z).u32(block.x).u32(block.y).u32(block.z);
  fields.u64(shared).u64(number(stream)).u32(static_cast<std::uint32_t>(kernel.sizes.size()));
  for (std::size_t i = 0; i < kernel.sizes.size(); ++i) fields.data(arguments[i], kernel.sizes[i]);
  return link.ask_status(Call::kLaunch, fields);
}

}  // namespace terrace::cudart

TERRACE_API void** __cudaRegisterFatBinary(void* fat_binary) {
  return Link::instance().add_module(fat_binary);
}
TERRACE_API void __cudaRegisterFatBinaryEnd(void**) {}
TERRACE_API void __cudaUnregisterFatBinary(void**) {}
TERRACE_API char __cudaInitModule(void**) {
  return 0;
}
TERRACE_API void __cudaRegisterFunction(void** module, const char* host, char*, const char* name, int, void*, void*,
                                        void*, void*, int*) {
  Link::instance().add_kernel(module, host, name);
}
TERRACE_API void __cudaRegisterVar(void** module, char* host, char*, const char* name, int, std::size_t bytes, int,
                                   int) {
  Link::instance().add_symbol(module, host, name, bytes);
}
TERRACE_API void __cudaRegisterManagedVar(void**, void**, char*, const char* name, int, std::size_t, int, int) {
  say(std::string("the __managed__ variable ") + name + " is not supported");
}
TERRACE_API void __cudaRegisterTexture(void**, const void*, const void**, const char*, int, int, int) {
  unserved("__cudaRegisterTexture");
}
TERRACE_API void __cudaRegisterSurface(void**, const void*, const void**, const char*, int, int) {
  unserved("__cudaRegisterSurface");
}
TERRACE_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, cudaStream_t stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}
TERRACE_API int __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  if (configurations.empty()) return done(kInvalidConfiguration);
  const Configuration last = configurations.back();
  configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return kSuccess;
}

TERRACE_API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host, int threads,
                                                              std::size_t shared);
TERRACE_API int cudaLaunchKernel(const void* host, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                 cudaStream_t stream) {
  Kernel* kernel = Link::instance().kernel(host);
  return done(kernel == nullptr ? kInvalidDeviceFunction : launch(*kernel, grid, block, arguments, shared, stream));
}
TERRACE_API int cudaLaunchKernel_ptsz(const void* host, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                      cudaStream_t stream) {
  return cudaLaunchKernel(host, grid, block, arguments, shared, stream);
}
/// Its blocks may wait for each other, so all must fit on the GPU together.
TERRACE_API int cudaLaunchCooperativeKernel(const void* host, dim3 grid, dim3 block, void** arguments,
                                            std::size_t shared, cudaStream_t stream) {
  int on_sm = 0;
  const unsigned long long blocks = 1ULL * grid.x * grid.y * grid.z, threads = 1ULL * block.x * block.y * block.z;
  if (const int status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&on_sm, host, static_cast<int>(threads), shared);
      status != kSuccess)
    return status;
  constexpr int kTooLarge = 720;
  if (blocks > 1ULL * Link::instance().device().sms * static_cast<unsigned>(on_sm)) return done(kTooLarge);
  return cudaLaunchKernel(host, grid, block, arguments, shared, stream);
}
TERRACE_API int cudaLaunchCooperativeKernel_ptsz(const void* host, dim3 grid, dim3 block, void** arguments,
                                                 std::size_t shared, cudaStream_t stream) {
  return cudaLaunchCooperativeKernel(host, grid, block, arguments, shared, stream);
}
TERRACE_API int cudaLaunchKernelExC(const LaunchConfiguration* how, const void* host, void** arguments) {
  // Attributes: priorities and hints change nothing here; clusters and cooperative grids would.
  if (how == nullptr) return done(kInvalidValue);
  if (how->attribute_count > 0) return done(unserved("cudaLaunchKernelExC with attributes"));
  return cudaLaunchKernel(host, how->grid, how->block, arguments, how->shared, how->stream);
}
/// What compilers of CUDA 13 call instead.
TERRACE_API int __cudaGetKernel(void** kernel, const void* host) {
  *kernel = Link::instance().kernel(host);
  return *kernel == nullptr ? kInvalidDeviceFunction : kSuccess;
}
TERRACE_API int __cudaLaunchKernel(void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                   cudaStream_t stream) {
  if (kernel == nullptr) return done(kInvalidDeviceFunction);
  return done(launch(*static_cast<Kernel*>(kernel), grid, block, arguments, shared, stream));
}
TERRACE_API int __cudaLaunchKernel_ptsz(void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                        cudaStream_t stream) {
  return __cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

TERRACE_API int cudaFuncGetAttributes(FunctionAttributes* to, const void* host) {
  Kernel* kernel = Link::instance().kernel(host);
  if (kernel == nullptr || to == nullptr) return done(kInvalidDeviceFunction);
  if (const int status = Link::instance().prepare(*kernel); status != kSuccess) return done(status);
  *to = {};
  to->shared = kernel->static_shared;
  to->local = kernel->local;
  to->max_threads = kernel->max_threads != 0 ? static_cast<int>(kernel->max_threads) : 1024;
  to->registers = static_cast<int>(kernel->registers);
  to->ptx_version = to->binary_version = 90;
  to->max_dynamic_shared = static_cast<int>(Link::instance().device().sm_shared_bytes - kernel->static_shared);
  return kSuccess;
}
TERRACE_API int cudaFuncSetAttribute(const void* host, int, int) {
  return done(Link::instance().kernel(host) == nullptr ? kInvalidDeviceFunction : kSuccess);
}
TERRACE_API int cudaFuncSetCacheConfig(const void*, int) {
  return kSuccess;
}
TERRACE_API int cudaFuncSetSharedMemConfig(const void*, int) {
  return kSuccess;
}
TERRACE_API int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* host, int threads,
                                                                       std::size_t shared, unsigned) {
  Kernel* kernel = Link::instance().kernel(host);
  if (kernel == nullptr) return done(kInvalidDeviceFunction);
  if (blocks == nullptr || threads <= 0) return done(kInvalidValue);
  if (const int status = Link::instance().prepare(*kernel); status != kSuccess) return done(status);
  Writer fields;
  fields.u32(kernel->number).u64(static_cast<std::uint64_t>(threads)).u64(shared);
  const Answer answer = Link::instance().ask(Call::kOccupancy, fields);
  *blocks = static_cast<int>(answer.reader().u32());
  return done(answer.status);
}
TERRACE_API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host, int threads,
                                                              std::size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, threads, shared, 0);
}
TERRACE_API int cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, const void* host, int blocks, int) {
  Kernel* kernel = Link::instance().kernel(host);
  if (kernel == nullptr) return done(kInvalidDeviceFunction);
  if (bytes == nullptr || blocks <= 0) return done(kInvalidValue);
  if (const int status = Link::instance().prepare(*kernel); status != kSuccess) return done(status);
  const std::size_t each = Link::instance().device().sm_shared_bytes / static_cast<unsigned>(blocks);
  *bytes = each > kernel->static_shared ? each - kernel->static_shared : 0;
  return kSuccess;
}

TERRACE_API int cudaGetSymbolAddress(void** address, const void* symbol) {
  std::uint64_t found = 0;
  std::size_t bytes = 0;
  const int status = Link::instance().symbol_address(symbol, found, bytes);
  if (status == kSuccess) *address = reinterpret_cast<void*>(found);
  return done(status);
}
TERRACE_API int cudaGetSymbolSize(std::size_t* bytes, const void* symbol) {
  std::uint64_t found = 0;
  return done(Link::instance().symbol_address(symbol, found, *bytes));
}
TERRACE_API int cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                                   int kind) {
  return done(copy_symbol(symbol, const_cast<void*>(from), bytes, offset, kind, true, nullptr, false));
}
TERRACE_API int cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset, int kind) {
  return done(copy_symbol(symbol, to, bytes, offset, kind, false, nullptr, false));
}
TERRACE_API int cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                                        int kind, cudaStream_t stream) {
  return done(copy_symbol(symbol, const_cast<void*>(from), bytes, offset, kind, true, stream, true));
}
TERRACE_API int cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes, std::size_t offset, int kind,
                                          cudaStream_t stream) {
  return done(copy_symbol(symbol, to, bytes, offset, kind, false, stream, true));
}
