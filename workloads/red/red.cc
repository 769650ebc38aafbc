// RED: sums of an array, over and over: 64 blocks, coalesced, no page twice in a launch. Variant: mask (1 MiB, 2,560
// launches on single precision and as many on double).
// SPDX-License-Identifier: MIT
#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/float_pass.h"
#include "support/inputs.h"

namespace terrace {
namespace {

constexpr u32 kThreads = 256;  // as in red.cu

class Reduction final : public LaunchSequence {
 public:
  struct Params : FloatPassParams {
    void describe(Fields& v) override {
      v("kib", kib, in(4, 1 << 22), "size of the array in KiB, a multiple of 4");
      v("blocks", blocks, in(1, 4096), "blocks");
      FloatPassParams::describe(v);
    }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.kib = 64, p.blocks = 8;
        break;
      case InputSize::kTiny:
        p.kib = 16 * 1024;
        break;
      case InputSize::kSmall:
        p.kib = 32 * 1024, p.iters = 8;
        break;
      case InputSize::kPaper:
        p.iters = 256 * 10, p.element = FloatPass::kBoth;
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) { return p.bytes() + p.blocks * p.widest_bytes(); }

  explicit Reduction(const Params& params) : p_(params) {
    if (p_.kib % 4) input_error("red: kib ({}) must be a multiple of 4", p_.kib);
  }

  void allocate(GuestMemory& memory) override {
    in_ = Buffer<u8>(memory, "in", p_.bytes());
    out_ = Buffer<u8>(memory, "out", p_.blocks * p_.widest_bytes());
  }

  void fill(GuestMemory& memory) override { start_type(memory, 0); }

  u64 launches() const override { return p_.passes(); }

  Launch launch(GuestMemory& memory, u64 number) override {
    if (number == p_.iters) start_type(memory, number);  // from single to double precision
    const bool f64 = p_.is_double(number);
    Launch sum = sliced_launch(f64 ? "reduce_f64" : "reduce_f32", {p_.blocks}, {kThreads}, p_.slice);
    sum.argument(in_).argument(out_).argument(static_cast<u32>(p_.bytes() / p_.element_bytes(number)));
    launched_blocks_ = sum.blocks();
    return sum;
  }
  void archive_host(Archive& a) override { a(launched_blocks_); }

  CheckResult check(const GuestMemory& memory) const override {
    return p_.is_double(launches() - 1) ? compare<double>(memory) : compare<float>(memory);
  }

 private:
  void start_type(GuestMemory& memory, u64 pass) const {
    fill_pass_input(memory, in_, p_.is_double(pass));
    fill_with(memory, out_, u8{0});
  }
  template <class T>
  CheckResult compare(const GuestMemory& memory) const {
    const u64 count = p_.bytes() / sizeof(T);
    std::vector<double> want(p_.blocks, 0.0);
    for (u64 i = 0; i < count; ++i) want[i / (2 * kThreads) % p_.blocks] += static_cast<double>(i % 3);
    const auto got = elements_of<T>(out_.read(memory));
    RelativeCheck comparison("out", 0);
    for (u64 i = 0; i < p_.blocks; ++i)
      comparison.compare(i, static_cast<double>(got[i]), i < launched_blocks_ ? want[i] : 0);
    return comparison.result();
  }

  Params p_;
  Buffer<u8> in_, out_;
  u64 launched_blocks_ = 0;
};

const RegisterWorkload<Reduction> kRegistered{{
    .name = "red",
    .purpose = "sum of an array: coalesced reads, a tree in shared memory",
    .origin = "SHOC Reduction",
    .papers = "MASK",
    .module = "red",
    .variants = {"mask"},
}};

}  // namespace
}  // namespace terrace
