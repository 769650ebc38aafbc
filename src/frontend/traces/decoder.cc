// SPDX-License-Identifier: MIT
#include "frontend/traces/decoder.h"

#include <algorithm>

#include "text/tree.h"

namespace terrace::traces {

u32 Decoder::decode(const TraceLine& line, const LineSource& source) {
  key_.assign(line.fixed);
  key_ += fmt::format(" {:x} {}", line.pc, line.source_line);
  if (const auto found = numbers_.find(key_); found != numbers_.end()) return found->second;
  insts_.push_back(make(line, source));
  const u32 number = static_cast<u32>(insts_.size() - 1);
  numbers_.emplace(key_, number);
  return number;
}

Decoder::Inst Decoder::make(const TraceLine& line, const LineSource& source) const {
  const Opcode opcode = table_.find(line.opcode);
  Inst made{{}, std::string(line.opcode), opcode.known, opcode.has_addresses()};
  DecodedInst& inst = made.decoded;
  inst.cls = opcode.cls;
  inst.line = line.source_line != 0 ? line.source_line : line.pc;
  if (!opcode.known) return made;
  inst.tensor_work = opcode.tensor_work;
  inst.action = opcode.action;
  inst.space = opcode.space;
  inst.volatile_access = opcode.bypasses_l1;
  if (made.has_addresses) {
    if (line.width == 0) source.refuse("{} has no addresses", printable(line.opcode));
    if (line.form == AddressForm::kBulk) source.refuse("{} has the addresses of a bulk copy", printable(line.opcode));
    const u8 told = opcode.bytes != 0 ? opcode.bytes : bytes_of_modifiers(line.opcode);
    const u32 bytes = told != 0 ? told : line.width;
    if (bytes > 16 || !std::has_single_bit(bytes))
      source.refuse("lanes of {} access {} bytes; the number must be 1, 2, 4, 8 or 16", printable(line.opcode), bytes);
    inst.lane_bytes = static_cast<u8>(bytes);
  }
  const auto add = [&](u16 name) {
    if (name != kZeroRegister) inst.registers[inst.sources + inst.destinations] = name;
    return name != kZeroRegister;
  };
  for (const u16 name : line.sources) inst.sources += add(name);
  for (const u16 name : line.destinations) inst.destinations += add(name);
  // A wide load fills registers in a row, and the trace names the first.
  const bool result = inst.action == MemoryAction::kLoad || inst.action == MemoryAction::kAtomic;
  if (result && inst.destinations == 1) {
    const u32 first = inst.registers[inst.sources], count = std::max<u32>(1, inst.lane_bytes / 4);
    for (u32 i = 1; i < count && first + i < kZeroRegister; ++i) inst.destinations += add(static_cast<u16>(first + i));
  }
  return made;
}

Place Decoder::place(const KernelHeader& header, MemorySpace space, u64 address) {
  const auto in_window = [&](u64 base) { return base != 0 && address - base < GuestMemory::kWindowBytes; };
  const bool generic = space == MemorySpace::kGeneric;
  if ((generic || space == MemorySpace::kShared) && in_window(header.shared_base))
    return {MemorySpace::kShared, address - header.shared_base};
  if ((generic || space == MemorySpace::kLocal) && in_window(header.local_base))
    return {MemorySpace::kLocal, address - header.local_base};
  return {generic ? MemorySpace::kGlobal : space, address};
}

}  // namespace terrace::traces
