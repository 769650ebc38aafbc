// SPDX-License-Identifier: MIT
#include "gpu/controllers/epochs.h"

namespace terrace {

void Epochs::act(Cycle now) {
  if (now % wiring_.length != 0 || now == ended_) return;
  for (u32 i = 0; i < before_.size(); ++i) {
    const TenantEpoch after = total(TenantId(i));
    const TenantEpoch& before = before_[i];
    wiring_.board.publish(TenantId(i),
                          {.cycles = now - ended_,
                           .warp_instructions = after.warp_instructions - before.warp_instructions,
                           .thread_instructions = after.thread_instructions - before.thread_instructions,
                           .blocks_done = after.blocks_done - before.blocks_done,
                           .l2_requests = after.l2_requests - before.l2_requests,
                           .l2_hits = after.l2_hits - before.l2_hits,
                           .dram_lines = after.dram_lines - before.dram_lines},
                          now);
    before_[i] = after;
  }
  wiring_.board.publish_end(now / wiring_.length, now);
  for (const auto& listener : listeners_) listener(now);
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
    for (u32 level = 0; level < L2Stats::kWalkLevels; ++level) {
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

std::string Epochs::timeline(Cycle now) {
  if (!series_) return {};
  if (now != ended_) series_->sample(now);
  ended_ = now;
  return series_->csv();
}

}  // namespace terrace
