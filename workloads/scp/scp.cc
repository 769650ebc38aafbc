// SCP: scalar products of pairs of vectors, each element of which is read once: every page is touched by one block and
// never again. Variant: mask (256 pairs of 4,096).
// SPDX-License-Identifier: MIT
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

constexpr u32 kThreads = 256;

class ScalarProducts final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 vectors = 256;
    u32 elements = 4096;
    u32 blocks = 128;

    void describe(Fields& v) override {
      v("vectors", vectors, in(1, 1 << 20), "pairs of vectors");
      v("elements", elements, in(1, 1 << 20), "elements of a vector");
      v("blocks", blocks, in(1, 1 << 20), "blocks; each takes pairs that many apart");
      WorkloadParams::describe(v);
    }
    u64 all_elements() const { return u64{vectors} * elements; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    if (size == InputSize::kMini) p.vectors = 6, p.blocks = 4;
    if (size == InputSize::kTiny) p.vectors = 512;
    if (size == InputSize::kSmall) p.vectors = 4096;
  }
  static u64 footprint_bytes(const Params& p) { return (2 * p.all_elements() + p.vectors) * sizeof(float); }

  explicit ScalarProducts(const Params& params) : p_(params) {}

  void allocate(GuestMemory& memory) override {
    a_ = Buffer<float>(memory, "a", p_.all_elements());
    b_ = Buffer<float>(memory, "b", p_.all_elements());
    products_ = Buffer<float>(memory, "products", p_.vectors);
  }

  void fill(GuestMemory& memory) override {
    draw_uniform(memory, a_, p_.seed, "scp.a", 0, 1);
    draw_uniform(memory, b_, p_.seed, "scp.b", 0, 1);
    fill_with(memory, products_, 0.0f);
  }

  u64 launches() const override { return p_.iters; }

  Launch launch(GuestMemory&, u64) override {
    Launch pairs = sliced_launch("scalar_products", {p_.blocks}, {kThreads}, p_.slice);
    pairs.argument(a_).argument(b_).argument(products_).argument(p_.vectors).argument(p_.elements);
    launched_blocks_ = pairs.blocks();
    return pairs;
  }
  void archive_host(Archive& a) override { a(launched_blocks_); }

  CheckResult check(const GuestMemory& memory) const override {
    const auto a = a_.read(memory), b = b_.read(memory), products = products_.read(memory);
    RelativeCheck comparison("products", 1e-5);
    for (u64 vector = 0; vector < p_.vectors; ++vector) {
      double sum = 0;
      for (u64 i = vector * p_.elements; i < (vector + 1) * p_.elements; ++i) sum += double{a[i]} * double{b[i]};
      comparison.compare(vector, products[vector], vector % p_.blocks < launched_blocks_ ? sum : 0);
    }
    return comparison.result();
  }

 private:
  Params p_;
  Buffer<float> a_, b_, products_;
  u64 launched_blocks_ = 0;
};

const RegisterWorkload<ScalarProducts> kRegistered{{
    .name = "scp",
    .purpose = "scalar products of many vectors: every page is used once",
    .origin = "CUDA SDK scalarProd",
    .papers = "MASK",
    .module = "scp",
    .variants = {"mask"},
}};

}  // namespace
}  // namespace terrace
