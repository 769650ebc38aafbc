// SPDX-License-Identifier: MIT
#include "dram/dram_blame.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace terrace {

void DramBlame::enable(u32 tenants, u32 sources, u32 banks, u32 slots, const ClockDomain& clock) {
  Blame::enable(tenants,
                {{"queue", "reads wait for a place in the queue, requests in it hold them"},
                 {"banks", "reads wait for their bank, the tenant of its last command holds it"},
                 {"bus", "reads whose bank is ready wait for the bus, the tenant of the last line holds it"},
                 {"returns", "lines wait to be sent back, whoever's was sent last holds the link"}},
                1 + sources);
  clock_ = clock;
  bank_cells_ = matrix(kBanks);
  bus_cells_ = matrix(kBus);
  banks_.assign(banks, {.holder = tenants});
  reads_.assign(size_t{banks} * tenants, 0);
  served_.assign(slots, 0);
  bus_holder_ = tenants;
  queued_ = holders();
  returned_.assign(sources, holders(1));
  waits_for(kQueue, kPlaces, queued_);
  for (u32 i = 0; i < sources; ++i) waits_for(returns(i), kReturns, returned_[i]);
}

/// Up to `until` the bank is held, and whoever it works for is served; from then on everybody waits for the bus.
void DramBlame::charge_reads(u32 number, Cycle now) {
  Bank& bank = banks_[number];
  const Cycle from = bank.last;
  const Cycle free = std::clamp(bank.until, from, now);
  const u32* reads = &reads_[size_t{number} * tenants()];
  for (u32 tenant = 0; tenant < tenants(); ++tenant) {
    if (reads[tenant] == 0) continue;
    const u32 served = bank.serves != kNoSlot && bank.served_tenant == tenant;
    bank_cells_[tenant * holders_in_row() + bank.holder] += (reads[tenant] - served) * (free - from);
    bus_cells_[tenant * holders_in_row() + bus_holder_] += reads[tenant] * (now - free);
  }
  if (bank.serves != kNoSlot) served_[bank.serves] += free - from;
}

void DramBlame::accepted(u32 number, u16 slot, TenantId tenant, bool write) {
  if (!on()) return;
  queued_.add(tenant, now());
  if (write) return;
  charge(number, now());
  served_[slot] = 0;
  enter_elsewhere();
  ++reads_[size_t{number} * tenants() + index(tenant)];
  if (banks_[number].waiting++ > 0) return;
  banks_[number].until = core(banks_[number].ready);
  waited_for_ |= u64{1} << number;
}

void DramBlame::row_command(u32 number, u16 slot, TenantId tenant, bool write) {
  if (!on()) return;
  charge(number, now());
  Bank& bank = banks_[number];
  bank.holder = index(tenant);
  bank.serves = write ? kNoSlot : slot;
  bank.served_tenant = index(tenant);
}

void DramBlame::column_command(u32 number, u16 slot, TenantId tenant, bool write, Cycle accepted) {
  if (!on()) return;
  queued_.remove(tenant, now());
  charge(number, now());
  if (bus_holder_ != index(tenant)) {
    // Reads of banks that are not ready do not wait for the bus yet.
    for (u64 banks = waited_for_; banks != 0; banks &= banks - 1) {
      const u32 other = static_cast<u32>(std::countr_zero(banks));
      if (banks_[other].until < now()) charge(other, now());
    }
    bus_holder_ = index(tenant);
  }
  Bank& bank = banks_[number];
  bank.holder = index(tenant);
  bank.serves = kNoSlot;
  if (write) return;
  --reads_[size_t{number} * tenants() + index(tenant)];
  if (--bank.waiting == 0) waited_for_ &= ~(u64{1} << number);
  leave_elsewhere(tenant, accepted + served_[slot]);
}

void DramBlame::refresh(u64 banks) {
  if (!on()) return;
  for (; banks != 0; banks &= banks - 1) {
    const u32 number = static_cast<u32>(std::countr_zero(banks));
    charge(number, now());
    banks_[number].holder = tenants();
    banks_[number].serves = kNoSlot;
    banks_[number].until = banks_[number].ready = kNever;
  }
}

void DramBlame::returned(Queue& source, TenantId tenant, Cycle since, Cycle at) {
  if (!on()) return;
  leave(source, tenant, since);
  returned_[source.room - returns(0)].only(tenant, at);
}

void DramBlame::close_banks(Cycle at) {
  for (u32 i = 0; i < banks_.size(); ++i) charge(i, at);
}

}  // namespace terrace
