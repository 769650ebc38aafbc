// Memory: buffers of the device, pinned and managed memory of the host, copies and fills.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "api.h"

using namespace terrace::cudart;

namespace {

constexpr std::size_t kPitchAlign = 512;

/// Buffers of the device, by address. Guarded by the link's lock.
std::map<std::uintptr_t, std::size_t>& buffers() {
  static auto* all = new std::map<std::uintptr_t, std::size_t>;
  return *all;
}
std::map<std::uintptr_t, std::size_t>& pinned() {
  static auto* all = new std::map<std::uintptr_t, std::size_t>;
  return *all;
}
/// What cudaHostRegister named.
std::map<std::uintptr_t, std::size_t>& registered() {
  static auto* all = new std::map<std::uintptr_t, std::size_t>;
  return *all;
}
bool within(const std::map<std::uintptr_t, std::size_t>& all, const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  auto found = all.upper_bound(at);
  if (found == all.begin()) return false;
  --found;
  return at - found->first < found->second;
}
/// Where buffers and variables of the device lie (GuestMemory::kBase and what follows).
bool on_device(const void* address) {
  constexpr std::uintptr_t kFirst = std::uintptr_t{1} << 32, kBytes = std::uintptr_t{32} << 30;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  return at - kFirst < kBytes;
}

int allocate(void** to, std::size_t bytes) {
  if (to == nullptr) return kInvalidValue;
  if (bytes == 0) return *to = nullptr, kSuccess;
  Link& link = Link::instance();
  const std::lock_guard guard(link.lock);
  Writer fields;
  fields.u64(bytes);
  const Answer answer = link.ask(Call::kAllocate, fields);
  if (answer.status != kSuccess) return answer.status;
  const std::uint64_t address = answer.reader().u64();
  buffers()[address] = bytes;
  *to = reinterpret_cast<void*>(address);
  return kSuccess;
}

int release(void* address) {
  if (address == nullptr) return kSuccess;
  Link& link = Link::instance();
  const std::lock_guard guard(link.lock);
  if (link.is_managed(address)) return link.free_managed(address);
  const auto found = buffers().find(reinterpret_cast<std::uintptr_t>(address));
  if (found == buffers().end()) return kInvalidValue;
  Writer fields;
  fields.u64(found->first);
  buffers().erase(found);
  return link.ask_status(Call::kFree, fields);
}

/// One message's worth: `width` times `rows` is at most what one message carries.
int copy_part(unsigned char* to, std::size_t to_pitch, const unsigned char* from, std::size_t from_pitch,
              std::size_t width, std::size_t rows, bool to_device, bool from_device, std::uint64_t stream, bool async) {
  Link& link = Link::instance();
  const Area target{reinterpret_cast<std::uint64_t>(to), to_pitch, width, rows};
  const Area source{reinterpret_cast<std::uint64_t>(from), from_pitch, width, rows};
  Writer fields;
  if (to_device && from_device) {
    fields.area(target).area(source).u64(stream).u32(0);
    return link.ask_status(Call::kCopy, fields);
  }
  if (to_device) {
    fields.area(target).u64(stream);
    unsigned char* room = fields.room(width * rows);
    for (std::size_t row = 0; row < rows; ++row) std::memcpy(room + row * width, from + row * from_pitch, width);
    return link.ask_status(Call::kWrite, fields);
  }
  const std::uint64_t number = async ? link.expect(to, to_pitch, width, rows) : 0;
  fields.area(source).u64(stream).u32(async ? 0 : 1).u64(number);
  const Answer answer = link.ask(Call::kRead, fields);
  if (answer.status != kSuccess) return link.forget_read(number), answer.status;
  if (async) return kSuccess;
  const auto bytes = answer.reader().data();
  if (bytes.size() != width * rows) return kUnknown;
  for (std::size_t row = 0; row < rows; ++row) std::memcpy(to + row * to_pitch, bytes.data() + row * width, width);
  return kSuccess;
}

}  // namespace

