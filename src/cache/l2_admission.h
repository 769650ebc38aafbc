// The slot `l2.admission`: is a request looked up in the L2, and is the line that it fetches kept? Every slice has a
// policy of its own.
//
//   admit      for each request that a slice takes, before anything else; again when the slice could not take it. It
//              changes nothing.
//     kCache     look it up, keep what it fetches.
//     kNoFill    look it up; a line that it fetches goes to whoever waits for it and is not kept. Only for reads: a store
//                or atomic is always kept, since the slice is where it takes effect.
//     kBypass    neither look up nor keep: the read goes to memory, and takes neither a miss entry nor a reply entry on the
//                way. Only for reads of page tables: a line of data may be dirty here.
//   looked_up  once for each request that was looked up: whether it found its line.
//   epoch      between cycles, at the end of each epoch, if it uses epochs (by_epochs).
//   archive    what changes while it runs, for checkpoints; `{}` when nothing does.
// SPDX-License-Identifier: MIT
#pragma once

#include "cache/l2_line.h"
#include "config/registry.h"
#include "engine/archive.h"
#include "wire/epoch.h"

namespace terrace {

class L2Admission {
 public:
  struct Context {
    u32 tenants = 1;
    u32 slice = 0;
    u64 seed = 1;
  };
  enum class Choice : u8 { kCache, kNoFill, kBypass };
  static constexpr SlotInfo kSlot{"l2.admission", "L2 admission",
                                  "whether a request is looked up in the L2, and whether its line is kept"};

  virtual ~L2Admission() = default;
  virtual Choice admit(const L2Request& request) const = 0;
  virtual void looked_up(const L2Request& /*request*/, bool /*hit*/) {}
  virtual void epoch(TenantEpochs /*tenants*/) {}
  virtual void archive(Archive& a) = 0;
  /// Whether it uses epochs; then run.epoch must give their length.
  virtual bool by_epochs() const { return false; }
  /// Whether `admit` never says anything but kCache: then it is not asked.
  virtual bool admits_all() const { return false; }
};

}  // namespace terrace
