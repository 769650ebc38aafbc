// Walkers that belong to tenants, each with a queue of its own: what partitioned walkers, DWS and DWS++ share. Walker i
// belongs to tenant i mod n (DWS-A4), so that shares differ by at most one. The queues divide the configured entries
// equally.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "engine/check.h"
#include "translation/walk_scheduler.h"

namespace terrace {

class OwnedQueues {
 public:
  static constexpr u32 kNone = ~u32{0};

  explicit OwnedQueues(const WalkScheduler::Context& context)
      : entries_(std::max<u32>(1, context.queue_entries / context.walkers)), owner_(context.walkers) {
    if (context.one_tenant) {
      input_error(
          "mmu.walk_scheduler: divides walkers among tenants, but with mmu.per_tenant each tenant has its own walkers; "
          "use \"shared\"");
    }
    if (context.walkers < context.tenants) {
      input_error("mmu.walkers: {} walkers cannot be divided among {} tenants; give each at least one", context.walkers,
                  context.tenants);
    }
    for (u32 i = 0; i < context.walkers; ++i) queues_.push_back(context.make_queue(entries_, i));
    std::vector<TenantId> all;
    for (u32 i = 0; i < context.tenants; ++i) all.push_back(static_cast<TenantId>(i));
    divide_among(all);
  }

  void divide_among(const std::vector<TenantId>& tenants) {
    tenants_ = tenants;
    waiting_.assign(kMaxTenants, 0);
    owned_.assign(kMaxTenants, 0);
    for (u32 i = 0; i < owner_.size(); ++i) {
      owner_[i] = tenants[i % tenants.size()];
      ++owned_[index(owner_[i])];
      waiting_[index(owner_[i])] += queues_[i]->size();
    }
  }

  u32 walkers() const { return static_cast<u32>(owner_.size()); }
  const std::vector<TenantId>& tenants() const { return tenants_; }
  TenantId owner(u32 walker) const { return owner_[walker]; }
  /// Walks in the queues of a tenant's walkers: waiting ones only (DWS-A1).
  u32 waiting(TenantId tenant) const { return waiting_[index(tenant)]; }
  u32 waiting() const {
    u32 all = 0;
    for (const TenantId tenant : tenants_) all += waiting(tenant);
    return all;
  }
  u32 size(u32 walker) const { return queues_[walker]->size(); }
  u32 entries() const { return entries_; }
  /// All entries of a tenant's queues.
  u32 capacity(TenantId tenant) const { return owned_[index(tenant)] * entries_; }

  u32 idle_walker_of(TenantId tenant, const WalkerSet& idle) const {
    for (u32 i = 0; i < walkers(); ++i) {
      if (owner_[i] == tenant && idle.contains(i)) return i;
    }
    return kNone;
  }
  /// The next idle one after the tenant's first walker, round the circle: nobody's walkers are always asked first.
  u32 idle_walker_of_others(TenantId tenant, const WalkerSet& idle) const {
    const u32 first = place_of(tenant);
    for (u32 i = 0; i < walkers(); ++i) {
      const u32 walker = first + i < walkers() ? first + i : first + i - walkers();
      if (owner_[walker] != tenant && idle.contains(walker)) return walker;
    }
    return kNone;
  }
  /// Into the tenant's queue with most free places, the lowest on ties (DWS-A2); false when all are full.
  bool push(const Walk& walk, Cycle now, u32& into) {
    into = kNone;
    for (u32 i = 0; i < walkers(); ++i) {
      if (owner_[i] != walk.tenant) continue;
      if (into == kNone || queues_[i]->size() < queues_[into]->size()) into = i;
    }
    if (into == kNone || queues_[into]->size() == entries_) return false;
    queues_[into]->push(walk, now);
    ++waiting_[index(walk.tenant)];
    return true;
  }
  Walk pop(u32 walker, Cycle now) {
    --waiting_[index(owner_[walker])];
    return queues_[walker]->pop(now);
  }
  void started(u32 walker, const Walk& walk) { queues_[walker]->started(walk); }

  /// The walker's own queue, or else the longest one of its owner's; kNone when nothing waits.
  u32 queue_for_owner(u32 walker) const { return size(walker) > 0 ? walker : longest_of(owner_[walker]); }
  /// The longest queue of a tenant, the lowest on ties (DWS-A4); kNone when all are empty.
  u32 longest_of(TenantId tenant) const {
    u32 longest = kNone;
    for (u32 i = 0; i < walkers(); ++i) {
      if (owner_[i] != tenant || size(i) == 0) continue;
      if (longest == kNone || size(i) > size(longest)) longest = i;
    }
    return longest;
  }
  /// The other tenant with most waiting walks, on ties the next one round the circle; null when nobody else has any.
  const TenantId* busiest_other(TenantId than) const {
    const TenantId* busiest = nullptr;
    const u32 first = place_of(than), count = static_cast<u32>(tenants_.size());
    for (u32 i = 1; i <= count; ++i) {
      const TenantId& tenant = tenants_[first + i < count ? first + i : first + i - count];
      if (tenant == than || waiting(tenant) == 0) continue;
      if (busiest == nullptr || waiting(tenant) > waiting(*busiest)) busiest = &tenant;
    }
    return busiest;
  }

  void archive(Archive& a) { a(owner_, tenants_, queues_, waiting_, owned_); }

 private:
  /// Where a tenant stands among those that share the walkers; one that has gone counts as the first.
  u32 place_of(TenantId tenant) const {
    for (u32 i = 0; i < tenants_.size(); ++i) {
      if (tenants_[i] == tenant) return i;
    }
    return 0;
  }

  u32 entries_;  // of each queue
  std::vector<TenantId> owner_, tenants_;
  std::vector<std::unique_ptr<WalkOrder>> queues_;  // by walker
  std::vector<u32> waiting_, owned_;                // by tenant
};

}  // namespace terrace
