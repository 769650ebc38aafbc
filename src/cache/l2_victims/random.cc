// A free way, or else any line of the set. A loop over a little more than a cache holds still hits now and then, where
// `lru` never does.
//
// Slot:   L2Victim (cache/l2_victim.h).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "cache/l2_victim.h"
#include "engine/rng.h"

namespace terrace {
namespace {

class RandomL2Victim final : public L2Victim {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  RandomL2Victim(const Context& context, Params) : rng_(context.seed, fmt::format("l2.victim.{}", context.slice)) {}

  u32 victim(const L2Set& set, const L2Line&) override {
    for (u32 way = 0; way < set.ways(); ++way) {
      if (!set.valid(way)) return way;
    }
    return static_cast<u32>(rng_.below(set.ways()));
  }
  void archive(Archive& a) override { a(rng_); }

 private:
  Rng rng_;
};

REGISTER_POLICY(L2Victim, RandomL2Victim, "random", .summary = "any line of the set, by the run's seed");

}  // namespace
}  // namespace terrace
