// All walkers serve one queue: the baseline of every paper. An arriving walk takes an idle walker at once, else joins
// the queue; a walker that finishes takes whatever the queue's order gives out.
//
// Slot:   WalkScheduler (translation/walk_scheduler.h).
// SPDX-License-Identifier: MIT
#include <array>

#include "translation/walk_scheduler.h"
#include "translation/walk_schedulers/interleaving.h"

namespace terrace {
namespace {

class SharedWalkScheduler final : public WalkScheduler {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  SharedWalkScheduler(const Context& context, Params)
      : entries_(context.queue_entries), queue_(context.make_queue(context.queue_entries, 0)) {}

  i32 place(const Walk& walk, const WalkerSet& idle, Cycle now) override {
    if (const u32 walker = idle.first(); walker != WalkerSet::kNone) {
      queue_->started(walk);
      ++stats.placed[walk.tenant];
      return static_cast<i32>(walker);
    }
    if (queue_->size() == entries_) return kRefused;
    ++stats.placed[walk.tenant];
    interleaving_.interleaving[walk.tenant] += queue_->size() - waiting_of_[index(walk.tenant)];
    ++waiting_of_[index(walk.tenant)];
    queue_->push(walk, now);
    return kQueued;
  }
  std::optional<Walk> next(u32, Cycle now) override {
    if (queue_->size() == 0) return std::nullopt;
    const Walk walk = queue_->pop(now);
    --waiting_of_[index(walk.tenant)];
    return walk;
  }
  u32 waiting() const override { return queue_->size(); }
  void archive(Archive& a) override { a(waiting_of_, *queue_); }
  void describe(StatFields& v) override {
    WalkScheduler::describe(v);
    interleaving_.describe(v, stats.placed);
  }

 private:
  InterleavingStats interleaving_;
  u32 entries_;
  std::array<u32, kMaxTenants> waiting_of_{};
  std::unique_ptr<WalkOrder> queue_;
};

REGISTER_POLICY(WalkScheduler, SharedWalkScheduler, "shared", .summary = "one queue for all walkers and all tenants");

}  // namespace
}  // namespace terrace
