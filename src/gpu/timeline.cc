// SPDX-License-Identifier: MIT
#include "gpu/timeline.h"

#include <fmt/format.h>

#include "gpu/gpu.h"

namespace terrace {

namespace {

/// A followed request becomes a slice with up to three inside; an epoch becomes a counter for each tenant, twice.
constexpr u64 kSlicesOfRequest = 4;
constexpr u64 kCountersOfEpoch = 2;

}  // namespace

void Gpu::keep_timeline(u64 most_events) {
  timeline_events_ = most_events;
  for (const auto& mmu : mmus_) mmu->keep_walks(most_events / TimelineShares::kWalks / mmus_.size());
  for (const auto& sm : sms_)
    sm->load_store().follow_requests(most_events / TimelineShares::kRequests / kSlicesOfRequest / sms_.size());
  if (turns_ != nullptr) turns_->keep_turns(most_events / TimelineShares::kTurns);
  if (epochs_ == nullptr) return;
  epoch_marks_ =
      std::make_unique<Sampled<EpochMark>>(most_events / TimelineShares::kEpochs / kCountersOfEpoch / tenants_.size());
  epochs_->listen(
      [this](TenantEpochs tenants, Cycle now) { epoch_marks_->add({now, {tenants.begin(), tenants.end()}}); });
}

TimelineRecords Gpu::timeline_records() const {
  TimelineRecords records;
  records.ended = now();
  records.most_events = timeline_events_;
  records.kernels = &kernels();
  records.kernels_under_way = launches_->under_way(now());
  records.decisions = &decisions();
  if (turns_ != nullptr) {
    records.turns = turns_->kept_turns();
    records.open_turn = turns_->open_turn(now());
  }
  records.epochs = epoch_marks_.get();
  for (const auto& mmu : mmus_) records.walks.push_back(mmu->kept_walks());
  for (const auto& sm : sms_) records.requests.push_back(&sm->load_store().follower()->spans());
  return records;
}

EpochSeries::Notes notes_of(const std::vector<SmDecision>& decisions) {
  return [&decisions](Cycle from, Cycle to) {
    std::string notes;
    for (const SmDecision& each : decisions) {
      // An epoch's own end decides what the next one shows.
      if (each.at < from || each.at >= to) continue;
      notes += fmt::format("{}{}: {}{}", notes.empty() ? "" : "; ", each.at,
                           each.tenant ? fmt::format("tenant {}: ", index(*each.tenant)) : "", each.text);
    }
    return notes;
  };
}

}  // namespace terrace
