// SPDX-License-Identifier: MIT
#include "stats/blame.h"

#include <algorithm>
#include <functional>
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
  Cycle left = length;
  if (length >= parts_) {
    for (u32 holder = 0; holder <= nobody_; ++holder) add(holder, length / parts_ * held_[holder]);
    left = length % parts_;
  }
  u64 part = part_of(from);
  for (u32 holder = 0; left > 0; holder = holder == nobody_ ? 0 : holder + 1) {
    if (part >= held_[holder]) {
      part -= held_[holder];
      continue;
    }
    const u64 turns = std::min(left, held_[holder] - part);
    add(holder, turns);
    left -= turns;
    part = 0;
  }
}

// Many units call this, and each fills a cache of instructions by itself.
[[gnu::noinline]] void Holders::count_up(Cycle now) {
  turns(last_, now, [this](u32 holder, Cycle cycles) { cycles_[holder] += cycles; });
  last_ = now;
}

void Blame::enable(u32 tenants, std::vector<Cause> causes, u32 rooms) {
  tenants_ = tenants;
  row_length_ = holders_with_padding(tenants);
  causes_ = std::move(causes);
  cells_.assign(causes_.size() * tenants * row_length_, 0);
  matrices_.resize(causes_.size());
  for (TenantMatrix& matrix : matrices_) matrix.resize(tenants);
  rooms_.resize(rooms);
  settled_.assign(tenants, 0);
}

namespace {

/// Both are padded. Sums are made before any is stored: the rows need not be known to be apart.
template <class Op>
void combine(u64* row, const u64* cycles, u32 length, Op op) {
  for (u32 first = 0; first < length; first += kHoldersAtOnce) {
    u64 sums[kHoldersAtOnce];
    for (u32 i = 0; i < kHoldersAtOnce; ++i) sums[i] = op(row[first + i], cycles[first + i]);
    for (u32 i = 0; i < kHoldersAtOnce; ++i) row[first + i] = sums[i];
  }
}

}  // namespace

void Blame::enter(Room number, TenantId tenant) {
  Waiters& room = rooms_[number];
  room.holders->watch(1, now_);
  ++room.waiting[index(tenant)];
  combine(row_of(room, tenant), room.holders->cycles(), row_length_, std::minus{});
}

void Blame::enter_late(Room number, TenantId tenant, Cycle since) {
  enter(number, tenant);
  const Waiters& room = rooms_[number];
  u64* row = row_of(room, tenant);
  room.holders->turns(since, now_, [row](u32 holder, Cycle cycles) { row[holder] += cycles; });
}

void Blame::exit(Room number, TenantId tenant) {
  Waiters& room = rooms_[number];
  SIM_DCHECK(room.waiting[index(tenant)] > 0, "a request of tenant {} leaves a room in which none waits",
             index(tenant));
  room.holders->unwatch(1, now_);
  --room.waiting[index(tenant)];
  combine(row_of(room, tenant), room.holders->cycles(), row_length_, std::plus{});
}

void Blame::read(const Waiters& room, u64 times) {
  for (u32 tenant = 0; tenant < tenants_; ++tenant) {
    u64* row = row_of(room, TenantId(tenant));
    const u64 readings = times * room.waiting[tenant];
    for (u32 holder = 0; holder <= tenants_; ++holder) row[holder] += readings * room.holders->cycles()[holder];
  }
}

void Blame::change(Room number, u32 cause, Holders& holders) {
  Waiters& room = rooms_[number];
  const u64 all = std::accumulate(room.waiting.begin(), room.waiting.end(), u64{0});
  if (room.holders != nullptr) {
    room.holders->unwatch(all, now_);
    read(room, 1);
  }
  room.holders = &holders;
  room.cells = cells(cause);
  holders.watch(all, now_);
  read(room, 0 - u64{1});
}

void Blame::settle(Cycle now, const std::function<void(const Waiting&)>& visit) {
  if (!on()) return;
  advance(now);
  present_ = elsewhere_;
  for (Waiters& room : rooms_) {
    room.holders->count(now);
    read(room, 1);
    present_ += std::accumulate(room.waiting.begin(), room.waiting.end(), u64{0});
  }
  for (u32 cause = 0; cause < causes_.size(); ++cause) {
    for (u32 tenant = 0; tenant < tenants_; ++tenant) {
      const u64* row = cells(cause) + size_t{tenant} * row_length_;
      for (u32 holder = 0; holder <= tenants_; ++holder) matrices_[cause].row(tenant)[holder].value = row[holder];
    }
  }
  for (Waiters& room : rooms_) read(room, 0 - u64{1});

  for (u32 tenant = 0; tenant < tenants_; ++tenant) waited_[TenantId(tenant)] += 0 - std::exchange(settled_[tenant], 0);
  u64 really = 0;
  visit([&](TenantId tenant, Cycle since) {
    ++really;
    settled_[index(tenant)] += now - since;
    waited_[tenant] += now - since;
  });
  SIM_CHECK(present_ == really, "{} requests are said to wait, and {} do", present_, really);
}

void Blame::describe(StatFields& v) {
  v("waited", waited_, "cycles", "requests waited for what others, or they themselves, held; summed");
  Sum rows;
  for (std::size_t i = 0; i < causes_.size(); ++i) {
    v(causes_[i].name, matrices_[i], "cycles", causes_[i].doc);
    rows.add(matrices_[i]);
  }
  v.always("every cycle of waiting is charged once", rows, sum(waited_));
  v.identity("nobody waits any more", sum(present_), sum(u64{0}));
}

}  // namespace terrace
