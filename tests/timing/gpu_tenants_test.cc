// Tenants on one GPU: a fault ends its own tenant only, and warm-up is left out of statistics.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "support/scratch.h"
#include "timing/tenant_runs.h"

namespace terrace {
namespace {

constexpr const char* kWalker = R"(.version 7.8
.target sm_70
.address_size 64
.visible .entry walk(.param .u64 a) {
  .reg .b64 %rd<3>; .reg .f32 %f<2>;
  ld.param.u64 %rd1, [a];
LOOP:
  ld.global.f32 %f1, [%rd1];
  add.s64 %rd1, %rd1, 128;
  bra.uni LOOP;
}
)";

TEST(Tenants, AFaultEndsItsOwnTenantAndNamesKernelInstructionAndAddress) {
  const Scratch scratch;
  scratch.write("walk.ptx", kWalker);
  const std::string file =
      scratch.write("walk.toml",
                    "source = \"walk.ptx\"\n[[buffer]]\nname = \"a\"\ntype = \"f32\"\ncount = 1024\n"
                    "[[launch]]\nkernel = \"walk\"\ngrid = [8]\nblock = [64]\nargs = [\"a\"]\n");
  RunRequest request = tenant_run("mm " + file);
  request.check = true;
  const RunResult result = simulate(request);
  const Tree::List& tenants = result.json.find("tenants")->items();
  ASSERT_EQ(tenants.size(), 2u);
  EXPECT_EQ(*tenants[0].find("completed_runs"), Tree(u64{1}));
  EXPECT_EQ(*tenants[0].find("check")->find("passed"), Tree(true));
  EXPECT_TRUE(tenants[0].find("faults")->items().empty());
  EXPECT_EQ(*tenants[1].find("completed_runs"), Tree(u64{0}));
  ASSERT_EQ(tenants[1].find("faults")->items().size(), 1u);
  const std::string fault = std::get<std::string>(tenants[1].find("faults")->items()[0].value);
  for (const char* part : {"kernel walk", "walk.ptx:8", "ld.global.f32", "0x100001000", "\"a\""}) {
    EXPECT_NE(fault.find(part), std::string::npos) << fault;
  }
}

u64 issued(const RunResult& result) {
  u64 total = 0;
  for (const auto& [name, sm] : result.json.find("stats")->find("gpu")->find("sm")->members()) {
    for (const Tree& count : sm.find("warp_instructions")->find("tenants")->items())
      total += std::get<u64>(count.value);
  }
  return total;
}

TEST(Tenants, WarmUpIsLeftOutOfStatisticsAndChangesNothingElse) {
  RunRequest request = tenant_run("mm");
  const RunResult whole = simulate(request);
  request.config.run.warmup = 5000;
  const RunResult warmed = simulate(request);
  EXPECT_EQ(*whole.json.find("run")->find("cycles"), *warmed.json.find("run")->find("cycles"));
  EXPECT_EQ(issued(whole), std::get<u64>(whole.json.find("run")->find("warp_instructions")->value));
  EXPECT_LT(issued(warmed), issued(whole));
  EXPECT_GT(issued(warmed), 0u);
}

u64 walks_of(const RunResult& result, u32 tenant) {
  return number(*tenant_of(result, tenant).find("translation"), "walks");
}

TEST(Tenants, ARelaunchedTenantFindsItsTranslationsUnlessTheyAreFlushed) {
  // MM at mini runs several times while GUPS runs once.
  RunRequest request = tenant_run("gups:updates=128 mm");
  const RunResult kept = simulate(request);
  request.config.tenancy.flush_on_relaunch = true;
  const RunResult flushed = simulate(request);
  EXPECT_GT(number(tenant_of(kept, 1), "completed_runs"), 1u);
  EXPECT_GT(walks_of(flushed, 1), walks_of(kept, 1));
}

}  // namespace
}  // namespace terrace
