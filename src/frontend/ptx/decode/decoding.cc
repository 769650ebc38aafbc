// SPDX-License-Identifier: MIT
#include <algorithm>

#include "frontend/ptx/arith/convert.h"
#include "frontend/ptx/decode/decode.h"

namespace terrace::ptx {

Decoding::Decoding(FunctionDecoder& decoder, const Statement& s)
    : statement(s), decoder_(decoder), modifiers_(s.modifiers) {
  if (s.guard != kNoIndex) {
    read(kFieldGuard, s.guard);
    inst.guard = 0;  // patched; guarded instructions are known as such before
    inst.guard_negated = s.guard_negated;
  }
  facts.line = s.source_line != 0 ? s.source_line : s.line;
}

const Function& Decoding::function() const {
  return decoder_.function;
}

std::string Decoding::spelling() const {
  std::string spelling(statement.opcode);
  for (const auto modifier : statement.modifiers) spelling.append(".").append(modifier);
  return spelling;
}

void Decoding::refuse_with(const std::string& reason) const {
  input_error("{}: {}: {}", place_of(decoder_.kernel.module, statement), spelling(), reason);
}

bool Decoding::take(std::string_view modifier) {
  const auto found = std::find(modifiers_.begin(), modifiers_.end(), modifier);
  if (found == modifiers_.end()) return false;
  modifiers_.erase(found);
  return true;
}

std::string_view Decoding::take_first() {
  if (modifiers_.empty()) return {};
  const std::string_view first = modifiers_.front();
  modifiers_.erase(modifiers_.begin());
  return first;
}

int Decoding::take_any(std::initializer_list<std::string_view> modifiers) {
  int position = 0;
  for (const auto modifier : modifiers) {
    if (take(modifier)) return position;
    ++position;
  }
  return -1;
}

std::optional<Type> Decoding::take_type() {
  for (auto m = modifiers_.begin(); m != modifiers_.end(); ++m) {
    if (const auto type = parse_type(*m)) {
      modifiers_.erase(m);
      return type;
    }
  }
  return std::nullopt;
}

Type Decoding::expect_type() {
  const auto type = take_type();
  if (!type) refuse("has no type this machine knows; the instruction is not supported");
  return *type;
}

std::optional<Space> Decoding::take_space() {
  for (auto m = modifiers_.begin(); m != modifiers_.end(); ++m) {
    // .shared::cta and .param::entry are the plain spaces, spelt out
    const std::string_view name = *m == "shared::cta" ? "shared" : m->starts_with("param::") ? "param" : *m;
    if (const auto space = parse_space(name)) {
      modifiers_.erase(m);
      return space;
    }
  }
  return std::nullopt;
}

Round Decoding::take_rounding(Round otherwise) {
  switch (take_any({"rn", "rz", "rm", "rp"})) {
    case 0:
      return Round::kNearestEven;
    case 1:
      return Round::kZero;
    case 2:
      return Round::kDown;
    case 3:
      return Round::kUp;
    default:
      return otherwise;
  }
}

void Decoding::expect_operands(u32 least, u32 most) {
  if (operands() < least || operands() > most)
    refuse("takes {} operands, found {}",
           least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most), operands());
}

void Decoding::set_field(u32 field, u32 value) {
  switch (field) {
    case kFieldD:
      inst.d = value;
      break;
    case kFieldA:
      inst.a = value;
      break;
    case kFieldB:
      inst.b = value;
      break;
    case kFieldC:
      inst.c = value;
      break;
    case kFieldE:
      inst.e = value;
      break;
    case kFieldMembers:
      inst.members = value;
      break;
    default:
      decoder_.kernel.code.lists[field - kFieldList] = value;
  }
}

void Decoding::read(u32 field, u32 reg) {
  uses.reads.push_back(reg);
  decoder_.patches.push_back({static_cast<u32>(decoder_.kernel.code.insts.size()), field, reg});
}
void Decoding::write(u32 field, u32 reg) {
  uses.writes.push_back(reg);
  decoder_.patches.push_back({static_cast<u32>(decoder_.kernel.code.insts.size()), field, reg});
}

