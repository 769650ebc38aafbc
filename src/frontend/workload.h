// The workloads that come with Terrace: real CUDA programs, each a module of device code (workloads/*/NAME.cu) and a
// host side beside it that registers itself here.
//
//   auto request = parse_workload("bfs:graph=uniform,vertices=100000", InputSize::kSmall);
//   ProgramInstance bfs = make_workload(request);
//
// An input is chosen in layers: the size gives a preset, the variant says whose program of that name, overrides have
// the last word.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/assign.h"
#include "config/fields.h"
#include "engine/types.h"
#include "frontend/device_code.h"
#include "frontend/program.h"

namespace terrace {

/// mini: at most 20,000 warp instructions, for sanitizers and law tests; tiny: about 1 M, and as far as possible with
/// the TLB pressure of the paper's input; small: about 10 M; paper: what the paper ran.
enum class InputSize : u8 { kMini, kTiny, kSmall, kPaper };
inline constexpr std::array<std::string_view, 4> kInputSizes{"mini", "tiny", "small", "paper"};
InputSize parse_input_size(std::string_view text);

/// What every workload can be asked; the parameters of each derive from this.
struct WorkloadParams {
  u64 seed = 1;
  Fraction slice{Fraction::kOne};
  u32 iters = 1;

  virtual ~WorkloadParams() = default;
  virtual void describe(Fields& v) {
    v("seed", seed, in(0, ~u64{0}), "seed of the generated input");
    v("slice", slice, in(1, Fraction::kOne),
      "fraction of the blocks to launch, starting with the first; arrays keep their size");
    v("iters", iters, in(least_iters(), 1'000'000), iters_doc());
  }

 protected:
  virtual u64 least_iters() const { return 1; }
  virtual std::string_view iters_doc() const { return "times that the launches are repeated"; }
};

struct WorkloadInfo {
  std::string_view name;
  std::string_view purpose;  // one line: why one runs it
  std::string_view origin;   // the suite the program comes from
  std::string_view papers;   // who ran it
  std::string_view module;   // device code: MODULE.ptx
  /// Spellings of `variant`. When `paper_needs_variant`, the papers ran different programs or inputs under this name,
  /// and size paper without a variant is refused.
  std::vector<std::string_view> variants;
  bool paper_needs_variant = false;
};

struct WorkloadRequest {
  std::string name;
  InputSize size = InputSize::kTiny;
  std::string variant;
  std::optional<u64> seed;
  std::optional<Fraction> slice;
  std::vector<Given> overrides;  // the last word, in the order given
};

/// What a tenant runs.
struct ProgramInstance {
  std::unique_ptr<Program> program;
  DeviceCode code;
};

class Workload {
 public:
  explicit Workload(WorkloadInfo info) : info_(std::move(info)) {}
  virtual ~Workload() = default;
  const WorkloadInfo& info() const { return info_; }

  virtual std::unique_ptr<WorkloadParams> preset(InputSize size, std::string_view variant) const = 0;
  virtual std::unique_ptr<Program> make(const WorkloadParams& params) const = 0;
  /// What the program will allocate, without allocating it.
  virtual u64 footprint_bytes(const WorkloadParams& params) const = 0;

 private:
  WorkloadInfo info_;
};

/// A workload whose program P has: struct Params (of WorkloadParams), a constructor from it,
///   static void preset(InputSize, std::string_view variant, Params&)   changes the defaults, and
///   static u64 footprint_bytes(const Params&).
template <class P>
class WorkloadOf final : public Workload {
 public:
  using Workload::Workload;
  std::unique_ptr<WorkloadParams> preset(InputSize size, std::string_view variant) const override {
    auto params = std::make_unique<typename P::Params>();
    P::preset(size, variant, *params);
    return params;
  }
  std::unique_ptr<Program> make(const WorkloadParams& params) const override {
    return std::make_unique<P>(static_cast<const typename P::Params&>(params));
  }
  u64 footprint_bytes(const WorkloadParams& params) const override {
    return P::footprint_bytes(static_cast<const typename P::Params&>(params));
  }
};

void register_workload(std::unique_ptr<Workload> workload);

/// One static object of this per workload, in the file of its host side.
template <class P>
struct RegisterWorkload {
  explicit RegisterWorkload(WorkloadInfo info) { register_workload(std::make_unique<WorkloadOf<P>>(std::move(info))); }
};

/// All workloads, in the order of their names.
std::vector<const Workload*> all_workloads();
/// By name; an unknown one is the user's error, with a suggestion.
const Workload& find_workload(std::string_view name);

/// NAME[:key=value,...]. Besides the workload's parameters, the keys are size (in place of the one given here) and
/// variant; `option` is what messages call the place.
WorkloadRequest parse_workload(std::string_view text, InputSize size, std::string_view option = "--tenant");
/// The parameters of a request: preset, then seed and slice, then overrides.
std::unique_ptr<WorkloadParams> resolve_params(const WorkloadRequest& request);
ProgramInstance make_workload(const WorkloadRequest& request);

/// A launch of which only the first part runs, as the slice asks (rounded up to whole blocks).
Launch sliced_launch(std::string kernel, Dim3 grid, Dim3 block, Fraction slice);

/// A program whose launches are known beforehand: a sequence, numbered from 0.
class LaunchSequence : public Program {
 public:
  void initialise(GuestMemory& memory) final {
    launched_ = 0;
    fill(memory);
  }
  std::optional<Launch> next(GuestMemory& memory) final {
    if (launched_ == launches()) return std::nullopt;
    return launch(memory, launched_++);
  }
  void archive(Archive& a) final {
    a(launched_);
    archive_host(a);
  }

 protected:
  virtual void fill(GuestMemory& memory) = 0;
  virtual u64 launches() const = 0;
  /// The host may write to memory before each.
  virtual Launch launch(GuestMemory& memory, u64 number) = 0;
  /// What `launch` changes in the program itself.
  virtual void archive_host(Archive&) {}

 private:
  u64 launched_ = 0;
};

/// What cudaMemcpyToSymbol does: fills the start of a .const or .global variable of the module.
void write_module_variable(GuestMemory& memory, std::string_view name, std::span<const std::byte> bytes);

}  // namespace terrace
