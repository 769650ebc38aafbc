// SPDX-License-Identifier: MIT
#include "blame/served_queues.h"

#include <utility>

#include "engine/check.h"

namespace terrace {

void ServedQueues::note_entry(TenantId tenant, Cycle since) {
  entries(tenant).add(tenant);
  Queued& its = queued_[index(tenant)];
  ++its.requests;
  its.since += since;
  blame_->enter(waiting_[group_of(tenant)], tenant, since);
}

void ServedQueues::note_departure(TenantId tenant, Cycle since) {
  entries(tenant).remove(tenant);
  Queued& its = queued_[index(tenant)];
  --its.requests;
  its.since -= since;
  blame_->leave(waiting_[group_of(tenant)], tenant, since);
}

void ServedQueues::divide(const Servers& servers) {
  if (!counted()) return;
  std::vector<u32> of_group(serving_.size(), 0);
  for (u32 i = 0; i < servers.count; ++i) ++of_group[group_of(servers.owner(i))];
  for (u32 i = 0; i < serving_.size(); ++i) serving_[i].reset(of_group[i]);
  for (u32 i = 0; i < servers.count; ++i) {
    if (const std::optional<TenantId> tenant = servers.serves(i)) begin(servers.owner(i), *tenant);
  }
}

void ServedQueues::keep(Blame& blame, Cause entries, Cause servers, const Servers& of, std::function<u32()> waiting) {
  blame_ = &blame;
  really_waiting_ = std::move(waiting);
  blame.keep(*this);
  const u32 groups = of.owner(0) ? blame.tenants() : 1;
  entries_.resize(groups);
  serving_.resize(groups);
  queued_.resize(blame.tenants());
  for (Resource& each : entries_) blame.count(each, entries.name, entries.doc);
  for (Resource& each : serving_) {
    blame.count(each, servers.name, servers.doc);
    waiting_.push_back(blame.add_group(each));
  }
  divide(of);
}

/// As many requests and as many cycles for each tenant as there are.
void ServedQueues::visit(Cycle now, const Waiting& waits) const {
  u64 all = 0;
  for (u32 tenant = 0; tenant < queued_.size(); ++tenant) {
    const u64 requests = queued_[tenant].requests, cycles = requests * now - queued_[tenant].since;
    SIM_CHECK(requests > 0 || cycles == 0, "nothing of tenant {} is queued, and yet {} cycles of waiting", tenant,
              cycles);
    for (u64 i = 0; i < requests; ++i) waits(TenantId(tenant), i == 0 ? now - cycles : now);
    all += requests;
  }
  SIM_CHECK(all == really_waiting_(), "{} requests are said to be queued, and {} are", all, really_waiting_());
}

}  // namespace terrace
