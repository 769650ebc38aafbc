// How a user asks for a workload, and what a wrong request is told.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/check.h"
#include "frontend/stream_kind.h"
#include "frontend/user_program.h"
#include "frontend/workload.h"
#include "frontend/workload_alias.h"

namespace terrace {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text, InputSize size = InputSize::kTiny) {
  try {
    make_workload(parse_workload(text, size));
  } catch (const InputError& error) {
    return error.what();
  }
  return "(accepted)";
}

TEST(WorkloadRequest, ReadsNameSizeVariantAndOverrides) {
  const auto request = parse_workload("gups:size=small,variant=mask,updates=5", InputSize::kTiny);
  EXPECT_EQ(request.name, "gups");
  EXPECT_EQ(request.size, InputSize::kSmall);
  EXPECT_EQ(request.variant, "mask");
  ASSERT_EQ(request.overrides.size(), 1u);
  EXPECT_EQ(request.overrides[0].path, "updates");
}

TEST(WorkloadRequest, AnUnknownNameIsAnsweredWithTheNearestOne) {
  EXPECT_THAT(refusal("gusp"), HasSubstr("no workload named \"gusp\""));
  EXPECT_THAT(refusal("gusp"), HasSubstr("did you mean \"gups\"?"));
}

TEST(WorkloadRequest, FindsWhatPapersCallAWorkloadInCapitalsOrNot) {
  for (const auto& [called, name] : std::vector<std::pair<std::string, std::string>>{{"GEV", "gesummv"},
                                                                                     {"color_max", "color"},
                                                                                     {"DWT", "dwt2d"},
                                                                                     {"dwt:levels=1", "dwt2d"},
                                                                                     {"LavaMD", "lavamd"}}) {
    EXPECT_EQ(parse_workload(called, InputSize::kTiny).name, name);
    EXPECT_EQ(find_workload(called.substr(0, called.find(':'))).info().name, name);
  }
  EXPECT_THAT(refusal("DWTX"), HasSubstr("no workload named \"DWTX\""));
}

TEST(WorkloadRequest, NoAliasIsTheNameOfAWorkloadAndAllLeadToOne) {
  EXPECT_FALSE(workload_aliases().empty());
  for (const auto& [alias, name] : workload_aliases()) {
    const auto called = [&](std::string_view text) {
      return std::ranges::count_if(all_workloads(), [&](const Workload* one) { return one->info().name == text; });
    };
    EXPECT_EQ(called(alias), 0) << alias;
    EXPECT_EQ(called(name), 1) << alias << " leads to " << name;
  }
}

TEST(WorkloadRequest, AnUnknownParameterIsAnsweredWithTheNearestOne) {
  EXPECT_THAT(refusal("bfs:vertexes=10"), HasSubstr("bfs.vertexes is not a known key; did you mean \"vertices\"?"));
}

TEST(WorkloadRequest, AValueOutOfRangeIsToldTheRange) {
  EXPECT_THAT(refusal("gups:threads=2000"), HasSubstr("gups.threads must be a whole number from 1 to 1024, not 2000"));
}

TEST(WorkloadRequest, AParameterGivenTwiceIsRefused) {
  EXPECT_THAT(refusal("gups:updates=1,updates=2"), HasSubstr("twice"));
}

TEST(WorkloadRequest, AnUnknownSizeOrVariantIsToldTheChoices) {
  EXPECT_THAT(refusal("gups:size=huge"), HasSubstr("mini, tiny, small, paper"));
  EXPECT_THAT(refusal("gups:variant=vc"), HasSubstr("gups has no variant \"vc\"; available: mask, dws"));
}

