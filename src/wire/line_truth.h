// What every line really holds: an observer outside the machine, in dev builds. It obeys no law of time because it is
// no hardware: units tell it what they do, it gives every write a number, and it ends the run when a copy of a line, or
// the answer to a load, cannot be what a correct machine would give. In other builds its types are empty and its calls
// vanish; no result and no statistic depends on it.
//
// A write is performed at the L2, in the order in which the slice takes stores and atomics; host work, between cycles,
// is performed at once, after all that is under way. Memory performs in the order in which its channel accepts: a read
// behind a write of its line gets what was written. What is permitted stands at `completes`, in line_truth.cc.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/archive.h"
#include "engine/types.h"
#include "wire/access.h"
#include "wire/line_shape.h"
#include "wire/mistake.h"

#ifdef TERRACE_DCHECK

#include <array>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace terrace {

/// A line's contents wherever a copy of it is: in a cache, in an answer, on the way to memory.
struct LineCopy {
  u64 line = 0;
  u64 version = 0;  // the last write in it, by number among all writes; 0: memory as it was in the beginning
  u64 base = 0;     // the last one that memory has, or is about to get, until this copy is written back
  u32 own = 0;      // copies that an SM got: how many writes of that SM are in it
  u64 words = 0;    // of the line, that are here

  /// More sectors of a line that is here, which may be newer: nothing says which of the writes since are in which.
  void add(const LineCopy& more);
};

/// What a load that an L1 answers must find.
struct WantedLine {
  u64 line = 0;  // by the page table
  u64 oldest = 0;
  u32 own = 0;
  SmId sm{};
  u64 words = 0;  // that it reads
  /// Some sectors arrive before others.
  void arrives(const LineCopy& copy) { words &= ~copy.words; }
};

class LineTruth {
 public:
  using Locate = std::function<PhysAddr(TenantId, VirtAddr)>;
  LineTruth(LineShape lines, Locate page_table);

  // Between cycles: the host's side.
  void host_writes(u64 first, u64 end);  // physical bytes
  void launches(TenantId tenant, LaunchId launch);

  // An SM starts a block, of a launch that may be new to it, or one that was elsewhere: if so its L1 must be empty.
  void starts_block(SmId sm, TenantId tenant, LaunchId launch, bool resumed);

  // A channel accepts a read or a write.
  LineCopy memory_gives(PhysAddr line, u64 words = ~u64{0});
  void memory_takes(const LineCopy& copy);

  // The L2: a line arrives, on its own or as the rest of one that is there in part; is taken by a store without a fetch,
  // is written, is answered with.
  void fills(const LineCopy& copy) const;
  void joins(LineCopy& part, const LineCopy& rest) const;
  LineCopy taken(const Access& access);
  void performs(LineCopy& copy, const Access& access);
  void answers(AccessRef ref, const Access& access, const LineCopy& copy);
  // A line with a virtual name is kept in the L2 from now on, or no more: no line has two names there, and a table that keeps
  // track of lines knows of each.
  void enters_l2(LineKey name, const LineCopy& copy);
  // A write under a name that does not lead is sent on to the one that does: others may overtake it.
  void redirects(const Access& access);
  void leaves_l2(LineKey name);
  std::function<bool(LineKey)> is_tracked;
  // A page has left that table: no L1 holds lines of it.
  void page_leaves(u64 page_key) const;
  std::function<bool(u64 page_key)> is_in_l1s;

  // An SM: an access leaves the head of its queue; a store or atomic counts as sent from then on. What a walker asks for.
  WantedLine asks(TenantId tenant, VirtAddr va, SmId sm, bool write) const;
  void writes_line(TenantId tenant, VirtAddr va, SmId sm);
  WantedLine asks(LineKey physical) const;
  // A request leaves, its answer is here; a store updates the L1's copy; a load finds or awaits a line in the L1.
  void sends(AccessRef ref, const WantedLine& wanted);
  LineCopy completes(AccessRef ref, const Access& access) const;
  void updates(LineCopy& copy, SmId sm) const;
  WantedLine wants(TenantId tenant, VirtAddr va, SmId sm, u8 sectors = 1) const;
  void completes(const WantedLine& wanted, const LineCopy& copy) const;

