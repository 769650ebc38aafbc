// A tenant with launches on several streams: those of one stream run in order, those of different ones at once, and
// results are those of one launch after the other, whatever happens meanwhile.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <map>
#include <set>
#include <sstream>

#include "frontend/functional_runner.h"
#include "support/forwarding_stream.h"
#include "timing/ptx_tenants.h"
#include "timing/scripted_tenants.h"

namespace terrace {
namespace {

constexpr u32 kBlocks = 4, kThreads = 32, kWords = kBlocks * kThreads;

/// Every thread computes a word of `to` from its number and from a word that another block's thread has in `from`, or
/// `start`. On the way the word goes through local memory as often as the launch says, and once through shared memory.
std::string kernel(const std::string& name, const std::string& from, const std::string& start, const std::string& to,
                   u32 factor) {
  const std::string load =
      from.empty() ? "mov.u32 %v, " + start + ";"
                   : "ld.param.u64 %from, [" + from + "]; add.u64 %from, %from, %other; ld.global.u32 %v, [%from];";
  return fmt::format(R"(
.visible .entry {}(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .u64 rounds) {{
  .reg .u64 %from, %to, %off, %other, %rounds; .reg .u32 %i, %t, %n, %v, %left, %w; .reg .pred %p;
  .local .align 4 .b8 depot[{}]; .shared .u32 cells[{}];
  ld.param.u64 %to, [{}]; ld.param.u64 %rounds, [rounds]; cvt.u32.u64 %left, %rounds;
  mov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %t, %tid.x; mad.lo.u32 %i, %i, %n, %t;
  mul.wide.u32 %off, %i, 4; add.u64 %to, %to, %off;
  add.u32 %w, %i, 97; rem.u32 %w, %w, {}; mul.wide.u32 %other, %w, 4;
  {}
LOOP:
  st.local.u32 [depot+4], %v; ld.local.u32 %w, [depot+4]; mad.lo.u32 %v, %w, {}, %i;
  sub.u32 %left, %left, 1; setp.ne.u32 %p, %left, 0; @%p bra LOOP;
  mov.u64 %off, cells; mul.wide.u32 %other, %t, 4; add.u64 %off, %off, %other; st.shared.u32 [%off], %v;
  bar.sync 0;
  ld.shared.u32 %w, [%off]; st.global.u32 [%to], %w;
  ret;
}}
)",
                     name, 8 * factor, kThreads, to, kWords, load, factor);
}

std::string all_kernels() {
  return ".version 7.8\n.target sm_70\n.address_size 64\n" + kernel("make_a", "", "17", "a", 3) +
         kernel("make_b", "", "%i", "b", 5) + kernel("a_to_c", "a", "", "c", 7) + kernel("b_to_d", "b", "", "d", 9) +
         kernel("c_to_a", "c", "", "a", 11);
}

struct Issued {
  std::string kernel;
  u32 stream;
  u64 rounds = 60;
  bool host_waits = false;
};

/// Two chains that have nothing to do with each other, and a launch that waits for both.
const std::vector<Issued> kTwoChains{
    {"make_a", 1}, {"make_b", 2, 90}, {"a_to_c", 1}, {"b_to_d", 2, 30, true}, {"c_to_a", 0}};
std::vector<Issued> longer_chains() {
  std::vector<Issued> longer = kTwoChains;
  for (Issued& launch : longer) launch.rounds *= 5;
  return longer;
}

PtxProgramSpec spec(std::vector<Issued> issued, bool one_stream = false) {
  PtxProgramSpec spec;
  spec.ptx = all_kernels();
  for (const char* name : {"a", "b", "c", "d"}) spec.buffers.push_back({name, kWords});
  spec.blocks = kBlocks;
  spec.threads = kThreads;
  for (const Issued& launch : issued) spec.numbers.push_back({launch.rounds});
  spec.adjust = [=](Launch& launch, u64 number) {
    launch.kernel = issued[number].kernel;
    if (one_stream) return;
    launch.stream = issued[number].stream;
    launch.host_waits = issued[number].host_waits;
  };
  return spec;
}

GpuConfig four_sms() {
  GpuConfig config;
  config.sm.count = 4;
  config.l2.slices = 2;
  config.l2.bytes = 1 << 18;
  config.dram.channels = 2;
  config.tenancy.launch_gap = 20;
  return config;
}

/// Which launches have blocks at the same time.
class Watched final : public ForwardingStream {
 public:
  using ForwardingStream::ForwardingStream;
  LaunchShape begin_launch(const Launch& launch) override {
    const LaunchShape shape = ForwardingStream::begin_launch(launch);
    names_[shape.launch] = shape.kernel;
    return shape;
  }
  void end_launch(LaunchId launch) override {
    EXPECT_FALSE(blocks_.contains(launch)) << "it has blocks";
    ForwardingStream::end_launch(launch);
    names_.erase(launch);
  }
  BlockRef begin_block(LaunchId launch, u64 block, SmId sm) override {
    return note(launch, ForwardingStream::begin_block(launch, block, sm));
  }
  BlockRef restore(LaunchId launch, const BlockImage& image, SmId sm) override {
    return note(launch, ForwardingStream::restore(launch, image, sm));
  }
  void end_block(BlockRef block) override {
    ForwardingStream::end_block(block);
    const LaunchId launch = launch_of_.at(block);
    if (--blocks_[launch] == 0) blocks_.erase(launch);
  }
  std::set<std::string> together;  // "kernel kernel"

