// When a run ends: no tenant has to go on (TenantTable), a limit of cycles or instructions is reached, or somebody asks for it.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <utility>

#include "gpu/controller.h"
#include "gpu/tenant_table.h"

namespace terrace {

enum class RunEnd : u8 { kCompleted, kCycleLimit, kInstructionLimit, kAsked };

class RunLimits final : public Controller {
 public:
  RunLimits(Cycle cycles, u64 thread_instructions, std::function<bool()> stop, const TenantTable& tenants)
      : cycles_(cycles), thread_instructions_(thread_instructions), stop_(std::move(stop)), tenants_(tenants) {}

  Cycle next(Cycle) const override { return cycles_; }
  void act(Cycle now) override;
  void archive(Archive&) override {}  // a run that has reached its end is not saved

  bool reached() const { return reached_; }
  RunEnd end() const { return end_; }

 private:
  bool enough_instructions() const;

  const Cycle cycles_;
  const u64 thread_instructions_;
  const std::function<bool()> stop_;  // may be none
  const TenantTable& tenants_;
  bool reached_ = false;
  RunEnd end_ = RunEnd::kCompleted;
};

}  // namespace terrace
