// DENSEMV: the matrix-vector programs MVT, ATAX, BICG and GESUMMV of PolyBench on one set of kernels. Walking along
// rows with one thread a row puts every lane on a page of its own: the canonical generator of divergent page walks. The
// inputs are PolyBench's formulas; the seed changes nothing.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "engine/check.h"
#include "frontend/workload.h"
#include "frontend/workload_alias.h"
#include "support/checks.h"

namespace terrace {
namespace {

enum class Element : u8 { kF32, kF64 };
enum class Accumulator : u8 { kPlain, kVolatile, kRegister };
enum class Benchmark : u8 { kMvt, kAtax, kBicg, kGesummv };

struct DenseParams : WorkloadParams {
  u32 rows = 4096;
  u32 columns = 4096;
  u32 ld = 4096;
  u32 block = 256;
  Element element = Element::kF32;
  Accumulator accumulator = Accumulator::kPlain;

  void describe(Fields& v) override {
    v("rows", rows, in(1, 1 << 20), "rows of the matrix");
    v("columns", columns, in(1, 1 << 20), "columns of the matrix");
    v("ld", ld, in(1, 1 << 20), "elements from one row to the next, at least the columns");
    v("block", block, in(1, 1024), "threads in a block");
    v("element", element, {"f32", "f64"}, "type of the matrix and the vectors");
    v("accumulator", accumulator, {"plain", "volatile", "register"},
      "where the sum lives: stored each time, loaded and stored each time, or stored once");
    WorkloadParams::describe(v);
  }
  u64 element_bytes() const { return element == Element::kF32 ? 4 : 8; }
};

/// f64 where the paper's footprint says so (MVT, BICG).
constexpr bool is_double(Benchmark benchmark) {
  return benchmark == Benchmark::kMvt || benchmark == Benchmark::kBicg;
}

/// A tiny run cuts the columns but keeps each row on a page of its own. The variant cd has eight blocks for each of 24
/// SMs where the paper's input has not, with shorter rows.
void preset_of(Benchmark benchmark, InputSize size, std::string_view variant, DenseParams& p) {
  if (is_double(benchmark)) p.element = Element::kF64;
  if (variant == "cd") p.block = 32;  // its grid of 128 blocks is 4096 / 32
  const auto shape = [&p](u32 rows, u32 columns, u32 ld) { p.rows = rows, p.columns = columns, p.ld = ld; };
  const u32 page = static_cast<u32>(4096 / p.element_bytes());
  if (variant == "cd" && size == InputSize::kTiny) return shape(6144, 64, page);
  if (variant == "cd" && size == InputSize::kSmall) return shape(6144, 2688, 2688);
  switch (size) {
    case InputSize::kMini:
      return shape(128, 32, page);
    case InputSize::kTiny:
      return shape(4096, benchmark == Benchmark::kGesummv ? 96 : is_double(benchmark) ? 64 : 128, page);
    case InputSize::kSmall:
      return benchmark == Benchmark::kGesummv ? shape(4096, 4096, 4096) : shape(2048, 2048, 2048);
    case InputSize::kPaper:
      return shape(4096, 4096, 4096);
  }
}

/// The walks of MVT, ATAX and BICG: which vector is read, which is written.
struct Walk {
  bool along_rows;
  u32 from, to;  // in vectors_
};

class DenseProgram : public LaunchSequence {
 public:
  using Params = DenseParams;

  DenseProgram(Benchmark benchmark, const Params& params) : benchmark_(benchmark), p_(params) {
    if (p_.ld < p_.columns) {
      input_error("ld ({}) must not be less than columns ({}); give both, as in rows=4096,columns=128,ld=1024", p_.ld,
                  p_.columns);
    }
  }

