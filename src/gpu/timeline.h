// What a run keeps for its timeline (run --timeline), collected from units and controllers when it has ended, and what a table
// of its epochs notes beside the statistics.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gpu/controllers/epochs.h"
#include "gpu/controllers/launches.h"
#include "gpu/controllers/turns.h"
#include "gpu/machine_parts.h"
#include "stats/epochs.h"
#include "tenancy/sm_partitioner.h"
#include "wire/timeline.h"

namespace terrace {

struct TimelineRecords {
  Cycle ended = 0;
  u64 most_events = 0;  // that were to be kept
  const std::vector<KernelRecord>* kernels = nullptr;
  std::vector<KernelRecord> kernels_under_way;
  const std::vector<SmDecision>* decisions = nullptr;
  const Sampled<TurnSpan>* turns = nullptr;  // null unless tenants take turns
  std::optional<TurnSpan> open_turn;
  const Sampled<EpochMark>* epochs = nullptr;         // null without epochs
  std::vector<const Sampled<WalkSpan>*> walks;        // by MMU
  std::vector<const Sampled<RequestSpan>*> requests;  // by SM
};

/// How the events of a timeline are divided among its kinds. Kernels, turns, decisions and epochs are few in most runs.
struct TimelineShares {
  static constexpr u64 kKernels = 8, kTurns = 8, kDecisions = 16, kEpochs = 16, kWalks = 4, kRequests = 4;
};

/// Tells units and controllers what to keep, keeps what tenants did in each epoch, and collects it all.
class TimelineKeeper {
 public:
  struct Wiring {
    const MachineParts& parts;
    Epochs* epochs;  // may be none
    Turns* turns;    // none unless tenants take turns
  };

  /// So that there are about `most_events` at most. Before the run.
  void keep(const Wiring& wiring, u64 most_events);
  /// What was kept; `launches` and `decisions` must outlive it. After the run.
  TimelineRecords records(const Wiring& wiring, const Launches& launches, const std::vector<SmDecision>& decisions,
                          Cycle now) const;
  void archive(Archive& a) { a(epoch_marks_); }

 private:
  u64 most_events_ = 0;
  std::unique_ptr<Sampled<EpochMark>> epoch_marks_;  // null: no timeline is wanted, or there are no epochs
};

/// What the SM partitioner decided from one cycle to another, a sentence after the other. Refers to the decisions.
EpochSeries::Notes notes_of(const std::vector<SmDecision>& decisions);

}  // namespace terrace