namespace terrace::cudart {

int wait() {
  return Link::instance().ask_status(Call::kWait, {});
}

int copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
         std::size_t height, int kind, std::uint64_t stream, bool async) {
  if (kind < kHostToHost || kind > kByAddress) return kInvalidMemcpyDirection;
  if (width == 0 || height == 0) return kSuccess;
  if (to_pitch < width || from_pitch < width) return kInvalidPitch;
  Link& link = Link::instance();
  const std::lock_guard guard(link.lock);
  // Managed memory is copied on this side, when everything before is done.
  const bool managed_to = link.is_managed(to), managed_from = link.is_managed(from);
  const bool to_device =
      !managed_to && (kind == kByAddress ? on_device(to) : kind == kHostToDevice || kind == kDeviceToDevice);
  const bool from_device =
      !managed_from && (kind == kByAddress ? on_device(from) : kind == kDeviceToHost || kind == kDeviceToDevice);
  if (managed_to || managed_from || (!to_device && !from_device)) {
    if (const int status = wait(); status != kSuccess) return status;
    async = false;
  }
  if (!to_device && !from_device) {
    for (std::size_t row = 0; row < height; ++row)
      std::memmove(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width);
    return kSuccess;
  }
  if (to_pitch == width && from_pitch == width) {
    width *= height;
    height = 1;
  }
  const std::size_t columns = to_device && from_device ? width : std::min<std::size_t>(width, cuda::kMostCopyBytes);
  const std::size_t rows = to_device && from_device ? height : std::max<std::size_t>(1, cuda::kMostCopyBytes / width);
  for (std::size_t row = 0; row < height; row += rows) {
    for (std::size_t column = 0; column < width; column += columns) {
      const int status = copy_part(static_cast<unsigned char*>(to) + row * to_pitch + column, to_pitch,
                                   static_cast<const unsigned char*>(from) + row * from_pitch + column, from_pitch,
                                   std::min(columns, width - column), std::min(rows, height - row), to_device,
                                   from_device, stream, async);
      if (status != kSuccess) return status;
    }
  }
  return kSuccess;
}

int fill(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height, std::uint64_t stream) {
  if (width == 0 || height == 0) return kSuccess;
  Link& link = Link::instance();
  const std::lock_guard guard(link.lock);
  if (link.is_managed(to)) {
    if (const int status = wait(); status != kSuccess) return status;
    for (std::size_t row = 0; row < height; ++row) std::memset(static_cast<char*>(to) + row * pitch, value, width);
    return kSuccess;
  }
  Writer fields;
  fields.area({reinterpret_cast<std::uint64_t>(to), pitch, width, height})
      .u64(stream)
      .u32(1)
      .u32(static_cast<std::uint32_t>(value));
  return link.ask_status(Call::kSet, fields);
}

/// Arrays have no depth here, and widths are in texels where an array takes part.
static int copy3d_of_arrays(const Copy3D& how, std::uint64_t stream, bool async) {
  const Array* array = find_array(how.to_array != nullptr ? how.to_array : how.from_array);
  if (array == nullptr) return kInvalidHandle;
  if (how.extent.depth != 1 || how.from_at.z != 0 || how.to_at.z != 0) return kInvalidValue;
  const std::size_t texel = texel_bytes(array->format), width = how.extent.width * texel, height = how.extent.height;
  const auto memory = [](const PitchedPointer& where, const Position& at) {
    return static_cast<char*>(where.first) + at.y * where.pitch + at.x;
  };
  if (how.to_array != nullptr && how.from_array != nullptr)
    return copy_between_arrays(how.to_array, how.to_at.x * texel, how.to_at.y, how.from_array, how.from_at.x * texel,
                               how.from_at.y, width, height, stream);
  if (how.to_array != nullptr)
    return copy_array(how.to_array, how.to_at.x * texel, how.to_at.y, memory(how.from, how.from_at), how.from.pitch,
                      width, height, how.kind, true, stream, async);
  return copy_array(how.from_array, how.from_at.x * texel, how.from_at.y, memory(how.to, how.to_at), how.to.pitch,
                    width, height, how.kind, false, stream, async);
}

int copy3d(const Copy3D* how, std::uint64_t stream, bool async) {
  if (how == nullptr) return kInvalidValue;
  if (how->from_array != nullptr || how->to_array != nullptr) return copy3d_of_arrays(*how, stream, async);
  const auto place = [](const PitchedPointer& where, const Position& at, std::size_t z) {
    return static_cast<char*>(where.first) + ((at.z + z) * where.height + at.y) * where.pitch + at.x;
  };
  for (std::size_t z = 0; z < how->extent.depth; ++z) {
    const int status = copy(place(how->to, how->to_at, z), how->to.pitch, place(how->from, how->from_at, z),
                            how->from.pitch, how->extent.width, how->extent.height, how->kind, stream, async);
    if (status != kSuccess) return status;
  }
  return kSuccess;
}

