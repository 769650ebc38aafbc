// Runs the host side of a program with a real GPU in the simulator's place: what the host writes is sent there before
// each launch, what the kernels leave is fetched after it, so that the host decides and checks as it always does.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <span>

#include "frontend/ptx/read/module.h"
#include "real_gpu/cuda_driver.h"

namespace terrace::real_gpu {

/// What somebody wants to hear of a run.
struct GpuListener {
  std::function<void(Gpu::Address to, std::span<const u8> what)> uploaded;
  std::function<void(const Launch&)> launching;  // about to begin, with the GPU's own addresses
  bool host_reads = true;                        // false: the host never reads what kernels leave
};

class GpuRunner {
 public:
  /// `memory` holds the module's variables already, as a PTX machine places them, and nothing else.
  GpuRunner(Gpu& gpu, const ptx::Module& module, const std::string& image, GuestMemory& memory);
  ~GpuRunner();
  GpuRunner(const GpuRunner&) = delete;
  GpuRunner& operator=(const GpuRunner&) = delete;

  /// A program that has allocated its buffers, those of the memory from `first_buffer` on: initialise, every launch, not
  /// the check.
  void run(Program& program, u64 first_buffer, const GpuListener& listener = {});
  u64 launches() const { return launches_; }

  struct Extent {
    Gpu::Address first;
    u64 bytes;
  };
  /// Everything that kernels of the program can change.
  std::vector<Extent> extents() const;
  Gpu::Module* module() const { return module_; }

 private:
  struct Piece {
    u64 bytes;
    Gpu::Address address;  // on the GPU; 0: it has none
    bool variable;
  };
  void send(u64 first, u64 bytes, const GpuListener& listener);
  void fetch();
  void release_buffers();
  Launch relocated(Launch launch) const;

  Gpu& gpu_;
  GuestMemory& memory_;
  Gpu::Module* module_;
  std::map<u64, Piece> pieces_;  // by the guest's address
  u64 launches_ = 0;
};

}  // namespace terrace::real_gpu
