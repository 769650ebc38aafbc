// Maestro: SMs divided among tenants or shared by them, whichever does better. Both are measured for one window; sharing
// is kept when the tenants' IPC, each relative to what it had on SMs of its own, adds up to no less. SMs are divided
// evenly, or by CD-search.
// Slot: SmPartitioner (tenancy/sm_partitioner.h).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "tenancy/cd_search.h"
#include "tenancy/intra_sm.h"

namespace terrace {
namespace {

class MaestroSmPartitioner final : public SmPartitioner {
 public:
  enum class Spatial : u8 { kEven, kCdSearch };
  struct Params {
    WindowParams window;
    Spatial spatial = Spatial::kEven;
    CdSearch::Params cd_search;
    void describe(Fields& v) {
      v.group("window", window, "how both ways to share are measured");
      v("spatial", spatial, {"even", "cd_search"}, "how SMs are divided when they are not shared");
      v.group("cd_search", cd_search, "the search (spatial = \"cd_search\")");
    }
  };
  MaestroSmPartitioner(const Context& context, Params params)
      : params_(params),
        window_(params.window),
        search_(context, params.cd_search),
        intra_(context, {.window = params.window}) {}

  SmPlan divide(const Situation& situation, const SmPlan& plan) override {
    const SmPlan next = decide(situation, plan);
    note_all(search_.take_decisions());
    note_all(intra_.take_decisions());
    return next;
  }
  Cycle appointment() const override {
    return std::min({window_.appointment(), stage_ == Stage::kSpatial ? search_.appointment() : kNever,
                     stage_ == Stage::kIntra || keeps_intra_ ? intra_.appointment() : kNever});
  }
  bool by_kernels() const override { return true; }
  bool shares_sms() const override { return true; }
  bool searching() const override { return stage_ != Stage::kDone; }
  void archive(Archive& a) override { a(window_, search_, intra_, stage_, keeps_intra_, divided_, spatial_); }

 private:
  enum class Stage : u8 { kSpatial, kMeasureSpatial, kIntra, kMeasureIntra, kDone };

  SmPlan decide(const Situation& situation, SmPlan plan) {
    if (situation.occasion == Occasion::kArrival || situation.occasion == Occasion::kDeparture) {
      keeps_intra_ = false;
      stage_ = Stage::kSpatial;
      window_.stop();
      if (params_.spatial == Spatial::kCdSearch) {
        plan = search_.divide(situation, plan);
      } else {
        for (const TenantId id : situation.present) plan.leave[index(id)] = Leave::kPreempt;
        plan.divide_evenly(situation.present);
      }
      return after_spatial(situation, std::move(plan));
    }
    switch (stage_) {
      case Stage::kSpatial:
        return after_spatial(situation, search_.divide(situation, plan));
      case Stage::kMeasureSpatial:
        if (situation.occasion == Occasion::kAppointment && window_.advance(situation))
          return begin_intra(situation, std::move(plan));
        return plan;
      case Stage::kIntra:
        plan = intra_.divide(situation, plan);
        if (!intra_.searching()) {
          stage_ = Stage::kMeasureIntra;
          window_.begin(situation.now);
        }
        return plan;
      case Stage::kMeasureIntra:
        if (situation.occasion == Occasion::kAppointment && window_.advance(situation))
          return choose(situation, std::move(plan));
        return plan;
      case Stage::kDone:
        return keeps_intra_ ? intra_.divide(situation, plan) : plan;
    }
    return plan;
  }

  SmPlan after_spatial(const Situation& situation, SmPlan plan) {
    if (search_.searching()) return plan;
    // One tenant has nobody to share with, and SMs without power are what the search was for.
    if (situation.present.size() == 1 || search_.saves_power()) {
      stage_ = Stage::kDone;
      return plan;
    }
    stage_ = Stage::kMeasureSpatial;
    window_.begin(situation.now);
    return plan;
  }

  SmPlan begin_intra(const Situation& situation, SmPlan plan) {
    divided_ = plan;
    spatial_.clear();
    for (const TenantId id : situation.present) {
      spatial_.push_back(window_.profiled(id));
      divided_.leave[index(id)] = window_.warmed_up(id).blocks_done > 0 ? Leave::kDrain : Leave::kPreempt;
    }
    stage_ = Stage::kIntra;
    Situation begins = situation;
    begins.occasion = Occasion::kArrival;
    return intra_.divide(begins, plan);
  }

  SmPlan choose(const Situation& situation, SmPlan plan) {
    u64 sum = 0;  // in thousandths
    for (u32 i = 0; i < situation.present.size(); ++i) {
      const TenantId id = situation.present[i];
      const u64 alone = std::max<u64>(1, spatial_[i].warp_instructions * window_.profiled(id).cycles);
      const u64 part = window_.profiled(id).warp_instructions * spatial_[i].cycles * 1000 / alone;
      note(situation.now, id,
           fmt::format("on shared SMs {:.1f} % of its IPC on its own", static_cast<double>(part) / 10));
      sum += part;
    }
    stage_ = Stage::kDone;
    keeps_intra_ = sum >= 1000 * situation.present.size();
    note(situation.now, {}, keeps_intra_ ? "SMs stay shared" : "SMs are divided again");
    return keeps_intra_ ? plan : divided_;
  }

  const Params params_;
  ProfileWindow window_;
  CdSearch search_;
  IntraSm intra_;
  Stage stage_ = Stage::kDone;
  bool keeps_intra_ = false;
  SmPlan divided_;                    // as it was before SMs were shared
  std::vector<TenantEpoch> spatial_;  // what those who are present did then
};

REGISTER_POLICY(SmPartitioner, MaestroSmPartitioner, "maestro",
                .summary = "SMs divided or shared block by block, whichever does better in one window (Maestro)");

}  // namespace
}  // namespace terrace
