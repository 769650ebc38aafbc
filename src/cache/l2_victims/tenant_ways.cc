// Each tenant fills only its own ways of every set: an equal number, one more for the first ones when they do not
// divide.
//
// Slot:   L2Victim (cache/l2_victim.h).
// SPDX-License-Identifier: MIT
#include <vector>

#include "cache/l2_victim.h"
#include "engine/check.h"
#include "engine/even_share.h"

namespace terrace {
namespace {

class TenantWaysL2Victim final : public L2Victim {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  TenantWaysL2Victim(const Context& context, Params) {
    if (context.tenants > context.ways) {
      input_error("l2.victim: {} ways cannot be divided among {} tenants; give each at least one", context.ways,
                  context.tenants);
    }
    for (u32 i = 0; i < context.tenants; ++i) {
      const EvenShare share = even_share(context.ways, context.tenants, i);
      ways_.push_back((share.count == 64 ? kAllWays : (WayMask{1} << share.count) - 1) << share.first);
    }
  }

  u32 victim(const L2Set& set, const L2Line& arriving) override { return set.lru(ways_[index(arriving.tenant)]); }
  bool divides_tenants() const override { return true; }
  void archive(Archive&) override {}

 private:
  std::vector<WayMask> ways_;  // by tenant
};

REGISTER_POLICY(L2Victim, TenantWaysL2Victim, "tenant_ways",
                .summary = "the least recently used line in the tenant's own ways");

}  // namespace
}  // namespace terrace
