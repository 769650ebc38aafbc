// Programs from a user's TOML file: what they become, and what a wrong file is told.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <tuple>

#include "engine/check.h"
#include "frontend/ptx/execute/machine.h"
#include "frontend/user_program.h"
#include "unit/ptx_harness.h"

namespace terrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kSaxpy[] = R"(#include "terrace_device.h"
extern "C" __global__ void saxpy(const float* x, float* y, float a, u32 n) {
  const u32 i = global_thread();
  if (i < n) y[i] += a * x[i];
}
)";

/// Files in a folder of the test's own.
class UserProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("user_program_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
    write("saxpy.cu", kSaxpy);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  ProgramInstance load(const std::string& toml, u64 seed = 1) const {
    write("program.toml", toml);
    return load_user_program((folder_ / "program.toml").string(), seed);
  }
  std::string refusal(const std::string& toml) const {
    try {
      load(toml);
    } catch (const InputError& error) {
      return error.what();
    }
    return "(accepted)";
  }

  std::filesystem::path folder_;
};

constexpr char kGood[] = R"(source = "saxpy.cu"
[[buffer]]
name = "x"
count = 100
init = "iota"
[[buffer]]
name = "y"
type = "f32"
count = 100
init = "constant"
value = 0.5
[[launch]]
kernel = "saxpy"
grid = [4]
block = [32]
repeat = 2
args = ["x", "y", 2.0, 100]
[[expect]]
buffer = "y"
equals = "constant"
value = 0.5
)";

TEST_F(UserProgramTest, AReadOnlyBufferIsSo) {
  std::string text = kGood;
  text.insert(text.find("type = \"f32\""), "read_only = true\n");
  GuestMemory memory(PageSize::k4K);
  load(text).program->allocate(memory);
  ASSERT_EQ(memory.allocations().size(), 2u);
  EXPECT_EQ(memory.allocations()[0].permission, Permission::kReadWrite);
  EXPECT_EQ(memory.allocations()[1].permission, Permission::kReadOnly);
}

TEST_F(UserProgramTest, CompilesItsSourceAndLaunchesWithAddressesAndNumbers) {
  const ProgramInstance user = load(kGood);
  EXPECT_THAT(user.code.text, HasSubstr(".entry saxpy"));
  GuestMemory memory(PageSize::k4K);
  user.program->allocate(memory);
  user.program->initialise(memory);
  const auto launch = user.program->next(memory);
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->kernel, "saxpy");
  EXPECT_EQ(launch->grid, (Dim3{4, 1, 1}));
  ASSERT_EQ(launch->arguments.size(), 4u);
  u64 x = 0;
  float a = 0;
  std::memcpy(&x, launch->arguments[0].bytes.data(), 8);
  std::memcpy(&a, launch->arguments[2].bytes.data(), 4);
  EXPECT_EQ(x, memory.allocations()[0].first.raw);
  EXPECT_EQ(a, 2.0f);
  EXPECT_EQ(launch->arguments[3].bytes.size(), 4u);
  EXPECT_TRUE(user.program->next(memory));
  EXPECT_FALSE(user.program->next(memory));
}

TEST_F(UserProgramTest, DrawsFromTheRunsSeedUnlessTheFileGivesOne) {
  const auto first = [&](const std::string& seed_line, u64 run_seed) {
    std::string text = kGood;
    text.replace(text.find("init = \"iota\""), 13, "init = \"uniform\"\n" + seed_line);
    const ProgramInstance user = load(text, run_seed);
    GuestMemory memory(PageSize::k4K);
    user.program->allocate(memory);
    user.program->initialise(memory);
    float value = 0;
    std::memcpy(&value, memory.read(memory.allocations()[0].first, sizeof value).data(), sizeof value);
    return value;
  };
  EXPECT_EQ(first("", 1), first("seed = 1\n", 1)) << "as before there was a choice";
  EXPECT_NE(first("", 1), first("", 2));
  EXPECT_EQ(first("seed = 7\n", 1), first("seed = 7\n", 2));
}

