// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "engine/check.h"
#include "support/paths.h"
#include "support/scratch.h"
#include "sweep/sweep_run.h"

namespace terrace {
namespace {

using ::testing::HasSubstr;

/// Machines and designs of the tree, and those that a test writes.
class SweepPlan : public ::testing::Test {
 protected:
  ConfigSource configs() const {
    const auto find = [this](const std::string& folder, const std::string& name) {
      for (const std::string& root : {scratch_.path().string(), source_folder() + "/configs/" + folder}) {
        const std::string path = root + "/" + name + ".toml";
        if (std::filesystem::exists(path)) return LayerFile{path, name + ".toml"};
      }
      input_error("no {} named \"{}\"", folder, name);
    };
    return {[find](const std::string& name) { return find("gpu", name); },
            [find](const std::string& name) { return find("designs", name); },
            [find](const std::string& name) { return find("sets", name); }};
  }
  Plan plan(const std::string& text) {
    const std::string path = scratch_.write("sweep.toml", text);
    Sweep sweep(path, "", configs());
    return sweep.plan([](const Point&, const std::string&) { return SplitScore{}; });
  }
  std::string refusal(const std::string& text) {
    try {
      plan(text);
    } catch (const InputError& error) {
      return error.what();
    }
    return "nothing was refused";
  }
  static Job job_of(const Plan& plan, const std::string& id) {
    for (const Job& job : plan.jobs)
      if (job.id == id) return job;
    ADD_FAILURE() << id << " is not planned";
    return {};
  }

