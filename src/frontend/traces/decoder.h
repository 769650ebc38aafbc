// Instructions of a trace as the SM sees them: each static instruction once, and where the lanes of an access go.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <deque>
#include <string>
#include <unordered_map>

#include "engine/types.h"
#include "frontend/inst_stream.h"
#include "frontend/traces/kernel_trace.h"
#include "frontend/traces/opcode_table.h"

namespace terrace::traces {

/// One execution of an instruction.
struct Step {
  u32 inst = 0;  // in the decoder
  u32 mask = 0;
  AddressForm form = AddressForm::kNone;
  u64 base = 0;  // of kStride; of kList: where its addresses begin in the list of the block
  i64 stride = 0;
};

/// Where a lane's address lies, once the windows of generic addresses are taken into account.
struct Place {
  MemorySpace space;  // global, shared or local
  u64 offset;         // the address in global memory, the offset in shared or local memory
};

class Decoder {
 public:
  explicit Decoder(OpcodeTable table) : table_(std::move(table)) {}

  /// The number of the static instruction. What the table and the line do not agree on is an InputError that names the
  /// line.
  u32 decode(const TraceLine& line, const LineSource& source);
  const DecodedInst& inst(u32 number) const { return insts_[number].decoded; }
  const std::string& opcode(u32 number) const { return insts_[number].opcode; }
  bool known(u32 number) const { return insts_[number].known; }
  /// Whether its lanes have addresses that count.
  bool has_addresses(u32 number) const { return insts_[number].has_addresses; }

  static Place place(const KernelHeader& header, MemorySpace space, u64 address);

 private:
  struct Inst {
    DecodedInst decoded;
    std::string opcode;
    bool known, has_addresses;
  };
  Inst make(const TraceLine& line, const LineSource& source) const;

  OpcodeTable table_;
  std::deque<Inst> insts_;  // the SM keeps references
  std::unordered_map<std::string, u32> numbers_;
  std::string key_;
};

/// Calls f(lane, address) for every active lane. `list` holds the addresses of kList, from the first on.
template <class F>
void for_each_address(u32 mask, AddressForm form, u64 base, i64 stride, const u64* list, F&& f) {
  u64 at = base;
  for (u32 left = mask; left != 0; left &= left - 1) {
    f(static_cast<u32>(std::countr_zero(left)), form == AddressForm::kStride ? at : *list++);
    at += static_cast<u64>(stride);
  }
}

}  // namespace terrace::traces
