// The slot `mmu.walk_path`: does a walk's read of a page-table entry go through the L2, like a load, or straight to
// memory, as an IOMMU's does?
//
//   uses     once, when the machine is wired: whether the policy ever chooses that way.
//   choose   once for each read, when it is known. It must be a way that the policy uses.
//   epoch    between cycles, at the end of each epoch, if it uses epochs (by_epochs).
// SPDX-License-Identifier: MIT
#pragma once

#include "config/registry.h"
#include "engine/archive.h"
#include "engine/types.h"
#include "stats/stat_fields.h"
#include "wire/epoch.h"

namespace terrace {

/// One read of a page-table entry.
struct WalkRead {
  PhysAddr line;
  u32 walker = 0;
  TenantId tenant{};
  u8 level = 0;    // 1 root .. 4 leaf
  u8 sectors = 1;  // of the line: where the entry is (wire/line_shape.h)
};

class WalkPath {
 public:
  struct Context {
    u32 tenants = 1;
    u64 seed = 1;
  };
  enum class Way : u8 { kL2, kMemory };
  static constexpr u32 kWays = 2;
  static constexpr SlotInfo kSlot{"mmu.walk_path", "walk path",
                                  "whether a walk's read goes through the L2 or directly to memory"};

  virtual ~WalkPath() = default;
  virtual bool uses(Way way) const = 0;
  virtual Way choose(const WalkRead& read) = 0;
  /// Saves and restores what changes during a run, except statistics; `{}` when nothing does. Between cycles only.
  virtual void archive(Archive& a) = 0;
  /// Statistics of its own.
  virtual void describe(StatFields& /*v*/) {}
  virtual void epoch(TenantEpochs /*tenants*/) {}
  /// Whether it uses epochs; then run.epoch must give their length.
  virtual bool by_epochs() const { return false; }
};

}  // namespace terrace