TEST_F(UserProgramTest, FillsBuffersAndChecksWhatTheyHold) {
  const ProgramInstance user = load(kGood);
  GuestMemory memory(PageSize::k4K);
  user.program->allocate(memory);
  user.program->initialise(memory);
  EXPECT_EQ(reinterpret_cast<const float*>(memory.at(memory.allocations()[0].first))[42], 42.0f);
  EXPECT_TRUE(user.program->check(memory).passed);
  reinterpret_cast<float*>(memory.at(memory.allocations()[1].first))[99] = 0.25f;
  const CheckResult wrong = user.program->check(memory);
  EXPECT_FALSE(wrong.passed);
  EXPECT_EQ(wrong.message, "y[99] is 0.25 and should be 0.5");
}

TEST_F(UserProgramTest, FillsAndComparesLargeBuffersFromFilesAndClearsThem) {
  constexpr u32 kCount = 10'000;  // more than are read at once
  std::vector<u32> values(kCount);
  for (u32 i = 0; i < kCount; ++i) values[i] = i * 3;
  write("values.bin", {reinterpret_cast<const char*>(values.data()), kCount * 4});
  const std::string text = R"(source = "saxpy.cu"
[[buffer]]
name = "a"
type = "u32"
count = 10000
init = "file"
file = "values.bin"
[[buffer]]
name = "b"
type = "u32"
count = 10000
[[launch]]
kernel = "saxpy"
args = ["a", "b", 2.0, 0]
[[expect]]
buffer = "a"
equals = "file"
file = "values.bin"
[[expect]]
buffer = "b"
equals = "zero"
)";
  const ProgramInstance user = load(text);
  GuestMemory memory(PageSize::k4K);
  user.program->allocate(memory);
  for (u32 run = 0; run < 2; ++run) {  // the second finds what the first left behind
    user.program->initialise(memory);
    EXPECT_TRUE(user.program->check(memory).passed);
    u32* a = reinterpret_cast<u32*>(memory.at(memory.allocations()[0].first));
    u32* b = reinterpret_cast<u32*>(memory.at(memory.allocations()[1].first));
    EXPECT_EQ(a[9000], 27'000u);
    a[9000] = 1;
    b[9999] = 1;
    EXPECT_EQ(user.program->check(memory).message, "a[9000] is 1 and should be 27000; b[9999] is 1 and should be 0");
  }
  write("values.bin", "short");
  EXPECT_THAT(ptx::refusal([&] { user.program->initialise(memory); }),
              HasSubstr("needs 40000 bytes, but values.bin holds 5"));
}

TEST_F(UserProgramTest, WithoutAnExpectationTheCheckFailsAndShowsDigests) {
  std::string text = kGood;
  text.resize(text.find("[[expect]]"));
  const ProgramInstance user = load(text);
  GuestMemory memory(PageSize::k4K);
  user.program->allocate(memory);
  user.program->initialise(memory);
  const CheckResult result = user.program->check(memory);
  EXPECT_FALSE(result.passed);
  EXPECT_THAT(result.message, HasSubstr("Digests are x="));
}

TEST_F(UserProgramTest, AWrongKeyIsNamedWithItsLine) {
  EXPECT_THAT(refusal("source = \"saxpy.cu\"\n[[buffer]]\nname = \"x\"\ncuont = 3\n"),
              HasSubstr("program.toml:4: buffer[0].cuont is not a known key; did you mean \"count\"?"));
}

TEST_F(UserProgramTest, AnUnknownBufferInALaunchIsNamed) {
  EXPECT_THAT(
      refusal("source = \"saxpy.cu\"\n[[buffer]]\nname = \"values\"\ncount = 3\n"
              "[[launch]]\nkernel = \"saxpy\"\nargs = [\"vlaues\"]\n"),
      HasSubstr(
          "program.toml:7: launch[0].args[0] names no buffer defined above it: \"vlaues\"; did you mean \"values\"?"));
}

