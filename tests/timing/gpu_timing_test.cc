// Time in closed form: what an instruction, an access or a barrier costs on an idle GPU follows from its configuration,
// exactly; and what a part can do at most is reached. Costs per round of a script are differences of two runs, so start
// and end cancel out.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "gpu/gpu.h"
#include "timing/scripted_stream.h"

namespace terrace {
namespace {

GpuConfig small_gpu() {
  GpuConfig config;
  config.translation = TranslateAt::kNowhere;
  config.l1_tlb.hit_cycles = 0;
  config.pages.frames = FrameOrder::kContiguous;
  config.sm.count = 1;
  config.sm.schedulers = 1;
  config.sm.integer = {6, 1};
  config.sm.double_precision = {48, 16};
  config.sm.shared = {23, 1};
  config.sm.control = {1, 1};
  config.l1.hit_cycles = 7;
  config.l2.slices = 1;
  config.l2.bytes = 128 * 1024;
  config.l2.hit_cycles = 11;
  config.noc.latency = 5;
  config.dram.channels = 1;
  config.dram.refresh = false;
  config.tenancy.launch_gap = 0;
  return config;
}

struct Work {
  std::vector<ScriptOp> script;
  u32 blocks = 1, threads = 32;
};

struct Measured {
  Cycle cycles = 0;
  u64 warp_instructions = 0;
};

Measured measure(const GpuConfig& config, const Work& work, u32 rounds) {
  GuestMemory memory(PageSize::k4K);
  ScriptProgram program(work.blocks, work.threads, 64 << 20);
  program.allocate(memory);
  ScriptedStream stream(work.script, rounds, config.sm.warp_width);
  TenantSetup tenant{"script", &program, &memory, &stream, {}};
  for (u32 i = 0; i < config.sm.count; ++i) tenant.sms.push_back(i);
  Gpu gpu(config, {tenant});
  gpu.run({});
  gpu.stats().check_identities(!gpu.quiet());
  return {gpu.kernels().at(0).ended - gpu.kernels().at(0).began, gpu.kernels().at(0).warp_instructions};
}

/// Cycles that one more round of the script costs.
double cost_of_round(const GpuConfig& config, const Work& work) {
  const Cycle few = measure(config, work, 100).cycles, many = measure(config, work, 300).cycles;
  return static_cast<double>(many - few) / 200;
}

ScriptOp integer(u16 reads, u16 writes) {
  return {plain_inst(InstClass::kInteger, {reads}, {writes})};
}
/// Eight instructions that do not depend on each other: more than a pipeline of six cycles can hold.
std::vector<ScriptOp> independent(InstClass cls) {
  std::vector<ScriptOp> ops;
  for (u16 i = 0; i < 8; ++i) ops.push_back({plain_inst(cls, {100}, {i})});
  return ops;
}
/// A load of one line by the whole warp that needs the result of the one before; past the L1 when volatile.
ScriptOp chained_load(bool past_l1, u64 stride_per_round = 0) {
  ScriptOp op{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {2}, {2}),
              [stride_per_round](const ScriptPlace& place, u32 lane) {
                return GuestMemory::kBase + place.round * stride_per_round + lane * 4;
              }};
  op.inst.volatile_access = past_l1;
  return op;
}

TEST(SmTiming, DependentInstructionsIssueOneLatencyApart) {
  EXPECT_EQ(cost_of_round(small_gpu(), {{integer(0, 0)}}), 6);
}

TEST(SmTiming, IndependentInstructionsIssueEveryCycle) {
  EXPECT_EQ(cost_of_round(small_gpu(), {independent(InstClass::kInteger)}), 8);
}

TEST(SmTiming, EachSchedulerIssuesOneInstructionPerCycle) {
  for (const u32 schedulers : {1u, 2u, 4u}) {
    GpuConfig config = small_gpu();
    config.sm.schedulers = schedulers;
    // Eight warps of eight instructions share the schedulers.
    EXPECT_EQ(cost_of_round(config, {independent(InstClass::kInteger), 1, 256}), 64.0 / schedulers);
  }
}

TEST(SmTiming, AnIssueIntervalHoldsThePipelineNotTheWarp) {
  EXPECT_EQ(cost_of_round(small_gpu(), {independent(InstClass::kDouble)}), 8 * 16);
  // An integer instruction slips in between.
  EXPECT_EQ(cost_of_round(small_gpu(), {{{plain_inst(InstClass::kDouble, {100}, {0})}, integer(100, 1)}}), 48)
      << "one register: the next write waits for the last";
}

TEST(SmTiming, ABarrierLetsEveryoneGoOneLatencyAfterTheLastArrival) {
  for (const u32 warps : {1u, 4u, 16u}) {
    GpuConfig config = small_gpu();
    config.sm.control = {3, 1};
    // One scheduler issues the arrivals one per cycle; all go on three cycles after the last.
    EXPECT_EQ(cost_of_round(config, {{{plain_inst(InstClass::kBarrier, {}, {})}}, 1, warps * 32}), warps - 1 + 3)
        << warps << " warps";
  }
}

TEST(SmTiming, BankConflictsAddOneCycleForEachFurtherPass) {
  for (const u32 ways : {1u, 2u, 4u, 32u}) {
    const ScriptOp op{memory_inst(MemoryAction::kLoad, MemorySpace::kShared, 4, {2}, {2}),
                      [ways](const ScriptPlace&, u32 lane) { return u64{lane} * ways * 4; }};
    EXPECT_EQ(cost_of_round(small_gpu(), {{op}}), 23 + ways - 1) << ways << " lanes per bank";
  }
}

TEST(SmTiming, LanesThatReadTheSameSharedWordDoNotConflict) {
  const ScriptOp op{memory_inst(MemoryAction::kLoad, MemorySpace::kShared, 4, {2}, {2}),
                    [](const ScriptPlace&, u32) { return u64{64}; }};
  EXPECT_EQ(cost_of_round(small_gpu(), {{op}}), 23);
}

// A load issues, waits one cycle at the load-store unit, and its data is ready in the cycle in which it arrives.
TEST(MemoryTiming, AnL1HitCostsTheQueueAndTheCache) {
  EXPECT_EQ(cost_of_round(small_gpu(), {{chained_load(false)}}), 1 + 7);
}

TEST(MemoryTiming, AnL2HitCostsTheQueueBothWaysOfTheCrossbarAndTheCache) {
  EXPECT_EQ(cost_of_round(small_gpu(), {{chained_load(true)}}), 1 + 5 + 11 + 5);
}

TEST(MemoryTiming, AnL2MissPaysItsLookUpTheWayToMemoryAndBackTheControllerAndTheFill) {
  // With one clock for cores and memory, rows that are never reused, and nothing else going on: precharge, activate,
  // read.
  GpuConfig config = small_gpu();
  DramConfig dram = config.dram.resolved();
  config.core_mhz = config.dram.clock_mhz = dram.clock_mhz;
  config.dram.bank_hash = config.dram.channel_hash = false;
  config.dram.interleave_bytes = 256;  // sixteen banks are a page: a node of the page table in between moves no bank
  config.dram.link_cycles = 3;
  config.dram.controller_cycles = 13;
  dram = config.dram.resolved();
  const u64 next_row = u64{dram.row_bytes} * dram.banks * dram.ranks;  // the same bank, another row
  // The bursts of a line come from one bank group: tCCD_L apart, rounded up to whole bursts.
  const u32 burst = dram.burst_cycles(), bursts = config.line_bytes / dram.burst_bytes();
  const u32 apart = dram.bank_groups > 1 ? (dram.timing.tccd_l + burst - 1) / burst * burst : burst;
  const u32 memory = dram.timing.trp + dram.timing.trcd + dram.timing.cl + (bursts - 1) * apart + burst;
  const double cost = cost_of_round(config, {{chained_load(false, next_row)}});
  // Queue, crossbar, look-up, link, controller, memory, link, one cycle for the fill, crossbar.
  EXPECT_EQ(cost, 1 + 5 + 11 + 3 + 13 + memory + 3 + 1 + 5);
}

/// Lines per cycle of loads that do not depend on each other, from many warps.
double lines_per_cycle(const GpuConfig& config, bool past_l1, u32 warps) {
  Work work;
  for (u16 i = 0; i < 8; ++i) {
    ScriptOp op{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {100}, {i}),
                [i](const ScriptPlace& place, u32 lane) {
                  return GuestMemory::kBase + ((place.warp % 8) * 8 + i) * 128 + lane * 4;
                }};
    op.inst.volatile_access = past_l1;
    work.script.push_back(op);
  }
  work.blocks = config.sm.count;
  work.threads = warps * 32;
  return work.blocks * warps * 8 / cost_of_round(config, work);
}