int copy_peer3d(const PeerCopy3D* how, std::uint64_t stream, bool async) {
  if (how == nullptr) return kInvalidValue;
  if (how->from_device != 0 || how->to_device != 0) return kInvalidDevice;
  const Copy3D same{how->from_array, how->from_at, how->from,   how->to_array,
                    how->to_at,      how->to,      how->extent, kDeviceToDevice};
  return copy3d(&same, stream, async);
}

int fill3d(const PitchedPointer& to, int value, const Extent& extent, std::uint64_t stream) {
  for (std::size_t z = 0; z < extent.depth; ++z) {
    char* slice = static_cast<char*>(to.first) + z * to.height * to.pitch;
    if (const int status = fill(slice, to.pitch, value, extent.width, extent.height, stream); status != kSuccess)
      return status;
  }
  return kSuccess;
}

}  // namespace terrace::cudart

TERRACE_API int cudaMalloc(void** to, std::size_t bytes) {
  return done(allocate(to, bytes));
}
TERRACE_API int cudaMallocAsync(void** to, std::size_t bytes, cudaStream_t) {
  return done(allocate(to, bytes));
}
TERRACE_API int cudaFree(void* address) {
  return done(release(address));
}
TERRACE_API int cudaFreeAsync(void* address, cudaStream_t) {
  return done(release(address));
}
TERRACE_API int cudaMallocPitch(void** to, std::size_t* pitch, std::size_t width, std::size_t height) {
  if (pitch == nullptr) return done(kInvalidValue);
  *pitch = (width + kPitchAlign - 1) / kPitchAlign * kPitchAlign;
  return done(allocate(to, *pitch * height));
}
TERRACE_API int cudaMalloc3D(PitchedPointer* to, Extent extent) {
  if (to == nullptr) return done(kInvalidValue);
  to->pitch = (extent.width + kPitchAlign - 1) / kPitchAlign * kPitchAlign;
  to->width = extent.width;
  to->height = extent.height;
  return done(allocate(&to->first, to->pitch * extent.height * extent.depth));
}
TERRACE_API int cudaMallocManaged(void** to, std::size_t bytes, unsigned) {
  return done(to == nullptr ? kInvalidValue : Link::instance().allocate_managed(to, bytes));
}
TERRACE_API int cudaMallocHost(void** to, std::size_t bytes) {
  if (to == nullptr) return done(kInvalidValue);
  if (posix_memalign(to, 4096, bytes == 0 ? 1 : bytes) != 0) return done(kMemoryAllocation);
  const std::lock_guard guard(Link::instance().lock);
  pinned()[reinterpret_cast<std::uintptr_t>(*to)] = bytes;
  return kSuccess;
}
TERRACE_API int cudaHostAlloc(void** to, std::size_t bytes, unsigned flags) {
  constexpr unsigned kMapped = 2;
  if ((flags & kMapped) != 0) return cudaMallocManaged(to, bytes, 1);
  return cudaMallocHost(to, bytes);
}
TERRACE_API int cudaFreeHost(void* address) {
  Link& link = Link::instance();
  const std::lock_guard guard(link.lock);
  if (address == nullptr) return kSuccess;
  if (link.is_managed(address)) return done(link.free_managed(address));
  if (pinned().erase(reinterpret_cast<std::uintptr_t>(address)) == 0) return done(kInvalidValue);
  // A copy that is still under way may end there.
  wait();
  std::free(address);
  return kSuccess;
}
TERRACE_API int cudaHostRegister(void* first, std::size_t bytes, unsigned) {
  const std::lock_guard guard(Link::instance().lock);
  if (first == nullptr || bytes == 0) return done(kInvalidValue);
  if (within(registered(), first) || within(pinned(), first)) return done(kHostMemoryAlreadyRegistered);
  registered()[reinterpret_cast<std::uintptr_t>(first)] = bytes;
  return kSuccess;
}
TERRACE_API int cudaHostUnregister(void* first) {
  const std::lock_guard guard(Link::instance().lock);
  const bool was = registered().erase(reinterpret_cast<std::uintptr_t>(first)) > 0;
  return done(was ? kSuccess : kHostMemoryNotRegistered);
}
TERRACE_API int cudaHostGetDevicePointer(void** to, void* host, unsigned) {
  if (!Link::instance().is_managed(host))
    return done(unserved("cudaHostGetDevicePointer of memory that was not allocated as mapped"));
  *to = host;
  return kSuccess;
}
TERRACE_API int cudaHostGetFlags(unsigned* flags, void* host) {
  *flags = Link::instance().is_managed(host) ? 2 : 0;
  return kSuccess;
}
TERRACE_API int cudaMemGetInfo(std::size_t* free_bytes, std::size_t* all) {
  const Answer answer = Link::instance().ask(Call::kMemoryInfo, {});
  Reader fields = answer.reader();
  const std::uint64_t left = fields.u64(), whole = fields.u64();
  if (free_bytes != nullptr) *free_bytes = left;
  if (all != nullptr) *all = whole;
  return done(answer.status);
}

