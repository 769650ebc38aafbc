// What the engine's parts cost: wake-ups, link hops, tag probes, pool operations, in nanoseconds each, and a toy
// machine of about a hundred units in five regimes, in million warp instructions per second.
//   build/release/bench_engine
// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "engine/link.h"
#include "engine/miss_table.h"
#include "engine/pool.h"
#include "engine/ring.h"
#include "engine/rng.h"
#include "engine/scheduler.h"
#include "engine/tag_array.h"
#include "laws/toy/toy_machine.h"

namespace terrace {
namespace {

/// Wakes itself a few cycles later, a thousand times over: one wake-up, one search for the next one and one tick.
class Sleeper final : public Unit {
 public:
  explicit Sleeper(u32 step) : step_(step) {}
  Cycle tick(Cycle now) override { return now + step_; }
  void explain(std::ostream&) const override {}

 private:
  u32 step_;
};

void wake_and_tick(benchmark::State& state) {
  Scheduler scheduler;
  std::vector<std::unique_ptr<Sleeper>> sleepers;
  for (u32 i = 0; i < 130; ++i) {
    sleepers.push_back(std::make_unique<Sleeper>(3 + i % 61));
    scheduler.add(*sleepers.back(), "sleeper");
  }
  Cycle until = 0;
  for (auto _ : state) scheduler.run(until += 1000);
  state.counters["ns"] = benchmark::Counter(static_cast<double>(scheduler.ticks()) * 1e-9,
                                            benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(wake_and_tick);

void link_hop(benchmark::State& state) {
  Scheduler scheduler;
  Sleeper one(1), other(1);
  Link<u32> link(scheduler, {.rate = 1, .latency = 2});
  link.connect(scheduler.add(one, "one"), scheduler.add(other, "other"));
  Cycle now = 0;
  u32 sum = 0;
  for (auto _ : state) {
    scheduler.run(now + 1);
    if (link.can_push(now)) link.push(now, static_cast<u32>(now));
    if (link.front(now)) sum += link.pop(now);
    ++now;
  }
  benchmark::DoNotOptimize(sum);
}
BENCHMARK(link_hop);

/// The same hop without the scheduler's part: push, arrive, pop.
void ring_hop(benchmark::State& state) {
  Ring<u32> ring(64);
  for (u32 i = 0; i < 32; ++i) ring.push(i);
  u32 sum = 0;
  for (auto _ : state) {
    ring.push(sum);
    sum += ring.pop();
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(ring_hop);

void tag_probe(benchmark::State& state) {
  const u32 entries = 512, ways = static_cast<u32>(state.range(0));
  TagArray<u32> tags({.entries = entries, .ways = ways});
  Rng rng(1, "bench");
  std::vector<u64> keys;
  for (u32 i = 0; i < 4096; ++i) keys.push_back(rng.below(1024));
  for (u64 key : keys) {
    if (tags.find(key) < 0) tags.fill(tags.victim(key), key);
  }
  u32 at = 0;
  i32 sum = 0;
  for (auto _ : state) sum += tags.find(keys[at++ % 4096]);
  benchmark::DoNotOptimize(sum);
}
BENCHMARK(tag_probe)->Arg(8)->Arg(16)->Arg(64);

struct alignas(64) Line {
  u64 words[8] = {};
};
void pool_make_and_free(benchmark::State& state) {
  Pool<Line> pool;
  Ring<Handle<Line>> live(256);
  for (u32 i = 0; i < 255; ++i) live.push(pool.make());
  for (auto _ : state) {
    live.push(pool.make());
    pool.free(live.pop());
  }
}
BENCHMARK(pool_make_and_free);

void miss_join_and_release(benchmark::State& state) {
  MissTable<u32> table(64, 8);
  u64 key = 0, sum = 0;
  for (auto _ : state) {
    table.join(key * 4099, 1);
    if (key >= 32) table.release((key - 32) * 4099, [&](u32 waiter) { sum += waiter; });
    ++key;
  }
  benchmark::DoNotOptimize(sum);
}
BENCHMARK(miss_join_and_release);

void toy_machine(benchmark::State& state, const std::string& mix, bool sleep) {
  toy::Config config;
  config.mix = toy::mix(mix);
  config.instructions = mix == "walk" ? 100'000 : 1'000'000;
  config.options.sleep = sleep;
  u64 instructions = 0, cycles = 0, ticks = 0, walks = 0;
  for (auto _ : state) {
    const toy::Result result = toy::run(config);
    instructions += result.instructions;
    cycles += result.cycles;
    ticks += result.ticks;
    walks += result.walks;
  }
  const auto per = [&](u64 a, u64 b) { return static_cast<double>(a) / static_cast<double>(b); };
  state.counters["Minst/s"] = benchmark::Counter(static_cast<double>(instructions) * 1e-6, benchmark::Counter::kIsRate);
  state.counters["Mcycles/s"] = benchmark::Counter(static_cast<double>(cycles) * 1e-6, benchmark::Counter::kIsRate);
  state.counters["ipc"] = per(instructions, cycles);
  state.counters["ticks/inst"] = per(ticks, instructions);
  state.counters["walks/kinst"] = 1000 * per(walks, instructions);
}

void register_toy_machines() {
  for (const toy::Mix& mix : toy::mixes()) {
    for (const bool sleep : {true, false}) {
      benchmark::RegisterBenchmark(("toy_machine/" + mix.name + (sleep ? "" : "/awake")).c_str(), toy_machine, mix.name,
                                   sleep)
          ->Unit(benchmark::kMillisecond);
    }
  }
}

}  // namespace
}  // namespace terrace

int main(int argc, char** argv) {
  terrace::register_toy_machines();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
