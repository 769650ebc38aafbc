// Modules of several parts: PTX that was compiled apart and is linked where it is read. Expected values are computed by hand.
// SPDX-License-Identifier: MIT
#include "unit/ptx_harness.h"

namespace terrace::ptx {
namespace {

constexpr const char* kCaller = R"(
.extern .func (.param .b32 r) twice(.param .b32 x);
.extern .global .align 4 .u32 counter;
.extern .const .align 4 .b8 table[];
.global .align 1 .b8 own[2] = {7, 0};
.func (.param .b32 r) helper(.param .b32 x) {
  .reg .b32 %r<3>;
  ld.param.u32 %r1, [x]; add.u32 %r2, %r1, 1; st.param.b32 [r], %r2; ret;
}
.global .align 8 .u64 pointer = helper;
)";

/// out[0] = twice(5) + counter + table[2] + own[0] + helper(0) + *pointer(30), each of them of the part that the kernel is in.
constexpr const char* kKernel = R"(
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<20>; .reg .b64 %rd<8>; .reg .b16 %rs<2>;
  .param .b32 p; .param .b32 q;
  ld.param.u64 %rd1, [out];
  st.param.b32 [p], 5; call (q), twice, (p); ld.param.b32 %r1, [q];
  ld.global.u32 %r2, [counter]; add.u32 %r1, %r1, %r2;
  ld.const.u32 %r3, [table+8]; add.u32 %r1, %r1, %r3;
  ld.global.u8 %r4, [own]; add.u32 %r1, %r1, %r4;
  st.param.b32 [p], 0; call (q), helper, (p); ld.param.b32 %r5, [q]; add.u32 %r1, %r1, %r5;
  ld.global.u64 %rd2, [pointer];
  st.param.b32 [p], 30; call (q), %rd2, (p), proto; ld.param.b32 %r6, [q]; add.u32 %r1, %r1, %r6;
  st.global.u32 [%rd1], %r1;
  ret;
  proto: .callprototype (.param .b32 _) _ (.param .b32 _);
})";

constexpr const char* kCalled = R"(
.visible .global .align 4 .u32 counter = 1000;
.visible .const .align 4 .u32 table[4] = {0, 10, 20, 30};
.global .align 1 .b8 own[2] = {9, 0};
.func (.param .b32 r) helper(.param .b32 x) {
  .reg .b32 %r<3>;
  ld.param.u32 %r1, [x]; ld.global.u8 %r2, [own]; mul.lo.u32 %r2, %r1, %r2; st.param.b32 [r], %r2; ret;
}
.global .align 8 .u64 pointer = helper;
.visible .func (.param .b32 r) twice(.param .b32 x) {
  .reg .b32 %r<4>; .reg .b64 %rd<2>; .param .b32 p; .param .b32 q;
  ld.param.u32 %r1, [x]; st.param.b32 [p], %r1; call (q), helper, (p); ld.param.b32 %r2, [q];
  ld.global.u64 %rd1, [pointer];
  st.param.b32 [p], 100; call (q), %rd1, (p), proto; ld.param.b32 %r3, [q]; add.u32 %r2, %r2, %r3;
  st.param.b32 [r], %r2; ret;
  proto: .callprototype (.param .b32 _) _ (.param .b32 _);
})";

u32 result(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += module_text(part) + "\n";
  Harness harness(text);
  const auto out = harness.buffer("out", std::vector<u32>{0});
  harness.run(1, 1, out);
  return harness.read(out)[0];
}

TEST(PtxLinking, NamesOfOnePartMeanThatPartAndOthersAll) {
  // twice(5) = 5 * 9 + 100 * 9 = 945; counter 1000; table[2] 20; own[0] 7; helper(0) 1; *pointer(30) 31
  constexpr u32 kExpected = 945 + 1000 + 20 + 7 + 1 + 31;
  EXPECT_EQ(result({std::string(kCaller) + kKernel, kCalled}), kExpected);
  EXPECT_EQ(result({kCalled, std::string(kCaller) + kKernel}), kExpected) << "the other way round";
}

