// terrace cuda: processes as tenants.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/program.h"
#include "support/scratch.h"
#include "text/tree.h"

namespace terrace {
namespace {

std::string api(const std::string& form = "zstd") {
  return build_folder() + "/tests/cuda/api_" + form;
}

Outcome run_cuda(std::vector<std::string> words, const Scratch& scratch) {
  std::vector<std::string> all{"cuda", "--gpu", "dws_30sm", "--quiet"};
  all.insert(all.end(), words.begin(), words.end());
  return run_terrace(all, scratch.path().string());
}

Tree result_in(const Scratch& scratch) {
  return read_json((scratch.path() / "r.json").string());
}
u64 cycles_in(const Scratch& scratch) {
  return std::get<u64>(result_in(scratch).find("run")->find("cycles")->value);
}

TEST(Cuda, ServesTheCallsOfAProgramWhosePtxIsPlainOrCompressed) {
  const Scratch scratch;
  std::string digests;  // managed memory has the same addresses each time
  for (const char* form : {"plain", "lz4", "zstd"}) {
    const Outcome outcome = run_cuda({"--", api(form), "all"}, scratch);
    EXPECT_EQ(outcome.exit_code, 0) << form << outcome.out << outcome.err;
    EXPECT_NE(outcome.out.find("all parts passed\n"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("passed: exit code 0"), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.err, "terrace: cudaGraphCreate is not supported\n");
    const std::string digest = outcome.out.substr(outcome.out.find("digest "), 23);
    if (digests.empty()) digests = digest;
    EXPECT_EQ(digest, digests);
  }
}

TEST(Cuda, ShowsWhatKernelsPrintWhereTheProgramPrints) {
  const Scratch scratch;
  const Outcome outcome = run_cuda({"--", api(), "print"}, scratch);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(
      outcome.out.starts_with("before\n7 squared is 49 (device, 0.0)\n8 squared is 64 (device, 0.5)\n"
                              "9 squared is 81 (device, 1.0)\nafter\n1 squared is 1 (device, 0.0)\n"))
      << outcome.out;
}

void expect_one_digest(int runs) {
  std::string digest;
  for (int i = 0; i < runs; ++i) {
    const Scratch scratch;
    const Outcome outcome = run_cuda(
        {"--json", "r.json", "--", api(), "add", "6", "--", api(), "add", "3", "--", api(), "unfinished"}, scratch);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_NE(outcome.out.find("sum 15\n"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("sum 3\n"), std::string::npos) << outcome.out;
    const Tree result = result_in(scratch);
    ASSERT_EQ(result.find("tenants")->items().size(), 3u);
    EXPECT_EQ(result.find("kernels")->items().size(), 6u + 3u + 1u);
    const std::string its = std::get<std::string>(result.find("run")->find("digest")->value);
    if (i == 0) digest = its;
    EXPECT_EQ(its, digest);
  }
}

TEST(Cuda, RunsProcessesAsTenantsWithOneDigestEachTime) {
  expect_one_digest(3);
}

TEST(CudaLong, DISABLED_GivesAHundredRunsOfThreeProcessesOneDigest) {
  expect_one_digest(100);
}

TEST(Cuda, EndsOnlyTheTenantOfAHostThatFaultsDiesOrHangs) {
  const Scratch scratch;
  Outcome outcome = run_cuda({"--", api(), "fault", "--", api(), "add", "8"}, scratch);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("sum 28\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("was ended by a fault: kernel"), std::string::npos) << outcome.err;

  outcome = run_cuda({"--", api(), "killed", "--", api(), "add", "8"}, scratch);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("sum 28\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("FAILED: ended by signal 9"), std::string::npos) << outcome.out;

  outcome = run_cuda({"--host-timeout", "1", "--", api(), "hang", "--", api(), "add", "8"}, scratch);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("sum 28\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("made no call for 1 s"), std::string::npos) << outcome.out;
}

TEST(Cuda, GivesHostCallsTimeWhenTheConfigurationSaysSo) {
  const Scratch without, with;
  ASSERT_EQ(run_cuda({"--json", "r.json", "--", api(), "add", "4"}, without).exit_code, 0);
  ASSERT_EQ(
      run_cuda({"--json", "r.json", "--set", "tenancy.host_call_cycles=5000", "--", api(), "add", "4"}, with).exit_code,
      0);
  // Before its first launch the process has made at least five calls that reach the simulator.
  EXPECT_GT(cycles_in(with), cycles_in(without) + 5 * 5000);
}

TEST(Cuda, ServesAScriptWhoseProgramsFollowEachOther) {
  const Scratch scratch;
  const Outcome outcome =
      run_cuda({"--json", "r.json", "--", "/bin/sh", "-c", api() + " add 3 && " + api() + " add 4"}, scratch);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("sum 3\nsum 6\n"), std::string::npos) << outcome.out;
  EXPECT_EQ(result_in(scratch).find("kernels")->items().size(), 3u + 4u);
}

TEST(Cuda, RefusesWhatItCannotRun) {
  const Scratch scratch;
  const auto refusal = [&](const std::vector<std::string>& words) {
    const Outcome outcome = run_cuda(words, scratch);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_EQ(refusal({}),
            "terrace: cuda: give a program after --, such as terrace cuda --gpu dws_30sm -- ./app; see terrace cuda "
            "--help\n");
  EXPECT_EQ(refusal({"--", api(), "--"}), "terrace: cuda: no program follows a --; see terrace cuda --help\n");
  EXPECT_EQ(refusal({"--", "./no_such_program"}),
            "terrace: cannot start ./no_such_program: No such file or directory; give the program after --, as on a "
            "command line\n");
  EXPECT_NE(refusal({"--host-timeout", "soon", "--", api()}).find("--host-timeout must be a whole number"),
            std::string::npos);
  EXPECT_NE(refusal({"--until", "window:1000", "--", api()}).find("a process runs only once"), std::string::npos);
  EXPECT_NE(refusal({"--tenant", "mm", "--", api()}).find("no option --tenant"), std::string::npos);
}

}  // namespace
}  // namespace terrace
