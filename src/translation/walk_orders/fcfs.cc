// First come, first served.
//
// Slot:   WalkOrder (translation/walk_order.h).   Overlay: configs/designs/fcfs.toml
// SPDX-License-Identifier: MIT
#include "engine/ring.h"
#include "translation/walk_order.h"

namespace terrace {
namespace {

class FcfsWalkOrder final : public WalkOrder {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  FcfsWalkOrder(const Context& context, Params) : waiting_(context.entries) {}

  void push(Walk walk, Cycle) override { waiting_.push(walk); }
  Walk pop(Cycle) override { return waiting_.pop(); }
  u32 size() const override { return waiting_.size(); }
  u64 most_passed() const override { return 0; }
  void archive(Archive& a) override { a(waiting_); }

 private:
  Ring<Walk> waiting_;
};

REGISTER_POLICY(WalkOrder, FcfsWalkOrder, "fcfs", .summary = "in order of arrival");

}  // namespace
}  // namespace terrace
