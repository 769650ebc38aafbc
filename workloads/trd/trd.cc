// TRD: STREAM's triad on vectors of growing length: three streams of coalesced accesses. Variant: mask (64 KiB to
// 16 MiB a vector, two sets of vectors in turn, ten passes).
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

constexpr u32 kThreads = 128;
constexpr float kFactor = 1.75f;

class Triad final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 kib = 16 * 1024;
    u32 first_kib = 16 * 1024;
    u32 sets = 1;

    void describe(Fields& v) override {
      v("kib", kib, in(1, 1 << 21), "size of the longest vectors in KiB");
      v("first_kib", first_kib, in(1, 1 << 21), "size of the first launch's vectors; each launch doubles it");
      v("sets", sets, in(1, 2), "sets of three vectors that the launches use in turn");
      WorkloadParams::describe(v);
    }
    u64 elements() const { return u64{kib} * 1024 / sizeof(float); }

   protected:
    std::string_view iters_doc() const override { return "passes over all lengths"; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.kib = 32, p.first_kib = 16, p.sets = 2;
        break;
      case InputSize::kTiny:
        p.kib = p.first_kib = 6 * 1024;
        break;
      case InputSize::kSmall:
        p.iters = 4;
        break;
      case InputSize::kPaper:
        p.first_kib = 64, p.sets = 2, p.iters = 10;
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) { return 3 * u64{p.sets} * p.elements() * sizeof(float); }

  explicit Triad(const Params& params) : p_(params) {
    if (p_.first_kib > p_.kib) input_error("trd: first_kib ({}) is more than kib ({})", p_.first_kib, p_.kib);
    for (u64 kib = p_.first_kib; kib <= p_.kib; kib *= 2) lengths_.push_back(kib * 1024 / sizeof(float));
  }

  void allocate(GuestMemory& memory) override {
    for (u32 i = 0; i < p_.sets; ++i) {
      a_[i] = Buffer<float>(memory, i ? "a1" : "a", p_.elements());
      b_[i] = Buffer<float>(memory, i ? "b1" : "b", p_.elements());
      c_[i] = Buffer<float>(memory, i ? "c1" : "c", p_.elements());
    }
  }

  /// Sixteenths below 256: sums and products are exact, with a rounding between them or without.
  void fill(GuestMemory& memory) override {
    for (u32 i = 0; i < p_.sets; ++i) {
      Rng rng(p_.seed, i ? "trd.second" : "trd.first");
      const auto draw = [&](const Buffer<float>& buffer) {
        for (float& value : buffer.write(memory)) value = static_cast<float>(rng.below(4096)) / 16;
      };
      draw(a_[i]);
      draw(b_[i]);
      fill_with(memory, c_[i], 0.0f);
    }
    std::fill_n(launched_, 2, 0);
  }

  u64 launches() const override { return lengths_.size() * p_.iters; }

  Launch launch(GuestMemory&, u64 number) override {
    const u64 set = number % p_.sets, length = lengths_[number % lengths_.size()];
    Launch triad = sliced_launch("triad", {static_cast<u32>(blocks_of(length, u64{kThreads}))}, {kThreads}, p_.slice);
    triad.argument(a_[set]).argument(b_[set]).argument(c_[set]).argument(kFactor).argument(static_cast<u32>(length));
    launched_[set] = std::max(launched_[set], std::min(length, triad.blocks() * kThreads));
    return triad;
  }
  void archive_host(Archive& a) override { a(launched_); }

  CheckResult check(const GuestMemory& memory) const override {
    CheckResult result = compare(memory, 0);
    return p_.sets == 1 || launches() == 1 ? result : both(result, compare(memory, 1));
  }

 private:
  CheckResult compare(const GuestMemory& memory, u64 set) const {
    const auto a = a_[set].read(memory), b = b_[set].read(memory), c = c_[set].read(memory);
    RelativeCheck comparison(set ? "c1" : "c", 0);
    for (u64 i = 0; i < c.size(); ++i)
      comparison.compare(i, c[i], i < launched_[set] ? double{a[i]} + double{kFactor} * double{b[i]} : 0);
    return comparison.result();
  }

  Params p_;
  std::vector<u64> lengths_;
  Buffer<float> a_[2], b_[2], c_[2];
  u64 launched_[2] = {};  // elements
};

const RegisterWorkload<Triad> kRegistered{{
    .name = "trd",
    .purpose = "STREAM triad: three coalesced streams, nothing else",
    .origin = "SHOC Triad",
    .papers = "MASK",
    .module = "trd",
    .variants = {"mask"},
}};

}  // namespace
}  // namespace terrace
