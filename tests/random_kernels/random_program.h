// A random kernel as a program: its inputs, its one launch, and a hash of what it leaves.
// SPDX-License-Identifier: MIT
#pragma once

#include "random_kernels/generator.h"

namespace terrace::random_kernels {

class RandomProgram final : public Program {
 public:
  explicit RandomProgram(u64 seed);

  void allocate(GuestMemory& memory) override;
  void initialise(GuestMemory& memory) override;
  std::optional<Launch> next(GuestMemory&) override;
  CheckResult check(const GuestMemory& memory) const override;
  void archive(Archive& a) override { a(launched_); }

  /// Of the threads' rows and the sums.
  u64 digest(const GuestMemory& memory) const;
  Dim3 grid() const { return kernel_.grid; }
  Dim3 block() const { return kernel_.block; }

 private:
  u64 seed_;
  RandomKernel kernel_;
  Buffer<u64> in_, out_, sums_;
  bool launched_ = false;
};

}  // namespace terrace::random_kernels
