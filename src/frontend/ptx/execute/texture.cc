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

/// The integer that is read as 1. 8 bits: 255; signed 8 bits: 127, and -128 is -1 as -127 is.
float largest(const Texture& texture) {
  const u32 value_bits = 8u * texture.channel_bytes - (texture.element == Texture::Element::kSigned ? 1 : 0);
  return static_cast<float>((u64{1} << value_bits) - 1);
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
  return std::bit_cast<u32>(std::max(static_cast<float>(value) / largest(texture), -1.0f));
}

/// What stands for texels outside, as a GPU keeps it: a word for each channel, made to a value of the format when the texture is. Halves are
/// cut, fractions rounded to the nearest that the format has; integers take the word's lowest bits, without a conversion.
u32 border_channel(const Texture& texture, float border, bool as_float) {
  const u32 word = std::bit_cast<u32>(border);
  if (texture.element == Texture::Element::kFloat) {
    if (texture.channel_bytes == 4) return word;
    const F16 half = narrow<F16, Round::kZero>(border);
    return as_float ? std::bit_cast<u32>(widen_to_float(half)) : half.bits;
  }
  const bool is_signed = texture.element == Texture::Element::kSigned;
  if (!texture.normalized_values || !as_float) {
    const u32 shift = 32u - 8u * texture.channel_bytes;
    return is_signed ? static_cast<u32>(static_cast<i32>(word << shift) >> shift) : word << shift >> shift;
  }
  const float most = largest(texture);
  const float fraction = std::isnan(border) ? 0.0f : std::clamp(border, is_signed ? -1.0f : 0.0f, 1.0f);
  return std::bit_cast<u32>(std::rint(fraction * most) / most);
}

/// Channels that a texture does not have read as 0, on a GPU too.
Texel border_texel(const Texture& texture, bool as_float) {
  Texel texel{};
  for (u32 c = 0; c < texture.channels; ++c) texel[c] = border_channel(texture, texture.border[c], as_float);
  return texel;
}

struct Weighed {
  i64 lower;
  i32 upper_weight;  // of 256
};
/// Where a coordinate lies between two texels. The weight has 8 bits of fraction, as CUDA documents; it may be 1.
Weighed between(double coordinate) {
  const double at = coordinate - 0.5, lower = std::floor(at);
  return {static_cast<i64>(lower), static_cast<i32>(std::floor((at - lower) * 256.0 + 0.5))};
}

/// What whole periods leave of a number, with its sign: exact, since each difference of doubles here is one.
double remainder_of(double number, double period) {
  double rest = std::abs(number), step = period;
  while (step <= rest) step *= 2;
  while (step > period) {
    step /= 2;
    if (rest >= step) rest -= step;
  }
  return number < 0 ? -rest : rest;
}

/// From coordinates to those of texels, exact. Numbers below the normal ones count as zero, what is no number too. A normalized
/// coordinate has 21 bits of fraction, and what is beyond them is cut off: measured on an H200, whatever the size.
double in_texels(const Texture& texture, u32 dimension, float coordinate, u32 size) {
  constexpr double kMost = 1 << 24;  // above any size of a texture
  if (std::isnan(coordinate) || std::fpclassify(coordinate) == FP_SUBNORMAL) return 0;
  if (!texture.normalized_coordinates) return std::clamp<double>(coordinate, -kMost, kMost);
  const Texture::Outside mode = texture.outside[dimension];
  const bool repeats = mode == Texture::Outside::kWrap || mode == Texture::Outside::kMirror;
  if (repeats && std::isinf(coordinate)) return 0;
  const double texels = std::floor(double{coordinate} * 0x1p21) / 0x1p21 * size;
  return repeats ? remainder_of(texels, 2.0 * size) : std::clamp(texels, -kMost, kMost);
}

Footprint footprint_of(const Texture& texture, i64 x, i64 y) {
  // Of two rows, both must be there.
  const i64 last_row = texture.linear_filter && texture.height > 1 ? i64{texture.height} - 2 : i64{texture.height} - 1;
  return {static_cast<u32>(std::clamp<i64>(x, 0, i64{texture.width} - 1)),
          static_cast<u32>(std::clamp<i64>(y, 0, last_row))};
}

