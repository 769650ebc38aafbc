// MERGE: a stable merge sort of keys with values. Runs are sorted in shared memory; stages then double their length.
// Shared memory and searches bound it. Variant: cd (4 Mi keys).
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <numeric>

#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

constexpr u32 kMostRun = 1024, kSample = 128;  // as in merge.cu
constexpr u32 kSampleThreads = 256;
constexpr u32 kMostKey = 65'536;     // keys are below
constexpr u32 kLaunchesOfStage = 4;  // samples, their order in either run, pieces

class MergeSort final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 keys = 1 << 22;
    u32 run = kMostRun;
    u32 stages = 0;

    void describe(Fields& v) override {
      v("keys", keys, in(2 * kSample, 1 << 28), "keys to sort, a power of two");
      v("run", run, in(kSample, kMostRun), "keys that a block sorts in shared memory, a power of two");
      v("stages", stages, in(0, 24), "times that pairs of runs are merged at most; 0: until one is left");
      WorkloadParams::describe(v);
    }
    u32 doublings() const {
      const u32 all = static_cast<u32>(std::countr_zero(keys / run));
      return stages ? std::min(stages, all) : all;
    }
    u32 last_run() const { return run << doublings(); }
    u64 samples() const { return keys / kSample; }
  };

  static void preset(InputSize size, std::string_view variant, Params& p) {
    const auto shape = [&p](u32 keys, u32 run, u32 stages) { p.keys = keys, p.run = run, p.stages = stages; };
    switch (size) {
      case InputSize::kMini:
        return shape(512, 128, 1);
      case InputSize::kTiny:  // cd: eight blocks for each of 24 SMs
        return variant == "cd" ? shape(1 << 15, 128, 2) : shape(1 << 15, kMostRun, 1);
      case InputSize::kSmall:
        return shape(1 << 18, kMostRun, 2);
      case InputSize::kPaper:
        return;
    }
  }
  static u64 footprint_bytes(const Params& p) { return (6 * u64{p.keys} + 4 * p.samples()) * sizeof(u32); }

  explicit MergeSort(const Params& params) : p_(params) {
    if (!std::has_single_bit(p_.keys) || !std::has_single_bit(p_.run) || p_.run > p_.keys)
      input_error("merge: keys ({}) and run ({}) must be powers of two, and run not above keys", p_.keys, p_.run);
  }

  void allocate(GuestMemory& memory) override {
    constexpr std::string_view kKeys[] = {"keys", "keys_a", "keys_b"}, kValues[] = {"values", "values_a", "values_b"};
    constexpr std::string_view kPlaces[] = {"places_a", "places_b"}, kLimits[] = {"limits_a", "limits_b"};
    for (u32 i = 0; i < 3; ++i) keys_[i] = Buffer<u32>(memory, kKeys[i], p_.keys);
    for (u32 i = 0; i < 3; ++i) values_[i] = Buffer<u32>(memory, kValues[i], p_.keys);
    for (u32 i = 0; i < 2; ++i) places_[i] = Buffer<u32>(memory, kPlaces[i], p_.samples());
    for (u32 i = 0; i < 2; ++i) limits_[i] = Buffer<u32>(memory, kLimits[i], p_.samples());
  }

  void fill(GuestMemory& memory) override {
    Rng rng(p_.seed, "merge.keys");
    for (u32& key : keys_[0].write(memory)) key = static_cast<u32>(rng.below(kMostKey));
    const auto values = values_[0].write(memory);
    std::iota(values.begin(), values.end(), 0u);
    for (u32 i = 1; i < 3; ++i) fill_with(memory, keys_[i], 0u), fill_with(memory, values_[i], 0u);
    for (u32 i = 0; i < 2; ++i) fill_with(memory, places_[i], 0u), fill_with(memory, limits_[i], 0u);
  }

  u64 launches() const override { return u64{p_.iters} * launches_each(); }

  Launch launch(GuestMemory&, u64 number) override {
    const u32 within = static_cast<u32>(number % launches_each());
    if (within == 0) {
      Launch sort = part("sort_shared", p_.run, p_.run / 2);
      return sort.argument(keys_[0]).argument(values_[0]).argument(keys_[1]).argument(values_[1]).argument(p_.run);
    }
    const u32 stage = (within - 1) / kLaunchesOfStage, from = 1 + stage % 2, to = 3 - from, run = p_.run << stage;
    const u32 samples = static_cast<u32>(launched_keys() / kSample);
    if ((within - 1) % kLaunchesOfStage == 0) {
      Launch ranks = whole("sample_ranks", samples);
      return ranks.argument(keys_[from]).argument(places_[0]).argument(places_[1]).argument(run).argument(samples);
    }
    if (const u32 side = (within - 1) % kLaunchesOfStage - 1; side < 2) {
      Launch order = whole("merge_ranks", samples);
      return order.argument(places_[side]).argument(limits_[side]).argument(run).argument(samples);
    }
    Launch pieces = part("merge_intervals", kSample, kSample);
    pieces.argument(keys_[from]).argument(values_[from]).argument(limits_[0]).argument(limits_[1]);
    return pieces.argument(keys_[to]).argument(values_[to]).argument(run);
  }

  CheckResult check(const GuestMemory& memory) const override {
    const auto keys = keys_[0].read(memory);
    std::vector<u32> order(p_.keys);
    std::iota(order.begin(), order.end(), 0u);
    for (u64 first = 0; first < launched_keys(); first += p_.last_run()) {
      const auto run = std::span(order).subspan(first, p_.last_run());
      std::stable_sort(run.begin(), run.end(), [&](u32 a, u32 b) { return keys[a] < keys[b]; });
    }
    const u32 last = 1 + p_.doublings() % 2;
    const auto got_keys = keys_[last].read(memory), got_values = values_[last].read(memory);
    ExactCheck of_keys("keys"), of_values("values");
    for (u64 i = 0; i < p_.keys; ++i) {
      const bool launched = i < launched_keys();
      of_keys.compare(i, got_keys[i], launched ? keys[order[i]] : 0);
      of_values.compare(i, got_values[i], launched ? order[i] : 0);
    }
    return both(of_keys.result(), of_values.result());
  }

 private:
  u64 launches_each() const { return 1 + u64{p_.doublings()} * kLaunchesOfStage; }
  /// A slice takes whole runs of the last stage: a stage needs all of the one before it.
  u64 launched_keys() const {
    return sliced_launch("", {p_.keys / p_.last_run()}, {1}, p_.slice).blocks() * p_.last_run();
  }
  Launch part(std::string_view kernel, u32 keys_of_block, u32 threads) const {
    Launch launch = sliced_launch(std::string(kernel), {p_.keys / keys_of_block}, {threads}, {Fraction::kOne});
    launch.block_limit = launched_keys() / keys_of_block;
    return launch;
  }
  static Launch whole(std::string_view kernel, u32 threads) {
    return sliced_launch(std::string(kernel), {blocks_of(threads, kSampleThreads)}, {kSampleThreads}, {Fraction::kOne});
  }

  Params p_;
  Buffer<u32> keys_[3], values_[3];  // the input, and two that take turns
  Buffer<u32> places_[2], limits_[2];
};

const RegisterWorkload<MergeSort> kRegistered{{
    .name = "merge",
    .purpose = "merge sort: searches in shared memory and between runs, compute-bound",
    .origin = "CUDA SDK mergeSort",
    .papers = "CD",
    .module = "merge",
    .variants = {"cd"},
}};

}  // namespace
}  // namespace terrace
