// What fuzzing the PTX reader found (tests/fuzz/findings): each text is refused with the sentence its first line asks for,
// or runs.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "fuzz/try_module.h"
#include "support/paths.h"
#include "text/tree.h"

namespace terrace::ptx {
namespace {

namespace fs = std::filesystem;

TEST(PtxFindings, EachTextIsRefusedOrRunsAsItsFirstLineSays) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(source_folder() + "/tests/fuzz/findings")) files.push_back(entry);
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty());
  for (const fs::path& file : files) {
    const std::string text = read_file(file.string());
    const std::string_view line = std::string_view(text).substr(0, text.find('\n'));
    const Trial trial = try_module(text);
    constexpr std::string_view kRefused = "// refused: ";
    if (line.starts_with(kRefused)) {
      EXPECT_NE(trial.refusal.find(line.substr(kRefused.size())), std::string::npos) << file << ": " << trial.refusal;
    } else {
      EXPECT_EQ(line, "// runs") << file;
      EXPECT_EQ(trial.refusal, "") << file;
    }
  }
}

}  // namespace
}  // namespace terrace::ptx
