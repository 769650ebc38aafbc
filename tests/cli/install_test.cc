// An installed Terrace finds its files wherever it is started.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/paths.h"
#include "support/program.h"
#include "support/scratch.h"

namespace terrace {
namespace {

TEST(Install, TheInstalledProgramFindsItsConfigurationsFromAnotherFolder) {
  const Scratch prefix, elsewhere;
  const std::string command = "cmake --install " + build_folder() + " --prefix " + prefix.path().string() + " > " +
                              elsewhere.path().string() + "/log 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  prefix.write("share/terrace/configs/gpu/tiny.toml", "# the smallest machine\nrun.seed = 9\n");
  const std::string program = prefix.path().string() + "/bin/terrace";
  const Outcome list = Child(program, {"list", "gpus"}, elsewhere.path().string()).wait();
  EXPECT_EQ(list.err, "");
  EXPECT_NE(list.out.find("  the smallest machine\n"), std::string::npos) << list.out;
  const Outcome value = Child(program, {"explain", "run.seed", "--gpu", "tiny"}, elsewhere.path().string()).wait();
  EXPECT_NE(value.out.find("set by configs/gpu/tiny.toml:2\n"), std::string::npos) << value.out << value.err;
}

TEST(Install, AProgramWithoutItsFilesSaysSo) {
  const Scratch folder;
  const std::string program = folder.path().string() + "/bin/terrace";
  std::filesystem::create_directories(folder.path() / "bin");
  std::filesystem::copy_file(terrace_program(), program);
  const Outcome outcome = Child(program, {"list", "gpus"}, "/").wait();
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err,
            "terrace: the program in " + folder.path().string() +
                "/bin finds its configs/ neither in share/terrace beside its bin/ nor in the source folder of "
                "its build; reinstall it\n");
}

}  // namespace
}  // namespace terrace