TERRACE_API int cudaMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  return done(copy(to, bytes, from, bytes, bytes, 1, kind, 0, false));
}
TERRACE_API int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, cudaStream_t stream) {
  return done(copy(to, bytes, from, bytes, bytes, 1, kind, number(stream), true));
}
TERRACE_API int cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, std::size_t bytes) {
  if (to_device != 0 || from_device != 0) return done(kInvalidDevice);
  return done(copy(to, bytes, from, bytes, bytes, 1, kDeviceToDevice, 0, false));
}
TERRACE_API int cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                    cudaStream_t stream) {
  if (to_device != 0 || from_device != 0) return done(kInvalidDevice);
  return done(copy(to, bytes, from, bytes, bytes, 1, kDeviceToDevice, number(stream), true));
}
TERRACE_API int cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                             std::size_t width, std::size_t height, int kind) {
  return done(copy(to, to_pitch, from, from_pitch, width, height, kind, 0, false));
}
TERRACE_API int cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                  std::size_t width, std::size_t height, int kind, cudaStream_t stream) {
  return done(copy(to, to_pitch, from, from_pitch, width, height, kind, number(stream), true));
}
TERRACE_API int cudaMemcpy3D(const Copy3D* how) {
  return done(copy3d(how, 0, false));
}
TERRACE_API int cudaMemcpy3DAsync(const Copy3D* how, cudaStream_t stream) {
  return done(copy3d(how, number(stream), true));
}
TERRACE_API int cudaMemcpy3DPeer(const PeerCopy3D* how) {
  return done(copy_peer3d(how, 0, false));
}
TERRACE_API int cudaMemcpy3DPeerAsync(const PeerCopy3D* how, cudaStream_t stream) {
  return done(copy_peer3d(how, number(stream), true));
}
TERRACE_API int cudaMemset(void* to, int value, std::size_t bytes) {
  return done(fill(to, bytes, value, bytes, 1, 0));
}
TERRACE_API int cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return done(fill(to, bytes, value, bytes, 1, number(stream)));
}
TERRACE_API int cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  return done(fill(to, pitch, value, width, height, 0));
}
TERRACE_API int cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                                  cudaStream_t stream) {
  return done(fill(to, pitch, value, width, height, number(stream)));
}
TERRACE_API int cudaMemset3D(PitchedPointer to, int value, Extent extent) {
  return done(fill3d(to, value, extent, 0));
}
TERRACE_API int cudaMemset3DAsync(PitchedPointer to, int value, Extent extent, cudaStream_t stream) {
  return done(fill3d(to, value, extent, number(stream)));
}
TERRACE_API int cudaMemPrefetchAsync(const void*, std::size_t, int, cudaStream_t) {
  return kSuccess;
}
TERRACE_API int cudaMemPrefetchAsync_v2() {
  return kSuccess;
}
TERRACE_API int cudaMemAdvise(const void*, std::size_t, int, int) {
  return kSuccess;
}
TERRACE_API int cudaMemAdvise_v2() {
  return kSuccess;
}

/// cudaPointerAttributes as far as all versions agree.
struct PointerAttributes {
  int type, device;
  void *on_device, *on_host;
};
TERRACE_API int cudaPointerGetAttributes(PointerAttributes* to, const void* address) {
  Link& link = Link::instance();
  const std::lock_guard guard(link.lock);
  if (to == nullptr) return done(kInvalidValue);
  void* its = const_cast<void*>(address);
  *to = {0, -2, nullptr, its};
  if (link.is_managed(address)) *to = {3, 0, its, its};
  if (within(buffers(), address)) *to = {2, 0, its, nullptr};
  if (within(pinned(), address) || within(registered(), address)) *to = {1, 0, nullptr, its};
  return kSuccess;
}
TERRACE_API int cudaDeviceReset() {
  Link& link = Link::instance();
  const std::lock_guard guard(link.lock);
  const int status = link.ask_status(Call::kReset, {});
  link.reset();
  buffers().clear();
  forget_streams();
  forget_arrays();
  return done(status);
}
TERRACE_API int cudaThreadExit() {
  return cudaDeviceReset();
}