 private:
  BlockRef note(LaunchId launch, BlockRef block) {
    launch_of_[block] = launch;
    ++blocks_[launch];
    for (const auto& [other, count] : blocks_) {
      if (other != launch)
        together.insert(std::min(names_[launch], names_[other]) + " " + std::max(names_[launch], names_[other]));
    }
    return block;
  }
  std::map<LaunchId, std::string> names_;  // of launches in flight
  std::map<LaunchId, u32> blocks_;
  std::map<BlockRef, LaunchId> launch_of_;
};

struct Outcome {
  u64 memory = 0;
  Cycle cycles = 0;
  std::string digest;
  std::set<std::string> together;
  std::map<std::string, KernelRecord> kernels;  // the last of each name
  std::vector<std::string> order;               // in which they ended
};

Outcome run(const PtxProgramSpec& spec, const GpuConfig& config = four_sms(), Scheduler::Options options = {}) {
  PtxTenant tenant(config, "streams.ptx", spec);
  Watched watched(tenant.machine);
  std::vector<u32> sms(config.sm.count);
  for (u32 i = 0; i < sms.size(); ++i) sms[i] = i;
  Gpu gpu(config, {{"streams", &tenant.program, &tenant.memory, &watched, sms}}, options);
  gpu.run({});
  gpu.stats().check_identities(!gpu.quiet());
  Outcome outcome{tenant.memory.digest(), gpu.now(), gpu.stats().digest(), watched.together, {}, {}};
  for (const KernelRecord& record : gpu.kernels()) {
    outcome.kernels[record.name] = record;
    outcome.order.push_back(record.name);
  }
  return outcome;
}

/// The words of all buffers, without local memory: how many launches had some at a time is not a result.
std::vector<std::vector<u32>> results(const PtxTenant& tenant) {
  std::vector<std::vector<u32>> all;
  for (u32 buffer = 0; buffer < 4; ++buffer) all.push_back(tenant.words(buffer));
  return all;
}

std::vector<std::vector<u32>> functional_results(const std::vector<Issued>& issued) {
  PtxTenant tenant(four_sms(), "streams.ptx", spec(issued));
  FunctionalRunner(tenant.machine).run(tenant.program, tenant.memory);
  return results(tenant);
}

TEST(Streams, LaunchesOfDifferentStreamsRunAtOnceAndThoseOfOneInOrder) {
  const Outcome both = run(spec(kTwoChains)), serial = run(spec(kTwoChains, true));
  EXPECT_THAT(both.together, testing::Contains("make_a make_b"));
  for (const char* in_order : {"a_to_c make_a", "b_to_d make_b", "a_to_c c_to_a", "b_to_d c_to_a"})
    EXPECT_THAT(both.together, testing::Not(testing::Contains(in_order)));
  EXPECT_GE(both.kernels.at("a_to_c").began, both.kernels.at("make_a").ended);
  EXPECT_GE(both.kernels.at("b_to_d").began, both.kernels.at("make_b").ended);
  EXPECT_LT(both.kernels.at("make_b").began, both.kernels.at("make_a").ended);
  EXPECT_EQ(serial.together.size(), 0u);
  EXPECT_EQ(serial.order, (std::vector<std::string>{"make_a", "make_b", "a_to_c", "b_to_d", "c_to_a"}));
  EXPECT_LT(both.cycles * 10, serial.cycles * 8) << "two chains at once take less than one after the other";
}

TEST(Streams, TheHostGoesOnWhenAllStreamsHaveEnded) {
  const Outcome both = run(spec(kTwoChains));
  for (const char* name : {"a_to_c", "b_to_d"})
    EXPECT_GE(both.kernels.at("c_to_a").began, both.kernels.at(name).ended + four_sms().tenancy.launch_gap);
}

TEST(Streams, ResultsAreThoseOfOneLaunchAfterTheOther) {
  const auto expected = functional_results(kTwoChains);
  for (const bool one_stream : {false, true}) {
    PtxTenant tenant(four_sms(), "streams.ptx", spec(kTwoChains, one_stream));
    Gpu gpu(four_sms(), {{"streams", &tenant.program, &tenant.memory, &tenant.machine, {0, 1, 2, 3}}});
    gpu.run({});
    EXPECT_EQ(results(tenant), expected);
  }
}

TEST(Streams, ALaunchOnTheSameStreamWaitsAlthoughTheHostDoesNot) {
  std::vector<Issued> issued = kTwoChains;
  for (Issued& launch : issued) launch.stream = 4, launch.host_waits = false;
  const Outcome outcome = run(spec(issued));
  EXPECT_EQ(outcome.together.size(), 0u);
  EXPECT_EQ(outcome.order, (std::vector<std::string>{"make_a", "make_b", "a_to_c", "b_to_d", "c_to_a"}));
}

TEST(Streams, AProgramMayEndWithLaunchesThatItDoesNotWaitFor) {
  const std::vector<Issued> issued{{"make_a", 1}, {"make_b", 2}, {"a_to_c", 1}};
  const auto expected = functional_results(issued);
  PtxTenant tenant(four_sms(), "streams.ptx", spec(issued));
  Gpu gpu(four_sms(), {{"streams", &tenant.program, &tenant.memory, &tenant.machine, {0, 1, 2, 3}}});
  gpu.run({});
  EXPECT_EQ(results(tenant), expected);
  EXPECT_EQ(gpu.kernels().size(), 3u);
  EXPECT_EQ(gpu.progress(TenantId(0)).completed_runs, 1u);
}

TEST(Streams, ManyLaunchesOnManyStreamsShareOneSm) {
  std::vector<Issued> issued;
  for (u32 i = 0; i < 24; ++i) issued.push_back({i % 2 == 0 ? "make_a" : "make_b", i % 6, 20});
  GpuConfig config = four_sms();
  config.sm.count = 1;
  const Outcome outcome = run(spec(issued), config);
  EXPECT_EQ(outcome.order.size(), 24u);
  EXPECT_FALSE(outcome.together.empty());
}

TEST(Streams, SleepingAndTheOrderOfTicksChangeNothing) {
  const Outcome straight = run(spec(kTwoChains));
  for (const bool sleep : {false, true}) {
    const Outcome again = run(spec(kTwoChains), four_sms(), {.sleep = sleep, .permute_seed = 5});
    EXPECT_EQ(again.digest, straight.digest);
    EXPECT_EQ(again.cycles, straight.cycles);
    EXPECT_EQ(again.memory, straight.memory);
  }
}

TEST(Streams, ALaunchWaitsForThoseOfOtherStreamsThatItNames) {
  const std::vector<Issued> issued{{"make_a", 1}, {"a_to_c", 2}, {"make_b", 3}};
  const auto expected = functional_results(issued);
  PtxProgramSpec ordered = spec(issued);
  ordered.adjust = [adjust = ordered.adjust](Launch& launch, u64 number) {
    adjust(launch, number);
    launch.ticket = number + 1;
    if (number == 1) launch.after = {1};
  };
  const Outcome outcome = run(ordered);
  EXPECT_GE(outcome.kernels.at("a_to_c").began, outcome.kernels.at("make_a").ended);
  EXPECT_THAT(outcome.together, testing::Contains("make_a make_b")) << "the third waits for neither";
  PtxTenant tenant(four_sms(), "streams.ptx", ordered);
  Gpu gpu(four_sms(), {{"streams", &tenant.program, &tenant.memory, &tenant.machine, {0, 1, 2, 3}}});
  gpu.run({});
  EXPECT_EQ(results(tenant), expected);
}

TEST(Streams, AnActionIsDoneInItsTurnAndOneThatWritesWhenNothingRuns) {
  // On stream 1 a kernel, a look at the clock and another kernel; beside them one that runs longer, and a write.
  const std::vector<Issued> issued{{"make_a", 1}, {"", 1}, {"a_to_c", 1}, {"make_b", 2, 300}, {"", 3}};
  Cycle looked = 0, wrote = 0;
  PtxProgramSpec with_actions = spec(issued);
  with_actions.adjust = [&, adjust = with_actions.adjust](Launch& launch, u64 number) {
    adjust(launch, number);
    if (number == 1) launch.action = [&](GuestMemory&, Cycle now) { looked = now; };
    // It names the kernels, so that it cannot go ahead of them.
    launch.ticket = number + 1;
    if (number != 4) return;
    launch.action = [&](GuestMemory&, Cycle now) { wrote = now; };
    launch.action_writes = true;
    launch.after = {1};
  };
  const Outcome outcome = run(with_actions);
  EXPECT_EQ(looked, outcome.kernels.at("make_a").ended);
  EXPECT_EQ(outcome.kernels.at("a_to_c").began, looked + four_sms().tenancy.launch_gap);
  EXPECT_EQ(wrote, std::max(outcome.kernels.at("make_b").ended, outcome.kernels.at("a_to_c").ended));
  EXPECT_EQ(outcome.order.size(), 3u);
}

TEST(Streams, AProgramOfActionsOnlyCompletes) {
  u32 done = 0;
  PtxProgramSpec actions = spec({{"", 1}, {"", 2, 60, true}, {"", 1}});
  actions.adjust = [&, adjust = actions.adjust](Launch& launch, u64 number) {
    adjust(launch, number);
    launch.action = [&](GuestMemory&, Cycle) { ++done; };
  };
  PtxTenant tenant(four_sms(), "streams.ptx", actions);
  Gpu gpu(four_sms(), {{"streams", &tenant.program, &tenant.memory, &tenant.machine, {0, 1, 2, 3}}});
  gpu.run({});
  EXPECT_EQ(done, 3u);
  EXPECT_EQ(gpu.progress(TenantId(0)).completed_runs, 1u);
}

/// Two tenants with both chains each; what `config` makes them share.
struct Pair {
  Pair(const GpuConfig& config, std::unique_ptr<SmPartitioner> partitioner = nullptr,
       const std::vector<Issued>& first_tenant = kTwoChains, const std::vector<Issued>& second_tenant = kTwoChains)
      : one(config, "one.ptx", spec(first_tenant)),
        two(config, "two.ptx", spec(second_tenant)),
        watched(one.machine),
        turns(config.tenancy.sharing == TenancyConfig::Sharing::kTime),
        gpu(config,
            {{"one", &one.program, &one.memory, &watched,
              turns ? std::vector<u32>{0, 1, 2, 3} : std::vector<u32>{0, 1, 2}},
             {"two", &two.program, &two.memory, &two.machine,
              turns ? std::vector<u32>{0, 1, 2, 3} : std::vector<u32>{3}}},
            {}, std::move(partitioner)) {
    // A program that starts again overwrites its results.
    gpu.on_completion = [this](TenantId tenant) {
      if (gpu.progress(tenant).completed_runs == 1) first[index(tenant)] = results(tenant == TenantId(0) ? one : two);
    };
  }
  u64 counter(const std::string& name) {
    std::istringstream lines(gpu.stats().csv());
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(name + ",")) return std::stoull(line.substr(name.size() + 1));
    }
    return 0;
  }

  PtxTenant one, two;
  Watched watched;
  const bool turns;
  Gpu gpu;
  std::array<std::vector<std::vector<u32>>, 2> first;
};

