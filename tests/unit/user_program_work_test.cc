// What launches of a user's program may be given and what the host does between them: structs, offsets, fills, copies,
// groups, variables of the module. Each program is executed, and its own check decides.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/check.h"
#include "run/exec.h"
#include "support/scratch.h"
#include "unit/ptx_harness.h"

namespace terrace {
namespace {

using testing::HasSubstr;

constexpr char kCode[] = R"(#include "terrace_device.h"
struct Pair { u8 tag; double scale; float add[3]; const float* x; };
__constant__ float table[4];
__device__ u32 counter;
extern "C" __global__ void with_struct(float* y, Pair p) {
  y[threadIdx.x] = p.tag * p.x[threadIdx.x] * (float)p.scale + p.add[threadIdx.x % 3];
}
extern "C" __global__ void add(float* y, const float* x) { y[threadIdx.x] += x[threadIdx.x]; }
extern "C" __global__ void from_table(float* y) {
  y[threadIdx.x] = table[threadIdx.x % 4] + counter;
  if (threadIdx.x == 0) counter = 0;
}
)";

constexpr char kBuffers[] = R"(source = "code.cu"
[[buffer]]
name = "x"
count = 64
init = "iota"
[[buffer]]
name = "y"
count = 32
)";

std::string expect(const std::string& lines) {
  return "[[expect]]\nbuffer = \"y\"\n" + lines;
}

class UserProgramWork : public testing::Test {
 protected:
  UserProgramWork() { scratch_.write("code.cu", kCode); }

  std::string check(const std::string& after_buffers) const {
    ExecOptions options;
    options.program = scratch_.write("program.toml", kBuffers + after_buffers);
    options.check = true;
    return execute_program(options).check->message;
  }
  std::string refusal(const std::string& after_buffers) const {
    return ptx::refusal([&] { check(after_buffers); });
  }

  Scratch scratch_;
};

constexpr char kAsExpected[] = "y: 32 values as expected";

TEST_F(UserProgramWork, AStructIsLaidOutAsTheCompilerDoes) {
  const std::string launch = "[[launch]]\nkernel = \"with_struct\"\nblock = [32]\nargs = [\"y\", { struct = [";
  const std::string members = "{ u8 = 2 }, { f64 = 1.5 }, { f32 = [7, 7, 7] }, ";
  EXPECT_EQ(check(launch + members + "\"x\"] }]\n" + expect("equals = \"iota\"\nvalue = 7\nstep = 3\n")), kAsExpected);
  EXPECT_EQ(check(launch + members + "{ buffer = \"x\", offset = 32 }] }]\n" +
                  expect("equals = \"iota\"\nvalue = 103\nstep = 3\n")),
            kAsExpected);
  EXPECT_THAT(refusal(launch + "{ u8 = 2 }, { f64 = 1.5 }] }]\n"),
              HasSubstr("program.toml:12: launch[0].args[1] of kernel with_struct has 16 bytes"));
  EXPECT_THAT(refusal(launch + "{ u8 = 256 }] }]\n"),
              HasSubstr("args[1].struct[0] must be a whole number from 0 to 255"));
  EXPECT_THAT(refusal(launch + "] }]\n"), HasSubstr("args[1] needs a list of members in struct"));
}

TEST_F(UserProgramWork, APointerMayPointIntoABuffer) {
  const auto launch = [](const std::string& argument) {
    return "[[launch]]\nkernel = \"add\"\nblock = [32]\nargs = [\"y\", " + argument + "]\n";
  };
  EXPECT_EQ(check(launch("{ buffer = \"x\", offset = 32 }") + expect("equals = \"iota\"\nvalue = 32\n")), kAsExpected);
  EXPECT_THAT(refusal(launch("{ buffer = \"x\", offset = 65 }")),
              HasSubstr("launch[0].args[1] begins at element 65 of \"x\", which has 64"));
  EXPECT_THAT(refusal(launch("{ buffer = \"x\", ofset = 1 }")), HasSubstr("has the unknown key ofset beside buffer"));
  EXPECT_THAT(refusal(launch("{ buffer = 3 }")), HasSubstr("needs the name of a buffer"));
}

