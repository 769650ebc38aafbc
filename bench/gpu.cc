// How fast a whole GPU is simulated, on one thread: dws_30sm and two larger machines of bench/machines, with translation
// that costs nothing and with TLBs and page walks; and vc_16cu with physical and with virtual caches. Each SM has as much
// to do on all of them. Median of five:
//   build/release/bench_gpu --benchmark_repetitions=5 --benchmark_report_aggregates_only=true --benchmark_filter=30sm
// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "bench/gpu_speed.h"
#include "cli/paths.h"
#include "config/loader.h"

namespace terrace::bench {
namespace {

GpuConfig load_machine(const std::string& machine, const std::string& design) {
  Layers layers;
  const bool own = machine.starts_with("bench_");
  layers.gpu.push_back(find_config(kGpus, own ? data_root() + "/bench/machines/" + machine + ".toml" : machine));
  layers.designs.push_back(find_config(kDesigns, design));
  return ConfigLoader<GpuConfig>(layers).config();
}

void simulate_kernel(benchmark::State& state, const Kernel* kernel, const char* design, const char* machine) {
  const GpuConfig config = load_machine(machine, design);
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
  struct Rows {
    const char* machine;
    std::vector<const char*> designs;
  };
  for (const auto& [machine, designs] :
       {Rows{"dws_30sm", {"ideal", "baseline"}}, Rows{"bench_80sm", {"ideal", "baseline"}},
        Rows{"bench_132sm", {"ideal", "baseline"}},
        // What a line request costs: caches that are physical, virtual in part, and virtual.
        Rows{"vc_16cu", {"baseline_16k", "l1_vc_32", "vc_opt"}}}) {
    for (const char* design : designs) {
      for (const Kernel& kernel : kGpuKernels) {
        const std::string name = std::string(kernel.name) + "/" + design + "/" + machine;
        benchmark::RegisterBenchmark(name.c_str(), simulate_kernel, &kernel, design, machine)
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