/// Where the texel lies that coordinates stand for under the address modes, or nowhere: the border.
const u8* place_of(const Texture& texture, const GuestMemory& memory, i64 x, i64 y) {
  x = inside(x, texture.width, outside_of(texture, 0));
  y = inside(y, texture.height, outside_of(texture, 1));
  if (x < 0 || y < 0) return nullptr;
  return memory.at(
      {texture.first.raw + static_cast<u64>(y) * texture.pitch + static_cast<u64>(x) * texture.texel_bytes()});
}

/// A channel as it is filtered: floats below the normal ones are zero, fractions as integers, of which the smallest is not yet -1.
double filtered_channel(const Texture& texture, const u8* from, u32 c) {
  const bool floats = texture.element == Texture::Element::kFloat;
  if (from == nullptr) {
    const double border = std::bit_cast<float>(border_channel(texture, texture.border[c], true));
    return floats ? border : std::rint(border * largest(texture));
  }
  from += c * texture.channel_bytes;
  if (floats) {
    const auto value = std::bit_cast<float>(channel(texture, from, true));
    return texture.channel_bytes == 4 && std::fpclassify(value) == FP_SUBNORMAL ? 0.0 : value;
  }
  return static_cast<double>(read_integer(from, texture.channel_bytes, texture.element == Texture::Element::kSigned));
}

/// What filtering gives, rounded as by an H200: fractions to 16 bits, halves to halves.
float filtered(const Texture& texture, double sum) {
  if (std::isnan(sum) && texture.channel_bytes == 4) return std::bit_cast<float>(0x7fffffffu);
  if (texture.element == Texture::Element::kFloat)
    return texture.channel_bytes == 4 ? static_cast<float>(sum) : widen_to_float(narrow<F16, Round::kNearestEven>(sum));
  const double most = texture.element == Texture::Element::kSigned ? 32767.0 : 65535.0;
  return static_cast<float>(std::max(std::round(sum / largest(texture) * most) / most, -1.0));
}

}  // namespace

Texel texel_at(const Texture& texture, const GuestMemory& memory, i64 x, i64 y, bool as_float) {
  const u8* from = place_of(texture, memory, x, y);
  if (from == nullptr) return border_texel(texture, as_float);
  Texel texel{};
  for (u32 c = 0; c < texture.channels; ++c) texel[c] = channel(texture, from + c * texture.channel_bytes, as_float);
  return texel;
}

Texel fetch(const Texture& texture, const GuestMemory& memory, i64 x, i64 y, bool as_float, Footprint& footprint) {
  footprint = footprint_of(texture, x, y);
  if (x < 0 || x >= texture.width || y < 0 || y >= texture.height) return {};
  return texel_at(texture, memory, x, y, as_float);
}

Texel sample(const Texture& texture, const GuestMemory& memory, float x, float y, bool as_float, Footprint& footprint) {
  const double u = in_texels(texture, 0, x, texture.width), v = in_texels(texture, 1, y, texture.height);
  if (!texture.linear_filter || !as_float) {
    const i64 across = static_cast<i64>(std::floor(u)), down = static_cast<i64>(std::floor(v));
    footprint = footprint_of(texture, across, down);
    return texel_at(texture, memory, across, down, as_float);
  }
  // Of a single row both rows are the same, unless one is the border: so it is in one dimension on a GPU, too.
  const bool two_rows = texture.height > 1 || texture.outside[1] == Texture::Outside::kBorder;
  const Weighed across = between(u), down = two_rows ? between(v) : Weighed{0, 0};
  footprint = footprint_of(texture, across.lower, down.lower);
  // The four weights have 8 bits of fraction too, and add up to 1.
  const i32 right = across.upper_weight, below = down.upper_weight, both = (right * below + 128) >> 8;
  const std::array<i32, 4> weights{256 - right - below + both, right - both, below - both, both};
  std::array<double, 4> sum{};
  for (u32 corner = 0; corner < 4; ++corner) {
    if (weights[corner] == 0) continue;
    const u8* from = place_of(texture, memory, across.lower + (corner & 1), down.lower + (corner >> 1));
    for (u32 c = 0; c < texture.channels; ++c) sum[c] += weights[corner] / 256.0 * filtered_channel(texture, from, c);
  }
  Texel result{};
  for (u32 c = 0; c < texture.channels; ++c) result[c] = std::bit_cast<u32>(filtered(texture, sum[c]));
  return result;
}

}  // namespace terrace::ptx
