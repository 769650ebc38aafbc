// What one access costs on each machine of configs/gpu while nothing else goes on: a hit in the L1 and in the L2, a load
// through DRAM, a hit in the L2 TLB and in those of an IOMMU, a walk without its walk cache, with all but the leaf in it and
// with the leaf too, and one whose entries are in DRAM. Each follows from the machine's file in closed form, and the load through DRAM and the walk are what
// is known of the machine's generation.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "gpu/gpu.h"
#include "papers/designs.h"
#include "timing/scripted_stream.h"
#include "translation/page_table.h"

namespace terrace {
namespace {

struct Machine {
  const char* name;
  // Core cycles of a load that comes from DRAM, its page known to the L1 TLB.
  u32 load_from, load_to;
  // Core cycles of a walk in service, of which the walk cache knows all but the leaf; 0: it never has one.
  u32 walk_from, walk_to;
  const char* source;
};
void PrintTo(const Machine& machine, std::ostream* out) {
  *out << machine.name;
}
constexpr Machine kMachines[] = {
    {"dws_30sm", 170, 200, 30, 40, "100 cycles over what GPGPU-Sim's parts take (public release)"},
    {"mask_maxwell30", 350, 400, 0, 0, "Maxwell, 350 cycles (ISPASS 2015)"},
    {"mask_fermi", 300, 350, 0, 0, "Fermi, 600 to 700 cycles of a shader clock of twice the core clock (ISPASS 2015)"},
    {"cd_24sm", 300, 350, 0, 0, "likewise"},
    {"mask_integrated", 200, 300, 0, 0, "gem5's APUs, and 130 ns of L2"},
    {"vc_16cu", 150, 250, 100, 200, "gem5's APUs"},
    {"simt_8cu", 350, 450, 300, 400, "gem5's APUs; the paper speaks of hundreds of cycles for a walk"},
};

class UnloadedLatency : public testing::TestWithParam<Machine> {
 protected:
  /// Rows always closed, no refresh: memory takes the same time for each access. Only then are costs exact.
  static GpuConfig quiet(const std::string& machine) {
    GpuConfig config = machine_with(machine, {});
    config.dram.row_policy = RowPolicy::kClosed;
    config.dram.refresh = false;
    config.pages.frames = FrameOrder::kContiguous;
    config.tenancy.launch_gap = 0;
    return config;
  }
  static GpuConfig ideal(const std::string& machine) {
    GpuConfig config = quiet(machine);
    config.translation = TranslateAt::kNowhere;
    return config;
  }
  /// No TLB holds more than one page.
  static GpuConfig walking(const std::string& machine) {
    GpuConfig config = quiet(machine);
    config.translation = TranslateAt::kBeforeL1;
    config.l1_tlb.entries = config.l2_tlb.entries = 1;
    config.l1_tlb.ways = config.l2_tlb.ways = 0;
    config.mmu.tlb1.entries = config.mmu.tlb2.entries = 0;
    return config;
  }

  /// Cycles of a load that waits for the one before; round r loads at `address(r)`.
  static double cost(const GpuConfig& config, const std::function<u64(u32)>& address, bool past_l1 = false) {
    const auto cycles = [&](u32 rounds) {
      GuestMemory memory{PageSize(config.pages.bytes)};
      ScriptProgram program(1, 1, 64 << 20);
      program.allocate(memory);
      ScriptOp op{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {2}, {2}),
                  [&](const ScriptPlace& place, u32) { return GuestMemory::kBase + address(place.round); }};
      op.inst.volatile_access = past_l1;
      ScriptedStream stream({op}, rounds, config.sm.warp_width);
      Gpu gpu(config, {{"script", &program, &memory, &stream, {0}}});
      gpu.run({});
      gpu.stats().check_identities(!gpu.quiet());
      return gpu.kernels().at(0).ended - gpu.kernels().at(0).began;
    };
    return static_cast<double>(cycles(kRounds) - cycles(kWarmRounds)) / (kRounds - kWarmRounds);
  }
  static constexpr u32 kWarmRounds = 90, kRounds = 270;
  /// Nine pages in turn, a line further in each, so that the L1 holds them all.
  static double cost_of_nine_pages(const GpuConfig& config) {
    return cost(config, [&](u32 round) { return round % 9 * u64{config.pages.bytes + config.line_bytes}; });
  }

