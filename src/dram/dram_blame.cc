// SPDX-License-Identifier: MIT
#include "dram/dram_blame.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace terrace {

void DramBlame::enable(u32 tenants, u32 sources, u32 banks, u32 slots) {
  Blame::enable(tenants,
                {{"queue", "reads wait for a place in the queue, requests in it hold them"},
                 {"banks", "reads wait for their bank, the tenant of its last command holds it"},
                 {"bus", "reads whose bank is ready wait for the bus, the tenant of the last line holds it"},
                 {"returns", "lines wait to be sent back, whoever's was sent last holds the link"}},
                1 + sources);
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
void DramBlame::charge(u32 number, Cycle now) {
  Bank& bank = banks_[number];
  const Cycle from = std::exchange(bank.last, now);
  if (bank.waiting == 0 || from == now) return;
  const Cycle free = std::clamp(bank.until, from, now);
  for (u32 tenant = 0; tenant < tenants(); ++tenant) {
    const u32 reads = reads_[size_t{number} * tenants() + tenant];
    if (reads == 0) continue;
    const u32 served = bank.serves != kNoSlot && bank.served_tenant == tenant;
    charge_cell(kBanks, tenant, bank.holder, (reads - served) * (free - from));
    charge_cell(kBus, tenant, bus_holder_, reads * (now - free));
  }
  if (bank.serves != kNoSlot) served_[bank.serves] += free - from;
}

void DramBlame::accepted(u32 number, u16 slot, TenantId tenant, bool write) {
  if (!on()) return;
  queued_.add(tenant);
  if (write) return;
  charge(number, now());
  served_[slot] = 0;
  ++reads_[size_t{number} * tenants() + index(tenant)];
  ++banks_[number].waiting;
  enter_elsewhere();
}

void DramBlame::works_towards(u32 number, u16 slot, Cycle until) {
  Bank& bank = banks_[number];
  const bool other = bank.serves != slot && bank.serves != kNoSlot;
  if (!other && bank.until == until) return;
  charge(number, now());
  bank.until = until;
  if (other) bank.serves = kNoSlot;
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
  queued_.remove(tenant);
  charge(number, now());
  if (bus_holder_ != index(tenant)) {
    for (u32 i = 0; i < banks_.size(); ++i) charge(i, now());
    bus_holder_ = index(tenant);
  }
  Bank& bank = banks_[number];
  bank.holder = index(tenant);
  bank.serves = kNoSlot;
  if (write) return;
  --reads_[size_t{number} * tenants() + index(tenant)];
  --bank.waiting;
  leave_elsewhere(tenant, accepted + served_[slot], now());
}

void DramBlame::refresh(u64 banks) {
  if (!on()) return;
  for (; banks != 0; banks &= banks - 1) {
    const u32 number = static_cast<u32>(std::countr_zero(banks));
    charge(number, now());
    banks_[number].holder = tenants();
    banks_[number].serves = kNoSlot;
    banks_[number].until = kNever;
  }
}

void DramBlame::returned(u32 source, TenantId tenant, Cycle since, Cycle at) {
  if (!on()) return;
  leave(returns(source), tenant, since, at);
  returned_[source].only(tenant);
}

void DramBlame::close_banks(Cycle at) {
  for (u32 i = 0; i < banks_.size(); ++i) charge(i, at);
}

}  // namespace terrace
