// SPDX-License-Identifier: MIT
#include "gpu/timeline.h"

#include <fmt/format.h>

namespace terrace {

namespace {

/// A followed request becomes a slice with up to three inside; an epoch becomes a counter for each tenant, twice.
constexpr u64 kSlicesOfRequest = 4;
constexpr u64 kCountersOfEpoch = 2;

}  // namespace

void TimelineKeeper::keep(const Wiring& wiring, u64 most_events) {
  most_events_ = most_events;
  const MachineParts& parts = wiring.parts;
  for (const auto& mmu : parts.mmus) mmu->keep_walks(most_events / TimelineShares::kWalks / parts.mmus.size());
  for (const auto& sm : parts.sms)
    sm->load_store().follow_requests(most_events / TimelineShares::kRequests / kSlicesOfRequest / parts.sms.size());
  if (wiring.turns != nullptr) wiring.turns->keep_turns(most_events / TimelineShares::kTurns);
  if (wiring.epochs == nullptr) return;
  epoch_marks_ =
      std::make_unique<Sampled<EpochMark>>(most_events / TimelineShares::kEpochs / kCountersOfEpoch / parts.tenants);
  wiring.epochs->listen(
      [this](TenantEpochs tenants, Cycle now) { epoch_marks_->add({now, {tenants.begin(), tenants.end()}}); });
}

TimelineRecords TimelineKeeper::records(const Wiring& wiring, const Launches& launches,
                                        const std::vector<SmDecision>& decisions, Cycle now) const {
  TimelineRecords records;
  records.ended = now;
  records.most_events = most_events_;
  records.kernels = &launches.kernels();
  records.kernels_under_way = launches.under_way(now);
  records.decisions = &decisions;
  if (wiring.turns != nullptr) {
    records.turns = wiring.turns->kept_turns();
    records.open_turn = wiring.turns->open_turn(now);
  }
  records.epochs = epoch_marks_.get();
  for (const auto& mmu : wiring.parts.mmus) records.walks.push_back(mmu->kept_walks());
  for (const auto& sm : wiring.parts.sms) records.requests.push_back(&sm->load_store().follower()->spans());
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
