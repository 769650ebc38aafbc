// What DWS adds to an MMU in bits, computed from a configuration: the structures of HPCA 2021, §VI-A. The paper
// prints 192 bits for 16 walkers, two tenants and 192 entries, which needs counters of 12 bits and owners of 2; the
// fields themselves need fewer (DWS-A5), so both are told.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>

#include "engine/types.h"

namespace terrace {

struct DwsCost {
  u32 free_entries = 0;     // FWA: free places of each walker's queue, and whether its last walk was stolen
  u32 tenants_walkers = 0;  // TWM: each tenant's walkers as a bitmap, its waiting walks, its arrivals of the epoch
  u32 walkers_tenant = 0;   // WTM: the owner of each walker
  u32 total() const { return free_entries + tenants_walkers + walkers_tenant; }
};

struct DwsWidths {
  u32 counter = 0, owner = 0;  // bits
};
/// The widths with which the printed sum comes out.
inline constexpr DwsWidths kPrintedWidths{12, 2};
/// The least that holds every value: 8 bits for waiting walks of a tenant and for arrivals of an epoch of 200.
constexpr DwsWidths least_widths(u32 tenants) {
  return {8, tenants <= 2 ? 1u : static_cast<u32>(std::bit_width(tenants - 1))};
}

constexpr DwsCost dws_cost(u32 walkers, u32 tenants, u32 queue_entries, DwsWidths widths) {
  const u32 places = queue_entries / walkers;
  return {walkers * (static_cast<u32>(std::bit_width(places)) + 1), tenants * (walkers + 2 * widths.counter),
          walkers * widths.owner};
}

}  // namespace terrace
