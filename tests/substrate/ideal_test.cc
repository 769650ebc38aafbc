// An upper bound is one: a program runs on every machine at least as fast when translation costs nothing as under any
// design. It need not: without translation more lines are under way, and a memory that loses its open rows to them
// gets slower.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "substrate/machines.h"

namespace terrace {
namespace {

class Ideal : public testing::TestWithParam<Machine> {};

TEST_P(Ideal, IsNoSlowerThanAnyDesign) {
  const Machine& machine = GetParam();
  // Streams, a stencil, and walks without end; on half of the SMs, as beside another tenant, and on all.
  for (const char* program : {"blk", "3ds", "sad"}) {
    for (const u32 sms : {machine.sms / 2, machine.sms}) {
      const std::vector<std::string> sets{fmt::format("run.sms=[{}]", sms)};
      const double ideal = total_ipc(run_on(machine.name, "ideal", program, sets));
      for (const std::string& design : machine.designs) {
        if (total_ipc(run_on(machine.name, design, program, sets)) <= 1.01 * ideal) continue;
        // One seed leaves a doubt: several must agree.
        EXPECT_LE(mean_ipc(machine.name, design, program, sets), 1.01 * mean_ipc(machine.name, "ideal", program, sets))
            << program << " on " << sms << " SMs under " << design;
      }
    }
  }
}

/// Those whose designs differ from ideal.
std::vector<Machine> translating() {
  std::vector<Machine> some;
  for (Machine machine : machines()) {
    // A program alone on DWS's machine: designs that differ in how tenants share walkers are the baseline to it.
    if (machine.designs.size() > 3) machine.designs = {"baseline", "baseline_2048_32", "baseline_32ptw", "dws"};
    if (!machine.designs.empty()) some.push_back(machine);
  }
  return some;
}
INSTANTIATE_TEST_SUITE_P(Machines, Ideal, testing::ValuesIn(translating()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace terrace
