// terrace run --checkpoint and --resume, as a user meets them.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "engine/hash.h"
#include "support/program.h"
#include "support/scratch.h"
#include "text/tree.h"

namespace terrace {
namespace {

using Words = std::vector<std::string>;

const Words kRun{"run",  "--gpu",    "dws_30sm", "--design", "dws",  "--tenant",
                 "gups", "--tenant", "mm",       "--size",   "mini", "--quiet"};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class Checkpoints : public testing::Test {
 protected:
  Outcome run(const Words& words) { return run_terrace(words, scratch_.path().string()); }
  std::string path(const std::string& name) const { return (scratch_.path() / name).string(); }
  bool there(const std::string& name) const { return std::filesystem::exists(path(name)); }
  Tree result(const std::string& name) const { return read_json(path(name)); }
  /// Writes the state of the run above in cycle 3000, and the result of the whole.
  void save() {
    const Outcome outcome = run(with(kRun, {"--checkpoint", "c@3000", "--json", "whole.json"}));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    ASSERT_EQ(outcome.err, "");
    ASSERT_TRUE(there("c"));
  }
  /// Without what depends on time and host, and where it went on.
  static Tree lasting(Tree json) {
    Tree run = Tree::table();
    for (const char* key : {"cycles", "warp_instructions", "thread_instructions", "digest"})
      run[key] = *json.find("run")->find(key);
    json["run"] = run;
    return json;
  }
  /// One sentence that says so, exit code 2, and nothing else said or written.
  void expect_refused(const Words& words, const std::string& sentence) {
    const std::size_t files = scratch_.files();
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(sentence), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("terrace: ")) << outcome.err;
    EXPECT_EQ(scratch_.files(), files);
  }

  Scratch scratch_;
};

TEST_F(Checkpoints, ARunGoesOnFromItsFileAloneAndWithTheSameOptions) {
  save();
  for (const Words& words :
       {Words{"run", "--resume", "c", "--quiet"}, with(kRun, {"--resume", "c"}),
        Words{"run", "--resume", "c", "--threads", "2"}, Words{"run", "--resume", "c", "--seed", "1"}}) {
    const Outcome outcome = run(with(words, {"--json", "r.json"}));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("; resumed in cycle 3000\n"), std::string::npos) << outcome.out;
    const Tree whole = result("whole.json"), resumed = result("r.json");
    EXPECT_EQ(*resumed.find("run")->find("resumed_from"), Tree(u64{3000}));
    EXPECT_EQ(whole.find("run")->find("resumed_from"), nullptr);
    EXPECT_EQ(json_text(lasting(resumed)), json_text(lasting(whole)));
    EXPECT_EQ(run({"diff", "whole.json", "r.json"}).exit_code, 0);
  }
}

TEST_F(Checkpoints, SavingChangesNoResult) {
  save();
  ASSERT_EQ(run(with(kRun, {"--json", "plain.json"})).exit_code, 0);
  EXPECT_EQ(json_text(lasting(result("plain.json"))), json_text(lasting(result("whole.json"))));
}

