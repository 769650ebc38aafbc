// How fast the PTX machine executes, without timing: an FMA loop, coalesced streaming, and random updates of a large
// table with all lanes apart. One thread; items are warp instructions.
// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#include "bench/kernels.h"
#include "frontend/functional_runner.h"
#include "frontend/ptx/execute/machine.h"

namespace terrace {
namespace {

using namespace bench;

/// Runs one launch again and again.
void measure(benchmark::State& state, const char* text, bool count, const auto& make_launch) {
  GuestMemory memory(PageSize::k4K);
  ptx::Machine machine(ptx::parse_module("bench.ptx", std::string(kHeader) + text), memory);
  const Launch launch = make_launch(memory);
  FunctionalConfig config;
  config.count = count;
  u64 instructions = 0;
  for (auto _ : state) {
    FunctionalRunner runner(machine, config);
    runner.run(launch);
    instructions += runner.counts().warp_instructions;
  }
  state.SetItemsProcessed(static_cast<i64>(instructions));
}

Launch launch_of(const char* kernel, u32 blocks, u32 threads) {
  Launch launch;
  launch.kernel = kernel;
  launch.grid = {blocks, 1, 1};
  launch.block = {threads, 1, 1};
  return launch;
}

void fma_loop(benchmark::State& state) {
  measure(state, kFmaLoop, state.range(0) != 0, [](GuestMemory& memory) {
    const Buffer<float> out(memory, "out", 256);
    return launch_of("fma_loop", 1, 256).argument(out).argument(u32{20000});
  });
}
BENCHMARK(fma_loop)->ArgName("count")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void streaming(benchmark::State& state) {
  measure(state, kStream, state.range(0) != 0, [](GuestMemory& memory) {
    const u32 n = 4 << 20;
    const Buffer<float> a(memory, "a", n), b(memory, "b", n);
    return launch_of("stream", 16, 256).argument(a).argument(b).argument(n);
  });
}
BENCHMARK(streaming)->ArgName("count")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void gups(benchmark::State& state) {
  measure(state, kGups, state.range(0) != 0, [](GuestMemory& memory) {
    const u64 entries = u64{64 << 20} / 8;
    const Buffer<u64> table(memory, "table", entries);
    std::fill(table.write(memory).begin(), table.write(memory).end(), 1);
    return launch_of("gups", 64, 128).argument(table).argument(entries - 1).argument(u32{64});
  });
}
BENCHMARK(gups)->ArgName("count")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace terrace

BENCHMARK_MAIN();
