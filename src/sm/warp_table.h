// The warps that live on an SM, and when the registers of each are ready. A register that a fixed-latency instruction
// writes is ready in a cycle that is known at issue, so nobody has to clear anything; one that memory writes is pending
// until the data is back.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

#include "engine/archive.h"
#include "engine/types.h"
#include "frontend/inst_stream.h"
#include "sm/copy_queue.h"

namespace terrace {

/// Why a warp is not among the ready ones.
enum class WarpState : u8 {
  kFree,     // the place is empty
  kReady,    // its next instruction may issue
  kAsleep,   // its operands will be ready in a known cycle
  kMemory,   // its operands, or the order of memory, wait for an answer
  kBarrier,  // the others of its block are not there yet
  kDrained   // it has exited; answers may still be under way
};

struct Warp {
  WarpRef ref{};
  const WarpView* view = nullptr;     // its stream's
  const DecodedInst* next = nullptr;  // when it was last looked at
  WarpState state = WarpState::kFree;
  TenantId tenant{};
  bool polls = false;  // it has jumped back to the start of a loop that polls, and not branched since
  u8 block = 0;        // place of its block on the SM
  u32 loads_out = 0, stores_out = 0, atomics_out = 0;
  CopyQueue copies = {};

  bool quiet() const { return loads_out == 0 && stores_out == 0 && atomics_out == 0 && copies.empty(); }
  /// All but `view` and `next`: the SM asks the stream for them again.
  void archive(Archive& a) { a(ref, state, tenant, polls, block, loads_out, stores_out, atomics_out, copies); }
};

class Scoreboard {
 public:
  static constexpr Cycle kPending = kNever;

  void reset() { std::fill(ready_.begin(), ready_.end(), 0); }
  /// When all registers that an instruction reads or writes are ready; kPending while memory owes one.
  Cycle ready_at(const DecodedInst& inst) const {
    Cycle latest = 0;
    const u32 count = u32{inst.sources} + inst.destinations;
    for (u32 i = 0; i < count; ++i) {
      const u16 name = inst.registers[i];
      if (name < ready_.size()) latest = std::max(latest, ready_[name]);
    }
    return latest;
  }
  void set(const DecodedInst& inst, Cycle at) {
    for (u32 i = inst.sources; i < u32{inst.sources} + inst.destinations; ++i) {
      const u16 name = inst.registers[i];
      if (name >= ready_.size()) ready_.resize(name + 1, 0);  // grows while a kernel is new, then never
      ready_[name] = at;
    }
  }
  void archive(Archive& a) { a(ready_); }

 private:
  std::vector<Cycle> ready_;
};

}  // namespace terrace