TEST_F(UserProgramTest, ANumberThatItsTypeCannotHoldIsRefused) {
  EXPECT_THAT(refusal("source = \"saxpy.cu\"\n[[launch]]\nkernel = \"k\"\nargs = [{ u8 = 256 }]\n"),
              HasSubstr("launch[0].args[0] must be a whole number from 0 to 255, not 256"));
}

/// kGood with a line replaced.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = kGood;
  return text.replace(text.find(from), from.size(), to);
}

TEST_F(UserProgramTest, ABlockOrGridLargerThanCudaAllowsIsRefusedWithItsLine) {
  EXPECT_THAT(refusal(changed("block = [32]", "block = [1, 1, 1024]")),
              HasSubstr("program.toml:15: launch[0].block is 1 x 1 x 1024 threads; make it at most 1024 x 1024 x 64"));
  EXPECT_THAT(refusal(changed("block = [32]", "block = [32, 33]")),
              HasSubstr("program.toml:15: launch[0].block is 1056 threads; make it at most 1024"));
  EXPECT_THAT(
      refusal(changed("grid = [4]", "grid = [1, 65536]")),
      HasSubstr("program.toml:14: launch[0].grid is 1 x 65536 x 1 blocks; make it at most 2147483647 x 65535 x 65535"));
  EXPECT_EQ(refusal(changed("block = [32]", "block = [4, 4, 64]")), "(accepted)");
}

TEST_F(UserProgramTest, AnArgumentOfTheWrongKindIsRefusedWithItsLine) {
  const auto outcome = [&](const std::string& arguments) -> std::string {
    const ProgramInstance user = load(changed("[\"x\", \"y\", 2.0, 100]", arguments));
    GuestMemory memory(PageSize::k4K);
    ptx::Machine machine(ptx::parse_module(user.code.file, user.code.text), memory);
    user.program->allocate(memory);
    user.program->initialise(memory);
    try {
      machine.begin_launch(*user.program->next(memory));
    } catch (const InputError& error) {
      return error.what();
    }
    return "(accepted)";
  };
  EXPECT_EQ(outcome("[\"x\", \"y\", 2.0, 100]"), "(accepted)");
  EXPECT_THAT(outcome("[\"x\", \"y\", 2.0, 100.0]"),
              AllOf(HasSubstr("program.toml:17: launch[0].args[3] of kernel saxpy is a floating-point number"),
                    HasSubstr("is of type .u32; give a whole number")));
  EXPECT_THAT(outcome("[\"x\", \"y\", 2.0, { f32 = 100 }]"),
              HasSubstr("launch[0].args[3] of kernel saxpy is a floating"));
  EXPECT_THAT(outcome("[\"x\", \"y\", 2, 100]"),
              AllOf(HasSubstr("program.toml:17: launch[0].args[2] of kernel saxpy is a whole number"),
                    HasSubstr("is of type .f32; give it a decimal point or a type")));
  EXPECT_EQ(outcome("[\"x\", \"y\", { f32 = 2 }, 100]"), "(accepted)");
  EXPECT_THAT(outcome("[{ f64 = 0.5 }, \"y\", 2.0, 100]"),
              HasSubstr("launch[0].args[0] of kernel saxpy is a floating"));
  EXPECT_THAT(outcome("[\"x\", \"y\", 2.0, { u64 = 100 }]"),
              HasSubstr("program.toml:17: launch[0].args[3] of kernel saxpy has 8 bytes"));
}

TEST_F(UserProgramTest, AToleranceIsANumberOfAtLeastZero) {
  for (const std::string wrong : {"-1e-5", "nan", "inf", "\"small\""}) {
    const std::string sentence = refusal(std::string(kGood) + "tolerance = " + wrong + "\n");
    EXPECT_THAT(sentence, HasSubstr("program.toml:22: expect[0].tolerance ")) << wrong;
  }
  EXPECT_THAT(refusal(std::string(kGood) + "tolerance = -0.5\n"),
              HasSubstr("expect[0].tolerance must be a relative error, a number of at least 0, not -0.5"));
  EXPECT_THAT(refusal(changed("equals = \"constant\"", "digest = \"0123456789abcdef\"\ntolerance = 0.5")),
              HasSubstr("expect[0].tolerance needs equals: a digest allows no error"));
  for (const std::string right : {"0", "0.0", "1e-5", "2"})
    EXPECT_EQ(refusal(std::string(kGood) + "tolerance = " + right + "\n"), "(accepted)") << right;
}