TEST(WorkloadRequest, ThePapersInputIsRefusedWhereTheNameAloneIsAmbiguous) {
  EXPECT_THAT(refusal("gups", InputSize::kPaper), HasSubstr("add variant=..., one of mask, dws"));
  EXPECT_THAT(refusal("bfs", InputSize::kPaper), HasSubstr("one of mask, vc"));
  EXPECT_THAT(refusal("gesummv", InputSize::kPaper), HasSubstr("one of simt, cd"));
  EXPECT_THAT(refusal("mis", InputSize::kPaper), HasSubstr("one of simt, vc"));
  EXPECT_THAT(refusal("color", InputSize::kPaper), HasSubstr("one of simt, vc"));
  EXPECT_EQ(refusal("gups:variant=dws", InputSize::kPaper), "(accepted)");
  EXPECT_EQ(refusal("mm", InputSize::kPaper), "(accepted)");
}

TEST(WorkloadRequest, DimensionsThatDoNotFillTheKernelsBlocksAreRefused) {
  EXPECT_THAT(refusal("3ds:x=40"), HasSubstr("x (40) must be a multiple of 32"));
  EXPECT_THAT(refusal("fft:length=100"), HasSubstr("length (100) must be a power of two"));
  EXPECT_THAT(refusal("nw:length=100"), HasSubstr("length (100) must be a multiple of 16"));
  EXPECT_THAT(refusal("sad:width=100"), HasSubstr("must be multiples of 16"));
  EXPECT_THAT(refusal("bino:steps=100"), HasSubstr("steps (100) must be a multiple of 32"));
  EXPECT_THAT(refusal("bp:inputs=100"), HasSubstr("inputs (100) must be a multiple of 16"));
}

TEST(WorkloadRequest, DimensionsBeyondWhatTheKernelsCanNumberAreRefused) {
  EXPECT_THAT(refusal("3ds:x=16384,y=16384,z=32"), HasSubstr("more than the kernel can number"));
  EXPECT_THAT(refusal("lbm:x=1024,y=1024,z=1024"), HasSubstr("more than the kernel can number"));
  EXPECT_THAT(refusal("nw:length=64"), HasSubstr("length 64 has the diagonals 1 to 7; 121 to 128 is no part of them"));
}

TEST(WorkloadRequest, DimensionsThatContradictEachOtherAreRefused) {
  EXPECT_THAT(refusal("atax:columns=4096"), HasSubstr("ld (1024) must not be less than columns (4096)"));
  EXPECT_THAT(refusal("fw:first=1024"), HasSubstr("must be a vertex, below dim (1024)"));
  EXPECT_THAT(refusal("kmeans:centres=300,features=34"), HasSubstr("do not fit constant memory"));
  EXPECT_THAT(refusal("kmeans:points=4"), HasSubstr("4 points cannot have 5 centres"));
}

TEST(WorkloadRequest, ASliceOfAProgramThatWaitsForAllVerticesNeedsALimitOfRounds) {
  EXPECT_THAT(refusal("mis:iters=0,slice=0.5"), HasSubstr("add iters=1"));
  EXPECT_THAT(refusal("color:iters=0,slice=0.5"), HasSubstr("add iters=1"));
  EXPECT_EQ(refusal("mis:iters=1,slice=0.5"), "(accepted)");
}

