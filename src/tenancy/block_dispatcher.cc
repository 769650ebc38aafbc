// SPDX-License-Identifier: MIT
#include "tenancy/block_dispatcher.h"

#include <algorithm>
#include <ostream>

#include "engine/check.h"

namespace terrace {

BlockDispatcher::BlockDispatcher(Scheduler& scheduler, SmRoom whole_sm, u32 warp_width, std::vector<SmPort> sms,
                                 std::vector<std::vector<u32>> sms_of_tenant, bool take_turns, ContextMover mover,
                                 u32 blocks_per_kcycle)
    : scheduler_(scheduler),
      whole_sm_(whole_sm),
      warp_width_(warp_width),
      take_turns_(take_turns),
      ports_(std::move(sms)),
      rooms_(ports_.size() * (take_turns ? sms_of_tenant.size() : 1), whole_sm),
      held_(ports_.size()),
      opens_(ports_.size(), 0),
      shared_(ports_.size(), false),
      watched_(ports_.size(), false),
      mover_(mover),
      pace_(blocks_per_kcycle),
      tenants_(sms_of_tenant.size()) {
  for (u32 i = 0; i < tenants_.size(); ++i) tenants_[i].sms = std::move(sms_of_tenant[i]);
}

void BlockDispatcher::launch(TenantId id, const LaunchShape& shape, Cycle at) {
  const u64 registers = u64{shape.registers_per_thread} * warp_width_ * shape.warps_per_block;
  const SmRoom needs{shape.warps_per_block, 1, registers, shape.shared_bytes_per_block};
  if (!whole_sm_.fits(needs)) {
    input_error(
        "kernel {} needs {} warps, {} registers and {} bytes of shared memory per block, more than an SM has ({}, {}, "
        "{}); "
        "launch smaller blocks or raise sm.warps, sm.registers or sm.shared_bytes",
        shape.kernel, shape.warps_per_block, registers, shape.shared_bytes_per_block, whole_sm_.warps,
        whole_sm_.registers, whole_sm_.shared_bytes);
  }
  tenants_[index(id)].launches.push_back({.shape = shape, .needs = needs, .total = shape.blocks, .at = at});
  ++stats.launches[id];
  scheduler_.wake(self_, at);
}

const BlockDispatcher::InFlight& BlockDispatcher::in_flight(TenantId tenant, LaunchId launch) const {
  const std::vector<InFlight>& all = tenants_[index(tenant)].launches;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const InFlight& its) { return its.shape.launch == launch; });
  SIM_CHECK(found != all.end(), "launch {} of tenant {} is not in flight", index(launch), index(tenant));
  return *found;
}

void BlockDispatcher::assign(std::vector<SmUse> uses, Cycle now) {
  uses_ = std::move(uses);
  for (TenantState& tenant : tenants_) tenant.sms.clear();
  for (u32 sm = 0; sm < uses_.size(); ++sm) {
    shared_[sm] = uses_[sm].shared();
    if (uses_[sm].stalled) continue;
    for (u32 i = 0; i < tenants_.size(); ++i) {
      if (uses_[sm].most_blocks(TenantId(i)) > 0) tenants_[i].sms.push_back(sm);
    }
  }
  scheduler_.wake(self_, now);
}

void BlockDispatcher::close(u32 sm, Cycle until) {
  opens_[sm] = std::max(opens_[sm], until);
  scheduler_.wake(self_, opens_[sm]);
}

void BlockDispatcher::give_turn(TenantId tenant, Cycle at) {
  turn_ = tenant;
  turn_from_ = at;
  scheduler_.wake(self_, at);
}

Cycle BlockDispatcher::may_send_from(TenantId id, const InFlight& launch) const {
  if (!take_turns_) return launch.at;
  return turn_ == id ? std::max(launch.at, turn_from_) : kNever;
}

void BlockDispatcher::cancel(TenantId id) {
  for (InFlight& launch : tenants_[index(id)].launches) {
    launch.total = launch.next;
    launch.unfinished.clear();
  }
  std::erase_if(restored_, [&](const Restored& each) {
    if (each.start.tenant != id) return false;
    leaves(each.sm, id, in_flight(id, each.start.launch));
    ++stats.unfinished_blocks;
    return true;
  });
  finish(id);
}

/// Whether the last block of any launch is back.
bool BlockDispatcher::finish(TenantId id) {
  std::vector<InFlight>& launches = tenants_[index(id)].launches;
  for (const InFlight& launch : launches) {
    if (launch.over()) finished_.push_back({id, launch.shape.launch});
  }
  return std::erase_if(launches, [](const InFlight& launch) { return launch.over(); }) > 0;
}

/// A block's place on an SM is free again.
void BlockDispatcher::leaves(u32 sm, TenantId id, InFlight& launch) {
  room(sm, id).give_back(launch.needs);
  --held_[sm][index(id)];
  --launch.out;
}

Cycle BlockDispatcher::take_back(u32 sm, std::vector<UnfinishedBlock> blocks, Cycle now) {
  Cycle open = now;
  for (UnfinishedBlock& block : blocks) {
    InFlight& launch = in_flight(block.tenant, block.launch);
    leaves(sm, block.tenant, launch);
    ++stats.unfinished_blocks;
    const u64 bytes = context_bytes(block.tenant, block.launch);
    saved_bytes_[block.tenant] += bytes;
    open = mover_.move(bytes, now);
    event(now, "block {} of tenant {} comes back unfinished from SM {}", block.block, index(block.tenant), sm);
    launch.unfinished.push_back(std::move(block));
  }
  scheduler_.wake(self_, now);
  close(sm, open);
  return open;
}

