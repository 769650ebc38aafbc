// More SMs do no harm: a program that already has all of memory's bandwidth keeps it when SMs are added. A memory that
// serves more streams with fewer row hits, or a queue too short to find them, would lose throughput.
//
// lbm writes each line in two steps, and with all SMs the lines under way are several times the L2, which then writes them
// out half done. It keeps its bandwidth because an L2 fetches no line for a partial store (`l2.partial_stores`).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "substrate/machines.h"

namespace terrace {
namespace {

struct Program {
  const char* name;
  const char* until;  // a program of few blocks is cut, so that those of the last round do not decide
};
constexpr Program kPrograms[] = {
    {"blk", "completed"}, {"3ds", "completed"}, {"sad", "cycles:50000"}, {"lbm", "completed"}, {"gups", "cycles:60000"},
};

class SmCount : public testing::TestWithParam<Machine> {};

TEST_P(SmCount, AddedSmsTakeNothingFromASaturatingProgram) {
  const Machine& machine = GetParam();
  for (const Program& program : kPrograms) {
    double best = 0;
    for (const u32 sms : {machine.sms / 2, machine.sms * 3 / 4, machine.sms}) {
      const std::vector<std::string> sets{fmt::format("run.sms=[{}]", sms), fmt::format("run.until={}", program.until)};
      const double ipc = total_ipc(run_on(machine.name, "ideal", program.name, sets));
      EXPECT_GE(ipc, 0.97 * best) << program.name << " on " << sms << " SMs";
      best = std::max(best, ipc);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, SmCount, testing::ValuesIn(machines()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace terrace
