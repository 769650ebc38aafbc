// SPDX-License-Identifier: MIT
#include "blame/holders.h"

#include <algorithm>

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
void Holders::watch(u64* row, Cycle since) {
  for (u32 first = 0; first <= nobody_; first += kHoldersAtOnce) four(row + first) -= four(&cycles_[first]);
  if (watchers_ > 0 && since > last_) count_up(since, row, 0 - u64{1});
  if (watchers_ > 0 && since < last_) turns(since, last_, [row](u32 holder, Cycle cycles) { row[holder] += cycles; });
  begin_watch(1, since);
}

void Holders::unwatch(u64* row, Cycle now) {
  for (u32 first = 0; first <= nobody_; first += kHoldersAtOnce) four(row + first) += four(&cycles_[first]);
  if (now > last_) count_up(now, row, 1);
  --watchers_;
}

}  // namespace terrace
