// terrace sweep and terrace report, as a user meets them: interrupted, killed, out of disk, two at once.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <thread>

#include "engine/check.h"
#include "engine/rng.h"
#include "store/store.h"
#include "support/paths.h"
#include "support/program.h"
#include "support/scratch.h"
#include "text/tree.h"

namespace terrace {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

/// The smallest machine that runs everything, and runs of a moment: what is tested is what is around them.
constexpr const char* kSmallMachine = R"(
name = "small"
sm.count = 4
l2.bytes = 131072
l2.slices = 1
dram.channels = 1
tenancy.reference_sms = 4
)";
constexpr const char* kMoments = "gpu = \"small.toml\"\nsize = \"mini\"\nuntil = \"cycles:3000\"\n";

double seconds_since(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

class SweepCommand : public ::testing::Test {
 protected:
  void SetUp() override { scratch_.write("small.toml", kSmallMachine); }
  std::string folder() const { return scratch_.path().string(); }
  Outcome sweep(const std::string& store, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"sweep", "s.toml", "--store", store, "--jobs", "2", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return run_terrace(words, folder());
  }
  /// What `terrace report` says after a sweep of s.toml into a.db; it writes into r.
  std::string reported() {
    EXPECT_EQ(sweep("a.db").exit_code, 0);
    const Outcome report = run_terrace({"report", "--store", "a.db", "--out", "r"}, folder());
    EXPECT_EQ(report.exit_code, 0) << report.err;
    return report.out;
  }
  Child start(const std::string& store) {
    return Child(terrace_program(), {"sweep", "s.toml", "--store", store, "--jobs", "2", "--quiet"}, folder());
  }
  /// Everything that a store holds, but for how long it took.
  std::string contents(const std::string& store) {
    fs::remove_all(scratch_.path() / "report");
    const Outcome report = run_terrace({"report", "--store", store, "--out", "report", "--stats"}, folder());
    EXPECT_EQ(report.exit_code, 0) << report.err;
    std::string all;
    for (const char* table :
         {"jobs", "tenants", "kernels", "results", "metrics", "searches", "stats", "claims", "tables", "plots"})
      all += read_file((scratch_.path() / "report" / (std::string(table) + ".csv")).string());
    return all;
  }
  /// Nineteen jobs: mixes, their alone runs, and a search.
  void write_many() {
    scratch_.write("s.toml", fmt::format(R"(
[[grid]]
{}
mix = [["gups", "mm"]]
seed = [1, 2, 3, 4, 5]
[[search]]
name = "best"
{}
mix = [["gups", "cp"]]
[[claim]]
id = "mean"
value = 'mean(total_ipc[grid="grid1"])'
)",
                                         kMoments, kMoments));
  }
  bool left_over(const std::string& store) const { return fs::exists(scratch_.path() / (store + "-jobs")); }

  Scratch scratch_;
};

/// As ./demo runs it, on the smallest inputs: a design that lacks a statistic of the table would leave it out.
TEST_F(SweepCommand, RefusesOptionsOfAnotherExecutor) {
  scratch_.write("s.toml", std::string("[[grid]]\nworkload = \"mm\"\n") + kMoments);
  const auto said = [&](const std::vector<std::string>& more) {
    const Outcome outcome = sweep("a.db", more);
    EXPECT_EQ(outcome.exit_code, 2);
    return outcome.err;
  };
  EXPECT_EQ(said({"--slurm-option", "time=5"}),
            "terrace: sweep: --slurm-option has an effect only with --executor slurm\n");
  EXPECT_EQ(said({"--executor", "slurm", "--memory", "2G"}),
            "terrace: sweep: --memory is for jobs on this machine; with --executor slurm, give each job some with "
            "--slurm-option memory=2G\n");
  EXPECT_EQ(said({"--executor", "slurm", "--slurm-option", "time"}),
            "terrace: sweep: --slurm-option takes KEY=VALUE, such as time=2:00:00, not time\n");
  EXPECT_EQ(said({"--executor", "slurm", "--slurm-option", "tme=5"}),
            "terrace: --slurm-option: slurm has no key \"tme\"; did you mean \"time\"?\n");
  EXPECT_FALSE(fs::exists(scratch_.path() / "a.db"));
}

