// terrace run, as a user meets it.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <regex>
#include <thread>

#include "support/gunzip.h"
#include "support/program.h"
#include "support/scratch.h"
#include "text/tree.h"

namespace terrace {
namespace {

std::string digest_in(const Scratch& scratch, const std::string& file) {
  const Tree result = read_json((scratch.path() / file).string());
  return std::get<std::string>(result.find("run")->find("digest")->value);
}

TEST(Run, WritesATableAndAResultFile) {
  const Scratch scratch;
  const Outcome outcome = run_terrace({"run", "--gpu", "dws_30sm", "--design", "ideal", "--tenant", "gups", "--tenant",
                                       "mm", "--size", "mini", "--check", "--json", "r.json", "--quiet"},
                                      scratch.path().string());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_NE(outcome.out.find("gups     15"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("FAILED"), std::string::npos) << outcome.out;
  const Tree result = read_json((scratch.path() / "r.json").string());
  EXPECT_EQ(*result.find("schema"), Tree("terrace.run/1"));
  for (const char* part : {"version", "config", "run", "tenants", "kernels", "metrics", "stats"}) {
    EXPECT_NE(result.find(part), nullptr) << part;
  }
  EXPECT_EQ(result.find("tenants")->items().size(), 2u);
  EXPECT_NE(outcome.out.find(digest_in(scratch, "r.json")), std::string::npos);
}

TEST(Run, GivesTheSameResultOnAnyNumberOfThreads) {
  const Scratch scratch;
  std::string alone;
  for (const char* threads : {"1", "2", "3"}) {
    const Outcome outcome =
        run_terrace({"run", "--gpu", "dws_30sm", "--design", "dws", "--tenant", "gups", "--tenant", "mm", "--size",
                     "mini", "--check", "--threads", threads, "--json", "r.json", "--quiet"},
                    scratch.path().string());
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Tree result = read_json((scratch.path() / "r.json").string());
    EXPECT_EQ(*result.find("run")->find("threads"), Tree(u64{static_cast<u64>(threads[0] - '0')}));
    if (alone.empty()) alone = digest_in(scratch, "r.json");
    EXPECT_EQ(digest_in(scratch, "r.json"), alone) << threads << " threads";
  }
}

TEST(Run, AThreadTakesUpNoMoreRegistersThanAMachineGivesIt) {
  // Four warps of 32 threads with 40 registers each need 5,120.
  const Scratch scratch;
  const auto run_with = [&](const std::string& most) {
    return run_terrace({"run", "--gpu", "dws_30sm", "--tenant", "mm", "--size", "mini", "--check", "--set",
                        "sm.registers=4096", "--set", "sm.thread_registers=" + most, "--quiet"},
                       scratch.path().string());
  };
  EXPECT_EQ(run_with("32").exit_code, 0);
  EXPECT_EQ(run_with("33").exit_code, 2) << "registers are taken by eight";
}

TEST(Run, WritesATimelineWithALineForEachEpoch) {
  const Scratch scratch;
  const Outcome outcome =
      run_terrace({"run", "--gpu", "dws_30sm", "--tenant", "mm", "--size", "mini", "--until", "cycles:4500", "--set",
                   "run.epoch=1000", "--timeline", "t.csv", "--timeline-of", "gpu.mmu.0.walks_done", "--quiet"},
                  scratch.path().string());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string csv = read_file((scratch.path() / "t.csv").string());
  EXPECT_EQ(csv.substr(0, csv.find('\n')), "cycle,\"gpu.mmu.0.walks_done{tenant=0}\"");
  for (const char* cycle : {"\n1000,", "\n2000,", "\n3000,", "\n4000,", "\n4500,"})
    EXPECT_NE(csv.find(cycle), std::string::npos) << csv;
}

TEST(Run, WritesATimelineOfTraceEventsThatIsGzippedAndAlwaysTheSame) {
  const Scratch scratch;
  for (const char* name : {"a.json.gz", "b.json.gz"}) {
    const Outcome outcome = run_terrace({"run", "--gpu", "dws_30sm", "--tenant", "mm", "--size", "mini", "--timeline",
                                         name, "--json", "r.json", "--quiet"},
                                        scratch.path().string());
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  const std::string packed = read_file((scratch.path() / "a.json.gz").string());
  EXPECT_EQ(packed, read_file((scratch.path() / "b.json.gz").string()));
  const Tree trace = parse_json(gunzip(packed), "a.json.gz");
  const Tree result = read_json((scratch.path() / "r.json").string());
  u64 kernels = 0;
  for (const Tree& event : trace.find("traceEvents")->items()) {
    const Tree* kind = event.find("cat");
    kernels += kind != nullptr && *kind == Tree("kernel");
    if (const Tree* at = event.find("ts")) {
      EXPECT_TRUE(std::holds_alternative<u64>(at->value)) << event.text();
    }
  }
  EXPECT_EQ(kernels, result.find("kernels")->items().size());
  EXPECT_EQ(*trace.find("otherData")->find("cycles"), *result.find("run")->find("cycles"));
}

TEST(Run, GivenBackItsOwnResultReproducesItBitForBit) {
  const Scratch scratch;
  const std::string folder = scratch.path().string();
  const Outcome first = run_terrace({"run", "--gpu", "simt_8cu", "--tenant", "atax", "--size", "mini", "--seed", "7",
                                     "--set", "l2.hit_cycles=33", "--json", "a.json", "--quiet"},
                                    folder);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const Outcome again = run_terrace({"run", "--gpu", "a.json", "--json", "b.json", "--quiet"}, folder);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(digest_in(scratch, "a.json"), digest_in(scratch, "b.json"));
  EXPECT_EQ(run_terrace({"diff", "a.json", "b.json"}, folder).exit_code, 0);
  // And the settings matter: without them it is another run.
  run_terrace({"run", "--gpu", "simt_8cu", "--tenant", "atax", "--size", "mini", "--json", "c.json", "--quiet"},
              folder);
  EXPECT_NE(digest_in(scratch, "a.json"), digest_in(scratch, "c.json"));
}

/// docs/add_a_workload.md shows it: a buffer under two names, one of which is unmapped, and both kinds of protection.
TEST(Run, AFileMapsABufferTwiceUnmapsAndProtects) {
  const Scratch scratch;
  const std::string folder = scratch.path().string();
  const std::string file = source_folder() + "/docs/examples/synonyms/synonyms.toml";
  const Outcome exec = run_terrace({"exec", file, "--check"}, folder);
  EXPECT_EQ(exec.exit_code, 0) << exec.out << exec.err;
  for (const std::string design : {"vc_opt", "baseline_16k"}) {
    const Outcome run = run_terrace(
        {"run", "--gpu", "vc_16cu", "--design", design, "--tenant", file, "--check", "--json", "r.json", "--quiet"},
        folder);
    EXPECT_EQ(run.exit_code, 0) << design << run.out << run.err;
    EXPECT_EQ(run.out.find("FAILED"), std::string::npos) << run.out;
  }
  // A virtual L1 without a table cannot keep a name that is written in step with the other: both are read-only here.
  EXPECT_EQ(
      run_terrace({"run", "--gpu", "vc_16cu", "--design", "l1_vc_32", "--tenant", file, "--quiet"}, folder).exit_code,
      0);
}

/// Without `read_only`, the kernel that writes to the table through one name and reads the other ends with a fault.
TEST(Run, ReadWriteSynonymsEndWithASentenceThatNamesBothAddresses) {
  const Scratch scratch;
  const std::string folder = scratch.path().string();
  scratch.write("rw.cu", R"(#include "terrace_device.h"
extern "C" __global__ void k(const u32* a, u32* b, u32 n) {
  const u32 i = global_thread();
  if (i < n) b[i] = a[n - 1 - i];
}
)");
  scratch.write("rw.toml", R"(source = "rw.cu"
[[buffer]]
name = "a"
type = "u32"
count = 4096
[[buffer]]
name = "b"
same_as = "a"
[[launch]]
kernel = "k"
grid = [16]
block = [256]
args = ["a", "b", { u32 = 4096 }]
)");
  const Outcome run =
      run_terrace({"run", "--gpu", "vc_16cu", "--design", "vc_opt", "--tenant", "rw.toml", "--quiet"}, folder);
  EXPECT_NE(run.exit_code, 0);
  const std::string all = run.out + run.err;
  EXPECT_NE(all.find("tenant 0, rw.toml, was ended by a fault: a kernel "), std::string::npos) << all;
  EXPECT_NE(all.find("which is cached under its other name, 0x"), std::string::npos) << all;
  EXPECT_NE(all.find("map memory that kernels write to only once"), std::string::npos) << all;
  const Outcome counted = run_terrace({"run", "--gpu", "vc_16cu", "--design", "vc_opt", "--tenant", "rw.toml", "--set",
                                       "fbt.rw_synonyms=count", "--quiet"},
                                      folder);
  EXPECT_EQ(counted.exit_code, 0) << counted.err;
}

TEST(Run, InterruptedEndsWithinTwoSecondsAndLeavesNoFile) {
  const Scratch scratch;
  Child child(
      terrace_program(),
      {"run", "--gpu", "dws_30sm", "--tenant", "mm", "--size", "paper", "--json", "r.json", "--timeline", "t.json.gz"},
      scratch.path().string());
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const auto from = std::chrono::steady_clock::now();
  child.signal(SIGINT);
  const Outcome outcome = child.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - from, std::chrono::seconds(2));
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_NE(outcome.err.find("interrupted"), std::string::npos) << outcome.err;
  EXPECT_EQ(scratch.files(), 0u);
}

TEST(Run, LogsOneUnitInTheCyclesAskedFor) {
  const Scratch scratch;
  const Outcome outcome = run_terrace(
      {"run", "--gpu", "dws_30sm", "--tenant", "mm", "--size", "mini", "--log", "dispatcher@1000:1001", "--quiet"},
      scratch.path().string());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.substr(0, outcome.out.find('\n')), "      1000  block 0 of tenant 0 goes to SM 0");
  EXPECT_EQ(outcome.out.find("      1001  "), std::string::npos) << "a line beyond the last cycle";
}

TEST(Run, LogsWhoAskedForALineAndForWhichPage) {
  const Scratch scratch;
  const auto log = [&](const std::string& what) {
    return run_terrace({"run", "--gpu", "dws_30sm", "--tenant", "mm", "--size", "mini", "--log", what, "--quiet"},
                       scratch.path().string())
        .out;
  };
  const std::string l2 = log("l2.0@0:1000000");
  EXPECT_TRUE(std::regex_search(l2, std::regex("  line 0x[0-9a-f]*[08]0 for SM \\d+ misses\n"))) << l2;
  EXPECT_TRUE(std::regex_search(l2, std::regex("  line 0x[0-9a-f]*[08]0 arrives from memory\n"))) << l2;
  EXPECT_TRUE(std::regex_search(l2, std::regex("  replies to SM \\d+\n"))) << l2;
  const std::string mmu = log("mmu.0@0:1000000");
  EXPECT_TRUE(std::regex_search(mmu, std::regex("  page 0x[0-9a-f]+000 of tenant 0 starts at once\n"))) << mmu;
}

TEST(Run, LogsTheCommandsOfAMemoryChannel) {
  const Scratch scratch;
  const Outcome outcome = run_terrace(
      {"run", "--gpu", "dws_30sm", "--tenant", "mm", "--size", "mini", "--log", "dram.3@0:1000000", "--quiet"},
      scratch.path().string());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* const command : {"ACT", "RD"}) {
    const std::regex line(std::string(" *\\d+  ") + command + " bank \\d+ row \\d+, command clock \\d+\n");
    EXPECT_TRUE(std::regex_search(outcome.out, line)) << command;
  }
}

TEST(Run, AloneFillsInRelativeMetricsAndNamesTheirReference) {
  const Scratch scratch;
  const Outcome outcome =
      run_terrace({"run", "--gpu", "dws_30sm", "--design", "dws", "--tenant", "gups", "--tenant", "mm:arrive=500",
                   "--size", "mini", "--sms", "10,20", "--alone", "--json", "r.json", "--quiet"},
                  scratch.path().string());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Tree result = read_json((scratch.path() / "r.json").string());
  const std::string reference = "alone on as many SMs as in the shared run under baseline";
  double sum = 0;
  for (u32 i = 0; i < 2; ++i) {
    const Tree& tenant = result.find("tenants")->items()[i];
    const double alone = std::get<double>(tenant.find("alone_ipc")->value);
    // The same run, asked for by itself.
    const Outcome by_itself =
        run_terrace({"run", "--gpu", "dws_30sm", "--design", "baseline", "--tenant", i == 0 ? "gups" : "mm", "--size",
                     "mini", "--sms", i == 0 ? "10" : "20", "--json", "alone.json", "--quiet"},
                    scratch.path().string());
    ASSERT_EQ(by_itself.exit_code, 0) << by_itself.err;
    const Tree single = read_json((scratch.path() / "alone.json").string());
    EXPECT_EQ(*single.find("tenants")->items()[0].find("ipc"), Tree(alone));
    EXPECT_EQ(*tenant.find("reference"), Tree(reference));
    sum += std::get<double>(tenant.find("ipc")->value) / alone;
  }
  EXPECT_DOUBLE_EQ(std::get<double>(result.find("metrics")->find("weighted_ipc")->value), sum);
  EXPECT_EQ(*result.find("metrics")->find("reference"), Tree(reference));
  EXPECT_NE(outcome.out.find("fairness "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(reference), std::string::npos) << outcome.out;
}

/// Writes a program that reads beyond its only buffer.
void write_faulty(const Scratch& scratch) {
  scratch.write("walk.ptx", R"(.version 7.8
.target sm_70
.address_size 64
.visible .entry walk(.param .u64 a) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [a];
  ld.global.u32 %r1, [%rd1+4096];
  ret;
}
)");
  scratch.write("walk.toml",
                "source = \"walk.ptx\"\n[[buffer]]\nname = \"a\"\ntype = \"f32\"\ncount = 1024\n"
                "[[launch]]\nkernel = \"walk\"\nargs = [\"a\"]\n");
}
constexpr const char* kFault =
    "kernel walk, walk.ptx:8, \"ld.global.u32 %r1, [%rd1+4096]\": lane 0 of warp 0 of block 0 reads 4 bytes at "
    "0x100001000, outside any allocation; the nearest is \"a\", 4096 bytes from 0x100000000\n";

TEST(Run, WhoseOnlyTenantFaultsExitsAsExecDoesWithTheFaultOnStandardErrorAndStillWritesItsResult) {
  const Scratch scratch;
  const std::string folder = scratch.path().string();
  write_faulty(scratch);
  const Outcome exec = run_terrace({"exec", "walk.toml"}, folder);
  EXPECT_EQ(exec.exit_code, 2);
  EXPECT_EQ(exec.err, std::string("terrace: ") + kFault);
  for (const bool check : {false, true}) {
    std::vector<std::string> words{"run", "--gpu", "dws_30sm", "--tenant", "walk.toml", "--json", "r.json", "--quiet"};
    if (check) words.emplace_back("--check");
    const Outcome run = run_terrace(words, folder);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_EQ(run.err, std::string("terrace: tenant 0, walk.toml, was ended by a fault: ") + kFault);
    const Tree result = read_json((scratch.path() / "r.json").string());
    EXPECT_EQ(result.find("tenants")->items()[0].find("faults")->items().size(), 1u);
    std::filesystem::remove(scratch.path() / "r.json");
  }
}

TEST(Run, WithATenantThatGoesOnUnharmedTellsOfTheFaultAndExitsWithZero) {
  const Scratch scratch;
  write_faulty(scratch);
  const Outcome outcome =
      run_terrace({"run", "--gpu", "dws_30sm", "--tenant", "mm", "--tenant", "walk.toml", "--size", "mini", "--quiet"},
                  scratch.path().string());
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, std::string("terrace: tenant 1, walk.toml, was ended by a fault: ") + kFault);
}

