// Arrays: memory of the device that textures read, and copies from and to it.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <memory>

#include "api.h"

using namespace terrace::cudart;

TERRACE_API int cudaMallocPitch(void** to, std::size_t* pitch, std::size_t width, std::size_t height);
TERRACE_API int cudaFree(void* address);

namespace {

/// By address. Guarded by the link's lock.
std::map<const void*, std::unique_ptr<Array>>& arrays() {
  static auto* all = new std::map<const void*, std::unique_ptr<Array>>;
  return *all;
}

int make_array(void** to, const ChannelFormat* format, std::size_t width, std::size_t height, unsigned flags) {
  // Of compute capability 9.0, in texels.
  constexpr std::size_t kMostWidth = 131072, kMostHeight = 65536, kMostSurfaceWidth1D = 32768;
  if (to == nullptr || format == nullptr || width == 0) return kInvalidValue;
  const bool narrow = height == 0 && (flags & kForSurfaces) != 0;
  if (width > (narrow ? kMostSurfaceWidth1D : kMostWidth) || height > kMostHeight) return kInvalidValue;
  if (texel_bytes(*format) == 0) return kInvalidChannels;
  auto array = std::make_unique<Array>(Array{nullptr, 0, width, height, *format, flags});
  const int status = cudaMallocPitch(&array->first, &array->pitch, array->row_bytes(), array->rows());
  if (status != kSuccess) return status;
  const std::lock_guard guard(Link::instance().lock);
  *to = array.get();
  arrays()[*to] = std::move(array);
  return kSuccess;
}

/// Whether the rows lie inside the array.
bool holds(const Array* array, std::size_t x, std::size_t y, std::size_t width, std::size_t height) {
  return array != nullptr && x <= array->row_bytes() && width <= array->row_bytes() - x && y <= array->rows() &&
         height <= array->rows() - y;
}

void* place(const Array& array, std::size_t x, std::size_t y) {
  return static_cast<char*>(array.first) + y * array.pitch + x;
}

}  // namespace

namespace terrace::cudart {

std::size_t texel_bytes(const ChannelFormat& format) {
  std::size_t channels = 0;
  while (channels < 4 && format.bits[channels] != 0) ++channels;
  for (std::size_t i = 0; i < 4; ++i)
    if (format.bits[i] != (i < channels ? format.bits[0] : 0)) return 0;
  const int bits = format.bits[0];
  const bool possible = (bits == 8 || bits == 16 || bits == 32) && (channels == 1 || channels == 2 || channels == 4);
  if (!possible || format.kind < 0 || format.kind > 2 || (format.kind == 2 && bits == 8)) return 0;
  return channels * static_cast<std::size_t>(bits) / 8;
}

const Array* find_array(const void* array) {
  const std::lock_guard guard(Link::instance().lock);
  const auto found = arrays().find(array);
  return found == arrays().end() ? nullptr : found->second.get();
}

void forget_arrays() {
  arrays().clear();
}

int copy_array(void* array, std::size_t x, std::size_t y, void* memory, std::size_t pitch, std::size_t width,
               std::size_t height, int kind, bool to_array, std::uint64_t stream, bool async) {
  const Array* its = find_array(array);
  if (its == nullptr) return kInvalidHandle;
  if (!holds(its, x, y, width, height)) return kInvalidValue;
  return to_array ? copy(place(*its, x, y), its->pitch, memory, pitch, width, height, kind, stream, async)
                  : copy(memory, pitch, place(*its, x, y), its->pitch, width, height, kind, stream, async);
}

int copy_array_bytes(void* array, std::size_t x, std::size_t y, void* memory, std::size_t bytes, int kind,
                     bool to_array, std::uint64_t stream, bool async) {
  const Array* its = find_array(array);
  if (its == nullptr) return kInvalidHandle;
  for (char* at = static_cast<char*>(memory); bytes > 0; x = 0, ++y) {
    if (x >= its->row_bytes() || y >= its->rows()) return kInvalidValue;
    const std::size_t count = std::min(bytes, its->row_bytes() - x);
    const int status = copy_array(array, x, y, at, count, count, 1, kind, to_array, stream, async);
    if (status != kSuccess) return status;
    at += count;
    bytes -= count;
  }
  return kSuccess;
}

int copy_between_arrays(void* to, std::size_t to_x, std::size_t to_y, const void* from, std::size_t from_x,
                        std::size_t from_y, std::size_t width, std::size_t height, std::uint64_t stream) {
  const Array *target = find_array(to), *source = find_array(from);
  if (target == nullptr || source == nullptr) return kInvalidHandle;
  if (!holds(target, to_x, to_y, width, height) || !holds(source, from_x, from_y, width, height)) return kInvalidValue;
  return copy(place(*target, to_x, to_y), target->pitch, place(*source, from_x, from_y), source->pitch, width, height,
              kDeviceToDevice, stream, false);
}

}  // namespace terrace::cudart

