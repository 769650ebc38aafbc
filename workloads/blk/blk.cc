// BLK: Black-Scholes option pricing. Streams over five arrays; each warp jumps by the whole grid (240 KB at 480 x 128)
// per iteration, so that good cache-line locality comes with many TLB misses.
// SPDX-License-Identifier: MIT
#include "frontend/workload.h"
#include "support/black_scholes.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

constexpr float kRate = 0.02f;
constexpr float kVolatility = 0.30f;

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
    draw_uniform(memory, spot_, p_.seed, "blk.spot", 5, 30);
    draw_uniform(memory, strike_, p_.seed, "blk.strike", 1, 100);
    draw_uniform(memory, years_, p_.seed, "blk.years", 0.25, 10);
    fill_with(memory, call_, 0.0f);
    fill_with(memory, put_, 0.0f);
  }

  u64 launches() const override { return p_.iters; }

  Launch launch(GuestMemory&, u64) override {
    Launch pricing = sliced_launch("blackscholes", {p_.blocks}, {p_.threads}, p_.slice);
    pricing.argument(spot_).argument(strike_).argument(years_).argument(call_).argument(put_);
    pricing.argument(kRate).argument(kVolatility).argument(p_.options);
    launched_threads_ = pricing.blocks() * p_.threads;
    return pricing;
  }
  void archive_host(Archive& a) override { a(launched_threads_); }

  CheckResult check(const GuestMemory& memory) const override {
    NormCheck calls("call", 1e-5), puts("put", 1e-5);
    const auto spot = spot_.read(memory), strike = strike_.read(memory), years = years_.read(memory);
    const auto call = call_.read(memory), put = put_.read(memory);
    const u64 stride = u64{p_.blocks} * p_.threads;
    for (u64 i = 0; i < p_.options; ++i) {
      if (i % stride >= launched_threads_) continue;
      const OptionPrices want = black_scholes(spot[i], strike[i], years[i], kRate, kVolatility);
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
