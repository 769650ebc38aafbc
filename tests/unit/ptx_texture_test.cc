// Reads of textures: filtering, what lies outside, formats, and the lines that a read touches.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/unit/ptx_harness.h"

namespace terrace::ptx {
namespace {

/// Lane i reads at coordinates (at[2i], at[2i + 1]) and stores four words.
std::string reader(const std::string& result, const std::string& coordinate, bool two_dimensions = true) {
  const std::string to = result == "f32" ? "%f" : "%r", at = coordinate == "f32" ? "%x" : "%i";
  return module_text(
      ".visible .entry k(.param .u64 t, .param .u64 at, .param .u64 to) {\n"
      ".reg .b32 %r<10>, %i<10>;\n.reg .f32 %f<10>, %x<10>;\n.reg .b64 %rd<10>;\n"
      "ld.param.u64 %rd1, [t];\nld.param.u64 %rd2, [at];\nld.param.u64 %rd3, [to];\n"
      "mov.u32 %r9, %tid.x;\nmul.wide.u32 %rd4, %r9, 8;\nadd.u64 %rd2, %rd2, %rd4;\n"
      "mul.wide.u32 %rd5, %r9, 16;\nadd.u64 %rd3, %rd3, %rd5;\n"
      "ld.global." +
      coordinate + " " + at + "1, [%rd2];\nld.global." + coordinate + " " + at + "2, [%rd2+4];\ntex." +
      (two_dimensions ? "2d" : "1d") + ".v4." + result + "." + coordinate + " {" + to + "1, " + to + "2, " + to +
      "3, " + to + "4}, [%rd1, {" + at + "1" + (two_dimensions ? ", " + at + "2" : "") + "}];\nst.global.v4." + result +
      " [%rd3], {" + to + "1, " + to + "2, " + to + "3, " + to + "4};\nret;\n}\n");
}

/// A texture of floats, 4 wide and 3 high, whose texel (x, y) is 10 y + x.
class Grid {
 public:
  explicit Grid(const std::string& text = reader("f32", "f32")) : harness(text) {
    std::vector<float> values(3 * kPitch, -99.0f);
    for (u32 y = 0; y < 3; ++y)
      for (u32 x = 0; x < 4; ++x) values[y * kPitch + x] = 10.0f * static_cast<float>(y) + static_cast<float>(x);
    texture.first = harness.buffer("texels", values).address();
    texture.pitch = kPitch * 4;
    texture.width = 4;
    texture.height = 3;
  }
  template <class T, class C>
  std::vector<T> read(const std::vector<C>& at) {
    const auto places = harness.buffer("places", at);
    const auto results = harness.buffer("results", std::vector<T>(at.size() * 2));
    counts = harness.run(1, static_cast<u32>(at.size() / 2), harness.machine.textures().add(texture),
                         places.address().raw, results.address().raw);
    return harness.read(results);
  }
  float at(float x, float y) { return read<float>(std::vector{x, y})[0]; }

