// SPDX-License-Identifier: MIT
#include "gpu/controllers/epochs.h"

#include <algorithm>
#include <bit>

namespace terrace {

namespace {

/// Of what is counted; peaks have no difference.
TenantEpoch difference(const TenantEpoch& after, const TenantEpoch& before) {
  TenantEpoch epoch{.warp_instructions = after.warp_instructions - before.warp_instructions,
                    .thread_instructions = after.thread_instructions - before.thread_instructions,
                    .blocks_done = after.blocks_done - before.blocks_done,
                    .l2_requests = after.l2_requests - before.l2_requests,
                    .l2_hits = after.l2_hits - before.l2_hits,
                    .dram_lines = after.dram_lines - before.dram_lines};
  for (u32 level = 0; level < kWalkLevels; ++level) {
    epoch.walk_lookups[level] = after.walk_lookups[level] - before.walk_lookups[level];
    epoch.walk_hits[level] = after.walk_hits[level] - before.walk_hits[level];
  }
  return epoch;
}

}  // namespace

void Epochs::act(Cycle now) {
  if (now % wiring_.length != 0 || now == ended_) return;
  std::vector<TenantEpoch> epochs(before_.size());
  for (u32 i = 0; i < before_.size(); ++i) {
    const auto tenant = TenantId(i);
    const TenantEpoch after = total(tenant);
    epochs[i] = difference(after, before_[i]);
    epochs[i].cycles = now - ended_;
    add_peaks(tenant, epochs[i]);
    wiring_.board.publish(tenant, epochs[i], now);
    before_[i] = after;
  }
  for (const auto& sm : wiring_.sms) sm->begin_epoch();
  for (const auto& mmu : wiring_.mmus) mmu->begin_epoch();
  wiring_.board.publish_end(now / wiring_.length, now);
  for (const auto& listener : listeners_) listener(epochs, now);
  if (series_) {
    wiring_.settle();
    series_->sample(now);
  }
  ended_ = now;
}

TenantEpoch Epochs::total(TenantId tenant) const {
  TenantEpoch sum;
  for (const auto& sm : wiring_.sms) {
    sum.warp_instructions += sm->stats.warp_instructions[tenant].value;
    sum.thread_instructions += sm->stats.thread_instructions[tenant].value;
    sum.blocks_done += sm->stats.blocks_done[tenant].value;
  }
  for (const auto& slice : wiring_.slices) {
    const L2Stats& l2 = slice->stats;
    sum.l2_requests += l2.lookups[tenant].value;
    sum.l2_hits += l2.hits[tenant].value;
    for (u32 level = 0; level < kWalkLevels; ++level) {
      sum.walk_lookups[level] += l2.walk_lookups[level][tenant].value;
      sum.walk_hits[level] += l2.walk_hits[level][tenant].value;
      sum.l2_requests -= l2.walk_lookups[level][tenant].value;
      sum.l2_hits -= l2.walk_hits[level][tenant].value;
    }
  }
  for (const auto& channel : wiring_.channels) {
    const DramTrafficStats& data = channel->stats.data;
    sum.dram_lines += data.reads[tenant].value + data.writes[tenant].value;
  }
  return sum;
}

void Epochs::add_peaks(TenantId tenant, TenantEpoch& epoch) const {
  for (u32 i = 0; i < wiring_.sms.size(); ++i) {
    const u64 warps = wiring_.sms[i]->warps_seen(tenant);
    epoch.warps += static_cast<u32>(std::popcount(warps));
    epoch.sms[i] = warps != 0;
    epoch.stalled_warps = std::max(epoch.stalled_warps, wiring_.sms[i]->load_store().translator().most_stalled(tenant));
  }
  for (const auto& mmu : wiring_.mmus) epoch.concurrent_walks += mmu->most_walks(tenant);
}

std::string Epochs::timeline(Cycle now) {
  if (!series_) return {};
  if (now != ended_) series_->sample(now);
  ended_ = now;
  return series_->csv();
}

}  // namespace terrace
