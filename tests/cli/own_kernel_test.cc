// A kernel of one's own, as a user meets it: an example to begin with, what a file holds, buffers from and to files.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <utility>

#include "support/paths.h"
#include "support/program.h"
#include "support/scratch.h"
#include "text/tree.h"

namespace terrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(NewKernel, WritesAProgramThatRunsAndWhoseCheckPassesAndFails) {
  const Scratch scratch;
  const std::string here = scratch.path().string();
  const Outcome made = run_terrace({"new", "kernel", "mine"}, here);
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, AllOf(HasSubstr("mine/mine.cu"), HasSubstr("  terrace exec mine/mine.toml --check\n"),
                              HasSubstr("--tenant mine/mine.toml --tenant mm")));
  const Outcome ran = run_terrace({"exec", "mine/mine.toml", "--check"}, here);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("check passed: y: 16384 values as expected"));
  const std::string code = read_file(here + "/mine/mine.cu");
  scratch.write("mine/mine.cu", std::string(code).replace(code.find("+ y[i]"), 6, "- y[i]"));
  const Outcome wrong = run_terrace({"exec", "mine/mine.toml", "--check"}, here);
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.out, HasSubstr("check FAILED: y[0] is -1 and should be 1"));
}

TEST(NewKernel, EveryCommandThatItPrintsWorks) {
  const Scratch scratch;
  // A name that C++ reserves is as good as any.
  const Outcome made = run_terrace({"new", "kernel", "float", "--out", "a"}, scratch.path().string());
  ASSERT_EQ(made.exit_code, 0) << made.err;
  u32 commands = 0;
  for (std::size_t at = 0; (at = made.out.find("  terrace ", at)) != std::string::npos; ++commands) {
    const std::size_t end = made.out.find('\n', at);
    const std::string command = terrace_program() + made.out.substr(at + 9, end - at - 9);
    const Outcome outcome = Child("/bin/bash", {"-c", command}, scratch.path().string()).wait();
    EXPECT_EQ(outcome.exit_code, 0) << command << "\n" << outcome.err;
    at = end;
  }
  EXPECT_EQ(commands, 4u);
}

TEST(NewKernel, NothingIsOverwrittenOrLeftBehind) {
  const Scratch scratch;
  const std::string here = scratch.path().string();
  const auto refusal = [&](const std::vector<std::string>& words) {
    const Outcome outcome = run_terrace(words, here);
    EXPECT_EQ(outcome.exit_code, 2);
    return outcome.err;
  };
  scratch.write("a/a.toml", "mine");
  EXPECT_EQ(refusal({"new", "kernel", "a"}),
            "terrace: new: a/a.toml exists already; choose another name, or another folder with --out\n");
  EXPECT_EQ(read_file(here + "/a/a.toml"), "mine");
  scratch.write("b", "a file");
  EXPECT_THAT(refusal({"new", "kernel", "b"}), HasSubstr("new: b cannot be created: "));
  EXPECT_THAT(refusal({"new", "kernel", "c", "--out", "no/where"}), HasSubstr("new: no/where cannot be created: "));
  EXPECT_THAT(refusal({"new", "kernel", "../c"}), HasSubstr("new: a kernel's name has up to 64 letters, digits and _"));
  EXPECT_THAT(refusal({"new", "kernel", "3d"}), HasSubstr("and does not begin with a digit; not \"3d\""));
  EXPECT_THAT(refusal({"new", "gpu", "c"}), HasSubstr("cannot make a \"gpu\"; there is only terrace new kernel NAME"));
  EXPECT_EQ(scratch.files(), 2u);
}

/// The commands of docs/your_program.md, in its order, each as it is typed.
TEST(YourProgram, EveryCommandOfItsPageWorks) {
  const Scratch scratch;
  std::istringstream page(read_file(source_folder() + "/docs/your_program.md"));
  bool inside = false;
  u32 commands = 0;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("```")) inside = !inside;
    if (!inside || !line.starts_with("terrace ")) continue;
    const Outcome outcome =
        Child("/bin/bash", {"-c", terrace_program() + line.substr(7)}, scratch.path().string()).wait();
    EXPECT_EQ(outcome.exit_code, 0) << line << "\n" << outcome.err;
    ++commands;
  }
  EXPECT_GE(commands, 6u);
}