/// The check of a buffer y that holds `held` everywhere.
CheckResult check_of(const ProgramInstance& user, float held) {
  GuestMemory memory(PageSize::k4K);
  user.program->allocate(memory);
  user.program->initialise(memory);
  float* y = reinterpret_cast<float*>(memory.at(memory.allocations()[1].first));
  std::fill(y, y + 100, held);
  return user.program->check(memory);
}

TEST_F(UserProgramTest, AnExpectedNanIsAnyNanAndNothingElse) {
  std::string text = kGood;
  text.replace(text.rfind("value = 0.5"), 11, "value = nan");
  for (const std::string tolerance : {"", "tolerance = 0.5\n"}) {
    const std::string file = text + tolerance;
    EXPECT_TRUE(check_of(load(file), std::numeric_limits<float>::quiet_NaN()).passed) << tolerance;
    EXPECT_TRUE(check_of(load(file), -std::numeric_limits<float>::quiet_NaN()).passed) << tolerance;
    EXPECT_EQ(check_of(load(file), 1).message, "y[0] is 1 and should be nan");
  }
  EXPECT_EQ(check_of(load(kGood), std::numeric_limits<float>::quiet_NaN()).message, "y[0] is nan and should be 0.5");
}

TEST_F(UserProgramTest, NothingIsNearAnExpectedInfinity) {
  std::string text = std::string(kGood) + "tolerance = 0.5\n";
  text.replace(text.rfind("value = 0.5"), 11, "value = inf");
  EXPECT_TRUE(check_of(load(text), std::numeric_limits<float>::infinity()).passed);
  EXPECT_EQ(check_of(load(text), 3).message, "y[0] is 3 and should be inf");
  EXPECT_FALSE(check_of(load(text), -std::numeric_limits<float>::infinity()).passed);
}

TEST_F(UserProgramTest, AnAbsoluteErrorSufficesWhereARelativeOneDoesNot) {
  const std::string text = std::string(kGood) + "tolerance = 1e-6\n";
  EXPECT_FALSE(check_of(load(text), 0.625f).passed);
  EXPECT_TRUE(check_of(load(text + "absolute = 0.125\n"), 0.625f).passed);
  EXPECT_TRUE(check_of(load(std::string(kGood) + "absolute = 0.125\n"), 0.375f).passed);
  EXPECT_FALSE(check_of(load(text + "absolute = 0.124\n"), 0.625f).passed);
  EXPECT_THAT(
      refusal(text + "absolute = -1\n"),
      HasSubstr("program.toml:23: expect[0].absolute must be an absolute error, a number of at least 0, not -1"));
}

TEST_F(UserProgramTest, AsManyMismatchesAreToldAsAreAskedFor) {
  EXPECT_EQ(check_of(load(std::string(kGood) + "mismatches = 2\n"), 3).message,
            "y[0] is 3 and should be 0.5, y[1] is 3 and should be 0.5 (100 of 100 values differ)");
  EXPECT_THAT(check_of(load(std::string(kGood) + "mismatches = 1000\n"), 3).message, HasSubstr("y[99] is 3"));
  EXPECT_THAT(refusal(std::string(kGood) + "mismatches = 0\n"), HasSubstr("expect[0].mismatches must be"));
}

