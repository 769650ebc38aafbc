// Video instructions on operands whose results are worked out by hand from the PTX ISA; ptx_opcode_video_rows.cc has all forms.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "tests/unit/ptx_harness.h"

namespace terrace::ptx {
namespace {

u32 result_of(const std::string& statement, u32 a, u32 b, u32 c = 0) {
  return static_cast<u32>(evaluate({statement, "b32", {"b32", "b32", "b32"}}, {{a, b, c, 0}})[0]);
}

TEST(PtxVideo, APartOfARegisterIsExtendedByItsType) {
  EXPECT_EQ(result_of("vadd.s32.s32.u32 %d, %a.b1, %b.h1;", 0x0000'8000, 0x0001'0000), 0xffff'ff81u);  // -128 + 1
  EXPECT_EQ(result_of("vadd.s32.u32.u32 %d, %a.b1, %b.h1;", 0x0000'8000, 0x0001'0000), 0x81u);
  EXPECT_EQ(result_of("vsub.s32.s32.s32 %d, %a.h0, %b.b3;", 0x7fff, 0xff00'0000), 0x8000u);
}

TEST(PtxVideo, SaturationHasTheRangeOfWhatIsWritten) {
  EXPECT_EQ(result_of("vadd.s32.s32.s32.sat %d, %a, %b;", 0x7fff'ffff, 1), 0x7fff'ffffu);
  EXPECT_EQ(result_of("vsub.u32.u32.u32.sat %d, %a, %b;", 1, 2), 0u);
  EXPECT_EQ(result_of("vadd.u32.u32.u32.sat %d.b2, %a, %b, %c;", 200, 100, 0x1111'1111), 0x11ff'1111u);
  EXPECT_EQ(result_of("vadd.s32.u32.u32.sat %d.h0, %a, %b, %c;", 40'000, 1, 0x2222'2222), 0x2222'7fffu);
}

TEST(PtxVideo, ASecondOperationTakesTheResultAndTheThirdOperand) {
  EXPECT_EQ(result_of("vabsdiff.u32.u32.u32.add %d, %a.b0, %b.b0, %c;", 3, 10, 100), 107u);  // a sum of differences
  EXPECT_EQ(result_of("vmin.s32.s32.s32.max %d, %a, %b, %c;", 5, 0xffff'fff0, 2), 2u);
  EXPECT_EQ(result_of("vmax.s32.s32.s32.min %d, %a, %b, %c;", 5, 0xffff'fff0, 2), 2u);
  // What is not saturated is compared before it is cut; unsigned, what is below zero is above all.
  EXPECT_EQ(result_of("vabsdiff.s32.s32.u32.max %d, %a, %b, %c;", 0, 0xfff9'4845, 1), 0xfff9'4845u);
  EXPECT_EQ(result_of("vadd.u32.u32.s32.max %d, %a, %b, %c;", 0, 0x8000'0000, 0xffff'fd47), 0x8000'0000u);
  EXPECT_EQ(result_of("vshl.u32.u32.u32.clamp.max %d, %a, %b, %c;", 0xea, 255, 0xffff'ffab), 0u);
  // vset compares by the first operand's type.
  EXPECT_EQ(result_of("vset.s32.u32.eq.min %d, %a, %b, %c;", 1, 2, 0x8000'0000), 0x8000'0000u);
  EXPECT_EQ(result_of("vset.u32.s32.eq.min %d, %a, %b, %c;", 1, 2, 0x8000'0000), 0u);
  EXPECT_EQ(result_of("vset.s32.u32.lt.add %d, %a, %b, %c;", 0xffff'ffff, 0, 41), 42u);
}

TEST(PtxVideo, ShiftsClampOrWrapTheirAmounts) {
  EXPECT_EQ(result_of("vshl.u32.u32.u32.clamp %d, %a, %b;", 3, 33), 0u);
  EXPECT_EQ(result_of("vshl.u32.u32.u32.wrap %d, %a, %b;", 3, 33), 6u);
  EXPECT_EQ(result_of("vshr.s32.s32.u32.clamp %d, %a, %b;", 0x8000'0000, 40), 0xffff'ffffu);
  EXPECT_EQ(result_of("vshl.u32.u32.u32.sat.clamp %d, %a, %b;", 3, 31), 0xffff'ffffu);
}

TEST(PtxVideo, MadScalesRoundsAndNegates) {
  EXPECT_EQ(result_of("vmad.u32.u32.u32.shr7 %d, %a, %b, %c;", 100, 200, 28), 156u);  // 20028 / 128
  EXPECT_EQ(result_of("vmad.u32.u32.u32.po.shr15 %d, %a.h1, %b, %c;", 0x7fff'0000, 1, 0), 1u);
  EXPECT_EQ(result_of("vmad.s32.u32.u32 %d, -%a, %b, %c;", 6, 7, 2), static_cast<u32>(-40));
  EXPECT_EQ(result_of("vmad.s32.u32.u32 %d, %a, %b, -%c;", 6, 7, 50), static_cast<u32>(-8));
  EXPECT_EQ(result_of("vmad.s32.s32.s32.sat %d, %a, %b, %c;", 0x7fff'ffff, 0x8000'0000, 0), 0x8000'0000u);
}

TEST(PtxVideo, ElementsAreChosenFromBothOperandsAndMerged) {
  // Halves: of a 1 and 2, of b 3 and 4.
  EXPECT_EQ(result_of("vadd2.u32.u32.u32 %d, %a, %b, %c;", 0x0002'0001, 0x0004'0003), 0x0006'0004u);
  EXPECT_EQ(result_of("vsub2.s32.s32.s32 %d, %a.h30, %b.h12, %c;", 0x0002'0001, 0x0004'0003), 0x0002'fffeu);
  EXPECT_EQ(result_of("vadd2.u32.u32.u32 %d.h1, %a, %b, %c;", 0x0002'0001, 0x0004'0003, 0x9999'9999), 0x0006'9999u);
  EXPECT_EQ(result_of("vadd4.u32.u32.u32.sat %d.b30, %a, %b, %c;", 0xff01'0101, 0x0201'01ff, 0x5555'5555),
            0xff55'55ffu);
  EXPECT_EQ(result_of("vavrg4.u32.u32.u32 %d, %a, %b, %c;", 0x0001'02ff, 0x0102'02ff), 0x0102'02ffu);  // halves go up
  EXPECT_EQ(result_of("vavrg2.s32.s32.s32 %d, %a, %b, %c;", 0xffff'fffe, 0xfffe'0001), 0xfffe'ffffu);  // -1.5, -0.5
}

TEST(PtxVideo, ElementsAreAddedToTheThirdOperand) {
  EXPECT_EQ(result_of("vabsdiff4.u32.u32.u32.add %d, %a, %b, %c;", 0x0105'0a0f, 0x0403'0a00, 1000), 1020u);
  EXPECT_EQ(result_of("vmin2.s32.s32.s32.add %d.h0, %a, %b, %c;", 0x0001'ffff, 0x0001'0005, 10), 9u);
  EXPECT_EQ(result_of("vset4.u32.u32.ne.add %d, %a, %b, %c;", 0x0102'0304, 0x0100'0300, 7), 9u);
  EXPECT_EQ(result_of("vset2.u32.u32.eq %d, %a, %b, %c;", 0x0001'0002, 0x0001'0003, 7), 0x0001'0000u);
}

TEST(PtxVideo, WhatTheIsaDoesNotHaveIsRefused) {
  const auto refused = [](const std::string& statement) { return refusal([&] { result_of(statement, 1, 2, 3); }); };
  EXPECT_NE(refused("vadd.u32.u32.u32 %d, %a.b4, %b;").find(".b4 is no part of a register"), std::string::npos);
  EXPECT_NE(refused("vadd2.u32.u32.u32 %d, %a.h04, %b, %c;").find(".h04 does not choose"), std::string::npos);
  EXPECT_NE(refused("vadd4.u32.u32.u32.sat.add %d, %a, %b, %c;").find("without .sat"), std::string::npos);
  EXPECT_NE(refused("vadd.u32.u32.u32.add %d.b0, %a, %b, %c;").find("cannot write a part"), std::string::npos);
  EXPECT_NE(refused("vmad.s32.s32.s32 %d, -%a, %b, -%c;").find("cannot be negated"), std::string::npos);
  EXPECT_NE(refused("vadd.s32.s32.s32 %d, -%a, %b;").find("cannot be negated"), std::string::npos);
  EXPECT_NE(refused("add.s32 %d, %a.b0, %b;").find("only video instructions"), std::string::npos);
  EXPECT_NE(refused("add.s32 %d, -%a, %b;").find("only video instructions"), std::string::npos);
  EXPECT_NE(refused("vadd.s32.s32.s32 %d, %a, %b, %c;"), "");
}

}  // namespace
}  // namespace terrace::ptx