u32 Decoding::rows(const Operand& operand) const {
  return operand.kind == OperandKind::kRegister ? rows_of(function().registers[operand.index].type) : 0;
}

bool Decoding::is_predicate(const Operand& operand) const {
  return operand.kind == OperandKind::kRegister && function().registers[operand.index].type == Type::kPred;
}

u64 Decoding::constant_bits(const Operand& operand, Type type) const {
  if (operand.kind == OperandKind::kInteger) {
    if (type == Type::kF32 || type == Type::kF64) {
      // An integer constant in a floating-point instruction is its value, as ptxas reads it.
      const double value = static_cast<double>(static_cast<i64>(operand.bits));
      return type == Type::kF64 ? std::bit_cast<u64>(value) : std::bit_cast<u32>(static_cast<float>(value));
    }
    const u32 bytes = bytes_of(type);
    return bytes < 8 ? operand.bits & ((u64{1} << (8 * std::max(bytes, 1u))) - 1) : operand.bits;
  }
  const double value =
      operand.is_f64 ? std::bit_cast<double>(operand.bits) : std::bit_cast<float>(static_cast<u32>(operand.bits));
  if (type == Type::kF64) return operand.is_f64 ? operand.bits : std::bit_cast<u64>(value);
  if (type == Type::kF32) return operand.is_f64 ? std::bit_cast<u32>(static_cast<float>(value)) : operand.bits;
  return operand.bits;
}

u32 Decoding::pool_place(u64 bits, bool wide) {
  KernelDecoder& kernel = decoder_.kernel;
  const auto [entry, added] = kernel.pool_index.emplace(std::pair{bits, wide}, 0);
  if (added) {
    auto& pool = kernel.code.pool;
    entry->second = static_cast<u32>(pool.size() * sizeof(u32)) | kInPool;
    for (u32 lane = 0; lane < kernel.stride; ++lane) {
      pool.push_back(static_cast<u32>(bits));
      if (wide) pool.push_back(static_cast<u32>(bits >> 32));
    }
  }
  return entry->second;
}

void Decoding::place_constant(u32 field, u64 bits, bool wide) {
  set_field(field, pool_place(bits, wide));
}

void Decoding::source(u32 field, const Operand& operand, Type type) {
  if (operand.kind == OperandKind::kInteger || operand.kind == OperandKind::kFloat)
    return place_constant(field, constant_bits(operand, type), bytes_of(type) == 8);
  if (operand.kind == OperandKind::kSpecial)
    refuse("special register {} can be read by mov only; move it to a register first", operand.name);
  if (operand.kind != OperandKind::kRegister) refuse("operand '{}' must be a register or a constant", operand.name);
  const Type held = function().registers[operand.index].type;
  if (held == Type::kPred || rows_of(held) != rows_of(type))
    refuse("register {} of type .{} does not fit an operand of type .{}", operand.name, ptx::type_name(held),
           ptx::type_name(type));
  read(field, operand.index);
}

void Decoding::destination(u32 field, const Operand& operand, Type type) {
  if (operand.kind != OperandKind::kRegister) refuse("the result needs a register, found '{}'", operand.name);
  const Type held = function().registers[operand.index].type;
  if (held == Type::kPred || rows_of(held) != rows_of(type))
    refuse("register {} of type .{} does not fit a result of type .{}", operand.name, ptx::type_name(held),
           ptx::type_name(type));
  write(field, operand.index);
}

void Decoding::source(u32 field, u32 operand_index, Type type) {
  source(field, operand(operand_index), type);
}
void Decoding::destination(u32 field, u32 operand_index, Type type) {
  destination(field, operand(operand_index), type);
}

void Decoding::predicate_source(u32 field, const Operand& operand) {
  if (!is_predicate(operand)) refuse("operand '{}' must be a predicate register", operand.name);
  if (operand.negated) inst.flags |= kNegateC;
  read(field, operand.index);
}