TEST_F(SweepCommand, TheTablesOfTheDemoAreWhole) {
  std::string demo = read_file(source_folder() + "/configs/experiments/demo.toml");
  const std::size_t size = demo.find("\"tiny\"");
  ASSERT_NE(size, demo.npos);
  scratch_.write("s.toml", demo.replace(size, 6, "\"mini\""));
  const std::string text = reported();
  for (const char* design : {"\nbaseline ", "\nmask ", "\ndws ", "\ndws_pp "}) EXPECT_THAT(text, HasSubstr(design));
  EXPECT_THAT(text, Not(HasSubstr("no value")));
}

TEST_F(SweepCommand, SaysHowManyThreadsAJobHasAndStoresTheSame) {
  scratch_.write("s.toml", std::string("[[grid]]\nworkload = [\"mm\", \"gups\"]\n") + kMoments);
  ASSERT_EQ(sweep("one.db").exit_code, 0);
  const Outcome two = run_terrace({"sweep", "s.toml", "--store", "two.db", "--jobs", "1", "--threads", "2"}, folder());
  EXPECT_EQ(two.exit_code, 0) << two.err;
  EXPECT_THAT(two.err, HasSubstr("sweep: 1 job at a time, 2 threads each\n"));
  EXPECT_EQ(contents("one.db"), contents("two.db"));
}

TEST_F(SweepCommand, RunsEachJobOnceAndNeverAgain) {
  write_many();
  const Outcome first = sweep("a.db");
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr(" 0 were already stored, 0 failed; results are in a.db\n"));
  EXPECT_THAT(first.out, HasSubstr("best: gups+cp shares small.toml as "));
  const std::string before = contents("a.db");
  const Outcome again = sweep("a.db");
  EXPECT_THAT(again.out, HasSubstr(" jobs: 0 ran, ")) << again.out;
  EXPECT_EQ(contents("a.db"), before);
  EXPECT_FALSE(left_over("a.db"));
}

TEST_F(SweepCommand, RunsTenantsAloneHoweverTheyShare) {
  std::string text;
  for (const char* set : {"partition.use = \"present\"", "sharing = \"time\""})
    text += fmt::format("[[grid]]\n{}mix = [[\"gups\", \"mm\"]]\nset.tenancy.reference_sms = 3\nset.tenancy.{}\n",
                        kMoments, set);
  scratch_.write("s.toml", text);
  const Outcome outcome = sweep("a.db");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("4 ran, 0 were already stored, 0 failed")) << "alone they are the same runs";
}

TEST_F(SweepCommand, KilledFiftyTimesEndsWithTheSameStore) {
  write_many();
  const auto from = std::chrono::steady_clock::now();
  ASSERT_EQ(sweep("whole.db").exit_code, 0);
  const double undisturbed = seconds_since(from);
  const std::string expected = contents("whole.db");
  Rng rng(20261115, "kill");
  u64 cut_short = 0;
  for (int kill = 0; kill < 50; ++kill) {
    Child child = start("killed.db");
    // Together they have two and a half times the time that is needed: kills fall on every part of the sweep.
    std::this_thread::sleep_for(
        std::chrono::duration<double>(undisturbed / 10 * static_cast<double>(rng.below(1000)) / 1000));
    child.signal(SIGKILL);
    cut_short += child.wait().exit_code == 1000 + SIGKILL;
  }
  EXPECT_GE(cut_short, 25u) << "most kills must find it at work";
  const Outcome last = sweep("killed.db");
  EXPECT_EQ(last.exit_code, 0) << last.err;
  EXPECT_EQ(contents("killed.db"), expected);
  EXPECT_FALSE(left_over("killed.db"));
}

