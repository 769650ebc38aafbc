// The least recently used line, whoever's it is.
//
// Slot:   L2Victim (cache/l2_victim.h).
// SPDX-License-Identifier: MIT
#include "cache/l2_victim.h"

namespace terrace {
namespace {

class LruL2Victim final : public L2Victim {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  LruL2Victim(const Context&, Params) {}

  u32 victim(const L2Set& set, const L2Line&) override { return set.lru(); }
  bool takes_lru() const override { return true; }
  void archive(Archive&) override {}
};

REGISTER_POLICY(L2Victim, LruL2Victim, "lru", .summary = "the least recently used line of the set");

}  // namespace
}  // namespace terrace