/// One buffer `b`, filled as `lines` say; two numbers of 16 bits are what it begins with.
TEST_F(UserProgramTest, BuffersOfSixteenBitNumbersHoldRoundedOnes) {
  const auto bits = [&](const std::string& type, const std::string& lines) {
    const ProgramInstance user =
        load("source = \"saxpy.cu\"\n[[buffer]]\nname = \"b\"\ncount = 10\ntype = \"" + type + "\"\n" + lines +
             "[[launch]]\nkernel = \"saxpy\"\n[[expect]]\nbuffer = \"b\"\n" + "equals = \"constant\"\nvalue = 1.5\n");
    GuestMemory memory(PageSize::k4K);
    user.program->allocate(memory);
    user.program->initialise(memory);
    const u16* held = reinterpret_cast<const u16*>(memory.at(memory.allocations()[0].first));
    return std::tuple(held[0], held[1], user.program->check(memory).message);
  };
  using Held = std::tuple<u16, u16, std::string>;
  const std::string constant = "init = \"constant\"\nvalue = 1.5\n", iota = "init = \"iota\"\nvalue = 1\nstep = 0.5\n";
  EXPECT_EQ(bits("f16", constant), Held(0x3e00, 0x3e00, "b: 10 values as expected"));
  EXPECT_EQ(bits("bf16", constant), Held(0x3fc0, 0x3fc0, "b: 10 values as expected"));
  EXPECT_EQ(bits("f16", iota), Held(0x3c00, 0x3e00, "b[0] is 1 and should be 1.5"));
  EXPECT_EQ(bits("bf16", "init = \"constant\"\nvalue = 1.00390625\n"),
            Held(0x3f80, 0x3f80, "b[0] is 1 and should be 1.5"))
      << "half way: to even";
}

/// A .npy file as NumPy 1 writes it.
std::string npy(const std::string& head, const std::string& elements) {
  std::string text = head;
  text.append(128 - 10 - head.size() - 1, ' ');
  text += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(text.size()) + '\0' + text + elements;
}

TEST_F(UserProgramTest, AnNpyFileFillsABufferThatItFits) {
  const std::vector<float> values(100, 2.5f);
  const std::string elements(reinterpret_cast<const char*>(values.data()), 400);
  const auto outcome = [&](const std::string& head, const std::string& held) -> std::string {
    write("values.npy", npy(head, held));
    const ProgramInstance user = load(changed("init = \"iota\"", "init = \"file\"\nfile = \"values.npy\""));
    GuestMemory memory(PageSize::k4K);
    user.program->allocate(memory);
    return ptx::refusal([&] {
      user.program->initialise(memory);
      const float* x = reinterpret_cast<const float*>(memory.at(memory.allocations()[0].first));
      input_error("{} {}", x[0], x[99]);
    });
  };
  EXPECT_EQ(outcome("{'descr': '<f4', 'fortran_order': False, 'shape': (100,), }", elements), "2.5 2.5");
  EXPECT_EQ(outcome("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 25), }", elements), "2.5 2.5");
  EXPECT_EQ(outcome("{'descr': '<f4', 'fortran_order': True, 'shape': (100,), }", elements), "2.5 2.5");
  EXPECT_THAT(outcome("{'descr': '<f4', 'fortran_order': True, 'shape': (4, 25), }", elements),
              AllOf(HasSubstr("program.toml:2: buffer[0] "), HasSubstr("holds them column by column")));
  EXPECT_THAT(outcome("{'descr': '<f8', 'fortran_order': False, 'shape': (50,), }", elements),
              AllOf(HasSubstr("buffer[0] is of type f32 ('<f4' in NumPy), but "), HasSubstr("values.npy holds '<f8'")));
  EXPECT_THAT(outcome("{'descr': '<f4', 'fortran_order': False, 'shape': (50, 3), }", elements),
              AllOf(HasSubstr("buffer[0] has 100 elements, but "), HasSubstr("values.npy holds 150")));
  EXPECT_THAT(outcome("{'descr': '<f4', 'fortran_order': False, 'shape': (100,), }", "short"),
              HasSubstr("buffer[0] needs 400 bytes, but values.npy holds 5"));
  for (const std::string broken : {"{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False, 'shape': 7, }", ""})
    EXPECT_THAT(outcome(broken, elements), HasSubstr("values.npy: is not a .npy file that can be read")) << broken;
  write("values.npy", "no");
  GuestMemory memory(PageSize::k4K);
  const ProgramInstance user = load(changed("init = \"iota\"", "init = \"file\"\nfile = \"values.npy\""));
  user.program->allocate(memory);
  EXPECT_THAT(ptx::refusal([&] { user.program->initialise(memory); }), HasSubstr("is not a .npy file"));
}

