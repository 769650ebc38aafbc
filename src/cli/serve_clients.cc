// SPDX-License-Identifier: MIT
#include "cli/serve_clients.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text/table.h"

namespace terrace {

const ServedClient& ServedClients::add(u32 tenant, const std::string& command, const TenantProgress& in_all,
                                       u64 launches, CheckResult end) {
  Totals& before = before_[tenant];
  ServedClient& client = all_.emplace_back();
  client.command = command.empty() ? "(gone)" : command;
  client.tenant = tenant;
  client.came = in_all.came;
  client.left = in_all.left;
  client.launches = launches - before.launches;
  client.warp_instructions = in_all.warp_instructions - before.warp_instructions;
  client.thread_instructions = in_all.thread_instructions - before.thread_instructions;
  client.fault = !in_all.fault.empty();
  client.end = client.fault ? CheckResult{false, "fault: " + in_all.fault} : std::move(end);
  if (client.end.passed) client.end.message = "detached";
  before = {launches, in_all.warp_instructions, in_all.thread_instructions};
  return client;
}

std::string ServedClients::sentence() const {
  const ServedClient& last = all_.back();
  return fmt::format(
      "client {}, {}, has left; it was tenant {}: cycles {} to {}, {} launches, {} warp instructions; {}",
      all_.size() - 1, last.command, last.tenant, last.came, last.left, last.launches, last.warp_instructions,
      last.end.message);
}

std::string ServedClients::table() const {
  TextTable table{{"client", "tenant", "came", "left", "launches", "warp inst", "thread inst", ""}, {}, {}};
  table.right.assign(table.header.size(), true);
  table.right.front() = table.right.back() = false;
  for (const ServedClient& client : all_) {
    table.rows.push_back({client.command, fmt::format("{}", client.tenant), fmt::format("{}", client.came),
                          client.left == kNever ? "" : fmt::format("{}", client.left),
                          fmt::format("{}", client.launches), fmt::format("{}", client.warp_instructions),
                          fmt::format("{}", client.thread_instructions),
                          fmt::format("{}{}", client.end.passed ? "" : "FAILED: ", client.end.message)});
  }
  return table.plain();
}

Tree ServedClients::json() const {
  Tree::List trees;
  for (const ServedClient& client : all_) {
    trees.push_back({{"command", client.command},
                     {"tenant", u64{client.tenant}},
                     {"came", client.came},
                     {"left", client.left == kNever ? Tree() : Tree(client.left)},
                     {"launches", client.launches},
                     {"warp_instructions", client.warp_instructions},
                     {"thread_instructions", client.thread_instructions},
                     {"passed", client.end.passed},
                     {"message", client.end.message}});
  }
  return Tree(std::move(trees));
}

bool ServedClients::all_ended_well() const {
  return std::all_of(all_.begin(), all_.end(), [](const ServedClient& client) { return client.end.passed; });
}

bool ServedClients::all_faulted() const {
  return !all_.empty() &&
         std::all_of(all_.begin(), all_.end(), [](const ServedClient& client) { return client.fault; });
}

}  // namespace terrace
