// Texture and surface objects.
// SPDX-License-Identifier: MIT
#include <cstring>
#include <map>

#include "api.h"

using namespace terrace::cudart;

namespace {

enum ResourceKind : int { kOfArray = 0, kOfMipmaps = 1, kOfLinearMemory = 2, kOfPitchedMemory = 3 };
constexpr int kFloat = 2;            // cudaChannelFormatKind
constexpr int kNormalizedFloat = 1;  // cudaTextureReadMode
// Of memory that is read as a texture, as cudaDeviceProp tells them; others are refused, by a GPU too.
constexpr std::uint64_t kTextureAlign = 512, kPitchAlign = 32;

/// cudaResourceDesc.
struct Resource {
  int kind;
  union {
    void* array;
    struct {
      void* first;
      ChannelFormat format;
      std::size_t bytes;
    } linear;
    struct {
      void* first;
      ChannelFormat format;
      std::size_t width, height, pitch;
    } pitched;
    int reserved[32];
  };
};
/// cudaTextureDesc, as far as it is looked at.
struct Reading {
  int outside[3], filter, mode, srgb;
  float border[4];
  int normalized_coordinates;
  unsigned anisotropy;
  int mipmap_filter;
  float mipmap_levels[3];
  int no_trilinear, seamless;
};

/// What texture objects were made of. Guarded by the link's lock.
struct Made {
  Resource resource;
  Reading reading;
};
std::map<unsigned long long, Made>& textures() {
  static auto* all = new std::map<unsigned long long, Made>;
  return *all;
}

/// Where the texels lie.
int locate(const Resource& resource, terrace::cuda::TextureFacts& facts, ChannelFormat& format) {
  const void* first = nullptr;
  if (resource.kind == kOfArray) {
    const Array* array = find_array(resource.array);
    if (array == nullptr) return kInvalidHandle;
    first = array->first;
    format = array->format;
    facts.pitch = array->pitch;
    facts.width = array->width;
    facts.height = array->rows();
  } else if (resource.kind == kOfLinearMemory) {
    first = resource.linear.first;
    format = resource.linear.format;
    if (texel_bytes(format) == 0) return kInvalidChannels;
    facts.width = resource.linear.bytes / texel_bytes(format);
    facts.pitch = facts.width * texel_bytes(format);
    facts.plain_memory = 1;
  } else if (resource.kind == kOfPitchedMemory) {
    first = resource.pitched.first;
    format = resource.pitched.format;
    facts.pitch = resource.pitched.pitch;
    facts.width = resource.pitched.width;
    facts.height = resource.pitched.height;
  } else {
    return unserved("cudaCreateTextureObject of mipmaps");
  }
  facts.first = reinterpret_cast<std::uint64_t>(first);
  const bool rows = resource.kind == kOfPitchedMemory;
  if (resource.kind != kOfArray && (facts.first % kTextureAlign != 0 || (rows && facts.pitch % kPitchAlign != 0)))
    return kInvalidValue;
  return texel_bytes(format) == 0 ? kInvalidChannels : kSuccess;
}

int make_texture(unsigned long long* to, const Resource* resource, const Reading* reading, const void* view) {
  if (to == nullptr || resource == nullptr || reading == nullptr) return kInvalidValue;
  if (view != nullptr) return unserved("cudaCreateTextureObject with a view");
  if (reading->srgb != 0) return unserved("cudaCreateTextureObject with sRGB");
  terrace::cuda::TextureFacts facts;
  ChannelFormat format{};
  if (const int status = locate(*resource, facts, format); status != kSuccess) return status;
  const bool integers = format.kind != kFloat, as_fractions = reading->mode == kNormalizedFloat;
  if (integers && as_fractions && format.bits[0] == 32) return kInvalidNormalization;
  if (integers && !as_fractions && reading->filter != 0) return kInvalidFilter;
  facts.channel_bytes = static_cast<std::uint32_t>(format.bits[0]) / 8;
  facts.channels = static_cast<std::uint32_t>(texel_bytes(format)) / facts.channel_bytes;
  facts.kind = static_cast<std::uint32_t>(format.kind);
  facts.linear_filter = reading->filter != 0 && facts.plain_memory == 0;
  facts.normalized_coordinates = reading->normalized_coordinates != 0 && facts.plain_memory == 0;
  facts.normalized_values = integers && as_fractions;
  std::memcpy(facts.border, reading->border, sizeof facts.border);
  for (int i = 0; i < 2; ++i) facts.outside[i] = static_cast<std::uint32_t>(reading->outside[i]);
  Writer fields;
  fields.u64(facts.first).u64(facts.pitch).u64(facts.width).u64(facts.height);
  fields.u32(facts.channels).u32(facts.channel_bytes).u32(facts.kind).u32(facts.outside[0]).u32(facts.outside[1]);
  fields.u32(facts.linear_filter).u32(facts.normalized_coordinates).u32(facts.normalized_values);
  fields.u32(facts.plain_memory);
  for (const std::uint32_t value : facts.border) fields.u32(value);
  Link& link = Link::instance();
  const std::lock_guard guard(link.lock);
  const Answer answer = link.ask(Call::kTextureCreate, fields);
  if (answer.status != kSuccess) return answer.status;
  *to = answer.reader().u64();
  textures()[*to] = {*resource, *reading};
  return kSuccess;
}

/// What surface objects were made of. Guarded by the link's lock.
std::map<unsigned long long, Resource>& surfaces() {
  static auto* all = new std::map<unsigned long long, Resource>;
  return *all;
}

int make_surface(unsigned long long* to, const Resource* resource) {
  if (to == nullptr || resource == nullptr || resource->kind != kOfArray) return kInvalidValue;
  const Array* array = find_array(resource->array);
  if (array == nullptr) return kInvalidHandle;
  if ((array->flags & kForSurfaces) == 0) return kInvalidValue;
  Writer fields;
  fields.area({reinterpret_cast<std::uint64_t>(array->first), array->pitch, array->row_bytes(), array->rows()});
  Link& link = Link::instance();
  const std::lock_guard guard(link.lock);
  const Answer answer = link.ask(Call::kSurfaceCreate, fields);
  if (answer.status != kSuccess) return answer.status;
  *to = answer.reader().u64();
  surfaces()[*to] = *resource;
  return kSuccess;
}

template <class T>
int tell(T* to, unsigned long long texture, T Made::* part) {
  const std::lock_guard guard(Link::instance().lock);
  const auto found = textures().find(texture);
  if (to == nullptr) return kInvalidValue;
  if (found == textures().end()) return kInvalidHandle;
  *to = found->second.*part;
  return kSuccess;
}

}  // namespace

