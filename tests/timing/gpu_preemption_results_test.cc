// Real kernels whose blocks are taken off their SMs again and again: their results are those of an undisturbed run.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "frontend/ptx/execute/machine.h"
#include "frontend/ptx/read/parser.h"
#include "frontend/workload.h"
#include "timing/scripted_tenants.h"
#include "timing/tenant_runs.h"

namespace terrace {
namespace {

constexpr Cycle kEpoch = 400;

/// A workload of size mini on its way to a GPU.
struct WorkloadTenant {
  WorkloadTenant(const GpuConfig& config, const std::string& name)
      : instance(make_workload(parse_workload(name, InputSize::kMini))),
        memory(PageSize(config.pages.bytes)),
        machine(ptx::parse_module(instance.code.file, instance.code.text, ptx::warp_size_of(config.sm.warp_width)),
                memory, {config.sm.warp_width}) {
    instance.program->allocate(memory);
  }
  ProgramInstance instance;
  GuestMemory memory;
  ptx::Machine machine;
};

struct Outcome {
  u64 preempted = 0, memory = 0, thread_instructions = 0;
  CheckResult check;
};

/// The workload beside GUPS on four SMs; at each epoch another of the three SMs that are not GUPS's alone changes hands.
Outcome run(const std::string& workload, bool preempts, Scheduler::Options options = {}) {
  GpuConfig config = machine_with("dws_30sm", {}, {"sm.count=4"});
  config.run.epoch = kEpoch;
  WorkloadTenant tenant(config, workload), other(config, "gups");
  auto partitioner = std::make_unique<ScriptedPartitioner>([&](const SmPartitioner::Situation& now, SmPlan plan) {
    if (!preempts || now.occasion != SmPartitioner::Occasion::kEpoch) return plan;
    plan.leave.fill(Leave::kPreempt);
    for (u32 sm = 0; sm < 3; ++sm) plan.sms[sm].owner = TenantId(now.now / kEpoch % 3 == sm ? 0 : 1);
    return plan;
  });
  Gpu gpu(config,
          {{workload, tenant.instance.program.get(), &tenant.memory, &tenant.machine, {0, 1, 2}},
           {"gups", other.instance.program.get(), &other.memory, &other.machine, {3}}},
          options, std::move(partitioner));
  Outcome outcome;
  gpu.on_completion = [&](TenantId id) {
    if (gpu.progress(id).completed_runs > 1) return;
    if (id == TenantId(1)) {
      EXPECT_TRUE(other.instance.program->check(other.memory).passed);
      return;
    }
    outcome.check = tenant.instance.program->check(tenant.memory);
    outcome.memory = tenant.memory.digest();
    outcome.thread_instructions = gpu.progress(id).completed_thread_instructions;
  };
  gpu.run({});
  std::istringstream lines(gpu.stats().csv());
  const std::string name = "gpu.partition.preempted_blocks{tenant=0},";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name)) outcome.preempted = std::stoull(line.substr(name.size()));
  }
  return outcome;
}

class PreemptedWorkload : public testing::TestWithParam<const char*> {};

TEST_P(PreemptedWorkload, GivesTheSameResults) {
  const Outcome whole = run(GetParam(), false), moved = run(GetParam(), true);
  EXPECT_EQ(whole.preempted, 0u);
  EXPECT_GT(moved.preempted, 5u) << "the test would show nothing";
  EXPECT_TRUE(moved.check.passed) << moved.check.message;
  EXPECT_EQ(moved.memory, whole.memory);
  EXPECT_EQ(moved.thread_instructions, whole.thread_instructions) << "nothing is done twice";
  EXPECT_EQ(run(GetParam(), true, {.sleep = false, .permute_seed = 3}).memory, whole.memory);
}

// Shared memory and barriers, divergent loops, recursion over launches; none whose result depends on timing.
INSTANTIATE_TEST_SUITE_P(Of, PreemptedWorkload, testing::Values("mm", "hs", "nw", "lavamd", "bino", "srad"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace terrace
