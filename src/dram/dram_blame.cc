// SPDX-License-Identifier: MIT
#include "dram/dram_blame.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace terrace {

void DramBlame::enable(u32 tenants, u32 banks, u32 entries, const ClockDomain& clock) {
  Blame::enable(tenants);
  count(queued_, "queue", "reads wait for an entry in the channel's queue; holders: queued requests");
  count(bank_, "banks", "reads wait for their bank; holder: the request of its last command");
  count(bus_, "bus", "reads whose bank is ready wait for the data bus; holder: the line transferred last");
  clock_ = clock;
  banks_.assign(banks, {.holder = tenants});
  reads_.assign(size_t{banks} * tenants, 0);
  for (u32 i = 0; i < banks; ++i) banks_[i].reads = &reads_[size_t{i} * tenants];
  served_.assign(entries, 0);
  bus_holder_ = tenants;
}

/// Up to `until` the bank is held, and whoever it works for is served; from then on everybody waits for the bus.
void DramBlame::charge_reads(Bank& bank, Cycle now) {
  const Cycle free = std::clamp(bank.until, bank.last, now), held = free - bank.last;
  for (u32 left = bank.readers; left != 0; left &= left - 1) {
    const u32 tenant = static_cast<u32>(std::countr_zero(left));
    cells(bank_)[tenant * row_length() + bank.holder] += bank.reads[tenant] * held;
    cells(bus_)[tenant * row_length() + bus_holder_] += bank.reads[tenant] * (now - free);
  }
  if (bank.serves == kNoEntry) return;
  cells(bank_)[bank.served_tenant * row_length() + bank.holder] -= held;
  served_[bank.serves] += held;
}

void DramBlame::accepted(u32 number, u16 entry, TenantId tenant, bool write) {
  if (!on()) return;
  queued_.add(tenant);
  if (write) return;
  Bank& bank = banks_[number];
  charge(bank, now());
  served_[entry] = 0;
  enter_elsewhere();
  ++bank.reads[index(tenant)];
  bank.readers |= u32{1} << index(tenant);
  waited_for_ |= u64{1} << number;
}

void DramBlame::row_command(u32 number, u16 entry, TenantId tenant, bool write) {
  if (!on()) return;
  Bank& bank = banks_[number];
  charge(bank, now());
  bank.holder = index(tenant);
  bank.serves = write ? kNoEntry : entry;
  bank.served_tenant = index(tenant);
}

void DramBlame::column_command(u32 number, u16 entry, TenantId tenant, bool write, Cycle accepted) {
  if (!on()) return;
  queued_.remove(tenant);
  Bank& bank = banks_[number];
  charge(bank, now());
  if (bus_holder_ != index(tenant)) {
    // Reads of banks that are not ready do not wait for the bus yet.
    for (u64 banks = waited_for_; banks != 0; banks &= banks - 1) {
      Bank& other = banks_[static_cast<u32>(std::countr_zero(banks))];
      if (other.until < now()) charge(other, now());
    }
    bus_holder_ = index(tenant);
  }
  bank.holder = index(tenant);
  bank.serves = kNoEntry;
  if (write) return;
  if (--bank.reads[index(tenant)] == 0) bank.readers &= ~(u32{1} << index(tenant));
  if (bank.readers == 0) waited_for_ &= ~(u64{1} << number);
  leave_elsewhere(tenant, accepted + served_[entry]);
}

void DramBlame::refresh(u64 banks) {
  if (!on()) return;
  for (; banks != 0; banks &= banks - 1) {
    Bank& bank = banks_[static_cast<u32>(std::countr_zero(banks))];
    charge(bank, now());
    bank.holder = tenants();
    bank.serves = kNoEntry;
    bank.until = kNever;
  }
}

void DramBlame::refreshed(u64 banks, u64 ready) {
  if (!on()) return;
  for (; banks != 0; banks &= banks - 1) {
    Bank& bank = banks_[static_cast<u32>(std::countr_zero(banks))];
    charge(bank, now());
    bank.until = clock_.core(ready);
  }
}

void DramBlame::close_banks(Cycle at) {
  for (Bank& bank : banks_) charge(bank, at);
}

}  // namespace terrace