TEST(WorkloadRequest, TheSeedAndTheSliceOfTheRequestComeBeforeOverrides) {
  auto request = parse_workload("mm:seed=9", InputSize::kMini);
  request.seed = 4;
  request.slice = Fraction{500'000};
  const auto params = resolve_params(request);
  EXPECT_EQ(params->seed, 9u);
  EXPECT_EQ(params->slice, Fraction{500'000});
}

TEST(WorkloadRequest, ASliceRoundsUpToWholeBlocks) {
  EXPECT_EQ(sliced_launch("k", {10}, {32}, Fraction{100'000}).blocks(), 1u);
  EXPECT_EQ(sliced_launch("k", {10}, {32}, Fraction{100'001}).blocks(), 2u);
  EXPECT_EQ(sliced_launch("k", {3, 5}, {32}, Fraction{Fraction::kOne}).blocks(), 15u);
}

/// Every workload at every size that its name alone fixes.
struct Choice {
  const Workload* workload;
  InputSize size;
  std::string variant;
};
std::vector<Choice> all_choices() {
  std::vector<Choice> all;
  for (const Workload* workload : all_workloads()) {
    for (u32 size = 0; size < kInputSizes.size(); ++size) {
      for (const std::string_view variant : workload->info().variants)
        all.push_back({workload, static_cast<InputSize>(size), std::string(variant)});
    }
  }
  return all;
}

TEST(Workload, TheSixAndTheOthersOfDensemvAreThere) {
  std::vector<std::string_view> names;
  for (const Workload* workload : all_workloads()) names.push_back(workload->info().name);
  EXPECT_THAT(names, testing::IsSupersetOf({"atax", "bfs", "bicg", "blk", "cp", "gesummv", "gups", "mm", "mvt"}));
}

TEST(Workload, EachSaysWhatListingsShow) {
  for (const Workload* workload : all_workloads()) {
    const WorkloadInfo& info = workload->info();
    EXPECT_FALSE(info.purpose.empty() || info.origin.empty() || info.papers.empty()) << info.name;
    EXPECT_FALSE(info.variants.empty()) << info.name;
    EXPECT_FALSE(read_workload_module(info.module).text.empty()) << info.name;
  }
}

TEST(Workload, TheFootprintThatIsListedIsTheOneThatIsAllocated) {
  for (const Choice& choice : all_choices()) {
    const auto params = choice.workload->preset(choice.size, choice.variant);
    GuestMemory memory(PageSize::k4K);
    choice.workload->make(*params)->allocate(memory);
    EXPECT_EQ(memory.footprint_bytes(), choice.workload->footprint_bytes(*params))
        << choice.workload->info().name << " " << kInputSizes[static_cast<u32>(choice.size)] << " " << choice.variant;
  }
}

TEST(Workload, InputsOfCdSearchHaveEightBlocksForEachOf24Sms) {
  for (const char* program : {"lavamd", "gaussian", "lbm", "dwt2d", "gesummv", "pvc", "sc", "dxtc", "tpacf", "bino",
                              "leu", "cp", "merge", "pathfinder"}) {
    for (const InputSize size : {InputSize::kTiny, InputSize::kSmall}) {
      const ProgramInstance instance = load_program(program + std::string(":variant=cd"), size, "the test", 1);
      GuestMemory memory(PageSize::k4K);
      const auto stream = make_stream(instance.code, memory, 32);
      instance.program->allocate(memory);
      instance.program->initialise(memory);
      u64 largest = 0;  // of the first four launches: gaussian begins with two blocks that divide a column
      for (int i = 0; i < 4; ++i) {
        const auto launch = instance.program->next(memory);
        if (!launch) break;
        largest = std::max<u64>(largest, launch->blocks());
      }
      EXPECT_GE(largest, 192u) << program << " " << kInputSizes[static_cast<u32>(size)];
    }
  }
}

TEST(Workload, FootprintsOfThePapersInputsAreThoseOfTheSpecification) {
  const auto mebibytes = [](const std::string& text, InputSize size) {
    const auto request = parse_workload(text, size);
    return static_cast<double>(find_workload(request.name).footprint_bytes(*resolve_params(request))) / (1 << 20);
  };
  const auto within_5_percent = [](double want) {
    return testing::AllOf(testing::Ge(0.95 * want), testing::Le(1.05 * want));
  };
  EXPECT_THAT(mebibytes("gups:variant=mask", InputSize::kPaper), within_5_percent(4.5));
  EXPECT_THAT(mebibytes("gups:variant=dws", InputSize::kPaper), within_5_percent(16));
  EXPECT_THAT(mebibytes("blk", InputSize::kPaper), within_5_percent(38));
  EXPECT_THAT(mebibytes("mm", InputSize::kPaper), within_5_percent(12));
  EXPECT_THAT(mebibytes("mvt", InputSize::kPaper), within_5_percent(128));
  EXPECT_THAT(mebibytes("atax", InputSize::kPaper), within_5_percent(64));
  EXPECT_THAT(mebibytes("atax", InputSize::kTiny), within_5_percent(16));
  EXPECT_THAT(mebibytes("bicg", InputSize::kPaper), within_5_percent(128));
  EXPECT_THAT(mebibytes("gesummv:variant=simt", InputSize::kPaper), within_5_percent(128));
  EXPECT_THAT(mebibytes("gesummv", InputSize::kTiny), within_5_percent(32));
  EXPECT_THAT(mebibytes("bfs:variant=vc", InputSize::kPaper), within_5_percent(37));
  EXPECT_THAT(mebibytes("bfs:variant=mask", InputSize::kPaper), within_5_percent(2.3));
  EXPECT_THAT(mebibytes("bfs:vertices=65536,degree=6", InputSize::kSmall), within_5_percent(2.4));
  EXPECT_THAT(mebibytes("cp", InputSize::kPaper), within_5_percent(4));
  EXPECT_THAT(mebibytes("xsbench", InputSize::kPaper), within_5_percent(213));
  EXPECT_THAT(mebibytes("xsbench", InputSize::kTiny), within_5_percent(32));
  EXPECT_THAT(mebibytes("kmeans", InputSize::kPaper), within_5_percent(4.33));
  EXPECT_THAT(mebibytes("sssp", InputSize::kPaper), within_5_percent(104.32));
  EXPECT_THAT(mebibytes("sssp:vertices=1207945", InputSize::kPaper), within_5_percent(36));
  EXPECT_THAT(mebibytes("mis:variant=simt", InputSize::kPaper), within_5_percent(72.38));
  EXPECT_THAT(mebibytes("mis:variant=simt,vertices=1000000", InputSize::kPaper), within_5_percent(38));
  EXPECT_THAT(mebibytes("mis:variant=vc", InputSize::kPaper), within_5_percent(53));
  EXPECT_THAT(mebibytes("color:variant=simt", InputSize::kPaper), within_5_percent(31));
  EXPECT_THAT(mebibytes("color:variant=vc", InputSize::kPaper), within_5_percent(46));
  EXPECT_THAT(mebibytes("pagerank", InputSize::kPaper), within_5_percent(18));
  EXPECT_THAT(mebibytes("pagerank:variant=vc", InputSize::kPaper), within_5_percent(73));
  EXPECT_THAT(mebibytes("fw", InputSize::kPaper), within_5_percent(32));
  EXPECT_THAT(mebibytes("3ds", InputSize::kPaper), within_5_percent(32));
  EXPECT_THAT(mebibytes("hs:variant=dws", InputSize::kPaper), within_5_percent(3));
  EXPECT_THAT(mebibytes("hs:variant=simt", InputSize::kPaper), within_5_percent(12));
  EXPECT_THAT(mebibytes("fft", InputSize::kPaper), within_5_percent(4));
  EXPECT_THAT(mebibytes("srad:variant=dws", InputSize::kPaper), within_5_percent(7));
  EXPECT_THAT(mebibytes("sad:variant=mask", InputSize::kPaper), within_5_percent(8.6));
  EXPECT_THAT(mebibytes("nw:variant=mask", InputSize::kPaper), within_5_percent(32));
  EXPECT_THAT(mebibytes("nw:variant=simt", InputSize::kPaper), within_5_percent(512));
  EXPECT_THAT(mebibytes("lbm", InputSize::kPaper), within_5_percent(370));
  EXPECT_THAT(mebibytes("lbm", InputSize::kTiny), within_5_percent(33));
  EXPECT_THAT(mebibytes("lavamd", InputSize::kPaper), within_5_percent(7.5));
  EXPECT_THAT(mebibytes("bino", InputSize::kPaper), within_5_percent(4));
  EXPECT_THAT(mebibytes("bp:variant=mask", InputSize::kPaper), within_5_percent(9));
  EXPECT_THAT(mebibytes("bp:variant=simt", InputSize::kPaper), within_5_percent(108));
}

}  // namespace
}  // namespace terrace
