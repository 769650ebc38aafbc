// Who waits for whom. A unit that tenants share puts each request that waits into a room; a room waits for something,
// and that has holders. Every cycle that a request spends in a room is charged to a holder. What has several parts (16
// walkers, 256 miss entries) is charged part by part: in each cycle one part has its turn, and whoever holds that part
// is charged, so charges are whole cycles and follow the shares. A part that nobody holds charges nobody.
//
// Charges are made when something changes, never per tick: `advance` first in each tick, then the changes of the tick.
// Independently each request's own waiting time is measured from the cycle in which it came. Both must agree for each
// tenant, at the end of every run. Without `enable` everything here does nothing. docs/blame.md has the readings.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/types.h"
#include "stats/stat_fields.h"

namespace terrace {

/// Who holds the parts of something.
class Holders {
 public:
  Holders() = default;
  explicit Holders(u32 tenants, u32 parts = 0) : held_(tenants + 1) { reset(parts); }

  /// Nobody holds any of so many parts.
  void reset(u32 parts) {
    for (u32& each : held_) each = 0;
    held_.back() = parts_ = parts;
    sole_ = kSeveral;
  }
  /// It has one part, and this tenant holds it.
  void only(TenantId tenant) {
    if (sole_ == index(tenant)) return;
    reset(1);
    take(tenant);
    sole_ = index(tenant);
  }
  void take(TenantId tenant) {
    ++held_[index(tenant)];
    --held_.back();
    sole_ = kSeveral;
  }
  void give_back(TenantId tenant) {
    --held_[index(tenant)];
    ++held_.back();
    sole_ = kSeveral;
  }
  /// One more part, which this tenant holds, and the other way round: for what has as many parts as are held.
  void add(TenantId tenant) {
    ++held_[index(tenant)];
    ++parts_;
    sole_ = kSeveral;
  }
  void remove(TenantId tenant) {
    --held_[index(tenant)];
    --parts_;
    sole_ = kSeveral;
  }

  /// In how many of the cycles from .. to - 1 a part of each holder (the last one is nobody) has its turn.
  void turns(Cycle from, Cycle to, std::span<u64> cycles) const;
  /// The tenant that `only` named last, or kSeveral: most things have one holder, and need no turns.
  u32 sole() const { return sole_; }
  static constexpr u32 kSeveral = ~u32{0};

 private:
  u32 parts_ = 0;
  u32 sole_ = kSeveral;
  std::vector<u32> held_;  // by tenant, then nobody
};

class Blame {
 public:
  struct Cause {
    const char* name;
    const char* doc;
  };
  using Room = u32;

  /// From now on waiting is counted, for these causes, in so many rooms. Before the first cycle.
  void enable(u32 tenants, std::vector<Cause> causes, u32 rooms);
  bool on() const { return tenants_ != 0; }
  Holders holders(u32 parts = 0) const { return Holders(tenants_, parts); }

  /// What those in a room wait for. The holders must outlive this or the next call.
  void waits_for(Room room, u32 cause, const Holders& holders) {
    rooms_[room].cause = cause;
    rooms_[room].holders = &holders;
  }

  /// Charges all cycles before `now`. First in each tick: what changes in a tick holds from its cycle on.
  void advance(Cycle now) {
    if (!on()) return;
    if (present_ + due_.size() > 0) charge(now);
    last_ = now;
  }
  /// A request begins to wait.
  void arrive(Room room, TenantId tenant) {
    if (on()) enter(room, tenant);
  }
  /// It will begin to wait in cycle `at`, whether or not the unit ticks then.
  void arrive_at(Room room, TenantId tenant, Cycle at) {
    if (on()) expect(room, tenant, at);
  }
  /// It waits no longer; it began in cycle `since`.
  void leave(Room room, TenantId tenant, Cycle since, Cycle now) {
    if (on()) exit(room, tenant, since, now);
  }
  /// It goes on waiting, for something else.
  void move(Room from, Room to, TenantId tenant) {
    --rooms_[from].waiting[index(tenant)];
    --rooms_[from].all;
    ++rooms_[to].waiting[index(tenant)];
    ++rooms_[to].all;
  }

  /// A request that waits, and since when.
  using Waiting = std::function<void(TenantId tenant, Cycle since)>;
  /// Closes the books before cycle `now`, so that rows sum up although requests still wait. `visit` calls its argument
  /// for each that the unit really holds: one that left unnoticed, or is said to have come at another time, shows.
  void settle(Cycle now, const std::function<void(const Waiting&)>& visit);

  void describe(StatFields& v);

 protected:
  // For a unit that keeps books of its own besides rooms.
  u32 tenants() const { return tenants_; }
  Cycle now() const { return last_; }  // of the tick that is under way
  void charge_cell(u32 cause, u32 tenant, u32 holder, u64 cycles) { matrices_[cause].row(tenant)[holder] += cycles; }
  void enter_elsewhere() { ++elsewhere_; }
  void leave_elsewhere(TenantId tenant, Cycle since, Cycle now) {
    --elsewhere_;
    waited_[tenant] += now - since;
  }

 private:
  struct Waiters {
    u32 cause = 0;
    const Holders* holders = nullptr;  // null: nobody
    u64 all = 0;
    std::vector<u32> waiting;  // by tenant
  };
  struct Due {
    Cycle at;
    Room room;
    TenantId tenant;
  };

  void enter(Room room, TenantId tenant) {
    ++rooms_[room].waiting[index(tenant)];
    ++rooms_[room].all;
    ++present_;
  }
  void expect(Room room, TenantId tenant, Cycle at);
  void exit(Room room, TenantId tenant, Cycle since, Cycle now);
  void charge(Cycle now);
  void charge_until(Cycle now);

  u32 tenants_ = 0;
  std::vector<Cause> causes_;
  std::vector<TenantMatrix> matrices_;  // by cause
  std::vector<Waiters> rooms_;
  std::vector<Due> due_;     // in rising order of cycles
  std::vector<u64> cycles_;  // by holder: room to count in
  Cycle last_ = 0;
  u64 present_ = 0, elsewhere_ = 0;  // that wait in rooms, and elsewhere
  PerTenant<Counter> waited_;
  std::vector<u64> settled_;  // by tenant: what waited_ contains of those that waited at the last settle
};

}  // namespace terrace