TEST(MemoryBandwidth, TheL1AnswersOneLinePerPortAndCycle) {
  GpuConfig config = small_gpu();
  EXPECT_NEAR(lines_per_cycle(config, false, 16), 1, 0.02);
  config.sm.memory_ports = 2;
  config.sm.schedulers = 2;
  EXPECT_NEAR(lines_per_cycle(config, false, 16), 2, 0.1);
}

TEST(MemoryBandwidth, AnSmReceivesOneFlitPerCycleFromTheCrossbar) {
  // 128 bytes and a header of 8 are five flits of 32.
  EXPECT_NEAR(lines_per_cycle(small_gpu(), true, 16), 1.0 / 5, 0.005);
}

TEST(MemoryBandwidth, ASliceSendsOneFlitPerCycleHoweverManySmsAsk) {
  GpuConfig config = small_gpu();
  config.sm.count = 8;
  EXPECT_NEAR(lines_per_cycle(config, true, 8), 1.0 / 5, 0.005);
}

TEST(MemoryBandwidth, SlicesWorkInParallel) {
  GpuConfig config = small_gpu();
  config.sm.count = 8;
  config.l2.slices = 4;
  config.dram.channels = 4;
  config.dram.interleave_bytes = 128;
  EXPECT_GT(lines_per_cycle(config, true, 8), 0.9 * 4 / 5);
}