TEST_F(SweepCommand, AFailedJobKeepsItsMessageAndDoesNotStopTheOthers) {
  // Two warps are too few for a block of either program.
  scratch_.write("s.toml", fmt::format("[[grid]]\n{}workload = [\"mm\", \"cp\"]\nset.sm.warps = [2, 16]\n", kMoments));
  const Outcome outcome = sweep("a.db");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("4 jobs: 4 ran, 0 were already stored, 2 failed"));
  EXPECT_THAT(outcome.out, HasSubstr("failed: small mm mini ("));
  EXPECT_THAT(contents("a.db"), HasSubstr("kernel sgemm_nt needs 4 warps"));
  // It lies in the job: it is not run again unless somebody asks.
  EXPECT_THAT(sweep("a.db").out, HasSubstr("4 jobs: 0 ran, 4 were already stored, 2 failed"));
  EXPECT_THAT(sweep("a.db", {"--retry-failed"}).out, HasSubstr("4 jobs: 2 ran, 2 were already stored, 2 failed"));
}

TEST_F(SweepCommand, CtrlCStopsItCleanlyAndARerunGoesOn) {
  // The long ones go first: they are under way for as long as it takes, while the short ones come and go.
  scratch_.write("s.toml", fmt::format("[[grid]]\n{}workload = \"gups\"\nseed = [1, 2, 3, 4]\n"
                                       "[[grid]]\ngpu = \"dws_30sm\"\nworkload = \"mm\"\nsize = \"paper\"\n",
                                       kMoments));
  Child child = start("a.db");
  const std::string store = (scratch_.path() / "a.db").string();
  const auto waiting = std::chrono::steady_clock::now();
  std::size_t stored = 0;
  while (stored < 4 && seconds_since(waiting) < 60) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    // Not there yet, or not ready yet, is no mistake here.
    try {
      stored = Store::existing(store).states().size();
    } catch (const InputError&) {
    }
  }
  const auto from = std::chrono::steady_clock::now();
  child.signal(SIGINT);
  const Outcome outcome = child.wait();
  EXPECT_LT(seconds_since(from), 5);
  EXPECT_EQ(outcome.exit_code, 130) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.err, "terrace: interrupted: 4 of 5 jobs are stored in a.db; repeat the command to continue\n");
  EXPECT_FALSE(left_over("a.db"));
  const Outcome dry = sweep("a.db", {"--dry-run"});
  EXPECT_THAT(dry.out, HasSubstr("5 jobs, 1 to run: "));
}

TEST_F(SweepCommand, TwoAtOnceOnOneStoreShareTheWork) {
  write_many();
  ASSERT_EQ(sweep("whole.db").exit_code, 0);
  Child one = start("a.db"), two = start("a.db");
  const Outcome first = one.wait(), second = two.wait();
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(second.exit_code, 0) << second.err;
  const auto ran = [](const Outcome& outcome) {
    return std::stoul(outcome.out.substr(outcome.out.find(" jobs: ") + 7));
  };
  const std::size_t at = first.out.rfind('\n', first.out.find(" jobs: "));
  const std::size_t jobs = std::stoul(first.out.substr(at == std::string::npos ? 0 : at + 1));
  EXPECT_EQ(ran(first) + ran(second), jobs) << first.out << second.out;
  EXPECT_EQ(contents("a.db"), contents("whole.db"));
}

/// Runs a shell script in which $TERRACE is the program, with file systems of its own; nothing where that is forbidden.
std::optional<Outcome> in_own_mounts(const std::string& script, const std::string& folder) {
  for (const char* how : {"-m", "-rm"}) {
    if (Child("/usr/bin/unshare", {how, "mount", "-t", "tmpfs", "none", "/mnt"}, folder).wait().exit_code != 0)
      continue;
    return Child("/usr/bin/unshare", {how, "/bin/bash", "-c", "TERRACE=" + terrace_program() + "\n" + script}, folder)
        .wait();
  }
  return std::nullopt;
}

