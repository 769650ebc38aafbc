// BP: one training step of Rodinia's backprop. The device sums the hidden layer's inputs and adjusts the weights; the
// host does the rest between the two launches: sums, sigmoid, the output unit and the errors. Streams over the weights
// twice. Variants: mask and vc (65,536 inputs), simt (786,432).
// SPDX-License-Identifier: MIT
#include <cmath>

#include "engine/check.h"
#include "frontend/workload.h"
#include "frontend/workload_alias.h"
#include "support/checks.h"
#include "support/inputs.h"
#include "support/series.h"

namespace terrace {
namespace {

// As bp.cu has them.
constexpr u32 kHidden = 16, kBlockInputs = 16, kPitch = kHidden + 1;
constexpr double kRate = 0.3f, kMomentum = 0.3f;

constexpr double kTarget = 0.1;  // what the output unit should say

double sigmoid(double x) {
  return 1 / (1 + series_exp(-x));
}

class Backprop final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 inputs = 65'536;

    void describe(Fields& v) override {
      v("inputs", inputs, in(kBlockInputs, 1 << 24), "input units, a multiple of 16");
      WorkloadParams::describe(v);
    }
    u64 weights() const { return (u64{inputs} + 1) * kPitch; }
  };

  static void preset(InputSize size, std::string_view variant, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.inputs = 160;
        break;
      case InputSize::kTiny:
        p.inputs = 12'288;
        break;
      case InputSize::kSmall:
        p.inputs = 131'072;
        break;
      case InputSize::kPaper:
        p.inputs = variant == "simt" ? 786'432 : 65'536;
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) {
    return (2 * p.weights() + 2 * u64{p.inputs} + 1 + kPitch) * sizeof(float);
  }

  explicit Backprop(const Params& params) : p_(params) {
    if (p_.inputs % kBlockInputs) input_error("bp: inputs ({}) must be a multiple of {}", p_.inputs, kBlockInputs);
  }

  void allocate(GuestMemory& memory) override {
    input_ = Buffer<float>(memory, "input", u64{p_.inputs} + 1);
    weights_ = Buffer<float>(memory, "weights", p_.weights());
    old_ = Buffer<float>(memory, "old", p_.weights());
    partial_ = Buffer<float>(memory, "partial", p_.inputs);
    delta_ = Buffer<float>(memory, "delta", kPitch);
  }

  /// Weights of the order of 1 / sqrt(inputs) keep the sigmoid away from where it is flat.
  void fill(GuestMemory& memory) override {
    const double scale = weight_scale();
    draw_uniform(memory, input_, p_.seed, "bp.input", 0, 1);
    input_.set(memory, 0, 1.0f);
    draw_uniform(memory, weights_, p_.seed, "bp.weights", -scale, scale);
    draw_uniform(memory, old_, p_.seed, "bp.old", -scale / 4, scale / 4);
    fill_with(memory, partial_, 0.0f);
    fill_with(memory, delta_, 0.0f);
    Rng rng(p_.seed, "bp.output_weights");
    for (double& weight : output_weights_) weight = rng.uniform(-0.5, 0.5);
    first_weights_ = copy(memory, weights_);
    first_old_ = copy(memory, old_);
  }

  u64 launches() const override { return 2 * u64{p_.iters}; }

  Launch launch(GuestMemory& memory, u64 number) override {
    const bool forward = number % 2 == 0;
    Launch layer =
        sliced_launch(forward ? "forward" : "adjust", {1, p_.inputs / kBlockInputs}, {kHidden, kBlockInputs}, p_.slice);
    if (forward) {
      kept_weights_ = copy(memory, weights_);
      layer.argument(input_).argument(weights_).argument(partial_);
    } else {
      std::copy(kept_weights_.begin(), kept_weights_.end(), weights_.write(memory).begin());
      const auto errors = hidden_errors(partial_.read(memory), std::span<const float>(kept_weights_));
      for (u32 j = 1; j <= kHidden; ++j) delta_.set(memory, j, static_cast<float>(errors[j]));
      layer.argument(delta_).argument(input_).argument(weights_).argument(old_);
    }
    launched_blocks_ = layer.blocks();
    return layer;
  }
  void archive_host(Archive& a) override { a(kept_weights_, launched_blocks_); }

