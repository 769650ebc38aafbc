// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "engine/check.h"
#include "engine/hash.h"
#include "frontend/functional_runner.h"
#include "frontend/ptx/execute/machine.h"
#include "random_kernels/random_program.h"
#include "random_kernels/units.h"
#include "real_gpu/agreement.h"
#include "real_gpu/gpu_runner.h"
#include "support/waiting_kernels.h"
#include "text/tree.h"
#include "timing/ptx_tenants.h"

namespace terrace::real_gpu {
namespace {

namespace fs = std::filesystem;

/// PTX, and what the GPU is given in its place: the cubin beside it that ptxas made with contraction off.
struct DeviceImage {
  std::string file, ptx, cubin;
};
DeviceImage read_image(const std::string& stem) {
  return {stem + ".ptx", read_file(stem + ".ptx"), read_file(stem + ".cubin")};
}

/// A module on the GPU or in Terrace, and the memory of the program that ran there last.
class Side {
 public:
  Side(Gpu* gpu, const DeviceImage& image) : machine_(ptx::parse_module(image.file, image.ptx), memory) {
    if (gpu)
      gpu_ = std::make_unique<GpuRunner>(*gpu, ptx::parse_module(image.file, image.ptx), image.cubin, memory);
    else
      runner_ = std::make_unique<FunctionalRunner>(machine_, FunctionalConfig{.count = false});
  }

  void run(Program& program) {
    first_buffer = memory.allocations().size();
    const u64 before = launched();
    program.allocate(memory);
    buffers = memory.allocations().size() - first_buffer;
    if (gpu_)
      gpu_->run(program, first_buffer);
    else
      runner_->run(program, memory);
    launches = launched() - before;
  }

  GuestMemory memory{PageSize::k4K};
  u64 first_buffer = 0, buffers = 0;  // among the allocations: the program's own
  u64 launches = 0;

 private:
  u64 launched() const { return gpu_ ? gpu_->launches() : runner_->counts().launches; }