TEST_F(UserProgramWork, FillsAndCopiesComeBeforeEveryLaunch) {
  const auto launch = [](const std::string& lines) {
    return "[[launch]]\nkernel = \"add\"\nblock = [32]\nargs = [\"y\", \"x\"]\n" + lines;
  };
  // Without the fill the second repetition would add to the first.
  EXPECT_EQ(check(launch("repeat = 2\nfill = [{ buffer = \"y\", value = 5.0 }]\n") +
                  expect("equals = \"iota\"\nvalue = 5\n")),
            kAsExpected);
  EXPECT_EQ(check(launch("copy = [{ from = \"x\", from_offset = 32, to = \"y\" }]\n") +
                  expect("equals = \"iota\"\nvalue = 32\nstep = 2\n")),
            kAsExpected);
  EXPECT_EQ(check(launch("fill = [{ buffer = \"y\", offset = 31, value = 1 }]\n") + expect("equals = \"iota\"\n")),
            "y[31] is 32 and should be 31");
  EXPECT_THAT(refusal(launch("copy = [{ from = \"x\", to = \"y\" }]\n")),
              HasSubstr("program.toml:13: launch[0].copy[0] ends at element 64 of \"y\", which has 32"));
  EXPECT_THAT(refusal(launch("fill = [{ buffer = \"y\", offset = 32 }]\n")),
              HasSubstr("launch[0].fill[0] begins at element 32 of \"y\", which has 32"));
  EXPECT_THAT(refusal(launch("fill = [{ buffer = \"z\" }]\n")), HasSubstr("names no buffer defined above it: \"z\""));
  EXPECT_THAT(refusal(launch("fill = { buffer = \"y\" }\n")), HasSubstr("launch[0].fill must be a list of tables"));
  EXPECT_THAT(refusal(launch("fill = [{ buffer = \"y\", ofset = 1 }]\n")), HasSubstr("did you mean \"offset\"?"));
}

TEST_F(UserProgramWork, GroupsOfLaunchesRepeatTogether) {
  const auto launch = [](const std::string& from, const std::string& lines) {
    return "[[launch]]\nkernel = \"add\"\nblock = [32]\nargs = [\"y\", \"" + from + "\"]\n" + lines;
  };
  const std::string group = "[[group]]\nname = \"twice\"\nrepeat = 2\n", in = "group = \"twice\"\n";
  // y = x; then twice: y += x, y += y. (1 -> 2 -> 4 -> 5 -> 10) x.
  EXPECT_EQ(
      check(group + launch("x", "") + launch("x", in) + launch("y", in) + expect("equals = \"iota\"\nstep = 10\n")),
      kAsExpected);
  // A second group begins where the first one ends; three times y += x more.
  EXPECT_EQ(check(group + "[[group]]\nname = \"more\"\nrepeat = 3\n" + launch("x", "") + launch("x", in) +
                  launch("y", in) + launch("x", "group = \"more\"\n") + expect("equals = \"iota\"\nstep = 13\n")),
            kAsExpected);
  EXPECT_THAT(refusal(group + launch("x", in) + launch("x", "") + launch("x", in)),
              HasSubstr("launch[2].group must follow the other launches of \"twice\" directly"));
  EXPECT_THAT(refusal(launch("x", in)), HasSubstr("names no [[group]] defined above it: \"twice\""));
  EXPECT_THAT(refusal(group + launch("x", "")), HasSubstr("program.toml:9: group[0] has no launch"));
  EXPECT_THAT(refusal(group + launch("y", in + "unmap = [\"x\"]\n")), HasSubstr("launch[0] cannot unmap in a group"));
}

TEST_F(UserProgramWork, VariablesOfTheModuleGetTheirContentsBeforeTheFirstLaunch) {
  const std::string launch = "[[launch]]\nkernel = \"from_table\"\nblock = [32]\nargs = [\"y\"]\n";
  const std::string counter =
      "[[variable]]\nname = \"counter\"\ntype = \"u32\"\ncount = 1\ninit = \"constant\"\nvalue = 3\n";
  const auto table = [](const std::string& count) {
    return "[[variable]]\nname = \"table\"\ncount = " + count + "\ninit = \"constant\"\nvalue = 0.5\n";
  };
  EXPECT_EQ(check(launch + table("4") + counter + expect("equals = \"constant\"\nvalue = 3.5\n")), kAsExpected);
  // The second launch finds what the first one wrote.
  EXPECT_EQ(check(launch + launch + table("4") + counter + expect("equals = \"constant\"\nvalue = 0.5\n")),
            kAsExpected);
  EXPECT_THAT(refusal(launch + table("5")), HasSubstr("variable[0] has 20 bytes and the variable table only 16"));
  EXPECT_THAT(refusal(launch + "[[variable]]\nname = \"tabel\"\ncount = 4\n"),
              HasSubstr("program.toml:13: variable[0] names no __constant__ or __device__ variable of the device code: "
                        "\"tabel\"; terrace list kernels shows them"));
}

