// Reads and writes of surfaces: suld.b and sust.b, with one or two dimensions. The first coordinate counts bytes. For timing they are
// accesses to global memory; one that lies outside and is ignored counts as an access to the nearest place inside.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "frontend/ptx/decode/decode.h"
#include "frontend/ptx/execute/access.h"
#include "frontend/ptx/execute/texture.h"

namespace terrace::ptx {
namespace {

/// What becomes of an access outside; Inst::mode.
enum class Beyond : u8 { kTrap, kClamp, kZero };

struct Spot {
  bool found = false;  // otherwise the warp has faulted
  bool ignored = false;
  u64 address = 0;
};

class Spots {
 public:
  Spots(Execution& x, const Inst& i, u32 bytes, bool writes)
      : x_(x), beyond_(static_cast<Beyond>(i.mode)), bytes_(bytes), writes_(writes) {}

  Spot find(u32 lane, u64 number, i32 at, i32 row) {
    const Surface* surface = surface_of(lane, number);
    if (surface == nullptr) return {};
    // The last place that holds the whole access, and starts where one may.
    const i64 last = (i64{surface->row_bytes} / bytes_ - 1) * bytes_, last_row = i64{surface->height} - 1;
    const i64 to = std::clamp<i64>(at, 0, std::max<i64>(last, 0)), to_row = std::clamp<i64>(row, 0, last_row);
    const bool outside = at != to || row != to_row || last < 0;
    if ((at % static_cast<i32>(bytes_) != 0 && !outside) || (outside && beyond_ == Beyond::kTrap) || last < 0) {
      x_.machine.raise_fault(
          x_, lane,
          fmt::format("{} {} bytes at byte {} of row {} of a surface with {} bytes in each of {} rows{}",
                      writes_ ? "writes" : "reads", bytes_, at, row, surface->row_bytes, surface->height,
                      outside ? "" : fmt::format("; the byte must be a multiple of {}", bytes_)));
      return {};
    }
    const u64 address = surface->first.raw + static_cast<u64>(to_row) * surface->pitch + static_cast<u64>(to);
    if (!x_.memory.writable({address}, bytes_) && (writes_ || !x_.memory.contains({address}, bytes_))) {
      fault_outside(x_, lane, Space::kGlobal, address, bytes_, writes_);
      return {};
    }
    return {true, outside && beyond_ == Beyond::kZero, address};
  }

 private:
  const Surface* surface_of(u32 lane, u64 number) {
    const Surface* surface = x_.machine.surfaces().find(number);
    if (surface == nullptr)
      x_.machine.raise_fault(
          x_, lane, fmt::format("{} surface object {:#x}, which does not exist", writes_ ? "writes" : "reads", number));
    return surface;
  }