TEST_F(UserProgramTest, ABufferThatIsFilledWithZerosCostsTheHostNothing) {
  for (const std::string zero : {"0", "0.0"}) {
    write("zeros.toml",
          "source = \"saxpy.cu\"\n[[buffer]]\nname = \"x\"\ncount = 300000000\ninit = \"constant\"\nvalue = " + zero +
              "\n[[launch]]\nfill = [{ buffer = \"x\", value = " + zero +
              " }]\nkernel = \"saxpy\"\ngrid = [1]\nblock = [32]\nargs = [\"x\", \"x\", 2.0, 0]\n");
    const ProgramInstance user = load_user_program((folder_ / "zeros.toml").string());
    GuestMemory memory(PageSize::k4K);
    user.program->allocate(memory);
    user.program->initialise(memory);
    ASSERT_TRUE(user.program->next(memory).has_value());
    const GuestMemory::Allocation& x = memory.allocations().front();
    std::vector<unsigned char> held((x.bytes + 4095) / 4096);
    ASSERT_EQ(mincore(memory.at(x.first), x.bytes, held.data()), 0);
    EXPECT_EQ(std::ranges::count_if(held, [](unsigned char page) { return (page & 1) != 0; }), 0) << zero;
  }
}

TEST_F(UserProgramTest, WhatMayNeverEndIsRefused) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo((folder_ / "pipe.ptx").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo((folder_ / "pipe.toml").c_str(), 0600), 0);
  for (const std::string name : {"pipe", "/dev/zero"}) {
    const ProgramInstance user = load(changed("init = \"iota\"", "init = \"file\"\nfile = \"" + name + "\""));
    GuestMemory memory(PageSize::k4K);
    user.program->allocate(memory);
    EXPECT_THAT(ptx::refusal([&] { user.program->initialise(memory); }), HasSubstr("is not a plain file")) << name;
  }
  EXPECT_THAT(refusal(changed("saxpy.cu", "pipe.ptx")), HasSubstr("pipe.ptx: is not a plain file"));
  EXPECT_THAT(ptx::refusal([&] { load_user_program((folder_ / "pipe.toml").string()); }),
              HasSubstr("pipe.toml: is not a plain file"));
}

constexpr char kTwoNames[] = R"(source = "saxpy.cu"
[[buffer]]
name = "x"
count = 100
init = "iota"
[[buffer]]
name = "y"
count = 100
[[buffer]]
name = "z"
same_as = "y"
read_only = true
[[launch]]
kernel = "saxpy"
grid = [4]
block = [32]
args = ["x", "y", 1.0, 100]
[[launch]]
unmap = ["y"]
read_write = ["z"]
read_only = ["x"]
kernel = "saxpy"
grid = [4]
block = [32]
args = ["x", "z", 1.0, 100]
)";

