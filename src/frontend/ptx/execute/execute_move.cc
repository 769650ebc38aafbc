// Moves: registers, constants, addresses of variables, packing and unpacking, special registers, and the conversion of
// addresses between spaces.
// SPDX-License-Identifier: MIT
#include <array>
#include <bit>

#include "frontend/ptx/decode/polling.h"
#include "frontend/ptx/execute/execution.h"
#include "frontend/ptx/execute/select_type.h"
#include "frontend/ptx/read/special_registers.h"

namespace terrace::ptx {
namespace {

template <class T>
struct Move {
  static T apply(T a) { return a; }
  static constexpr Handler value = unary<Move, T, T>;
};

void move_predicate(Execution& x, const Inst& i) {
  const u64 a = x.predicates[i.a];
  x.write_predicate(i.d, i.flags & kNegateC ? ~a : a);
}
void set_predicate(Execution& x, const Inst& i) {
  x.write_predicate(i.d, i.imm);
}

/// The address of a variable in the function's own local or parameter area.
void move_frame_address(Execution& x, const Inst& i) {
  const Frame& frame = x.warp.frame();
  const u64 address = i.imm + (i.mode != 0 ? frame.param_base : frame.local_base);
  if (i.flags & kWideValue)
    x.write<u64>(i.d, [=](Lane) { return address; });
  else
    x.write<u32>(i.d, [=](Lane) { return static_cast<u32>(address); });
}

/// d = {parts}: `count` parts of `bytes` bytes, lowest first.
void pack(Execution& x, const Inst& i) {
  const u32* parts = x.launch.code->lists.data() + i.list;
  const u64 mask = i.bytes == 8 ? ~u64{0} : (u64{1} << (8 * i.bytes)) - 1;
  x.each([&](u32 lane) {
    u64 value = 0;
    for (u32 p = 0; p < i.count; ++p) value |= (x.src<u32>(parts[p])[lane] & mask) << (8 * i.bytes * p);
    if (i.flags & kWideValue)
      x.dst<u64>(i.d)[lane] = value;
    else
      x.dst<u32>(i.d)[lane] = static_cast<u32>(value);
  });
}
/// {parts} = a
void unpack(Execution& x, const Inst& i) {
  const u32* parts = x.launch.code->lists.data() + i.list;
  const u64 mask = (u64{1} << (8 * i.bytes)) - 1;
  x.each([&](u32 lane) {
    const u64 value = i.flags & kWideValue ? u64{x.src<u64>(i.a)[lane]} : u64{x.src<u32>(i.a)[lane]};
    for (u32 p = 0; p < i.count; ++p) {
      if (parts[p] != kNoOperand) x.dst<u32>(parts[p])[lane] = static_cast<u32>((value >> (8 * i.bytes * p)) & mask);
    }
  });
}

u32 component(const Dim3& dim, u32 c) {
  return c == 0 ? dim.x : c == 1 ? dim.y : c == 2 ? dim.z : 1;
}
/// Coordinate c of element `number` of a grid, in the order x, y, z.
u64 coordinate(u64 number, const Dim3& dim, u32 c) {
  if (c == 0) return number % dim.x;
  if (c == 1) return number / dim.x % dim.y;
  return c == 2 ? number / dim.x / dim.y : 0;
}

/// A block takes the same value in all lanes, but for the thread's own coordinates and lane masks.
u64 special_value(const Execution& x, Special special, u32 c, u32 lane) {
  const u32 in_half = lane % kHalf;
  const u32 self = u32{1} << in_half;
  switch (special) {
    case Special::kTid:
      return coordinate(u64{x.warp.index} * x.launch.width + lane, x.launch.block, c);
    case Special::kNtid:
      return component(x.launch.block, c);
    case Special::kCtaid:
      return coordinate(x.block.number, x.launch.grid, c);
    case Special::kNctaid:
      return component(x.launch.grid, c);
    case Special::kLaneid:
      return in_half;
    case Special::kWarpid:
      return x.warp.index;
    case Special::kNwarpid:
      return x.launch.warps_per_block;
    case Special::kSmid:
      return index(x.block.sm);
    case Special::kNsmid:
      return 1;
    case Special::kGridid:
      return index(x.launch.id);
    case Special::kLanemaskEq:
      return self;
    case Special::kLanemaskLe:
      return self | (self - 1);
    case Special::kLanemaskLt:
      return self - 1;
    case Special::kLanemaskGe:
      return ~(self - 1) & 0xffff'ffff;
    case Special::kLanemaskGt:
      return ~(self | (self - 1)) & 0xffff'ffff;
    case Special::kClock:
    case Special::kGlobaltimerLo:
      return static_cast<u32>(x.now);
    case Special::kClockHi:
    case Special::kGlobaltimerHi:
      return x.now >> 32;
    case Special::kClock64:
    case Special::kGlobaltimer:
      return x.now;
    case Special::kDynamicSmemSize:
      return x.launch.dynamic_shared_bytes;
    case Special::kTotalSmemSize:
      return x.launch.shared_bytes;
    case Special::kIsExplicitCluster:
      return 0;
    case Special::kGridWorkspaceHi:
      return x.launch.grid_workspace.raw >> 32;
    case Special::kGridWorkspaceLo:
      return static_cast<u32>(x.launch.grid_workspace.raw);
  }
  return 0;
}

bool varies_by_lane(Special special) {
  return special == Special::kTid || special == Special::kLaneid ||
         (special >= Special::kLanemaskEq && special <= Special::kLanemaskGt);
}

void read_special(Execution& x, const Inst& i) {
  const Special special = static_cast<Special>(i.mode);
  if (varies_by_lane(special)) {
    x.each([&](u32 lane) {
      const u64 value = special_value(x, special, i.count, lane);
      if (i.flags & kWideValue)
        x.dst<u64>(i.d)[lane] = value;
      else
        x.dst<u32>(i.d)[lane] = static_cast<u32>(value);
    });
    return;
  }
  const u64 value = special_value(x, special, i.count, 0);
  if (i.flags & kWideValue)
    x.write<u64>(i.d, [=](Lane) { return value; });
  else
    x.write<u32>(i.d, [=](Lane) { return static_cast<u32>(value); });
}

void decode_special(Decoding& d, Type type) {
  const Operand& source = d.operand(1);
  if (source.name == kReservedShared && bytes_of(type) == 4) {
    d.destination(kFieldD, 0, type);
    d.place_constant(kFieldA, d.decoder().kernel.layout.shared.at({nullptr, kReservedShared}), false);
    d.inst.run = by_width<Move>(type);
    return;
  }
  for (const SpecialEntry& entry : kSpecials) {
    if (entry.name != source.name) continue;
    const u32 c = source.component == 0 ? 0 : static_cast<u32>(std::string_view("xyzw").find(source.component));
    if (entry.vector != (source.component != 0) || c > 3) break;
    d.destination(kFieldD, 0, type);
    if (bytes_of(type) == 8) d.inst.flags |= kWideValue;
    d.inst.mode = static_cast<u8>(entry.special);
    d.inst.count = static_cast<u8>(c);
    d.inst.run = read_special;
    d.decoder().kernel.code.uses_grid_workspace |= entry.special >= Special::kGridWorkspaceHi;
    d.decoder().kernel.code.reads_clock |= reads_clock(&d.statement);
    return;
  }
  d.refuse("special register {}{} is not supported", source.name,
           source.component == 0 ? std::string() : std::string(".") + source.component);
}

void decode_predicate_move(Decoding& d) {
  if (!d.is_predicate(d.operand(0))) d.refuse("the result must be a predicate register");
  d.predicate_destination(kFieldD, d.operand(0).index);
  if (d.operand(1).kind == OperandKind::kInteger) {
    d.inst.imm = d.operand(1).bits != 0 ? ~u64{0} : 0;
    d.inst.run = set_predicate;
  } else {
    d.predicate_source(kFieldA, d.operand(1));
    d.inst.run = move_predicate;
  }
}

Type part_type(Decoding& d, Type whole, u64 parts) {
  const u64 bytes = parts == 0 ? 0 : bytes_of(whole) / parts;
  if (bytes * parts != bytes_of(whole) || bytes > 4 || bytes == 0)
    d.refuse("{} elements do not make a value of type .{}", parts, type_name(whole));
  return bytes == 4 ? Type::kB32 : bytes == 2 ? Type::kB16 : Type::kB8;
}

void decode_pack(Decoding& d, Type type) {
  const bool packs = d.operand(1).kind == OperandKind::kVector;
  const Operand& vector = d.operand(packs ? 1 : 0);
  const Type part = part_type(d, type, vector.parts.size());
  d.inst.count = static_cast<u8>(vector.parts.size());
  d.inst.bytes = static_cast<u8>(bytes_of(part));
  d.elementwise = false;
  if (bytes_of(type) == 8) d.inst.flags |= kWideValue;
  d.start_list();
  for (const Operand& element : vector.parts) packs ? d.list_source(element, part) : d.list_destination(element, part);
  if (packs)
    d.destination(kFieldD, 0, type);
  else
    d.source(kFieldA, 1, type);
  d.inst.run = packs ? pack : unpack;
}

/// mov d, variable
/// What a pointer to a device function holds, if the operand names one.
std::optional<u64> pointed_to(Decoding& d, const Operand& operand) {
  const Module& module = d.decoder().kernel.module;
  const auto found = module.function_index.find(operand.name);
  if (operand.kind != OperandKind::kSymbol || found == module.function_index.end()) return std::nullopt;
  if (module.functions[found->second].entry) return std::nullopt;
  return function_address(found->second);
}

void decode_address(Decoding& d, Type type) {
  const Operand& source = d.operand(1);
  if (const auto function = pointed_to(d, source)) {
    if (bytes_of(type) != 8) d.refuse("the address of a function does not fit type .{}", type_name(type));
    d.destination(kFieldD, 0, type);
    d.place_constant(kFieldA, *function, true);
    d.inst.run = by_width<Move>(type);
    return;
  }
  const auto location = d.locate(source);
  if (!location) d.refuse("{} is not a variable or device function of this module", source.name);
  if (bytes_of(type) < 4) d.refuse("an address does not fit type .{}", type_name(type));
  d.destination(kFieldD, 0, type);
  const u64 address = location->address + static_cast<u64>(source.offset);
  const bool wide = bytes_of(type) == 8;
  if (location->frame_relative) {
    d.inst.imm = address;
    d.inst.mode = location->space == Space::kParam;
    if (wide) d.inst.flags |= kWideValue;
    d.inst.run = move_frame_address;
  } else {
    d.place_constant(kFieldA, wide ? address : address & 0xffff'ffff, wide);
    d.inst.run = by_width<Move>(type);
  }
}

/// Generic addresses of shared and local memory lie in windows; all others are the same in every space.
std::optional<u64> window_of(Space space) {
  switch (space) {
    case Space::kGlobal:
    case Space::kConst:
      return 0;
    case Space::kShared:
      return GuestMemory::kSharedWindow;
    case Space::kLocal:
      return GuestMemory::kLocalWindow;
    default:
      return std::nullopt;
  }
}

template <class T>
void add_window(Execution& x, const Inst& i) {
  const auto* a = x.src<T>(i.a);
  const T window = static_cast<T>(i.imm);
  x.write<T>(i.d, [=](Lane lane) { return static_cast<T>(a[lane] + window); });
}

/// Shared and local addresses have 32 bits, whatever register they are in. One below zero stays near its window, where a
/// later offset can bring it back and an access without one faults.
void enter_window(Execution& x, const Inst& i) {
  const auto* a = x.src<u64>(i.a);
  const u64 window = i.imm;
  x.write<u64>(i.d,
               [=](Lane lane) { return window + static_cast<u64>(i64{static_cast<i32>(static_cast<u32>(a[lane]))}); });
}
void leave_window(Execution& x, const Inst& i) {
  const auto* a = x.src<u64>(i.a);
  const u64 window = i.imm;
  x.write<u64>(i.d, [=](Lane lane) { return u64{static_cast<u32>(a[lane] + window)}; });
}

void in_window(Execution& x, const Inst& i) {
  const auto* a = x.src<u64>(i.a);
  const u64 window = i.imm;
  const bool global = i.mode != 0;
  x.write_predicate(i.d, x.where([=](Lane lane) {
    return global ? a[lane] >= GuestMemory::kBase : a[lane] - window < GuestMemory::kWindowBytes;
  }));
}

}  // namespace

void decode_mov(Decoding& d) {
  const Type type = d.expect_type();
  d.expect_operands(2, 2);
  if (type == Type::kPred) return decode_predicate_move(d);
  const OperandKind result = d.operand(0).kind, source = d.operand(1).kind;
  if (result == OperandKind::kVector || source == OperandKind::kVector) return decode_pack(d, type);
  if (source == OperandKind::kSpecial) return decode_special(d, type);
  if (source == OperandKind::kSymbol || source == OperandKind::kVariable) return decode_address(d, type);
  unary_operands(d, type);
  choose(d, by_width<Move>(type), type);
}

void decode_cvta(Decoding& d) {
  const bool to = d.take("to");
  const auto space = d.take_space();
  const Type type = d.expect_type();
  const auto window = space ? window_of(*space) : std::nullopt;
  if (!window) d.refuse("this space has no generic addresses here; pass a pointer to global memory instead");
  if (type != Type::kU64 && type != Type::kU32) d.refuse("addresses are .u64 or .u32");
  d.expect_operands(2, 2);
  d.inst.imm = to ? u64{0} - *window : *window;
  const bool narrow = *space == Space::kShared || *space == Space::kLocal;
  d.inst.run = type == Type::kU32 ? add_window<u32> : !narrow ? add_window<u64> : to ? leave_window : enter_window;
  d.destination(kFieldD, 0, type);
  const auto location = d.locate(d.operand(1));
  if (!location) return d.source(kFieldA, 1, type);
  d.inst.imm += location->address + static_cast<u64>(d.operand(1).offset);
  if (!location->frame_relative) return d.place_constant(kFieldA, 0, type == Type::kU64);
  if (type == Type::kU64) d.inst.flags |= kWideValue;
  d.inst.mode = location->space == Space::kParam;
  d.inst.run = move_frame_address;
}

void decode_isspacep(Decoding& d) {
  const auto space = d.take_space();
  const auto window = space ? window_of(*space) : std::nullopt;
  if (!window || *space == Space::kConst) d.refuse("only .global, .shared and .local are supported");
  d.expect_operands(2, 2);
  if (!d.is_predicate(d.operand(0))) d.refuse("the result must be a predicate register");
  d.predicate_destination(kFieldD, d.operand(0).index);
  d.source(kFieldA, 1, Type::kU64);
  d.inst.imm = *window;
  d.inst.mode = *space == Space::kGlobal;
  d.inst.run = in_window;
}

}  // namespace terrace::ptx
