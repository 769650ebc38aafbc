// Real kernels whose blocks are taken off their SMs again and again: their results are those of an undisturbed run.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "engine/rng.h"
#include "frontend/ptx/execute/machine.h"
#include "frontend/ptx/read/parser.h"
#include "frontend/workload.h"
#include "gpu/gpu.h"
#include "timing/tenant_runs.h"

namespace terrace {
namespace {

/// At random cycles one of three SMs becomes the first tenant's, and the other two the second's.
class RandomPartitioner final : public SmPartitioner {
 public:
  explicit RandomPartitioner(bool preempts) : preempts_(preempts) {}

  SmPlan divide(const Situation& now, const SmPlan& plan) override {
    if (!preempts_) return plan;
    if (now.occasion == Occasion::kAppointment || next_ == kNever) next_ = now.now + 1 + rng_.below(900);
    if (now.occasion != Occasion::kAppointment) return plan;
    SmPlan next = plan;
    next.leave.fill(Leave::kPreempt);
    const u64 whose = rng_.below(3);
    for (u32 sm = 0; sm < 3; ++sm) next.sms[sm].owner = TenantId(whose == sm ? 0 : 1);
    return next;
  }
  Cycle appointment() const override { return next_; }
  void archive(Archive& a) override { a(rng_, next_); }

 private:
  const bool preempts_;
  Rng rng_{1, "preemptions"};
  Cycle next_ = kNever;
};

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

/// The workload beside GUPS on four SMs.
Outcome run(const std::string& workload, bool preempts, Scheduler::Options options = {}) {
  const GpuConfig config = machine_with("dws_30sm", {}, {"sm.count=4"});
  WorkloadTenant tenant(config, workload), other(config, "gups");
  Gpu gpu(config,
          {{workload, tenant.instance.program.get(), &tenant.memory, &tenant.machine, {0, 1, 2}},
           {"gups", other.instance.program.get(), &other.memory, &other.machine, {3}}},
          options, std::make_unique<RandomPartitioner>(preempts));
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

class EveryPreemptedWorkload : public testing::TestWithParam<std::string> {};

TEST_P(EveryPreemptedWorkload, PassesItsOwnCheck) {
  const Outcome moved = run(GetParam(), true);
  EXPECT_GT(moved.preempted, 0u) << "the test would show nothing";
  EXPECT_TRUE(moved.check.passed) << moved.check.message;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Workload* workload : all_workloads()) names.emplace_back(workload->info().name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Of, EveryPreemptedWorkload, testing::ValuesIn(all_names()),
                         [](const auto& tested) { return "of_" + tested.param; });

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