TEST(Run, TellsOfEveryTenantThatFaults) {
  const Scratch scratch;
  write_faulty(scratch);
  const Outcome outcome =
      run_terrace({"run", "--gpu", "dws_30sm", "--tenant", "walk.toml", "--tenant", "walk.toml", "--quiet"},
                  scratch.path().string());
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, std::string("terrace: tenant 0, walk.toml, was ended by a fault: ") + kFault +
                             "terrace: tenant 1, walk.toml, was ended by a fault: " + kFault);
}

TEST(Run, StopsAtALimitOfCycles) {
  const Scratch scratch;
  const Outcome outcome = run_terrace(
      {"run", "--gpu", "dws_30sm", "--tenant", "mm", "--until", "cycles:5000", "--quiet"}, scratch.path().string());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("5000 cycles on dws_30sm"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("capped"), std::string::npos) << outcome.out;
}

TEST(Run, HasRelativeMetricsOfAWindowInWhichATenantDoesNotComplete) {
  const Scratch scratch;
  const Outcome outcome = run_terrace({"run", "--gpu", "dws_30sm", "--tenant", "mm", "--tenant", "gups:updates=512",
                                       "--size", "mini", "--until", "window:60000", "--alone", "--json", "r.json"},
                                      scratch.path().string());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Tree result = read_json((scratch.path() / "r.json").string());
  EXPECT_EQ(*result.find("run")->find("cycles"), Tree(u64{60000}));
  const auto& tenants = result.find("tenants")->items();
  EXPECT_GT(std::get<u64>(tenants[0].find("completed_runs")->value), 1u);
  EXPECT_EQ(*tenants[1].find("completed_runs"), Tree(u64{0}));
  double sum = 0;
  for (const Tree& tenant : tenants) {
    const double alone = std::get<double>(tenant.find("alone_ipc")->value);
    ASSERT_GT(alone, 0.0);
    sum += std::get<double>(tenant.find("ipc")->value) / alone;
  }
  EXPECT_DOUBLE_EQ(std::get<double>(result.find("metrics")->find("weighted_speedup")->value), sum);
}

}  // namespace
}  // namespace terrace