TEST_F(UserProgramTest, ABufferMayBeAnotherNameOfOneAndLaunchesMayUnmapAndProtect) {
  const ProgramInstance instance = load(kTwoNames);
  GuestMemory memory(PageSize::k4K);
  Program& program = *instance.program;
  program.allocate(memory);
  for (u32 run = 0; run < 2; ++run) {  // a relaunch finds everything as the file has it
    program.initialise(memory);
    ASSERT_EQ(memory.allocations().size(), 3u);
    EXPECT_EQ(memory.footprint_bytes(), 800u);
    const auto at = [&](const Launch& launch, u64 argument) {
      u64 address = 0;
      std::memcpy(&address, launch.arguments[argument].bytes.data(), sizeof address);
      return VirtAddr{address};
    };
    const Launch first = *program.next(memory);
    const VirtAddr x = at(first, 0), y = at(first, 1);
    EXPECT_TRUE(memory.writable(x, 4));
    EXPECT_TRUE(memory.writable(y, 4));
    *reinterpret_cast<float*>(memory.at(y)) = 5;
    const Launch second = *program.next(memory);
    const VirtAddr z = at(second, 1);
    EXPECT_FALSE(memory.contains(y, 4));
    EXPECT_EQ(*reinterpret_cast<float*>(memory.at(z)), 5.0f);
    EXPECT_TRUE(memory.writable(z, 4));
    EXPECT_FALSE(memory.writable(x, 4));
    EXPECT_FALSE(program.next(memory).has_value());
  }
}

TEST_F(UserProgramTest, WrongNamesOfMappingsAreRefused) {
  const auto with = [](const std::string& what, const std::string& by) {
    std::string text = kTwoNames;
    text.replace(text.find(what), what.size(), by);
    return text;
  };
  EXPECT_THAT(refusal(with("same_as = \"y\"", "same_as = \"w\"")),
              HasSubstr("program.toml:11: buffer[2].same_as names no buffer defined above it: \"w\""));
  EXPECT_THAT(refusal(with("same_as = \"y\"", "same_as = \"y\"\ncount = 3")),
              HasSubstr("program.toml:12: buffer[2].count is that of \"y\", whose memory this is"));
  EXPECT_THAT(refusal(with("unmap = [\"y\"]", "unmap = \"y\"")), HasSubstr("unmap must be a list of buffers"));
  EXPECT_THAT(refusal(with("unmap = [\"y\"]", "unmap = [\"q\"]")),
              HasSubstr("program.toml:19: launch[1].unmap names no buffer defined above it: \"q\""));
  EXPECT_THAT(refusal(with("unmap = [\"y\"]", "unmap = [\"z\"]")),
              HasSubstr("launch[1].read_write names \"z\", which was unmapped before"));
  EXPECT_THAT(refusal(with("args = [\"x\", \"z\"", "args = [\"x\", \"y\"")),
              HasSubstr("launch[1].args[1] names \"y\", which was unmapped before"));
  EXPECT_THAT(refusal(with("read_write = [\"z\"]", "read_write = [\"x\"]")),
              HasSubstr("launch[1].read_write names \"x\", which read_only names too"));
  EXPECT_THAT(refusal(std::string(kTwoNames) + "[[expect]]\nbuffer = \"y\"\nequals = \"zero\"\n"),
              HasSubstr("expect[0] names \"y\", which a launch unmaps"));
}

TEST_F(UserProgramTest, AFileWithoutLaunchOrSourceIsRefused) {
  EXPECT_THAT(refusal("source = \"saxpy.cu\"\n"), HasSubstr("launches nothing; add a [[launch]]"));
  EXPECT_THAT(refusal("[[launch]]\nkernel = \"k\"\n"), HasSubstr("names no device code"));
}

TEST_F(UserProgramTest, DeviceCodeThatDoesNotCompileShowsTheFirstError) {
  write("saxpy.cu", "#include \"terrace_device.h\"\n__global__ void k() { nonsense(); }\n");
  const std::string sentence = refusal("source = \"saxpy.cu\"\n[[launch]]\nkernel = \"k\"\n");
  EXPECT_THAT(sentence, HasSubstr("does not compile"));
  EXPECT_THAT(sentence, HasSubstr("saxpy.cu:2"));
  EXPECT_THAT(sentence, HasSubstr("nonsense"));
}

TEST_F(UserProgramTest, AMissingSourceIsNamed) {
  EXPECT_THAT(refusal("source = \"other.cu\"\n[[launch]]\nkernel = \"k\"\n"),
              HasSubstr("other.cu: there is no such file"));
}

}  // namespace
}  // namespace terrace
