// SPDX-License-Identifier: MIT
#include "engine/scheduler.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <sstream>
#include <utility>

#include "engine/archive.h"
#include "engine/check.h"
#include "engine/rng.h"
#include "engine/tick_team.h"

namespace terrace {

Scheduler::Scheduler() : Scheduler(Options{}) {}

Scheduler::Scheduler(Options options)
    : options_(std::move(options)), of_thread_(options_.threads), share_(options_.share_from) {
  SIM_CHECK(options_.threads >= 1 && options_.threads <= kMaxTickThreads, "{} threads are not possible",
            options_.threads);
}

Scheduler::~Scheduler() = default;

UnitId Scheduler::add(Unit& unit, std::string name) {
  SIM_CHECK(!started_, "unit {} is added to a scheduler that runs", name);
  SIM_CHECK(units_.size() < std::numeric_limits<std::underlying_type_t<UnitId>>::max(), "too many units");
  units_.push_back(options_.stand_in ? &options_.stand_in(name, unit) : &unit);
  names_.push_back(std::move(name));
  rank_.push_back(static_cast<u32>(units_.size() - 1));
  thread_of_.push_back(0);
  apart_.push_back(unit.commits_apart());
  wheel_.resize(units());  // no unit is woken before all have been added
  // A cache line at least: threads write theirs at once.
  words_ = (units() + 63) / 64;
  row_ = (words_ + 7) / 8 * 8;
  deferred_.assign(size_t{row_} * options_.threads, 0);
  return UnitId(units_.size() - 1);
}

void Scheduler::start() {
  const std::vector<std::pair<Cycle, u32>> woken = wheel_.take_all();
  arrange();
  for (u32 id = 0; id < units(); ++id) wake(UnitId(id), now_);
  for (const auto& [at, id] : woken) wake(UnitId(id), at);
}

/// Ranks are given anew, by thread; until now a unit's was its number.
void Scheduler::arrange() {
  started_ = true;
  std::vector<u32> order(units());
  for (u32 id = 0; id < units(); ++id) order[id] = id;
  if (options_.permute_seed != 0) {
    Rng rng(options_.permute_seed, "scheduler.permutation");
    for (u32 i = units(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  }
  for (const u32 id : order) {
    std::vector<UnitId>& its = of_thread_[thread_of_[id]].units;
    rank_[id] = static_cast<u32>(its.size());
    its.push_back(UnitId(id));
    of_thread_[thread_of_[id]].by_rank.push_back(units_[id]);
  }
  if (options_.threads > 1) {
    own_team_ = std::make_unique<TickTeam>(*this, options_.threads);
    team_ = own_team_.get();
  }
  team_ == nullptr ? wheel_.resize(units()) : team_->resize();
  if (team_ != nullptr && options_.sleep && share_.nothing_shared()) team_->gather();
}

/// By cycle and unit. All are due as before afterwards.
std::vector<std::pair<Cycle, UnitId>> Scheduler::all_due() {
  std::vector<std::pair<Cycle, UnitId>> due;
  const bool scattered = team_ != nullptr && team_->gather();
  for (const auto& [at, rank] : team_ == nullptr ? wheel_.take_all() : team_->take_gathered())
    due.emplace_back(at, team_ == nullptr ? of_thread_[0].units[rank] : UnitId(rank));
  for (const auto& [at, unit] : due) wake(unit, at);
  if (scattered) team_->scatter();
  // The order of ranks is not that of units.
  std::sort(due.begin(), due.end());
  return due;
}

void Scheduler::archive(Archive& a) {
  SIM_CHECK(started_ != a.restores(), "a scheduler is saved before its first cycle, or restored after it");
  a.expect(units(), "the number of units");
  u64 ticked = ticks();
  std::vector<std::pair<Cycle, UnitId>> due;
  if (!a.restores()) due = all_due();
  a(now_, ticked, due);
  if (!a.restores()) return;
  wheel_.take_all();
  wheel_.advance(now_);
  arrange();
  of_thread_[0].ticks = ticked;
  for (const auto& [at, unit] : due) wake(unit, at);
}

void Scheduler::wake_in_team(u32 unit, u32 rank, Cycle at) {
  team_->wake(unit, thread_of_[unit], rank, at);
}

Scheduler::End Scheduler::run(Cycle until) {
  if (!started_) start();
  of_thread_[0].stop = false;
  if (team_ == nullptr) return run_alone(until);
  share_.begin_run();
  const End end = run_team(until);
  share_.end_run();
  return end;
}

Scheduler::End Scheduler::run_alone(Cycle until) {
  OfThread& own = of_thread_[0];
  for (;;) {
    const Cycle next = wheel_.next_due();
    if (next == kNever) return End::kIdle;
    const Cycle cycle = options_.sleep ? next : now_;
    if (cycle >= until) {
      now_ = until;
      return End::kLimit;
    }
    now_ = cycle;
    wheel_.advance(now_);
    tick_wheel(wheel_, 0);
    if (std::exchange(own.commit, false)) run_deferred();
    if (std::exchange(own.commit_apart, false)) commit_apart(0);
    wheel_.advance(++now_);  // a wake-up for the cycle that is over, which nobody may ask for, does not bring it back
    if (own.stop) [[unlikely]]
      return End::kStopped;
  }
}

Scheduler::End Scheduler::run_team(Cycle until) {
  for (;;) {
    const TickTeam::Outlook ahead = team_->outlook();
    if (ahead.next == kNever) return End::kIdle;
    const Cycle cycle = options_.sleep ? ahead.next : now_;
    if (cycle >= until) {
      now_ = until;
      return End::kLimit;
    }
    now_ = cycle;
    const bool shared = !options_.sleep || ahead.due >= share_.from();  // never while they are gathered
    const TickTeam::Asked asked = shared ? team_->tick_together() : team_->tick_alone();
    if (asked.commit) run_deferred();
    if (asked.commit_apart) team_->commit_apart(shared);
    ++now_;
    if (share_.cycle_done() && options_.sleep) share_.nothing_shared() ? void(team_->gather()) : team_->scatter();
    if (asked.stop) return End::kStopped;
  }
}

Cycle Scheduler::tick_unit(u32 unit) {
  return tick_unit(*units_[unit], unit);
}

Cycle Scheduler::tick_unit(Unit& unit, [[maybe_unused]] u32 id) {
  const Cycle again = unit.tick(now_);
  SIM_DCHECK(again > now_, "unit {} wants to run again in cycle {}, which is now or past (cycle {})", names_[id], again,
             now_);
  return again;
}

void Scheduler::tick_wheel(Wheel& wheel, u32 thread) {
  OfThread& its = of_thread_[thread];
  const auto tick = [&](u32 rank) {
    ++its.ticks;
    const Cycle again = tick_unit(*its.by_rank[rank], index(its.units[rank]));
    if (again != kNever) wheel.wake(rank, again);
  };
  if (options_.sleep) [[likely]]
    return wheel.take_due(tick);
  wheel.drop_due();
  for (u32 rank = 0; rank < its.units.size(); ++rank) tick(rank);
}

void Scheduler::run_deferred() {
  for (u32 word = 0; word < words_; ++word) {
    u64 all = 0;
    for (u32 i = 0; i < options_.threads; ++i) all |= deferred_[i * row_ + word];
    for (; all != 0; all &= all - 1) {
      const u32 bit = static_cast<u32>(std::countr_zero(all)), id = word * 64 + bit;
      if (apart_[id]) continue;
      deferred_[thread_of_[id] * row_ + word] &= ~(u64{1} << bit);
      units_[id]->commit(now_);
    }
  }
}

/// Those of a thread that are left.
void Scheduler::commit_apart(u32 thread) {
  for (u32 word = 0; word < words_; ++word) {
    for (u64 all = std::exchange(deferred_[thread * row_ + word], 0); all != 0; all &= all - 1)
      units_[word * 64 + static_cast<u32>(std::countr_zero(all))]->commit(now_);
  }
}

u64 Scheduler::ticks() const {
  u64 all = 0;
  for (const OfThread& one : of_thread_) all += one.ticks;
  return all;
}

bool Scheduler::idle() const {
  return started_ && (team_ == nullptr ? wheel_.next_due() : team_->outlook().next) == kNever;
}

std::string Scheduler::explain() const {
  std::ostringstream out;
  for (u32 id = 0; id < units(); ++id) {
    std::ostringstream own;
    units_[id]->explain(own);
    if (own.str().empty()) continue;
    std::istringstream lines(own.str());
    for (std::string line; std::getline(lines, line);) out << "  " << names_[id] << ": " << line << '\n';
  }
  return out.str();
}

}  // namespace terrace
