// NN: digit recognition by a small network. The full layers have blocks of one thread, so most warps have one lane, and
// everything fits in the caches. Variant: mask (28 images).
// SPDX-License-Identifier: MIT
#include <array>
#include <cmath>

#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"
#include "support/series.h"

namespace terrace {
namespace {

// As nn.cu has them.
constexpr u64 kWindow = 5, kMapWeights = kWindow * kWindow + 1;

constexpr u32 kLayers = 4;
constexpr u64 kSides[3] = {29, 13, 5};  // of an image, and of the maps of layers 1 and 2

double activation(double x) {
  return 1.7159 * (1 - 2 / (1 + series_exp(x * 4 / 3)));
}

class DigitNetwork final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 images = 28;
    u32 maps1 = 6, maps2 = 50;
    u32 hidden = 100;
    u32 digits = 10;

    void describe(Fields& v) override {
      v("images", images, in(1, 65535), "images of 29 x 29 pixels");
      v("maps1", maps1, in(1, 4096), "maps of 13 x 13 in the first layer");
      v("maps2", maps2, in(1, 4096), "maps of 5 x 5 in the second layer");
      v("hidden", hidden, in(1, 1 << 16), "units of the third layer");
      v("digits", digits, in(1, 1 << 16), "units of the last layer");
      WorkloadParams::describe(v);
    }
    /// Outputs of a layer for one image; layer 0 is the image itself.
    u64 outputs(u32 layer) const {
      const u64 of_layer[kLayers + 1] = {kSides[0] * kSides[0], maps1 * kSides[1] * kSides[1],
                                         maps2 * kSides[2] * kSides[2], hidden, digits};
      return of_layer[layer];
    }
    u64 weights(u32 layer) const {
      const u64 of_layer[kLayers + 1] = {0, maps1 * kMapWeights, u64{maps2} * maps1 * kMapWeights,
                                         hidden * (outputs(2) + 1), digits * (u64{hidden} + 1)};
      return of_layer[layer];
    }
    u32 blocks(u32 layer) const {
      const u32 of_layer[kLayers + 1] = {0, maps1, maps2, hidden, digits};
      return of_layer[layer];
    }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.images = 1, p.maps1 = 3, p.maps2 = 2, p.hidden = 5;
        break;
      case InputSize::kTiny:
        p.images = 1;
        break;
      case InputSize::kSmall:
        p.images = 11;
        break;
      case InputSize::kPaper:
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) {
    u64 floats = 0;
    for (u32 layer = 0; layer <= kLayers; ++layer) floats += p.images * p.outputs(layer) + p.weights(layer);
    return floats * sizeof(float);
  }

  explicit DigitNetwork(const Params& params) : p_(params) {}

  void allocate(GuestMemory& memory) override {
    static constexpr std::array<const char*, kLayers + 1> kOutputs{"images", "layer1", "layer2", "layer3", "digits"};
    static constexpr std::array<const char*, kLayers + 1> kWeights{"", "weights1", "weights2", "weights3", "weights4"};
    for (u32 layer = 0; layer <= kLayers; ++layer) {
      if (layer > 0) weights_[layer] = Buffer<float>(memory, kWeights[layer], p_.weights(layer));
      outputs_[layer] = Buffer<float>(memory, kOutputs[layer], p_.images * p_.outputs(layer));
    }
  }

  /// Weights of the order of one over the square root of the inputs of a unit keep activations away from where they are flat.
  void fill(GuestMemory& memory) override {
    static constexpr std::array<const char*, kLayers + 1> kStreams{"", "nn.weights1", "nn.weights2", "nn.weights3",
                                                                   "nn.weights4"};
    draw_uniform(memory, outputs_[0], p_.seed, "nn.images", -1, 1);
    for (u32 layer = 1; layer <= kLayers; ++layer) {
      const double inputs = static_cast<double>(p_.weights(layer)) / p_.blocks(layer);
      draw_uniform(memory, weights_[layer], p_.seed, kStreams[layer], -2 / std::sqrt(inputs), 2 / std::sqrt(inputs));
      fill_with(memory, outputs_[layer], 0.0f);
    }
  }