TEST_F(SweepCommand, AFullDiskIsToldInOneSentenceAndLosesNothing) {
  write_many();
  ASSERT_EQ(sweep("whole.db").exit_code, 0);
  const auto outcome = in_own_mounts(R"(
mount -t tmpfs -o size=500k none /mnt && cp s.toml small.toml /mnt || exit 99
(cd /mnt && $TERRACE sweep s.toml --jobs 2 --quiet); echo "exit $?"
mount -o remount,size=50m /mnt
(cd /mnt && $TERRACE sweep s.toml --jobs 2 --quiet); echo "exit $?"
cp /mnt/results.db grown.db)",
                                     folder());
  if (!outcome)
    GTEST_SKIP() << "no file system can be mounted here; AFileThatMayNotGrow... tests the same with a limit on files";
  EXPECT_THAT(outcome->err, HasSubstr("space")) << outcome->out;
  EXPECT_EQ(std::count(outcome->err.begin(), outcome->err.end(), '\n'), 1) << outcome->err;
  EXPECT_TRUE(outcome->out.starts_with("exit 2\n")) << outcome->out << outcome->err;
  EXPECT_TRUE(outcome->out.ends_with("exit 0\n")) << outcome->out << outcome->err;
  EXPECT_THAT(outcome->out, ::testing::Not(HasSubstr(" 0 were already stored"))) << "what was stored stayed";
  EXPECT_EQ(contents("grown.db"), contents("whole.db"));
}

TEST_F(SweepCommand, AFileThatMayNotGrowIsToldInOneSentenceAndLosesNothing) {
  write_many();
  ASSERT_EQ(sweep("whole.db").exit_code, 0);
  const std::string limited =
      "ulimit -f 400; exec " + terrace_program() + " sweep s.toml --store a.db --jobs 2 --quiet";
  const Outcome outcome = Child("/bin/bash", {"-c", limited}, folder()).wait();
  EXPECT_EQ(outcome.exit_code, 2) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("cannot be ")) << "read or written";
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  const Outcome rest = sweep("a.db");
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_THAT(rest.out, ::testing::Not(HasSubstr(" 0 were already stored")));
  EXPECT_EQ(contents("a.db"), contents("whole.db"));
}

TEST_F(SweepCommand, AStoreThatCannotBeUsedIsToldBeforeAnythingRuns) {
  write_many();
  scratch_.write("bad.db", std::string(4096, 'x'));
  const Outcome outcome = sweep("bad.db");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, "terrace: bad.db: is not a store of Terrace; name another file\n");
  EXPECT_EQ(read_file((scratch_.path() / "bad.db").string()), std::string(4096, 'x'));
  EXPECT_EQ(scratch_.files(), 3u);
}

TEST_F(SweepCommand, MistakesAreAllListedBeforeTheFirstJob) {
  scratch_.write("s.toml", "[[grid]]\ngpu = \"cd_24s\"\nworkload = \"gupz\"\nsiz = \"mini\"\n");
  const Outcome outcome = sweep("a.db");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 4) << outcome.err;
  EXPECT_THAT(outcome.err,
              HasSubstr("terrace: s.toml has 3 mistakes; nothing was run:\n  s.toml:2: no machine named \"cd_24s\""));
  EXPECT_EQ(scratch_.files(), 2u);
}

TEST_F(SweepCommand, DryRunListsJobsAndTimeAndMakesNothing) {
  write_many();
  const Outcome first = sweep("a.db", {"--dry-run"});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("small    gups mm  mini  1     even  to run"));
  EXPECT_THAT(first.out, HasSubstr(" to run: about "));
  EXPECT_THAT(first.out, HasSubstr("on 2 workers"));
  EXPECT_EQ(scratch_.files(), 2u);
  ASSERT_EQ(sweep("a.db").exit_code, 0);
  EXPECT_THAT(sweep("a.db", {"--dry-run"}).out, HasSubstr(" jobs, 0 to run"));
}

