// SPDX-License-Identifier: MIT
#include "tenancy/block_dispatcher.h"

#include <algorithm>
#include <ostream>

#include "engine/check.h"

namespace terrace {

BlockDispatcher::BlockDispatcher(Scheduler& scheduler, SmRoom whole_sm, u32 warp_width, std::vector<SmPort> sms,
                                 std::vector<std::vector<u32>> sms_of_tenant, bool take_turns)
    : scheduler_(scheduler),
      whole_sm_(whole_sm),
      warp_width_(warp_width),
      take_turns_(take_turns),
      ports_(std::move(sms)),
      rooms_(ports_.size() * (take_turns ? sms_of_tenant.size() : 1), whole_sm),
      holders_(ports_.size()),
      opens_(ports_.size(), 0),
      tenants_(sms_of_tenant.size()) {
  for (u32 i = 0; i < tenants_.size(); ++i) tenants_[i].sms = std::move(sms_of_tenant[i]);
}

void BlockDispatcher::launch(TenantId id, const LaunchShape& shape, Cycle at) {
  TenantState& tenant = tenants_[index(id)];
  SIM_CHECK(!tenant.active, "tenant {} launches {} while {} runs", index(id), shape.kernel, tenant.shape.kernel);
  const u64 registers = u64{shape.registers_per_thread} * warp_width_ * shape.warps_per_block;
  tenant.needs = {shape.warps_per_block, 1, registers, shape.shared_bytes_per_block};
  if (!whole_sm_.fits(tenant.needs)) {
    input_error(
        "kernel {} needs {} warps, {} registers and {} bytes of shared memory per block, more than an SM has ({}, {}, "
        "{}); "
        "launch smaller blocks or raise sm.warps, sm.registers or sm.shared_bytes",
        shape.kernel, shape.warps_per_block, registers, shape.shared_bytes_per_block, whole_sm_.warps,
        whole_sm_.registers, whole_sm_.shared_bytes);
  }
  tenant.shape = shape;
  tenant.next = tenant.ended = 0;
  tenant.total = shape.blocks;
  tenant.launch = ++launches_;
  tenant.at = at;
  tenant.active = true;
  ++stats.launches[id];
  scheduler_.wake(self_, at);
}

void BlockDispatcher::assign(std::vector<std::vector<u32>> sms_of_tenant, Cycle now) {
  for (u32 i = 0; i < tenants_.size(); ++i) tenants_[i].sms = std::move(sms_of_tenant[i]);
  scheduler_.wake(self_, now);
}

void BlockDispatcher::give_turn(TenantId tenant, Cycle at) {
  turn_ = tenant;
  turn_from_ = at;
  scheduler_.wake(self_, at);
}

Cycle BlockDispatcher::may_send_from(TenantId id, const TenantState& tenant) const {
  if (!take_turns_) return tenant.at;
  return turn_ == id ? std::max(tenant.at, turn_from_) : kNever;
}

void BlockDispatcher::cancel(TenantId id) {
  TenantState& tenant = tenants_[index(id)];
  if (!tenant.active) return;
  tenant.total = tenant.next;
  tenant.unfinished.clear();
  finish(tenant, id);
}

/// Whether the last block of a launch is back.
bool BlockDispatcher::finish(TenantState& tenant, TenantId id) {
  if (tenant.out > 0 || tenant.has_blocks()) return false;
  tenant.active = false;
  finished_.push_back(id);
  return true;
}

void BlockDispatcher::take_back(u32 sm, std::vector<UnfinishedBlock> blocks, Cycle now, Cycle open) {
  for (UnfinishedBlock& block : blocks) {
    TenantState& tenant = tenants_[index(block.tenant)];
    room(sm, block.tenant).give_back(tenant.needs);
    --tenant.out;
    ++stats.unfinished_blocks;
    event(now, "block {} of tenant {} comes back unfinished from SM {}", block.block, index(block.tenant), sm);
    tenant.unfinished.push_back(std::move(block));
  }
  opens_[sm] = open;
  scheduler_.wake(self_, now);
  scheduler_.wake(self_, open);
}

std::optional<TenantId> BlockDispatcher::holder(u32 sm) const {
  if (rooms_[sm].blocks == whole_sm_.blocks) return std::nullopt;
  return holders_[sm];
}

u64 BlockDispatcher::context_bytes(TenantId tenant) const {
  const SmRoom& needs = tenants_[index(tenant)].needs;
  return needs.registers * sizeof(u32) + needs.shared_bytes;
}

Cycle BlockDispatcher::tick(Cycle now) {
  accept_done(now);
  Cycle next = kNever;
  for (u32 i = 0; i < tenants_.size(); ++i) {
    TenantState& tenant = tenants_[i];
    if (!tenant.active || !tenant.has_blocks()) continue;
    if (const Cycle from = may_send_from(TenantId(i), tenant); from > now) {
      next = std::min(next, from);
    } else if (send_blocks(tenant, TenantId(i), now)) {
      next = now + 1;
    }
  }
  return next;
}

void BlockDispatcher::accept_done(Cycle now) {
  for (u32 sm = 0; sm < ports_.size(); ++sm) {
    while (ports_[sm].done->front(now)) {
      const TenantId id = ports_[sm].done->pop(now).tenant;
      TenantState& tenant = tenants_[index(id)];
      room(sm, id).give_back(tenant.needs);
      --tenant.out;
      ++tenant.ended;
      ++stats.blocks_back[id];
      if (finish(tenant, id)) scheduler_.stop();
    }
  }
}

/// Whether any block left: then another may in the next cycle. Otherwise one that comes back wakes this unit.
bool BlockDispatcher::send_blocks(TenantState& tenant, TenantId id, Cycle now) {
  bool sent = false;
  for (const u32 sm : tenant.sms) {
    if (!tenant.has_blocks()) break;
    if (!may_hold(sm, id, now) || !room(sm, id).fits(tenant.needs) || !ports_[sm].starts->can_push(now)) continue;
    room(sm, id).take(tenant.needs);
    holders_[sm] = id;
    BlockStart block = next_block(tenant, id);
    event(now, "block {} of tenant {} goes to SM {}", block.block, index(id), sm);
    ports_[sm].starts->push(now, std::move(block));
    ++tenant.out;
    ++stats.blocks_sent[id];
    sent = true;
  }
  return sent;
}

BlockStart BlockDispatcher::next_block(TenantState& tenant, TenantId id) {
  BlockStart start{0, tenant.launch, tenant.shape.warps_per_block, id};
  if (tenant.unfinished.empty()) {
    start.block = tenant.next++;
    return start;
  }
  start.block = tenant.unfinished.front().block;
  start.image = std::move(tenant.unfinished.front().image);
  tenant.unfinished.pop_front();
  return start;
}

void BlockDispatcher::explain(std::ostream& out) const {
  for (const TenantState& tenant : tenants_) {
    if (!tenant.active) continue;
    out << tenant.shape.kernel << ": " << tenant.ended << " of " << tenant.total << " blocks have ended, " << tenant.out
        << " are on SMs";
    if (!tenant.unfinished.empty()) out << ", " << tenant.unfinished.size() << " wait unfinished for a place";
    out << '\n';
  }
}

}  // namespace terrace
