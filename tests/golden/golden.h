// Golden files: what a run computed when somebody last looked at it and agreed. A difference names the first line that
// differs. TERRACE_UPDATE_GOLDEN=1 writes the file anew; look at the difference before you commit it.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "support/paths.h"

namespace terrace {

inline void expect_golden(const std::string& file, const std::string& text) {
  const std::string path = source_folder() + "/tests/golden/" + file;
  if (std::getenv("TERRACE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream in(path);
  ASSERT_TRUE(in) << path << " is missing; TERRACE_UPDATE_GOLDEN=1 writes it";
  std::istringstream got(text);
  std::string expected_line, line;
  for (int number = 1;; ++number) {
    const bool more_expected = static_cast<bool>(std::getline(in, expected_line));
    const bool more = static_cast<bool>(std::getline(got, line));
    ASSERT_EQ(more_expected, more) << file << " ends at another line than the run, near line " << number;
    if (!more) return;
    ASSERT_EQ(expected_line, line) << file << ":" << number;
  }
}

}  // namespace terrace