bool BlockDispatcher::restores(u32 sm) const {
  return std::any_of(restored_.begin(), restored_.end(), [&](const Restored& each) { return each.sm == sm; });
}

SmRoom BlockDispatcher::block_needs(TenantId tenant) const {
  const std::vector<InFlight>& launches = tenants_[index(tenant)].launches;
  return launches.empty() ? SmRoom{} : launches.front().needs;
}

u64 BlockDispatcher::context_bytes(TenantId tenant, LaunchId launch) const {
  const SmRoom& needs = in_flight(tenant, launch).needs;
  return needs.registers * sizeof(u32) + needs.shared_bytes;
}

Cycle BlockDispatcher::tick(Cycle now) {
  accept_done(now);
  send_restored(now);
  Cycle next = kNever;
  for (u32 n = 0, first = first_tenant_; n < tenants_.size(); ++n) {
    const u32 i = (first + n) % static_cast<u32>(tenants_.size());
    std::vector<InFlight>& launches = tenants_[i].launches;
    const auto oldest =
        std::find_if(launches.begin(), launches.end(), [](const InFlight& launch) { return launch.has_blocks(); });
    if (oldest == launches.end()) continue;
    if (const Cycle from = may_send_from(TenantId(i), *oldest); from > now) {
      next = std::min(next, from);
    } else if (!pace_.may_leave(now)) {
      next = std::min(next, pace_.next());
    } else if (send_blocks(*oldest, TenantId(i), now)) {
      next = now + 1;
      if (pace_.limited()) first_tenant_ = i + 1;
    }
  }
  if (!restored_.empty()) next = std::min(next, std::max(restored_.front().at, now + 1));
  return next;
}

void BlockDispatcher::send_restored(Cycle now) {
  while (!restored_.empty() && restored_.front().at <= now) {
    Restored& first = restored_.front();
    if (!ports_[first.sm].starts->can_push(now)) return;
    event(now, "block {} of tenant {} is restored on SM {}", first.start.block, index(first.start.tenant), first.sm);
    ports_[first.sm].starts->push(now, std::move(first.start));
    restored_.pop_front();
  }
}

void BlockDispatcher::accept_done(Cycle now) {
  for (u32 sm = 0; sm < ports_.size(); ++sm) {
    while (ports_[sm].done->front(now)) {
      const BlockDone done = ports_[sm].done->pop(now);
      InFlight& launch = in_flight(done.tenant, done.launch);
      leaves(sm, done.tenant, launch);
      ++launch.ended;
      if (watched_[sm]) scheduler_.stop();
      ++stats.blocks_back[done.tenant];
      if (finish(done.tenant)) scheduler_.stop();
    }
  }
}

/// Whether any block left: then another may in the next cycle. Otherwise one that comes back wakes this unit.
bool BlockDispatcher::send_blocks(InFlight& launch, TenantId id, Cycle now) {
  TenantState& tenant = tenants_[index(id)];
  const u32 count = static_cast<u32>(tenant.sms.size()), first = pace_.limited() ? tenant.first : 0;
  bool sent = false;
  for (u32 n = 0; n < count && launch.has_blocks() && pace_.may_leave(now); ++n) {
    const u32 place = (first + n) % count, sm = tenant.sms[place];
    if (!may_hold(sm, id, now) || !room(sm, id).fits(launch.needs) || !ports_[sm].starts->can_push(now)) continue;
    send_block(launch, id, sm, now);
    pace_.leaves(now);
    tenant.first = place + 1;
    sent = true;
  }
  return sent;
}

void BlockDispatcher::send_block(InFlight& launch, TenantId id, u32 sm, Cycle now) {
  room(sm, id).take(launch.needs);
  ++held_[sm][index(id)];
  BlockStart block = next_block(launch, id);
  block.shares_sm = shared_[sm];
  event(now, "block {} of tenant {} goes to SM {}", block.block, index(id), sm);
  if (block.image) {
    const u64 bytes = context_bytes(id, block.launch);
    restored_bytes_[id] += bytes;
    const Cycle at = mover_.move(bytes, now);
    restored_.push_back({sm, at, std::move(block)});
    send_restored(now);
  } else {
    ports_[sm].starts->push(now, std::move(block));
  }
  ++launch.out;
  ++stats.blocks_sent[id];
}

BlockStart BlockDispatcher::next_block(InFlight& launch, TenantId id) {
  BlockStart start{0, launch.shape.launch, launch.shape.warps_per_block, id};
  if (launch.unfinished.empty()) {
    start.block = launch.next++;
    return start;
  }
  start.block = launch.unfinished.front().block;
  start.image = std::move(launch.unfinished.front().image);
  launch.unfinished.pop_front();
  return start;
}

void BlockDispatcher::archive(Archive& a) {
  a.part("the block dispatcher");
  a.expect(ports_.size(), "the number of SMs");
  a.expect(tenants_.size(), "the number of tenants");
  a(turn_, turn_from_, rooms_, held_, opens_, uses_, shared_, watched_, mover_, restored_);
  a(saved_bytes_, restored_bytes_, tenants_, finished_, pace_, first_tenant_);
  a(stats.unfinished_blocks);  // the tree of statistics does not know it
}

void BlockDispatcher::explain(std::ostream& out) const {
  for (const TenantState& tenant : tenants_) {
    for (const InFlight& launch : tenant.launches) {
      out << launch.shape.kernel << ": " << launch.ended << " of " << launch.total << " blocks have ended, "
          << launch.out << " are on SMs";
      if (!launch.unfinished.empty()) out << ", " << launch.unfinished.size() << " unfinished ones wait for an SM";
      out << '\n';
    }
  }
}

}  // namespace terrace
