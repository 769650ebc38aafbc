// Texture and surface objects of a CUDA process.
// SPDX-License-Identifier: MIT
#include <bit>

#include "cuda/host_session.h"

namespace terrace::cuda {
namespace {

constexpr u64 kMostObjects = 1 << 20, kMostTexels = u64{1} << 28;  // of one side: CUDA's bound for linear memory

TextureFacts read_texture(Reader& fields) {
  TextureFacts facts;
  for (u64* field : {&facts.first, &facts.pitch, &facts.width, &facts.height}) *field = fields.u64();
  for (u32* field : {&facts.channels, &facts.channel_bytes, &facts.kind, &facts.outside[0], &facts.outside[1],
                     &facts.linear_filter, &facts.normalized_coordinates, &facts.normalized_values, &facts.plain_memory,
                     &facts.border[0], &facts.border[1], &facts.border[2], &facts.border[3]})
    *field = fields.u32();
  return facts;
}

bool possible(const TextureFacts& facts) {
  const auto one_two_or_four = [](u32 value) { return value == 1 || value == 2 || value == 4; };
  if (!one_two_or_four(facts.channels) || !one_two_or_four(facts.channel_bytes)) return false;
  const u64 texel = u64{facts.channels} * facts.channel_bytes;
  return facts.kind <= 2 && !(facts.kind == 2 && facts.channel_bytes == 1) && facts.outside[0] <= 3 &&
         facts.outside[1] <= 3 && facts.width > 0 && facts.width <= kMostTexels && facts.height > 0 &&
         facts.height <= kMostTexels && facts.first % texel == 0 && facts.pitch % texel == 0;
}

ptx::Texture texture_of(const TextureFacts& facts) {
  ptx::Texture texture;
  texture.first = {facts.first};
  texture.pitch = facts.pitch;
  texture.width = static_cast<u32>(facts.width);
  texture.height = static_cast<u32>(facts.height);
  texture.channels = static_cast<u8>(facts.channels);
  texture.channel_bytes = static_cast<u8>(facts.channel_bytes);
  texture.element = static_cast<ptx::Texture::Element>(facts.kind);
  for (u32 i = 0; i < 2; ++i) texture.outside[i] = static_cast<ptx::Texture::Outside>(facts.outside[i]);
  texture.linear_filter = facts.linear_filter != 0;
  texture.normalized_coordinates = facts.normalized_coordinates != 0;
  texture.normalized_values = facts.normalized_values != 0;
  texture.plain_memory = facts.plain_memory != 0;
  for (u32 i = 0; i < 4; ++i) texture.border[i] = std::bit_cast<float>(facts.border[i]);
  return texture;
}

}  // namespace

void HostSession::create_texture(Reader& fields, Answer& answer) {
  const TextureFacts facts = read_texture(fields);
  if (!fields.complete() || !possible(facts) || machine_.textures().size() >= kMostObjects ||
      !contains({facts.first, facts.pitch, facts.width * facts.channels * facts.channel_bytes, facts.height})) {
    answer.status = Status::kInvalidValue;
    return;
  }
  answer.fields.u64(machine_.textures().add(texture_of(facts)));
}

void HostSession::destroy_texture(Reader& fields, Answer& answer) {
  const u64 number = fields.u64();
  if (!fields.complete() || !machine_.textures().remove(number)) answer.status = Status::kInvalidHandle;
}

void HostSession::create_surface(Reader& fields, Answer& answer) {
  const Area area = fields.area();
  constexpr u64 kMostRowBytes = 16 * kMostTexels, kAlign = 16;  // bytes of the largest texel
  if (!fields.complete() || area.width == 0 || area.width >= kMostRowBytes || area.rows == 0 ||
      area.rows > kMostTexels || area.first % kAlign != 0 || area.pitch % kAlign != 0 || !contains(area) ||
      machine_.surfaces().size() >= kMostObjects) {
    answer.status = Status::kInvalidValue;
    return;
  }
  answer.fields.u64(
      machine_.surfaces().add({{area.first}, area.pitch, static_cast<u32>(area.width), static_cast<u32>(area.rows)}));
}

void HostSession::destroy_surface(Reader& fields, Answer& answer) {
  const u64 number = fields.u64();
  if (!fields.complete() || !machine_.surfaces().remove(number)) answer.status = Status::kInvalidHandle;
}

}  // namespace terrace::cuda
