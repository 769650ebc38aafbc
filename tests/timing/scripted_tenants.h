// Tenants that follow scripts, on one GPU: each with memory, program and stream of its own, and SMs in equal shares, or
// all in turns. A test may play the part of the SM partitioner.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/gpu.h"
#include "timing/scripted_stream.h"

namespace terrace {

struct ScriptedTenant {
  std::vector<ScriptOp> script;
  u32 rounds = 1, blocks = 1, threads = 32, launches = 1;
  u32 streams = 1;  // that launches are spread over
  u64 buffer_bytes = 1 << 20;
  Cycle arrive = 0, leave = kNever;
};

/// Answers what a test tells it to, at every occasion.
class ScriptedPartitioner final : public SmPartitioner {
 public:
  using Divide = std::function<SmPlan(const Situation&, SmPlan)>;
  explicit ScriptedPartitioner(Divide divide) : divide_(std::move(divide)) {}
  SmPlan divide(const Situation& situation, const SmPlan& plan) override { return divide_(situation, plan); }
  bool by_epochs() const override { return true; }
  /// What the function remembers is the test's.
  void archive(Archive&) override {}

 private:
  Divide divide_;
};

class ScriptedTenants {
 public:
  ScriptedTenants(const GpuConfig& config, const std::vector<ScriptedTenant>& tenants, Scheduler::Options options = {},
                  std::unique_ptr<SmPartitioner> partitioner = nullptr) {
    std::vector<TenantSetup> setups;
    const bool turns = config.tenancy.sharing == TenancyConfig::Sharing::kTime;
    const u32 share = turns ? config.sm.count : config.sm.count / static_cast<u32>(tenants.size());
    for (const ScriptedTenant& tenant : tenants) {
      memories_.push_back(std::make_unique<GuestMemory>(PageSize(config.pages.bytes)));
      programs_.push_back(
          std::make_unique<ScriptProgram>(tenant.blocks, tenant.threads, tenant.buffer_bytes, tenant.launches));
      programs_.back()->streams = tenant.streams;
      programs_.back()->allocate(*memories_.back());
      streams_.push_back(std::make_unique<ScriptedStream>(tenant.script, tenant.rounds, config.sm.warp_width));
      TenantSetup setup{"script", programs_.back().get(), memories_.back().get(), streams_.back().get(), {}};
      for (u32 i = 0; i < share; ++i) setup.sms.push_back(turns ? i : static_cast<u32>(setups.size()) * share + i);
      setup.arrive = tenant.arrive;
      setup.leave = tenant.leave;
      setups.push_back(std::move(setup));
    }
    gpu_ = std::make_unique<Gpu>(config, std::move(setups), options, std::move(partitioner));
  }
  Gpu& gpu() { return *gpu_; }
  ScriptProgram& program(u32 tenant) { return *programs_[tenant]; }
  ScriptedStream& stream(u32 tenant) { return *streams_[tenant]; }

 private:
  std::vector<std::unique_ptr<GuestMemory>> memories_;
  std::vector<std::unique_ptr<ScriptProgram>> programs_;
  std::vector<std::unique_ptr<ScriptedStream>> streams_;
  std::unique_ptr<Gpu> gpu_;
};

}  // namespace terrace
