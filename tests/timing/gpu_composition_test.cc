// Designs of different papers together: each does its part.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "timing/tenant_runs.h"

namespace terrace {
namespace {

RunRequest request_of(const std::vector<std::string>& designs) {
  // Few walkers, so that walks wait.
  RunRequest request = tenant_run("gups mm gups", {"mmu.walkers=4"}, designs);
  request.check = true;
  return request;
}

TEST(Composition, StealingBetweenTenantsAndSimtAwareOrderWithinThemWorkTogether) {
  for (const char* stealing : {"dws", "dws_pp"}) {
    const RunResult both = expect_laws(request_of({stealing, "simt_aware"}));
    EXPECT_TRUE(both.checks_passed);
    u64 stolen = 0;
    for (const Tree& tenant : both.json.find("tenants")->items())
      stolen += std::get<u64>(tenant.find("translation")->find("stolen")->value);
    EXPECT_GT(stolen, 0u) << stealing;
    EXPECT_NE(digest_of(both), digest_of(simulate(request_of({stealing})))) << "the order inside queues matters";
  }
}

TEST(Composition, TheOrderInWhichDesignsAreNamedDoesNotMatter) {
  EXPECT_EQ(digest_of(simulate(request_of({"dws", "simt_aware"}))),
            digest_of(simulate(request_of({"simt_aware", "dws"}))));
}

}  // namespace
}  // namespace terrace