TEST(Streams, BlocksOfTwoLaunchesAreTakenOffTheirSmsAndGoOnElsewhere) {
  constexpr Cycle kEpoch = 1000;
  GpuConfig config = four_sms();
  config.run.epoch = kEpoch;
  Pair pair(config, std::make_unique<ScriptedPartitioner>([&](const SmPartitioner::Situation& now, SmPlan plan) {
              if (now.occasion != SmPartitioner::Occasion::kEpoch) return plan;
              plan.leave.fill(Leave::kPreempt);
              for (u32 sm = 0; sm < 3; ++sm) plan.sms[sm].owner = TenantId(now.now / kEpoch % 3 == sm ? 0 : 1);
              return plan;
            }),
            longer_chains(), longer_chains());
  pair.gpu.run({});
  pair.gpu.stats().check_identities(!pair.gpu.quiet());
  EXPECT_GT(pair.counter("gpu.partition.preempted_blocks{tenant=0}"), 10u) << "the test would show nothing";
  EXPECT_THAT(pair.watched.together, testing::Contains("make_a make_b"));
  for (const auto& results : pair.first) EXPECT_EQ(results, functional_results(longer_chains()));
}

TEST(Streams, TenantsWithSeveralLaunchesTakeTurns) {
  GpuConfig config = four_sms();
  config.tenancy.sharing = TenancyConfig::Sharing::kTime;
  config.tenancy.quantum = 500;
  config.tenancy.switch_cycles = 50;
  Pair pair(config);
  pair.gpu.run({});
  pair.gpu.stats().check_identities(!pair.gpu.quiet());
  EXPECT_GT(pair.counter("gpu.turns.switches"), 3u);
  EXPECT_THAT(pair.watched.together, testing::Contains("make_a make_b"));
  for (const auto& results : pair.first) EXPECT_EQ(results, functional_results(kTwoChains));
}

