// Sense: more hardware moves a program the way it should. Compute scales with SMs, streaming with memory bandwidth
// until something else is full.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>

#include "config/loader.h"
#include "gpu/line_layout.h"
#include "run/run.h"
#include "support/paths.h"

namespace terrace {
namespace {

/// Thread instructions per cycle of a workload on a machine with ideal translation, with some keys changed.
double ipc(const std::string& machine, const std::string& workload, const std::string& size,
           const std::vector<std::string>& sets) {
  Layers layers;
  layers.gpu.push_back({source_folder() + "/configs/gpu/" + machine + ".toml", machine + ".toml"});
  for (const std::string& set : sets) layers.options.push_back(split_assignment(set, "--set"));
  RunRequest request;
  request.config = ConfigLoader<GpuConfig>(layers).config();
  request.config.run.tenants = workload;
  request.config.run.size = size;
  request.config.tenancy.launch_gap = 0;
  request.config.translation = TranslateAt::kNowhere;  // what translation does to these curves is another question
  const RunResult result = simulate(request);
  return std::get<double>(result.json.find("metrics")->find("total_ipc")->value);
}

TEST(Sense, CoulombPotentialIsLinearInSms) {
  // 128 blocks: several rounds of what four or eight SMs hold.
  const double few = ipc("cd_24sm", "cp:width=256,height=128,atoms=16", "mini", {"run.sms=[4]"});
  const double many = ipc("cd_24sm", "cp:width=256,height=128,atoms=16", "mini", {"run.sms=[8]"});
  EXPECT_GT(many / few, 1.6);
  EXPECT_LT(many / few, 2.1);
}

/// IPC on many SMs of cd_24sm over IPC on few; programs that take long are cut when they are in their stride.
double gain(const std::string& workload, u32 few, u32 many, const std::string& until) {
  const auto on = [&](u32 sms) {
    return ipc("cd_24sm", workload, "tiny", {fmt::format("run.sms=[{}]", sms), "run.until=" + until});
  };
  return on(many) / on(few);
}

TEST(Sense, BinomialOptionsAreLinearInSms) {
  EXPECT_GT(gain("bino:options=48,steps=64", 4, 12, "completed"), 2.5);
  EXPECT_GT(gain("bino:variant=cd", 8, 24, "completed"), 2.5);
}

TEST(Sense, FluidsParticlesAndMatrixVectorProductsSaturate) {
  // Half as many SMs again gain little; the slope of a program that computes would be 1.5.
  EXPECT_LT(gain("lbm", 16, 24, "cycles:60000"), 1.1);
  EXPECT_LT(gain("lavamd:variant=cd", 16, 24, "completed"), 1.2);
  EXPECT_LT(gain("gesummv:variant=cd", 16, 24, "completed"), 1.1);
}

TEST(Sense, NoProgramThatSaturatesGetsSlowerWithMoreSms) {
  for (const char* workload : {"lbm:variant=cd", "lavamd:variant=cd", "gesummv:variant=cd"}) {
    for (const u32 few : {12u, 16u, 20u}) {
      // Half a percent is the accident of which blocks come last.
      EXPECT_GT(gain(workload, few, 24, "completed"), 0.995) << workload << " on " << few << " SMs";
    }
  }
}

TEST(Sense, BlackScholesStreamsFasterWithMoreBandwidthUntilItIsEnough) {
  const auto with_clock = [](u32 mhz) {
    return ipc("mask_maxwell30", "blk:options=40000", "mini", {"dram.clock_mhz=" + std::to_string(mhz)});
  };
  const double slow = with_clock(100), normal = with_clock(800), fast = with_clock(1600);
  EXPECT_GT(normal, 1.5 * slow) << "bound by memory";
  EXPECT_GT(fast, normal * 0.99);
  EXPECT_LT(fast, 1.9 * normal) << "no longer bound by memory alone";
}

TEST(Sense, ALargerL2HelpsAProgramThatReuses) {
  // The table of 512 KB fits into the larger cache and not into the smaller one.
  const double small = ipc("dws_30sm", "gups:updates=8,blocks=32,threads=128", "mini", {"l2.bytes=65536", "l2.ways=4"});
  const double large = ipc("dws_30sm", "gups:updates=8,blocks=32,threads=128", "mini", {"l2.bytes=4194304"});
  EXPECT_GT(large, 1.02 * small);
}

TEST(Sense, EveryMachineUsesItsWholeL2) {
  // As many consecutive lines as the L2 has: those that find a way in their set stay. Channels that are no power of two
  // cannot be filled evenly.
  for (const auto& file : std::filesystem::directory_iterator(source_folder() + "/configs/gpu")) {
    Layers layers;
    layers.gpu.push_back({file.path().string(), file.path().filename().string()});
    const GpuConfig config = ConfigLoader<GpuConfig>(layers).config();
    const LineLayout layout(config.dram, config.line_bytes, config.l2);
    const u32 lines = config.l2.bytes / config.line_bytes, entries = lines / config.l2.slices;
    const TagArray<char> tags({.entries = entries, .ways = config.l2.ways, .hash = config.l2.index});
    std::vector<u32> used(lines / config.l2.ways);
    u32 stay = 0;
    for (u64 line = 0; line < lines; ++line) {
      const u32 slice = layout.slice_of(LineKey::physical(line));
      stay += used[slice * (entries / config.l2.ways) + tags.set_of(line)]++ < config.l2.ways;
    }
    const bool even = std::has_single_bit(config.dram.channels);
    EXPECT_GE(stay, even ? lines : lines * 0.8) << file.path().filename() << ": " << stay << " of " << lines;
  }
}

TEST(Sense, MoreWarpsHideMoreLatency) {
  const double few = ipc("dws_30sm", "blk:options=40000,blocks=480", "mini", {"sm.warps=4"});
  const double many = ipc("dws_30sm", "blk:options=40000,blocks=480", "mini", {"sm.warps=32"});
  EXPECT_GT(many, 1.5 * few);
}

}  // namespace
}  // namespace terrace