  Scratch scratch_;
};

TEST_F(SweepPlan, IsEveryCombination) {
  const Plan all = plan(R"(
[[grid]]
gpu = ["cd_24sm", "dws_30sm"]
design = ["none", "ideal"]
workload = ["gups", "mm"]
size = ["mini", "tiny"]
seed = [1, 2, 3]
sms = [4, 8]
set.l2.hit_cycles = [10, 20]
)");
  EXPECT_EQ(all.points.size(), 2u * 2 * 2 * 2 * 3 * 2 * 2);
  // On cd_24sm, which does not translate, both designs are the same configuration: asked for twice, planned once.
  EXPECT_EQ(all.jobs.size(), all.points.size() * 3 / 4);
  std::set<std::string> ids;
  for (const Job& job : all.jobs) EXPECT_TRUE(ids.insert(job.id).second);
}

TEST_F(SweepPlan, AddsTheAloneRunsThatMixesNeedAndSharesThem) {
  const Plan all = plan(R"(
[lists]
some = [["gups", "mm"], ["gups", "bfs"], ["gups", "mm", "bfs"]]
[[grid]]
gpu = "cd_24sm"
mix = "some"
size = "mini"
)");
  // On this machine alone means the whole GPU: three mixes and three programs.
  EXPECT_EQ(all.jobs.size(), 6u);
  const Point& first = all.points.front();
  ASSERT_EQ(first.alone.size(), 2u);
  EXPECT_EQ(job_of(all, first.alone[0]).tenants, "gups");
  EXPECT_EQ(job_of(all, first.alone[0]).sms, "");
  EXPECT_THAT(first.reference, HasSubstr("alone on 24 SMs"));
  EXPECT_EQ(first.labels.at("mix"), "gups+mm");
  EXPECT_EQ(first.labels.at("list"), "some");
}

TEST_F(SweepPlan, RunsTenantsAloneOnAsManySmsAsInTheSharedRunWhereTheMachineSaysSo) {
  const Plan all = plan(R"(
[[grid]]
gpu = "dws_30sm"
mix = [["gups", "mm"]]
sms = [[10, 20]]
)");
  EXPECT_EQ(job_of(all, all.points.front().alone[0]).sms, "10");
  EXPECT_EQ(job_of(all, all.points.front().alone[1]).sms, "20");
}

TEST_F(SweepPlan, AloneNobodySharesInTimeOrWithThosePresent) {
  const auto alone_sms = [&](const std::string& set, const std::string& shown) {
    const Plan all = plan("[[grid]]\ngpu = \"dws_30sm\"\nmix = [[\"gups\", \"mm\"]]\nset.tenancy." + set);
    const Job alone = job_of(all, all.points.front().alone[1]);
    EXPECT_THAT(alone.config, HasSubstr("sharing = \"spatial\""));
    EXPECT_THAT(alone.config, HasSubstr("[tenancy.partition]\nuse = \"fixed\""));
    EXPECT_THAT(job_of(all, all.points.front().job).config, HasSubstr(shown));
    return alone.sms;
  };
  EXPECT_EQ(alone_sms("partition.use = \"present\"\n", "[tenancy.partition]\nuse = \"present\""), "15");
  EXPECT_EQ(alone_sms("sharing = \"time\"\n", "sharing = \"time\""), "") << "each has all in its turn";
}

TEST_F(SweepPlan, MoreTenantsThanSmsShareInTimeOnly) {
  const std::string grid =
      "[[grid]]\ngpu = \"dws_30sm\"\nmix = [[\"gups\", \"mm\", \"mm\"]]\nset.sm.count = 2\nset.tenancy.sharing = ";
  EXPECT_THAT(refusal(grid + "\"spatial\"\n"), HasSubstr("sms: 3 is more than the 2 SMs of dws_30sm"));
  EXPECT_EQ(plan(grid + "\"time\"\n").points.front().alone.size(), 3u);
}

TEST_F(SweepPlan, AloneRunsHaveTheWindowOfTheSharedRun) {
  const std::string grid =
      "[[grid]]\ngpu = \"dws_30sm\"\nmix = [[\"gups\", \"mm\"]]\nsize = \"mini\"\nuntil = \"window:7000\"\n";
  const Plan all = plan(grid);
  for (const Job& job : all.jobs) EXPECT_THAT(job.config, HasSubstr("until = \"window:7000\"\n"));
  EXPECT_EQ(all.jobs.size(), 3u);
  EXPECT_EQ(all.points.front().labels.at("until"), "window:7000");
  EXPECT_THAT(refusal(grid + "set.run.relaunch = false\n"),
              HasSubstr("until: \"window:7000\" starts tenants that complete again to its end; remove run.relaunch = "
                        "false, or use cycles:N"));
  EXPECT_THAT(refusal(grid + "set.run.instruction_cap = 9\n"),
              HasSubstr("until: \"window:7000\" ends after its cycles only; remove run.instruction_cap"));
}

TEST_F(SweepPlan, TakesTheReferenceDesignOfTheMachineAndSaysWhenThereIsNone) {
  scratch_.write("mine.toml", "name = \"mine\"\ntenancy.reference_design = \"slow\"\n");
  const std::string text = "[[grid]]\ngpu = \"mine\"\nmix = [[\"gups\", \"mm\"]]\nsize = \"mini\"\n";
  const Plan without = plan(text);
  ASSERT_EQ(without.notes.size(), 1u);
  EXPECT_THAT(without.notes.front(), HasSubstr("\"slow\", which does not exist; they run under \"ideal\" instead"));
  EXPECT_THAT(without.points.front().reference, HasSubstr("under ideal"));
  scratch_.write("slow.toml", "l2.hit_cycles = 99\n");
  const Plan with = plan(text);
  EXPECT_TRUE(with.notes.empty());
  EXPECT_THAT(job_of(with, with.points.front().alone[0]).config, HasSubstr("hit_cycles = 99"));
  EXPECT_THAT(job_of(with, with.points.front().job).config, ::testing::Not(HasSubstr("hit_cycles = 99")));
}

TEST_F(SweepPlan, SetChangesTheMachineAndTuneTheRunOnly) {
  const Plan all = plan(R"(
[[grid]]
gpu = "cd_24sm"
mix = [["gups", "mm"]]
size = "mini"
[grid.set]
l2.hit_cycles = 33
[grid.tune]
l1.hit_cycles = 44
)");
  const std::string shared = job_of(all, all.points.front().job).config;
  const std::string alone = job_of(all, all.points.front().alone[0]).config;
  EXPECT_THAT(shared, HasSubstr("hit_cycles = 33"));
  EXPECT_THAT(shared, HasSubstr("hit_cycles = 44"));
  EXPECT_THAT(alone, HasSubstr("hit_cycles = 33"));
  EXPECT_THAT(alone, ::testing::Not(HasSubstr("hit_cycles = 44")));
  EXPECT_EQ(all.points.front().labels.at("l1.hit_cycles"), "44");
}

TEST_F(SweepPlan, IdentityFollowsWhateverTheResultDependsOn) {
  const auto id = [&](const std::string& lines) {
    return plan("[[grid]]\ngpu = \"cd_24sm\"\nsize = \"mini\"\n" + lines).jobs.front().id;
  };
  const std::string base = id("workload = \"gups\"\n");
  EXPECT_EQ(base, id("workload = \"gups\"\nsms = 24\nseed = 1\ndesign = \"ideal\"\n"));
  std::set<std::string> all{base};
  for (const char* lines : {"workload = \"mm\"\n", "workload = \"gups\"\nseed = 2\n", "workload = \"gups\"\nsms = 12\n",
                            "workload = \"gups\"\nuntil = \"cycles:500\"\n", "workload = \"gups:slice=0.5\"\n",
                            "workload = \"gups\"\nset.l2.hit_cycles = 11\n"})
    EXPECT_TRUE(all.insert(id(lines)).second) << lines;
}

TEST_F(SweepPlan, IdentityOfAUsersProgramFollowsItsFiles) {
  std::filesystem::copy_file(build_folder() + "/workloads/gups.ptx", scratch_.path() / "own.ptx");
  const auto write = [&](const std::string& count, const std::string& bytes) {
    scratch_.write("data.bin", bytes);
    scratch_.write("own.toml", "source = \"own.ptx\"\n[[buffer]]\nname = \"x\"\ntype = \"u8\"\ncount = " + count +
                                   "\ninit = \"file\"\nfile = \"data.bin\"\n[[launch]]\nkernel = \"k\"\ngrid = "
                                   "[1]\nblock = [32]\nargs = []\n");
    return plan("[[grid]]\ngpu = \"cd_24sm\"\nworkload = \"own.toml\"\n").jobs.front().id;
  };
  const std::string base = write("4", "abcd");
  EXPECT_EQ(base, write("4", "abcd"));
  EXPECT_NE(base, write("4", "abce"));
  EXPECT_NE(base, write("3", "abcd"));
}

class SweepSeeds : public SweepPlan {
 protected:
  static std::vector<std::string> seeds_of(const Plan& plan) {
    std::vector<std::string> seeds;
    for (const Point& point : plan.points) seeds.push_back(point.labels.at("seed"));
    return seeds;
  }
  Plan plan_with(u64 seeds, const std::string& text) {
    Sweep sweep(scratch_.write("sweep.toml", text), "", configs(), seeds);
    return sweep.plan([](const Point&, const std::string&) { return SplitScore{}; });
  }
  static constexpr const char* kGrid = "[[grid]]\ngpu = \"dws_30sm\"\nsize = \"mini\"\nmix = [[\"gups\", \"mm\"]]\n";
  const std::string grid_ = kGrid;
};

TEST_F(SweepSeeds, RunEveryPointUnderEachOfThem) {
  using ::testing::ElementsAre;
  EXPECT_THAT(seeds_of(plan("seeds = 3\n" + grid_)), ElementsAre("1", "2", "3"));
  EXPECT_THAT(seeds_of(plan(grid_ + "seeds = 2\nseed = 7\n")), ElementsAre("7", "8"));
  EXPECT_THAT(seeds_of(plan("seeds = 3\n" + grid_ + "seeds = 1\n")), ElementsAre("1")) << "the grid's own";
  EXPECT_THAT(seeds_of(plan(grid_)), ElementsAre("1"));
  const Plan both = plan("seeds = 2\n[[search]]\nname = \"best\"\ngpu = \"cd_24sm\"\nmix = [[\"gups\", \"mm\"]]\n");
  EXPECT_EQ(both.points.size(), 2u * 23) << "searches too";
}

TEST_F(SweepSeeds, OnTheCommandLineStandInPlaceOfTheFiles) {
  using ::testing::ElementsAre;
  EXPECT_THAT(seeds_of(plan_with(1, "seeds = 3\n" + grid_ + "seed = 4\n")), ElementsAre("4"));
  EXPECT_THAT(seeds_of(plan_with(2, grid_)), ElementsAre("1", "2"));
  // A quick look at a file that asks for three runs the first of the three.
  EXPECT_EQ(plan_with(1, "seeds = 3\n" + grid_).points.front().job, plan("seeds = 3\n" + grid_).points.front().job);
}

TEST_F(SweepSeeds, GiveTenantsOtherTimesToArriveUnlessTheFileSaysThem) {
  const auto shared = [&](const std::string& text) {
    const Plan all = plan(text);
    EXPECT_THAT(job_of(all, all.points.front().alone[0]).config, HasSubstr("arrival_spread = 0")) << "alone";
    return job_of(all, all.points.front().job).config;
  };
  EXPECT_THAT(shared(grid_), HasSubstr("arrival_spread = 0\n"));
  EXPECT_THAT(shared(grid_ + "seed = [1, 2]\n"), HasSubstr("arrival_spread = 0\n")) << "a list is as it always was";
  EXPECT_THAT(shared("seeds = 2\n" + grid_), HasSubstr("arrival_spread = 1000\n"));
  EXPECT_THAT(shared("seeds = 2\n" + grid_ + "set.run.arrival_spread = 0\n"), HasSubstr("arrival_spread = 0\n"));
  EXPECT_THAT(shared("seeds = 2\n" + grid_ + "set.run.arrival_spread = 77\n"), HasSubstr("arrival_spread = 77\n"));
  const Plan alone = plan("seeds = 2\n[[grid]]\ngpu = \"dws_30sm\"\nworkload = \"mm\"\nsize = \"mini\"\n");
  EXPECT_THAT(alone.jobs.front().config, HasSubstr("arrival_spread = 0\n")) << "one tenant is late for nobody";
}

TEST_F(SweepSeeds, PairEachRunWithAloneRunsOfTheSameSeed) {
  const Plan all = plan("seeds = 3\n" + grid_);
  EXPECT_EQ(all.jobs.size(), 3u * 3);
  for (const Point& point : all.points)
    for (const std::string& alone : point.alone)
      EXPECT_EQ(std::to_string(job_of(all, alone).seed), point.labels.at("seed"));
}

TEST_F(SweepSeeds, AndNeutralValuesThatMakeNoSenseAreMistakes) {
  EXPECT_THAT(refusal("seeds = 0\n" + grid_),
              HasSubstr("sweep.toml:1: seeds must be a whole number from 1 to 100, not 0"));
  EXPECT_THAT(refusal(grid_ + "seeds = 101\n"), HasSubstr("sweep.toml:5: seeds must be a whole number from 1 to 100"));
  EXPECT_THAT(refusal(grid_ + "seeds = [1, 2]\n"), HasSubstr("sweep.toml:5: seeds must be a whole number"));
  EXPECT_THAT(refusal(grid_ + "seed = [1, 2]\nseeds = 3\n"),
              HasSubstr("sweep.toml:5: seed is a list and seeds asks for 3 of them; leave one of the two out"));
  EXPECT_THAT(refusal("seeds = 3\n" + grid_ + "seed = [1, 2]\n"), HasSubstr("sweep.toml:6: seed is a list"));
  EXPECT_THAT(refusal(grid_ + "seed = 9223372036854775807\nseeds = 2\n"), HasSubstr("sweep.toml:5: seed: "));
  const std::string claim = grid_ + "[[claim]]\nid = \"c\"\nvalue = \"mean(total_ipc)\"\n";
  EXPECT_THAT(refusal(claim + "neutral = \"one\"\n"), HasSubstr("sweep.toml:8: neutral must be a number, not \"one\""));
  EXPECT_THAT(refusal(claim + "neutral = nan\n"), HasSubstr("sweep.toml:8: neutral must be a number, not nan"));
  const std::string table =
      grid_ + "[[table]]\nname = \"t\"\nrows = \"mix\"\ncolumns = [\"gain = total_ipc\", \"x = total_ipc\"]\n";
  EXPECT_THAT(refusal(table + "neutral = {\"gian\" = 0}\n"),
              HasSubstr("sweep.toml:9: neutral: the table has no column \"gian\"; did you mean \"gain\"?"));
  Mistakes none("sweep.toml");
  const SweepFile file = parse_sweep("sweep.toml", table + "neutral = {\"gain\" = -1}\n", "", none);
  EXPECT_TRUE(none.none());
  EXPECT_EQ(file.tables.front().columns[0].neutral, -1);
  EXPECT_EQ(file.tables.front().columns[1].neutral, std::nullopt);
}

TEST_F(SweepPlan, ASearchWithoutResultsAsksForItsFirstLineAndOthersWaitForIt) {
  const Plan first = plan(R"(
[[search]]
name = "best"
gpu = "cd_24sm"
mix = [["gups", "mm"]]
size = "mini"
optimise = "stp"
[[grid]]
gpu = "cd_24sm"
mix = [["gups", "mm"]]
size = "mini"
sms = ["even", "oracle:best"]
)");
  EXPECT_FALSE(first.complete);
  EXPECT_EQ(first.points.size(), 23u + 1);
  EXPECT_EQ(first.jobs.size(), 23u + 2) << "the even split and the alone runs are shared";
}

TEST_F(SweepPlan, EveryMistakeIsListedWithItsLine) {
  const std::string said = refusal(R"toml(nam = "x"
[lists]
l = [["gups", "mm"], ["gupz", "mm"]]
[[grid]]
gpu = "dws_30s"
mix = "ll"
size = "huge"
[[grid]]
gpu = "cd_24sm"
design = "dwss"
mix = "l"
seed = "x"
alon = true
[grid.set]
l2.hit_cyles = 3
run.seed = 4
l2.ways = [0, 16]
[[claim]]
id = "c"
value = "mean(total_ip)"
)toml");
  EXPECT_THAT(said, HasSubstr("sweep.toml has 12 mistakes; nothing was run:")) << said;
  for (const char* one :
       {":1: the file has no key \"nam\"; did you mean \"name\"?", ":5: no gpu named \"dws_30s\"",
        ":6: no list named \"ll\"", ":7: no size named \"huge\"", ":10: no designs named \"dwss\"",
        ":11: no workload named \"gupz\"", ":12: seed must be a whole number, not \"x\"",
        ":13: [[grid]] has no key \"alon\"; did you mean \"alone\"?", ":15: l2.hit_cyles is not a known key",
        ":16: run.seed is not set here: write seed = ... in the grid itself", ":17: l2.ways must be",
        ":18: \"mean(total_ip)\": there is no \"total_ip\""})
    EXPECT_THAT(said, HasSubstr(one)) << said;
}

TEST_F(SweepPlan, ReadsAndChecksWhatSlurmIsAskedFor) {
  const std::string grid = "[[grid]]\ngpu = \"cd_24sm\"\nworkload = \"mm\"\n[slurm]\n";
  const std::string said = refusal(grid + R"toml(partitoin = "main"
time = "soon"
memory = 2
account = ["a", "b"]
options = ["--exclusive", "--array=1-2"]
)toml");
  for (const char* one : {":5: slurm has no key \"partitoin\"; did you mean \"partition\"?",
                          ":6: slurm.time must be a time limit such as", ":7: slurm.memory must be text, not 2",
                          ":8: slurm.account must be one text, not a list",
                          ":9: slurm.options: --array is set by the sweep itself; leave it out"})
    EXPECT_THAT(said, HasSubstr(one)) << said;
  Mistakes mistakes("s.toml");
  const SweepFile file = parse_sweep("s.toml", grid + R"toml(partition = "main"
time = "2:00:00"
setup = ["module load gcc", "cd /scratch"]
)toml",
                                     "", mistakes);
  EXPECT_TRUE(mistakes.none());
  EXPECT_EQ(file.slurm.partition, "main");
  EXPECT_EQ(file.slurm.time, "2:00:00");
  EXPECT_EQ(file.slurm.setup, (std::vector<std::string>{"module load gcc", "cd /scratch"}));
}

TEST_F(SweepPlan, RefusesSharesThatDoNotFit) {
  const std::string grid = "[[grid]]\ngpu = \"cd_24sm\"\nmix = [[\"gups\", \"mm\"]]\n";
  EXPECT_THAT(refusal(grid + "sms = 12\n"), HasSubstr("sms: 12 has 1 numbers for the 2 tenants of gups+mm"));
  EXPECT_THAT(refusal(grid + "sms = [[20, 5]]\n"), HasSubstr("sms: 25 is more than the 24 SMs of cd_24sm"));
  EXPECT_THAT(refusal(grid + "sms = \"oracle:best\"\n"), HasSubstr("no [[search]] is called \"best\""));
  EXPECT_THAT(refusal(grid + "sms = \"evn\"\n"), HasSubstr("not \"evn\""));
  for (const char* set : {"set.tenancy.sharing = \"time\"\n", "set.tenancy.partition.use = \"present\"\n"})
    EXPECT_THAT(refusal(grid + "sms = [[4, 20]]\n" + set),
                HasSubstr("sms: 4,20 has no effect when tenancy.sharing is"));
}

TEST_F(SweepPlan, RefusesExpressionsAboutRunsThatAreNotThere) {
  const std::string grid = "[[grid]]\ngpu = \"cd_24sm\"\nworkload = \"gups\"\n[[claim]]\nid = \"x\"\nvalue = ";
  EXPECT_THAT(refusal(grid + "'mean(total_ipc[desing=\"none\"])'\n"),
              HasSubstr("no run has a label \"desing\"; did you mean"));
  EXPECT_THAT(refusal(grid + "'mean(total_ipc[design=\"mask\"])'\n"), HasSubstr("no run has design=\"mask\""));
}

TEST_F(SweepPlan, RefusesAFileThatRunsNothing) {
  EXPECT_THAT(refusal(""), HasSubstr("nothing would run"));
  EXPECT_THAT(refusal("[[grid]]\ngpu = \"cd_24sm\"\n"), HasSubstr("needs a workload or a mix"));
  EXPECT_THAT(refusal("[grid\n"), HasSubstr("not valid TOML"));
}

TEST_F(SweepPlan, TheExperimentsOfTheTreeAreSound) {
#ifdef TERRACE_DCHECK
  GTEST_SKIP() << "planning thousands of jobs takes minutes here; the release build does it";
#endif
  u64 files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() + "/configs/experiments")) {
    if (entry.path().extension() != ".toml") continue;
    ++files;
    EXPECT_NO_THROW(Sweep(entry.path().string(), "", configs())) << entry.path();
  }
  EXPECT_GE(files, 2u);
}

}  // namespace
}  // namespace terrace
