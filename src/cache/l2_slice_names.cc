// What an L2 slice whose lines have virtual names does at the word of the forward-backward table: lines leave with their page, and
// requests are looked up again under the page that leads.
// SPDX-License-Identifier: MIT
#include <bit>
#include <utility>

#include "cache/l2_slice.h"

namespace terrace {

void L2Slice::accept_commands(Cycle now) {
  while (wiring_.names.commands->front(now)) carry_out(wiring_.names.commands->pop(now));
  if (!dropping_.empty() && !too_many_dirty()) drop_line();
  Funnel<AccessRef>& replays = *wiring_.names.replays[wiring_.port];
  replays.absorb(now);
  for (u32 from = replays.next_ready(0); from != Funnel<AccessRef>::kNoInput; from = replays.next_ready(0))
    replays_in_.push_back(replays.pop(from, now));
  send_replays(now);
}

void L2Slice::carry_out(const SliceCommand& command) {
  switch (command.kind) {
    case SliceCommand::Kind::kDrop:
      for (u64 left = command.lines; left != 0; left &= left - 1)
        dropping_.push_back(LineKey::from_raw(command.line.raw() + static_cast<u64>(std::countr_zero(left))));
      break;
    case SliceCommand::Kind::kDropRange:
      for (LineKey line = command.line; line != command.leading; line = line.next()) {
        if (wiring_.map.slice_of(line) == wiring_.port) dropping_.push_back(line);
      }
      break;
    case SliceCommand::Kind::kGrant:
      if (const i32 entry = tags_.find(command.line.raw()); entry >= 0)
        tags_.meta(static_cast<u32>(entry)).writable = true;
      ++stats.replayed_fetches;
      misses_.release(command.line.raw(), command.line.tenant(), [&](AccessRef waiter) {
        // They are looked up here and now, ahead of what comes later: no load overtakes a store of its SM.
        accesses_[waiter].checked |= writes(accesses_[waiter]);
        ++stats.replays[accesses_[waiter].tenant];
        replays_in_.push_back(waiter);
      });
      break;
    case SliceCommand::Kind::kReplay:
      replay(command);
      break;
  }
}

/// Those who want to write were permitted to under the name that they asked for. The table hears of one who joined the fetch
/// of somebody who did not.
void L2Slice::replay(const SliceCommand& command) {
  std::erase(drop_on_arrival_, command.line);
  ++stats.replayed_fetches;
  bool told = command.for_write;
  misses_.release(command.line.raw(), command.line.tenant(), [&](AccessRef waiter) {
    Access& access = accesses_[waiter];
    access.in_l2 = command.leading;
    access.checked = writes(access);
    access.may_map = command.read_only;
    if (writes(access)) wiring_.truth.redirects(access);
    if (writes(access) && !std::exchange(told, true))
      dirty_.push({command.leading,
                   kUnknownLine,
                   access.tenant,
                   ~command.line.number(),
                   DramRequest::Notice::kSynonymWrite,
                   {}});
    look_again(waiter);
  });
}

void L2Slice::look_again(AccessRef waiter) {
  ++stats.replays[accesses_[waiter].tenant];
  replays_out_.push_back(waiter);
}

/// One line per cycle.
void L2Slice::drop_line() {
  const LineKey line = dropping_.front();
  dropping_.pop_front();
  if (const i32 entry = tags_.find(line.raw()); entry >= 0) {
    ++names_stats.dropped;
    retire(static_cast<u32>(entry));
    tags_.invalidate(static_cast<u32>(entry));
  } else if (misses_.contains(line.raw())) {
    drop_on_arrival_.push_back(line);
  }
  // Otherwise word that it left is under way.
}

void L2Slice::send_replays(Cycle now) {
  while (!replays_out_.empty()) {
    Funnel<AccessRef>& way = *wiring_.names.replays[wiring_.map.slice_of(accesses_[replays_out_.front()].in_l2)];
    if (!way.can_push(wiring_.port, now)) return;
    way.push(wiring_.port, now, replays_out_.front());
    replays_out_.pop_front();
  }
}

void L2Slice::tell_of_write(LineKey line, TenantId tenant) {
  ++names_stats.first_writes;
  tell_of(DramRequest::Notice::kWritten, line, tenant);
}

}  // namespace terrace