  PlantedMistake mistake;

  void archive(Archive& a);

 private:
  struct Line {
    u64 latest = 0;     // performed
    u64 in_memory = 0;  // what its channel has accepted
    u64 host = 0;       // the host's last write
    // The latest one at each of the last times that somebody may ask about, if there was one since.
    std::array<u64, 4> earlier{};
    u64 latest_at(u64 time) const;
  };
  struct Writes {
    u32 sent = 0, performed = 0;
    u64 name = 0;          // the virtual line that was written, since the host wrote last
    u64 host = 0;          // that write of the host
    bool several = false;  // there were several names
  };
  u32 own_writes(u64 line, VirtAddr va, SmId sm) const;
  struct InFlight {
    WantedLine wanted;
    LineCopy copy;
  };
  u64 line_of(PhysAddr address) const { return address.raw / line_bytes_; }
  u64 words_read(const Access& access) const;
  /// The physical line that a request is for, by the name under which the L2 looks for it.
  u64 line_of(const Access& access) const {
    return access.in_l2.is_physical() ? access.in_l2.number() : line_of(page_table_(access.tenant, access.va));
  }
  const Line& look(u64 line) const;
  const Writes& writes(u64 line, SmId sm) const;
  static u64 writer(u64 line, SmId sm) { return u64{index(sm)} << 48 | line; }
  InFlight& in_flight(AccessRef ref);

  const LineShape lines_shape_;
  const u64 line_bytes_;
  Locate page_table_;
  u64 number_ = 0;                                        // of the last write: tells the time
  std::array<std::vector<u64>, kMaxTenants> launched_;    // when each launch began, by its number
  std::array<u64, kMaxTenants> asked_about_{};            // the last time that a tenant's loads will be compared with
  std::vector<std::array<u64, kMaxTenants>> l1_is_from_;  // by SM: what its L1 holds of a tenant is not older
  // Never iterated.
  std::unordered_map<u64, Line> lines_;
  std::unordered_map<u64, Writes> writes_;             // by SM and line
  std::unordered_map<u64, u64> line_named_, name_of_;  // in a virtual L2: by name, and by line
  std::vector<InFlight> in_flight_;                    // by place in the pool of accesses
  // Units on several threads report one at a time.
  using Lock = std::lock_guard<std::recursive_mutex>;
  mutable std::recursive_mutex reports_;
};

}  // namespace terrace

#else

namespace terrace {

struct LineCopy {
  void add(const LineCopy&) const {}
};
struct WantedLine {
  void arrives(const LineCopy&) const {}
};

class LineTruth {
 public:
  template <class Locate>
  LineTruth(LineShape, Locate&&) {}
  void host_writes(u64, u64) const {}
  void launches(TenantId, LaunchId) const {}
  void starts_block(SmId, TenantId, LaunchId, bool) const {}
  LineCopy memory_gives(PhysAddr, u64 = 0) const { return {}; }
  void memory_takes(const LineCopy&) const {}
  void fills(const LineCopy&) const {}
  void joins(const LineCopy&, const LineCopy&) const {}
  LineCopy taken(const Access&) const { return {}; }
  void performs(LineCopy&, const Access&) const {}
  void answers(AccessRef, const Access&, const LineCopy&) const {}
  void enters_l2(LineKey, const LineCopy&) const {}
  void redirects(const Access&) const {}
  void leaves_l2(LineKey) const {}
  void page_leaves(u64) const {}
  WantedLine asks(TenantId, VirtAddr, SmId, bool) const { return {}; }
  void writes_line(TenantId, VirtAddr, SmId) const {}
  WantedLine asks(LineKey) const { return {}; }
  void sends(AccessRef, const WantedLine&) const {}
  LineCopy completes(AccessRef, const Access&) const { return {}; }
  void updates(LineCopy&, SmId) const {}
  WantedLine wants(TenantId, VirtAddr, SmId, u8 = 1) const { return {}; }
  void completes(const WantedLine&, const LineCopy&) const {}
  void archive(Archive&) const {}

  PlantedMistake mistake;
};

}  // namespace terrace

#endif