  u64 launches() const override { return u64{kLayers} * p_.iters; }

  Launch launch(GuestMemory&, u64 number) override {
    const u32 layer = static_cast<u32>(number % kLayers) + 1;
    const Dim3 grid{p_.blocks(layer), p_.images};
    const u32 side = layer <= 2 ? static_cast<u32>(kSides[layer]) : 1;
    Launch call = sliced_launch(layer <= 2 ? "nn_convolve" : "nn_full", grid, {side, side}, p_.slice);
    call.argument(outputs_[layer - 1]).argument(weights_[layer]).argument(outputs_[layer]);
    if (layer <= 2) {
      call.argument(layer == 1 ? 1u : p_.maps1).argument(static_cast<u32>(kSides[layer - 1]));
    } else {
      call.argument(static_cast<u32>(p_.outputs(layer - 1)));
    }
    launched_blocks_[layer] = call.blocks();
    return call;
  }
  void archive_host(Archive& a) override { a(launched_blocks_); }

  /// Layer by layer in double; outputs of blocks outside the slice are zero.
  CheckResult check(const GuestMemory& memory) const override {
    const auto images = outputs_[0].read(memory);
    std::vector<double> below(images.begin(), images.end());
    RelativeCheck comparison("outputs of all layers", 1e-4, 0.1);
    for (u32 layer = 1; layer <= kLayers; ++layer) {
      const auto weights = weights_[layer].read(memory);
      const auto got = outputs_[layer].read(memory);
      std::vector<double> above(got.size(), 0.0);
      const u64 of_block = p_.outputs(layer) / p_.blocks(layer);
      for (u64 i = 0; i < launched_blocks_[layer] * of_block; ++i) {
        const u64 image = i / p_.outputs(layer);
        const auto input = std::span<const double>(below).subspan(image * p_.outputs(layer - 1));
        above[i] = activation(layer <= 2 ? convolution(layer, i, input, weights) : full(layer, i, input, weights));
      }
      for (u64 i = 0; i < got.size(); ++i) comparison.compare(i, got[i], above[i]);
      below = above;
    }
    return comparison.result();
  }

 private:
  double convolution(u32 layer, u64 output, std::span<const double> input, std::span<const float> weights) const {
    const u64 side = kSides[layer], side_below = kSides[layer - 1], maps_below = layer == 1 ? 1 : p_.maps1;
    const u64 map = output / (side * side) % p_.blocks(layer), y = output / side % side, x = output % side;
    const u64 first = map * maps_below * kMapWeights;
    double sum = double{weights[first]};
    for (u64 i = 0; i < maps_below; ++i) {
      for (u64 k = 0; k < kWindow * kWindow; ++k) {
        const u64 row = 2 * y + k / kWindow, column = 2 * x + k % kWindow;
        sum += input[(i * side_below + row) * side_below + column] *
               double{weights[first + 1 + i * kWindow * kWindow + k]};
      }
    }
    return sum;
  }
  double full(u32 layer, u64 output, std::span<const double> input, std::span<const float> weights) const {
    const u64 inputs = p_.outputs(layer - 1), first = output % p_.outputs(layer) * (inputs + 1);
    double sum = double{weights[first]};
    for (u64 i = 0; i < inputs; ++i) sum += input[i] * double{weights[first + 1 + i]};
    return sum;
  }

  Params p_;
  Buffer<float> outputs_[kLayers + 1], weights_[kLayers + 1];
  u64 launched_blocks_[kLayers + 1] = {};
};

const RegisterWorkload<DigitNetwork> kRegistered{{
    .name = "nn",
    .purpose = "digit recognition: warps of one lane, everything in the caches",
    .origin = "GPGPU-Sim NN",
    .papers = "MASK",
    .module = "nn",
    .variants = {"mask"},
}};

}  // namespace
}  // namespace terrace
