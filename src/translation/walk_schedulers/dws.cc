// Dynamic page walk stealing: tenants own walkers; a walker takes its own queue's head, then its owner's other walks,
// and steals only when its owner has nothing waiting. So a walk waits for at most one walk of another tenant.
//
// Paper:  Improving GPU Multi-tenancy with Page Walk Stealing, HPCA 2021, §IV. Notes: DWS-A1 to A5, DWS-A8.
// Slot:   WalkScheduler (translation/walk_scheduler.h).   Overlay: configs/designs/dws.toml
// SPDX-License-Identifier: MIT
#include "translation/walk_schedulers/dws.h"

namespace terrace {
namespace {

class DwsWalkScheduler final : public StealingWalkScheduler {
 public:
  using Params = DwsParams;
  DwsWalkScheduler(const Context& context, Params params) : StealingWalkScheduler(context, params) {}
};

REGISTER_POLICY(
    WalkScheduler, DwsWalkScheduler, "dws",
    .summary = "walkers belong to tenants; a walker whose owner has no waiting walks steals from another tenant",
    .paper = "HPCA 2021");

}  // namespace
}  // namespace terrace
