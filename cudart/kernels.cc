// Registration of device code, launches, and what programs may ask about kernels and symbols.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <vector>

#include "api.h"

using namespace terrace::cudart;

TERRACE_API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host, int threads,
                                                              std::size_t shared);

namespace {

struct Configuration {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t stream;
};
thread_local std::vector<Configuration> configurations;

/// cudaFuncAttributes of CUDA 12 and 13, without what is reserved.
struct FunctionAttributes {
  std::size_t shared, constant, local;
  int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared, carveout;
  int cluster_must_be_set, cluster_size[3], cluster_policy, large_clusters;
};

// What cudaLaunchAttribute and cudaFuncAttribute number.
enum LaunchAttributeNumber : int {
  kIgnoredAttribute = 0,
  kAccessPolicyWindow = 1,
  kCooperative = 2,
  kSynchronizationPolicy = 3,
  kClusterDimension = 4,
  kClusterPolicy = 5,
  kProgrammaticSerialization = 6,
  kProgrammaticEvent = 7,
  kPriority = 8,
  kMemoryDomainMap = 9,
  kMemoryDomain = 10,
  kPreferredClusterDimension = 11,
  kCompletionEvent = 12,
  kLaunchCarveout = 14,
  kLinkScheduling = 16,
};
enum FunctionAttributeNumber : int {
  kMostDynamicShared = 8,
  kCarveout = 9,
  kFirstClusterAttribute = 10,
  kLastClusterAttribute = 15,
};

/// Dynamic shared memory that a block may have.
std::size_t most_dynamic_shared(const Kernel& kernel) {
  if (kernel.most_dynamic_shared >= 0) return static_cast<std::size_t>(kernel.most_dynamic_shared);
  const std::size_t usual = std::min<std::size_t>(kUsualSharedBytes, Link::instance().device().sm_shared_bytes);
  return usual - std::min<std::size_t>(usual, kernel.static_shared);
}

/// Blocks of a cooperative grid may wait for each other, so all must fit on the GPU together.
int check_fits(const void* host, dim3 grid, dim3 block, std::size_t shared) {
  constexpr int kCooperativeLaunchTooLarge = 720;
  int on_sm = 0;
  const unsigned long long blocks = 1ULL * grid.x * grid.y * grid.z, threads = 1ULL * block.x * block.y * block.z;
  if (const int status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&on_sm, host, static_cast<int>(threads), shared);
      status != kSuccess)
    return status;
  return blocks > 1ULL * Link::instance().device().sms * static_cast<unsigned>(on_sm) ? kCooperativeLaunchTooLarge
                                                                                      : kSuccess;
}

/// Whether a launch with the attribute is what it would be without.
int accept(const LaunchAttribute& attribute) {
  switch (attribute.which) {
    case kIgnoredAttribute:
    case kProgrammaticEvent:  // recorded when the kernel has ended
    case kCompletionEvent:
    case kAccessPolicyWindow:
    case kSynchronizationPolicy:
    case kClusterPolicy:
    case kProgrammaticSerialization:  // allows to begin early, does not ask for it
    case kPriority:
    case kMemoryDomainMap:
    case kMemoryDomain:
    case kLaunchCarveout:
    case kLinkScheduling:
      return kSuccess;
    case kCooperative:  // whether its blocks fit is checked for the launch
      return kSuccess;
    case kClusterDimension:
    case kPreferredClusterDimension: {
      const unsigned* size = attribute.value.size;
      const bool alone = size[0] == 1 && size[1] == 1 && size[2] == 1;
      return alone ? kSuccess : unserved("cudaLaunchKernelExC with clusters of blocks");
    }
    default:
      return unserved("an attribute of cudaLaunchKernelExC");
  }
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
  if (shared > most_dynamic_shared(kernel)) return kInvalidValue;
  if (const int status = link.send_managed(number(stream)); status != kSuccess) return status;
  Writer fields;
  fields.u32(kernel.number).u32(grid.x).u32(grid.y).u32(grid.z).u32(block.x).u32(block.y).u32(block.z);
  fields.u64(shared).u64(number(stream)).u32(static_cast<std::uint32_t>(kernel.sizes.size()));
  for (std::size_t i = 0; i < kernel.sizes.size(); ++i) fields.data(arguments[i], kernel.sizes[i]);
  return link.ask_status(Call::kLaunch, fields);
}

int launch(const LaunchConfiguration* how, const void* host, void** arguments, cudaStream_t stream) {
  if (how == nullptr || (how->attributes == nullptr && how->attribute_count > 0)) return kInvalidValue;
  Kernel* kernel = Link::instance().kernel(host);
  if (kernel == nullptr) return kInvalidDeviceFunction;
  const LaunchAttribute* const end = how->attributes + how->attribute_count;
  for (const LaunchAttribute* each = how->attributes; each != end; ++each)
    if (const int status = accept(*each); status != kSuccess) return status;
  const bool cooperative = std::any_of(how->attributes, end, [](const LaunchAttribute& each) {
    return each.which == kCooperative && each.value.number != 0;
  });
  if (cooperative) {
    if (const int status = check_fits(host, how->grid, how->block, how->shared); status != kSuccess) return status;
  }
  const int status = launch(*kernel, how->grid, how->block, arguments, how->shared, stream);
  if (status != kSuccess) return status;
  for (const LaunchAttribute* each = how->attributes; each != end; ++each) {
    if (each->which != kProgrammaticEvent && each->which != kCompletionEvent) continue;
    Writer fields;
    fields.u64(number(each->value.event)).u64(number(stream));
    if (const int failed = Link::instance().ask_status(Call::kEventRecord, fields); failed != kSuccess) return failed;
  }
  return kSuccess;
}

