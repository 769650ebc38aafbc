// Physical addresses to channels, banks, rows and columns.
// SPDX-License-Identifier: MIT
#include <set>

#include "config/loader.h"
#include "support/dram_bench.h"

namespace terrace {
namespace {

struct Shape {
  DramStandardName standard;
  u32 channels;
  std::string mapping;
  bool hash;
};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const auto standard : {DramStandardName::kGddr5, DramStandardName::kDdr3, DramStandardName::kHbm2})
    for (const u32 channels : {1u, 2u, 6u, 8u, 12u, 16u, 24u, 32u})
      for (const char* mapping : {"row:rank:column:bank:channel", "row:rank:bank:column:channel",
                                  "row:channel:column:rank:bank", "row:bank:channel:rank:column"})
        for (const bool hash : {false, true}) all.push_back({standard, channels, mapping, hash});
  return all;
}

DramConfig config_of(const Shape& shape) {
  DramConfig config;
  config.standard = shape.standard;
  config.channels = shape.channels;
  config.mapping = shape.mapping;
  config.channel_hash = config.bank_hash = shape.hash;
  return config.resolved();
}

TEST(AddressMap, IsOneToOneAndItsInverseIsRight) {
  for (const Shape& shape : shapes()) {
    const DramConfig config = config_of(shape);
    const AddressMap map(config);
    std::set<std::tuple<u32, u32, u32, u32>> seen;
    for (u64 line = 0; line < 6000; ++line) {
      // Consecutive lines first, then ones far apart.
      const u64 address = line < 4000 ? line * 64 : (line * 0x9e3779b97f4a7c15 >> 20) / 64 * 64;
      const DramPlace place = map.place({address});
      ASSERT_LT(place.channel, config.channels);
      ASSERT_LT(place.bank, config.ranks * config.banks);
      ASSERT_LT(place.column, config.row_bytes);
      ASSERT_EQ(map.address(place).raw, address) << shape.mapping << " " << shape.channels;
      ASSERT_EQ(map.channel({address}), place.channel);
      seen.insert({place.channel, place.bank, place.row, place.column});
    }
    EXPECT_EQ(seen.size(), 6000u) << shape.mapping << " " << shape.channels;
  }
}

TEST(AddressMap, EveryPlaceHasAnAddressOfItsOwn) {
  for (const u32 channels : {6u, 8u, 12u}) {
    const DramConfig config = config_of({DramStandardName::kGddr5, channels, "row:rank:column:bank:channel", true});
    const AddressMap map(config);
    std::set<u64> seen;
    for (u32 channel = 0; channel < channels; ++channel)
      for (u32 bank = 0; bank < config.banks; ++bank)
        for (u32 row = 0; row < 9; ++row)
          for (u32 column = 0; column < config.row_bytes; column += 128) {
            const DramPlace place{channel, bank, row, column};
            ASSERT_EQ(map.place(map.address(place)), place);
            seen.insert(map.address(place).raw);
          }
    EXPECT_EQ(seen.size(), u64{channels} * config.banks * 9 * config.row_bytes / 128);
    EXPECT_EQ(*seen.rbegin() + 128, u64{channels} * config.banks * 9 * config.row_bytes) << "no holes";
  }
}

TEST(AddressMap, TheOrderOfFieldsIsThatOfTheConfiguration) {
  DramConfig config = config_of({DramStandardName::kGddr5, 8, "row:rank:bank:column:channel", false});
  config.interleave_bytes = 256;
  const AddressMap map(config);
  EXPECT_EQ(map.place({255}), (DramPlace{0, 0, 0, 255}));
  EXPECT_EQ(map.place({256}), (DramPlace{1, 0, 0, 0}));
  EXPECT_EQ(map.place({8 * 256}), (DramPlace{0, 0, 0, 256}));
  EXPECT_EQ(map.place({8 * 2048}), (DramPlace{0, 1, 0, 0}));
  EXPECT_EQ(map.place({u64{8} * 2048 * 16}), (DramPlace{0, 0, 1, 0}));
}

/// How many of 16 Ki addresses, a power of two apart, fall on the channel with the most.
u32 crowd(u32 channels, u64 stride, bool hash) {
  const AddressMap map(config_of({DramStandardName::kGddr5, channels, "row:rank:column:bank:channel", hash}));
  std::vector<u32> hits(channels);
  for (u64 i = 0; i < 16'384; ++i) ++hits[map.channel({i * stride})];
  return *std::max_element(hits.begin(), hits.end());
}

TEST(AddressMap, HashingSpreadsPowersOfTwoOverChannels) {
  for (const u32 channels : {6u, 8u, 12u, 16u}) {
    for (u64 stride = 256; stride <= u64{1} << 20; stride *= 2)
      EXPECT_LE(crowd(channels, stride, true), 16'384 * 3 / 2 / channels) << channels << " channels, stride " << stride;
  }
  EXPECT_EQ(crowd(8, 8 * 1024, false), 16'384u) << "without it they all fall on one";
}

std::string refused(std::vector<Given> options) {
  struct Root {
    DramConfig dram;
    void describe(Fields& v) { v.group("dram", dram, ""); }
  };
  try {
    ConfigLoader<Root> loader(Layers{.options = std::move(options)});
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}
Given set(std::string text) {
  return split_assignment(text, "--set");
}

TEST(DramConfig, WhatCannotBeIsRefusedWithASentence) {
  EXPECT_EQ(refused({}), "accepted");
  EXPECT_EQ(refused({set("dram.standard=hbm2"), set("dram.channels=12")}), "accepted");
  EXPECT_EQ(
      refused({set("dram.mapping=row:bank:column:channel")}),
      "--set: dram.mapping = \"row:bank:column:channel\" must name row, rank, bank, column and channel once each");
  EXPECT_EQ(refused({set("dram.mapping=rank:row:bank:column:channel")}),
            "--set: dram.mapping = \"rank:row:bank:column:channel\" must begin with row");
  EXPECT_EQ(refused({set("dram.banks=12")}), "--set: dram.banks = 12 must be a power of two");
  EXPECT_EQ(refused({set("dram.write_high=200")}), "--set: dram.write_high = 200 must not exceed write_entries (128)");
  EXPECT_EQ(refused({set("dram.timing.trefi=70")}),
            "--set: dram.timing.trefi = 70 must exceed timing.trfc + timing.trp (73)");
  EXPECT_EQ(refused({set("dram.standard=custom")}).substr(0, 60),
            "default: dram.ranks = 0 must be given when the standard is \"");
  EXPECT_EQ(
      refused({set("dram.scheduler.use=frfcf")}),
      "--set: dram.scheduler.use: no DRAM scheduler named \"frfcf\"; available: address_space_aware, fcfs, fr_rr_fcfs, "
      "frfcfs; did you mean "
      "\"frfcfs\"?");
}

TEST(DramConfig, AKeyThatIsGivenWinsOverTheStandardAndOthersScaleWithTheClock) {
  DramConfig config;
  config.clock_mhz = 1674;  // MASK
  config.timing.trp = 5;
  const DramConfig full = config.resolved();
  EXPECT_EQ(full.timing.trp, 5u);
  EXPECT_EQ(full.timing.trc, 73u) << "40 x 1674 / 924, rounded up";
  EXPECT_EQ(full.timing.trefi, 6527u) << "3603 x 1674 / 924, rounded down";
  EXPECT_EQ(full.timing.tccd_s, 2u) << "a burst takes as many clocks at any clock";
  EXPECT_EQ(full.pin_bytes_per_second(), u64{8} * 1674 * 1'000'000 * 4 * 4);
}

}  // namespace
}  // namespace terrace