void Decoding::predicate_destination(u32 field, u32 reg) {
  if (function().registers[reg].type != Type::kPred)
    refuse("the result {} must be a predicate register", function().registers[reg].name);
  write(field, reg);
}

void Decoding::start_list() {
  inst.list = static_cast<u32>(decoder_.kernel.code.lists.size());
}
void Decoding::list_source(const Operand& operand, Type type) {
  auto& lists = decoder_.kernel.code.lists;
  lists.push_back(kNoOperand);
  source(kFieldList + static_cast<u32>(lists.size()) - 1, operand, type);
}
void Decoding::list_value(u32 value) {
  decoder_.kernel.code.lists.push_back(value);
}
void Decoding::list_destination(const Operand& operand, Type type) {
  auto& lists = decoder_.kernel.code.lists;
  lists.push_back(kNoOperand);
  if (operand.kind == OperandKind::kSink) return;
  destination(kFieldList + static_cast<u32>(lists.size()) - 1, operand, type);
}

std::optional<Location> Decoding::locate(const Operand& operand) {
  const Layout& layout = decoder_.kernel.layout;
  if (operand.kind == OperandKind::kVariable) {
    const Variable& variable = function().variables[operand.index];
    if (variable.space == Space::kShared)
      return Location{Space::kShared, layout.shared.at({&function(), variable.name})};
    const bool relative =
        variable.space == Space::kLocal || !function().entry || operand.index >= function().params.size();
    return Location{variable.space, variable.offset, relative};
  }
  if (operand.kind != OperandKind::kSymbol) return std::nullopt;
  const Module& module = decoder_.kernel.module;
  const auto found = module.variable_index.find(operand.name);
  if (found == module.variable_index.end()) return std::nullopt;
  const Variable& variable = module.variables[found->second];
  if (variable.space == Space::kShared) return Location{Space::kShared, layout.shared.at({nullptr, variable.name})};
  const auto placed = layout.variables.find(operand.name);
  if (placed == layout.variables.end())
    refuse("variable {} is declared .extern and defined nowhere; link the module that defines it", operand.name);
  return Location{variable.space, placed->second.raw};
}

std::optional<Space> Decoding::address(const Operand& operand) {
  if (operand.kind != OperandKind::kAddress) refuse("operand '{}' must be an address in brackets", operand.name);
  inst.imm = static_cast<u64>(operand.offset);
  if (operand.parts.empty()) return std::nullopt;
  if (operand.parts.size() > 1) refuse("an address here is one register or variable and an offset");
  const Operand& base = operand.parts[0];
  if (base.kind == OperandKind::kRegister) {
    const Type held = function().registers[base.index].type;
    if (held == Type::kPred || bytes_of(held) < 4) refuse("register {} cannot hold an address", base.name);
    if (bytes_of(held) == 4) inst.flags |= kAddress32;
    read(kFieldA, base.index);
    return std::nullopt;
  }
  const auto location = locate(base);
  if (!location) refuse("variable {} is not declared", base.name);
  inst.imm += location->address;
  if (location->frame_relative) inst.flags |= kFrameRelative;
  return location->space;
}

u64 Decoding::immediate(const Operand& operand, std::string_view what) {
  if (operand.kind != OperandKind::kInteger) refuse("{} must be a constant, found '{}'", what, operand.name);
  return operand.bits;
}

u32 Decoding::label(const Operand& operand) {
  if (operand.kind != OperandKind::kSymbol) refuse("'{}' is not a label", operand.name);
  u32 scope = operand.scope;
  while (true) {
    for (const Label& candidate : function().labels) {
      if (candidate.scope == scope && candidate.name == operand.name) return decoder_.first + candidate.target;
    }
    if (scope == 0) refuse("label {} is not defined in function {}", operand.name, function().name);
    scope = function().scope_parents[scope];
  }
}

}  // namespace terrace::ptx
