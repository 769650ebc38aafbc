// SPDX-License-Identifier: MIT
#include "frontend/ptx/execute/texture.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "frontend/ptx/arith/convert.h"

namespace terrace::ptx {
namespace {

i64 modulo(i64 value, i64 by) {
  const i64 rest = value % by;
  return rest < 0 ? rest + by : rest;
}

/// The index inside that an index outside stands for, or less than zero: the border.
i64 inside(i64 index, i64 size, Texture::Outside outside) {
  if (index >= 0 && index < size) return index;
  switch (outside) {
    case Texture::Outside::kWrap:
      return modulo(index, size);
    case Texture::Outside::kMirror: {
      const i64 place = modulo(index, 2 * size);
      return place < size ? place : 2 * size - 1 - place;
    }
    case Texture::Outside::kBorder:
      return -1;
    default:
      return std::clamp<i64>(index, 0, size - 1);
  }
}

/// Coordinates that are not normalized cannot wrap: CUDA clamps them.
Texture::Outside outside_of(const Texture& texture, u32 dimension) {
  const Texture::Outside mode = texture.outside[dimension];
  const bool repeats = mode == Texture::Outside::kWrap || mode == Texture::Outside::kMirror;
  return repeats && !texture.normalized_coordinates ? Texture::Outside::kClamp : mode;
}

i64 read_integer(const u8* from, u32 bytes, bool is_signed) {
  u32 bits = 0;
  std::memcpy(&bits, from, bytes);
  if (!is_signed) return bits;
  const u32 shift = 32 - 8 * bytes;
  return static_cast<i32>(bits << shift) >> shift;
}

u32 channel(const Texture& texture, const u8* from, bool as_float) {
  if (texture.element == Texture::Element::kFloat) {
    if (texture.channel_bytes == 4) return static_cast<u32>(read_integer(from, 4, false));
    const F16 half{static_cast<u16>(read_integer(from, 2, false))};
    return as_float ? std::bit_cast<u32>(widen_to_float(half)) : half.bits;
  }
  const bool is_signed = texture.element == Texture::Element::kSigned;
  const i64 value = read_integer(from, texture.channel_bytes, is_signed);
  if (!texture.normalized_values || !as_float) return static_cast<u32>(value);
  // 8 bits: 255 is 1; signed 8 bits: 127 is 1, and -128 is -1 as -127 is.
  const u32 value_bits = 8u * texture.channel_bytes - (is_signed ? 1 : 0);
  const auto most = static_cast<float>((u64{1} << value_bits) - 1);
  return std::bit_cast<u32>(std::max(static_cast<float>(value) / most, -1.0f));
}

/// Channels that a texture does not have read as 0, the fourth as 1.
Texel missing_channels(bool as_float) {
  return {0, 0, 0, as_float ? std::bit_cast<u32>(1.0f) : 1};
}

Texel border_texel(const Texture& texture, bool as_float) {
  Texel texel = missing_channels(as_float);
  for (u32 c = 0; c < texture.channels; ++c)
    texel[c] = as_float ? std::bit_cast<u32>(texture.border[c]) : static_cast<u32>(static_cast<i32>(texture.border[c]));
  return texel;
}

struct Weighed {
  i64 lower;
  float upper_weight;
};
/// Where a coordinate lies between two texels. The weight has 8 bits of fraction, as CUDA documents; it may be 1.
Weighed between(float coordinate) {
  const float at = coordinate - 0.5f, lower = std::floor(at);
  const float weight = std::floor((at - lower) * 256.0f + 0.5f) / 256.0f;
  return {static_cast<i64>(lower), weight};
}

/// Far outside and not-a-number coordinates become ones that fit an index.
float bounded(float coordinate) {
  constexpr float kMost = 1 << 24;  // above any size of a texture, and exact
  if (std::isnan(coordinate)) return 0;
  return std::clamp(coordinate, -kMost, kMost);
}

/// From normalized coordinates to those of texels. What repeats is brought inside first, as CUDA defines it.
float in_texels(const Texture& texture, u32 dimension, float coordinate, u32 size) {
  if (!texture.normalized_coordinates) return bounded(coordinate);
  const Texture::Outside mode = texture.outside[dimension];
  if (mode == Texture::Outside::kWrap || mode == Texture::Outside::kMirror) {
    const float period = std::floor(coordinate), fraction = coordinate - period;
    const float half = period / 2;
    const bool reflects = mode == Texture::Outside::kMirror && half != std::floor(half);  // every other period
    coordinate = reflects ? 1.0f - fraction : fraction;
  }
  return bounded(coordinate * static_cast<float>(size));
}

Footprint footprint_of(const Texture& texture, i64 x, i64 y) {
  // Of two rows, both must be there.
  const i64 last_row = texture.linear_filter && texture.height > 1 ? i64{texture.height} - 2 : i64{texture.height} - 1;
  return {static_cast<u32>(std::clamp<i64>(x, 0, i64{texture.width} - 1)),
          static_cast<u32>(std::clamp<i64>(y, 0, last_row))};
}

}  // namespace

Texel texel_at(const Texture& texture, const GuestMemory& memory, i64 x, i64 y, bool as_float) {
  if (texture.plain_memory && (x < 0 || x >= texture.width)) return {};
  x = inside(x, texture.width, outside_of(texture, 0));
  y = inside(y, texture.height, outside_of(texture, 1));
  if (x < 0 || y < 0) return border_texel(texture, as_float);
  const u64 address =
      texture.first.raw + static_cast<u64>(y) * texture.pitch + static_cast<u64>(x) * texture.texel_bytes();
  const u8* from = memory.at({address});
  Texel texel = missing_channels(as_float);
  for (u32 c = 0; c < texture.channels; ++c) texel[c] = channel(texture, from + c * texture.channel_bytes, as_float);
  return texel;
}

Texel fetch(const Texture& texture, const GuestMemory& memory, i64 x, i64 y, bool as_float, Footprint& footprint) {
  footprint = footprint_of(texture, x, y);
  return texel_at(texture, memory, x, y, as_float);
}

Texel sample(const Texture& texture, const GuestMemory& memory, float x, float y, bool as_float, Footprint& footprint) {
  const float u = in_texels(texture, 0, x, texture.width), v = in_texels(texture, 1, y, texture.height);
  if (!texture.linear_filter || !as_float)
    return fetch(texture, memory, static_cast<i64>(std::floor(u)), static_cast<i64>(std::floor(v)), as_float,
                 footprint);
  const Weighed across = between(u), down = texture.height > 1 ? between(v) : Weighed{0, 0.0f};
  footprint = footprint_of(texture, across.lower, down.lower);
  std::array<float, 4> sum{};
  for (u32 corner = 0; corner < 4; ++corner) {
    const u32 right = corner & 1, below = corner >> 1;
    const float weight = (right ? across.upper_weight : 1.0f - across.upper_weight) *
                         (below ? down.upper_weight : 1.0f - down.upper_weight);
    if (weight == 0) continue;
    const Texel texel = texel_at(texture, memory, across.lower + right, down.lower + below, true);
    for (u32 c = 0; c < 4; ++c) sum[c] += weight * std::bit_cast<float>(texel[c]);
  }
  return {std::bit_cast<u32>(sum[0]), std::bit_cast<u32>(sum[1]), std::bit_cast<u32>(sum[2]),
          std::bit_cast<u32>(sum[3])};
}

}  // namespace terrace::ptx
