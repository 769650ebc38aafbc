// SPDX-License-Identifier: MIT
#include "blame/blame.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "engine/check.h"

namespace terrace {

void Blame::enable(u32 tenants) {
  tenants_ = tenants;
  row_length_ = holders_with_padding(tenants);
  settled_.assign(tenants, 0);
}

void Blame::count(Resource& resource, const char* name, const char* doc, u32 parts) {
  auto cause = std::find_if(causes_.begin(), causes_.end(),
                            [&](const Cause& each) { return std::string_view(each.name) == name; });
  if (cause == causes_.end()) {
    causes_.push_back({name, doc, std::vector<u64>(std::size_t{tenants_} * row_length_), {}});
    cause = std::prev(causes_.end());
    cause->matrix.resize(tenants_);
  }
  resource.blame_ = this;
  resource.cells_ = cause->cells.data();
  resource.holders_ = std::make_unique<Holders>(tenants_, parts);
  counted_.push_back({resource.holders_.get(), resource.cells_});
}

Blame::Group Blame::add_group(Resource& waits_for) {
  groups_.push_back({waits_for.holders_.get(), waits_for.cells_, {}});
  return static_cast<Group>(groups_.size() - 1);
}

void Blame::leave(Group number, TenantId tenant, Cycle since) {
  Waiters& group = groups_[number];
  SIM_DCHECK(group.waiting[index(tenant)] > 0, "a request of tenant {} leaves a group in which none waits",
             index(tenant));
  --group.waiting[index(tenant)];
  group.holders->unwatch(row_of(group, tenant), now_);
  waited_[tenant] += now_ - since;
}

void Blame::read(const Waiters& group, u64 times) {
  for (u32 tenant = 0; tenant < tenants_; ++tenant) {
    if (group.waiting[tenant] == 0) continue;
    u64* row = row_of(group, TenantId(tenant));
    const u64 readings = times * group.waiting[tenant];
    for (u32 holder = 0; holder <= tenants_; ++holder) row[holder] += readings * group.holders->cycles()[holder];
  }
}

void Blame::change(Group number, Resource& resource) {
  Waiters& group = groups_[number];
  const u64 all = std::accumulate(group.waiting.begin(), group.waiting.begin() + tenants_, u64{0});
  if (all > 0) {
    group.holders->unwatch(all, now_);
    read(group, 1);
  }
  group.holders = resource.holders_.get();
  group.cells = resource.cells_;
  if (all == 0) return;
  group.holders->watch(all, now_);
  read(group, 0 - u64{1});
}

void Blame::settle(Cycle now) {
  if (!on()) return;
  advance(now);
  present_ = elsewhere_;
  for (Waiters& group : groups_) {
    group.holders->count(now);
    read(group, 1);
    present_ += std::accumulate(group.waiting.begin(), group.waiting.end(), u64{0});
  }
  for (Cause& cause : causes_) {
    for (u32 tenant = 0; tenant < tenants_; ++tenant) {
      const u64* row = &cause.cells[std::size_t{tenant} * row_length_];
      for (u32 holder = 0; holder <= tenants_; ++holder) cause.matrix.row(tenant)[holder].value = row[holder];
    }
  }
  for (Waiters& group : groups_) read(group, 0 - u64{1});

  for (u32 tenant = 0; tenant < tenants_; ++tenant) waited_[TenantId(tenant)] += 0 - std::exchange(settled_[tenant], 0);
  u64 really = 0;
  const Waiting waits = [&](TenantId tenant, Cycle since) {
    ++really;
    settled_[index(tenant)] += now - since;
    waited_[tenant] += now - since;
  };
  for (const WaitBook* book : books_) book->visit(now, waits);
  SIM_CHECK(present_ == really, "{} requests are said to wait, and {} do", present_, really);
}

void Blame::archive(Archive& a) {
  a.expect(counted_.size(), "the number of resources that are waited for");
  a.expect(groups_.size(), "the number of groups that wait");
  for (const Counted& each : counted_) a(*each.holders);
  for (Waiters& group : groups_) {
    const auto same = [&](const Counted& each) { return each.holders == group.holders; };
    auto which = static_cast<u64>(std::ranges::find_if(counted_, same) - counted_.begin());
    a(which, group.waiting);
    if (a.restores()) std::tie(group.holders, group.cells) = std::tie(counted_[which].holders, counted_[which].cells);
  }
  for (Cause& cause : causes_) a(cause.cells);
  a(now_, elsewhere_, present_, settled_);
}

void Blame::describe(StatFields& v) {
  v("waited", waited_, "cycles", "cycles that requests waited, summed over all resources of this unit");
  Sum rows;
  for (Cause& cause : causes_) {
    v(cause.name, cause.matrix, "cycles", cause.doc);
    rows.add(cause.matrix);
  }
  v.always("every cycle of waiting is charged once", rows, sum(waited_));
  v.identity("nobody waits any more", sum(present_), sum(u64{0}));
}

}  // namespace terrace
