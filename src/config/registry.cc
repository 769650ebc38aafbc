// SPDX-License-Identifier: MIT
#include "config/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "config/validation.h"
#include "engine/check.h"
#include "text/suggest.h"

namespace terrace {

namespace {

std::vector<const PolicyTable*>& tables() {
  static std::vector<const PolicyTable*> all;
  return all;
}

}  // namespace

PolicyTable::PolicyTable(const SlotInfo& slot) : slot_(slot) {
  tables().push_back(this);
}

std::vector<const PolicyTable*> PolicyTable::all() {
  std::vector<const PolicyTable*> sorted = tables();
  const auto rank = [](const PolicyTable* table) { return std::tuple(table->slot().key, table->slot().name); };
  std::sort(sorted.begin(), sorted.end(), [&](auto* a, auto* b) { return rank(a) < rank(b); });
  return sorted;
}

void PolicyTable::add(std::unique_ptr<PolicyEntry> entry) {
  const std::string name = entry->name;
  if (entries_.emplace(name, std::move(entry)).second) return;
  // Before main there is nobody to catch an exception.
  fmt::print(stderr, "terrace: two classes register the {} \"{}\"; rename one of them.\n", slot_.name, name);
  std::abort();
}

std::vector<std::string> PolicyTable::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

const PolicyEntry& PolicyTable::find(std::string_view name) const {
  if (const auto found = entries_.find(name); found != entries_.end()) return *found->second;
  throw InputError(unknown(name));
}

std::string PolicyTable::unknown(std::string_view name) const {
  const auto known = names();
  return fmt::format("no {} named \"{}\"; available: {}{}", slot_.name, name, fmt::join(known, ", "),
                     did_you_mean(name, known));
}

PolicyChoice& PolicyChoice::operator=(const PolicyChoice& other) {
  if (this == &other) return *this;
  use = other.use;
  table_ = other.table_;
  params_.clear();
  for (const auto& [name, params] : other.params_) params_.emplace(name, params->clone());
  return *this;
}

PolicyParams& PolicyChoice::params(std::string_view policy) {
  auto found = params_.find(policy);
  if (found == params_.end()) found = params_.emplace(policy, table_->find(policy).default_params()).first;
  return *found->second;
}

void Fields::policy(std::string_view name, PolicyChoice& choice, std::string_view doc) {
  enter(name, doc);
  on_use(choice.use, choice.table(), doc);
  for (const auto& [policy, entry] : choice.table().entries()) {
    if (only_policy_in_use() && policy != choice.use) continue;
    enter(policy, entry->about.summary);
    PolicyParams& params = choice.params(policy);
    params.describe(*this);
    if (Validation* checks = validation()) params.validate(*checks);
    leave();
  }
  leave();
}

}  // namespace terrace