  static u64 footprint_of(Benchmark benchmark, const Params& p) {
    const u64 matrices = benchmark == Benchmark::kGesummv ? 2 : 1;
    u64 elements = matrices * p.rows * p.ld;
    for (const VectorInfo& vector : vectors_of(benchmark)) elements += vector.per_row ? p.rows : p.columns;
    return elements * p.element_bytes();
  }

  void allocate(GuestMemory& memory) override {
    const auto allocate_one = [&](std::string_view name, u64 elements) {
      return Buffer<u8>(memory, name, elements * p_.element_bytes());
    };
    a_ = allocate_one("A", u64{p_.rows} * p_.ld);
    if (benchmark_ == Benchmark::kGesummv) b_ = allocate_one("B", u64{p_.rows} * p_.ld);
    for (const VectorInfo& vector : vectors_of(benchmark_)) {
      vectors_.push_back(allocate_one(vector.name, vector.per_row ? p_.rows : p_.columns));
    }
  }

  void fill(GuestMemory& memory) override {
    p_.element == Element::kF32 ? fill_typed<float>(memory) : fill_typed<double>(memory);
    launched_rows_ = launched_columns_ = 0;
  }

  u64 launches() const override { return (benchmark_ == Benchmark::kGesummv ? 1 : 2) * u64{p_.iters}; }

  Launch launch(GuestMemory&, u64 number) override {
    return benchmark_ == Benchmark::kGesummv ? launch_gesummv() : launch_walk(walks_of(benchmark_)[number % 2]);
  }
  void archive_host(Archive& a) override { a(launched_rows_, launched_columns_); }

  CheckResult check(const GuestMemory& memory) const override {
    return p_.element == Element::kF32 ? compare<float>(memory) : compare<double>(memory);
  }

 private:
  struct VectorInfo {
    std::string_view name;
    bool per_row;  // one element per row, else one per column
    bool output;
    double scale, shift;  // input i is (i + shift) x scale, with scale 0 standing for 1 / its length
  };
  static std::vector<VectorInfo> vectors_of(Benchmark benchmark) {
    constexpr double kPi = 3.14159265358979323846;
    switch (benchmark) {
      case Benchmark::kMvt:
        return {
            {"x1", true, true, 0, 0}, {"x2", false, true, 0, 1}, {"y1", false, false, 0, 3}, {"y2", true, false, 0, 4}};
      case Benchmark::kAtax:
        return {{"x", false, false, kPi, 0}, {"tmp", true, true, 0, 0}, {"y", false, true, 0, 0}};
      case Benchmark::kBicg:
        return {
            {"r", true, false, kPi, 0}, {"s", false, true, 0, 0}, {"p", false, false, kPi, 0}, {"q", true, true, 0, 0}};
      case Benchmark::kGesummv:
        return {{"x", false, false, 0, 0}, {"y", true, true, 0, 0}, {"tmp", true, true, 0, 0}};
    }
    return {};
  }
  static std::vector<Walk> walks_of(Benchmark benchmark) {
    switch (benchmark) {
      case Benchmark::kMvt:
        return {{true, 2, 0}, {false, 3, 1}};
      case Benchmark::kAtax:
        return {{true, 0, 1}, {false, 1, 2}};
      case Benchmark::kBicg:
        return {{false, 0, 1}, {true, 2, 3}};
      case Benchmark::kGesummv:
        return {};
    }
    return {};
  }
  /// MVT adds to what x1 and x2 hold; the others clear their outputs in the kernel.
  bool clears_outputs() const { return benchmark_ != Benchmark::kMvt; }

  template <class T>
  static T* typed(std::span<u8> bytes) {
    return reinterpret_cast<T*>(bytes.data());
  }
  template <class T>
  static const T* typed(std::span<const u8> bytes) {
    return reinterpret_cast<const T*>(bytes.data());
  }

