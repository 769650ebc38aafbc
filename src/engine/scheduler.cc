// SPDX-License-Identifier: MIT
#include "engine/scheduler.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <sstream>
#include <utility>

#include "engine/check.h"
#include "engine/rng.h"
#include "engine/tick_team.h"

namespace terrace {

namespace {

// A round of all threads costs a third of a microsecond and more, a tick about a tenth: with fewer units due than this, one
// thread is faster (docs/speed.md).
constexpr u32 kShareFrom = 6;

}  // namespace

Scheduler::Scheduler() : Scheduler(Options{}) {}

Scheduler::Scheduler(Options options) : options_(options), of_thread_(options.threads) {
  SIM_CHECK(options.threads >= 1 && options.threads <= kMaxTickThreads, "{} threads are not possible", options.threads);
  if (options_.share_from == 0) options_.share_from = kShareFrom;
}

Scheduler::~Scheduler() = default;

UnitId Scheduler::add(Unit& unit, std::string name) {
  SIM_CHECK(!started_, "unit {} is added to a scheduler that runs", name);
  SIM_CHECK(units_.size() < std::numeric_limits<std::underlying_type_t<UnitId>>::max(), "too many units");
  units_.push_back(&unit);
  names_.push_back(std::move(name));
  rank_.push_back(static_cast<u32>(units_.size() - 1));
  thread_of_.push_back(0);
  wheel_.resize(units());  // no unit is woken before all have been added
  // A cache line at least: threads write theirs at once.
  words_ = static_cast<u32>((units_.size() + 511) / 512 * 8);
  deferred_.assign(size_t{words_} * options_.threads, 0);
  return UnitId(units_.size() - 1);
}

Unit& Scheduler::replace(const std::string& name, Unit& stand_in) {
  const auto found = std::find(names_.begin(), names_.end(), name);
  SIM_CHECK(!started_ && found != names_.end(), "unit {} cannot be replaced: it runs or is not there", name);
  return *std::exchange(units_[static_cast<size_t>(found - names_.begin())], &stand_in);
}

/// Ranks are given anew, by thread; until now a unit's was its number.
void Scheduler::start() {
  started_ = true;
  const std::vector<std::pair<Cycle, u32>> woken = wheel_.take_all();
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
  }
  if (options_.threads > 1) {
    own_team_ = std::make_unique<TickTeam>(*this, options_.threads);
    team_ = own_team_.get();
  }
  for (u32 i = 0; i < options_.threads; ++i) wheel_of(i).resize(static_cast<u32>(of_thread_[i].units.size()));
  for (u32 id = 0; id < units(); ++id) wake(UnitId(id), now_);
  for (const auto& [at, id] : woken) wake(UnitId(id), at);
}

Wheel& Scheduler::wheel_of(u32 thread) {
  return team_ == nullptr ? wheel_ : team_->wheel(thread);
}

void Scheduler::wake_in_team(u32 unit, u32 rank, Cycle at) {
  const u32 thread = thread_of_[unit];
  if (!together_) {
    team_->wheel(thread).wake(rank, at);
    team_->woken(thread, at);
  } else if (thread == tick_thread) {
    team_->wheel(thread).wake(rank, at);
  } else {
    team_->post(thread, rank, at);
  }
}

Scheduler::End Scheduler::run(Cycle until) {
  if (!started_) start();
  take_stop();
  for (;;) {
    TickTeam::Outlook ahead;
    if (team_ == nullptr) [[likely]]
      ahead.next = wheel_.next_due();
    else
      ahead = team_->outlook();
    if (ahead.next == kNever) return End::kIdle;
    const Cycle cycle = options_.sleep ? ahead.next : now_;
    if (cycle >= until) {
      now_ = until;
      return End::kLimit;
    }
    now_ = cycle;
    if (team_ == nullptr) [[likely]] {
      wheel_.advance(now_);
      tick_wheel(0);
    } else if (!options_.sleep || ahead.due >= options_.share_from) {
      team_->tick_together();
    } else {
      team_->tick_alone();
    }
    run_deferred();
    ++now_;
    if (take_stop()) return End::kStopped;
  }
}

void Scheduler::tick_wheel(u32 thread) {
  Wheel& wheel = wheel_of(thread);
  OfThread& its = of_thread_[thread];
  const auto tick = [&](u32 rank) {
    const UnitId id = its.units[rank];
    const Cycle again = units_[index(id)]->tick(now_);
    ++its.ticks;
    SIM_DCHECK(again > now_, "unit {} wants to run again in cycle {}, which is now or past (cycle {})",
               names_[index(id)], again, now_);
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
    for (u32 i = 0; i < options_.threads; ++i) all |= std::exchange(deferred_[i * words_ + word], 0);
    for (; all != 0; all &= all - 1) units_[word * 64 + static_cast<u32>(std::countr_zero(all))]->commit(now_);
  }
}

bool Scheduler::take_stop() {
  bool asked = false;
  for (OfThread& one : of_thread_) asked |= std::exchange(one.stop, false);
  return asked;
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