TERRACE_API ChannelFormat cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
  return {{x, y, z, w}, kind};
}
TERRACE_API int cudaGetChannelDesc(ChannelFormat* to, const void* array) {
  const Array* found = find_array(array);
  if (to == nullptr) return done(kInvalidValue);
  if (found == nullptr) return done(kInvalidHandle);
  *to = found->format;
  return kSuccess;
}
TERRACE_API int cudaMallocArray(void** to, const ChannelFormat* format, std::size_t width, std::size_t height,
                                unsigned flags) {
  if ((flags & ~kForSurfaces) != 0) return done(unserved("cudaMallocArray with other flags than for surfaces"));
  return done(make_array(to, format, width, height, flags));
}
TERRACE_API int cudaMalloc3DArray(void** to, const ChannelFormat* format, Extent extent, unsigned flags) {
  if (extent.depth != 0 || (flags & ~kForSurfaces) != 0)
    return done(unserved("cudaMalloc3DArray with three dimensions or other flags than for surfaces"));
  return done(make_array(to, format, extent.width, extent.height, flags));
}
TERRACE_API int cudaFreeArray(void* array) {
  if (array == nullptr) return kSuccess;
  const std::lock_guard guard(Link::instance().lock);
  const Array* found = find_array(array);
  if (found == nullptr) return done(kInvalidHandle);
  const int status = cudaFree(found->first);
  arrays().erase(array);
  return done(status);
}
TERRACE_API int cudaArrayGetInfo(ChannelFormat* format, Extent* extent, unsigned* flags, void* array) {
  const Array* found = find_array(array);
  if (found == nullptr) return done(kInvalidHandle);
  if (format != nullptr) *format = found->format;
  if (extent != nullptr) *extent = {found->width, found->height, 0};
  if (flags != nullptr) *flags = found->flags;
  return kSuccess;
}

TERRACE_API int cudaMemcpy2DToArray(void* to, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
                                    std::size_t width, std::size_t height, int kind) {
  return done(copy_array(to, x, y, const_cast<void*>(from), pitch, width, height, kind, true, 0, false));
}
TERRACE_API int cudaMemcpy2DToArrayAsync(void* to, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
                                         std::size_t width, std::size_t height, int kind, cudaStream_t stream) {
  return done(copy_array(to, x, y, const_cast<void*>(from), pitch, width, height, kind, true, number(stream), true));
}
TERRACE_API int cudaMemcpy2DFromArray(void* to, std::size_t pitch, const void* from, std::size_t x, std::size_t y,
                                      std::size_t width, std::size_t height, int kind) {
  return done(copy_array(const_cast<void*>(from), x, y, to, pitch, width, height, kind, false, 0, false));
}
TERRACE_API int cudaMemcpy2DFromArrayAsync(void* to, std::size_t pitch, const void* from, std::size_t x, std::size_t y,
                                           std::size_t width, std::size_t height, int kind, cudaStream_t stream) {
  return done(copy_array(const_cast<void*>(from), x, y, to, pitch, width, height, kind, false, number(stream), true));
}
TERRACE_API int cudaMemcpyToArray(void* to, std::size_t x, std::size_t y, const void* from, std::size_t bytes,
                                  int kind) {
  return done(copy_array_bytes(to, x, y, const_cast<void*>(from), bytes, kind, true, 0, false));
}
TERRACE_API int cudaMemcpyToArrayAsync(void* to, std::size_t x, std::size_t y, const void* from, std::size_t bytes,
                                       int kind, cudaStream_t stream) {
  return done(copy_array_bytes(to, x, y, const_cast<void*>(from), bytes, kind, true, number(stream), true));
}
TERRACE_API int cudaMemcpyFromArray(void* to, const void* from, std::size_t x, std::size_t y, std::size_t bytes,
                                    int kind) {
  return done(copy_array_bytes(const_cast<void*>(from), x, y, to, bytes, kind, false, 0, false));
}
TERRACE_API int cudaMemcpyFromArrayAsync(void* to, const void* from, std::size_t x, std::size_t y, std::size_t bytes,
                                         int kind, cudaStream_t stream) {
  return done(copy_array_bytes(const_cast<void*>(from), x, y, to, bytes, kind, false, number(stream), true));
}
TERRACE_API int cudaMemcpy2DArrayToArray(void* to, std::size_t to_x, std::size_t to_y, const void* from,
                                         std::size_t from_x, std::size_t from_y, std::size_t width, std::size_t height,
                                         int) {
  return done(copy_between_arrays(to, to_x, to_y, from, from_x, from_y, width, height, 0));
}