  template <class T>
  void fill_typed(GuestMemory& memory) {
    const auto fill_matrix = [&](const Buffer<u8>& buffer) {
      T* matrix = typed<T>(buffer.write(memory));
      for (u64 i = 0; i < p_.rows; ++i) {
        for (u64 j = 0; j < p_.columns; ++j) matrix[i * p_.ld + j] = static_cast<T>(i * j) / static_cast<T>(p_.rows);
      }
    };
    fill_matrix(a_);
    if (benchmark_ == Benchmark::kGesummv) fill_matrix(b_);
    const auto infos = vectors_of(benchmark_);
    for (u64 k = 0; k < infos.size(); ++k) {
      T* vector = typed<T>(vectors_[k].write(memory));
      const u64 length = infos[k].per_row ? p_.rows : p_.columns;
      for (u64 i = 0; i < length; ++i) vector[i] = initial<T>(infos[k], i, length);
    }
  }
  template <class T>
  T initial(const VectorInfo& info, u64 i, u64 length) const {
    if (info.output && clears_outputs()) return 0;
    const double value = static_cast<double>(i) + info.shift;
    return static_cast<T>(info.scale != 0 ? value * info.scale : value / static_cast<double>(length));
  }

  std::string kernel(std::string_view stem) const {
    static constexpr std::string_view kForms[] = {"plain", "volatile", "register"};
    return fmt::format("{}_{}_{}", stem, kForms[static_cast<u32>(p_.accumulator)],
                       p_.element == Element::kF32 ? "f32" : "f64");
  }
  Launch launch_threads(std::string_view stem, u32 threads) const {
    return sliced_launch(kernel(stem), {(threads + p_.block - 1) / p_.block}, {p_.block}, p_.slice);
  }
  Launch launch_walk(const Walk& walk) {
    Launch call = launch_threads(walk.along_rows ? "row_walk" : "col_walk", walk.along_rows ? p_.rows : p_.columns);
    call.argument(a_).argument(vectors_[walk.from]).argument(vectors_[walk.to]);
    call.argument(p_.ld).argument(p_.rows).argument(p_.columns).argument(u32{clears_outputs()});
    (walk.along_rows ? launched_rows_ : launched_columns_) = call.blocks() * p_.block;
    return call;
  }
  Launch launch_gesummv() {
    Launch call = launch_threads("gesummv", p_.rows);
    call.argument(a_).argument(b_).argument(vectors_[0]).argument(vectors_[1]).argument(vectors_[2]);
    call.argument(p_.ld).argument(p_.rows).argument(p_.columns);
    if (p_.element == Element::kF32) {
      call.argument(static_cast<float>(kAlpha)).argument(static_cast<float>(kBeta));
    } else {
      call.argument(kAlpha).argument(kBeta);
    }
    launched_rows_ = call.blocks() * p_.block;
    return call;
  }

  /// What the sum of matrix row i (or column j) with a vector adds to its output.
  template <class T>
  std::vector<double> reference_walk(const T* matrix, const Walk& walk, const std::vector<double>& from) const {
    std::vector<double> sums(walk.along_rows ? p_.rows : p_.columns, 0.0);
    const u64 launched = walk.along_rows ? launched_rows_ : launched_columns_;
    for (u64 i = 0; i < p_.rows; ++i) {
      for (u64 j = 0; j < p_.columns; ++j) {
        const u64 output = walk.along_rows ? i : j;
        if (output < launched) sums[output] += double{matrix[i * p_.ld + j]} * from[walk.along_rows ? j : i];
      }
    }
    return sums;
  }

  template <class T>
  CheckResult compare(const GuestMemory& memory) const {
    return benchmark_ == Benchmark::kGesummv ? compare_gesummv<T>(memory) : compare_walks<T>(memory);
  }