  /// The same steps in double; floors are the greatest magnitudes, since weights of both signs are around zero.
  CheckResult check(const GuestMemory& memory) const override {
    const auto input = input_.read(memory);
    std::vector<double> weights(first_weights_.begin(), first_weights_.end());
    std::vector<double> old(first_old_.begin(), first_old_.end()), partial(p_.inputs, 0.0);
    for (u32 repetition = 0; repetition < p_.iters; ++repetition) train(input, weights, old, partial);
    return both(both(compare("weights", weights_.read(memory), weights), compare("old", old_.read(memory), old)),
                compare("partial", partial_.read(memory), partial));
  }

 private:
  double weight_scale() const { return 1 / std::sqrt(static_cast<double>(p_.inputs)); }
  static std::vector<float> copy(const GuestMemory& memory, const Buffer<float>& buffer) {
    const auto values = buffer.read(memory);
    return {values.begin(), values.end()};
  }
  static CheckResult compare(std::string_view what, std::span<const float> got, const std::vector<double>& want) {
    double greatest = 0;
    for (const double value : want) greatest = std::max(greatest, std::fabs(value));
    RelativeCheck comparison(what, 1e-4, greatest);
    for (u64 i = 0; i < want.size(); ++i) comparison.compare(i, got[i], want[i]);
    return comparison.result();
  }

  /// What the host does between the launches: the error of each hidden unit, numbered from 1.
  template <class Float>
  std::array<double, kPitch> hidden_errors(std::span<const Float> partial, std::span<const Float> weights) const {
    std::array<double, kPitch> hidden{1}, errors{};
    for (u32 j = 1; j <= kHidden; ++j) {
      double sum = static_cast<double>(weights[j]);  // the bias
      for (u64 block = 0; block < p_.inputs / kBlockInputs; ++block)
        sum += static_cast<double>(partial[block * kHidden + j - 1]);
      hidden[j] = sigmoid(sum);
    }
    double sum = 0;
    for (u32 j = 0; j <= kHidden; ++j) sum += hidden[j] * output_weights_[j];
    const double output = sigmoid(sum);
    const double output_error = output * (1 - output) * (kTarget - output);
    for (u32 j = 1; j <= kHidden; ++j) errors[j] = hidden[j] * (1 - hidden[j]) * output_error * output_weights_[j];
    return errors;
  }

  void train(std::span<const float> input, std::vector<double>& weights, std::vector<double>& old,
             std::vector<double>& partial) const {
    const u64 launched_inputs = launched_blocks_ * kBlockInputs;
    for (u64 block = 0; block < launched_blocks_; ++block) {
      for (u64 j = 0; j < kHidden; ++j) {
        double& sum = partial[block * kHidden + j] = 0;
        for (u64 i = block * kBlockInputs + 1; i <= (block + 1) * kBlockInputs; ++i)
          sum += double{input[i]} * weights[i * kPitch + j + 1];
      }
    }
    const auto errors = hidden_errors(std::span<const double>(partial), std::span<const double>(weights));
    for (u64 i = 0; i <= launched_inputs; ++i) {
      for (u64 j = 1; j <= kHidden; ++j) {
        double& change = old[i * kPitch + j];
        change = kRate * errors[j] * double{input[i]} + kMomentum * change;
        weights[i * kPitch + j] += change;
      }
    }
  }

  Params p_;
  Buffer<float> input_, weights_, old_, partial_, delta_;
  std::array<double, kPitch> output_weights_{};
  std::vector<float> first_weights_, first_old_, kept_weights_;
  u64 launched_blocks_ = 0;
};

const RegisterWorkload<Backprop> kRegistered{{
    .name = "bp",
    .purpose = "a layer of backprop: streams over unaligned rows of weights twice",
    .origin = "Rodinia backprop",
    .papers = "MASK, SIMT, VC",
    .module = "bp",
    .variants = {"mask", "simt", "vc"},
    .paper_needs_variant = true,
}};
const RegisterAlias kAlias{"backprop", "bp"};

}  // namespace
}  // namespace terrace
