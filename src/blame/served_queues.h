// Queues that do not show what waits in them, and the servers that it waits for: who holds the entries of the one and who is
// served by the other. Tenants share all of both, or servers have owners; then a request waits for those of its own tenant only:
// the others may serve it, but owe it nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "blame/blame.h"

namespace terrace {

class ServedQueues : public WaitBook {
 public:
  /// Who owns a server; and whom it serves, nobody while it is idle.
  struct Servers {
    u32 count = 0;
    std::function<std::optional<TenantId>(u32 server)> owner = {}, serves = {};
  };

  /// A request that has been there since this cycle is queued, or leaves its queue.
  void enter(TenantId tenant, Cycle since) {
    if (counted()) [[unlikely]]
      note_entry(tenant, since);
  }
  void leave(TenantId tenant, Cycle since) {
    if (counted()) [[unlikely]]
      note_departure(tenant, since);
  }
  /// A server of this owner begins to serve a tenant, or ends.
  void begin(std::optional<TenantId> owner, TenantId tenant) { serving_[group_of(owner)].take(tenant); }
  void end(std::optional<TenantId> owner, TenantId tenant) { serving_[group_of(owner)].give_back(tenant); }
  /// Owners have changed.
  void divide(const Servers& servers);

  /// What a request of this tenant may use.
  Resource& entries(TenantId tenant) { return entries_[group_of(tenant)]; }

  struct Cause {
    const char *name, *doc;
  };
  /// Books are kept from now on. `waiting` says how many requests wait in all queues.
  void keep(Blame& blame, Cause entries, Cause servers, const Servers& of, std::function<u32()> waiting);
  void archive(Archive& a) { a(entries_, serving_, queued_); }

 private:
  /// Tenants that share all queues and servers are one group; where servers have owners each is its own.
  u32 group_of(std::optional<TenantId> tenant) const { return tenant && entries_.size() > 1 ? index(*tenant) : 0; }
  void note_entry(TenantId tenant, Cycle since);
  void note_departure(TenantId tenant, Cycle since);
  void enter_late(Cycle) override {}
  void visit(Cycle now, const Waiting& waits) const override;

  std::vector<Resource> entries_{1}, serving_{1};  // by group
  std::vector<Blame::Group> waiting_;              // likewise: requests in queues
  // By tenant: how many are queued, and their cycles of arrival summed.
  struct Queued {
    u64 requests = 0, since = 0;
  };
  std::vector<Queued> queued_;
  std::function<u32()> really_waiting_;
};

}  // namespace terrace