TEST(Streams, AProgramThatStartsAgainHasAllItsLaunchesAgain) {
  Pair pair(four_sms(), nullptr, kTwoChains, longer_chains());
  pair.gpu.run({});
  pair.gpu.stats().check_identities(!pair.gpu.quiet());
  const u64 runs = pair.gpu.progress(TenantId(0)).completed_runs;
  EXPECT_GE(runs, 2u);
  u64 launches = 0;
  for (const KernelRecord& record : pair.gpu.kernels()) launches += record.tenant == TenantId(0);
  EXPECT_GE(launches, runs * kTwoChains.size());
  EXPECT_EQ(pair.first[0], functional_results(kTwoChains));
  EXPECT_EQ(pair.first[1], functional_results(longer_chains()));
}

TEST(Streams, AFaultEndsAllLaunchesOfItsTenantAndNoOthers) {
  // A launch of more blocks than the buffers have words for.
  PtxProgramSpec wrong = spec(kTwoChains);
  wrong.adjust = [adjust = wrong.adjust](Launch& launch, u64 number) {
    adjust(launch, number);
    if (launch.kernel == "make_b") launch.grid = {kBlocks + 100};
  };
  const GpuConfig config = four_sms();
  PtxTenant good(config, "good.ptx", spec(kTwoChains)), bad(config, "bad.ptx", wrong);
  Watched watched(bad.machine);
  Gpu gpu(config, {{"good", &good.program, &good.memory, &good.machine, {0, 1}},
                   {"bad", &bad.program, &bad.memory, &watched, {2, 3}}});
  gpu.run({.relaunch = false});
  gpu.stats().check_identities(!gpu.quiet());
  EXPECT_THAT(gpu.progress(TenantId(1)).fault, testing::HasSubstr("kernel make_b"));
  EXPECT_THAT(watched.together, testing::Contains("make_a make_b"));
  EXPECT_EQ(gpu.progress(TenantId(1)).completed_runs, 0u);
  EXPECT_EQ(gpu.progress(TenantId(0)).completed_runs, 1u);
  EXPECT_EQ(results(good), functional_results(kTwoChains));
  for (const KernelRecord& record : gpu.kernels()) {
    if (record.tenant != TenantId(1)) continue;
    EXPECT_THAT(record.name, testing::AnyOf("make_a", "make_b", "a_to_c")) << "what follows the fault does not begin";
  }
}

TEST(Streams, LocalMemoryIsUsedAgainWhenItsLaunchHasEnded) {
  const auto pieces = [](const std::vector<Issued>& issued, bool one_stream) {
    PtxTenant tenant(four_sms(), "streams.ptx", spec(issued, one_stream));
    Gpu gpu(four_sms(), {{"streams", &tenant.program, &tenant.memory, &tenant.machine, {0, 1, 2, 3}}});
    gpu.run({});
    u32 count = 0;
    for (const auto& allocation : tenant.memory.allocations()) count += allocation.name.starts_with("local memory");
    return count;
  };
  const std::vector<Issued> same(8, {"make_a", 0, 10}), two{{"make_a", 1}, {"make_b", 2}, {"make_a", 1}, {"make_b", 2}};
  EXPECT_EQ(pieces(same, true), 1u);
  EXPECT_EQ(pieces(two, false), 2u) << "one for each that runs at a time";
}

}  // namespace
}  // namespace terrace
