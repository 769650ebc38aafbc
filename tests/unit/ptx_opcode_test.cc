// Every row of the opcode table through the real reader and executor, on special and random operands.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/unit/arith_cases.h"
#include "tests/unit/ptx_opcode_operands.h"

namespace terrace::opcodes {
namespace {

#ifdef TERRACE_DCHECK
constexpr u32 kCases = 96;
#else
constexpr u32 kCases = 2'048;
#endif

void check_rows(const Rows& rows, const char* stream) {
  std::set<std::string> seen;
  for (const Row& row : rows) {
    EXPECT_TRUE(seen.insert(row.opcode).second) << row.opcode << " stands twice in the table";
    const auto values = operand_tuples(row, stream, kCases);
    std::vector<u64> results;
    const std::string refused = ptx::refusal([&] { results = ptx::evaluate(operation_of(row), values); });
    EXPECT_EQ(refused, "") << row.opcode;
    if (results.size() != values.size()) continue;
    Mismatches wrong(row.opcode);
    for (u32 i = 0; i < kCases; ++i) {
      const u64 expected = row.reference(values[i].data());
      if (row.ulps > 0 && near(row, results[i], expected)) continue;
      wrong.check(results[i], expected, values[i][0], values[i][1], values[i][2], values[i][3]);
    }
  }
}

TEST(PtxOpcode, IntegerInstructionsMatch128BitArithmetic) {
  check_rows(integer_rows(), "integer");
}
TEST(PtxOpcode, FloatInstructionsMatchMpfrBitForBit) {
  check_rows(float_rows(), "float");
}
TEST(PtxOpcode, HalfInstructionsMatchMpfrBitForBit) {
  check_rows(half_rows(), "half");
}
TEST(PtxOpcode, ComparisonsOfHalvesMatchMpfr) {
  check_rows(half_compare_rows(), "half compare");
}
TEST(PtxOpcode, ConversionsMatchMpfrBitForBit) {
  check_rows(convert_rows(), "convert");
}
TEST(PtxOpcode, VideoInstructionsMatch128BitArithmetic) {
  check_rows(video_rows(), "video");
}
TEST(PtxOpcode, ApproximateInstructionsAreWithinTheirBounds) {
  check_rows(approx_rows(), "approx");
}

}  // namespace
}  // namespace terrace::opcodes
