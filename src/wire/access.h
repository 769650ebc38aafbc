// What travels between units: one cache line of memory per request in flight. Data accesses are born at a load-store
// unit and freed there; walk accesses are born and freed at the MMU.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/archive.h"
#include "engine/pool.h"
#include "engine/types.h"
#include "wire/line_key.h"

namespace terrace {

enum class AccessKind : u8 {
  kLoad,
  kStore,   // carries data, answered with an acknowledgement
  kAtomic,  // performed at the L2, answered with the old values or an acknowledgement
  kWalk     // reads a page-table entry
};

struct alignas(64) Access {
  VirtAddr va;    // of the line; nothing for walks
  LineKey in_l1;  // the line's name in the L1
  LineKey in_l2;  // and in the L2
  SmId sm{};      // whose instruction it is; nothing for walks
  u16 port = 0;   // of the reply network: where the answer goes
  u8 warp = 0;
  TenantId tenant{};
  AccessKind kind = AccessKind::kLoad;
  u8 walk_level = 0;        // 1 root .. 4 leaf; 0 for data
  u8 bytes = 0;             // of data that a store carries; 0 means a whole line
  bool past_l1 = false;     // a load that neither looks into the L1 nor fills it
  bool tlb_missed = false;  // its page was not in the L1 TLB
  // Behind a virtual L2 with a forward-backward table.
  bool checked : 1 = false;  // a write that the table has permitted; a load of a line whose page kernels may not write
  bool may_map : 1 = false;  // a load that was replayed, through a name under which kernels may not write
  bool denied : 1 = false;   // a write that found its line in the L1, where its page may not be written
  u8 sectors = 1;            // that are asked for or written to (line_shape.h); 1 where lines are not divided
  u32 owner = 0;             // what the birthplace needs to find its own record again
  u32 atomic = 0;            // AtomicRef of an atomic
  u64 lanes = 0;             // the lanes of an atomic that touch this line
  u64 words = 0;             // the 4-byte words of the line that are touched in full

  void archive(Archive& a) {
    // A bit has no address.
    u8 bits = static_cast<u8>(checked | may_map << 1 | denied << 2);
    a(va, in_l1, in_l2, sm, port, warp, tenant, kind, walk_level, bytes, past_l1, tlb_missed, bits, sectors, owner);
    a(atomic, lanes, words);
    checked = (bits & 1) != 0;
    may_map = (bits & 2) != 0;
    denied = (bits & 4) != 0;
  }
};
static_assert(sizeof(Access) == 64);

/// All 4-byte words of a line, as a set.
constexpr u64 all_words(u32 line_bytes) {
  return line_bytes >= 256 ? ~u64{0} : (u64{1} << line_bytes / 4) - 1;
}

using AccessPool = SharedPool<Access>;
using AccessRef = Handle<Access>;

}  // namespace terrace