  ptx::Machine machine_;  // on a GPU it only places the module's variables, as programs expect them
  std::unique_ptr<GpuRunner> gpu_;
  std::unique_ptr<FunctionalRunner> runner_;
};

/// Where two executions of a program differ, in words; empty when their buffers hold the same.
std::string difference(const Side& gpu, const Side& terrace) {
  SIM_CHECK(gpu.buffers == terrace.buffers, "programs differ");
  std::string text;
  if (gpu.launches != terrace.launches)
    text += fmt::format(" launches {} on the GPU, {} here;", gpu.launches, terrace.launches);
  for (u64 i = 0; i < gpu.buffers; ++i) {
    const auto& ours = terrace.memory.allocations()[terrace.first_buffer + i];
    const auto& theirs = gpu.memory.allocations()[gpu.first_buffer + i];
    const auto a = terrace.memory.read(ours.first, ours.bytes), b = gpu.memory.read(theirs.first, theirs.bytes);
    u64 words = 0, first = 0;
    for (u64 at = 0; at < a.size(); at += 4) {
      const u64 bytes = std::min<u64>(4, a.size() - at);
      if (std::memcmp(a.data() + at, b.data() + at, bytes) == 0) continue;
      if (words++ == 0) first = at;
    }
    if (words == 0) continue;
    u32 mine = 0, its = 0;
    std::memcpy(&mine, a.data() + first, std::min<u64>(4, a.size() - first));
    std::memcpy(&its, b.data() + first, std::min<u64>(4, b.size() - first));
    text += fmt::format(" {}: {} of {} words, first at byte {}: {:08x} on the GPU, {:08x} here;", ours.name, words,
                        (a.size() + 3) / 4, first, its, mine);
  }
  return text;
}

}  // namespace

u32 compare_kernels(Gpu& gpu, const std::string& folder, const std::string& hash_file) {
  using namespace random_kernels;
  u32 differences = 0, compared = 0;
  std::vector<std::string> compilers;
  for (const char* compiler : {"clang", "nvcc"})
    if (fs::is_directory(fs::path(folder) / compiler)) compilers.emplace_back(compiler);
  if (compilers.empty()) input_error("{} holds no kernels; run scripts/prepare_real_gpu", folder);
  std::ofstream hashes(hash_file);
  for (u32 unit = 0; unit < kUnits; ++unit) {
    std::vector<std::unique_ptr<Side>> on_gpu, in_terrace;
    for (const std::string& compiler : compilers) {
      const DeviceImage image = read_image(fmt::format("{}/{}/unit_{}", folder, compiler, unit));
      on_gpu.push_back(std::make_unique<Side>(&gpu, image));
      in_terrace.push_back(std::make_unique<Side>(nullptr, image));
    }
    for (const u64 seed : seeds_of_unit(unit)) {
      std::vector<u64> digests;
      bool agree = true;
      for (u64 c = 0; c < compilers.size(); ++c) {
        RandomProgram program(seed), again(seed);
        Side &there = *on_gpu[c], &here = *in_terrace[c];
        there.run(program);
        here.run(again);
        digests.push_back(program.digest(there.memory));
        ++compared;
        if (digests.back() == again.digest(here.memory) && program.check(there.memory).passed) continue;
        agree = false;
        ++differences;
        fmt::print("seed {} by {}:{}\n", seed, compilers[c], difference(there, here));
      }
      if (!agree) continue;
      if (digests.front() == digests.back())
        hashes << fmt::format("{} {}\n", seed, hash_text(digests[0]));
      else
        fmt::print("seed {}: the compilers' codes give different results, each the same here and there\n", seed);
    }
  }
  fmt::print("kernels: {} compared from {} compilers, {} differences\n", compared, compilers.size(), differences);
  return differences;
}

u32 compare_workloads(Gpu& gpu, const std::string& folder, InputSize size) {
  u32 differences = 0;
  for (const Workload* workload : all_workloads()) {
    WorkloadRequest request;
    request.name = workload->info().name;
    request.size = size;
    request.slice = Fraction{Fraction::kOne};  // a GPU launches whole grids
    const auto params = resolve_params(request);
    const DeviceImage image = read_image(fmt::format("{}/{}", folder, workload->info().module));
    const auto on_gpu = workload->make(*params), here = workload->make(*params);
    Side there(&gpu, image), ours(nullptr, image);
    std::string verdict;
    try {
      there.run(*on_gpu);
      ours.run(*here);
      const CheckResult gpu_check = on_gpu->check(there.memory), our_check = here->check(ours.memory);
      if (!gpu_check.passed) verdict += " fails its check on the GPU: " + gpu_check.message;
      if (!our_check.passed) verdict += " fails its check here: " + our_check.message;
    } catch (const std::exception& error) {
      verdict += fmt::format(" stopped: {}", error.what());
    }
    const std::string bits = verdict.empty() ? difference(there, ours) : "";
    differences += !verdict.empty();
    fmt::print("workload {} at {}, {} launches:{}{}\n", request.name, kInputSizes[static_cast<u32>(size)],
               there.launches, verdict.empty() ? " passes its check on both," : verdict,
               !verdict.empty() ? ""
               : bits.empty()   ? " every bit the same"
                                : bits);
  }
  return differences;
}

u32 compare_waiting(Gpu& gpu) {
  u32 differences = 0;
  for (const WaitingKernel& kernel : waiting_kernels()) {
    const DeviceImage image{kernel.name + ".ptx", kernel.ptx, kernel.ptx};  // the driver compiles it
    const PtxProgramSpec spec{.ptx = kernel.ptx,
                              .buffers = {{"lock", 1}, {"count", 1}, {"out", u64{kernel.blocks} * kernel.threads}},
                              .numbers = {{}},
                              .blocks = kernel.blocks,
                              .threads = kernel.threads};
    PtxProgram on_gpu(spec), here(spec);
    Side there(&gpu, image), ours(nullptr, image);
    there.run(on_gpu);
    ours.run(here);
    const std::string bits = difference(there, ours);
    differences += !bits.empty();
    fmt::print("{}:{}\n", kernel.name, bits.empty() ? " every bit the same" : bits);
  }
  return differences;
}

}  // namespace terrace::real_gpu
