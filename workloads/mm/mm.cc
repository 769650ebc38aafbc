// MM: register-tiled sgemm, C = A B, column-major with B transposed. The light tenant: high reuse, much arithmetic.
// Dimensions that do not fill the kernel's tiles are padded with zeros, which the check does not count.
// SPDX-License-Identifier: MIT
#include "engine/rng.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

// As mm.cu has them.
constexpr u32 kTileRows = 128;
constexpr u32 kTileColumns = 16;
constexpr u32 kTileDepth = 8;

class MatrixMultiply final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 m = 256, n = 264, k = 128;

    void describe(Fields& v) override {
      v("m", m, in(1, 1 << 16), "rows of C; a block owns 128 of them");
      v("n", n, in(1, 1 << 16), "columns of C; a block owns 16 of them");
      v("k", k, in(1, 1 << 16), "columns of A and rows of B");
      WorkloadParams::describe(v);
    }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    const auto shape = [&p](u32 m, u32 n, u32 k) { p.m = m, p.n = n, p.k = k; };
    switch (size) {
      case InputSize::kMini:
        return shape(128, 32, 32);
      case InputSize::kTiny:
        return shape(256, 264, 128);
      case InputSize::kSmall:
        return shape(1024, 528, 256);
      case InputSize::kPaper:
        return shape(1024, 1056, 992);
    }
  }
  static u64 footprint_bytes(const Params& p) {
    const u64 m = round_up(p.m, kTileRows), n = round_up(p.n, kTileColumns), k = round_up(p.k, kTileDepth);
    return (m * k + n * k + m * n) * sizeof(float);
  }

  explicit MatrixMultiply(const Params& params)
      : p_(params), m_(round_up(p_.m, kTileRows)), n_(round_up(p_.n, kTileColumns)), k_(round_up(p_.k, kTileDepth)) {}

  void allocate(GuestMemory& memory) override {
    a_ = Buffer<float>(memory, "A", u64{m_} * k_);
    b_ = Buffer<float>(memory, "B", u64{n_} * k_);
    c_ = Buffer<float>(memory, "C", u64{m_} * n_);
  }

  void fill(GuestMemory& memory) override {
    const auto draw = [&](const Buffer<float>& buffer, std::string_view stream, u32 used, u32 ld) {
      Rng rng(p_.seed, stream);
      const auto values = buffer.write(memory);
      for (u64 i = 0; i < values.size(); ++i) {
        const bool inside = i % ld < used && i / ld < p_.k;
        values[i] = inside ? static_cast<float>(rng.unit()) : 0.0f;
      }
    };
    draw(a_, "mm.a", p_.m, m_);
    draw(b_, "mm.b", p_.n, n_);
    fill_with(memory, c_, 0.0f);
  }

  u64 launches() const override { return p_.iters; }

  Launch launch(GuestMemory&, u64) override {
    Launch product =
        sliced_launch("sgemm_nt", {m_ / kTileRows, n_ / kTileColumns}, {kTileColumns, kTileDepth}, p_.slice);
    product.argument(a_).argument(m_).argument(b_).argument(n_).argument(c_).argument(m_);
    product.argument(k_).argument(1.0f).argument(0.0f);
    launched_blocks_ = product.blocks();
    return product;
  }
  void archive_host(Archive& a) override { a(launched_blocks_); }

  CheckResult check(const GuestMemory& memory) const override {
    RelativeCheck comparison("C", 1e-4);
    const auto a = a_.read(memory), b = b_.read(memory), c = c_.read(memory);
    std::vector<double> column(p_.m);
    for (u64 n = 0; n < p_.n; ++n) {
      const u64 first_block = n / kTileColumns * (m_ / kTileRows);
      if (first_block >= launched_blocks_) break;
      std::fill(column.begin(), column.end(), 0.0);
      for (u64 k = 0; k < p_.k; ++k) {
        const double factor = b[n + k * n_];
        const float* a_column = &a[k * m_];
        for (u64 m = 0; m < p_.m; ++m) column[m] += factor * a_column[m];
      }
      for (u64 m = 0; m < p_.m; ++m) {
        if (first_block + m / kTileRows < launched_blocks_) comparison.compare(m + n * m_, c[m + n * m_], column[m]);
      }
    }
    return comparison.result();
  }

 private:
  Params p_;
  u32 m_, n_, k_;  // padded to whole tiles
  Buffer<float> a_, b_, c_;
  u64 launched_blocks_ = 0;
};

const RegisterWorkload<MatrixMultiply> kRegistered{{
    .name = "mm",
    .purpose = "register-tiled sgemm: the light tenant, high reuse",
    .origin = "Parboil sgemm",
    .papers = "MASK, DWS",
    .module = "mm",
    .variants = {"mask", "dws"},
}};

}  // namespace
}  // namespace terrace
