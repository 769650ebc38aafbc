// How an access finds its bytes: addresses of the lanes, checks, and host pointers, for every state space.
//
// A lane's access is checked before anything is read or written; what fails stops the warp with a sentence. Local
// memory lies word by word over the threads of the launch, so wider accesses go through a staging area.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "frontend/ptx/execute/execution.h"
#include "frontend/ptx/execute/machine.h"

namespace terrace::ptx {

/// Bytes of one lane's access: at most four double words.
inline constexpr u32 kMaxLaneBytes = 32;

struct Access {
  std::array<u8*, 64> pointer;  // of each active lane
  u64 global_lanes = 0;         // lanes whose stores go through the log
  u64 local_lanes = 0;          // lanes whose bytes are staged
  alignas(64) std::array<std::array<u8, kMaxLaneBytes>, 64> staging;
};

/// Puts the addresses of all lanes into the effect, and what is known of the access before it is checked.
void find_addresses(Execution& x, const Inst& i);

/// Checks the active lanes and finds their bytes; the effect then says what was accessed. False: the warp faulted.
bool resolve(Execution& x, const Inst& i, u32 bytes, bool writes, Access& access);

/// Local memory between its words and the staging area.
void fill_staging(Execution& x, u32 bytes, Access& access);
void spill_staging(Execution& x, u32 bytes, const Access& access);

/// Whether the active lanes are all there are and touch `bytes` each, one after the other in memory.
bool is_run(const Execution& x, u32 bytes);

/// The fault of a lane that touches what is not its own.
void fault_outside(Execution& x, u32 lane, Space space, u64 address, u32 bytes, bool writes);

/// The byte that a lane finds at a generic address, or null where it may not read; then its fault.
const u8* generic_byte(const Execution& x, u64 address, u32 lane);
void fault_generic(Execution& x, u32 lane, u64 address);

}  // namespace terrace::ptx