  template <class T>
  CheckResult compare_walks(const GuestMemory& memory) const {
    const T* matrix = typed<T>(a_.read(memory));
    const auto infos = vectors_of(benchmark_);
    std::vector<std::vector<double>> values(infos.size());
    for (u64 k = 0; k < infos.size(); ++k) {
      const u64 length = infos[k].per_row ? p_.rows : p_.columns;
      for (u64 i = 0; i < length; ++i) values[k].push_back(double{initial<T>(infos[k], i, length)});
    }
    // Repetitions of ATAX and BICG start from cleared outputs and give the same again; MVT goes on adding.
    const double repetitions = clears_outputs() ? 1 : p_.iters;
    std::optional<CheckResult> result;
    for (const Walk& walk : walks_of(benchmark_)) {
      const auto sums = reference_walk(matrix, walk, values[walk.from]);
      RelativeCheck check(infos[walk.to].name, 1e-3);
      const T* got = typed<T>(vectors_[walk.to].read(memory));
      const u64 launched = walk.along_rows ? launched_rows_ : launched_columns_;
      for (u64 i = 0; i < sums.size(); ++i) {
        values[walk.to][i] += repetitions * sums[i];
        if (i < launched) check.compare(i, double{got[i]}, values[walk.to][i]);
      }
      result = result ? both(*result, check.result()) : check.result();
    }
    return *result;
  }

  template <class T>
  CheckResult compare_gesummv(const GuestMemory& memory) const {
    const T* a = typed<T>(a_.read(memory));
    const T* b = typed<T>(b_.read(memory));
    const T* x = typed<T>(vectors_[0].read(memory));
    const T* y = typed<T>(vectors_[1].read(memory));
    RelativeCheck check("y", 1e-3);
    for (u64 i = 0; i < p_.rows && i < launched_rows_; ++i) {
      double sum_a = 0, sum_b = 0;
      for (u64 j = 0; j < p_.columns; ++j) {
        sum_a += double{a[i * p_.ld + j]} * double{x[j]};
        sum_b += double{b[i * p_.ld + j]} * double{x[j]};
      }
      check.compare(i, double{y[i]}, kAlpha * sum_a + kBeta * sum_b);
    }
    return check.result();
  }

  static constexpr double kAlpha = 43532, kBeta = 12313;  // PolyBench's

  Benchmark benchmark_;
  Params p_;
  Buffer<u8> a_, b_;
  std::vector<Buffer<u8>> vectors_;
  u64 launched_rows_ = 0, launched_columns_ = 0;
};

template <Benchmark benchmark>
class Dense final : public DenseProgram {
 public:
  explicit Dense(const Params& params) : DenseProgram(benchmark, params) {}
  static void preset(InputSize size, std::string_view variant, Params& p) { preset_of(benchmark, size, variant, p); }
  static u64 footprint_bytes(const Params& p) { return footprint_of(benchmark, p); }
};

WorkloadInfo info_of(std::string_view name, std::string_view purpose) {
  return {.name = name,
          .purpose = purpose,
          .origin = "PolyBench-GPU",
          .papers = "SIMT",
          .module = "densemv",
          .variants = {"simt"}};
}

const RegisterWorkload<Dense<Benchmark::kMvt>> kMvt{
    info_of("mvt", "two matrix-vector products, by rows and by columns: divergent page walks, f64")};
const RegisterWorkload<Dense<Benchmark::kAtax>> kAtax{
    info_of("atax", "A^T A x: rows give divergent page walks, columns stream")};
const RegisterWorkload<Dense<Benchmark::kBicg>> kBicg{
    info_of("bicg", "the two products of a biconjugate gradient step: divergent page walks, f64")};
const RegisterWorkload<Dense<Benchmark::kGesummv>> kGesummv{{
    .name = "gesummv",
    .purpose = "y = alpha A x + beta B x by rows: two divergent streams at once",
    .origin = "PolyBench-GPU",
    .papers = "SIMT, CD",
    .module = "densemv",
    .variants = {"simt", "cd"},
    .paper_needs_variant = true,
}};
const RegisterAlias kAlias{"gev", "gesummv"};

}  // namespace
}  // namespace terrace