  Execution& x_;
  Beyond beyond_;
  u32 bytes_;
  bool writes_;
};

/// kWide: registers of 64 bits.
template <bool kWrites, bool kWide>
void run_surface(Execution& x, const Inst& i) {
  using Value = std::conditional_t<kWide, u64, u32>;
  const auto* object = x.src<u64>(i.a);
  const auto* across = x.src<u32>(i.b);
  const auto* down = i.c == kNoOperand ? nullptr : x.src<u32>(i.c);
  const u32* places = x.launch.code->lists.data() + i.list;
  const u32 bytes = u32{i.bytes} * i.count;
  Spots spots(x, i, bytes, kWrites);
  x.effect.action = kWrites ? MemoryAction::kStore : MemoryAction::kLoad;
  x.effect.space = MemorySpace::kGlobal;
  x.effect.bytes = static_cast<u8>(bytes);
  x.effect.words = 1;
  x.effect.stride = 0;
  if (kWrites) x.warp.stop_polling();
  if (kWrites) x.machine.disturb();
  x.each([&](u32 lane) {
    if (x.warp.status == WarpStatus::kFaulted) return;
    const Spot spot = spots.find(lane, object[lane], static_cast<i32>(across[lane]),
                                 down == nullptr ? 0 : static_cast<i32>(down[lane]));
    if (!spot.found) return;
    x.effect.address[lane] = spot.address;
    u8 image[kMaxLaneBytes] = {};
    if (!kWrites && !spot.ignored) std::memcpy(image, x.memory.at({spot.address}), bytes);
    for (u32 e = 0; e < i.count; ++e) {
      if (places[e] == kNoOperand) continue;
      Value value = 0;
      if constexpr (kWrites) {
        value = x.src<Value>(places[e])[lane];
        std::memcpy(image + e * i.bytes, &value, i.bytes);
      } else {
        std::memcpy(&value, image + e * i.bytes, i.bytes);
        x.dst<Value>(places[e])[lane] = value;
      }
    }
    if (kWrites && !spot.ignored) x.stores.push(x.memory, {spot.address}, image, bytes);
  });
}

void decode_surface(Decoding& d, const Operand& data, const Operand& where, bool writes) {
  if (!d.take("b")) d.refuse("only the form .b, of bytes as they are, is supported");
  const int dimensions = d.take_any({"1d", "2d"}), vector = d.take_any({"v2", "v4"});
  if (dimensions < 0) d.refuse("surfaces of this kind are not supported; use one or two dimensions without layers");
  for (const auto word : {"ca", "cg", "cs", "cv", "wb", "wt"}) d.take(word);
  const int beyond = d.take_any({"trap", "clamp", "zero"});
  if (beyond < 0) d.refuse("needs .trap, .clamp or .zero");
  const Type type = d.expect_type();
  const u32 count = vector < 0 ? 1 : 2u << vector, bytes = bytes_of(type);
  if ((type != Type::kB8 && type != Type::kB16 && type != Type::kB32 && type != Type::kB64) || bytes * count > 16)
    d.refuse("the type must be .b8, .b16, .b32 or .b64, and 16 bytes at most are accessed at once");
  const bool group = data.kind == OperandKind::kVector;
  if ((group ? data.parts.size() : 1) != count) d.refuse("{} registers are needed", count);
  if (where.kind != OperandKind::kAddress || where.parts.size() != 2 || where.offset != 0)
    d.refuse("the place must be [surface object, {{coordinates}}]");
  const Type held = bytes == 8 ? Type::kB64 : Type::kB32;
  d.elementwise = false;
  d.start_list();
  for (u32 e = 0; e < count; ++e) {
    const Operand& element = group ? data.parts[e] : data;
    writes ? d.list_source(element, held) : d.list_destination(element, held);
  }
  d.source(kFieldA, where.parts[0], Type::kB64);
  const Operand& at = where.parts[1];
  const bool several = at.kind == OperandKind::kVector;
  const u32 wanted = static_cast<u32>(dimensions) + 1, given = several ? static_cast<u32>(at.parts.size()) : 1;
  if (given < wanted) d.refuse("{} coordinates are given for {} dimensions", given, wanted);
  d.source(kFieldB, several ? at.parts[0] : at, Type::kS32);
  if (wanted == 2) d.source(kFieldC, at.parts[1], Type::kS32);
  d.inst.mode = static_cast<u8>(beyond);
  d.inst.count = static_cast<u8>(count);
  d.inst.bytes = static_cast<u8>(bytes);
  d.facts.action = writes ? MemoryAction::kStore : MemoryAction::kLoad;
  d.facts.space = MemorySpace::kGlobal;
  d.facts.lane_bytes = static_cast<u8>(bytes * count);
  d.inst.run = writes ? (bytes == 8 ? run_surface<true, true> : run_surface<true, false>)
                      : (bytes == 8 ? run_surface<false, true> : run_surface<false, false>);
}

}  // namespace

void decode_suld(Decoding& d) {
  d.expect_operands(2, 2);
  decode_surface(d, d.operand(0), d.operand(1), false);
}
void decode_sust(Decoding& d) {
  d.expect_operands(2, 2);
  decode_surface(d, d.operand(1), d.operand(0), true);
}

}  // namespace terrace::ptx
