// Every read goes through the L2, like a load.
//
// Slot:   WalkPath (translation/walk_path.h).
// SPDX-License-Identifier: MIT
#include "translation/walk_path.h"

namespace terrace {
namespace {

class L2WalkPath final : public WalkPath {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  L2WalkPath(const Context&, Params) {}

  bool uses(Way way) const override { return way == Way::kL2; }
  Way choose(const WalkRead&) override { return Way::kL2; }
  void archive(Archive&) override {}
};

REGISTER_POLICY(WalkPath, L2WalkPath, "l2", .summary = "every read goes through the L2, as a load does");

}  // namespace
}  // namespace terrace
