// FFT: batches of radix-2 Stockham transforms, one launch per pass, between two buffers. A block stays inside the 2 KB
// of its transform, so the light tenant of its size; with 4096 transforms it is a heavy one.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <complex>

#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"
#include "support/series.h"

namespace terrace {
namespace {

using Complex = std::complex<double>;

/// In place, radix 2, by bit reversal and then butterflies: another algorithm than the device's. `sign` is -1 forwards
/// and 1 backwards; neither is scaled.
void transform(std::vector<Complex>& x, double sign) {
  const u64 n = x.size();
  for (u64 i = 0, j = 0; i < n; ++i) {
    if (i < j) std::swap(x[i], x[j]);
    u64 bit = n / 2;
    for (; bit > 0 && (j & bit); bit /= 2) j ^= bit;
    j |= bit;
  }
  for (u64 span = 1; span < n; span *= 2) {
    for (u64 k = 0; k < span; ++k) {
      const SinCos turn = series_sin_cos(sign * kPi * static_cast<double>(k) / static_cast<double>(span));
      for (u64 i = k; i < n; i += 2 * span) {
        const Complex odd = x[i + span] * Complex(turn.cos, turn.sin);
        x[i + span] = x[i] - odd;
        x[i] += odd;
      }
    }
  }
}

class Fft final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 length = 256;
    u32 batches = 1024;

    void describe(Fields& v) override {
      v("length", length, in(2, 2048), "complex numbers in a transform, a power of two; half as many threads a block");
      v("batches", batches, in(1, 1 << 20), "transforms, a block each");
      WorkloadParams::describe(v);
    }
    u64 numbers() const { return u64{length} * batches; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    if (size == InputSize::kMini) p.batches = 6;
    if (size == InputSize::kTiny) p.batches = 384;
    if (size == InputSize::kSmall) p.iters = 4;
  }
  static u64 footprint_bytes(const Params& p) { return 2 * p.numbers() * 2 * sizeof(float); }

  explicit Fft(const Params& params) : p_(params), passes_(static_cast<u32>(std::bit_width(params.length)) - 1) {
    if (!std::has_single_bit(p_.length)) input_error("fft: length ({}) must be a power of two", p_.length);
  }

  /// Real and imaginary parts alternate, as in the device's float2.
  void allocate(GuestMemory& memory) override {
    for (u32 i = 0; i < 2; ++i) signal_[i] = Buffer<float>(memory, i ? "pong" : "ping", 2 * p_.numbers());
  }

  void fill(GuestMemory& memory) override {
    draw_uniform(memory, signal_[0], p_.seed, "fft.signal", -1, 1);
    fill_with(memory, signal_[1], 0.0f);
    const auto drawn = signal_[0].read(memory);
    input_.assign(drawn.begin(), drawn.end());
  }

  u64 launches() const override { return u64{passes_} * p_.iters; }

  Launch launch(GuestMemory& memory, u64 number) override {
    const u64 pass = number % passes_;
    // A repetition transforms the same input again.
    if (pass == 0 && number > 0) std::copy(input_.begin(), input_.end(), signal_[0].write(memory).begin());
    Launch butterflies = sliced_launch("fft_pass", {p_.batches}, {p_.length / 2}, p_.slice);
    butterflies.argument(signal_[pass % 2]).argument(signal_[(pass + 1) % 2]);
    butterflies.argument(p_.length).argument(u32{1} << pass);
    launched_blocks_ = butterflies.blocks();
    return butterflies;
  }
  void archive_host(Archive& a) override { a(launched_blocks_); }

  /// The spectra against a transform on the host, and transformed back there against the input. Errors are relative to
  /// the greatest magnitude of a transform.
  CheckResult check(const GuestMemory& memory) const override {
    const auto got = signal_[passes_ % 2].read(memory);
    RelativeCheck spectrum("spectrum", 1e-4, 1), back("transformed back", 1e-4, 1);
    for (u64 first = 0; first < launched_blocks_ * p_.length; first += p_.length) {
      std::vector<Complex> want = numbers(input_, first), returned = numbers(got, first);
      transform(want, -1);
      transform(returned, 1);
      for (Complex& value : returned) value /= p_.length;
      compare(spectrum, got, want, first);
      compare(back, input_, returned, first);
    }
    return both(spectrum.result(), back.result());
  }

 private:
  std::vector<Complex> numbers(std::span<const float> values, u64 first) const {
    std::vector<Complex> result;
    for (u64 i = first; i < first + p_.length; ++i) result.emplace_back(values[2 * i], values[2 * i + 1]);
    return result;
  }
  static void compare(RelativeCheck& check, std::span<const float> got, const std::vector<Complex>& want, u64 first) {
    double greatest = 0;
    for (const Complex& value : want) greatest = std::max(greatest, std::norm(value));
    const double scale = std::sqrt(greatest);
    for (u64 i = 0; i < want.size(); ++i) {
      check.compare(2 * (first + i), got[2 * (first + i)] / scale, want[i].real() / scale);
      check.compare(2 * (first + i) + 1, got[2 * (first + i) + 1] / scale, want[i].imag() / scale);
    }
  }

  Params p_;
  u32 passes_;
  Buffer<float> signal_[2];
  std::vector<float> input_;
  u64 launched_blocks_ = 0;
};

const RegisterWorkload<Fft> kRegistered{{
    .name = "fft",
    .purpose = "batched radix-2 FFT through global memory: each block stays inside half a page",
    .origin = "Parboil fft",
    .papers = "MASK, DWS",
    .module = "fft",
    .variants = {"mask", "dws"},
}};

}  // namespace
}  // namespace terrace
