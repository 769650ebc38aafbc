// A channel's links and queues; its commands are in channel_commands.cc.
// SPDX-License-Identifier: MIT
#include "dram/channel.h"

#include <fmt/ostream.h>

#include <bit>
#include <numeric>

namespace terrace {

Channel::Channel(const DramConfig& config, const DramChannelSetup& setup)
    : config_(config.resolved()),
      index_(setup.index - setup.first),
      clock_(config_.clock_mhz, setup.core_mhz),
      map_(config_.with_channels(setup.channels)),
      device_(config_, setup.line_bytes),
      scheduler_(config_.scheduler.make({.banks = config_.ranks * config_.banks,
                                         .read_entries = config_.read_entries,
                                         .write_entries = config_.write_entries,
                                         .tenants = setup.tenants,
                                         .seed = setup.seed})),
      entries_(scheduler_->capacity()),
      free_entries_(scheduler_->capacity()),
      merged_(config_.partial_writes == PartialWrites::kRead ? config_.write_entries : 1),
      all_banks_(~u64{0} >> (64 - config_.ranks * config_.banks)),
      refreshes_(config_.ranks) {
  SIM_CHECK(setup.line_bytes <= config_.interleave_bytes, "a line of {} bytes is spread over chunks of {}",
            setup.line_bytes, config_.interleave_bytes);
  std::iota(free_entries_.rbegin(), free_entries_.rend(), u16{0});
  if (!config_.refresh) return;
  // Ranks and channels take turns, so that they are not all gone at once.
  for (u32 rank = 0; rank < config_.ranks; ++rank) {
    const u64 place = u64{setup.index} * config_.ranks + rank + 1, places = u64{config_.channels} * config_.ranks;
    refreshes_[rank].due = config_.timing.trefi * place / places;
    refresh_at_ = std::min(refresh_at_, refreshes_[rank].due);
  }
}

void Channel::connect(Link<DramRequest>& requests, Link<DramReply>& replies) {
  requests_.add(requests);
  sources_.push_back({&replies, OutletRing<Return>(config_.return_entries, 1)});  // most have none or one
  returns_in_.resize((sources_.size() + 63) / 64);
}

void Channel::enable_blame(u32 tenants) {
  blame.enable(tenants, config_.ranks * config_.banks, scheduler_->capacity(), clock_);
  blame.keep(queued_reads_);
  requests_.keep(blame, blame.queue());
  for (Source& source : sources_)
    source.returns.keep(blame, "returns", "lines wait for the link back; holder: the line sent last");
}

void Channel::QueuedReads::visit(Cycle, const Waiting& waits) const {
  std::vector<bool> used(channel_.entries_.size(), true);
  for (const u16 entry : channel_.free_entries_) used[entry] = false;
  for (u32 i = 0; i < used.size(); ++i) {
    const Entry& entry = channel_.entries_[i];
    if (used[i] && !entry.request.write)
      waits(entry.request.tenant, entry.accepted + channel_.blame.served(static_cast<u16>(i)));
  }
}

Cycle Channel::tick(Cycle now) {
  blame.advance(now);
  deliver(now);
  if (!merged_.empty()) offer_merged(now);
  accept(now);
  if (stats.waiting > 0 && now >= look_at_) {
    advance(clock_.local(now), now);
    look_at_ = cursor_ == kNever ? kNever : clock_.core(cursor_);
  }
  return next_wake(now);
}

void Channel::settle(Cycle now) {
  if (stats.waiting == 0) advance(clock_.local(now - 1), now - 1);
  blame.close_banks(now);
  blame.settle(now);
}

void Channel::epoch(TenantEpochs tenants, Cycle now) {
  scheduler_->epoch(tenants);
  stale_ = all_banks_;
  retry_refused();
  if (stats.waiting > 0) look_now(now);
}

void Channel::deliver(Cycle now) {
  if (now < next_return_ && !returns_held_) return;
  next_return_ = kNever;
  returns_held_ = false;
  for (u32 word = 0; word < returns_in_.size(); ++word)
    for (u64 left = returns_in_[word]; left != 0; left &= left - 1)
      deliver_to(word * 64 + static_cast<u32>(std::countr_zero(left)), now);
}

void Channel::deliver_to(u32 index, Cycle now) {
  Source& source = sources_[index];
  while (source.returns.ready(now)) {
    if (!source.replies->can_push(now)) {
      returns_held_ = true;
      break;
    }
    const Return done = source.returns.pop();
    source.replies->push(now, done.reply);
    ++(done.walk ? stats.walk : stats.data).replies[done.reply.tenant];
    --stats.reads_in_flight;
    if (returning_-- == config_.return_entries) {  // reads had stopped for want of a place
      column_at_ = 0;
      look_now(now);
    }
  }
  if (source.returns.empty()) {
    returns_in_[index / 64] &= ~(u64{1} << index % 64);
  } else if (source.returns.front().at > now) {
    next_return_ = std::min(next_return_, source.returns.front().at);
  }
}

void Channel::accept(Cycle now) {
  // What is pushed from now on arrives later than all that is on its way.
  if (now < accept_at_ && !more_requests_) return;
  accept_at_ = now + requests_.soonest();
  more_requests_ = false;
  bool accepted = false;
  const u32 count = static_cast<u32>(sources_.size());
  requests_.visit_filled(next_source_, [&](u32 at) {
    Source& source = sources_[at];
    if (requests_.front(at, now) != nullptr && !source.refused) {
      if (offer(at, now)) {
        accepted = true;
        if (scheduler_->made_room()) retry_refused();
        next_source_ = at + 1 == count ? 0 : at + 1;
        more_requests_ |= requests_.front(at, now) != nullptr;
      } else {
        source.refused = any_refused_ = true;
      }
    }
    // One that is refused holds up those behind it; the books want to know when those arrive, too.
    const Cycle next = requests_.counted() ? requests_[at].next_arrival() : requests_.look_at(at);
    if (next > now || requests_.counted()) accept_at_ = std::min(accept_at_, std::max(next, now + 1));
    return false;
  });
  if (accepted) {
    stale_ |= scheduler_->changed_banks();
    turn();
  }
}

bool Channel::offer(u32 from, Cycle now) {
  Source& source = sources_[from];
  const DramRequest& request = *requests_.front(from, now);
  if (stats.waiting == 0 && now > 0) advance(first_cycle(now) - 1, now);  // refreshes while nobody asked
  if (!source.looked_up) {
    const DramPlace place = map_.place(request.line);
    SIM_DCHECK(place.channel == index_, "a line of channel {} arrives at channel {}", place.channel, index_);
    source.next = {.bank = static_cast<u8>(place.bank),
                   .walk_level = request.walk_level,
                   .tenant = request.tenant,
                   .write = request.write,
                   .row = place.row};
    source.looked_up = true;
  }
  if (free_entries_.empty()) return false;
  const bool reads_first =
      request.write && config_.partial_writes == PartialWrites::kRead && device_.cut_a_burst(request.words);
  if (reads_first && merging_ == config_.write_entries) return false;
  const u16 entry = source.next.entry = free_entries_.back();
  source.next.age = next_age_;
  source.next.write = request.write && !reads_first;
  if (!scheduler_->offer(source.next, now)) return false;
  free_entries_.pop_back();
  entries_[entry] = {request, source.next.row, from, next_age_++, now, source.next.bank, reads_first};
  merging_ += reads_first;
  if (truth_ != nullptr && request.write) truth_->memory_takes(request.copy);
  if (truth_ != nullptr && !request.write)
    entries_[entry].request.copy = truth_->memory_gives(request.line, request.words);
  DramTrafficStats& traffic = request.walk_level != 0 ? stats.walk : stats.data;
  ++(request.write ? traffic.writes : traffic.reads)[request.tenant];
  ++stats.waiting;
  stats.reads_in_flight += !request.write;
  requests_.pop(from, now);
  take_in(entry, now);
  source.looked_up = false;
  return true;
}

/// The scheduler has it.
void Channel::take_in(u16 index, Cycle now) {
  const Entry& entry = entries_[index];
  ++waiting_[entry.writes()];
  ++waiting_in_[entry.bank];
  occupied_ |= u64{1} << entry.bank;
  look_now(now);
  blame.accepted(entry.bank, index, entry.request.tenant, entry.request.write);
}

/// What was read for a write waits as a write from now on: in order, and before what arrives.
void Channel::offer_merged(Cycle now) {
  while (!merged_.empty() && merged_.front().at <= now && !merged_refused_) {
    const Entry& read = merged_.front().entry;
    DramWaiting next{.bank = read.bank,
                     .walk_level = read.request.walk_level,
                     .tenant = read.request.tenant,
                     .write = true,
                     .row = read.row,
                     .age = next_age_};
    merged_refused_ = free_entries_.empty();
    if (!merged_refused_) {
      next.entry = free_entries_.back();
      merged_refused_ = !scheduler_->offer(next, now);
    }
    if (merged_refused_) return;
    free_entries_.pop_back();
    entries_[next.entry] = read;
    entries_[next.entry].reads_first = false;
    entries_[next.entry].age = next_age_++;
    merged_.pop();
    --merging_;
    take_in(next.entry, now);
    stale_ |= scheduler_->changed_banks();
    retry_refused();
    turn();
  }
}

void Channel::retry_refused() {
  merged_refused_ = false;
  if (!any_refused_) return;
  any_refused_ = false;
  for (Source& source : sources_) {
    more_requests_ |= source.refused;
    source.refused = false;
  }
}

void Channel::turn() {
  const bool before = writing_;
  const u32 reads = waiting_[0], writes = waiting_[1];
  if (drains_)
    drains_ = writes > 0 && (writes > config_.write_low || reads == 0);
  else
    drains_ = writes >= config_.write_high || (reads == 0 && writes > 0);
  writing_ = drains_ && !scheduler_->reads_now();
  if (writing_ == before) return;
  stale_ |= occupied_;
  ++stats.turns;
}

Cycle Channel::next_wake(Cycle now) const {
  if (more_requests_) return now + 1;
  // Replies that are held wait for a link, and the link wakes the channel; refused requests wait for a take.
  Cycle next = std::min(stats.waiting > 0 ? look_at_ : kNever, next_return_);
  if (!merged_.empty() && !merged_refused_) next = std::min(next, std::max(now + 1, merged_.front().at));
  return next;
}

void Channel::archive(Archive& a) {
  // Levels, and what is counted for power alone: the statistics do not know of them.
  a(stats.waiting, stats.reads_in_flight, stats.activations_of);
  a(device_, *scheduler_);
  scheduler_->archive_marks(a);
  a(requests_, sources_, next_source_, accept_at_, entries_, free_entries_, next_age_, waiting_, waiting_in_,
    returning_, next_return_, returns_held_, more_requests_, drains_, writing_, look_at_, cursor_, column_at_,
    activate_at_, precharge_at_, bus_at_, passed_, stale_, occupied_, wants_column_, wants_activate_, wants_precharge_,
    blocked_, fresh_, conflicted_, choices_, keys_, ready_at_, refreshes_, refresh_at_, blame);
  a(returns_in_, any_refused_, merged_, merging_, merged_refused_);
}

void Channel::log(const DramCommand& command) {
  event(clock_.core(command.cycle), "{}", text_of(command));
}

void Channel::explain(std::ostream& out) const {
  if (stats.waiting > 0) {
    fmt::print(out, "{} reads and {} writes wait while it is {}, {}\n", waiting_[0], waiting_[1],
               writing_ ? "writing" : "reading",
               cursor_ == kNever ? "and no command can be issued"
                                 : fmt::format("the next command may be issued in DRAM cycle {}", cursor_));
  }
  if (!merged_.empty())
    fmt::print(out, "{} writes whose bursts have been read are not in the queue yet\n", merged_.size());
  for (u32 i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    if (!requests_[i].empty())
      fmt::print(out, "input {} (an L2 slice or MMU) has {} requests on its link{}\n", i, requests_[i].size(),
                 source.refused ? ", refused" : "");
    if (!source.returns.empty())
      fmt::print(out, "{} replies to input {} (an L2 slice or MMU) wait, the first since cycle {}\n",
                 source.returns.size(), i, source.returns.front().at);
  }
}

}  // namespace terrace
