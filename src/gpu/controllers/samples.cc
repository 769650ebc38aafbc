// SPDX-License-Identifier: MIT
#include "gpu/controllers/samples.h"

#include <algorithm>
#include <utility>

#include "stats/stat_tree.h"

namespace terrace {

namespace {

void raise(Counter& most, u64 value) {
  if (value > most.value) most += value - most.value;
}

}  // namespace

void Samples::act(Cycle now) {
  if (now % every_ != 0 || now == last_) return;
  last_ = now;
  ++stats_.samples;
  u64 walks = 0, walkers = 0;
  for (const auto& mmu : mmus_) {
    walkers += mmu->walkers();
    for (u32 i = 0; i < kMaxTenants; ++i) {
      const u32 its = mmu->walks_in_service(TenantId(i));
      stats_.walks[TenantId(i)] += its;
      walks += its;
    }
  }
  stats_.concurrent_walks.add(walks);
  raise(stats_.most_walks, walks);
  raise(stats_.most_idle_walkers, walkers - walks);
  if (tlb_ != nullptr) count_lookups();
  if (fbt_ != nullptr) count_cached_pages();
  for (const auto& sm : sms_) {
    sm->load_store().translator().each_miss([&](TenantId tenant, u32 warps) {
      ++stats_.misses[tenant];
      stats_.stalled[tenant] += warps;
      stats_.stalled_warps.add(warps);
      raise(stats_.most_stalled, warps);
      raise(stats_.most_unstalled, warps_ - warps);
    });
  }
}

void Samples::count_lookups() {
  u64 all = 0;
  for (u32 i = 0; i < kMaxTenants; ++i) all += tlb_->stats.lookups[TenantId(i)].value;
  // The counters begin anew when a warm-up ends.
  const u64 since = all - std::min(all, std::exchange(seen_lookups_, all));
  stats_.lookups += since;
  stats_.squared_lookups += since * since;
  stats_.busy += since > every_;
  raise(stats_.most_lookups, since);
}

void Samples::count_cached_pages() {
  const u64 pages = fbt_->table().pages_with_lines();
  stats_.cached_pages += pages;
  raise(stats_.most_cached_pages, pages);
}

void Samples::describe(StatTree& tree) {
  tree.add("gpu.samples", stats_);
}

}  // namespace terrace
