// Queues whose requests wait for a resource, and that keep the books of who waits since when. A unit that is not counted
// pays one branch for each push and pop.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <span>
#include <utility>
#include <vector>

#include "blame/blame.h"
#include "blame/resource.h"
#include "engine/funnel.h"
#include "engine/link.h"

namespace terrace {

/// Whether anybody waits for a request; of posted ones nobody does.
template <class T>
bool is_waited_for(const T& request) {
  if constexpr (requires { request.is_posted(); }) {
    return !request.is_posted();
  } else {
    return true;
  }
}

/// A ring of requests that could go from their cycle `at` on, which rises along the ring, whether or not the unit ticks
/// then.
template <class T>
class WaitingRing : public WaitBook {
 public:
  WaitingRing() = default;
  explicit WaitingRing(u32 capacity) : ring_(capacity) {}
  WaitingRing(u32 capacity, u32 at_first) : ring_(capacity, at_first) {}

  u32 size() const { return ring_.size(); }
  bool empty() const { return ring_.empty(); }
  bool full() const { return ring_.full(); }
  T& front() { return ring_.front(); }
  const T& front() const { return ring_.front(); }
  const T& operator[](u32 n) const { return ring_[n]; }
  bool ready(Cycle now) const { return !ring_.empty() && ring_.front().at <= now; }
  void push(T value) {
    if (counted()) [[unlikely]] {
      entries_.add(tenant_of(value));
      due_ = std::min(due_, value.at);
    }
    ring_.push(std::move(value));
  }
  T pop() {
    if (counted()) [[unlikely]]
      note_pop();
    return ring_.pop();
  }

  /// Its entries, which the tenants of what is in it hold.
  Resource& entries() { return entries_; }
  /// Books are kept from now on.
  void keep(Blame& blame, Resource& resource) {
    blame_ = &blame;
    group_ = blame.add_group(resource);
    blame.keep(*this);
  }
  void waits_for(Resource& resource) {
    if (counted()) blame_->waits_for(group_, resource);
  }
  void archive(Archive& a) { a(ring_, entered_, due_); }

 private:
  void note_pop() {
    const T& first = ring_.front();
    entries_.remove(tenant_of(first));
    if (entered_ > 0) {
      --entered_;
      blame_->leave(group_, tenant_of(first), first.at);
    } else {
      due_ = ring_.size() > 1 ? ring_[1].at : kNever;
    }
  }
  void enter_late(Cycle now) override {
    for (; entered_ < ring_.size() && ring_[entered_].at < now; ++entered_)
      blame_->enter(group_, tenant_of(ring_[entered_]), ring_[entered_].at);
    due_ = entered_ < ring_.size() ? ring_[entered_].at : kNever;
  }
  void visit(Cycle now, const Waiting& waits) const override {
    for (u32 i = 0; i < ring_.size() && ring_[i].at < now; ++i) waits(tenant_of(ring_[i]), ring_[i].at);
  }

  Ring<T> ring_;
  Resource entries_;
  Blame::Group group_ = 0;
  u32 entered_ = 0;  // the first so many are in the books
};

/// A ring in front of an outlet of its own, which is held by the tenant of what left last.
template <class T>
class OutletRing : public WaitingRing<T> {
 public:
  using WaitingRing<T>::WaitingRing;
  T pop() {
    outlet_.only(tenant_of(this->front()));
    return WaitingRing<T>::pop();
  }
  void keep(Blame& blame, const char* name, const char* doc) {
    blame.count(outlet_, name, doc, 1);
    WaitingRing<T>::keep(blame, outlet_);
  }

 private:
  Resource outlet_;
};

/// Links that end at one unit. All that has arrived waits for the same.
template <class T>
class WaitingLinks : public WaitBook {
  static constexpr u32 kFewLinks = 8;  // a choice: looking at them costs about as much as keeping the bits

 public:
  WaitingLinks() = default;
  explicit WaitingLinks(const std::vector<Link<T>*>& links) {
    for (Link<T>* link : links) add(*link);
  }
  void add(Link<T>& link) {
    links_.push_back(&link);
    entered_.push_back(0);
    look_at_.push_back(0);
    soonest_ = std::min(soonest_, link.latency());
    if (links_.size() <= kFewLinks) return;
    filled_.resize((links_.size() + 63) / 64);
    for (u32 i = 0; i < links_.size(); ++i) links_[i]->mark_in(filled_[i / 64], u64{1} << i % 64);
  }