  // In closed form. A load waits one cycle at the load-store unit.
  static u32 to_l1(const GpuConfig& config) { return 1 + config.l1_tlb.hit_cycles; }
  static u32 l1_hit(const GpuConfig& config) { return to_l1(config) + config.l1.hit_cycles; }
  static u32 l2_read(const GpuConfig& config) { return 2 * config.noc.latency + config.l2.hit_cycles; }
  /// From a slice or an MMU to the controller and back, with what the memory takes.
  static double dram_read(const GpuConfig& config) {
    const DramConfig dram = config.dram.resolved();
    // The bursts of a line come from one bank group: tCCD_L apart, rounded up to whole bursts.
    const u32 burst = dram.burst_cycles(), bursts = config.line_bytes / dram.burst_bytes();
    const u32 apart = dram.bank_groups > 1 ? (dram.timing.tccd_l + burst - 1) / burst * burst : burst;
    const u32 clocks = dram.timing.trcd + dram.timing.cl + (bursts - 1) * apart + burst;
    return 2 * config.dram.link_cycles + config.dram.controller_cycles +
           static_cast<double>(clocks) * config.core_mhz / dram.clock_mhz;
  }
  // Two clocks meet at their edges: a command waits for one of memory's, and what is counted in core cycles begins and
  // ends within one.
  static double edges(const GpuConfig& config) {
    return 1 + double{1} * config.core_mhz / config.dram.resolved().clock_mhz;
  }
  static u32 l2_tlb_hit(const GpuConfig& config) { return 2 * config.l2_tlb.link_cycles + config.l2_tlb.hit_cycles; }
};

TEST_P(UnloadedLatency, AnL1Hit) {
  const GpuConfig config = ideal(GetParam().name);
  EXPECT_EQ(cost(config, [](u32) { return 0; }), l1_hit(config));
}

TEST_P(UnloadedLatency, AnL2Hit) {
  const GpuConfig config = ideal(GetParam().name);
  EXPECT_EQ(cost(config, [](u32) { return 0; }, true), to_l1(config) + l2_read(config));
}

TEST_P(UnloadedLatency, ALoadThroughDram) {
  const GpuConfig config = ideal(GetParam().name);
  const double measured = cost(config, [](u32 round) { return u64{round} * 17 * 4096; });
  // The look-up in the L2, memory, one cycle for the fill.
  const double expected = to_l1(config) + l2_read(config) + dram_read(config) + 1;
  EXPECT_NEAR(measured, expected, edges(config));
  EXPECT_GE(measured, GetParam().load_from) << GetParam().source;
  EXPECT_LE(measured, GetParam().load_to) << GetParam().source;
}

TEST_P(UnloadedLatency, AL2TlbHit) {
  GpuConfig config = quiet(GetParam().name);
  config.translation = TranslateAt::kBeforeL1;
  config.l1_tlb.entries = 8;
  config.l1_tlb.ways = 0;
  EXPECT_EQ(cost_of_nine_pages(config), l1_hit(config) + l2_tlb_hit(config));
}

TEST_P(UnloadedLatency, AHitInEachTlbOfTheIommu) {
  GpuConfig config = walking(GetParam().name);
  const MmuConfig own = quiet(GetParam().name).mmu;
  if (own.tlb1.entries == 0 && own.tlb2.entries == 0) GTEST_SKIP() << "its MMU has no TLBs";
  const u32 before = l1_hit(config) + l2_tlb_hit(config) + 2 * config.mmu.transit_cycles;
  config.mmu.tlb1 = own.tlb1;
  config.mmu.tlb2 = own.tlb2;
  EXPECT_EQ(cost_of_nine_pages(config), before + own.tlb1.cycles) << "found in the first";
  config.mmu.tlb1.entries = 1;
  config.mmu.tlb1.ways = 0;
  EXPECT_EQ(cost_of_nine_pages(config), before + own.tlb1.cycles + own.tlb2.cycles) << "found in the second";
}

/// From the start of a walk to its end: what is left of the load when everything else is taken off.
double walk_cycles(const GpuConfig& config, double load, double without) {
  return load - without - 2 * config.mmu.transit_cycles;
}

TEST_P(UnloadedLatency, AWalkWithoutAWalkCache) {
  GpuConfig config = walking(GetParam().name);
  config.mmu.walk_cache.kind = WalkCacheConfig::Kind::kNone;
  config.mmu.walk_cache.protect = false;
  const double walk = walk_cycles(config, cost_of_nine_pages(config), l1_hit(config) + l2_tlb_hit(config));
  if (config.mmu.walk_path.use == "l2") {
    EXPECT_EQ(walk, 4 * l2_read(config)) << "its four lines are in the L2";
  } else {
    EXPECT_NEAR(walk, 4 * dram_read(config), 4 * edges(config));
  }
}

TEST_P(UnloadedLatency, AWalkOfWhichTheWalkCacheKnowsAllButTheLeaf) {
  GpuConfig config = walking(GetParam().name);
  if (config.mmu.walk_cache.kind == WalkCacheConfig::Kind::kNone) {
    EXPECT_EQ(GetParam().walk_from, 0u) << "the machine has no walk cache";
    return;
  }
  config.mmu.walk_cache.leaf = false;
  const double walk = walk_cycles(config, cost_of_nine_pages(config), l1_hit(config) + l2_tlb_hit(config));
  const u32 cache = config.mmu.walk_cache.cycles;
  if (config.mmu.walk_path.use == "l2") {
    EXPECT_EQ(walk, cache + l2_read(config));
  } else {
    EXPECT_NEAR(walk, cache + dram_read(config), edges(config));
  }
  EXPECT_GE(walk, GetParam().walk_from) << GetParam().source;
  EXPECT_LE(walk, GetParam().walk_to) << GetParam().source;
}

TEST_P(UnloadedLatency, AWalkThatTheWalkCacheKnowsWhole) {
  const GpuConfig config = walking(GetParam().name);
  if (!config.mmu.walk_cache.leaf) GTEST_SKIP() << "it keeps no leaves";
  const double walk = walk_cycles(config, cost_of_nine_pages(config), l1_hit(config) + l2_tlb_hit(config));
  EXPECT_EQ(walk, config.mmu.walk_cache.cycles) << "memory is not read";
}

TEST_P(UnloadedLatency, AWalkThroughTheL2IntoDram) {
  GpuConfig config = walking(GetParam().name);
  if (config.mmu.walk_path.use != "l2") GTEST_SKIP() << "its walks read memory past the L2";
  config.mmu.walk_cache.kind = WalkCacheConfig::Kind::kNone;
  config.mmu.walk_cache.protect = false;
  // Each load is on a page whose leaf entry is on a new line.
  const TableShape shape(config.pages, config.line_bytes);
  const u64 entries_of_line = config.line_bytes * shape.entries(1) / shape.node_bytes(1);
  const auto address = [&](u32 round) { return round * (entries_of_line * config.pages.bytes + config.line_bytes); };
  // Lines of the levels above are new now and then.
  std::set<std::pair<u32, u64>> lines;
  size_t warm = 0;
  for (u32 round = 0; round < kRounds; ++round) {
    if (round == kWarmRounds) warm = lines.size();
    for (u32 level = 1; level <= shape.leaf_level(); ++level)
      lines.emplace(level, shape.prefix(level, {GuestMemory::kBase + address(round)}) / entries_of_line);
  }
  const double from_dram = static_cast<double>(lines.size() - warm) / (kRounds - kWarmRounds);
  EXPECT_GE(from_dram, 1);
  // What misses the L2 takes one cycle for the fill: the load's own line, and those of its walk.
  const double missed = dram_read(config) + 1;
  const double load = to_l1(config) + l2_read(config) + missed + l2_tlb_hit(config);
  const double walk = walk_cycles(config, cost(config, address), load);
  EXPECT_NEAR(walk, shape.leaf_level() * l2_read(config) + from_dram * missed, (1 + from_dram) * edges(config));
}

INSTANTIATE_TEST_SUITE_P(Machines, UnloadedLatency, testing::ValuesIn(kMachines),
                         [](const auto& test) { return std::string(test.param.name); });

/// But for one whose lines are near or far, in sectors, on pages of 2 MB: it is compared with a real GPU (docs/silicon.md).
TEST(UnloadedLatencies, EveryMachineIsHere) {
  size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(source_folder() + "/configs/gpu")) {
    const std::string name = file.path().stem().string();
    if (name == "h200") continue;
    ++files;
    EXPECT_TRUE(
        std::any_of(std::begin(kMachines), std::end(kMachines), [&](const Machine& m) { return name == m.name; }))
        << name << " has no row in kMachines: what does a load through DRAM cost there, and how is that known?";
  }
  EXPECT_EQ(files, std::size(kMachines));
}

}  // namespace
}  // namespace terrace
