// Every translation goes into the TLB.
//
// Slot:   TlbFillPolicy (translation/tlb_fill.h).
// SPDX-License-Identifier: MIT
#include "translation/tlb_fill.h"

namespace terrace {
namespace {

class AlwaysTlbFillPolicy final : public TlbFillPolicy {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  AlwaysTlbFillPolicy(const Context&, Params) {}

  Into choose(u64, TenantId, std::span<const TlbAsker>) override { return Into::kTlb; }
  void archive(Archive&) override {}
};

REGISTER_POLICY(TlbFillPolicy, AlwaysTlbFillPolicy, "always", .summary = "every translation is filled into the TLB");

}  // namespace
}  // namespace terrace
