// How fast a whole GPU is simulated: dws_30sm with translation that costs nothing, one thread. Median of five:
//   build/release/bench_gpu --benchmark_repetitions=5 --benchmark_report_aggregates_only=true
// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#include "bench/gpu_speed.h"
#include "cli/paths.h"
#include "config/loader.h"

namespace terrace::bench {
namespace {

GpuConfig machine(const std::string& design) {
  Layers layers;
  layers.gpu.push_back(find_config(kGpus, "dws_30sm"));
  layers.designs.push_back(find_config(kDesigns, design));
  return ConfigLoader<GpuConfig>(layers).config();
}

void simulate_kernel(benchmark::State& state, const Kernel* kernel, const char* design) {
  const GpuConfig config = machine(design);
  GpuWork all;
  for (auto _ : state) {
    const GpuWork work = run_on_gpu(config, *kernel);
    all.warp_instructions += work.warp_instructions;
    all.line_requests += work.line_requests;
    all.cycles += work.cycles;
    all.ticks += work.ticks;
  }
  const auto millions = [](u64 count) {
    return benchmark::Counter(static_cast<double>(count) * 1e-6, benchmark::Counter::kIsRate);
  };
  state.counters["Minst/s"] = millions(all.warp_instructions);
  state.counters["Mlines/s"] = millions(all.line_requests);
  state.counters["Mcycles/s"] = millions(all.cycles);
  state.counters["ticks/cycle"] = static_cast<double>(all.ticks) / static_cast<double>(all.cycles);
}

}  // namespace
}  // namespace terrace::bench

int main(int argc, char** argv) {
  using namespace terrace::bench;
  for (const char* design : {"ideal", "baseline"}) {
    for (const Kernel& kernel : kGpuKernels) {
      benchmark::RegisterBenchmark((std::string(kernel.name) + "/" + design).c_str(), simulate_kernel, &kernel, design)
          ->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
