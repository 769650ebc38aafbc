// Leaf bypass: page walks read leaf entries past the L2 while those hit less often than a stated share of data does.
// Slot: L2Admission (cache/l2_admission.h). Overlay: configs/designs/leaf_bypass.toml.
// SPDX-License-Identifier: MIT
#include "cache/l2_admission.h"

namespace terrace {
namespace {

class LeafBypassL2Admission final : public L2Admission {
 public:
  struct Params {
    u32 percent = 50;
    void describe(Fields& v) {
      v("percent", percent, in(0, 100), "of the data's hit rate that leaf entries must reach to be cached");
    }
  };
  LeafBypassL2Admission(const Context&, Params params) : params_(params) {}

  Choice admit(const L2Request& request) const override {
    return bypasses_ && request.walk_level == kLeaf ? Choice::kBypass : Choice::kCache;
  }
  void looked_up(const L2Request& request, bool hit) override {
    if (request.walk_level != 0 && request.walk_level != kLeaf) return;
    Rate& rate = request.walk_level == 0 ? data_ : leaf_;
    ++rate.lookups;
    rate.hits += hit;
  }
  bool by_epochs() const override { return true; }
  void epoch(TenantEpochs) override {
    // Every other epoch looks leaf entries up again, so that the rates are known.
    bypasses_ = !bypasses_ && 100 * leaf_.hits * data_.lookups < params_.percent * data_.hits * leaf_.lookups;
    data_ = leaf_ = {};
  }
  void archive(Archive& a) override { a(data_, leaf_, bypasses_); }

 private:
  static constexpr u8 kLeaf = 4;
  struct Rate {
    u64 lookups = 0, hits = 0;
  };
  Params params_;
  Rate data_, leaf_;
  bool bypasses_ = false;
};

REGISTER_POLICY(L2Admission, LeafBypassL2Admission, "leaf_bypass",
                .summary = "leaf entries of page tables go past the L2 while they seldom hit");

}  // namespace
}  // namespace terrace