TEST(YourProgram, WhatTheHostDoesBetweenLaunchesIsSeenUnderTiming) {
  const Scratch scratch;
  scratch.write("k.cu", R"(
#include "terrace_device.h"
struct P { float a; const float* x; };
__constant__ float table[4];
extern "C" __global__ void add(float* y, P p) {
  const u32 i = global_thread();
  y[i] += p.a * p.x[i] + table[0];
}
)");
  scratch.write("k.toml", R"(source = "k.cu"
[[buffer]]
name = "x"
count = 1024
init = "iota"
[[buffer]]
name = "y"
count = 512
[[buffer]]
name = "z"
count = 512
[[group]]
name = "step"
repeat = 3
[[launch]]
group = "step"
kernel = "add"
grid = [4]
block = [128]
args = ["y", { struct = [1.0, { buffer = "x", offset = 512 }] }]
[[launch]]
group = "step"
kernel = "add"
grid = [4]
block = [128]
copy = [{ from = "y", to = "z" }]
args = ["z", { struct = [1.0, "y"] }]
[[variable]]
name = "table"
count = 1
init = "constant"
value = 1
[[expect]]                     # 3 (x + 512 + 1)
buffer = "y"
equals = "iota"
value = 1539
step = 3
[[expect]]                     # 2 y + 1
buffer = "z"
equals = "iota"
value = 3079
step = 6
)");
  for (const auto& [gpu, design] : {std::pair{"dws_30sm", "baseline"}, std::pair{"vc_16cu", "vc_opt"}}) {
    const Outcome outcome = run_terrace(
        {"run", "--gpu", gpu, "--design", design, "--tenant", "k.toml", "--check", "--quiet"}, scratch.path().string());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err << outcome.out;
    EXPECT_THAT(outcome.out, HasSubstr("z: 512 values as expected"));
  }
}

TEST(Save, WhatABufferHoldsInTheEndGoesToAFileThatCanBeReadAgain) {
  const Scratch scratch;
  const std::string here = scratch.path().string();
  ASSERT_EQ(run_terrace({"new", "kernel", "mine", "--out", "."}, here).exit_code, 0);
  const Outcome saved = run_terrace({"exec", "mine.toml", "--save", "y=y.npy", "--save", "y=y.bin"}, here);
  ASSERT_EQ(saved.exit_code, 0) << saved.err;
  const std::string npy = read_file(here + "/y.npy"), raw = read_file(here + "/y.bin");
  ASSERT_EQ(raw.size(), 16384u * 4);
  ASSERT_EQ(npy.size() % 64, 0u);
  EXPECT_THAT(npy.substr(0, 128), HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (16384,), }"));
  EXPECT_EQ(npy.substr(npy.size() - raw.size()), raw);
  // What was written is what the program should hold, from either file.
  const std::string program = read_file(here + "/mine.toml");
  for (const std::string file : {"y.npy", "y.bin"}) {
    scratch.write("again.toml", program.substr(0, program.find("[[expect]]")) +
                                    "[[expect]]\nbuffer = \"y\"\nequals = \"file\"\nfile = \"" + file + "\"\n");
    EXPECT_EQ(run_terrace({"exec", "again.toml", "--check"}, here).exit_code, 0) << file;
  }
}

