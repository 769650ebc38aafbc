// Which tenant's reads wait for which tenant in a memory channel: for a place in the queue, for their bank, for the
// bus, and on their way back. A bank is held by the tenant for which it last got a command, until it allows the next
// one, and by nobody while it is refreshed. From then on a read waits for the bus and for what banks share: held by the
// tenant whose line was last read or written. While a bank opens the row of a read, that read is served, and does not
// wait. Writes are posted: they hold, and nobody waits for them.
//
// Banks keep books of their own, which are brought up to date when something happens to the bank, or when the bus goes
// to another tenant: a channel has many banks and most commands concern one.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "blame/blame.h"
#include "engine/clock.h"

namespace terrace {

class DramBlame : public Blame {
 public:
  static constexpr u16 kNoEntry = 0xffff;

  void enable(u32 tenants, u32 banks, u32 entries, const ClockDomain& clock);
  /// The channel's queue, held by the tenants of what is in it.
  Resource& queue() { return queued_; }

  /// A request leaves its link for the queue, where a read waits for its bank.
  void accepted(u32 bank, u16 entry, TenantId tenant, bool write);
  /// The bank works towards this request, and cannot go on before command cycle `ready`. Told again whenever a request
  /// was accepted for it: while no read waits, nobody cares.
  void works_towards(u32 bank, u16 entry, u64 ready) {
    if ((waited_for_ >> bank & 1) == 0) return;
    Bank& its = banks_[bank];
    const Cycle until = ready == kNever ? kNever : clock_.core(ready);
    const bool other = its.serves != entry && its.serves != kNoEntry;
    if (!other && its.until == until) return;
    charge(its, now());
    its.until = until;
    if (other) its.serves = kNoEntry;
  }
  /// It got a row command for this request.
  void row_command(u32 bank, u16 entry, TenantId tenant, bool write);
  /// The line is read or written: its request leaves the queue.
  void column_command(u32 bank, u16 entry, TenantId tenant, bool write, Cycle accepted);
  /// These banks serve nobody until they have been refreshed: then from command cycle `ready` on.
  void refresh(u64 banks);
  void refreshed(u64 banks, u64 ready);
  /// Before waiting is told: brings every bank up to date.
  void close_banks(Cycle now);
  /// Cycles for which a read was served so far.
  Cycle served(u16 entry) const { return served_[entry]; }

  void archive(Archive& a) {
    Blame::archive(a);
    a(banks_, reads_, bank_, bus_, served_, waited_for_, bus_holder_, queued_);
  }

 private:
  struct Bank {
    Cycle last = 0;
    Cycle until = 0;       // from then on it allows what it works towards
    u32* reads = nullptr;  // that wait, by tenant
    u32 holder = 0;
    u32 readers = 0;  // tenants whose reads wait, a bit each
    u32 served_tenant = 0;
    u16 serves = kNoEntry;
    void archive(Archive& a) { a(last, until, holder, readers, served_tenant, serves); }
  };
  void charge(Bank& bank, Cycle now) {
    if (bank.readers != 0 && bank.last != now) charge_reads(bank, now);
    bank.last = now;
  }
  void charge_reads(Bank& bank, Cycle now);

  ClockDomain clock_;
  std::vector<Bank> banks_;
  std::vector<u32> reads_;     // by bank, then tenant
  Resource bank_, bus_;        // for their names: holders are kept by bank
  std::vector<Cycle> served_;  // by entry
  u64 waited_for_ = 0;         // banks, a bit each
  u32 bus_holder_ = 0;
  Resource queued_;
};

}  // namespace terrace