  u32 count() const { return static_cast<u32>(links_.size()); }
  const Link<T>& operator[](u32 link) const { return *links_[link]; }
  /// Calls `each(link)` for the links with messages that have arrived or are on their way, from `from` on and around, until
  /// it returns true: there may be hundreds of links, most of them empty. Of a few links, it is called for all. Meanwhile it may
  /// pop from the one it is called for.
  template <class F>
  void visit_filled(u32 from, F&& each) {
    const u32 words = static_cast<u32>(filled_.size());
    if (words == 0) {
      for (u32 i = 0, link = from; i < count(); ++i, link = link + 1 == count() ? 0 : link + 1) {
        if (each(link)) return;
      }
      return;
    }
    const u64 behind = ~u64{0} << from % 64;
    u64 among = behind;
    for (u32 step = 0, word = from / 64; step <= words; ++step) {
      u64 left = std::atomic_ref(filled_[word]).load(std::memory_order_relaxed) & among;
      for (; left != 0; left &= left - 1) {
        if (each(word * 64 + static_cast<u32>(std::countr_zero(left)))) return;
      }
      word = word + 1 == words ? 0 : word + 1;
      among = step + 1 == words ? ~behind : ~u64{0};
    }
  }
  /// What is pushed from now on arrives at least so many cycles later.
  u32 soonest() const { return soonest_; }
  /// The oldest message that has arrived on a link, or null. Links on which nothing can have arrived are not touched: they lie
  /// all over memory.
  const T* front(u32 link, Cycle now) {
    if (now < look_at_[link]) return nullptr;
    const T* first = links_[link]->front(now);
    // What is pushed from now on arrives a latency later.
    if (first == nullptr) look_at_[link] = std::min(links_[link]->next_arrival(), now + links_[link]->latency());
    if (first != nullptr && counted()) [[unlikely]]
      due_ = std::min(due_, now);
    return first;
  }
  /// After `front` found nothing on a link: nothing arrives there before.
  Cycle look_at(u32 link) const { return look_at_[link]; }
  T pop(u32 link, Cycle now) {
    if (entered_[link] > 0) [[unlikely]] {
      --entered_[link];
      const T& first = *links_[link]->front(now);
      if (is_waited_for(first)) blame_->leave(group_, tenant_of(first), links_[link]->next_arrival());
    }
    return links_[link]->pop(now);
  }

  void keep(Blame& blame, Resource& resource) {
    blame_ = &blame;
    group_ = blame.add_group(resource);
    blame.keep(*this);
  }
  /// The links are not its own.
  void archive(Archive& a) { a(entered_, look_at_, due_); }

 private:
  void enter_late(Cycle now) override {
    for (u32 i = 0; i < links_.size(); ++i) {
      u32 arrived = 0;
      links_[i]->visit_arrived(now - 1, [&](const T& message, Cycle at) {
        if (arrived++ >= entered_[i] && is_waited_for(message)) blame_->enter(group_, tenant_of(message), at);
      });
      entered_[i] = arrived;
    }
    due_ = kNever;
  }
  void visit(Cycle now, const Waiting& waits) const override {
    for (const Link<T>* link : links_) {
      link->visit_arrived(now - 1, [&](const T& message, Cycle at) {
        if (is_waited_for(message)) waits(tenant_of(message), at);
      });
    }
  }

  std::vector<Link<T>*> links_;
  std::vector<u32> entered_;    // by link: the first so many are in the books
  std::vector<Cycle> look_at_;  // by link: nothing arrives before
  std::vector<u64> filled_;     // if there are many: links with messages, a bit each, which the links set
  u32 soonest_ = ~u32{0};
  Blame::Group group_ = 0;
};

/// Links in front of an inlet of their unit's own, which is held by the tenant of what was taken last.
template <class T>
class InletLinks : public WaitingLinks<T> {
 public:
  using WaitingLinks<T>::WaitingLinks;
  T pop(u32 link, Cycle now) {
    const T taken = WaitingLinks<T>::pop(link, now);
    inlet_.only(tenant_of(taken));
    return taken;
  }
  void keep(Blame& blame, const char* name, const char* doc) {
    blame.count(inlet_, name, doc, 1);
    WaitingLinks<T>::keep(blame, inlet_);
  }

