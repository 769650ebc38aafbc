// What the block dispatcher and the SMs say to each other.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "engine/types.h"

namespace terrace {

struct BlockImage;

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
  friend bool operator==(const SmRoom&, const SmRoom&) = default;
};

struct BlockStart {
  u64 block = 0;  // number in the launch
  LaunchId launch{};
  u32 warps = 0;
  TenantId tenant{};
  std::shared_ptr<const BlockImage> image = nullptr;  // of a block that goes on; none: it begins
  bool shares_sm = false;                             // blocks of other tenants may be there
};

/// A block that left its SM before it had ended, with all that it needs to go on elsewhere.
struct UnfinishedBlock {
  u64 block = 0;  // number in the launch
  LaunchId launch{};
  TenantId tenant{};
  std::shared_ptr<const BlockImage> image;
};

struct BlockDone {
  TenantId tenant{};
  LaunchId launch{};
};

}  // namespace terrace
