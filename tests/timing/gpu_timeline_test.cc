// The timeline of a run as trace events: what it shows is what the result says, it stays within its size, and keeping it
// changes nothing.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "timing/tenant_runs.h"

namespace terrace {
namespace {

constexpr u64 kPlenty = 1'000'000;

RunRequest with_events(RunRequest request, u64 events = kPlenty) {
  request.timeline_events = events;
  return request;
}

Tree trace_of(const RunResult& result) {
  return parse_json(result.events, "the timeline");
}

std::string word(const Tree& tree, const char* name) {
  const Tree* found = tree.find(name);
  return found == nullptr ? "" : std::get<std::string>(found->value);
}

/// The events of one category.
std::vector<const Tree*> events_of(const Tree& trace, const std::string& kind) {
  std::vector<const Tree*> found;
  for (const Tree& event : trace.find("traceEvents")->items())
    if (word(event, "cat") == kind) found.push_back(&event);
  return found;
}

u64 begin_of(const Tree& event) {
  return number(event, "ts");
}
u64 end_of(const Tree& event) {
  return number(event, "ts") + number(event, "dur");
}

/// Of all units of the machine whose path is gpu.KIND.N.
u64 sum_of(const RunResult& result, const char* kind, const char* counter, u32 tenants) {
  u64 total = 0;
  for (const Tree::Member& unit : result.json.find("stats")->find("gpu")->find(kind)->members())
    for (u32 tenant = 0; tenant < tenants; ++tenant) total += per_tenant(unit.value, counter, tenant);
  return total;
}

TEST(TraceEvents, ShowEveryKernelOfTheResultInItsCycles) {
  const RunResult result = simulate(with_events(tenant_run("fft gups")));
  const Tree trace = trace_of(result);
  std::multimap<std::tuple<u64, std::string, u64, u64>, int> shown, told;
  for (const Tree* event : events_of(trace, "kernel")) {
    if (event->find("args")->find("unfinished") != nullptr) continue;
    shown.emplace(
        std::tuple(number(*event->find("args"), "tenant"), word(*event, "name"), begin_of(*event), end_of(*event)), 0);
  }
  for (const Tree& kernel : result.json.find("kernels")->items())
    told.emplace(
        std::tuple(number(kernel, "tenant"), word(kernel, "name"), number(kernel, "began"), number(kernel, "ended")),
        0);
  EXPECT_GT(told.size(), 2u);
  EXPECT_EQ(shown, told);
}

TEST(TraceEvents, ShowAKernelThatTheEndOfTheRunCutShort) {
  const RunResult result = simulate(with_events(tenant_run("mm", {"run.until=window:3000"})));
  const Tree trace = trace_of(result);
  const auto kernels = events_of(trace, "kernel");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(*kernels[0]->find("args")->find("unfinished"), Tree(true));
  EXPECT_EQ(begin_of(*kernels[0]), 1000u) << "the launch gap";
  EXPECT_EQ(end_of(*kernels[0]), 3000u);
}

TEST(TraceEvents, ShowEveryWalkWithItsCyclesAndReads) {
  const RunResult result = simulate(with_events(tenant_run("gups mm")));
  const Tree trace = trace_of(result);
  u64 service = 0, queued = 0, reads = 0;
  std::map<std::pair<u64, u64>, std::vector<std::pair<u64, u64>>> walkers;
  for (const Tree* walk : events_of(trace, "walk")) {
    service += number(*walk, "dur");
    queued += number(*walk->find("args"), "queued");
    reads += number(*walk->find("args"), "reads");
    walkers[{number(*walk, "pid"), number(*walk, "tid")}].emplace_back(begin_of(*walk), end_of(*walk));
  }
  EXPECT_EQ(events_of(trace, "walk").size(), sum_of(result, "mmu", "walks_done", 2));
  EXPECT_EQ(service, sum_of(result, "mmu", "service_cycles", 2));
  EXPECT_EQ(queued, sum_of(result, "mmu", "queue_cycles", 2));
  EXPECT_EQ(reads, sum_of(result, "mmu", "reads", 2));
  EXPECT_GT(walkers.size(), 1u);
  for (auto& [walker, spans] : walkers) {
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i)
      ASSERT_LE(spans[i - 1].second, spans[i].first) << "two walks at once";
  }
}

TEST(TraceEvents, FollowOneRequestOfAnSmAtATimeThroughItsStages) {
  const RunResult result = simulate(with_events(tenant_run("gups mm")));
  const Tree trace = trace_of(result);
  std::map<u64, u64> last_end;  // by SM
  u64 waited_for_pages = 0;
  const Tree* request = nullptr;
  u64 reached = 0;
  const auto close = [&] {
    if (request != nullptr) {
      EXPECT_EQ(reached, end_of(*request)) << "stages fill a request";
    }
  };
  for (const Tree& event : trace.find("traceEvents")->items()) {
    if (word(event, "cat") == "request") {
      close();
      request = &event;
      reached = begin_of(event);
      u64& end = last_end[number(event, "tid")];
      EXPECT_GE(begin_of(event), end);
      end = end_of(event);
      EXPECT_LE(end, number(*result.json.find("run"), "cycles"));
    } else if (word(event, "cat") == "stage") {
      ASSERT_NE(request, nullptr);
      EXPECT_EQ(begin_of(event), reached);
      reached = end_of(event);
      waited_for_pages += word(event, "name") == "waits for pages";
    }
  }
  close();
  EXPECT_GT(last_end.size(), 3u) << "SMs that had blocks";
  EXPECT_GT(waited_for_pages, 100u);
}

TEST(TraceEvents, ShowTurnsAndSwitchesThatAddUpToWhatWasCounted) {
  const RunResult result = simulate(with_events(
      tenant_run("mm gups", {"tenancy.sharing=time", "tenancy.quantum=2000", "tenancy.switch_cycles=100"})));
  const Tree trace = trace_of(result);
  const Tree& turns = *result.json.find("stats")->find("gpu")->find("turns");
  std::map<u64, u64> cycles;
  for (const Tree* turn : events_of(trace, "turn"))
    cycles[number(*turn->find("args"), "tenant")] += number(*turn, "dur");
  u64 switching = 0;
  for (const Tree* change : events_of(trace, "switch")) switching += number(*change, "dur");
  EXPECT_GT(number(*turns.find("switches"), "value"), 2u);
  EXPECT_EQ(events_of(trace, "switch").size(), number(*turns.find("switches"), "value"));
  EXPECT_EQ(cycles[0], per_tenant(turns, "turn_cycles", 0));
  EXPECT_EQ(cycles[1], per_tenant(turns, "turn_cycles", 1));
  EXPECT_EQ(switching, number(*turns.find("drain_cycles"), "value") + number(*turns.find("switch_cycles"), "value"));
}

TEST(TraceEvents, ShowDecisionsAndEpochs) {
  RunRequest request =
      tenant_run("lbm cp",
                 {"tenancy.partition.cd_search.window.warm_up=500", "tenancy.partition.cd_search.window.profile=500",
                  "tenancy.launch_gap=100", "run.epoch=1000", "run.until=window:5000"},
                 {"cd_search"}, "cd_24sm");
  const RunResult result = simulate(with_events(request));
  const Tree trace = trace_of(result);
  const auto decisions = events_of(trace, "decision");
  const auto& told = result.json.find("decisions")->items();
  ASSERT_EQ(decisions.size(), told.size());
  for (std::size_t i = 0; i < told.size(); ++i) {
    EXPECT_EQ(begin_of(*decisions[i]), number(told[i], "cycle"));
    EXPECT_EQ(word(*decisions[i], "name"), word(told[i], "text"));
  }
  // Two tenants, two counters each, five epochs.
  EXPECT_EQ(events_of(trace, "epoch").size(), 20u);
  u64 instructions = 0;
  for (const Tree* mark : events_of(trace, "epoch"))
    if (const Tree* warp = mark->find("args")->find("warp")) instructions += std::get<u64>(warp->value);
  EXPECT_EQ(instructions, number(*result.json.find("run"), "warp_instructions"));
}

TEST(TraceEvents, StayWithinTheirNumberAndSayHowManyThereWere) {
  const RunResult result = simulate(with_events(tenant_run("gups mm", {"run.epoch=100"}), 400));
  const Tree trace = trace_of(result);
  u64 events = 0;
  for (const Tree& event : trace.find("traceEvents")->items()) events += word(event, "ph") != "M";
  EXPECT_LE(events, 400u);
  EXPECT_GT(events, 100u);
  const Tree& walks = *trace.find("otherData")->find("events")->find("walks");
  EXPECT_EQ(number(walks, "seen"), sum_of(result, "mmu", "walks_done", 2));
  EXPECT_EQ(number(walks, "kept"), events_of(trace, "walk").size());
  EXPECT_LT(number(walks, "kept"), number(walks, "seen"));
}

TEST(TraceEvents, ChangeNothingAndAreTheSameInAnyOrderOfTicks) {
  RunRequest request = tenant_run("gups mm", tiny_queues());
  const RunResult without = simulate(request);
  EXPECT_EQ(without.events, "");
  request = with_events(request, 2000);
  const RunResult with = simulate(request);
  EXPECT_EQ(digest_of(with), digest_of(without));
  request.options = {.sleep = false, .permute_seed = 7};
  const RunResult permuted = simulate(request);
  EXPECT_TRUE(permuted.events == with.events);
}

}  // namespace
}  // namespace terrace
