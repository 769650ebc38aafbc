// SPDX-License-Identifier: MIT
#include "stats/blame.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/check.h"

namespace terrace {

/// Parts stand in the order of their holders, and cycle c is the turn of part c mod parts_.
u64 Holders::part_of(Cycle cycle) const {
  if ((parts_ & (parts_ - 1)) == 0) return cycle & (parts_ - 1);
  return cycle <= ~u32{0} ? static_cast<u32>(cycle) % parts_ : cycle % parts_;  // the narrow one is much faster
}

template <class Add>
void Holders::turns(Cycle from, Cycle to, Add&& add) const {
  const Cycle length = to - from;
  if (sole_ != kSeveral) return add(sole_, length);
  if (parts_ == 0) return add(nobody_, length);
  if (length == 1) {  // by far the most frequent
    u64 part = part_of(from);
    u32 holder = 0;
    for (; part >= held_[holder]; ++holder) part -= held_[holder];
    return add(holder, 1);
  }
  const u64 rounds = length / parts_, first = part_of(from), end = first + length % parts_;
  u64 part = 0;
  for (u32 holder = 0; holder <= nobody_; ++holder) {
    const u64 behind = part + held_[holder];
    const auto within = [&](u64 low, u64 high) {
      return std::max(std::max(low, part), std::min(high, behind)) - std::max(low, part);
    };
    add(holder, rounds * held_[holder] + within(first, std::min<u64>(end, parts_)) +
                    (end > parts_ ? within(0, end - parts_) : 0));
    part = behind;
  }
}

// Called from many places of units that each fill a cache of instructions by themselves: never inlined.
[[gnu::noinline]] void Holders::take(TenantId tenant, Cycle now) {
  count(now);
  ++held_[index(tenant)];
  --held_[nobody_];
}
[[gnu::noinline]] void Holders::give_back(TenantId tenant, Cycle now) {
  count(now);
  --held_[index(tenant)];
  ++held_[nobody_];
}
[[gnu::noinline]] void Holders::add(TenantId tenant, Cycle now) {
  count(now);
  ++held_[index(tenant)];
  ++parts_;
}
[[gnu::noinline]] void Holders::remove(TenantId tenant, Cycle now) {
  count(now);
  --held_[index(tenant)];
  --parts_;
}

void Holders::count_up(Cycle now) {
  turns(last_, now, [this](u32 holder, Cycle cycles) { cycles_[holder] += cycles; });
  last_ = now;
}

void Blame::enable(u32 tenants, std::vector<Cause> causes, u32 rooms) {
  tenants_ = tenants;
  causes_ = std::move(causes);
  matrices_.resize(causes_.size());
  for (TenantMatrix& matrix : matrices_) matrix.resize(tenants);
  rooms_.resize(rooms);
  settled_.assign(tenants, 0);
}

void Blame::enter(Room number, TenantId tenant, u32 requests) {
  Waiters& room = rooms_[number];
  room.holders->watch(requests, now_);
  room.waiting[index(tenant)] += requests;
  present_ += requests;
  charge(room, index(tenant), 0 - u64{requests});
}

void Blame::enter_late(Room number, TenantId tenant, Cycle since) {
  enter(number, tenant);
  const Waiters& room = rooms_[number];
  Counter* row = row_of(room, index(tenant));
  room.holders->turns(since, now_, [row](u32 holder, Cycle cycles) { row[holder] += cycles; });
}

void Blame::exit(Room number, TenantId tenant, u32 requests) {
  Waiters& room = rooms_[number];
  SIM_DCHECK(room.waiting[index(tenant)] >= requests, "a request of tenant {} leaves a room in which none waits",
             index(tenant));
  room.holders->unwatch(requests, now_);
  charge(room, index(tenant), requests);
  room.waiting[index(tenant)] -= requests;
  present_ -= requests;
}

/// What the meter shows beyond what everybody in the room was charged, so many times.
void Blame::charge(Waiters& room, u32 tenant, u64 times) {
  const u64* cycles = room.holders->cycles();
  Counter* row = row_of(room, tenant);
  for (u32 holder = 0; holder <= tenants_; ++holder) row[holder] += times * (cycles[holder] - room.charged[holder]);
}

void Blame::close(Waiters& room) {
  for (u32 tenant = 0; tenant < tenants_; ++tenant) charge(room, tenant, room.waiting[tenant]);
  for (u32 holder = 0; holder <= tenants_; ++holder) room.charged[holder] = room.holders->cycles()[holder];
}

void Blame::change(Room number, u32 cause, Holders& holders) {
  Waiters& room = rooms_[number];
  const u64 all = std::accumulate(room.waiting.begin(), room.waiting.end(), u64{0});
  if (room.holders != nullptr) {
    room.holders->unwatch(all, now_);
    close(room);
  }
  room.holders = &holders;
  room.matrix = matrices_[cause].cells().data();
  holders.watch(all, now_);
  for (u32 holder = 0; holder <= tenants_; ++holder) room.charged[holder] = holders.cycles()[holder];
}

void Blame::settle(Cycle now, const std::function<void(const Waiting&)>& visit) {
  if (!on()) return;
  advance(now);
  for (Waiters& room : rooms_) {
    room.holders->count(now);
    close(room);
  }
  for (u32 tenant = 0; tenant < tenants_; ++tenant) waited_[TenantId(tenant)] += 0 - std::exchange(settled_[tenant], 0);
  u64 really = 0;
  visit([&](TenantId tenant, Cycle since) {
    ++really;
    settled_[index(tenant)] += now - since;
    waited_[tenant] += now - since;
  });
  SIM_CHECK(present_ + elsewhere_ == really, "{} requests are said to wait, and {} do", present_ + elsewhere_, really);
}

void Blame::describe(StatFields& v) {
  v("waited", waited_, "cycles", "requests waited for what others, or they themselves, held; summed");
  Sum rows;
  for (std::size_t i = 0; i < causes_.size(); ++i) {
    v(causes_[i].name, matrices_[i], "cycles", causes_[i].doc);
    rows.add(matrices_[i]);
  }
  v.always("every cycle of waiting is charged once", rows, sum(waited_));
  v.identity("nobody waits any more", sum(present_ + elsewhere_), sum(u64{0}));
}

}  // namespace terrace
