// Who lives on an SM: blocks that begin, go on after they were elsewhere, leave unfinished, or are given up, and tenants
// that change; and all of it saved and restored. But for the first two it happens between cycles.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <utility>

#include "engine/check.h"
#include "sm/sm.h"

namespace terrace {

/// Another tenant's page tables: nothing may be in flight that the old ones translated.
void Sm::change_root(TenantId tenant, Cycle now) {
  SIM_CHECK(memory_.drained(), "the root register changes while accesses of tenant {} are in flight", index(*root_));
  event(now, "the root register changes from tenant {} to tenant {}", index(*root_), index(tenant));
  if (wiring_.flush_on_switch) memory_.translator().flush_tenant(*root_);
  memory_.invalidate_l1();
  root_ = tenant;
}

/// The SM becomes a tenant's own.
void Sm::take_over(TenantId tenant, Cycle now) {
  const bool foreign = std::any_of(blocks_.begin(), blocks_.end(),
                                   [&](const Block& block) { return block.live && block.tenant != tenant; });
  SIM_CHECK(!foreign && (aside_.empty() || !root_), "a block of tenant {} comes while another tenant has SM {}",
            index(tenant), index(id_));
  if (root_) change_root(tenant, now);
  root_ = tenant;
}

void Sm::archive(Archive& a) {
  a.part("an SM");
  SIM_CHECK(stores_.empty() && completed_.empty(), "SM {} is saved within a cycle", index(id_));
  SmContext::archive(a);
  for (SmContext& context : aside_) context.archive(a);
  a(held_until_, stalled_since_, stops_when_drained_, issued_, could_issue_, finished_, memory_, pipe_free_);
  a(next_dynamic_id_, warps_seen_, root_, newest_launch_, faults_);
  a(stats.shared_passes, stats.unfinished_blocks);  // the tree of statistics does not know them
  if (!a.restores()) return;
  find_views(*this);
  for (SmContext& context : aside_) find_views(context);
  // What the others execute next nobody asks before they have been looked at again; those that were put aside are not ready.
  for (u64 left = issue_candidates(); left != 0; left &= left - 1) {
    Warp& warp = warps_[static_cast<u32>(std::countr_zero(left))];
    warp.next = &warp.view->next();
  }
}

void Sm::find_views(SmContext& context) const {
  for (Warp& warp : context.warps_) {
    if (warp.state != WarpState::kFree) warp.view = &wiring_.streams[index(warp.tenant)]->view(warp.ref);
  }
}

void Sm::lose_power() {
  SIM_CHECK(idle() && drained(), "SM {} loses power while something is there", index(id_));
  memory_.invalidate_l1();
  memory_.translator().flush();
}

void Sm::resume_issue(Cycle now) {
  held_until_ = now;
  stops_when_drained_ = false;
  scheduler_.wake(self_, now);
}

void Sm::switch_to(TenantId tenant, Cycle now, Cycle resume) {
  SmContext& here = *this;
  if (root_) {
    put_aside();
    std::swap(here, aside_[index(*root_)]);
    std::swap(here, aside_[index(tenant)]);
    change_root(tenant, now);
  }
  root_ = tenant;
  warps_seen_[tenant] |= resident_warps();
  held_until_ = resume;
  stops_when_drained_ = false;
  for (u32 place = 0; place < config_.warps; ++place) {
    if (warps_[place].state == WarpState::kAsleep) evaluate(place, now);
  }
  scheduler_.wake(self_, now);
}

void Sm::begin_epoch() {
  warps_seen_ = {};
  for (u64 left = resident_warps(); left != 0; left &= left - 1) {
    const auto place = static_cast<u32>(std::countr_zero(left));
    warps_seen_[warps_[place].tenant] |= u64{1} << place;
  }
  memory_.translator().begin_epoch();
}

void Sm::start_block(const BlockStart& start, Cycle now) {
  if (start.shares_sm) {
    root_.reset();  // each access brings its own
  } else if (root_ != start.tenant) {
    take_over(start.tenant, now);
  }
  // A launch must see what those wrote that ended before it began, and a block that was elsewhere what it wrote there.
  LaunchId& newest = newest_launch_[index(start.tenant)];
  if (start.launch > newest || start.image) {
    newest = std::max(newest, start.launch);
    memory_.invalidate_l1();
  }
  wiring_.memory.truth.starts_block(id_, start.tenant, start.launch, start.image != nullptr);
  const auto free_block = std::find_if(blocks_.begin(), blocks_.end(), [](const Block& block) { return !block.live; });
  SIM_CHECK(free_block != blocks_.end() && std::popcount(free_places_) >= static_cast<int>(start.warps),
            "a block of {} warps came to an SM without room for it", start.warps);
  InstStream& stream = *wiring_.streams[index(start.tenant)];
  Block& block = *free_block;
  block.ref = start.image ? stream.restore(start.launch, *start.image, id_)
                          : stream.begin_block(start.launch, start.block, id_);
  block.launch = start.launch;
  block.number = start.block;
  block.tenant = start.tenant;
  block.warps = block.undrained = start.warps;
  block.live = true;
  ++live_blocks_;
  ++stats.blocks_started[start.tenant];
  event(now, "block {} of tenant {} {} with {} warps", start.block, index(start.tenant),
        start.image ? "resumes" : "starts", start.warps);
  for (u32 i = 0; i < start.warps; ++i) {
    const u32 place = static_cast<u32>(std::countr_zero(free_places_));
    free_places_ &= free_places_ - 1;
    block.places[i] = static_cast<u8>(place);
    warps_seen_[start.tenant] |= u64{1} << place;
    const WarpRef ref = stream.warp(block.ref, i);
    warps_[place] = {.ref = ref,
                     .view = &stream.view(ref),
                     .state = WarpState::kAsleep,
                     .tenant = start.tenant,
                     .block = static_cast<u8>(free_block - blocks_.begin())};
    scoreboards_[place].reset();
    schedulers_[place % config_.schedulers]->started(place, start.tenant);
  }
  if (start.image) go_on(block);
  for (u32 i = 0; i < start.warps; ++i) {
    if (warps_[block.places[i]].state == WarpState::kAsleep) evaluate(block.places[i], now);
  }
}

/// Its warps are where they were: some have exited, some wait at a barrier.
void Sm::go_on(Block& block) {
  for (u32 i = 0; i < block.warps; ++i) {
    Warp& warp = warps_[block.places[i]];
    const WarpStatus status = warp.view->status;
    if (status == WarpStatus::kAtBarrier) warp.state = WarpState::kBarrier;
    if (status != WarpStatus::kDone) continue;
    warp.state = WarpState::kFree;
    --block.undrained;
  }
}

std::vector<UnfinishedBlock> Sm::take_blocks(Cycle now) {
  SIM_CHECK(held_until_ == kNever && drained(), "blocks leave SM {} while they run", index(id_));
  put_aside();
  std::vector<UnfinishedBlock> taken;
  for (Block& block : blocks_) {
    if (!block.live) continue;
    const InstStream& stream = *wiring_.streams[index(block.tenant)];
    taken.push_back({block.number, block.launch, block.tenant, std::make_shared<BlockImage>(stream.save(block.ref))});
    for (u32 i = 0; i < block.warps; ++i) warps_[block.places[i]].state = WarpState::kFree;
    vacate(block);
    ++stats.unfinished_blocks;
    event(now, "block {} of tenant {} leaves unfinished", block.number, index(block.tenant));
  }
  std::sort(taken.begin(), taken.end(),
            [](const auto& a, const auto& b) { return std::pair(a.launch, a.block) < std::pair(b.launch, b.block); });
  scheduler_.wake(self_, now);
  return taken;
}

/// Its place is free for another one.
void Sm::vacate(Block& block) {
  for (u32 i = 0; i < block.warps; ++i) free_places_ |= u64{1} << block.places[i];
  wiring_.streams[index(block.tenant)]->end_block(block.ref);
  block.live = false;
  --live_blocks_;
}

void Sm::abandon(TenantId tenant, Cycle now) {
  SmContext& here = *this;
  const bool aside = !aside_.empty() && root_ && *root_ != tenant;
  if (aside) std::swap(here, aside_[index(tenant)]);
  abandon_here(tenant, now);
  if (aside) std::swap(here, aside_[index(tenant)]);
  scheduler_.wake(self_, now);
}

void Sm::abandon_here(TenantId tenant, Cycle now) {
  for (u32 place = 0; place < config_.warps; ++place) {
    Warp& warp = warps_[place];
    if (warp.tenant != tenant || warp.state == WarpState::kFree || warp.state == WarpState::kDrained) continue;
    for (u64& ready : ready_) ready &= ~(u64{1} << place);
    for (u64& asleep : asleep_) asleep &= ~(u64{1} << place);
    retire(place, now);
  }
}

}  // namespace terrace
