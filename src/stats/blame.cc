// SPDX-License-Identifier: MIT
#include "stats/blame.h"

#include <algorithm>
#include <utility>

#include "engine/check.h"

namespace terrace {

void Holders::turns(Cycle from, Cycle to, std::span<u64> cycles) const {
  const Cycle length = to - from;
  if (parts_ == 0) {
    cycles.back() += length;
    return;
  }
  // Parts stand in the order of their holders, and cycle c is the turn of part c mod parts_.
  const u64 rounds = length / parts_, first = from % parts_, end = first + length % parts_;
  u64 part = 0;
  for (u32 holder = 0; holder < held_.size(); ++holder) {
    const u64 behind = part + held_[holder];
    const auto within = [&](u64 low, u64 high) {
      return std::max(std::max(low, part), std::min(high, behind)) - std::max(low, part);
    };
    cycles[holder] += rounds * held_[holder] + within(first, std::min<u64>(end, parts_));
    if (end > parts_) cycles[holder] += within(0, end - parts_);
    part = behind;
  }
}

void Blame::enable(u32 tenants, std::vector<Cause> causes, u32 rooms) {
  tenants_ = tenants;
  causes_ = std::move(causes);
  matrices_.resize(causes_.size());
  for (TenantMatrix& matrix : matrices_) matrix.resize(tenants);
  rooms_.resize(rooms);
  for (Waiters& room : rooms_) room.waiting.assign(tenants, 0);
  cycles_.resize(tenants + 1);
  settled_.assign(tenants, 0);
}

void Blame::expect(Room room, TenantId tenant, Cycle at) {
  if (at <= last_) return enter(room, tenant);
  const auto place = std::upper_bound(due_.begin(), due_.end(), at, [](Cycle a, const Due& due) { return a < due.at; });
  due_.insert(place, {at, room, tenant});
}

void Blame::exit(Room room, TenantId tenant, Cycle since, Cycle now) {
  Waiters& its = rooms_[room];
  SIM_DCHECK(its.waiting[index(tenant)] > 0, "a request of tenant {} leaves a room in which none waits", index(tenant));
  --its.waiting[index(tenant)];
  --its.all;
  --present_;
  waited_[tenant] += now - since;
}

void Blame::charge(Cycle now) {
  std::size_t arrived = 0;
  for (; arrived < due_.size() && due_[arrived].at <= now; ++arrived) {
    charge_until(due_[arrived].at);
    enter(due_[arrived].room, due_[arrived].tenant);
  }
  due_.erase(due_.begin(), due_.begin() + static_cast<std::ptrdiff_t>(arrived));
  charge_until(now);
}

void Blame::charge_until(Cycle now) {
  if (now == last_) return;
  for (const Waiters& room : rooms_) {
    if (room.all == 0) continue;
    TenantMatrix& matrix = matrices_[room.cause];
    if (room.holders && room.holders->sole() != Holders::kSeveral) {
      for (u32 tenant = 0; tenant < tenants_; ++tenant)
        matrix.row(tenant)[room.holders->sole()] += room.waiting[tenant] * (now - last_);
      continue;
    }
    std::fill(cycles_.begin(), cycles_.end(), 0);
    if (room.holders) {
      room.holders->turns(last_, now, cycles_);
    } else {
      cycles_.back() = now - last_;
    }
    for (u32 tenant = 0; tenant < tenants_; ++tenant) {
      if (room.waiting[tenant] == 0) continue;
      const std::span<Counter> row = matrix.row(tenant);
      for (u32 holder = 0; holder <= tenants_; ++holder) row[holder] += room.waiting[tenant] * cycles_[holder];
    }
  }
  last_ = now;
}

void Blame::settle(Cycle now, const std::function<void(const Waiting&)>& visit) {
  if (!on()) return;
  advance(now);
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
