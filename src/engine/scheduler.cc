// SPDX-License-Identifier: MIT
#include "engine/scheduler.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <sstream>
#include <utility>

#include "engine/check.h"
#include "engine/rng.h"

namespace terrace {

Scheduler::Scheduler(Options options) : options_(options) {}

UnitId Scheduler::add(Unit& unit, std::string name) {
  SIM_CHECK(!started_, "unit {} is added to a scheduler that runs", name);
  SIM_CHECK(units_.size() < std::numeric_limits<std::underlying_type_t<UnitId>>::max(), "too many units");
  units_.push_back(&unit);
  names_.push_back(std::move(name));
  rank_.push_back(static_cast<u32>(units_.size() - 1));
  words_ = static_cast<u32>((units_.size() + 63) / 64);
  wheel_.assign(size_t{kBuckets} * words_, 0);  // no unit is woken before the first cycle
  due_.assign(words_, 0);
  deferred_.assign(words_, 0);
  return UnitId(units_.size() - 1);
}

Unit& Scheduler::replace(const std::string& name, Unit& stand_in) {
  const auto found = std::find(names_.begin(), names_.end(), name);
  SIM_CHECK(!started_ && found != names_.end(), "unit {} cannot be replaced: it runs or is not there", name);
  return *std::exchange(units_[static_cast<size_t>(found - names_.begin())], &stand_in);
}

void Scheduler::start() {
  started_ = true;
  if (options_.permute_seed != 0) {
    Rng rng(options_.permute_seed, "scheduler.permutation");
    for (u32 i = units(); i > 1; --i) std::swap(rank_[i - 1], rank_[rng.below(i)]);
  }
  by_rank_.resize(units_.size());
  id_by_rank_.resize(units_.size());
  for (u32 id = 0; id < units(); ++id) {
    by_rank_[rank_[id]] = units_[id];
    id_by_rank_[rank_[id]] = UnitId(id);
  }
  for (u32 rank = 0; rank < units(); ++rank) set(now_, rank);
}

void Scheduler::wake_far(u32 rank, Cycle at) {
  if (at == kNever) return;
  SIM_CHECK(at > now_, "a wake-up at cycle {} is asked for in cycle {}", at, now_);
  far_.emplace(at, rank);
}

Cycle Scheduler::next_due() const {
  Cycle near = kNever;
  if (occupied_words_ != 0) {
    // Buckets are read as a circle that begins at now_: first the rest of its word, then whole words, last its beginning.
    const u32 first = now_ & kBucketMask, word = first / 64;
    const u64 rest = occupied_[word] >> first % 64;
    if (rest != 0) {
      near = now_ + static_cast<u32>(std::countr_zero(rest));
    } else {
      const u64 others = std::rotr(occupied_words_, static_cast<int>((word + 1) % 64));
      const u32 ahead = static_cast<u32>(std::countr_zero(others)) + 1;
      const u32 found = (word + ahead) % 64;
      const u32 bucket = found * 64 + static_cast<u32>(std::countr_zero(occupied_[found]));
      near = now_ + ((bucket - first) & kBucketMask);
    }
  }
  return far_.empty() ? near : std::min(near, far_.top().first);
}

Scheduler::End Scheduler::run(Cycle until) {
  if (!started_) start();
  stop_ = false;
  for (;;) {
    const Cycle next = next_due();
    if (next == kNever) return End::kIdle;
    const Cycle cycle = options_.sleep ? next : now_;
    if (cycle >= until) {
      now_ = until;
      return End::kLimit;
    }
    now_ = cycle;
    while (!far_.empty() && far_.top().first - now_ < kBuckets) {
      set(far_.top().first, far_.top().second);
      far_.pop();
    }
    options_.sleep ? tick_due() : tick_all();
    run_deferred();
    ++now_;
    if (stop_) return End::kStopped;
  }
}

void Scheduler::tick_unit(u32 rank) {
  ++ticks_;
  const Cycle again = by_rank_[rank]->tick(now_);
  if (again == kNever) return;
  SIM_DCHECK(again > now_, "unit {} wants to run again in cycle {}, which is now or past (cycle {})",
             names_[index(id_by_rank_[rank])], again, now_);
  if (again - now_ < kBuckets) [[likely]]
    set(again, rank);
  else
    wake_far(rank, again);
}

void Scheduler::tick_due() {
  const u32 bucket = now_ & kBucketMask;
  u64* bits = &wheel_[size_t{bucket} * words_];
  for (u32 word = 0; word < words_; ++word) {
    due_[word] = bits[word];
    bits[word] = 0;
  }
  occupied_[bucket / 64] &= ~(u64{1} << bucket % 64);
  if (occupied_[bucket / 64] == 0) occupied_words_ &= ~(u64{1} << bucket / 64);
  for (u32 word = 0; word < words_; ++word) {
    for (u64 left = due_[word]; left != 0; left &= left - 1) {
      tick_unit(word * 64 + static_cast<u32>(std::countr_zero(left)));
    }
  }
}

void Scheduler::tick_all() {
  const u32 bucket = now_ & kBucketMask;
  std::fill_n(&wheel_[size_t{bucket} * words_], words_, u64{0});
  occupied_[bucket / 64] &= ~(u64{1} << bucket % 64);
  if (occupied_[bucket / 64] == 0) occupied_words_ &= ~(u64{1} << bucket / 64);
  for (u32 rank = 0; rank < units(); ++rank) tick_unit(rank);
}

void Scheduler::run_deferred() {
  for (u32 word = 0; word < words_; ++word) {
    for (u64 left = std::exchange(deferred_[word], 0); left != 0; left &= left - 1) {
      units_[word * 64 + static_cast<u32>(std::countr_zero(left))]->commit(now_);
    }
  }
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
