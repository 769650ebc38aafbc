// Every read goes straight to memory, as an IOMMU's does.
//
// Slot:   WalkPath (translation/walk_path.h).
// SPDX-License-Identifier: MIT
#include "translation/walk_path.h"

namespace terrace {
namespace {

class MemoryWalkPath final : public WalkPath {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  MemoryWalkPath(const Context&, Params) {}

  bool uses(Way way) const override { return way == Way::kMemory; }
  Way choose(const WalkRead&) override { return Way::kMemory; }
  void archive(Archive&) override {}
};

REGISTER_POLICY(WalkPath, MemoryWalkPath, "memory", .summary = "every read goes directly to memory, as from an IOMMU");

}  // namespace
}  // namespace terrace
