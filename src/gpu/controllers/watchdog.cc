// SPDX-License-Identifier: MIT
#include "gpu/controllers/watchdog.h"

#include "engine/check.h"

namespace terrace {

void Watchdog::act(Cycle now) {
  if (scheduler_.idle() && !tenants_.all_completed()) give_up("nothing can happen any more");
  const u64 total = total_issued();
  if (total != last_issued_ || all_wait_for_an_arrival(now)) {
    last_issued_ = total;
    last_issue_ = now;
  } else if (now - last_issue_ > patience_) {
    give_up(fmt::format("no instruction has issued for {} cycles", patience_));
  }
}

u64 Watchdog::total_issued() const {
  u64 total = 0;
  for (u32 i = 0; i < tenants_.count(); ++i) total += tenants_.warp_instructions(TenantId(i));
  return total;
}

/// Whether nobody who is there has anything to do until another one comes: then time may pass without an instruction.
bool Watchdog::all_wait_for_an_arrival(Cycle now) const {
  bool expected = false;
  for (u32 i = 0; i < tenants_.count(); ++i) {
    expected |= tenants_.setup(TenantId(i)).arrive > now;
    if (dispatcher_.running(TenantId(i))) return false;
  }
  return expected;
}

void Watchdog::give_up(const std::string& why) const {
  throw Deadlock(fmt::format("cycle {}: {}, although work is left:\n{}", scheduler_.now(), why, scheduler_.explain()));
}

}  // namespace terrace
