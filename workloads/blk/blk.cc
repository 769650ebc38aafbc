// BLK: Black-Scholes option pricing. Streams over five arrays; each warp jumps by the whole grid (240 KB at 480 x 128)
// per iteration, so that good cache-line locality comes with many TLB misses.
// SPDX-License-Identifier: MIT
#include <cmath>

#include "engine/rng.h"
#include "frontend/workload.h"
#include "support/checks.h"

namespace terrace {
namespace {

constexpr float kRate = 0.02f;
constexpr float kVolatility = 0.30f;

struct Prices {
  double call, put;
};

double cumulative_normal(double d) {
  const double k = 1 / (1 + 0.2316419 * std::fabs(d));
  const double tail = 0.398942280401432678 * std::exp(-0.5 * d * d) * k *
                      (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
  return d > 0 ? 1 - tail : tail;
}

Prices reference(double spot, double strike, double years) {
  const double rate = kRate, volatility = kVolatility;
  const double spread = volatility * std::sqrt(years);
  const double d1 = (std::log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread;
  const double n1 = cumulative_normal(d1), n2 = cumulative_normal(d1 - spread);
  const double discounted = strike * std::exp(-rate * years);
  return {spot * n1 - discounted * n2, discounted * (1 - n2) - spot * (1 - n1)};
}

class BlackScholes final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 options = 400'000;
    u32 blocks = 480;
    u32 threads = 128;

    void describe(Fields& v) override {
      v("options", options, in(1, 1 << 30), "options to price");
      v("blocks", blocks, in(1, 1 << 20), "blocks in the grid; with threads it sets the stride of the loop");
      v("threads", threads, in(1, 1024), "threads in a block");
      WorkloadParams::describe(v);
    }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    switch (size) {
      case InputSize::kMini:  // a smaller grid: that of the papers alone costs more than a mini run may
        p.options = 4000;
        p.blocks = 16;
        break;
      case InputSize::kTiny:
        p.options = 400'000;
        break;
      case InputSize::kSmall:
        p.options = 2'000'000, p.iters = 2;
        break;
      case InputSize::kPaper:
        p.options = 2'000'000;
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) { return u64{p.options} * 5 * sizeof(float); }

  explicit BlackScholes(const Params& params) : p_(params) {}

  void allocate(GuestMemory& memory) override {
    spot_ = Buffer<float>(memory, "spot", p_.options);
    strike_ = Buffer<float>(memory, "strike", p_.options);
    years_ = Buffer<float>(memory, "years", p_.options);
    call_ = Buffer<float>(memory, "call", p_.options);
    put_ = Buffer<float>(memory, "put", p_.options);
  }

  void fill(GuestMemory& memory) override {
    const auto draw = [&](const Buffer<float>& buffer, std::string_view stream, double low, double high) {
      Rng rng(p_.seed, stream);
      for (float& value : buffer.write(memory)) value = static_cast<float>(rng.uniform(low, high));
    };
    draw(spot_, "blk.spot", 5, 30);
    draw(strike_, "blk.strike", 1, 100);
    draw(years_, "blk.years", 0.25, 10);
    for (const auto* output : {&call_, &put_}) {
      for (float& value : output->write(memory)) value = 0;
    }
  }

  u64 launches() const override { return p_.iters; }

  Launch launch(GuestMemory&, u64) override {
    Launch pricing = sliced_launch("blackscholes", {p_.blocks}, {p_.threads}, p_.slice);
    pricing.argument(spot_).argument(strike_).argument(years_).argument(call_).argument(put_);
    pricing.argument(kRate).argument(kVolatility).argument(p_.options);
    launched_threads_ = pricing.blocks() * p_.threads;
    return pricing;
  }

  CheckResult check(const GuestMemory& memory) const override {
    NormCheck calls("call", 1e-5), puts("put", 1e-5);
    const auto spot = spot_.read(memory), strike = strike_.read(memory), years = years_.read(memory);
    const auto call = call_.read(memory), put = put_.read(memory);
    const u64 stride = u64{p_.blocks} * p_.threads;
    for (u64 i = 0; i < p_.options; ++i) {
      if (i % stride >= launched_threads_) continue;
      const Prices want = reference(spot[i], strike[i], years[i]);
      calls.compare(call[i], want.call);
      puts.compare(put[i], want.put);
    }
    return both(calls.result(), puts.result());
  }

 private:
  Params p_;
  Buffer<float> spot_, strike_, years_, call_, put_;
  u64 launched_threads_ = 0;
};

const RegisterWorkload<BlackScholes> kRegistered{{
    .name = "blk",
    .purpose = "Black-Scholes option pricing: streaming with a page jump per iteration",
    .origin = "CUDA SDK BlackScholes",
    .papers = "MASK, DWS",
    .module = "blk",
    .variants = {"mask", "dws"},
}};

}  // namespace
}  // namespace terrace
