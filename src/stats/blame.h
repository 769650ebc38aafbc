// Interference accounting: how many cycles requests wait in a unit that tenants share, by the tenant that holds the
// resource. A waiting request is in a room; all requests of a room wait for the same resource, which has holders. Every
// cycle that a request spends in a room is charged to a holder. A resource with several parts (16 walkers, 256 miss
// entries) is charged part by part: in each cycle the holder of the next part is charged, so charges are whole cycles
// and follow the shares. A part without a holder is charged to nobody.
//
// Holders are a meter of the cycles for which each tenant held. A request is charged the difference of two readings, at
// its arrival and its departure, so a waiting request costs no work: the first is subtracted from its row, the second
// added, and `settle` reads for requests that still wait. Independently its waiting time is measured from its arrival.
// Both must agree for each tenant at the end of every run. Nothing is counted unless `enable` was called. The rules are
// in docs/blame.md.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "engine/types.h"
#include "stats/stat_fields.h"

namespace terrace {

/// Cycles by holder (the tenants, then nobody) are added and subtracted four at a time: a row of a few tenants at once.
constexpr u32 kHoldersAtOnce = 4;
constexpr u32 holders_with_padding(u32 tenants) {
  return (tenants + kHoldersAtOnce) / kHoldersAtOnce * kHoldersAtOnce;
}

/// Which tenants hold the parts of a resource, and for how many cycles each did while a request waited ("watched"). A
/// change counts from its cycle on. Aligned, so that with few tenants an unwatched change touches one cache line.
class alignas(64) Holders {
 public:
  Holders() = default;
  explicit Holders(u32 tenants, u32 parts = 0) : parts_(parts), nobody_(tenants) { held_[nobody_] = parts; }

  /// The resource has this many parts, and no tenant holds any.
  void reset(u32 parts, Cycle now) {
    if (watchers_ > 0 && (parts_ != parts || held_[nobody_] != parts || sole_ != kSeveral)) count(now);
    sole_ = kSeveral;
    held_.fill(0);
    held_[nobody_] = parts_ = parts;
  }
  /// This tenant holds all of it, until the next call or `reset`.
  void only(TenantId tenant, Cycle now) {
    // A host foresees whether anybody watches, but not whose turn it is: hence first the one, and a store in any case.
    if (watchers_ > 0 && sole_ != index(tenant)) count(now);
    sole_ = index(tenant);
  }
  void take(TenantId tenant, Cycle now) {
    count(now);
    ++held_[index(tenant)];
    --held_[nobody_];
  }
  void give_back(TenantId tenant, Cycle now) {
    count(now);
    --held_[index(tenant)];
    ++held_[nobody_];
  }
  /// One more part, which this tenant holds, and the other way round: for what has as many parts as are held.
  void add(TenantId tenant, Cycle now) {
    count(now);
    ++held_[index(tenant)];
    ++parts_;
  }
  void remove(TenantId tenant, Cycle now) {
    count(now);
    --held_[index(tenant)];
    --parts_;
  }

  /// So many more requests watch from this cycle on, or no longer. Without any, nothing is counted.
  void watch(u64 requests, Cycle now) {
    count(now);
    begin_watch(requests, now);
  }
  void unwatch(u64 requests, Cycle now) {
    count(now);
    watchers_ -= requests;
  }
  /// Likewise one request, whose row gets what the meter shows in this cycle: less by that, or more.
  void watch(u64* row, Cycle now);
  void unwatch(u64* row, Cycle now);
  /// Cycles of each holder (the last one is nobody), up to the last change or change of those who watch.
  const u64* cycles() const { return cycles_.data(); }
  /// Calls `add(holder, cycles)` for the turns of cycles `from` to `to` - 1, with the parts as they are held now.
  template <class Add>
  void turns(Cycle from, Cycle to, Add&& add) const;
  /// Brings them up to the end of cycle `now` - 1.
  void count(Cycle now) {
    if (watchers_ > 0 && now > last_) count_up(now, cycles_.data(), 0);
  }

 private:
  static constexpr u32 kSeveral = ~u32{0};
  u64 part_of(Cycle cycle) const;
  void begin_watch(u64 requests, Cycle now) {
    if (watchers_ == 0) {
      last_ = now;
      turn_parts_ = 0;
    }
    watchers_ += requests;
  }
  /// A row gets the same, so many times.
  void count_up(Cycle now, u64* row, u64 times);
  template <class Add>
  u64 turns_from(u64 part, Cycle length, Add&& add) const;

  u64 watchers_ = 0;
  Cycle last_ = 0;  // up to which cycle it is counted
  u32 parts_ = 0;
  u32 sole_ = kSeveral;                      // who holds all of it by `only`
  u32 nobody_ = 0;                           // stands after the tenants
  u32 turn_ = 0, turn_parts_ = 0;            // whose turn it is in cycle `last_`, of so many parts; 0: not known
  std::array<u32, kMaxTenants + 1> held_{};  // parts, by holder
  alignas(32) std::array<u64, holders_with_padding(kMaxTenants)> cycles_{};
};

class Blame {
 public:
  struct Cause {
    const char* name;
    const char* doc;
  };
  using Room = u32;

