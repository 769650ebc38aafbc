// Epochs: stretches of run.epoch cycles, counted from the first cycle of the run. At the end of each, what every tenant
// did in it is told to those that go by epochs, and, when a timeline is wanted, every statistic is sampled.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/controller.h"
#include "gpu/tenant_activity.h"
#include "sm/sm.h"
#include "stats/epochs.h"
#include "translation/mmu.h"
#include "wire/epoch.h"

namespace terrace {

class Epochs final : public Controller {
 public:
  struct Wiring {
    Cycle length;
    u32 tenants;
    const std::vector<std::unique_ptr<Sm>>& sms;
    const TenantActivity& activity;
    const std::vector<std::unique_ptr<Mmu>>& mmus;
    std::function<void()> settle;  // closes the statistics of all units
  };
  explicit Epochs(Wiring wiring) : wiring_(std::move(wiring)), before_(wiring_.tenants) {}

  using Listener = std::function<void(TenantEpochs tenants, Cycle now)>;
  /// Called at the end of each epoch: for the SM partitioner and for units whose policies go by epochs.
  void listen(Listener listener) { listeners_.push_back(std::move(listener)); }

  Cycle next(Cycle now) const override { return (now / wiring_.length + 1) * wiring_.length; }
  void act(Cycle now) override;
  void archive(Archive& a) override;

  /// Samples the statistics whose names begin with one of the prefixes, all when there is none. Before the run.
  void sample(const StatTree& stats, std::vector<std::string> prefixes) { series_.emplace(stats, std::move(prefixes)); }
  /// What was sampled, as CSV: a line for each epoch, the one that the end of the run cut short included.
  /// `notes` says what there is to say of the cycles from one to another; they fill a last column.
  std::string timeline(Cycle now, const EpochSeries::Notes& notes = {});

 private:
  void add_peaks(TenantId tenant, TenantEpoch& epoch) const;

  Wiring wiring_;
  std::vector<Listener> listeners_;
  std::vector<TenantEpoch> before_;  // what each tenant had done when the last epoch ended
  Cycle ended_ = 0;                  // when that was
  std::optional<EpochSeries> series_;
};

}  // namespace terrace
