// Which tenants hold the parts of a resource, and for how many cycles each did while requests waited for it.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "engine/archive.h"
#include "engine/types.h"

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
  /// Likewise one request, whose row gets what the meter shows in this cycle: less by that, or more. It may have begun
  /// to wait earlier, in a cycle after which nothing has changed.
  void watch(u64* row, Cycle since);
  void unwatch(u64* row, Cycle now);
  /// Cycles of each holder (the last one is nobody), up to the last change or change of those who watch.
  const u64* cycles() const { return cycles_.data(); }
  /// Brings them up to the end of cycle `now` - 1.
  void count(Cycle now) {
    if (watchers_ > 0 && now > last_) count_up(now, cycles_.data(), 0);
  }

  void archive(Archive& a) { a(watchers_, last_, parts_, sole_, turn_, turn_parts_, held_, cycles_); }

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
  /// Calls `add(holder, cycles)` for the turns of cycles `from` to `to` - 1, with the parts as they are held now.
  template <class Add>
  void turns(Cycle from, Cycle to, Add&& add) const;
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

}  // namespace terrace