int copy_symbol(const void* symbol, void* host, std::size_t bytes, std::size_t offset, int kind, bool to_symbol,
                std::uint64_t stream, bool async) {
  std::uint64_t address = 0;
  std::size_t size = 0;
  const int status = Link::instance().symbol_address(symbol, address, size);
  if (status != kSuccess) return status;
  if (offset > size || bytes > size - offset) return kInvalidValue;
  void* place = reinterpret_cast<void*>(address + offset);
  return to_symbol ? copy(place, bytes, host, bytes, bytes, 1, kind, stream, async)
                   : copy(host, bytes, place, bytes, bytes, 1, kind, stream, async);
}

}  // namespace terrace::cudart

TERRACE_API void** __cudaRegisterFatBinary(void* fat_binary) {
  return Link::instance().add_module(fat_binary);
}
TERRACE_API void __cudaRegisterFatBinaryEnd(void**) {}
TERRACE_API void __cudaUnregisterFatBinary(void**) {}
/// Programs call it before they first touch a __managed__ variable.
TERRACE_API char __cudaInitModule(void** module) {
  return done(Link::instance().load(module)) == kSuccess;
}
TERRACE_API void __cudaRegisterFunction(void** module, const char* host, char*, const char* name, int, void*, void*,
                                        void*, void*, int*) {
  Link::instance().add_kernel(module, host, name);
}
TERRACE_API void __cudaRegisterVar(void** module, char* host, char*, const char* name, int, std::size_t bytes, int,
                                   int) {
  Link::instance().add_symbol(module, host, name, bytes);
}
TERRACE_API void __cudaRegisterManagedVar(void** module, void** place, char*, const char* name, int, std::size_t bytes,
                                          int, int) {
  Link::instance().add_managed_symbol(module, place, name, bytes);
}
TERRACE_API void __cudaRegisterHostVar(void**, const char*, char*, std::size_t) {
  unserved("__cudaRegisterHostVar");
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

TERRACE_API int cudaLaunchKernel(const void* host, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                 cudaStream_t stream) {
  Kernel* kernel = Link::instance().kernel(host);
  return done(kernel == nullptr ? kInvalidDeviceFunction : launch(*kernel, grid, block, arguments, shared, stream));
}
TERRACE_API int cudaLaunchCooperativeKernel(const void* host, dim3 grid, dim3 block, void** arguments,
                                            std::size_t shared, cudaStream_t stream) {
  if (const int status = check_fits(host, grid, block, shared); status != kSuccess) return done(status);
  return cudaLaunchKernel(host, grid, block, arguments, shared, stream);
}
TERRACE_API int cudaLaunchKernelExC(const LaunchConfiguration* how, const void* host, void** arguments) {
  return done(launch(how, host, arguments, how == nullptr ? nullptr : how->stream));
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
TERRACE_API int cudaGetKernel(void** kernel, const void* host) {
  return done(kernel == nullptr ? kInvalidValue : __cudaGetKernel(kernel, host));
}
TERRACE_API int cudaFuncGetName(const char** name, const void* host) {
  const Kernel* kernel = Link::instance().kernel(host);
  if (name == nullptr) return done(kInvalidValue);
  if (kernel == nullptr) return done(kInvalidDeviceFunction);
  *name = kernel->name.c_str();
  return kSuccess;
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
  to->max_dynamic_shared = static_cast<int>(most_dynamic_shared(*kernel));
  to->carveout = kernel->carveout;
  return kSuccess;
}
TERRACE_API int cudaFuncSetAttribute(const void* host, int which, int value) {
  Link& link = Link::instance();
  const std::lock_guard guard(link.lock);
  Kernel* kernel = link.kernel(host);
  if (kernel == nullptr) return done(kInvalidDeviceFunction);
  if (const int status = link.prepare(*kernel); status != kSuccess) return done(status);
  if (which == kMostDynamicShared) {
    const std::size_t most = link.device().sm_shared_bytes - kernel->static_shared;
    if (value < 0 || static_cast<std::size_t>(value) > most) return done(kInvalidValue);
    kernel->most_dynamic_shared = value;
    return kSuccess;
  }
  if (which == kCarveout) {
    if (value < -1 || value > 100) return done(kInvalidValue);  // percent, or no preference
    kernel->carveout = value;
    return kSuccess;
  }
  if (which >= kFirstClusterAttribute && which <= kLastClusterAttribute)
    return done(unserved("cudaFuncSetAttribute of clusters of blocks"));
  return done(kInvalidValue);
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
  return done(copy_symbol(symbol, const_cast<void*>(from), bytes, offset, kind, true, 0, false));
}
TERRACE_API int cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset, int kind) {
  return done(copy_symbol(symbol, to, bytes, offset, kind, false, 0, false));
}
TERRACE_API int cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                                        int kind, cudaStream_t stream) {
  return done(copy_symbol(symbol, const_cast<void*>(from), bytes, offset, kind, true, number(stream), true));
}
TERRACE_API int cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes, std::size_t offset, int kind,
                                          cudaStream_t stream) {
  return done(copy_symbol(symbol, to, bytes, offset, kind, false, number(stream), true));
}