TEST(PtxLinking, WhatAnotherPartShowsIsNotTheLocalOneOfThatName) {
  // The first part has a helper of its own; that of the second part is what the third one declares.
  const std::string local =
      ".func (.param .b32 r) helper() { st.param.b32 [r], 1; ret; }\n"
      ".visible .func (.param .b32 r) first() { .reg .b32 %r<2>; .param .b32 q;"
      " call (q), helper; ld.param.b32 %r1, [q]; st.param.b32 [r], %r1; ret; }\n";
  const std::string visible = ".visible .func (.param .b32 r) helper() { st.param.b32 [r], 20; ret; }\n";
  const std::string kernel = R"(.extern .func (.param .b32 r) helper();
.extern .func (.param .b32 r) first();
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<4>; .reg .b64 %rd<2>; .param .b32 q;
  ld.param.u64 %rd1, [out]; call (q), helper; ld.param.b32 %r1, [q];
  call (q), first; ld.param.b32 %r2, [q]; add.u32 %r1, %r1, %r2; st.global.u32 [%rd1], %r1; ret;
})";
  EXPECT_EQ(result({local, visible, kernel}), 21u);
  EXPECT_EQ(result({kernel, local, visible}), 21u);
}

TEST(PtxLinking, AWeakDefinitionGivesWayToOneThatIsNotAndTheFirstOfWeakOnesCounts) {
  const auto definition = [](const std::string& linkage, u32 value) {
    return fmt::format("{0} .func (.param .b32 r) f() {{ st.param.b32 [r], {1}; ret; }}\n{0} .global .u32 v = {1};\n",
                       linkage, value);
  };
  const std::string kernel = R"(.extern .func (.param .b32 r) f();
.extern .global .u32 v;
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<4>; .reg .b64 %rd<2>; .param .b32 q;
  ld.param.u64 %rd1, [out]; call (q), f; ld.param.b32 %r1, [q]; ld.global.u32 %r2, [v];
  mad.lo.u32 %r1, %r1, 100, %r2; st.global.u32 [%rd1], %r1; ret;
})";
  EXPECT_EQ(result({definition(".weak", 1), definition(".weak", 2), kernel}), 101u);
  EXPECT_EQ(result({definition(".weak", 1), definition(".visible", 2), kernel}), 202u);
  EXPECT_EQ(result({definition(".visible", 2), definition(".weak", 1), kernel}), 202u);
  EXPECT_EQ(refusal([&] { result({definition(".visible", 1), definition(".visible", 2), kernel}); }),
            "test.ptx:10: function f is defined twice, first at line 4");
}

TEST(PtxLinking, AFunctionMayHaveAnotherName) {
  const std::string text = R"(
.visible .func (.param .b32 r) f() { st.param.b32 [r], 5; ret; }
.visible .func (.param .b32 r) g();
.alias g, f;
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<2>; .reg .b64 %rd<2>; .param .b32 q;
  ld.param.u64 %rd1, [out]; call (q), g; ld.param.b32 %r1, [q]; st.global.u32 [%rd1], %r1; ret;
})";
  EXPECT_EQ(result({text}), 5u);
}

TEST(PtxLinking, AFaultNamesTheSourceOfItsPart) {
  const std::string first = "\n.visible .func f() {\n.loc 1 10 0\nret;\n}\n.file 1 \"first.cu\"\n";
  const std::string second =
      ".extern .func f();\n.visible .entry k(.param .u64 out) {\n.loc 1 20 0\ncall f;\n.loc 1 21 "
      "0\ntrap;\nret;\n}\n.file 1 \"second.cu\"\n";
  const std::string sentence = refusal([&] { result({first, second}); });
  EXPECT_NE(sentence.find("second.cu:21"), std::string::npos) << sentence;
}

}  // namespace
}  // namespace terrace::ptx
