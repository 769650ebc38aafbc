// What each SASS opcode is to the SM: which pipeline it uses, what it does with memory. The table is configuration
// (configs/traces/opcodes.toml); a folder of traces may bring a file opcodes.toml that adds to it and has the last word.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types.h"
#include "frontend/inst_stream.h"

namespace terrace::traces {

struct Opcode {
  bool known = false;  // of an unknown one nothing is known: it takes a place in issue and does nothing
  InstClass cls = InstClass::kInteger;
  MemoryAction action = MemoryAction::kNone;
  MemorySpace space = MemorySpace::kNone;
  u8 bytes = 0;  // that each lane touches; 0: as the modifiers say, or else the trace
  bool bypasses_l1 = false;
  u16 tensor_work = 0;  // DecodedInst's

  /// Whether the addresses of its lanes count.
  bool has_addresses() const { return action != MemoryAction::kNone && space != MemorySpace::kConstant; }
};

class OpcodeTable {
 public:
  /// The table that comes with Terrace, and the folder's own if it has one. Mistakes are InputErrors.
  static OpcodeTable read(const std::string& folder);

  /// The entry that agrees with most words of the opcode: "BAR.ARV" before "BAR".
  Opcode find(std::string_view opcode) const;
  /// Of both files.
  u64 hash() const { return hash_; }

 private:
  void add(const std::string& path);

  std::map<std::string, Opcode, std::less<>> opcodes_;
  std::vector<std::string> bypass_l1_;
  u64 hash_ = 0;
};

/// Bytes that each lane touches, as the modifiers say (U8, S16, 64, 128, F64, ...); 0 where they do not.
u8 bytes_of_modifiers(std::string_view opcode);

}  // namespace terrace::traces
