// Reads of textures: tex.1d and tex.2d.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>

#include "frontend/ptx/decode/decode.h"
#include "frontend/ptx/execute/access.h"
#include "frontend/ptx/execute/texture.h"

namespace terrace::ptx {
namespace {

// Inst::mode.
constexpr u8 kTwoDimensions = 1, kIntegerCoordinates = 2;

/// The texture of a lane, if it is one and its memory is still there; otherwise the warp has faulted.
const Texture* texture_of(Execution& x, u32 lane, u64 number) {
  const Texture* texture = x.machine.textures().find(number);
  if (texture == nullptr) {
    x.machine.raise_fault(x, lane, fmt::format("reads texture object {:#x}, which does not exist", number));
    return nullptr;
  }
  const u64 bytes = texture->texel_bytes();
  if (still_there(x.memory, texture->first, texture->pitch, texture->width * bytes, texture->height)) return texture;
  const u64 last = texture->first.raw + u64{texture->height - 1} * texture->pitch + u64{texture->width - 1} * bytes;
  const u64 gone = x.memory.contains(texture->first, static_cast<u32>(bytes)) ? last : texture->first.raw;
  if (!x.memory.contains({gone}, static_cast<u32>(bytes)))
    fault_outside(x, lane, Space::kGlobal, gone, static_cast<u32>(bytes), false);
  else
    x.machine.raise_fault(
        x, lane,
        fmt::format("reads {} bytes at a place of texture object {:#x}, whose memory was freed", bytes, number));
  return nullptr;
}

void run_texture(Execution& x, const Inst& i) {
  const auto* object = x.src<u64>(i.a);
  const auto* across = x.src<u32>(i.b);
  const auto* down = (i.mode & kTwoDimensions) != 0 ? x.src<u32>(i.c) : nullptr;
  const u32* places = x.launch.code->lists.data() + i.list;
  const bool by_index = (i.mode & kIntegerCoordinates) != 0;
  const Texture* texture = nullptr;
  u64 number = 0;
  bool one_texture = true;
  u32 bytes = 0;
  x.effect.action = MemoryAction::kLoad;
  x.effect.space = MemorySpace::kGlobal;
  x.each([&](u32 lane) {
    if (x.warp.status == WarpStatus::kFaulted) return;
    if (texture == nullptr || object[lane] != number) {
      one_texture = texture == nullptr;
      number = object[lane];
      texture = texture_of(x, lane, number);
      if (texture == nullptr) return;
      bytes = std::max(bytes, texture->texel_bytes());
    }
    // The format says what is read, whatever type the instruction names: so it is on a GPU.
    const bool floats = texture->gives_floats();
    Footprint place;
    Texel texel{};
    if (texture->plain_memory != (by_index && down == nullptr)) {
      // Linear memory is for one index, and one index for linear memory: a GPU reads zeros otherwise.
    } else if (by_index) {
      const i64 row = down == nullptr ? 0 : static_cast<i32>(down[lane]);
      texel = fetch(*texture, x.memory, static_cast<i32>(across[lane]), row, floats, place);
    } else {
      texel = sample(*texture, x.memory, std::bit_cast<float>(across[lane]),
                     down == nullptr ? 0.0f : std::bit_cast<float>(down[lane]), floats, place);
    }
    x.effect.address[lane] = texture->first.raw + u64{place.y} * texture->pitch + u64{place.x} * texture->texel_bytes();
    for (u32 c = 0; c < 4; ++c)
      if (places[c] != kNoOperand) x.dst<u32>(places[c])[lane] = texel[c];
  });
  x.effect.bytes = static_cast<u8>(bytes);
  x.effect.words = 1;
  x.effect.stride = 0;
  if (texture == nullptr || !one_texture || !texture->linear_filter || by_index || texture->height == 1) return;
  x.effect.words = 2;
  x.effect.stride = texture->pitch;
}

}  // namespace

void decode_tex(Decoding& d) {
  // A texture has one level here, which is taken whatever level is asked for, as by a GPU.
  const bool level = d.take("level");
  d.expect_operands(level ? 3 : 2, level ? 3 : 2);
  const int dimensions = d.take_any({"1d", "2d"});
  if (dimensions < 0)
    d.refuse("textures of this kind are not supported; use one or two dimensions without layers or mipmaps");
  if (!d.take("v4")) d.refuse("a texture is read as .v4");
  const auto result = d.take_type(), coordinates = d.take_type();
  const bool floats = result == Type::kF32, integers = result == Type::kS32 || result == Type::kU32;
  if ((!floats && !integers) || (coordinates != Type::kF32 && coordinates != Type::kS32))
    d.refuse("a texture is read as .f32, .s32 or .u32, at coordinates of type .f32 or .s32");
  const Operand &to = d.operand(0), &where = d.operand(1);
  if (to.kind != OperandKind::kVector || to.parts.size() != 4) d.refuse("four registers take what is read");
  if (where.kind != OperandKind::kAddress || where.parts.size() != 2 || where.offset != 0)
    d.refuse("the place must be [texture object, {{coordinates}}]; compile for texture objects, without samplers");
  d.elementwise = false;
  d.start_list();
  for (const Operand& part : to.parts) d.list_destination(part, Type::kB32);
  d.source(kFieldA, where.parts[0], Type::kB64);
  const Operand& at = where.parts[1];
  const bool vector = at.kind == OperandKind::kVector;
  const u32 wanted = static_cast<u32>(dimensions) + 1, given = vector ? static_cast<u32>(at.parts.size()) : 1;
  if (given < wanted) d.refuse("{} coordinates are given for {} dimensions", given, wanted);
  d.source(kFieldB, vector ? at.parts[0] : at, *coordinates);
  if (wanted == 2) d.source(kFieldC, at.parts[1], *coordinates);
  if (level) d.source(kFieldE, 2, Type::kF32);
  d.inst.mode =
      static_cast<u8>((wanted == 2 ? kTwoDimensions : 0) | (*coordinates == Type::kS32 ? kIntegerCoordinates : 0));
  d.inst.count = 4;
  d.facts.action = MemoryAction::kLoad;
  d.facts.space = MemorySpace::kGlobal;
  d.facts.lane_bytes = 16;
  d.inst.run = run_texture;
}

}  // namespace terrace::ptx
