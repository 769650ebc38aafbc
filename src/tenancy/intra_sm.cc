// SPDX-License-Identifier: MIT
#include "tenancy/intra_sm.h"

#include <fmt/format.h>

#include <algorithm>

namespace terrace {

namespace {

SmRoom times(const SmRoom& block, u32 count) {
  return {block.warps * count, block.blocks * count, block.registers * count, block.shared_bytes * count};
}

/// Blocks that were not tried lie on a line between those that were.
void fill_gaps(std::vector<u64>& curve, const std::vector<bool>& known) {
  u32 last = 0;  // no block, nothing issued
  for (u32 i = 1; i < curve.size(); ++i) {
    if (!known[i]) continue;
    for (u32 j = last + 1; j < i; ++j) curve[j] = (curve[last] * (i - j) + curve[i] * (j - last)) / (i - last);
    last = i;
  }
  for (u32 j = last + 1; j < curve.size(); ++j) curve[j] = curve[last];
}

}  // namespace

std::vector<u32> divide_sm(const SmRoom& whole, const std::vector<SmRoom>& blocks,
                           const std::vector<std::vector<u64>>& curves) {
  SmRoom left = whole;
  std::vector<u32> counts(blocks.size(), 1);
  for (const SmRoom& block : blocks) {
    if (!left.fits(block)) return {};
    left.take(block);
  }
  std::vector<u64> best;
  for (const std::vector<u64>& curve : curves)
    best.push_back(std::max<u64>(1, *std::max_element(curve.begin(), curve.end())));
  std::vector<bool> satisfied(blocks.size(), false);
  for (;;) {
    u32 least = ~u32{0};
    for (u32 i = 0; i < blocks.size(); ++i) {
      if (satisfied[i]) continue;
      const auto part = [&](u32 tenant) { return curves[tenant][counts[tenant]]; };
      if (least == ~u32{0} || part(i) * best[least] < part(least) * best[i]) least = i;
    }
    if (least == ~u32{0}) return counts;
    // The next number of blocks that achieves more.
    u32 more = counts[least] + 1;
    while (more < curves[least].size() && curves[least][more] <= curves[least][counts[least]]) ++more;
    const SmRoom needs = times(blocks[least], more - counts[least]);
    if (more >= curves[least].size() || !left.fits(needs)) {
      satisfied[least] = true;
      continue;
    }
    left.take(needs);
    counts[least] = more;
  }
}

SmPlan IntraSm::divide(const Situation& situation, const SmPlan& plan) {
  switch (situation.occasion) {
    case Occasion::kArrival:
    case Occasion::kDeparture:
      return begin(situation, plan);
    case Occasion::kKernel:
      // A window runs to its end: kernels that take turns faster than windows do would otherwise be profiled for ever.
      return stage_ == Stage::kProfile ? plan : begin(situation, plan);
    case Occasion::kAppointment:
      break;
    case Occasion::kEpoch:
      return plan;
  }
  if (stage_ == Stage::kBegin) return profile(situation, plan);
  if (stage_ != Stage::kProfile || !window_.advance(situation)) return plan;
  learn(situation, plan);
  return share(situation, plan);
}

/// What blocks take up is known when kernels have been launched.
SmPlan IntraSm::begin(const Situation& situation, SmPlan plan) {
  for (const TenantId id : situation.present) plan.leave[index(id)] = leave_[index(id)];
  window_.stop();
  if (situation.present.size() == 1) {
    plan.divide_evenly(situation.present);
    stage_ = Stage::kDone;
    return plan;
  }
  stage_ = Stage::kBegin;
  look_again_ = situation.now + 1;
  if (situation.occasion != Occasion::kKernel) plan.divide_evenly(situation.present);
  return plan;
}

SmPlan IntraSm::profile(const Situation& situation, SmPlan plan) {
  bool launched = true, known = true;
  for (const TenantId id : situation.present) {
    const SmRoom& block = situation.block[index(id)];
    launched &= block.blocks > 0;
    known &= curve_of(id, block) != nullptr;
  }
  if (!launched) {
    look_again_ = situation.now + 500;  // chosen: half of the time between kernels on most machines
    return plan;
  }
  look_again_ = kNever;
  if (known) return share(situation, std::move(plan));
  plan.divide_evenly(situation.present);
  for (const TenantId id : situation.present) {
    const std::vector<u32> its = plan.owned(id);
    const u32 most = most_blocks(situation.block[index(id)]), sms = static_cast<u32>(its.size());
    for (u32 i = 0; i < sms; ++i) {
      const u32 spread = sms >= most ? i % most : sms == 1 ? most - 1 : i * (most - 1) / (sms - 1);
      plan.sms[its[i]].quotas[index(id)] = static_cast<u8>(1 + spread);
    }
    note(situation.now, id, fmt::format("profile with 1 to {} blocks on an SM", most));
  }
  stage_ = Stage::kProfile;
  began_with_ = situation.block;
  window_.begin(situation.now);
  return plan;
}

void IntraSm::learn(const Situation& situation, const SmPlan& plan) {
  for (const TenantId id : situation.present) {
    leave_[index(id)] = window_.warmed_up(id).blocks_done > 0 ? Leave::kDrain : Leave::kPreempt;
    const SmRoom &first = began_with_[index(id)], &last = situation.block[index(id)];
    learn_curve(situation.now, id, first, plan);
    if (last.blocks > 0 && last != first) learn_curve(situation.now, id, last, plan);
  }
}

/// What the window showed counts for kernels with such blocks.
void IntraSm::learn_curve(Cycle now, TenantId id, const SmRoom& block, const SmPlan& plan) {
  Curve curve(most_blocks(block) + 1, 0);
  std::vector<u64> tried(curve.size(), 0);
  for (const u32 sm : plan.owned(id)) {
    const u32 quota = std::min<u32>(plan.sms[sm].quotas[index(id)], static_cast<u32>(curve.size()) - 1);
    curve[quota] += window_.issued(sm, id);
    ++tried[quota];
  }
  std::vector<bool> known(curve.size(), false);
  for (u32 i = 1; i < curve.size(); ++i) {
    if (tried[i] == 0) continue;
    curve[i] /= tried[i];
    known[i] = true;
  }
  fill_gaps(curve, known);
  std::string text = "warp instructions on an SM, by blocks:";
  for (u32 i = 1; i < curve.size(); ++i) text += fmt::format(" {}", curve[i]);
  note(now, id, std::move(text));
  std::erase_if(curves_[index(id)], [&](const auto& old) { return old.first == block; });
  curves_[index(id)].emplace_back(block, std::move(curve));
}

SmPlan IntraSm::share(const Situation& situation, SmPlan plan) {
  stage_ = Stage::kDone;
  window_.stop();
  std::vector<SmRoom> blocks;
  std::vector<Curve> curves;
  for (const TenantId id : situation.present) {
    plan.leave[index(id)] = leave_[index(id)];
    const SmRoom& block = situation.block[index(id)];
    const Curve* curve = curve_of(id, block);
    // Between two kernels: as the last one that was profiled.
    if (curve == nullptr && !curves_[index(id)].empty()) {
      blocks.push_back(curves_[index(id)].back().first);
      curves.push_back(curves_[index(id)].back().second);
    } else if (curve != nullptr) {
      blocks.push_back(block);
      curves.push_back(*curve);
    }
  }
  const std::vector<u32> counts =
      blocks.size() == situation.present.size() ? divide_sm(whole_, blocks, curves) : std::vector<u32>{};
  if (counts.empty()) {
    note(situation.now, {}, "an SM has no room for a block of each: even shares");
    plan.divide_evenly(situation.present);
    return plan;
  }
  SmUse use;
  for (u32 i = 0; i < counts.size(); ++i) {
    use.quotas[index(situation.present[i])] = static_cast<u8>(counts[i]);
    note(situation.now, situation.present[i], fmt::format("gets {} blocks on every SM", counts[i]));
  }
  std::fill(plan.sms.begin(), plan.sms.end(), use);
  return plan;
}

const IntraSm::Curve* IntraSm::curve_of(TenantId tenant, const SmRoom& block) const {
  for (const auto& [needs, curve] : curves_[index(tenant)]) {
    if (needs == block) return &curve;
  }
  return nullptr;
}

u32 IntraSm::most_blocks(const SmRoom& block) const {
  u32 most = 1;
  while (whole_.fits(times(block, most + 1))) ++most;
  return most;
}

}  // namespace terrace
