// How a channel chooses its next command. Each bank has one choice, made by the scheduler, and needs one command
// towards it. column_at_, activate_at_ and precharge_at_ say before which cycle no command of that sort can be issued:
// they may be too early, never too late, and a cycle is looked at only if one of them has come.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>

#include "dram/channel.h"

namespace terrace {

namespace {

template <class Visit>
void each_bank(u64 banks, Visit&& visit) {
  for (; banks != 0; banks &= banks - 1) visit(static_cast<u32>(std::countr_zero(banks)));
}

constexpr u64 bit(u32 bank) {
  return u64{1} << bank;
}

}  // namespace

void Channel::advance(u64 until, Cycle now) {
  if (stale_ != 0) choose_anew();
  cursor_ = std::max(cursor_, next_chance());
  while (cursor_ <= until) cursor_ = decide(cursor_, now);
}

u64 Channel::next_chance() const {
  return std::min({column_at_, activate_at_, precharge_at_, refresh_at_});
}

u64 Channel::decide(u64 cycle, Cycle now) {
  bool row_bus = device_.row_command_free(cycle), column_bus = true;
  const bool separate = config_.command_buses == 2;
  if (cycle >= refresh_at_ && refresh(cycle, row_bus)) {
    row_bus = false;
    column_bus = separate;
  }
  Best column = cycle >= column_at_ && column_bus ? best_column(cycle) : Best{};
  // On one bus a row command goes first only if it is more urgent.
  if (row_bus && (separate || column.urgency() > 0)) {
    const Best activate = cycle >= activate_at_ ? best_activate(cycle) : Best{};
    const Best precharge = cycle >= precharge_at_ ? best_precharge(cycle) : Best{};
    const bool closes = precharge.key < activate.key;
    const Best& row = closes ? precharge : activate;
    const bool goes = row.found() && (separate || row.urgency() < column.urgency());
    // Whoever could go but does not is looked at again in the next cycle.
    if (activate.found() && (!goes || closes)) activate_at_ = cycle + 1;
    if (precharge.found() && (!goes || !closes)) precharge_at_ = cycle + 1;
    if (goes) closes ? issue_precharge(row.bank, cycle) : issue_activate(row.bank, cycle);
    if (goes && !separate && column.found()) {
      column_at_ = cycle + 1;
      column = {};
    }
  }
  if (column.found()) issue_column(column, cycle, now);
  if (stale_ != 0) choose_anew();
  return std::max(cycle + 1, next_chance());
}

/// Brings refreshes forward by one command. A rank serves nothing from the cycle in which its refresh is due until the
/// refresh is issued: open rows are closed together as soon as all may be, then all banks must be ready to activate.
bool Channel::refresh(u64 cycle, bool bus_free) {
  bool issued = false;
  refresh_at_ = kNever;
  for (u32 rank = 0; rank < refreshes_.size(); ++rank) {
    Refresh& own = refreshes_[rank];
    const u64 banks = device_.banks_of(rank);
    if (cycle >= own.due && !own.pending) {
      own.pending = true;
      blocked_ |= banks;
      blame.refresh(banks);
    }
    if (!own.pending) {
      refresh_at_ = std::min(refresh_at_, own.due);
      continue;
    }
    const u64 open = device_.open_banks() & banks;
    u64 at = 0;
    each_bank(open != 0 ? open : banks, [&](u32 bank) {
      at = std::max(at, open != 0 ? device_.precharge_ready(bank) : device_.activate_ready(bank));
    });
    if (at > cycle || !bus_free || issued) {
      refresh_at_ = std::min(refresh_at_, std::max(at, cycle + 1));
      continue;
    }
    issued = true;
    if (open != 0) {
      each_bank(open, [&](u32 bank) {
        device_.precharge(bank, cycle);
        log(DramCommand::Kind::kPrecharge, bank, cycle, 0);
        ++stats.precharges;
      });
      refresh_at_ = std::min(refresh_at_, cycle + 1);
    } else {
      device_.refresh(rank, cycle);
      log(DramCommand::Kind::kRefresh, static_cast<u32>(std::countr_zero(banks)), cycle, 0);
      ++stats.refreshes;
      own.pending = false;
      own.due += config_.timing.trefi;
      blocked_ &= ~banks;
      blame.refreshed(banks, device_.activate_ready(static_cast<u32>(std::countr_zero(banks))));
      refresh_at_ = std::min(refresh_at_, own.due);
    }
    conflicted_ &= ~banks;
    stale_ |= banks;
  }
  if (stale_ != 0) choose_anew();
  return issued;
}

void Channel::choose_anew() {
  each_bank(stale_, [&](u32 bank) {
    choices_[bank] = scheduler_->next({bank, device_.open_row(bank), writing_});
    classify(bank);
  });
  stale_ = 0;
}

void Channel::classify(u32 bank) {
  find_command(bank);
  // While the channel writes, a bank whose reads wait has nothing to do: it is as ready as it was before.
  if (!blame.on() || choices_[bank].entry == DramScheduler::kNone) return;
  blame.works_towards(bank, choices_[bank].entry, blocked_ & bit(bank) ? kNever : ready_at_[bank]);
}

/// Which command the bank's choice needs next, and from when on the bank allows it.
void Channel::find_command(u32 bank) {
  const u64 own = bit(bank);
  ready_at_[bank] = 0;
  wants_column_ &= ~own;
  wants_activate_ &= ~own;
  wants_precharge_ &= ~own;
  const Choice choice = choices_[bank];
  if (choice.entry == DramScheduler::kNone) return;
  keys_[bank] = u64{choice.urgency} << kUrgencyShift | entries_[choice.entry].age;
  if (!device_.is_open(bank)) {
    wants_activate_ |= own;
    ready_at_[bank] = std::max(device_.activate_ready(bank), device_.group_activate(bank));
    activate_at_ = std::min(activate_at_, std::max(ready_at_[bank], device_.rank_activate(device_.rank_of(bank))));
  } else if (device_.open_row(bank) != entries_[choice.entry].row) {
    wants_precharge_ |= own;
    ready_at_[bank] = device_.precharge_ready(bank);
    precharge_at_ = std::min(precharge_at_, ready_at_[bank]);
  } else if (choice.column) {
    wants_column_ |= own;
    ready_at_[bank] = device_.column_ready(bank);
    column_at_ = std::min(column_at_, std::max(ready_at_[bank], bus_at_));
  }
}

/// The most urgent, then oldest, of the banks that can read or write a line now.
Channel::Best Channel::best_column(u64 cycle) {
  if (!writing_ && returning_ == config_.return_entries) {
    column_at_ = kNever;  // until deliver() finds a place
    return {};
  }
  if (const u64 free = device_.bus_free(cycle); free > cycle) {
    column_at_ = bus_at_ = free;
    return {};
  }
  Best best, oldest;
  u64 next = kNever;
  each_bank(wants_column_ & ~blocked_, [&](u32 bank) {
    const u64 at = std::max(ready_at_[bank], device_.column_shared(bank, writing_));
    oldest.consider(bank, ready_at_[bank] <= cycle ? keys_[bank] : ~u64{0});
    best.consider_at(cycle, at, bank, keys_[bank], next);
  });
  column_at_ = next;
  if (!best.found() || best.bank == oldest.bank) return best;
  // Changing the rank costs bus cycles, so one rank could keep the bus for ever.
  if (passed_ == kPassLimit) {
    column_at_ = std::min(next, device_.column_shared(oldest.bank, writing_));  // a more urgent bank may be ready first
    return {};
  }
  best.passes = true;
  return best;
}

/// The same for opening a row.
Channel::Best Channel::best_activate(u64 cycle) {
  Best best;
  u64 next = kNever;
  for (u32 rank = 0; rank < config_.ranks; ++rank) {
    const u64 banks = wants_activate_ & ~blocked_ & device_.banks_of(rank);
    if (banks == 0) continue;
    if (const u64 at = device_.rank_activate(rank); at > cycle) {
      next = std::min(next, at);
      continue;
    }
    each_bank(banks, [&](u32 bank) {
      const u64 at = std::max(ready_at_[bank], device_.group_activate(bank));
      best.consider_at(cycle, at, bank, keys_[bank], next);
    });
  }
  activate_at_ = next;
  return best;
}

/// The same for closing a row.
Channel::Best Channel::best_precharge(u64 cycle) {
  Best best;
  u64 next = kNever;
  each_bank(wants_precharge_ & ~blocked_,
            [&](u32 bank) { best.consider_at(cycle, ready_at_[bank], bank, keys_[bank], next); });
  precharge_at_ = next;
  return best;
}

void Channel::note_row_command(u32 bank) {
  if (!blame.on()) return;
  const u16 entry = choices_[bank].entry;
  const DramRequest& request = entries_[entry].request;
  blame.row_command(bank, entry, request.tenant, request.write);
}

void Channel::issue_precharge(u32 bank, u64 cycle) {
  device_.precharge(bank, cycle);
  log(DramCommand::Kind::kPrecharge, bank, cycle, 0);
  ++stats.precharges;
  conflicted_ |= bit(bank);
  note_row_command(bank);
  classify(bank);
}

void Channel::issue_activate(u32 bank, u64 cycle) {
  const Entry& entry = entries_[choices_[bank].entry];
  const u32 row = entry.row;
  device_.activate(bank, row, cycle);
  log(DramCommand::Kind::kActivate, bank, cycle, row);
  ++stats.activations;
  ++stats.activations_of[entry.request.tenant];
  fresh_ |= bit(bank);
  note_row_command(bank);
  activate_at_ = std::max(activate_at_, device_.first_activate());
  classify(bank);
}

void Channel::issue_column(const Best& chosen, u64 cycle, Cycle now) {
  const u32 bank = chosen.bank;
  const u16 index = choices_[bank].entry;
  const Entry& entry = entries_[index];
  const bool write = entry.writes(), walk = entry.request.walk_level != 0;
  const TenantId tenant = entry.request.tenant;
  const u32 bursts = device_.bursts_of(entry.request.words);
  // In the next cycle at the soonest, like all that leaves a unit: where the core is far slower than the memory, a burst ends sooner.
  const Cycle at = std::max(now + 1, clock_.core(device_.column(bank, write, cycle, bursts)));
  blame.column_command(bank, index, tenant, entry.request.write, entry.accepted);
  passed_ = chosen.passes ? passed_ + 1 : 0;
  bus_at_ = device_.bus_free_after(cycle);
  column_at_ = std::max(column_at_, bus_at_);
  scheduler_->take(index, now);

  DramTrafficStats& traffic = walk ? stats.walk : stats.data;
  ++(!(fresh_ & bit(bank))       ? traffic.row_hits
     : (conflicted_ & bit(bank)) ? traffic.row_conflicts
                                 : traffic.row_misses)[tenant];
  fresh_ &= ~bit(bank);
  conflicted_ &= ~bit(bank);
  traffic.bus_cycles[tenant] += bursts * device_.burst_cycles();
  traffic.wait.add(now - entry.accepted);
  if (entry.reads_first) {
    ++traffic.reads_for_writes[tenant];
    merged_.push({at, entry});
    ++stats.waiting;  // it waits again, as a write
  } else if (!write) {
    traffic.latency.add(at - entry.accepted);
    traffic.read_latency[tenant] += at - entry.accepted;
    sources_[entry.source].returns.push(
        {at,
         {entry.request.line, entry.request.name, entry.request.tag, tenant, entry.request.copy, entry.request.words},
         walk});
    returns_in_[entry.source / 64] |= u64{1} << entry.source % 64;
    next_return_ = std::min(next_return_, at);
    ++returning_;
  }
  --waiting_[write];
  if (--waiting_in_[bank] == 0) occupied_ &= ~bit(bank);
  --stats.waiting;
  free_entries_.push_back(index);
  retry_refused();

  const u32 row = entry.row;
  bool closes = false;
  if (config_.row_policy == RowPolicy::kClosed) {
    const Choice then = scheduler_->next({bank, row, writing_});
    closes = then.entry == DramScheduler::kNone || entries_[then.entry].row != row;
    if (closes) {
      device_.auto_precharge(bank);
      ++stats.precharges;
    }
  }
  log(write ? DramCommand::Kind::kWrite : DramCommand::Kind::kRead, bank, cycle, row, closes);
  stale_ |= bit(bank) | scheduler_->changed_banks();
  turn();
}

}  // namespace terrace
