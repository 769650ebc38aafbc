// Tenants with kernels of their own, written as PTX in a test: memory, machine, and a host side that launches one
// kernel over some buffers, once or several times.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frontend/ptx/execute/machine.h"
#include "frontend/ptx/read/parser.h"
#include "gpu/gpu.h"

namespace terrace {

struct PtxBuffer {
  std::string name;
  u64 words = 0;
  u32 value = 0;  // in each word, at the beginning
  Permission permission = Permission::kReadWrite;
};

/// Kernel `k` gets the addresses of its buffers, then the numbers of each launch.
struct PtxProgramSpec {
  std::string ptx;
  std::vector<PtxBuffer> buffers;
  std::vector<std::vector<u64>> numbers;
  u32 blocks = 1, threads = 32;
  /// Changes a launch, given its number, before it is issued.
  std::function<void(Launch&, u64)> adjust = {};
};

class PtxProgram final : public Program {
 public:
  explicit PtxProgram(PtxProgramSpec spec) : spec_(std::move(spec)) {}
  void allocate(GuestMemory& memory) override {
    for (const PtxBuffer& buffer : spec_.buffers) {
      buffers_.emplace_back(memory, buffer.name, buffer.words, buffer.permission);
    }
  }
  void initialise(GuestMemory& memory) override {
    for (u32 i = 0; i < buffers_.size(); ++i) {
      const auto words = buffers_[i].write(memory);
      std::fill(words.begin(), words.end(), spec_.buffers[i].value);
    }
    launched_ = 0;
  }
  std::optional<Launch> next(GuestMemory&) override {
    if (launched_ == spec_.numbers.size()) return std::nullopt;
    Launch launch;
    launch.kernel = "k";
    launch.grid = {spec_.blocks};
    launch.block = {spec_.threads};
    for (const Buffer<u32>& buffer : buffers_) launch.argument(buffer);
    for (const u64 number : spec_.numbers[launched_]) launch.argument(number);
    if (spec_.adjust) spec_.adjust(launch, launched_);
    ++launched_;
    return launch;
  }
  CheckResult check(const GuestMemory&) const override { return {true, ""}; }
  void archive(Archive& a) override { a(launched_); }
  const Buffer<u32>& buffer(u32 number) const { return buffers_[number]; }

 private:
  PtxProgramSpec spec_;
  std::vector<Buffer<u32>> buffers_;
  u64 launched_ = 0;
};

struct PtxTenant {
  PtxTenant(const GpuConfig& config, const std::string& file, const PtxProgramSpec& spec)
      : memory(PageSize(config.pages.bytes)),
        machine(ptx::parse_module(file, spec.ptx, ptx::warp_size_of(config.sm.warp_width)), memory,
                {config.sm.warp_width}),
        program(spec) {
    program.allocate(memory);
  }
  std::vector<u32> words(u32 buffer) const {
    const auto all = program.buffer(buffer).read(memory);
    return {all.begin(), all.end()};
  }

  GuestMemory memory;
  ptx::Machine machine;
  PtxProgram program;
};

}  // namespace terrace
