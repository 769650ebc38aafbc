// A run that is saved and goes on from what was saved is the run that was never disturbed: the same digest and the same
// result, whatever the threads, the order of ticks and sleeping; and what it saves later is the same to the byte. So a
// member that somebody forgot to save is found even where it does not change a statistic, and the part of the machine is named.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "frontend/workload.h"
#include "support/scratch.h"
#include "timing/tenant_runs.h"

namespace terrace {
namespace {

/// The state in a checkpoint, without the words before it (run/checkpoint.h).
std::string state_in(const std::string& file) {
  const std::string bytes = read_file(file);
  u32 words = 0;
  std::memcpy(&words, bytes.data() + 12, sizeof words);
  const std::size_t begin = 16 + words, end = bytes.size() - 8;
  std::string state, block(ZSTD_DStreamOutSize(), '\0');
  ZSTD_DCtx* const unpacker = ZSTD_createDCtx();
  ZSTD_inBuffer in{bytes.data() + begin, end - begin, 0};
  while (in.pos < in.size) {
    ZSTD_outBuffer out{block.data(), block.size(), 0};
    if (ZSTD_isError(ZSTD_decompressStream(unpacker, &out, &in))) break;
    state.append(block.data(), out.pos);
  }
  ZSTD_freeDCtx(unpacker);
  return state;
}

/// The part of the machine in which a byte of a state lies: the last name before it. A name is a length and so many letters.
std::string part_at(const std::string& state, std::size_t at) {
  for (; at > 0; --at) {
    u64 length = 0;
    if (at + sizeof length > state.size()) continue;
    std::memcpy(&length, state.data() + at, sizeof length);
    if (length < 2 || length > 40 || at + sizeof length + length > state.size()) continue;
    const std::string name = state.substr(at + sizeof length, length);
    if (std::all_of(name.begin(), name.end(), [](unsigned char c) { return c >= ' ' && c < 0x7f; })) return name;
  }
  return "the beginning";
}

/// Where two states differ, in words; empty: nowhere.
std::string difference(const std::string& file, const std::string& other) {
  const std::string a = state_in(file), b = state_in(other);
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (x == a.end() && y == b.end()) return a.empty() ? "there is no state" : "";
  const auto at = static_cast<std::size_t>(x - a.begin());
  return fmt::format("byte {} of {} (other: {}), after the part \"{}\"", at, a.size(), b.size(), part_at(a, at));
}

/// All that does not depend on the wall clock and the host.
std::string lasting(const RunResult& result) {
  Tree json = result.json;
  Tree run = Tree::table();
  for (const char* key : {"cycles", "warp_instructions", "thread_instructions", "digest"})
    run[key] = *json.find("run")->find(key);
  json["run"] = run;
  return json_text(json) + result.log + result.timeline + result.events;
}

CheckpointWish wish(const Scratch& scratch, const std::string& name, Cycle cycle) {
  return {(scratch.path() / name).string(), cycle};
}

/// Saves at cycles spread over the run, and goes on from each but the last.
void expect_to_go_on(RunRequest request) {
  const Scratch scratch;
  const RunResult plain = simulate(request);
  const Cycle cycles = std::get<u64>(plain.json.find("run")->find("cycles")->value);
  ASSERT_GT(cycles, 100u);
  const std::vector<Cycle> at{cycles / 7, cycles / 2, cycles - cycles / 6, cycles - cycles / 25};
  for (u32 i = 0; i < at.size(); ++i) request.checkpoints.push_back(wish(scratch, fmt::format("{}", i), at[i]));
  const RunResult saved = simulate(request);
  EXPECT_EQ(lasting(saved), lasting(plain)) << "saving changed the run";
  EXPECT_TRUE(saved.unsaved.empty());
  for (u32 i = 0; i + 1 < at.size(); ++i) {
    SCOPED_TRACE(fmt::format("from cycle {} of {}", at[i], cycles));
    RunRequest again = request;
    again.checkpoints.clear();
    for (u32 next = i + 1; next < at.size(); ++next)
      again.checkpoints.push_back(wish(scratch, fmt::format("later{}", next), at[next]));
    again.resume = std::make_shared<Checkpoint>((scratch.path() / fmt::format("{}", i)).string());
    const RunResult resumed = simulate(again);
    EXPECT_EQ(digest_of(resumed), digest_of(plain));
    EXPECT_EQ(lasting(resumed), lasting(plain));
    EXPECT_EQ(std::get<u64>(resumed.json.find("run")->find("resumed_from")->value), at[i]);
    for (u32 next = i + 1; next < at.size(); ++next) {
      EXPECT_EQ(difference((scratch.path() / fmt::format("{}", next)).string(),
                           (scratch.path() / fmt::format("later{}", next)).string()),
                "")
          << "what is saved in cycle " << at[next];
    }
  }
  // Which is slow, so from the last of them.
  const auto from_last = [&](Scheduler::Options options) {
    RunRequest again = request;
    again.options = options;
    again.checkpoints.clear();
    again.resume = std::make_shared<Checkpoint>((scratch.path() / fmt::format("{}", at.size() - 2)).string());
    return digest_of(simulate(again));
  };
  EXPECT_EQ(from_last({.sleep = false, .permute_seed = 5}), digest_of(plain)) << "awake";
  EXPECT_EQ(from_last({.permute_seed = 9, .threads = 2, .share_from = 1}), digest_of(plain)) << "on two threads";
}

/// What was saved by several threads, whose units tick in another order, goes on with one that always ticks all, and the
/// other way round.
void expect_to_go_on_otherwise(RunRequest request) {
  const Scratch scratch;
  const RunResult plain = simulate(request);
  const Cycle cycles = std::get<u64>(plain.json.find("run")->find("cycles")->value);
  const std::vector<Scheduler::Options> ways{
      {.permute_seed = 3, .threads = 2, .share_from = 1}, {.sleep = false, .permute_seed = 4}, {.threads = 3}};
  for (u32 i = 0; i < ways.size(); ++i) {
    RunRequest first = request, second = request;
    first.options = ways[i];
    first.checkpoints.push_back(wish(scratch, "file", cycles / 3));
    EXPECT_EQ(digest_of(simulate(first)), digest_of(plain)) << i;
    second.options = ways[(i + 1) % ways.size()];
    second.resume = std::make_shared<Checkpoint>((scratch.path() / "file").string());
    EXPECT_EQ(digest_of(simulate(second)), digest_of(plain)) << i;
  }
}

struct Case {
  std::string name, tenants, machine;
  std::vector<std::string> designs, sets;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<Case> cases() {
  const std::vector<std::string> search{"tenancy.partition.cd_search.window.warm_up=500",
                                        "tenancy.partition.cd_search.window.profile=500"};
  return {
      {"dws_pp", "gups mm", "dws_30sm", {"dws_pp"}, {}},
      {"dws_three_tenants", "gups mm fft", "dws_30sm", {"dws"}, {}},
      {"static_walkers", "gups histo", "dws_30sm", {"static_walkers"}, {}},
      {"s_tlb_ptw", "gups mm", "dws_30sm", {"s_tlb_ptw"}, {}},
      {"mask", "gups bfs", "mask_maxwell30", {"mask"}, {"run.epoch=1000"}},
      {"mask_tlb_hill_climb", "gups bfs", "mask_maxwell30", {"mask_tlb_hill_climb"}, {"run.epoch=1000"}},
      {"mask_fermi", "3ds cons", "mask_fermi", {"pw_cache"}, {}},
      {"mask_integrated", "gups mm", "mask_integrated", {"mask"}, {"run.epoch=1000"}},
      {"simt_aware", "mvt atax", "simt_8cu", {"simt_aware"}, {}},
      {"simt_random", "gesummv", "simt_8cu", {"random"}, {}},
      {"vc_opt", "bfs", "vc_16cu", {"vc_opt"}, {}},
      {"vc_opt_probed",
       "bfs",
       "vc_16cu",
       {"vc_opt"},
       {"cpu.probe_interval=97", "cpu.shootdown_interval=1009", "cpu.flush_interval=7001"}},
      {"vc_no_opt", "pathfinder nw", "vc_16cu", {"vc_no_opt"}, {}},
      {"l1_vc", "kmeans", "vc_16cu", {"l1_vc_32"}, {}},
      {"cd_search", "lbm cp", "cd_24sm", {"cd_search"}, joined(search, {"run.until=window:30000"})},
      {"cd_search_dram", "lbm cp", "cd_24sm", {"cd_search_dram"}, joined(search, {"run.until=window:20000"})},
      {"smk",
       "lbm cp",
       "cd_24sm",
       {"smk"},
       {"tenancy.partition.smk.window.warm_up=400", "tenancy.partition.smk.window.profile=400"}},
      {"maestro_cd_search",
       "lavamd gesummv bino",
       "cd_24sm",
       {"maestro_cd_search"},
       {"tenancy.partition.maestro.window.warm_up=400", "tenancy.partition.maestro.window.profile=400",
        "tenancy.launch_gap=100"}},
      {"turns",
       "gups mm fft",
       "dws_30sm",
       {},
       {"tenancy.sharing=time", "tenancy.quantum=1500", "tenancy.switch_cycles=200"}},
      {"arrivals_and_departures",
       "gups mm:arrive=3000 fft:arrive=2000,leave=7000",
       "dws_30sm",
       {"dws"},
       {"run.until=window:16000"}},
      {"sectors", "gups nw", "dws_30sm", {}, {"sector_bytes=32", "l2.bytes=65536"}},
      {"tiny_queues", "gups mm", "dws_30sm", {}, joined(tiny_queues(2), {"run.until=cycles:40000"})},
      {"tiny_queues_of_a_virtual_cache", "bfs", "vc_16cu", {"vc_opt"}, tiny_queues(1)},
      {"today", "gups mm", "h200", {}, {"run.until=cycles:6000"}},
      {"ideal", "mm fft", "dws_30sm", {"ideal"}, {}},
      {"partitioned_memory", "gups mm", "mask_maxwell30", {"static"}, {}},
      {"instructions", "gups mm", "dws_30sm", {}, {"run.until=instructions:200000"}},
      {"all_that_watches",
       "gups mm",
       "dws_30sm",
       {"dws"},
       {"run.epoch=1000", "run.stats_every=700", "run.sample=300", "run.lifetimes=true", "run.first_touches=true",
        "run.warmup=2500", "run.until=window:15000"}},
  };
}

RunRequest request_of(const Case& c) {
  RunRequest request = tenant_run(c.tenants, c.sets, c.designs, c.machine);
  request.check = true;
  if (c.name == "all_that_watches") {
    request.log = "l2.0@1000:9000";
    request.timeline = true;
  }
  if (c.name == "turns") request.timeline_events = 20'000;
  return request;
}

class CheckpointLaws : public testing::TestWithParam<Case> {};

TEST_P(CheckpointLaws, ARunThatGoesOnIsTheRunThatWasNeverDisturbed) {
  expect_to_go_on(request_of(GetParam()));
}

std::string name_of_case(const testing::TestParamInfo<Case>& tested) {
  return tested.param.name;
}
INSTANTIATE_TEST_SUITE_P(Machines, CheckpointLaws, testing::ValuesIn(cases()), name_of_case);

TEST(CheckpointLawsOfThreads, HowManySavedAndHowManyGoOnDoesNotMatter) {
  expect_to_go_on_otherwise(tenant_run("gups mm", {}, {"dws_pp"}));
  expect_to_go_on_otherwise(tenant_run("bfs", {}, {"vc_opt"}, "vc_16cu"));
}

/// Where every workload stands in its host's program is saved, and its results pass its own check.
class CheckpointLawsOfPrograms : public testing::TestWithParam<std::string> {};

TEST_P(CheckpointLawsOfPrograms, EveryWorkloadGoesOnAndPassesItsCheck) {
  const Scratch scratch;
  RunRequest request = tenant_run(GetParam());
  request.check = true;
  const RunResult plain = simulate(request);
  ASSERT_TRUE(plain.checks_passed) << plain.text;
  const Cycle cycles = std::get<u64>(plain.json.find("run")->find("cycles")->value);
  RunRequest first = request;
  first.checkpoints = {wish(scratch, "a", cycles / 3), wish(scratch, "b", cycles * 2 / 3)};
  EXPECT_EQ(lasting(simulate(first)), lasting(plain));
  for (const char* from : {"a", "b"}) {
    RunRequest second = request;
    second.resume = std::make_shared<Checkpoint>((scratch.path() / from).string());
    if (*from == 'a') second.checkpoints = {wish(scratch, "later", cycles * 2 / 3)};
    EXPECT_EQ(lasting(simulate(second)), lasting(plain)) << from;
  }
  EXPECT_EQ(difference((scratch.path() / "b").string(), (scratch.path() / "later").string()), "");
}

std::vector<std::string> workloads() {
  std::vector<std::string> names;
  for (const Workload* workload : all_workloads()) names.emplace_back(workload->info().name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Workloads, CheckpointLawsOfPrograms, testing::ValuesIn(workloads()),
                         [](const auto& tested) { return tested.param; });

/// A later end acts in the cycles in which it would always have acted.
TEST(CheckpointLawsOfEnds, ALaterEndGivesTheRunThatAlwaysHadIt) {
  const Scratch scratch;
  const std::vector<std::string> series{"run.stats_every=300"};  // which shows in what cycles controllers act
  RunRequest first = tenant_run("gups mm", joined(series, {"run.until=cycles:5000"}));
  first.checkpoints = {wish(scratch, "a", 4321), wish(scratch, "end", 5000)};
  EXPECT_TRUE(simulate(first).unsaved.empty());
  for (const char* until : {"cycles:9000", "instructions:250000", "completed"}) {
    const std::string set = fmt::format("run.until={}", until);
    const RunResult whole = simulate(tenant_run("gups mm", joined(series, {set})));
    for (const char* from : {"a", "end"}) {
      RunRequest second = tenant_run("gups mm", joined(series, {set}));
      second.resume = std::make_shared<Checkpoint>((scratch.path() / from).string());
      EXPECT_EQ(lasting(simulate(second)), lasting(whole)) << until << " from " << from;
    }
  }
}

/// A checkpoint may hold what another one went on to.
TEST(CheckpointLawsOfChains, ARunMayBeSavedAndGoOnAgainAndAgain) {
  const Scratch scratch;
  RunRequest request = tenant_run("gups mm", {}, {"dws"});
  const RunResult plain = simulate(request);
  const Cycle cycles = std::get<u64>(plain.json.find("run")->find("cycles")->value);
  const std::string file = (scratch.path() / "file").string();
  for (Cycle at = cycles / 8; at < cycles; at += cycles / 8) {
    RunRequest part = request;
    part.config.run.until = fmt::format("cycles:{}", at);
    part.checkpoints = {{file, at}};
    if (at != cycles / 8) part.resume = std::make_shared<Checkpoint>(file);
    EXPECT_TRUE(simulate(part).unsaved.empty());
  }
  request.resume = std::make_shared<Checkpoint>(file);
  EXPECT_EQ(lasting(simulate(request)), lasting(plain));
}

}  // namespace
}  // namespace terrace
