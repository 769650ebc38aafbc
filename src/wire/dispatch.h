// What the block dispatcher and the SMs say to each other.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/types.h"

namespace terrace {

/// What blocks take up, and what an SM has of it.
struct SmRoom {
  u64 warps = 0, blocks = 0, registers = 0, shared_bytes = 0;

  bool fits(const SmRoom& needs) const {
    return needs.warps <= warps && needs.blocks <= blocks && needs.registers <= registers &&
           needs.shared_bytes <= shared_bytes;
  }
  void take(const SmRoom& needs) {
    warps -= needs.warps, blocks -= needs.blocks, registers -= needs.registers, shared_bytes -= needs.shared_bytes;
  }
  void give_back(const SmRoom& needs) {
    warps += needs.warps, blocks += needs.blocks, registers += needs.registers, shared_bytes += needs.shared_bytes;
  }
};

struct BlockStart {
  u64 block = 0;   // number in the launch
  u32 launch = 0;  // grows with each launch of any tenant: a new one invalidates the L1
  u32 warps = 0;
  TenantId tenant{};
};

struct BlockDone {
  TenantId tenant{};
};

}  // namespace terrace