TEST_F(Checkpoints, SeveralAreWrittenAndOneFileMayBeWrittenAgainAndAgain) {
  Outcome outcome = run(with(kRun, {"--checkpoint", "a@1000", "--checkpoint", "b@2500", "--checkpoint", "b@4000",
                                    "--checkpoint", "e@every:1500", "--json", "whole.json"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(scratch_.files(), 4u);
  const u64 cycles = std::get<u64>(result("whole.json").find("run")->find("cycles")->value);
  const std::vector<std::pair<std::string, u64>> from{{"a", 1000}, {"b", 4000}, {"e", cycles / 1500 * 1500}};
  for (const auto& [name, cycle] : from) {
    outcome = run({"run", "--resume", name, "--json", "r.json", "--quiet"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(*result("r.json").find("run")->find("resumed_from"), Tree(cycle)) << name;
    EXPECT_EQ(json_text(lasting(result("r.json"))), json_text(lasting(result("whole.json"))));
  }
}

/// What a job of a cluster does that may be stopped at any time: the same command, with --resume if there is a file.
TEST_F(Checkpoints, TheSameCommandGoesOnAndSavesAgainInCyclesToCome) {
  const Words words = with(kRun, {"--checkpoint", "c@every:2000", "--json", "r.json"});
  ASSERT_EQ(run(with(words, {"--until", "cycles:2500"})).exit_code, 0);
  EXPECT_EQ(*result("r.json").find("run")->find("cycles"), Tree(u64{2500}));
  Outcome outcome = run(with(words, {"--resume", "c", "--until", "cycles:5000"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(*result("r.json").find("run")->find("resumed_from"), Tree(u64{2000}));
  outcome = run(with(words, {"--resume", "c"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(*result("r.json").find("run")->find("resumed_from"), Tree(u64{4000}));
  ASSERT_EQ(run(with(kRun, {"--json", "plain.json"})).exit_code, 0);
  EXPECT_EQ(json_text(lasting(result("plain.json"))), json_text(lasting(result("r.json"))));
}

TEST_F(Checkpoints, ARunThatEndsEarlierSaysThatItWroteNone) {
  const Outcome outcome =
      run(with(kRun, {"--until", "cycles:2000", "--checkpoint", "c@2001", "--checkpoint", "d@every:5000"}));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err,
            "terrace: no checkpoint was written to c: the run ended in cycle 2000, before cycle 2001\n"
            "terrace: no checkpoint was written to d: the run ended in cycle 2000, before cycle 5000\n");
  EXPECT_EQ(scratch_.files(), 0u);
}

TEST_F(Checkpoints, ChecksBuffersAloneRunsAndTimelinesGoOnToo) {
  const Words extras{"--check", "--alone", "--set", "run.epoch=500", "--timeline", "t.csv", "--stats-every", "700"};
  ASSERT_EQ(run(with(with(kRun, extras), {"--checkpoint", "c@3000", "--json", "whole.json"})).exit_code, 0);
  std::filesystem::rename(path("t.csv"), path("whole.csv"));
  const Outcome outcome = run(
      {"run", "--resume", "c", "--alone", "--timeline", "t.csv", "--json", "r.json", "--save", "1:C=c.bin", "--quiet"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("passed"), std::string::npos) << outcome.out;
  EXPECT_EQ(json_text(lasting(result("r.json"))), json_text(lasting(result("whole.json"))));
  EXPECT_EQ(read_file(path("t.csv")), read_file(path("whole.csv")));
  EXPECT_TRUE(there("c.bin"));
}

TEST_F(Checkpoints, ATimelineOfEventsAndALogGoOn) {
  const Words extras{"--timeline", "t.gz", "--timeline-events", "20000", "--log", "dispatcher@0:9000"};
  const Outcome whole = run(with(with(kRun, extras), {"--checkpoint", "c@3000"}));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  std::filesystem::rename(path("t.gz"), path("whole.gz"));
  const Outcome resumed = run({"run", "--resume", "c", "--timeline", "t.gz", "--quiet"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(read_file(path("t.gz")), read_file(path("whole.gz")));
  const auto log_of = [](const Outcome& outcome) { return outcome.out.substr(0, outcome.out.find("tenant  ")); };
  EXPECT_EQ(log_of(resumed), log_of(whole));
  EXPECT_NE(log_of(resumed).find("goes to SM"), std::string::npos);
}

TEST_F(Checkpoints, WhatWasNotKeptIsRefused) {
  save();
  const Words resume{"run", "--resume", "c", "--quiet"};
  expect_refused(with(resume, {"--timeline", "t.csv"}),
                 "c: keeps no statistics of epochs for --timeline FILE.csv; also give it");
  expect_refused(with(resume, {"--timeline", "t.gz"}), "c: keeps no events for --timeline FILE; also give it");
  expect_refused(
      with(resume, {"--log", "l2.0@2999:4000"}),
      "c: resumes in cycle 3000, and --log l2.0@2999:4000 starts earlier; let it start in that cycle or later");
  EXPECT_EQ(run(with(resume, {"--log", "l2.0@3000:3100"})).exit_code, 0);
  expect_refused(with(resume, {"--until", "cycles:3000"}),
                 "which is past run.until = \"cycles:3000\"; give a later end");
  expect_refused(with(resume, {"--until", "instructions:10"}), "; give a later end");
  expect_refused(with(resume, {"--until", "window:9000"}), "c: was saved with run.until = \"completed\"");
}

TEST_F(Checkpoints, AnotherConfigurationIsRefusedWithTheKeyAndBothValues) {
  save();
  const auto refused = [&](const Words& more, const std::string& sentence) {
    expect_refused(with(with(kRun, {"--resume", "c"}), more), sentence);
  };
  refused(
      {"--set", "mmu.walkers=8"},
      "c: was saved with mmu.walkers = 16, and here it is 8; give the options of the first command, or only --resume");
  refused({"--seed", "2"}, "c: was saved with run.seed = 1, and here it is 2");
  refused({"--tenant", "fft"}, "c: was saved with run.tenants = \"gups mm\", and here it is \"gups mm fft\"");
  refused({"--sms", "10,20"}, "c: was saved with run.sms = []");
  expect_refused({"run", "--gpu", "dws_30sm", "--tenant", "gups", "--tenant", "mm", "--size", "mini", "--resume", "c"},
                 "c: was saved with mmu.back_pressure = \"tenant\", and here it is \"all\"");
  expect_refused({"run", "--resume", "c", "--set", "l2.hit_cycles=3"}, "c: was saved with l2.hit_cycles = ");
}

TEST_F(Checkpoints, AnotherProgramIsRefused) {
  const auto write = [&](const char* operation) {
    scratch_.write("mine.cu", std::string("extern \"C\" __global__ void k(unsigned* a) {\n"
                                          "  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                          "  for (unsigned n = 0; n < 200; ++n) a[i] = a[i] ") +
                                  operation + " 3u;\n}\n");
  };
  write("*");
  scratch_.write("mine.toml",
                 "source = \"mine.cu\"\n[[buffer]]\nname = \"a\"\ntype = \"u32\"\ncount = 4096\n"
                 "[[launch]]\nkernel = \"k\"\ngrid = [16]\nblock = [256]\nargs = [\"a\"]\n");
  const Words words{"run", "--gpu", "dws_30sm", "--tenant", "mine.toml", "--quiet"};
  const Outcome outcome = run(with(words, {"--checkpoint", "c@2000", "--json", "whole.json"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  ASSERT_TRUE(there("c"));
  ASSERT_EQ(run({"run", "--resume", "c", "--json", "r.json", "--quiet"}).exit_code, 0);
  EXPECT_EQ(json_text(lasting(result("r.json"))), json_text(lasting(result("whole.json"))));
  write("+");
  expect_refused({"run", "--resume", "c", "--quiet"},
                 "c: the program or the input of tenant 0, mine.toml, has changed since");
}

TEST_F(Checkpoints, WhatIsNoCheckpointIsRefused) {
  expect_refused({"run", "--resume", "none"}, "none: cannot be read: No such file or directory");
  expect_refused({"run", "--resume", "."}, ".: is not a checkpoint; --resume takes a file that --checkpoint wrote");
  scratch_.write("text", "some words that are no checkpoint\n");
  scratch_.write("empty", "");
  expect_refused({"run", "--resume", "text"},
                 "text: is not a checkpoint; --resume takes a file that --checkpoint wrote");
  expect_refused({"run", "--resume", "empty"}, "empty: is not a checkpoint");
}

TEST_F(Checkpoints, APartOfAFileOrAnAlteredOneIsRefused) {
  save();
  const std::string whole = read_file(path("c"));
  for (const std::size_t kept :
       {std::size_t{9}, std::size_t{15}, std::size_t{16}, std::size_t{23}, std::size_t{24}, std::size_t{100},
        std::size_t{20'000}, whole.size() / 2, whole.size() - 9, whole.size() - 8, whole.size() - 1}) {
    ASSERT_LT(kept, whole.size());
    scratch_.write("part", whole.substr(0, kept));
    expect_refused(
        {"run", "--resume", "part"},
        "part: is a checkpoint of which a part is missing or altered; use an earlier one, or start the run again");
  }
  for (const std::size_t at : {std::size_t{8}, std::size_t{12}, std::size_t{16}, std::size_t{300}, whole.size() / 3,
                               whole.size() / 2, whole.size() - 9, whole.size() - 8, whole.size() - 1}) {
    std::string altered = whole;
    altered[at] = static_cast<char>(altered[at] ^ 1);
    scratch_.write("altered", altered);
    expect_refused({"run", "--resume", "altered"}, "altered: is a checkpoint of which a part is missing or altered");
  }
  scratch_.write("more", whole + "x");
  expect_refused({"run", "--resume", "more"}, "of which a part is missing or altered");
  std::string other = whole;
  other[3] ^= 1;
  scratch_.write("other", other);
  expect_refused({"run", "--resume", "other"}, "other: is not a checkpoint");
}

/// What another build wrote says so; here the build is altered, with a hash that is right.
TEST_F(Checkpoints, AnotherBuildIsRefused) {
  save();
  const std::string whole = read_file(path("c"));
  const auto write = [&](const std::string& before, std::size_t behind) {
    std::string altered = whole.substr(0, whole.size() - 8);
    char& letter = altered[altered.find(before) + before.size() + behind];
    letter = letter == '0' ? '1' : '0';
    const u64 hash = hash64(altered);
    scratch_.write("other", altered.append(reinterpret_cast<const char*>(&hash), sizeof hash));
  };
  ASSERT_NE(whole.find("\"code\": \""), std::string::npos);
  write("\"code\": \"", 0);
  expect_refused({"run", "--resume", "other"}, "other: was written by another build (version ");
  expect_refused({"run", "--resume", "other"}, "; resume with the build that wrote it, or start the run again");
  write("\x1a", 0);  // the format
  expect_refused({"run", "--resume", "other"}, "other: has format ");
}

TEST_F(Checkpoints, AFileThatCannotBeWrittenIsRefusedBeforeTheRun) {
  expect_refused(with(kRun, {"--checkpoint", "none/c@100"}), "none/c: cannot be written: No such file or directory");
  expect_refused(with(kRun, {"--checkpoint", ".@100"}), ".: cannot be written: Is a directory");
}

TEST_F(Checkpoints, WhatIsNoCycleIsRefused) {
  const auto refused = [&](const std::string& wish, const std::string& sentence) {
    expect_refused(with(kRun, {"--checkpoint", wish}), sentence);
  };
  refused("c", "run: --checkpoint takes FILE@CYCLE or FILE@every:CYCLES, such as run.ckpt@1000000, not \"c\"");
  refused("@100", "run: --checkpoint takes FILE@CYCLE");
  refused("c@", "run: --checkpoint c@: the cycle must be a whole number from 1, not \"\"");
  refused("c@x", "the cycle must be a whole number from 1, not \"x\"");
  refused("c@0", "the cycle must be a whole number from 1, not \"0\"");
  refused("c@-5", "the cycle must be a whole number from 1, not \"-5\"");
  refused("c@99999999999999999999999", "the cycle must be a whole number from 1");
  refused("c@every:0", "the number of cycles must be a whole number from 1, not \"0\"");
  refused("c@every:", "the number of cycles must be a whole number from 1, not \"\"");
}

TEST_F(Checkpoints, ProcessesHaveNone) {
  expect_refused({"cuda", "--gpu", "dws_30sm", "--checkpoint", "c@100", "--", "true"}, "cuda: no option --checkpoint");
}

/// While a large run is saved again and again, whatever the moment: the old file stays or a whole new one is there.
TEST_F(Checkpoints, AnInterruptedRunLeavesAWholeCheckpointAndNothingElse) {
  const Words words{"run", "--gpu",  "dws_30sm", "--tenant",     "gups",        "--tenant",
                    "mm",  "--size", "tiny",     "--checkpoint", "c@every:500", "--quiet"};
  for (const int number : {SIGINT, SIGTERM}) {
    Child child(terrace_program(), words, scratch_.path().string());
    for (u32 tries = 0; tries < 600 && !there("c"); ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ASSERT_TRUE(there("c"));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    child.signal(number);
    EXPECT_EQ(child.wait().exit_code, 130);
    EXPECT_EQ(scratch_.files(), 1u);
    const Outcome resumed = run({"run", "--resume", "c", "--until", "cycles:60000", "--quiet"});
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    std::filesystem::remove(path("c"));
  }
}

}  // namespace
}  // namespace terrace
