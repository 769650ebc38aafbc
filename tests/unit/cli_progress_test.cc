// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "cli/progress.h"

namespace terrace {
namespace {

class ProgressLine : public ::testing::Test {
 protected:
  std::string shown(Progress::Style style, double seconds, double step) {
    std::string out;
    double clock = 1000;
    Progress progress("gups", style, [&] { return clock; }, [&](std::string_view text) { out += text; });
    const double end = clock + seconds;
    while (clock < end) {
      clock += step;
      const double fraction = (clock - 1000) / seconds;
      progress.update(fraction, static_cast<Cycle>(2e6 * (clock - 1000)), static_cast<u64>(1.5e6 * (clock - 1000)));
    }
    progress.finish();
    return out;
  }
  static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
  }
};

TEST_F(ProgressLine, IsRewrittenAtMostTenTimesASecondAndClearedAtTheEnd) {
  const std::string out = shown(Progress::Style::kTerminal, 1, 1.0 / 1024);
  EXPECT_LE(count(out, "\rgups"), 10u);
  EXPECT_GE(count(out, "\rgups"), 8u);
  EXPECT_EQ(count(out, "\n"), 0u);
  EXPECT_TRUE(out.ends_with("\r\x1b[K"));
}

TEST_F(ProgressLine, SaysPercentCyclesRateAndTimeLeft) {
  const std::string out = shown(Progress::Style::kTerminal, 200, 50);
  EXPECT_TRUE(out.starts_with("\rgups: 25 %, 100.0 M cycles, 1.50 M warp-instructions/s, 2:30 left\x1b[K")) << out;
}

TEST_F(ProgressLine, ElsewhereALineComesWithEachTenthOfALongRunAndNeverInAShortOne) {
  EXPECT_EQ(shown(Progress::Style::kLines, 9, 0.25), "");
  const std::string out = shown(Progress::Style::kLines, 400, 0.25);
  EXPECT_GE(count(out, "\n"), 8u);
  EXPECT_LE(count(out, "\n"), 10u);
  EXPECT_EQ(count(out, "\r"), 0u);
}

TEST_F(ProgressLine, ElsewhereAMinuteNeverPassesInSilence) {
  const std::string out = shown(Progress::Style::kLines, 6000, 1);
  EXPECT_GE(count(out, "\n"), 95u);
  EXPECT_LE(count(out, "\n"), 101u);
}

TEST_F(ProgressLine, QuietIsQuiet) {
  EXPECT_EQ(shown(Progress::Style::kQuiet, 1000, 1), "");
}

}  // namespace
}  // namespace terrace
