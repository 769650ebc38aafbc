// The waiting matrix: how many cycles requests wait in a unit that tenants share, by the tenant that holds the
// resource. Requests that wait for the same resource are a group. Every cycle that a request spends in a group is charged
// to a holder of the resource. A resource with several parts (16 walkers, 256 miss entries) is charged part by part: in
// each cycle the holder of the next part is charged, so charges are whole cycles and follow the shares. A part without a
// holder is charged to nobody.
//
// Holders are a meter of the cycles for which each tenant held. A request is charged the difference of two readings, at
// its arrival and its departure, so a waiting request costs no work: the first is subtracted from its row, the second
// added, and `settle` reads for requests that still wait. Independently its waiting time is measured from its arrival.
// Both must agree for each tenant at the end of every run. Nothing is counted unless `enable` was called. The rules are
// in docs/blame.md.
//
// Units do not call this class: queues (waiting.h) and resources (resource.h) keep its books as they are used. A unit
// names them in `enable_blame`, begins each tick with `advance` and ends a run with `settle`.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "blame/holders.h"
#include "engine/archive.h"
#include "engine/types.h"
#include "stats/stat_fields.h"

namespace terrace {

class Blame;

/// What tenants hold and others wait for. Does nothing unless somebody counts it.
class Resource {
 public:
  bool counted() const { return blame_ != nullptr; }

  // From the tick of the unit that is under way.
  /// It has this many parts, and no tenant holds any.
  void reset(u32 parts);
  /// This tenant holds all of it, until the next call or `reset`.
  void only(TenantId tenant);
  void take(TenantId tenant);
  void give_back(TenantId tenant);
  /// One more part, which this tenant holds, and the other way round: for what has as many parts as are held.
  void add(TenantId tenant);
  void remove(TenantId tenant);

  /// Who holds it is in the books, which are saved as a whole.
  void archive(Archive&) const {}

 private:
  friend class Blame;
  Blame* blame_ = nullptr;
  u64* cells_ = nullptr;  // of its cause
  // Only if it is counted, and elsewhere: resources stand among what units touch in every tick, and books are large.
  std::unique_ptr<Holders> holders_;
};

/// A request that waits, and since when.
using Waiting = std::function<void(TenantId tenant, Cycle since)>;

/// A place where requests wait, which tells the books by itself who waits.
class WaitBook {
 public:
  WaitBook() = default;
  virtual ~WaitBook() = default;
  bool counted() const { return blame_ != nullptr; }

 protected:
  friend class Blame;
  /// Enters all that could have gone before cycle `now` and are not in the books yet, and sets `due_` anew.
  virtual void enter_late(Cycle now) = 0;
  /// Tells of each request that has been waiting since before `now`, from the queue itself and not from the books.
  virtual void visit(Cycle now, const Waiting& waits) const = 0;

  Blame* blame_ = nullptr;
  Cycle due_ = kNever;  // since when one has waited that is not in the books yet
};

class Blame {
 public:
  using Group = u32;

  /// Turns counting on. Before the first cycle, as all calls up to `advance`.
  void enable(u32 tenants);
  bool on() const { return tenants_ != 0; }
  u32 tenants() const { return tenants_; }
  /// Counts a resource under this name; several may have the same one.
  void count(Resource& resource, const char* name, const char* doc, u32 parts = 0);
  Group add_group(Resource& waits_for);
  void keep(WaitBook& book) { books_.push_back(&book); }

  /// A tick begins: first in each tick, before anything changes.
  void advance(Cycle now) {
    now_ = now;
    for (WaitBook* book : books_) {
      if (book->due_ < now) book->enter_late(now);
    }
  }
  Cycle now() const { return now_; }  // of the tick that is under way
  /// Cycles that a tenant's requests have waited so far; of those that still wait, nothing.
  u64 waited(TenantId tenant) const { return waited_[tenant].value; }

  /// What those in a group wait for, from this tick on.
  void waits_for(Group group, Resource& resource) {
    if (groups_[group].holders != resource.holders_.get()) change(group, resource);
  }
  /// A request has waited since this cycle, after which nothing has changed.
  void enter(Group group, TenantId tenant, Cycle since) {
    Waiters& waiters = groups_[group];
    ++waiters.waiting[index(tenant)];
    waiters.holders->watch(row_of(waiters, tenant), since);
  }
  /// It waits no longer.
  void leave(Group group, TenantId tenant, Cycle since);

  /// Closes the books before cycle `now`, so that rows add up although requests still wait: their number and their times
  /// are taken from the queues themselves. So a forgotten departure, or a wrong time of arrival, is found.
  void settle(Cycle now);

  void describe(StatFields& v);

  /// The books but for what queues keep of them, and for counters.
  void archive(Archive& a);

 protected:
  // For a unit that keeps books of its own besides groups.
  /// Cells of a resource's cause, rows one behind the other, `row_length()` each. Stays where it is.
  static u64* cells(const Resource& resource) { return resource.cells_; }
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
  struct Cause {
    const char* name;
    const char* doc;
    std::vector<u64> cells;  // by tenant and holder: readings so far
    TenantMatrix matrix;
  };
  u64* row_of(const Waiters& group, TenantId tenant) const { return group.cells + index(tenant) * row_length_; }

  void change(Group group, Resource& resource);
  /// Adds what the group's meter shows to the rows of those in it, so many times each.
  void read(const Waiters& group, u64 times);

  u32 tenants_ = 0;
  u32 row_length_ = 0;
  Cycle now_ = 0;
  std::vector<WaitBook*> books_;
  struct Counted {
    Holders* holders;
    u64* cells;  // of its cause
  };
  std::vector<Counted> counted_;
  std::vector<Waiters> groups_;
  std::deque<Cause> causes_;
  u64 elsewhere_ = 0;  // requests that wait, but in no group
  PerTenant<Counter> waited_;
  // As of the last settle.
  u64 present_ = 0;           // requests that wait
  std::vector<u64> settled_;  // by tenant: what waited_ contains of those
};

inline void Resource::reset(u32 parts) {
  if (counted()) holders_->reset(parts, blame_->now());
}
inline void Resource::only(TenantId tenant) {
  if (counted()) holders_->only(tenant, blame_->now());
}
inline void Resource::take(TenantId tenant) {
  if (counted()) holders_->take(tenant, blame_->now());
}
inline void Resource::give_back(TenantId tenant) {
  if (counted()) holders_->give_back(tenant, blame_->now());
}
inline void Resource::add(TenantId tenant) {
  if (counted()) holders_->add(tenant, blame_->now());
}
inline void Resource::remove(TenantId tenant) {
  if (counted()) holders_->remove(tenant, blame_->now());
}

}  // namespace terrace
