// Things with entries or ports that tenants hold, and that keep the books of who does.
// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "blame/blame.h"
#include "engine/link.h"
#include "engine/miss_table.h"
#include "engine/ring.h"

namespace terrace {

/// Whose a request is: its member `tenant`, or what it says itself.
template <class T>
TenantId tenant_of(const T& request) {
  if constexpr (requires { request.whose(); }) {
    return request.whose();
  } else {
    return request.tenant;
  }
}

/// A ring whose entries are held by the tenants of what is in it.
template <class T>
class HeldRing {
 public:
  HeldRing() = default;
  explicit HeldRing(u32 capacity) : ring_(capacity) {}

  u32 size() const { return ring_.size(); }
  bool empty() const { return ring_.empty(); }
  bool full() const { return ring_.full(); }
  const T& front() const { return ring_.front(); }
  const T& operator[](u32 n) const { return ring_[n]; }
  void push(T value) {
    entries_.add(tenant_of(value));
    ring_.push(std::move(value));
  }
  T pop() {
    entries_.remove(tenant_of(ring_.front()));
    return ring_.pop();
  }
  Resource& entries() { return entries_; }
  void archive(Archive& a) { a(ring_); }

 private:
  Ring<T> ring_;
  Resource entries_;
};

/// A miss table whose entries are held by the tenants whose requests came first.
template <class Waiter>
class HeldMissTable : private MissTable<Waiter> {
  using Table = MissTable<Waiter>;

 public:
  using Table::archive;
  using Table::awaited;
  using Table::contains;
  using Table::empty;
  using Table::full;
  using Table::release_some;
  using Table::size;
  using Table::Table;
  using Table::would_join;

  Join join(u64 key, const Waiter& waiter, TenantId tenant) {
    const Join result = Table::join(key, waiter);
    if (result == Join::kFirst) entries_.add(tenant);
    return result;
  }
  /// As MissTable says.
  void join_first(u64 key, const Waiter& waiter, TenantId tenant) {
    Table::join_first(key, waiter);
    entries_.add(tenant);
  }
  /// The key that this tenant asked for first has arrived.
  template <class F>
  u32 release(u64 key, TenantId tenant, F&& each) {
    entries_.remove(tenant);
    return Table::release(key, std::forward<F>(each));
  }
  Resource& entries() { return entries_; }
  /// What a request lacks that cannot join: an entry, or, if its key has one already, a merge, which its own tenant has.
  Resource& lack(u64 key, TenantId tenant) {
    if (!entries_.counted() || !contains(key)) return entries_;
    merges_.only(tenant);
    return merges_;
  }
  void count_entries(Blame& blame, const char* name, const char* doc) {
    blame.count(entries_, name, doc);
    blame.count(merges_, name, doc, 1);
  }

 private:
  Resource entries_, merges_;
};

/// The producer's end of a link whose places are held by the tenants of what was sent last, as many as it holds.
template <class T>
class HeldLink {
 public:
  explicit HeldLink(Link<T>& link) : link_(&link), last_sent_(link.capacity()) {}

  Link<T>* operator->() { return link_; }
  const Link<T>* operator->() const { return link_; }
  void push(Cycle now, const T& message) {
    link_->push(now, message);
    if (!places_.counted()) return;
    if (last_sent_.full()) places_.remove(last_sent_.pop());
    last_sent_.push(tenant_of(message));
    places_.add(tenant_of(message));
  }
  Resource& places() { return places_; }
  void count(Blame& blame, const char* name, const char* doc) { blame.count(places_, name, doc); }
  /// But for the link, which is not its own.
  void archive(Archive& a) { a(last_sent_, places_); }

 private:
  Link<T>* link_;
  Ring<TenantId> last_sent_;
  Resource places_;
};

/// Ports that each serve one request per cycle.
class CyclePorts {
 public:
  explicit CyclePorts(u32 ports) : ports_(ports) {}
  /// A cycle begins.
  void begin() {
    used_ = 0;
    held_.reset(ports_);
  }
  bool any_free() const { return ports_ == 0 || used_ < ports_; }
  void take(TenantId tenant) {
    ++used_;
    ports_ == 0 ? held_.add(tenant) : held_.take(tenant);
  }
  /// For somebody who is no tenant.
  void take_for_nobody() { ++used_; }
  Resource& held() { return held_; }
  void count(Blame& blame, const char* name, const char* doc) { blame.count(held_, name, doc, ports_); }
  void archive(Archive& a) { a(used_); }

 private:
  u32 ports_;
  u32 used_ = 0;
  Resource held_;
};

}  // namespace terrace