TEST(MemoryBandwidth, AStreamOfRowHitsReachesNineTenthsOfThePins) {
  GpuConfig config = small_gpu();
  config.sm.count = 8;
  config.dram.clock_mhz = config.dram.resolved().clock_mhz;
  config.core_mhz = 1400;
  const DramConfig dram = config.dram.resolved();
  Work work;
  work.blocks = 8;
  work.threads = 1024;
  work.script = {
      {memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {100}, {1}), [](const ScriptPlace& place, u32 lane) {
         return GuestMemory::kBase + ((u64{place.round} * 8 + place.block) * 32 + place.warp) * 128 + lane * 4;
       }}};
  const double seconds_per_round = cost_of_round(config, work) / (config.core_mhz * 1e6);
  const double bytes_per_second = 8 * 32 * 128 / seconds_per_round;
  EXPECT_GT(bytes_per_second, 0.9 * static_cast<double>(dram.pin_bytes_per_second()));
  EXPECT_LE(bytes_per_second, static_cast<double>(dram.pin_bytes_per_second()));
}

TEST(MemoryOrder, AFenceWaitsUntilStoresAreAcknowledged) {
  const ScriptOp store{memory_inst(MemoryAction::kStore, MemorySpace::kGlobal, 4, {1, 2}, {}),
                       [](const ScriptPlace&, u32 lane) { return GuestMemory::kBase + lane * 4; }};
  const double without = cost_of_round(small_gpu(), {{store, integer(0, 0)}});
  const double with = cost_of_round(small_gpu(), {{store, {plain_inst(InstClass::kFence, {}, {})}, integer(0, 0)}});
  EXPECT_EQ(without, 6) << "stores do not block";
  // Queue, crossbar, cache, crossbar; then the fence issues, and the integer instruction a cycle later.
  EXPECT_EQ(with, 1 + 5 + 11 + 5 + 1 + 1);
}

TEST(MemoryOrder, AWarpsNextAccessWaitsUntilItsAtomicIsPerformed) {
  const ScriptOp atomic{memory_inst(MemoryAction::kReduction, MemorySpace::kGlobal, 4, {1, 2}, {}),
                        [](const ScriptPlace&, u32 lane) { return GuestMemory::kBase + lane * 4; }};
  EXPECT_EQ(cost_of_round(small_gpu(), {{atomic}}), 1 + 5 + 11 + 5);
}

