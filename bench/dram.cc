// What a memory channel costs the host: nanoseconds per line, with its queues kept full by two sources, for random
// rows, for streams of row hits and for reads mixed with writes.
//   build/release/bench_dram
// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "dram/channel.h"
#include "engine/rng.h"

namespace terrace {
namespace {

enum class Traffic : u8 { kRandom, kStream, kMixed };

/// Keeps its link to the channel full and swallows replies; addresses are made beforehand.
class Source final : public Unit {
 public:
  Source(Scheduler& scheduler, const std::vector<DramRequest>& requests)
      : to(scheduler, {.rate = 1, .latency = 2, .capacity = 8}),
        back(scheduler, {.rate = 1, .latency = 2, .capacity = 8}),
        requests_(requests) {}

  Cycle tick(Cycle now) override {
    while (back.front(now) != nullptr) {
      back.pop(now);
      ++replies;
    }
    if (!to.can_push(now)) return kNever;
    to.push(now, requests_[sent_++ % requests_.size()]);
    return now + 1;
  }
  void explain(std::ostream&) const override {}

  Link<DramRequest> to;
  Link<DramReply> back;
  u64 replies = 0;

 private:
  const std::vector<DramRequest>& requests_;
  u64 sent_ = 0;
};

std::vector<DramRequest> make(Traffic traffic, const AddressMap& map, u32 source) {
  Rng rng(source + 1, "bench.dram");
  std::vector<DramRequest> requests(1 << 14);
  for (u32 i = 0; i < requests.size(); ++i) {
    DramPlace place;
    if (traffic == Traffic::kStream) {
      place = {0, (i / 16 + source * 8) % 16, 2 * (i / 256) + source, i % 16 * 128};
    } else {
      place = {0, static_cast<u32>(rng.below(16)), static_cast<u32>(rng.below(1 << 14)),
               static_cast<u32>(rng.below(16)) * 128};
    }
    requests[i].line = map.address(place);
    requests[i].tenant = TenantId(source);
    requests[i].write = traffic == Traffic::kMixed && rng.below(3) == 0;
  }
  return requests;
}

void channel(benchmark::State& state, Traffic traffic, DramStandardName standard, const char* policy) {
  DramConfig config;
  config.standard = standard;
  config.scheduler.use = policy;
  if (standard == DramStandardName::kGddr5) config.clock_mhz = 1674;
  Scheduler scheduler;
  Channel unit(config, {.core_mhz = 1020, .line_bytes = 128, .tenants = 2});
  const UnitId id = scheduler.add(unit, "channel");
  std::vector<std::vector<DramRequest>> requests;
  for (u32 i = 0; i < 2; ++i) requests.push_back(make(traffic, unit.map(), i));
  std::vector<std::unique_ptr<Source>> sources;
  for (u32 i = 0; i < 2; ++i) {
    sources.push_back(std::make_unique<Source>(scheduler, requests[i]));
    const UnitId source = scheduler.add(*sources[i], "source");
    sources[i]->to.connect(source, id);
    sources[i]->back.connect(id, source);
    unit.connect(sources[i]->to, sources[i]->back);
  }
  Cycle until = 0;
  for (auto _ : state) scheduler.run(until += 10'000);
  u64 lines = 0, cycles = 0;
  for (const TenantId tenant : {TenantId(0), TenantId(1)}) {
    const DramTrafficStats& data = unit.stats.data;
    lines += data.row_hits[tenant].value + data.row_misses[tenant].value + data.row_conflicts[tenant].value;
    cycles += data.bus_cycles[tenant].value;
  }
  const ClockDomain clock(config.resolved().clock_mhz, 1020);
  const auto count = static_cast<double>(lines);
  state.counters["ns_per_line"] =
      benchmark::Counter(count * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["lines/s"] = benchmark::Counter(count, benchmark::Counter::kIsRate);
  state.counters["bus"] = static_cast<double>(cycles) / static_cast<double>(clock.local(until));
  state.counters["ticks_per_line"] = static_cast<double>(scheduler.ticks()) / count;
}

BENCHMARK_CAPTURE(channel, gddr5_random, Traffic::kRandom, DramStandardName::kGddr5, "frfcfs");
BENCHMARK_CAPTURE(channel, gddr5_stream, Traffic::kStream, DramStandardName::kGddr5, "frfcfs");
BENCHMARK_CAPTURE(channel, gddr5_mixed, Traffic::kMixed, DramStandardName::kGddr5, "frfcfs");
BENCHMARK_CAPTURE(channel, gddr5_random_fcfs, Traffic::kRandom, DramStandardName::kGddr5, "fcfs");
BENCHMARK_CAPTURE(channel, ddr3_random, Traffic::kRandom, DramStandardName::kDdr3, "frfcfs");
BENCHMARK_CAPTURE(channel, hbm2_random, Traffic::kRandom, DramStandardName::kHbm2, "frfcfs");
BENCHMARK_CAPTURE(channel, hbm2_stream, Traffic::kStream, DramStandardName::kHbm2, "frfcfs");

}  // namespace
}  // namespace terrace

BENCHMARK_MAIN();
