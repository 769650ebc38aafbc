// SCAN: prefix sums by reduce, scan and scan again. 64 blocks stream through as many distant parts of the array, four
// lines an access in the last kernel. Variants: mask (1 MiB, 2,560 times on single precision and as many on double),
// dws (what its bundle of programs has: 32 MiB, twice).
// SPDX-License-Identifier: MIT
#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/float_pass.h"
#include "support/inputs.h"

namespace terrace {
namespace {

constexpr u32 kThreads = 256, kWindow = 4 * kThreads, kKernels = 3;  // as in scan.cu

class PrefixSum final : public LaunchSequence {
 public:
  struct Params : FloatPassParams {
    void describe(Fields& v) override {
      v("kib", kib, in(8, 1 << 22), "size of the array in KiB: whole windows of 1,024 elements for every block");
      v("blocks", blocks, in(1, kThreads), "blocks, each with a contiguous part of the array");
      FloatPassParams::describe(v);
    }
  };

  static void preset(InputSize size, std::string_view variant, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.kib = 32, p.blocks = 4;
        break;
      case InputSize::kTiny:
        p.kib = 6 * 1024;
        break;
      case InputSize::kSmall:
        p.kib = 32 * 1024, p.iters = 2;
        break;
      case InputSize::kPaper:
        if (variant == "dws") {
          p.kib = 32 * 1024, p.iters = 2;
        } else {
          p.iters = 256 * 10, p.element = FloatPass::kBoth;
        }
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) { return 2 * p.bytes() + p.blocks * p.widest_bytes(); }

  explicit PrefixSum(const Params& params) : p_(params) {
    const u64 widest = p_.widest_bytes();
    if (p_.bytes() % (widest * kWindow * p_.blocks))
      input_error("scan: kib ({}) must give every block whole windows: a multiple of {} for {} blocks", p_.kib,
                  widest * kWindow * p_.blocks / 1024, p_.blocks);
    // The sum of n elements 0, 1, 2, 0, ... is about n.
    if (p_.element != FloatPass::kF64 && p_.bytes() / sizeof(float) >= u64{1} << 24)
      input_error("scan: sums over {} KiB of f32 are not exact; choose less than 65536, or element=f64", p_.kib);
  }

  void allocate(GuestMemory& memory) override {
    in_ = Buffer<u8>(memory, "in", p_.bytes());
    out_ = Buffer<u8>(memory, "out", p_.bytes());
    sums_ = Buffer<u8>(memory, "sums", p_.blocks * p_.widest_bytes());
  }

  void fill(GuestMemory& memory) override { fill_pass(memory, 0); }

  u64 launches() const override { return kKernels * p_.passes(); }

  /// The slice cuts the last kernel only: the sums must be complete for its blocks to be right.
  Launch launch(GuestMemory& memory, u64 number) override {
    const u64 pass = number / kKernels;
    if (number == u64{kKernels} * p_.iters) fill_pass(memory, pass);  // from single to double precision
    const std::string type = p_.is_double(pass) ? "_f64" : "_f32";
    const u32 part = static_cast<u32>(p_.bytes() / p_.element_bytes(pass) / p_.blocks);
    if (number % kKernels == 0) {
      Launch reduce = sliced_launch("scan_reduce" + type, {p_.blocks}, {kThreads}, {Fraction::kOne});
      reduce.argument(in_).argument(sums_).argument(part);
      return reduce;
    }
    if (number % kKernels == 1) {
      Launch top = sliced_launch("scan_top" + type, {1}, {kThreads}, {Fraction::kOne});
      top.argument(sums_).argument(p_.blocks);
      return top;
    }
    Launch bottom = sliced_launch("scan_bottom" + type, {p_.blocks}, {kThreads}, p_.slice);
    bottom.argument(in_).argument(out_).argument(sums_).argument(part);
    launched_blocks_ = bottom.blocks();
    return bottom;
  }
  void archive_host(Archive& a) override { a(launched_blocks_); }

  CheckResult check(const GuestMemory& memory) const override {
    return p_.is_double(p_.passes() - 1) ? compare<double>(memory) : compare<float>(memory);
  }

 private:
  void fill_pass(GuestMemory& memory, u64 pass) const {
    fill_pass_input(memory, in_, p_.is_double(pass));
    fill_with(memory, out_, u8{0});
    fill_with(memory, sums_, u8{0});
  }
  template <class T>
  CheckResult compare(const GuestMemory& memory) const {
    const auto got = elements_of<T>(out_.read(memory));
    const u64 launched = got.size() / p_.blocks * launched_blocks_;
    RelativeCheck comparison("out", 0);
    double sum = 0;
    for (u64 i = 0; i < got.size(); ++i) {
      comparison.compare(i, static_cast<double>(got[i]), i < launched ? sum : 0);
      sum += static_cast<double>(i % 3);
    }
    return comparison.result();
  }

  Params p_;
  Buffer<u8> in_, out_, sums_;
  u64 launched_blocks_ = 0;
};

const RegisterWorkload<PrefixSum> kRegistered{{
    .name = "scan",
    .purpose = "prefix sums: blocks stream through distant parts of an array, four lines an access",
    .origin = "SHOC Scan",
    .papers = "MASK",
    .module = "scan",
    .variants = {"mask", "dws"},
}};

}  // namespace
}  // namespace terrace
