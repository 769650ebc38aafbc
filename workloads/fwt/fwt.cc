// FWT: dyadic convolution by fast Walsh transforms of data and kernel. Each thread of a global pass has four elements up
// to a quarter of the array apart. Variant: mask (2^23 elements and a kernel of 2^7).
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

constexpr u32 kPassThreads = 256, kMostMultiplyBlocks = 128, kMultiplyThreads = 256;
constexpr u64 kCheckedElements = 1 << 19;  // of larger arrays so many are recomputed, evenly spread

class WalshTransform final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 log2 = 23;
    u32 kernel_log2 = 7;
    u32 block_log2 = 11;

    void describe(Fields& v) override {
      v("log2", log2, in(4, 28), "logarithm of the number of elements");
      v("kernel_log2", kernel_log2, in(0, 12), "logarithm of the kernel's length before it is padded with zeros");
      v("block_log2", block_log2, in(4, 12), "logarithm of the longest transform inside a block");
      WorkloadParams::describe(v);
    }
    u64 elements() const { return u64{1} << log2; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.log2 = 10, p.kernel_log2 = 4, p.block_log2 = 9;
        break;
      case InputSize::kTiny:
        p.log2 = 16;
        break;
      case InputSize::kSmall:
        p.log2 = 20;
        break;
      case InputSize::kPaper:
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) { return 2 * p.elements() * sizeof(float); }

  explicit WalshTransform(const Params& params) : p_(params) {
    if (p_.kernel_log2 > p_.log2) input_error("fwt: kernel_log2 ({}) is more than log2 ({})", p_.kernel_log2, p_.log2);
    add_transform(false);
    add_transform(true);
    steps_.push_back({Step::kMultiply, true, 0});
    add_transform(true);
  }

  void allocate(GuestMemory& memory) override {
    data_ = Buffer<float>(memory, "data", p_.elements());
    kernel_ = Buffer<float>(memory, "kernel", p_.elements());
  }

  void fill(GuestMemory& memory) override {
    draw(memory);
    const auto data = data_.read(memory), kernel = kernel_.read(memory);
    first_data_.assign(data.begin(), data.end());
    first_kernel_.assign(kernel.begin(), kernel.end());
  }

  u64 launches() const override { return steps_.size() * p_.iters; }

  /// The transforms are in place: each repetition starts from the input again.
  Launch launch(GuestMemory& memory, u64 number) override {
    if (number > 0 && number % steps_.size() == 0) draw(memory);
    const Step& step = steps_[number % steps_.size()];
    Launch call = shape(step);
    call.argument(step.on_data ? data_ : kernel_);
    if (step.kind == Step::kMultiply) {
      call.argument(kernel_).argument(1 / static_cast<float>(p_.elements())).argument(static_cast<u32>(p_.elements()));
    } else {
      call.argument(step.kind == Step::kPass ? u32{1} << (step.log2 - 2) : step.log2);
    }
    return call;
  }

  CheckResult check(const GuestMemory& memory) const override {
    const auto got = data_.read(memory);
    const bool whole = p_.slice.millionths == Fraction::kOne;
    const std::vector<double> sliced = whole ? std::vector<double>{} : same_steps();
    double greatest = 0;
    for (const double value : sliced) greatest = std::max(greatest, std::abs(value));
    RelativeCheck comparison("data", 1e-3, greatest / 10);
    const u64 stride = std::max(u64{1}, p_.elements() / kCheckedElements);
    for (u64 i = 0; i < p_.elements(); i += stride) comparison.compare(i, got[i], whole ? convolved(i) : sliced[i]);
    return comparison.result();
  }

 private:
  struct Step {
    enum Kind : u8 { kPass, kBlock, kMultiply } kind;
    bool on_data;
    u32 log2;  // of the transforms' length
  };

  void add_transform(bool on_data) {
    u32 left = p_.log2;
    for (; left > p_.block_log2; left -= 2) steps_.push_back({Step::kPass, on_data, left});
    steps_.push_back({Step::kBlock, on_data, left});
  }
  u32 multiply_blocks() const {
    return std::min(kMostMultiplyBlocks, static_cast<u32>(blocks_of(p_.elements(), u64{kMultiplyThreads})));
  }
  Launch shape(const Step& step) const {
    const u32 elements = static_cast<u32>(p_.elements());
    if (step.kind == Step::kMultiply)
      return sliced_launch("fwt_multiply", {multiply_blocks()}, {kMultiplyThreads}, p_.slice);
    if (step.kind == Step::kPass) {
      const u32 threads = std::min(kPassThreads, elements / 4);
      return sliced_launch("fwt_pass", {elements / 4 / threads}, {threads}, p_.slice);
    }
    Launch block = sliced_launch("fwt_block", {elements >> step.log2}, {u32{1} << (step.log2 - 2)}, p_.slice);
    block.dynamic_shared_bytes = (1u << step.log2) * sizeof(float);
    return block;
  }
  void draw(GuestMemory& memory) const {
    draw_uniform(memory, data_, p_.seed, "fwt.data", 0, 1);
    fill_with(memory, kernel_, 0.0f);
    Rng rng(p_.seed, "fwt.kernel");
    const auto kernel = kernel_.write(memory);
    for (u64 i = 0; i < u64{1} << p_.kernel_log2; ++i) kernel[i] = static_cast<float>(rng.uniform(0, 1));
  }

  /// One element of the result by the definition: the sum over the kernel of data[i xor j] kernel[j].
  double convolved(u64 i) const {
    double sum = 0;
    for (u64 j = 0; j < u64{1} << p_.kernel_log2; ++j) sum += double{first_data_[i ^ j]} * double{first_kernel_[j]};
    return sum;
  }

  /// The launches of one repetition in double, with the blocks of the slice only: there is no definition of that.
  std::vector<double> same_steps() const {
    std::vector<double> data(first_data_.begin(), first_data_.end());
    std::vector<double> kernel(first_kernel_.begin(), first_kernel_.end());
    for (const Step& step : steps_) {
      const Launch launched = shape(step);
      const u64 threads = launched.blocks() * launched.block.x, all = u64{multiply_blocks()} * kMultiplyThreads;
      std::vector<double>& values = step.on_data ? data : kernel;
      if (step.kind == Step::kMultiply) {
        for (u64 i = 0; i < values.size(); ++i) {
          if (i % all < threads) values[i] *= kernel[i] / static_cast<double>(values.size());
        }
      } else if (step.kind == Step::kPass) {
        for (u64 i = 0; i < threads; ++i) {
          const u64 quarter = u64{1} << (step.log2 - 2), low = i % quarter, at = (i - low) * 4 + low;
          for (const u64 span : {2 * quarter, quarter}) add_and_subtract(values, at, quarter, span);
        }
      } else {
        for (u64 block = 0; block < launched.blocks(); ++block) transform(values, block << step.log2, step.log2);
      }
    }
    return data;
  }
  static void pair(double& a, double& b) {
    const double sum = a + b;
    b = a - b;
    a = sum;
  }
  /// The two butterflies of radix 2 with `span` among the four elements a quarter apart.
  static void add_and_subtract(std::vector<double>& values, u64 at, u64 quarter, u64 span) {
    const u64 other = span == quarter ? 2 * quarter : quarter;
    pair(values[at], values[at + span]);
    pair(values[at + other], values[at + other + span]);
  }
  static void transform(std::vector<double>& values, u64 first, u32 log2) {
    for (u64 span = u64{1} << log2; span /= 2;) {
      for (u64 i = 0; i < u64{1} << log2; ++i) {
        if (!(i & span)) pair(values[first + i], values[first + i + span]);
      }
    }
  }

  Params p_;
  std::vector<Step> steps_;
  Buffer<float> data_, kernel_;
  std::vector<float> first_data_, first_kernel_;
};

const RegisterWorkload<WalshTransform> kRegistered{{
    .name = "fwt",
    .purpose = "dyadic convolution by Walsh transforms: four distant pages a thread",
    .origin = "CUDA SDK fastWalshTransform",
    .papers = "MASK",
    .module = "fwt",
    .variants = {"mask"},
}};

}  // namespace
}  // namespace terrace
