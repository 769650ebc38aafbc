// Reads and writes of surfaces: all sizes, what lies outside, and memory that is gone.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/ptx_harness.h"

namespace terrace::ptx {
namespace {

/// A surface of 3 rows with 32 bytes each, 64 bytes apart; byte b of row r is 32 r + b, and 200 between the rows.
class Board {
 public:
  /// `body` has the surface object in %rd1, a place for results in %rd2, coordinates in %r1 and %r2.
  explicit Board(const std::string& body)
      : harness(kernel_text({"u64 s", "u64 to", "s32 x", "s32 y"},
                            "ld.param.u64 %rd1, [s];\nld.param.u64 %rd2, [to];\nld.param.s32 %r1, [x];\n"
                            "ld.param.s32 %r2, [y];\n" +
                                body + "\nret;")) {
    std::vector<u8> bytes(192, 200);
    for (u32 row = 0; row < 3; ++row) std::iota(bytes.begin() + row * 64, bytes.begin() + row * 64 + 32, u8(32 * row));
    texels.emplace(harness.buffer("texels", bytes));
    results.emplace(harness.buffer("results", std::vector<u32>(4, 0xeeee'eeee)));
    surface = harness.machine.surfaces().add({texels->address(), 64, 32, 3});
  }
  void run(i32 x, i32 y, u64 object) { harness.run(1, 1, object, results->address().raw, x, y); }
  std::vector<u32> read(i32 x, i32 y) {
    run(x, y, surface);
    return harness.read(*results);
  }
  std::vector<u8> written(i32 x, i32 y) {
    run(x, y, surface);
    return harness.read(*texels);
  }
  std::string fault(i32 x, i32 y, u64 object) {
    return refusal([&] { run(x, y, object); });
  }
  Harness harness;
  std::optional<Buffer<u8>> texels;
  std::optional<Buffer<u32>> results;
  u64 surface = 0;
};

const std::string kStore = "st.global.v4.b32 [%rd2], {%r4, %r5, %r6, %r7};";

TEST(PtxSurface, ElementsOfAllSizesAreReadByByteAndRow) {
  EXPECT_EQ(Board("suld.b.2d.b32.trap {%r4}, [%rd1, {%r1, %r2}];\n" + kStore).read(8, 1)[0], 0x2b2a2928u);
  EXPECT_EQ(Board("suld.b.2d.v4.b32.trap {%r4, %r5, %r6, %r7}, [%rd1, {%r1, %r2}];\n" + kStore).read(16, 2),
            (std::vector<u32>{0x53525150, 0x57565554, 0x5b5a5958, 0x5f5e5d5c}));
  EXPECT_EQ(Board("suld.b.2d.v2.b8.trap {%rs1, %rs2}, [%rd1, {%r1, %r2}];\ncvt.u32.u16 %r4, %rs1;\n"
                  "cvt.u32.u16 %r5, %rs2;\n" +
                  kStore)
                .read(30, 0)[1],
            31u);
  EXPECT_EQ(
      Board("suld.b.1d.v2.b16.trap {%rs1, %rs2}, [%rd1, {%r1}];\ncvt.u32.u16 %r4, %rs2;\n" + kStore).read(4, 2)[0],
      0x0706u)
      << "one dimension has one row";
  EXPECT_EQ(Board("suld.b.1d.b64.trap {%rd5}, [%rd1, %r1];\nmov.b64 {%r4, %r5}, %rd5;\n" + kStore).read(8, 0)[1],
            0x0f0e0d0cu);
}

TEST(PtxSurface, ElementsOfAllSizesAreWrittenAndNothingElse) {
  std::vector<u8> expected = Board("").written(0, 0);
  const std::vector<u8> before = expected;
  std::fill_n(expected.begin() + 64 + 12, 4, u8{7});
  EXPECT_EQ(Board("mov.b32 %r4, 0x07070707;\nsust.b.2d.b32.trap [%rd1, {%r1, %r2}], {%r4};").written(12, 1), expected);
  expected = before;
  expected[128 + 31] = 9;
  EXPECT_EQ(Board("mov.b16 %rs1, 9;\nsust.b.2d.b8.trap [%rd1, {%r1, %r2}], {%rs1};").written(31, 2), expected);
  expected = before;
  std::fill_n(expected.begin() + 16, 16, u8{5});
  EXPECT_EQ(
      Board("mov.b64 %rd5, 0x0505050505050505;\nsust.b.1d.v2.b64.trap [%rd1, {%r1}], {%rd5, %rd5};").written(16, 0),
      expected);
}

TEST(PtxSurface, OutsideTrapsClampsOrIsZero) {
  Board trap("suld.b.2d.b32.trap {%r4}, [%rd1, {%r1, %r2}];\n" + kStore);
  EXPECT_NE(trap.fault(32, 1, trap.surface)
                .find("reads 4 bytes at byte 32 of row 1 of a surface with 32 bytes in each of 3 rows"),
            std::string::npos)
      << trap.fault(32, 1, trap.surface);
  EXPECT_NE(trap.fault(0, -1, trap.surface), "");
  EXPECT_NE(trap.fault(6, 1, trap.surface).find("must be a multiple of 4"), std::string::npos);
  Board clamp("suld.b.2d.b32.clamp {%r4}, [%rd1, {%r1, %r2}];\n" + kStore);
  EXPECT_EQ(clamp.read(1000, 9)[0], 0x5f5e5d5cu) << "the last four bytes";
  EXPECT_EQ(clamp.read(-4, -1)[0], 0x03020100u);
  Board zero("suld.b.2d.b32.zero {%r4}, [%rd1, {%r1, %r2}];\n" + kStore);
  EXPECT_EQ(zero.read(32, 1)[0], 0u);
  EXPECT_EQ(zero.read(28, 1)[0], 0x3f3e3d3cu);
  Board dropped("mov.b32 %r4, 0x07070707;\nsust.b.2d.b32.zero [%rd1, {%r1, %r2}], {%r4};");
  EXPECT_EQ(dropped.written(32, 1), Board("").written(0, 0));
  Board clamped("mov.b32 %r4, 0x07070707;\nsust.b.2d.b32.clamp [%rd1, {%r1, %r2}], {%r4};");
  EXPECT_EQ(clamped.written(32, 1)[64 + 28], 7);
}

TEST(PtxSurface, AnObjectThatIsNotThereIsAFaultAndSoIsMemoryThatWasFreed) {
  Board board("suld.b.2d.b32.trap {%r4}, [%rd1, {%r1, %r2}];\n" + kStore);
  EXPECT_NE(board.fault(0, 0, 77).find("reads surface object 0x4d, which does not exist"), std::string::npos);
  EXPECT_NE(board.fault(0, 0, board.harness.machine.textures().add({})), "") << "a texture is no surface";
  board.harness.memory.free(board.texels->address());
  EXPECT_NE(board.fault(0, 0, board.surface).find("have been freed"), std::string::npos);
}

TEST(PtxSurface, OtherFormsAreRefused) {
  const auto refused = [](const std::string& statement) { return refusal([&] { Board board(statement); }); };
  EXPECT_NE(refused("sust.p.2d.v4.b32.trap [%rd1, {%r1, %r2}], {%r4, %r5, %r6, %r7};").find("only the form .b"),
            std::string::npos);
  EXPECT_NE(refused("suld.b.3d.b32.trap {%r4}, [%rd1, {%r1, %r2, %r2, %r2}];").find("one or two dimensions"),
            std::string::npos);
  EXPECT_NE(refused("suld.b.2d.b32 {%r4}, [%rd1, {%r1, %r2}];").find("needs .trap"), std::string::npos);
  EXPECT_NE(refused("sured.b.add.2d.u32.trap [%rd1, {%r1, %r2}], %r4;").find("only suld and sust"), std::string::npos);
}

}  // namespace
}  // namespace terrace::ptx