TEST_F(UserProgramWork, ExpressionsMayUseTheRepetitionAndTheRound) {
  const auto launch = [](const std::string& argument, const std::string& more) {
    return "[[launch]]\nkernel = \"add\"\nblock = [\"16 * two\"]\nargs = [\"y\", " + argument + "]\n" + more;
  };
  const std::string two = "[define]\ntwo = 2\nfour = \"two * two\"\n";
  // x from 0, 2, 4 and 6 on.
  EXPECT_EQ(check(two + launch("{ buffer = \"x\", offset = \"two * i\" }", "repeat = 4\n") +
                  expect("equals = \"iota\"\nvalue = 12\nstep = 4\n")),
            kAsExpected);
  // From round and 4 i on: 0, 4, 1, 5, 2, 6.
  EXPECT_EQ(check(two + "[[group]]\nname = \"g\"\nrepeat = 3\n" +
                  launch("{ buffer = \"x\", offset = \"round + four * i\" }", "repeat = 2\ngroup = \"g\"\n") +
                  expect("equals = \"iota\"\nvalue = 18\nstep = 6\n")),
            kAsExpected);
  // Of fills and copies: the last repetition's remain.
  EXPECT_EQ(
      check(two +
            launch("\"x\"",
                   "repeat = 3\nfill = [{ buffer = \"y\", value = \"10 * i\" }]\n"
                   "copy = [{ from = \"x\", from_offset = \"i\", to = \"y\", count = \"i - 1 < 0 ? 1 : 32\" }]\n") +
            expect("equals = \"iota\"\nvalue = 2\nstep = 2\n")),
      kAsExpected);
  EXPECT_THAT(refusal(two + launch("{ buffer = \"x\", offset = \"40 * i\" }", "repeat = 3\n")),
              HasSubstr("launch[0].args[1] begins at element 80 of \"x\", which has 64"));
  EXPECT_THAT(refusal(two + launch("{ buffer = \"x\", offset = \"i - 1\" }", "repeat = 3\n")),
              HasSubstr("args[1].offset must be a whole number from 0 to"));
  EXPECT_THAT(refusal(launch("\"x\"", "")),
              HasSubstr("program.toml:11: launch[0].block is the expression \"16 * two\": two is "
                        "not known; there are min, max, i, round"));
  EXPECT_THAT(refusal("[define]\ni = 3\n"), HasSubstr("program.toml:10: define.i is a name that expressions have"));
  EXPECT_THAT(refusal("[define]\nn = 3.5\n"), HasSubstr("define.n must be a whole number"));
  EXPECT_THAT(refusal(two + launch("{ buffer = \"x\", offset = \"i % 2\" }", "repeat = 100001\n")),
              HasSubstr("repeats 100001 times with expressions; at most 100000 are possible"));
}

TEST_F(UserProgramWork, ARepetitionMayHaveItsOwnGridAndNumbers) {
  scratch_.write("code.cu",
                 "__global__ void put(float* y, unsigned n, short s) {\n"
                 "  y[n + blockIdx.x] = n + blockIdx.x + s - (31 - __clz(n));\n}\n");
  // 1, 2, 4, 8 and 16 blocks, one behind the other.
  EXPECT_EQ(check("[[launch]]\nkernel = \"put\"\ngrid = [\"1 << i\"]\nblock = [1]\nrepeat = 5\n"
                  "args = [\"y\", { expr = \"1 << i\" }, { i16 = \"i\" }]\n" +
                  expect("equals = \"iota\"\n")),
            kAsExpected);
}

}  // namespace
}  // namespace terrace
