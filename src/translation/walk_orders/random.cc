// Any waiting walk, each as likely as the others. It may starve one for any time: the only order that is allowed to.
//
// Paper:  Scheduling Page Table Walks for Irregular GPU Applications, ISCA 2018, §III. Notes: SIMT-A9.
// Slot:   WalkOrder (translation/walk_order.h).   Overlay: configs/designs/random.toml
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <vector>

#include "engine/rng.h"
#include "translation/walk_order.h"

namespace terrace {
namespace {

class RandomWalkOrder final : public WalkOrder {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  RandomWalkOrder(const Context& context, Params)
      : rng_(context.seed, fmt::format("mmu.walk_order.{}", context.queue)) {
    waiting_.reserve(context.entries);
  }

  void push(Walk walk, Cycle) override { waiting_.push_back(walk); }
  Walk pop(Cycle) override {
    Walk& chosen = waiting_[rng_.below(waiting_.size())];
    const Walk walk = chosen;
    chosen = waiting_.back();
    waiting_.pop_back();
    return walk;
  }
  u32 size() const override { return static_cast<u32>(waiting_.size()); }
  u64 most_passed() const override { return kUnbounded; }
  void archive(Archive& a) override { a(rng_, waiting_); }

 private:
  Rng rng_;
  std::vector<Walk> waiting_;
};

REGISTER_POLICY(WalkOrder, RandomWalkOrder, "random", .summary = "a random one of the waiting walks",
                .paper = "ISCA 2018");

}  // namespace
}  // namespace terrace
