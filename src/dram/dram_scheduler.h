// The slot `dram.scheduler`: which waiting request does a bank serve next? A scheduler owns what waits in a channel;
// the channel owns the banks, the buses and the times between commands, and decides when to read and when to write.
//
//   offer   once per arriving request, and after a refusal again whenever something was taken, an epoch ended, or the
//           scheduler said that it may think otherwise now. Refusing holds up the source it came from until then: that
//           is how queues are bounded.
//   next    when a bank's choice may have changed: the bank served its last choice, a refresh closed its row, the
//           channel turned between reads and writes while something waited for the bank, or the scheduler itself marked
//           the bank as changed. The channel precharges and activates towards the choice, which stays in the scheduler
//           and may still change.
//   take    when the choice's column command is issued: the request leaves the scheduler.
//   epoch   between cycles, at the end of each epoch (run.epoch), for a scheduler that uses epochs; then
//           everything is asked anew. Nothing else may make a scheduler change its mind: it must not depend on time
//           alone, so that the channel can sleep.
//
// Among the choices of all banks that can go ahead in a cycle, the channel takes the smallest urgency, then column
// before row commands, then the oldest.
// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "config/registry.h"
#include "engine/archive.h"
#include "engine/types.h"
#include "stats/stat_fields.h"
#include "wire/epoch.h"

namespace terrace {

/// A request as a scheduler sees it. `entry` names it until it is taken; `age` grows with each request of the channel.
struct DramWaiting {
  u16 entry = 0;
  u8 bank = 0;  // over all ranks of the channel
  u8 walk_level = 0;
  TenantId tenant{};
  bool write = false;
  u32 row = 0;
  u64 age = 0;
};

/// A bank that looks for work.
struct BankView {
  static constexpr u32 kClosed = ~u32{0};
  u32 bank = 0;
  u32 open_row = kClosed;
  bool write = false;  // only requests of this kind can be served now
};

class DramScheduler {
 public:
  struct Context {
    u32 banks = 1;          // of the channel
    u32 read_entries = 1;   // what the configuration allows to wait,
    u32 write_entries = 1;  // unless the scheduler has queues of its own
    u32 tenants = 1;
    u64 seed = 1;
  };
  static constexpr SlotInfo kSlot{"dram.scheduler", "DRAM scheduler", "which queued request a bank serves next"};
  static constexpr u16 kNone = 0xffff;

  struct Choice {
    u16 entry = kNone;
    u8 urgency = 0;      // 0 goes first
    bool column = true;  // false: the row may be opened, but the request may not be served yet
  };

  virtual ~DramScheduler() = default;
  /// The most requests that it ever holds; entries are numbered below that.
  virtual u32 capacity() const = 0;
  virtual bool offer(const DramWaiting& request, Cycle now) = 0;
  virtual Choice next(const BankView& bank) const = 0;
  virtual void take(u16 entry, Cycle now) = 0;
  /// Saves and restores what changes during a run, except statistics and marks. Between cycles only.
  virtual void archive(Archive& a) = 0;
  virtual void epoch(TenantEpochs /*tenants*/) {}
  /// Statistics of its own.
  virtual void describe(StatFields& /*v*/) {}
  /// Whether it wants to hear of epochs.
  virtual bool by_epochs() const { return false; }
  /// Whether a read waits that must not wait for writes: then the channel reads. May change only with offer and take.
  virtual bool reads_now() const { return false; }

  /// The banks marked since the last call, a bit each.
  u64 changed_banks() { return std::exchange(changed_, 0); }
  /// Whether a request that was refused may be accepted now although nothing was taken; since the last call.
  bool made_room() { return std::exchange(made_room_, false); }
  /// What it has marked since. The channel saves that besides.
  void archive_marks(Archive& a) { a(changed_, made_room_); }

 protected:
  void mark_changed(u32 bank) { changed_ |= u64{1} << bank; }
  void mark_room() { made_room_ = true; }

 private:
  u64 changed_ = 0;
  bool made_room_ = false;
};

}  // namespace terrace
