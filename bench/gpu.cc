// How fast a whole GPU is simulated: dws_30sm with translation that costs nothing, one thread. Median of five:
//   build/release/bench_gpu --benchmark_repetitions=5 --benchmark_report_aggregates_only=true
// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#include "bench/gpu_speed.h"
#include "cli/paths.h"
#include "config/loader.h"

namespace terrace::bench {
namespace {

GpuConfig machine() {
  Layers layers;
  layers.gpu.push_back(find_config(kGpus, "dws_30sm"));
  layers.designs.push_back(find_config(kDesigns, "ideal"));
  return ConfigLoader<GpuConfig>(layers).config();
}

void simulate_kernel(benchmark::State& state, const Kernel* kernel) {
  const GpuConfig config = machine();
  GpuWork all;
  for (auto _ : state) {
    const GpuWork work = run_on_gpu(config, *kernel);
    all.warp_instructions += work.warp_instructions;
    all.line_requests += work.line_requests;
    all.cycles += work.cycles;
  }
  const auto millions = [](u64 count) {
    return benchmark::Counter(static_cast<double>(count) * 1e-6, benchmark::Counter::kIsRate);
  };
  state.counters["Minst/s"] = millions(all.warp_instructions);
  state.counters["Mlines/s"] = millions(all.line_requests);
  state.counters["Mcycles/s"] = millions(all.cycles);
}

}  // namespace
}  // namespace terrace::bench

int main(int argc, char** argv) {
  using namespace terrace::bench;
  for (const Kernel& kernel : kGpuKernels) {
    benchmark::RegisterBenchmark(kernel.name, simulate_kernel, &kernel)->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