TEST_F(SweepCommand, AJobThatOutgrowsTheMemoryFailsWithASentence) {
  // Long enough to be looked at several times.
  scratch_.write(
      "s.toml",
      "[[grid]]\ngpu = \"small.toml\"\nworkload = \"xsbench\"\nsize = \"tiny\"\nuntil = \"cycles:3000000\"\nseed "
      "= [1, 2]\n");
  const Outcome outcome = sweep("a.db", {"--memory", "20M"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out,
              HasSubstr("needs more than the 20 MB of memory that jobs may use; use a smaller size, or give more"));
  EXPECT_THAT(outcome.out, HasSubstr("2 failed"));
  // It was not the job's own fault: with more memory it runs without being asked for again.
  EXPECT_THAT(sweep("a.db").out, HasSubstr("2 jobs: 2 ran, 0 were already stored, 0 failed"));
}

TEST_F(SweepCommand, ReportComputesClaimsAndDrawsPlots) {
  scratch_.write("s.toml", R"(
[[grid]]
gpu = "small.toml"
workload = ["mm", "cp"]
size = "mini"
sms = [1, 2, 4]
[[claim]]
id = "gain"
value = 'max(total_ipc[sms=4] / total_ipc[sms=1]) > 1'
[[claim]]
id = "many"
value = 'total_ipc'
[[plot]]
name = "curve"
y = 'total_ipc'
x = "sms"
panel = "mix"
)");
  reported();
  const auto file = [&](const std::string& name) { return read_file((scratch_.path() / "r" / name).string()); };
  EXPECT_THAT(file("claims.csv"), HasSubstr("\ns,gain,1,,"));
  EXPECT_THAT(file("claims.csv"), HasSubstr("\ns,many,,\"has 6 values, but a claim is one number; take a mean\","));
  const std::string svg = file("s_curve.svg");
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  std::size_t circles = 0;
  for (std::size_t at = svg.find("<circle"); at != svg.npos; at = svg.find("<circle", at + 1)) ++circles;
  EXPECT_EQ(circles, 6u);
  const Tree json = parse_json(file("results.json"), "results.json");
  EXPECT_EQ(json.find("jobs")->items().size(), 6u);
  EXPECT_EQ(json.find("results")->items().size(), 6u);
}

TEST_F(SweepCommand, PowerIsAQuantityOfRunsThatHaveIt) {
  scratch_.write("s.toml", fmt::format(R"(
[[grid]]
{}
workload = ["mm", "gups"]
[grid.set]
power.enabled = [true]
power.uncore_mw = [5000, 10000]
[[claim]]
id = "doubled"
value = 'max(watts[power.uncore_mw=10000] / watts[power.uncore_mw=5000])'
[[claim]]
id = "nobodys"
value = 'sum(tenant_joules(0))'
)",
                                       kMoments));
  reported();
  const std::string claims = read_file((scratch_.path() / "r" / "claims.csv").string());
  EXPECT_THAT(claims, HasSubstr("\ns,doubled,2,"));
  EXPECT_THAT(claims, HasSubstr("\ns,nobodys,0,"));

  scratch_.write(
      "s.toml",
      fmt::format("[[grid]]\n{}workload = \"mm\"\n[[claim]]\nid = \"none\"\nvalue = 'mean(watts)'\n", kMoments));
  reported();
  EXPECT_THAT(read_file((scratch_.path() / "r" / "claims.csv").string()),
              HasSubstr("s,none,,\"watts: 1 of 1 runs have no value, the first is"));
}

