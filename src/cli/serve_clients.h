// What became of each client of terrace serve: told when it leaves, and all together in the end.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/program.h"
#include "gpu/tenant_table.h"
#include "text/tree.h"

namespace terrace {

struct ServedClient {
  std::string command;
  u32 tenant = 0;
  Cycle came = 0, left = kNever;  // kNever: it was attached when the server ended
  u64 launches = 0, warp_instructions = 0, thread_instructions = 0;
  CheckResult end;
  bool fault = false;
};

class ServedClients {
 public:
  explicit ServedClients(u32 tenants) : before_(tenants) {}

  /// Who is the tenant goes, or is there when the run ends. `in_all` is what the tenant's clients have done; `launches` likewise.
  const ServedClient& add(u32 tenant, const std::string& command, const TenantProgress& in_all, u64 launches,
                          CheckResult end);
  /// The last one, in a sentence.
  std::string sentence() const;
  std::string table() const;
  Tree json() const;
  bool empty() const { return all_.empty(); }
  bool all_ended_well() const;
  bool all_faulted() const;

 private:
  struct Totals {
    u64 launches = 0, warp_instructions = 0, thread_instructions = 0;
  };
  std::vector<ServedClient> all_;  // in the order in which they left
  std::vector<Totals> before_;     // of earlier clients of each tenant
};

}  // namespace terrace
