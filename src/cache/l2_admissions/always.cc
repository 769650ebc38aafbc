// Everything is looked up and kept.
//
// Slot:   L2Admission (cache/l2_admission.h).
// SPDX-License-Identifier: MIT
#include "cache/l2_admission.h"

namespace terrace {
namespace {

class AlwaysL2Admission final : public L2Admission {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  AlwaysL2Admission(const Context&, Params) {}

  Choice admit(const L2Request&) const override { return Choice::kCache; }
  bool admits_all() const override { return true; }
  void archive(Archive&) override {}
};

REGISTER_POLICY(L2Admission, AlwaysL2Admission, "always",
                .summary = "every request is looked up, and its line is kept");

}  // namespace
}  // namespace terrace
