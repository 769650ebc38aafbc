// Tenants that share the GPU in time: each has every SM in turn. When a turn ends nothing issues any more and no block
// leaves; when every SM's accesses have been answered, all change their root register and context at once, and the next
// tenant goes on after the time of a switch. A tenant without work, or the only one with some, costs no switch.
// Simplified: the context is saved and restored without traffic, in tenancy.switch_cycles.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gpu/config.h"
#include "gpu/controller.h"
#include "gpu/tenant_table.h"
#include "gpu/translations.h"
#include "stats/stat_fields.h"
#include "tenancy/block_dispatcher.h"
#include "wire/timeline.h"

namespace terrace {

/// Where the time of a run went whose tenants take turns.
struct TurnStats {
  PerTenant<Counter> turn_cycles;
  Counter switches, drain_cycles, switch_cycles;
  void describe(StatFields& v) {
    v("turn_cycles", turn_cycles, "cycles", "cycles of a tenant's turns");
    v("switches", switches, "switches", "switches from one tenant to another");
    v("drain_cycles", drain_cycles, "cycles", "cycles from the end of a turn to the last answer");
    v("switch_cycles", switch_cycles, "cycles", "cycles from the last answer to the next turn");
  }
};

class Turns final : public Controller {
 public:
  struct Wiring {
    const TenancyConfig& config;
    const TenantTable& tenants;
    BlockDispatcher& dispatcher;
    const std::vector<std::unique_ptr<Sm>>& sms;
    const std::vector<std::unique_ptr<Link<BlockStart>>>& starts;
    Translations& translations;
  };
  explicit Turns(Wiring wiring) : wiring_(wiring) {}

  Cycle next(Cycle now) const override { return turn_.ends > now ? turn_.ends : kNever; }
  void act(Cycle now) override;
  void archive(Archive& a) override;
  void describe(StatTree& tree) override;
  /// Counts the cycles since the last call to whom they belong.
  void settle(Cycle now) override;

  /// From now on: keeps turns and switches, at most so many. Before the first cycle.
  void keep_turns(std::size_t most) { spans_ = std::make_unique<Sampled<TurnSpan>>(most); }
  /// Null when they are not kept.
  const Sampled<TurnSpan>* kept_turns() const { return spans_.get(); }
  /// The turn that the end of the run cut short.
  std::optional<TurnSpan> open_turn(Cycle now) const;

 private:
  void begin_switch(Cycle now);
  bool drained() const;
  void finish_switch(TenantId next, Cycle now);
  bool has_work(TenantId tenant) const;
  std::optional<TenantId> next_in_turn() const;

  Wiring wiring_;
  /// Whose turn it is; nobody's before the first.
  struct Turn {
    std::optional<TenantId> tenant;
    Cycle ends = 0;
    Cycle since = 0;      // what follows is counted from here
    Cycle begins = 0;     // when it goes on after the switch to it
    bool ending = false;  // its accesses drain
  } turn_;
  TurnStats stats_;
  std::unique_ptr<Sampled<TurnSpan>> spans_;  // null: no timeline is wanted
};

}  // namespace terrace