TEST(Deadlocks, SayWhoWaitsForWhat) {
  // A barrier at which one warp of two never arrives: it ends instead.
  class Lopsided final : public Program {
   public:
    void allocate(GuestMemory& memory) override { memory.allocate("buffer", 4096); }
    void initialise(GuestMemory&) override {}
    std::optional<Launch> next(GuestMemory&) override {
      return Launch{.kernel = "lopsided", .grid = {1, 1, 1}, .block = {64, 1, 1}, .arguments = {}};
    }
    CheckResult check(const GuestMemory&) const override { return {}; }
    void archive(Archive&) override {}
  } program;
  GuestMemory memory(PageSize::k4K);
  program.allocate(memory);
  ScriptedStream stream({{plain_inst(InstClass::kBarrier, {}, {})}}, 1);
  stream.never_completes_barriers = true;
  Gpu gpu(small_gpu(), {{"script", &program, &memory, &stream, {0}}});
  try {
    gpu.run({});
    FAIL() << "the run ended";
  } catch (const Deadlock& deadlock) {
    const std::string text = deadlock.what();
    EXPECT_NE(text.find("sm.0: 2 warps wait at a barrier"), std::string::npos) << text;
    EXPECT_NE(text.find("dispatcher: lopsided: 0 of 1 blocks have ended, 1 are on SMs"), std::string::npos) << text;
  }
}

/// Stands in for a unit: does what that one does until `stop`, and then nothing, so that its links are never drained.
class StopsAt final : public Unit {
 public:
  StopsAt(std::string name, Cycle stop) : name_(std::move(name)), stop_(stop) {}
  Cycle tick(Cycle now) override { return now < stop_ ? real_->tick(now) : kNever; }
  void commit(Cycle now) override { real_->commit(now); }
  void explain(std::ostream& out) const override { real_->explain(out); }

  Scheduler::Options options() {
    return {.stand_in = [this](const std::string& name, Unit& unit) -> Unit& {
      if (name != name_) return unit;
      real_ = &unit;
      return *this;
    }};
  }

 private:
  std::string name_;
  Cycle stop_;
  Unit* real_ = nullptr;
};

/// What the report says when a unit stops draining its links while two warps load 64 lines each.
std::string report_when_stopped(const std::string& unit, Cycle stop) {
  GpuConfig config = small_gpu();
  GuestMemory memory(PageSize::k4K);
  ScriptProgram program(1, 64);
  program.allocate(memory);
  const ScriptOp scattered{
      memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {1}, {2}),
      [](const ScriptPlace& at, u32 lane) { return GuestMemory::kBase + (at.warp * 64 + at.round * 32 + lane) * 128; }};
  ScriptedStream stream({scattered}, 2);
  StopsAt stand_in(unit, stop);
  Gpu gpu(config, {{"script", &program, &memory, &stream, {0}}}, stand_in.options());
  try {
    gpu.run({});
  } catch (const Deadlock& deadlock) {
    return deadlock.what();
  }
  return "the run ended";
}

TEST(Deadlocks, AChannelThatTakesNoRequestsIsSeenByTheSliceTheSmAndTheDispatcher) {
  const std::string text = report_when_stopped("dram.0", 0);
  for (const char* line :
       {"nothing can happen any more, although work is left", "l2.0: 13 lines are awaited from memory",
        "l2.0: its link to memory is full: 13 requests are not taken", "l2.0: 4 requests wait to be looked up",
        "sm.0: 2 warps wait for memory", "of 32 line requests, blocked",
        "dram.0: input 0 (an L2 slice or MMU) has 13 requests on its link",
        "dispatcher: script: 0 of 1 blocks have ended, 1 are on SMs"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
}

TEST(Deadlocks, AnSmThatTakesNoRepliesIsSeenByTheSliceAndTheChannel) {
  const std::string text = report_when_stopped("sm.0", 40);
  for (const char* line :
       {"nothing can happen any more, although work is left", "the first to SM 0, which takes none",
        "l2.0: 2 answers of memory are on their link", "replies to input 0 (an L2 slice or MMU) wait, the first since",
        "dispatcher: script: 0 of 1 blocks have ended, 1 are on SMs"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
}

}  // namespace
}  // namespace terrace