TEST_F(SweepCommand, ReportLeavesStatisticsOfManyJobsOutUnlessAsked) {
  const auto grid = [](u32 seeds) {
    return fmt::format("seeds = {}\n[[grid]]\n{}workload = \"mm\"\nsms = [1, 2]\n", seeds, kMoments);
  };
  const auto file = [&](const std::string& name) { return scratch_.path() / "r" / name; };
  const auto json = [&] { return parse_json(read_file(file("results.json").string()), "results.json"); };
  scratch_.write("s.toml", grid(5));
  EXPECT_THAT(reported(), Not(HasSubstr("left out")));
  EXPECT_TRUE(fs::exists(file("stats.csv")));
  EXPECT_GT(json().find("stats")->items().size(), 1'000u);

  scratch_.write("s.toml", grid(6));
  EXPECT_THAT(reported(), HasSubstr("The statistics of the 12 jobs are left out of results.json, and there is no "
                                    "stats.csv: of more than 10 jobs they are written with --stats only; a.db holds "
                                    "them all.\n"));
  EXPECT_FALSE(fs::exists(file("stats.csv"))) << "one of fewer jobs would be taken for theirs";
  EXPECT_EQ(*json().find("stats"), Tree());
  EXPECT_EQ(json().find("jobs")->items().size(), 12u);

  const Outcome all = run_terrace({"report", "--store", "a.db", "--out", "r", "--stats"}, folder());
  EXPECT_THAT(all.out, Not(HasSubstr("left out")));
  EXPECT_TRUE(fs::exists(file("stats.csv")));
}

TEST_F(SweepCommand, ATableOfResultsIsPrintedAndStandsInThePageWithItsPlots) {
  scratch_.write("s.toml", R"(
[[grid]]
gpu = "small.toml"
workload = "mm"
size = "mini"
sms = [1, 2]
[[table]]
name = "t"
title = "By SMs"
rows = "sms"
columns = ["twice = 2 * total_ipc / total_ipc", "half = total_ipc[sms=2] / total_ipc[sms=2] / 2", "two = total_ipc * 0 + 2"]
[[plot]]
name = "curve"
y = 'total_ipc'
x = "sms"
)");
  // The second column has no label that tells its row.
  EXPECT_THAT(reported(), HasSubstr("By SMs: table t, column half: its values have no label \"sms\""));
  std::string fixed = read_file((scratch_.path() / "s.toml").string());
  const std::string bad = R"("half = total_ipc[sms=2] / total_ipc[sms=2] / 2", )";
  fixed.erase(fixed.find(bad), bad.size());
  scratch_.write("s.toml", fixed);
  EXPECT_THAT(reported(), HasSubstr("By SMs\n\nsms  twice  two\n1        2    2\n2        2    2\n"));
  for (const char* name : {"index.html", "sweep_s.html"}) {
    const std::string page = read_file((scratch_.path() / "r" / name).string());
    EXPECT_THAT(page, HasSubstr(R"("rows":[["1","2","2"],["2","2","2"]])"));
    EXPECT_THAT(page, HasSubstr(R"("kind":"line")"));
  }
}

TEST_F(SweepCommand, SeveralSeedsGiveIntervals) {
  scratch_.write("s.toml", R"toml(
seeds = 3
[[grid]]
gpu = "small.toml"
size = "mini"
until = "cycles:15000"
mix = [["gups", "mm"]]
set.l2.hit_cycles = [10, 1000]
[[claim]]
id = "slower"
value = 'mean(ipc(1)[l2.hit_cycles=1000] / ipc(1)[l2.hit_cycles=10])'
neutral = 1
[[claim]]
id = "same"
value = 'mean(ipc(1)[l2.hit_cycles=10]) == mean(ipc(1)[l2.hit_cycles=10])'
[[table]]
name = "t"
title = "Latency"
rows = "l2.hit_cycles"
columns = ["MM IPC = ipc(1)", "itself = 100 * (ipc(1) / ipc(1) - 1)"]
neutral = {"itself" = 0}
[[plot]]
name = "ipc"
y = "ipc(1)"
x = "l2.hit_cycles"
)toml");
  const std::string said = reported();
  EXPECT_THAT(said, HasSubstr("≈ 0 ± 0\n"));
  EXPECT_THAT(said, HasSubstr("±: half of the 95 % interval of the mean over 3 seeds.\n"));
  EXPECT_THAT(said, HasSubstr("≈: within noise;"));
  const auto file = [&](const std::string& name) { return read_file((scratch_.path() / "r" / name).string()); };
  EXPECT_THAT(file("claims.csv"), ::testing::ContainsRegex("\ns,slower,0\\.[0-9]+,,[^\n]*,0\\.[0-9]+,3,0\n"));
  EXPECT_THAT(file("claims.csv"), ::testing::ContainsRegex("\ns,same,1,,[^\n]*,,3,0\n"));
  EXPECT_THAT(file("tables.csv"), HasSubstr("\ns,t,1000,itself,0,0,3,1\n"));
  EXPECT_THAT(file("plots.csv"), ::testing::ContainsRegex("\ns,ipc,,,1000,[0-9.]+,[0-9.]+,3,\n"));
  EXPECT_THAT(file("s_ipc.svg"), HasSubstr("<path class=\"error\""));
  EXPECT_THAT(file("sweep_s.html"), HasSubstr("\"≈ 0 ± 0\""));
  EXPECT_THAT(file("sweep_s.html"), HasSubstr("\"muted\":[[false,false,true]"));
  EXPECT_THAT(file("sweep_s.html"), HasSubstr("\"text\":\"holds (3 seeds)\""));
  const Tree json = parse_json(file("results.json"), "results.json");
  EXPECT_EQ(*json.find("claims")->items()[0].find("seeds"), Tree(u64{3}));
  EXPECT_EQ(json.find("tables")->items().size(), 4u);
  // What is stored counts: one seed less runs nothing, one more runs its own mixes and alone runs.
  EXPECT_THAT(sweep("a.db", {"--seeds", "2"}).out, HasSubstr(" jobs: 0 ran, "));
  EXPECT_THAT(sweep("a.db", {"--seeds", "4"}).out, HasSubstr(" jobs: 6 ran, "));
  EXPECT_THAT(sweep("a.db", {"--seeds", "0"}).err, HasSubstr("--seeds must be a whole number from 1 to 100, not 0"));
}

TEST_F(SweepCommand, ABucketIntoWhichNothingFellIsZero) {
  scratch_.write("s.toml", "[[grid]]\n" + std::string(kMoments) + R"toml(workload = "gups"
set.run.sample = 100
[[claim]]
id = "samples"
value = 'sum(stat("gpu.samples.samples"))'
[[claim]]
id = "zero"
value = 'sum(stat("gpu.samples.concurrent_walks{from=4096}"))'
[[claim]]
id = "some"
value = 'sum(stat("gpu.samples.concurrent_walks{from=0}")) > 0'
[[claim]]
id = "wrong"
value = 'sum(stat("gpu.samples.concurrent_wlaks{from=0}"))'
)toml");
  EXPECT_EQ(sweep("a.db").exit_code, 0);
  run_terrace({"report", "--store", "a.db", "--out", "r"}, folder());
  const std::string claims = read_file((scratch_.path() / "r" / "claims.csv").string());
  EXPECT_THAT(claims, HasSubstr("\ns,samples,30,"));
  EXPECT_THAT(claims, HasSubstr("\ns,zero,0,"));
  EXPECT_THAT(claims, HasSubstr("\ns,some,1,"));
  EXPECT_THAT(claims, ::testing::ContainsRegex("\ns,wrong,,[^\n]*no statistic matches"));
}

TEST_F(SweepCommand, WhoWaitsForWhomStandsInThePageAndCanBeAskedFor) {
  scratch_.write("s.toml", R"(
[[grid]]
gpu = "small.toml"
mix = [["gups", "mm"]]
size = "mini"
[[claim]]
id = "own_banks"
value = 'sum(stat("gpu.dram.*.blame.banks{tenant=0 holder=0}")) > 0'
)");
  reported();
  EXPECT_THAT(read_file((scratch_.path() / "r" / "claims.csv").string()), HasSubstr("\ns,own_banks,1,,"));
  // The page of the shared run has the matrix: two tenants that wait for two and for nobody.
  std::size_t shared = 0;
  for (const auto& entry : fs::directory_iterator(scratch_.path() / "r" / "data")) {
    const std::string run = read_file(entry.path().string());
    if (run.find("\"title\":\"GUPS + MM\"") == run.npos || entry.path().stem() == "runs") continue;
    ++shared;
    EXPECT_THAT(run, ::testing::ContainsRegex(
                         "\"title\":\"DRAM\",\"cycles\":\\[\\[[0-9]+,[0-9]+,[0-9]+\\],\\[[0-9]+,[0-9]+,[0-9]+\\]\\]"));
    EXPECT_THAT(run, HasSubstr("\"alone_ipc\":"));
  }
  EXPECT_EQ(shared, 1u);
}

TEST_F(SweepCommand, StatisticsOverTimeAreKeptOnDemandAndMoveNoResult) {
  scratch_.write("s.toml", "[[grid]]\n" + std::string(kMoments) + "mix = [[\"gups\", \"mm\"]]\n");
  const auto digest = [&](const std::string& store) {
    Store stored = Store::existing((scratch_.path() / store).string());
    return stored.database().text("SELECT digest FROM job JOIN point ON point.job = job.id");
  };
  EXPECT_EQ(sweep("plain.db").exit_code, 0);
  EXPECT_EQ(sweep("timed.db", {"--stats-every", "500"}).exit_code, 0);
  EXPECT_NE(digest("plain.db"), "");
  EXPECT_EQ(digest("plain.db"), digest("timed.db"));
  Store timed = Store::existing((scratch_.path() / "timed.db").string());
  Database& database = timed.database();
  EXPECT_EQ(
      Store::existing((scratch_.path() / "plain.db").string()).database().number("SELECT count(*) FROM over_time"), 0u);
  const std::string of_run = "job = (SELECT job FROM results) AND name = 'gpu.sm.*.warp_instructions{tenant=1}'";
  // The line of docs/sweeps.md; what grew in all intervals is what the run counted.
  const u64 intervals = database.number("SELECT count(*) FROM over_time WHERE " + of_run);
  EXPECT_GE(intervals, 2u);
  EXPECT_LE(intervals, 7u);
  EXPECT_EQ(database.number("SELECT max(cycle) FROM over_time WHERE " + of_run),
            database.number("SELECT cycles FROM results"));
  EXPECT_EQ(database.number("SELECT sum(value) FROM over_time WHERE " + of_run),
            database.number("SELECT sum(value) FROM stats WHERE job = (SELECT job FROM results) AND name LIKE "
                            "'gpu.sm.%.warp_instructions{tenant=1}'"));
  EXPECT_EQ(database.text("SELECT unit FROM over_time WHERE " + of_run), "instructions");
  // A file may ask for it too, and 0 on the command line says no.
  scratch_.write("s.toml", "stats_every = 500\n" + read_file((scratch_.path() / "s.toml").string()));
  EXPECT_THAT(sweep("timed.db").out, HasSubstr(" jobs: 0 ran, "));
  EXPECT_THAT(sweep("plain.db", {"--stats-every", "0"}).out, HasSubstr(" jobs: 0 ran, "));
  EXPECT_THAT(sweep("plain.db", {"--stats-every", "many"}).err,
              HasSubstr("--stats-every must be a number of cycles such as 10000, not many"));
}

TEST_F(SweepCommand, AColumnThatIsNoTitleAndExpressionIsAMistake) {
  scratch_.write("s.toml",
                 "[[grid]]\ngpu = \"small.toml\"\nworkload = \"mm\"\nsize = \"mini\"\n"
                 "[[table]]\nname = \"t\"\nrows = \"sms\"\ncolumns = [\"total_ipc\", \"x = 2 *\"]\n");
  const Outcome outcome = sweep("a.db");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("s.toml:5: \"total_ipc\" is no column; write it as \"title = expression\""));
}

}  // namespace
}  // namespace terrace
