// Expressions of a user's file, against C++.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/user/expression.h"
#include "unit/ptx_harness.h"

namespace terrace::user {
namespace {

using testing::HasSubstr;

const std::string kFile = "k.toml";

i64 value(std::string_view text) {
  Names names;
  names.values = {{"n", 1000}, {"i", 3}};
  return evaluate(text, names, {&kFile, "launch[0].grid", 7});
}
std::string refusal(std::string_view text) {
  return ptx::refusal([&] { value(text); });
}

TEST(UserExpression, HasTheOperatorsOfCWithTheirPrecedence) {
  const i64 n = 1000, i = 3;
#define SAME(expression) EXPECT_EQ(value(#expression), i64{expression}) << #expression
  SAME(n);
  SAME(n >> i);
  SAME((n >> i) / 7 % 5);
  SAME(1 + 2 * 3 - 4 / 2);
  SAME(10 - 3 - 2);
  SAME(100 / 5 / 2);
  EXPECT_EQ(value("1 << i + 1"), 16);
  SAME((n & 0xF0) | (i ^ 1));
  SAME(-i * -2 + ~i);
  SAME(- -i);
  SAME(i < 3);
  SAME(i <= 3);
  EXPECT_EQ(value("n > i == 1"), 1);
  SAME(i != 3 ? 5 : i == 3 ? 6 : 7);
  SAME(0x7fffffffffffffff);
  SAME(-7 / 2);
  SAME(-7 % 2);
#undef SAME
  EXPECT_EQ(value("min(n, i) + max(i, 9)"), 12);
  EXPECT_EQ(value("\t( n+255 )/256 "), 4);
}

TEST(UserExpression, WhatIsWrongIsToldWithItsPlace) {
  EXPECT_EQ(refusal("n +"),
            "k.toml:7: launch[0].grid is the expression \"n +\": a number or a name is missing at its end");
  EXPECT_THAT(refusal(""), HasSubstr("is missing at its end"));
  EXPECT_THAT(refusal("m"), HasSubstr("m is not known; there are min, max, i, n, and what [define] adds"));
  EXPECT_THAT(refusal("n n"), HasSubstr("'n' is not expected there"));
  EXPECT_THAT(refusal("(n"), HasSubstr("a ) is missing"));
  EXPECT_THAT(refusal("i ? 1"), HasSubstr("a : is missing"));
  EXPECT_THAT(refusal("n / (i - 3)"), HasSubstr("it divides by 0"));
  EXPECT_THAT(refusal("n % 0"), HasSubstr("it divides by 0"));
  EXPECT_THAT(refusal("1 << 64"), HasSubstr("it shifts by 64"));
  EXPECT_THAT(refusal("1 >> -1"), HasSubstr("it shifts by -1"));
  EXPECT_THAT(refusal("1 << 63"), HasSubstr("does not fit 64 bits"));
  EXPECT_THAT(refusal("0x7fffffffffffffff + 1"), HasSubstr("does not fit 64 bits"));
  EXPECT_THAT(refusal("99999999999999999999"), HasSubstr("is no whole number"));
  EXPECT_THAT(refusal("1.5"), HasSubstr("'.' is not expected there"));
  EXPECT_THAT(refusal("3x"), HasSubstr("3x is no whole number"));
  EXPECT_THAT(refusal("n & $"), HasSubstr("a number or a name is missing in it"));
  EXPECT_THAT(refusal(std::string(100'000, '(')), HasSubstr("nested too deeply"));
  EXPECT_THAT(refusal(std::string(100'000, '-') + "1"), HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace terrace::user