TEST(Save, ARunSavesTheBuffersOfItsTenants) {
  const Scratch scratch;
  const std::string here = scratch.path().string();
  ASSERT_EQ(run_terrace({"new", "kernel", "mine", "--out", "."}, here).exit_code, 0);
  ASSERT_EQ(run_terrace({"exec", "mine.toml", "--save", "y=exec.npy"}, here).exit_code, 0);
  const std::vector<std::string> run{"run", "--gpu", "dws_30sm", "--quiet", "--tenant", "mine.toml"};
  const auto with = [&](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return run_terrace(words, here);
  };
  ASSERT_EQ(with(run, {"--save", "y=run.npy"}).exit_code, 0);
  EXPECT_EQ(read_file(here + "/run.npy"), read_file(here + "/exec.npy"));
  // Whoever completes first begins again: what it held the first time counts.
  const Outcome pair = with(run, {"--tenant", "mm", "--size", "mini", "--save", "0:y=pair.npy", "--save", "1:C=c.bin"});
  ASSERT_EQ(pair.exit_code, 0) << pair.err;
  EXPECT_EQ(read_file(here + "/pair.npy"), read_file(here + "/exec.npy"));
  ASSERT_EQ(run_terrace({"exec", "mm", "--size", "mini", "--save", "C=mm.bin"}, here).exit_code, 0);
  EXPECT_EQ(read_file(here + "/c.bin"), read_file(here + "/mm.bin"));
  const Outcome whose = with(run, {"--tenant", "mm", "--size", "mini", "--save", "y=no.npy"});
  EXPECT_EQ(whose.exit_code, 2);
  EXPECT_EQ(whose.err, "terrace: run: --save y=no.npy: say of which tenant, from 0 to 1, as in --save 0:y=FILE\n");
  EXPECT_EQ(with(run, {"--save", "2:y=no.npy"}).err,
            "terrace: run: --save 2:y=no.npy: say of which tenant, from 0 to 0, as in --save 0:y=FILE\n");
  EXPECT_EQ(with(run, {"--save", "z=no.npy"}).err.find("terrace: run: --save: the program has no buffer \"z\""), 0u);
  EXPECT_FALSE(std::filesystem::exists(here + "/no.npy"));
}

TEST(Save, AWrongNameIsToldAndNothingIsLeft) {
  const Scratch scratch;
  const std::string here = scratch.path().string();
  ASSERT_EQ(run_terrace({"new", "kernel", "mine", "--out", "."}, here).exit_code, 0);
  const auto refusal = [&](const std::string& save) {
    const Outcome outcome = run_terrace({"exec", "mine.toml", "--save", "y=y.npy", "--save", save}, here);
    EXPECT_EQ(outcome.exit_code, 2);
    return outcome.err;
  };
  EXPECT_EQ(refusal("other=z.npy"), "terrace: exec: --save: the program has no buffer \"other\"; it has x, y\n");
  EXPECT_EQ(refusal("z.npy"), "terrace: exec: --save takes BUFFER=FILE, not \"z.npy\"\n");
  EXPECT_THAT(refusal("x=no/where.npy"), HasSubstr("no/where.npy"));
  EXPECT_EQ(scratch.files(), 2u);
}

TEST(ListKernels, ShowsParametersAndResourcesOfEachKernel) {
  const Scratch scratch;
  const std::string here = scratch.path().string();
  scratch.write("two.cu", R"(#include "terrace_device.h"
struct Box { float low[3], high[3]; };
__constant__ float table[16];
extern "C" __global__ void __launch_bounds__(64) first(const float* x, Box box, u32 n) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[threadIdx.x] + box.low[n % 3] + table[n % 16];
}
extern "C" __global__ void second() {}
)");
  const Outcome listed = run_terrace({"list", "kernels", "two.cu"}, here);
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, AllOf(HasSubstr("first: "), HasSubstr(" registers per thread, "),
                                HasSubstr(", blocks of at most 64 threads\n"), HasSubstr("first_param_0"),
                                HasSubstr("u64"), HasSubstr("struct, aligned to 4     24\n"), HasSubstr("second: "),
                                HasSubstr("takes no arguments\n"), HasSubstr("table     __constant__     64\n")));
  scratch.write("plain.cu", "__global__ void scale(float* x, int n) { x[n] *= 2; }\n");
  EXPECT_THAT(run_terrace({"list", "kernels", "plain.cu"}, here).out, HasSubstr("scale(float*, int), _Z5scalePfi: "));
  const Outcome nothing = run_terrace({"list", "kernels"}, here);
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("list: kernels of which file?"));
  scratch.write("none.ptx", ".version 6.0\n.target sm_70\n.address_size 64\n");
  EXPECT_THAT(run_terrace({"list", "kernels", "none.ptx"}, here).err, HasSubstr("none.ptx has no kernel"));
}

}  // namespace
}  // namespace terrace