 private:
  Resource inlet_;
};

/// The consumer's end of a funnel. What has arrived waits for the same on all inputs, or on each for something else; where
/// tenants have resources of their own, those of an input wait for their own tenant's.
template <class T>
class WaitingFunnel : public WaitBook {
 public:
  explicit WaitingFunnel(Funnel<T>& funnel) : funnel_(funnel) {}

  const Funnel<T>* operator->() const { return &funnel_; }
  /// First in each tick, after `Blame::advance`.
  void absorb(Cycle now) {
    const bool arrived = funnel_.absorb(now);
    if (counted() && arrived) due_ = now;
  }
  T pop(u32 input, Cycle now) {
    if (counted() && funnel_.arrival(input) != now) [[unlikely]] {
      const TenantId tenant = tenant_of(funnel_.front(input));
      blame_->leave(group_of(input, tenant), tenant, funnel_.arrival(input));
    }
    return funnel_.pop(input, now);
  }

  /// All inputs wait for the same.
  void keep_together(Blame& blame, Resource& resource) {
    begin(blame);
    group_ = blame.add_group(resource);
  }
  /// Inputs wait apart, each for one resource, or for one by tenant.
  void keep_inputs(Blame& blame, std::span<Resource* const> resources) {
    begin(blame);
    apart_ = static_cast<u32>(resources.size());
    for (u32 input = 0; input < funnel_.inputs(); ++input) {
      for (u32 i = 0; i < apart_; ++i) {
        const Blame::Group made = blame.add_group(*resources[i]);
        if (input == 0 && i == 0) group_ = made;
      }
    }
  }
  void all_wait_for(Resource& resource) {
    if (counted()) blame_->waits_for(group_, resource);
  }
  void input_waits_for(u32 input, std::span<Resource* const> resources) {
    for (u32 i = 0; counted() && i < apart_; ++i)
      blame_->waits_for(group_ + input * apart_ + i, *resources[resources.size() == 1 ? 0 : i]);
  }
  /// The funnel is not its own.
  void archive(Archive& a) { a(due_); }

 private:
  void begin(Blame& blame) {
    blame_ = &blame;
    blame.keep(*this);
  }
  Blame::Group group_of(u32 input, TenantId tenant) const {
    return group_ + input * apart_ + (apart_ > 1 ? index(tenant) : 0);
  }
  void enter_late(Cycle) override {
    funnel_.visit_new(due_, [&](u32 input, const T& request) {
      blame_->enter(group_of(input, tenant_of(request)), tenant_of(request), due_);
    });
    due_ = kNever;
  }
  void visit(Cycle now, const Waiting& waits) const override {
    for (u32 input = 0; input < funnel_.inputs(); ++input) {
      funnel_.visit_arrived(input, now - 1, [&](const T& request, Cycle at) { waits(tenant_of(request), at); });
    }
  }

  Funnel<T>& funnel_;
  Blame::Group group_ = 0;
  u32 apart_ = 0;  // groups of an input; 0: all inputs are one
};

/// A funnel whose inputs wait apart, for what `keep_inputs` says, unless the unit says that they lack something else.
template <class T>
class LackingFunnel : public WaitingFunnel<T> {
 public:
  using WaitingFunnel<T>::WaitingFunnel;

  void keep_inputs(Blame& blame, std::vector<Resource*> usual, Resource& lack) {
    usual_ = std::move(usual);
    lack_ = &lack;
    lacking_.assign(((*this)->inputs() + 63) / 64, 0);
    WaitingFunnel<T>::keep_inputs(blame, usual_);
  }
  /// From this tick on these inputs, a bit each, and no others.
  void lacking(std::span<const u64> inputs) {
    for (u32 word = 0; word < lacking_.size(); ++word) {
      const u64 changed = inputs[word] ^ std::exchange(lacking_[word], inputs[word]);
      for (u64 left = changed; left != 0; left &= left - 1) {
        const u32 bit = static_cast<u32>(std::countr_zero(left));
        const bool lacks = (inputs[word] >> bit & 1) != 0;
        this->input_waits_for(word * 64 + bit, lacks ? std::span<Resource* const>{&lack_, 1} : usual_);
      }
    }
  }
  void archive(Archive& a) {
    WaitingFunnel<T>::archive(a);
    a(lacking_);
  }

 private:
  std::vector<Resource*> usual_;  // one, or one by tenant
  Resource* lack_ = nullptr;
  std::vector<u64> lacking_;  // empty unless books are kept
};

}  // namespace terrace
