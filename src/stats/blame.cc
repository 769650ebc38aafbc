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
  if (sole_ != kSeveral) return add(sole_, to - from);
  if (parts_ == 0) return add(nobody_, to - from);
  turns_from(part_of(from), to - from, add);
}

/// From this part's turn on. Which part is next then.
template <class Add>
u64 Holders::turns_from(u64 part, Cycle length, Add&& add) const {
  if (length >= parts_) {
    for (u32 holder = 0; holder <= nobody_; ++holder) add(holder, length / parts_ * held_[holder]);
    length %= parts_;
  }
  const u64 next = part + length < parts_ ? part + length : part + length - parts_;
  for (u32 holder = 0; length > 0; holder = holder == nobody_ ? 0 : holder + 1) {
    if (part >= held_[holder]) {
      part -= held_[holder];
      continue;
    }
    const u64 its = std::min(length, held_[holder] - part);
    add(holder, its);
    length -= its;
    part = 0;
  }
  return next;
}

// Many units call this, and each fills a cache of instructions by itself.
[[gnu::noinline]] void Holders::count_up(Cycle now, u64* row, u64 times) {
  const auto add = [&](u32 holder, Cycle cycles) {
    cycles_[holder] += cycles;
    row[holder] += times * cycles;
  };
  if (sole_ != kSeveral || parts_ == 0) {
    add(sole_ != kSeveral ? sole_ : nobody_, now - last_);
    turn_parts_ = 0;
  } else {
    turn_ = static_cast<u32>(turns_from(turn_parts_ == parts_ ? turn_ : part_of(last_), now - last_, add));
    turn_parts_ = parts_;
  }
  last_ = now;
}

namespace {

/// Cycles of four holders, wherever they stand. Compilers know this type, and which instructions a host has for it.
typedef u64 Four __attribute__((vector_size(32), aligned(8), may_alias));
static_assert(sizeof(Four) == kHoldersAtOnce * sizeof(u64));

Four& four(u64* cycles) {
  return *reinterpret_cast<Four*>(cycles);
}

}  // namespace

// The meter is read as it stands, and what is counted now is added to both: a host that has just stored single numbers
// is slow to load four of them.
void Holders::watch(u64* row, Cycle now) {
  for (u32 first = 0; first <= nobody_; first += kHoldersAtOnce) four(row + first) -= four(&cycles_[first]);
  if (watchers_ > 0 && now > last_) count_up(now, row, 0 - u64{1});
  begin_watch(1, now);
}

void Holders::unwatch(u64* row, Cycle now) {
  for (u32 first = 0; first <= nobody_; first += kHoldersAtOnce) four(row + first) += four(&cycles_[first]);
  if (now > last_) count_up(now, row, 1);
  --watchers_;
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

void Blame::enter(Room number, TenantId tenant) {
  Waiters& room = rooms_[number];
  ++room.waiting[index(tenant)];
  room.holders->watch(row_of(room, tenant), now_);
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
  --room.waiting[index(tenant)];
  room.holders->unwatch(row_of(room, tenant), now_);
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
  v("waited", waited_, "cycles", "cycles that requests waited, summed over all resources of this unit");
  Sum rows;
  for (std::size_t i = 0; i < causes_.size(); ++i) {
    v(causes_[i].name, matrices_[i], "cycles", causes_[i].doc);
    rows.add(matrices_[i]);
  }
  v.always("every cycle of waiting is charged once", rows, sum(waited_));
  v.identity("nobody waits any more", sum(present_), sum(u64{0}));
}

}  // namespace terrace
