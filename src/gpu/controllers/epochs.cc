// SPDX-License-Identifier: MIT
#include "gpu/controllers/epochs.h"

#include <algorithm>
#include <bit>

#include "engine/archive.h"

namespace terrace {

void Epochs::act(Cycle now) {
  if (now % wiring_.length != 0 || now == ended_) return;
  std::vector<TenantEpoch> epochs(before_.size());
  for (u32 i = 0; i < before_.size(); ++i) {
    const auto tenant = TenantId(i);
    const TenantEpoch after = wiring_.activity.so_far(tenant);
    epochs[i] = difference(after, before_[i]);
    epochs[i].cycles = now - ended_;
    add_peaks(tenant, epochs[i]);
    before_[i] = after;
  }
  for (const auto& sm : wiring_.sms) sm->begin_epoch();
  for (const auto& mmu : wiring_.mmus) mmu->begin_epoch();
  for (const auto& listener : listeners_) listener(epochs, now);
  if (series_) {
    wiring_.settle();
    series_->sample(now);
  }
  ended_ = now;
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

void Epochs::archive(Archive& a) {
  a(before_, ended_);
  if (series_) a(*series_);
}

std::string Epochs::timeline(Cycle now, const EpochSeries::Notes& notes) {
  if (!series_) return {};
  if (now != ended_) series_->sample(now);
  ended_ = now;
  return series_->csv(notes);
}

}  // namespace terrace
