// Programs from a user's TOML file: what they become, and what a wrong file is told.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "engine/check.h"
#include "frontend/user_program.h"

namespace terrace {
namespace {

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
  EXPECT_THAT(user.code.ptx, HasSubstr(".entry saxpy"));
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