TERRACE_API int cudaCreateTextureObject(unsigned long long* to, const Resource* resource, const Reading* reading,
                                        const void* view) {
  return done(make_texture(to, resource, reading, view));
}
TERRACE_API int cudaDestroyTextureObject(unsigned long long texture) {
  Link& link = Link::instance();
  const std::lock_guard guard(link.lock);
  textures().erase(texture);
  Writer fields;
  fields.u64(texture);
  return done(link.ask_status(Call::kTextureDestroy, fields));
}
TERRACE_API int cudaGetTextureObjectResourceDesc(Resource* to, unsigned long long texture) {
  return done(tell(to, texture, &Made::resource));
}
TERRACE_API int cudaGetTextureObjectTextureDesc(Reading* to, unsigned long long texture) {
  return done(tell(to, texture, &Made::reading));
}
TERRACE_API int cudaCreateSurfaceObject(unsigned long long* to, const Resource* resource) {
  return done(make_surface(to, resource));
}
TERRACE_API int cudaDestroySurfaceObject(unsigned long long surface) {
  Link& link = Link::instance();
  const std::lock_guard guard(link.lock);
  surfaces().erase(surface);
  Writer fields;
  fields.u64(surface);
  return done(link.ask_status(Call::kSurfaceDestroy, fields));
}
TERRACE_API int cudaGetSurfaceObjectResourceDesc(Resource* to, unsigned long long surface) {
  const std::lock_guard guard(Link::instance().lock);
  const auto found = surfaces().find(surface);
  if (to == nullptr) return done(kInvalidValue);
  if (found == surfaces().end()) return done(kInvalidHandle);
  *to = found->second;
  return kSuccess;
}
TERRACE_API int cudaDeviceGetTexture1DLinearMaxWidth(std::size_t* texels, const ChannelFormat* format, int device) {
  if (texels == nullptr || format == nullptr) return done(kInvalidValue);
  if (device != 0) return done(kInvalidDevice);
  if (texel_bytes(*format) == 0) return done(kInvalidChannels);
  *texels = std::size_t{1} << 28;  // of compute capability 9.0
  return kSuccess;
}