  static constexpr u32 kPitch = 64;  // floats: rows are two lines apart
  Harness harness;
  Texture texture;
  FunctionalCounts counts;
};

TEST(PtxTexture, OfAllLevelsTheOnlyOneIsRead) {
  std::string text = reader("f32", "f32");
  text.replace(text.find("tex.2d"), 6, "tex.level.2d");
  text.insert(text.find("}];") + 2, ", 0f40000000");  // level 2
  Grid grid(text);
  EXPECT_EQ(grid.at(1.99f, 2.0f), 21);
}

TEST(PtxTexture, PointsAreTheTexelsUnderTheCoordinates) {
  Grid grid;
  EXPECT_EQ(grid.at(0.5f, 0.5f), 0);
  EXPECT_EQ(grid.at(1.99f, 2.0f), 21);
  EXPECT_EQ(grid.at(-5, 1), 10) << "clamped";
  EXPECT_EQ(grid.at(9, 1e30f), 23);
  EXPECT_EQ(grid.at(std::nanf(""), 0), 0);
}

TEST(PtxTexture, LinearFilteringWeighsFourTexelsWithEightBitsOfFraction) {
  Grid grid;
  grid.texture.linear_filter = true;
  EXPECT_EQ(grid.at(0.5f, 0.5f), 0) << "the middle of a texel is the texel";
  EXPECT_EQ(grid.at(1.75f, 0.5f), 1.25f);
  EXPECT_EQ(grid.at(2.0f, 1.5f), 11.5f);
  EXPECT_EQ(grid.at(2.0f, 2.0f), 16.5f);
  EXPECT_EQ(grid.at(0, 0), 0) << "clamped";
  EXPECT_EQ(grid.at(99, 99), 23);
  // 1/1024 of a texel is below half a step of 1/256, 3/1024 above.
  EXPECT_EQ(grid.at(0.5f + 1.0f / 1024, 0.5f), 0);
  EXPECT_EQ(grid.at(0.5f + 3.0f / 1024, 0.5f), 1.0f / 256);
  // Almost the next texel is the next texel: a weight may be 1.
  EXPECT_EQ(grid.at(1.5f - 1.0f / 1024, 0.5f), 1);
}

TEST(PtxTexture, WhatLiesOutsideWrapsMirrorsOrIsTheBorder) {
  using enum Texture::Outside;
  Grid grid;
  grid.texture.normalized_coordinates = true;
  grid.texture.outside = {kWrap, kWrap};
  EXPECT_EQ(grid.at(0.3f, 0.5f), 11);
  EXPECT_EQ(grid.at(1.3f, -0.5f), 11);
  EXPECT_EQ(grid.at(-0.2f, 5.9f), 23);
  grid.texture.outside = {kMirror, kMirror};
  EXPECT_EQ(grid.at(1.2f, 0.1f), 3);
  EXPECT_EQ(grid.at(-0.3f, 0.1f), 1);
  EXPECT_EQ(grid.at(2.3f, 1.1f), 21);
  grid.texture.outside = {kBorder, kClamp};
  grid.texture.border = {7, 0, 0, 0};
  EXPECT_EQ(grid.at(-0.1f, 0.1f), 7);
  EXPECT_EQ(grid.at(1.0f, 0.1f), 7);
  EXPECT_EQ(grid.at(0.9f, 7.0f), 23);
  grid.texture.linear_filter = true;
  grid.texture.outside = {kWrap, kClamp};
  EXPECT_EQ(grid.at(0, 0), 1.5f) << "halfway between the last texel and the first";
  grid.texture.outside = {kBorder, kClamp};
  EXPECT_EQ(grid.at(0, 0.5f), 8.5f) << "halfway between the border and 10";
  // Only normalized coordinates repeat; others are clamped, as in CUDA.
  grid.texture.normalized_coordinates = grid.texture.linear_filter = false;
  grid.texture.outside = {kWrap, kMirror};
  EXPECT_EQ(grid.at(5.5f, 4.5f), 23);
}

TEST(PtxTexture, OneDimensionReadsTheFirstRow) {
  Grid grid(reader("f32", "f32", false));
  grid.texture.height = 1;
  grid.texture.linear_filter = true;
  EXPECT_EQ(grid.at(1.75f, 55), 1.25f);
  grid.texture.normalized_coordinates = true;
  EXPECT_EQ(grid.at(0.5f, 55), 1.5f);
}

TEST(PtxTexture, IntegersAreReadAsTheyAreOrAsFractions) {
  Grid grid;
  const std::vector<u8> bytes{0, 51, 128, 255};
  grid.texture = Texture{.first = grid.harness.buffer("bytes", bytes).address(),
                         .pitch = 4,
                         .width = 1,
                         .channels = 4,
                         .channel_bytes = 1,
                         .element = Texture::Element::kUnsigned,
                         .normalized_values = true};
  EXPECT_EQ(grid.read<float>(std::vector{0.0f, 0.0f}), (std::vector{0.0f, 0.2f, 128.0f / 255.0f, 1.0f}));
  grid.texture.element = Texture::Element::kSigned;
  EXPECT_EQ(grid.read<float>(std::vector{0.0f, 0.0f}), (std::vector{0.0f, 51.0f / 127.0f, -1.0f, -1.0f / 127.0f}));
  grid.texture.channel_bytes = 2;
  grid.texture.channels = 2;
  EXPECT_EQ(grid.read<float>(std::vector{0.0f, 0.0f}), (std::vector{0x3300 / 32767.0f, -0x80 / 32767.0f, 0.0f, 0.0f}));
}

TEST(PtxTexture, IntegersHaveTheirSignAndMissingChannelsAreZero) {
  Grid grid(reader("s32", "f32"));
  const std::vector<u8> bytes{5, 0xfb};
  grid.texture = Texture{.first = grid.harness.buffer("bytes", bytes).address(),
                         .pitch = 2,
                         .width = 1,
                         .channels = 2,
                         .channel_bytes = 1,
                         .element = Texture::Element::kSigned};
  EXPECT_EQ(grid.read<i32>(std::vector{0.0f, 0.0f}), (std::vector<i32>{5, -5, 0, 0}));
  grid.texture.element = Texture::Element::kUnsigned;
  EXPECT_EQ(grid.read<i32>(std::vector{0.0f, 0.0f}), (std::vector<i32>{5, 251, 0, 0}));
}

TEST(PtxTexture, HalvesAreReadAsFloats) {
  Grid grid;
  const std::vector<u16> halves{0x3c00, 0xc100};
  grid.texture = Texture{.first = grid.harness.buffer("halves", halves).address(),
                         .pitch = 4,
                         .width = 1,
                         .channels = 2,
                         .channel_bytes = 2};
  EXPECT_EQ(grid.read<float>(std::vector{0.0f, 0.0f}), (std::vector{1.0f, -2.5f, 0.0f, 0.0f}));
}

TEST(PtxTexture, LinearMemoryIsFetchedByIndexAndIsZeroOutside) {
  Grid grid(reader("f32", "s32", false));
  grid.texture.plain_memory = true;
  grid.texture.height = 1;
  const auto values = grid.read<float>(std::vector<i32>{0, 0, 3, 0, 4, 0, -1, 0});
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[4], 3);
  EXPECT_EQ(values[8], 0);
  EXPECT_EQ(values[12], 0);
}

TEST(PtxTexture, OfRowsOnlyWhatLiesInsideIsFetchedByIndexAndOnlyByTwo) {
  Grid grid(reader("f32", "s32"));
  const auto values = grid.read<float>(std::vector<i32>{3, 2, 4, 1, 1, -1});
  EXPECT_EQ(values[0], 23);
  EXPECT_EQ(values[4], 0);
  EXPECT_EQ(values[8], 0);
  Grid row(reader("f32", "s32", false));
  row.texture.height = 1;
  EXPECT_EQ(row.read<float>(std::vector<i32>{3, 0})[0], 0) << "one index is for linear memory";
}

TEST(PtxTexture, NormalizedCoordinatesHave21BitsOfFraction) {
  Grid grid;
  grid.texture.width = 3;
  grid.texture.normalized_coordinates = true;
  // Just above a third, but not when it is cut.
  EXPECT_EQ(grid.at(0.33333337f, 0), 0);
  EXPECT_EQ(grid.at(0.3333340f, 0), 1);
  using enum Texture::Outside;
  grid.texture.outside = {kBorder, kClamp};
  grid.texture.border = {7, 0, 0, 0};
  EXPECT_EQ(grid.at(-1e-30f, 0), 7);
  EXPECT_EQ(grid.at(-std::numeric_limits<float>::denorm_min(), 0), 0) << "below the normal numbers is zero";
  grid.texture.width = 4;
  grid.texture.outside = {kMirror, kClamp};
  EXPECT_EQ(grid.at(-0.75f, 0), 2) << "the left edge of texel -3, which mirrors texel 2";
}

TEST(PtxTexture, TheFourWeightsAreRoundedAndAddUpToOne) {
  Grid grid;
  grid.texture.linear_filter = true;
  grid.texture.first = grid.harness
                           .buffer("ones",
                                   [] {
                                     std::vector<float> values(2 * Grid::kPitch);
                                     values[Grid::kPitch + 1] = 256;
                                     return values;
                                   }())
                           .address();
  grid.texture.width = grid.texture.height = 2;
  // 129 of 256 to the right and half below: 64.5 of 256, rounded up.
  EXPECT_EQ(grid.at(0.5f + 129.0f / 256, 1.0f), 65);
}

TEST(PtxTexture, FilteredFractionsAreRoundedTo16Bits) {
  Grid grid;
  grid.texture = Texture{.first = grid.harness.buffer("bytes", std::vector<u8>{0x80, 0x81, 127, 64}).address(),
                         .pitch = 4,
                         .width = 4,
                         .channels = 1,
                         .channel_bytes = 1,
                         .element = Texture::Element::kUnsigned,
                         .linear_filter = true,
                         .normalized_values = true};
  EXPECT_EQ(grid.at(3.0f, 0.5f), 24544.0f / 65535) << "24543.5";
  grid.texture.element = Texture::Element::kSigned;
  EXPECT_EQ(grid.at(0.5f, 0.5f), -1) << "-128 is -1";
  EXPECT_EQ(grid.at(2.0f, 0.5f), 0);
  EXPECT_EQ(grid.at(1.0f, 0.5f), -1) << "-127.5";
  EXPECT_EQ(grid.at(3.0f, 0.5f), 24640.0f / 32767) << "24639.75";
}

TEST(PtxTexture, ABorderIsKeptInTheFormatOfTheTexels) {
  using enum Texture::Outside;
  const auto border_of = [](Texture::Element element, u8 bytes, bool fractions, float border) {
    Grid grid(reader(element == Texture::Element::kFloat || fractions ? "f32" : "u32", "f32"));
    grid.texture.element = element;
    grid.texture.channel_bytes = bytes;
    grid.texture.normalized_values = fractions;
    grid.texture.outside = {kBorder, kBorder};
    grid.texture.border = {border, 0, 0, 0};
    return grid.read<u32>(std::vector{-1.0f, 0.0f})[0];
  };
  using enum Texture::Element;
  const auto bits = [](float value) { return std::bit_cast<u32>(value); };
  EXPECT_EQ(border_of(kFloat, 4, false, 0.3f), bits(0.3f));
  EXPECT_EQ(border_of(kFloat, 2, false, 0.3f), 0x3e998000u) << "cut";
  EXPECT_EQ(border_of(kUnsigned, 1, true, 0.25f), bits(64.0f / 255));
  EXPECT_EQ(border_of(kUnsigned, 2, true, -7), 0u);
  EXPECT_EQ(border_of(kSigned, 1, true, -7), bits(-1.0f));
  EXPECT_EQ(border_of(kSigned, 2, true, 0.3f), bits(9830.0f / 32767));
  EXPECT_EQ(border_of(kUnsigned, 1, false, 0.3f), 0x9au) << "the lowest bits of the float";
  EXPECT_EQ(border_of(kSigned, 2, false, 0.3f), 0xffff999au);
  EXPECT_EQ(border_of(kSigned, 4, false, 5), bits(5));
}

TEST(PtxTexture, AReadTouchesTheLinesOfItsTexels) {
  Grid grid;
  std::vector<float> at;
  for (const float y : {0.6f, 0.6f, 2.6f, 0.6f}) at.insert(at.end(), {1.6f, y});
  grid.read<float>(at);
  const u64 of_the_rest = grid.counts.lines - 2;  // rows 0 and 2
  grid.texture.linear_filter = true;
  grid.read<float>(at);
  EXPECT_EQ(grid.counts.lines - of_the_rest, 3u) << "rows 0, 1 and 2";
}

TEST(PtxTexture, AnObjectThatIsNotThereIsAFaultAndSoIsMemoryThatWasFreed) {
  Grid grid;
  const auto results = grid.harness.buffer("results", std::vector<float>(8));
  const auto run = [&](u64 texture) {
    return refusal([&] { grid.harness.run(1, 1, texture, results.address().raw, results.address().raw); });
  };
  EXPECT_NE(run(77).find("reads texture object 0x4d, which does not exist"), std::string::npos) << run(77);
  const u64 texture = grid.harness.machine.textures().add(grid.texture);
  grid.harness.memory.free(grid.texture.first);
  EXPECT_NE(run(texture).find("have been freed"), std::string::npos) << run(texture);
}

TEST(PtxTexture, MemoryOfWhichOnlyTheEndsAreThereAgainIsAFault) {
  Grid grid;
  GuestMemory& memory = grid.harness.memory;
  constexpr u64 kPage = 4096;
  grid.texture.first = memory.allocate("rows", 3 * kPage);
  grid.texture.pitch = kPage;
  const u64 texture = grid.harness.machine.textures().add(grid.texture);
  const auto places = grid.harness.buffer("places", std::vector{0.5f, 1.5f});
  const auto results = grid.harness.buffer("results", std::vector<float>(4));
  memory.free(grid.texture.first);
  VirtAddr pages[3];
  for (VirtAddr& page : pages) page = memory.allocate("page", kPage);
  ASSERT_EQ(pages[0].raw, grid.texture.first.raw) << "a free place is taken again";
  memory.free(pages[1]);
  const std::string fault =
      refusal([&] { grid.harness.run(1, 1, texture, places.address().raw, results.address().raw); });
  EXPECT_NE(fault.find("whose memory was freed"), std::string::npos) << fault;
}

}  // namespace
}  // namespace terrace::ptx