  /// Turns counting on, for these causes, with this many rooms. Before the first cycle.
  void enable(u32 tenants, std::vector<Cause> causes, u32 rooms);
  bool on() const { return tenants_ != 0; }
  Holders holders(u32 parts = 0) const { return Holders(tenants_, parts); }

  /// What those in a room wait for, from this tick on; holders stand for one cause. They must outlive this or the next
  /// call.
  void waits_for(Room room, u32 cause, Holders& holders) {
    if (rooms_[room].holders != &holders) change(room, cause, holders);
  }

  /// A tick begins: first in each tick in which something changes, before it does.
  void advance(Cycle now) { now_ = now; }
  /// A request begins to wait in this tick, and does not leave in it.
  void arrive(Room room, TenantId tenant) {
    if (on()) enter(room, tenant);
  }
  /// Requests in a ring that could go from their cycle `at` on, which rises along the ring, whether or not the unit
  /// ticks then. At the beginning of a tick those that could have gone earlier begin to wait, at that earlier cycle.
  struct Queue {
    Room room = 0;
    u32 waiting = 0;  // the first so many wait
  };
  template <class Ring, class TenantOf>
  void begin_waits(Queue& queue, const Ring& ring, TenantOf&& tenant_of) {
    for (; queue.waiting < ring.size() && ring[queue.waiting].at < now_; ++queue.waiting)
      enter_late(queue.room, tenant_of(ring[queue.waiting]), ring[queue.waiting].at);
  }
  /// Its first one goes.
  void leave(Queue& queue, TenantId tenant, Cycle since) {
    if (!on() || since == now_) return;
    --queue.waiting;
    depart(queue.room, tenant, since);
  }
  /// It waits no longer; it could have gone in cycle `since`. If that is this tick's it has not waited: it need not
  /// have arrived.
  void leave(Room room, TenantId tenant, Cycle since) {
    if (on() && since != now_) depart(room, tenant, since);
  }
  /// So many of a tenant go on waiting, for something else.
  void move(Room from, Room to, TenantId tenant, u32 requests) {
    for (; requests > 0; --requests) {
      exit(from, tenant);
      enter(to, tenant);
    }
  }

  /// A request that waits, and since when.
  using Waiting = std::function<void(TenantId tenant, Cycle since)>;
  /// Closes the books before cycle `now`, so that rows add up although requests still wait. `visit` calls its argument
  /// for each request that has really been waiting in the unit since before `now`: so a forgotten `leave`, or a wrong
  /// time of arrival, is found.
  void settle(Cycle now, const std::function<void(const Waiting&)>& visit);

  void describe(StatFields& v);

 protected:
  // For a unit that keeps books of its own besides rooms.
  u32 tenants() const { return tenants_; }
  Cycle now() const { return now_; }  // of the tick that is under way
  /// Likewise `leave`, but of one that has arrived, though it may be in this tick.
  void depart(Room room, TenantId tenant, Cycle since) {
    exit(room, tenant);
    waited_[tenant] += now_ - since;
  }
  /// Cells of a cause, rows one behind the other, `row_length()` each. Stays where it is.
  u64* cells(u32 cause) { return &cells_[size_t{cause} * tenants_ * row_length_]; }
  u32 row_length() const { return row_length_; }
  void enter_elsewhere() { ++elsewhere_; }
  void leave_elsewhere(TenantId tenant, Cycle since) {
    --elsewhere_;
    waited_[tenant] += now_ - since;
  }

 private:
  struct Waiters {
    Holders* holders = nullptr;
    u64* cells = nullptr;                    // of the cause
    std::array<u32, kMaxTenants> waiting{};  // by tenant
  };
  u64* row_of(const Waiters& room, TenantId tenant) const { return room.cells + index(tenant) * row_length_; }

  void enter(Room room, TenantId tenant);
  /// One that has waited since a cycle after which nothing has changed.
  void enter_late(Room room, TenantId tenant, Cycle since);
  void exit(Room room, TenantId tenant);
  void change(Room room, u32 cause, Holders& holders);
  /// Adds what the room's meter shows to the rows of those in it, so many times each.
  void read(const Waiters& room, u64 times);

  u32 tenants_ = 0;
  u32 row_length_ = 0;
  Cycle now_ = 0;
  std::vector<Waiters> rooms_;
  std::vector<u64> cells_;  // by cause, tenant and holder: readings so far
  u64 elsewhere_ = 0;       // requests that wait, but in no room
  PerTenant<Counter> waited_;
  // As of the last settle.
  u64 present_ = 0;           // requests that wait
  std::vector<u64> settled_;  // by tenant: what waited_ contains of those
  std::vector<Cause> causes_;
  std::vector<TenantMatrix> matrices_;  // by cause
};

}  // namespace terrace
