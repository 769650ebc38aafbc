// A command that the simulator starts with the runtime library of Terrace in place of NVIDIA's. It, and whatever it starts, is
// one tenant: processes that use CUDA one after the other follow each other on the GPU. When the command has ended, so
// has the tenant.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "cuda/connection.h"

namespace terrace::cuda {

class ProcessHost final : public HostSource {
 public:
  struct Setup {
    std::vector<std::string> command;
    std::string library_folder;  // where libcudart.so.* lie
    std::string socket;          // a path for the tenant's socket
    u32 patience_s = 0;
  };
  /// Starts the command. One that cannot be started is an InputError.
  explicit ProcessHost(Setup setup);
  /// Ends it, if it still runs.
  ~ProcessHost() override;

  std::unique_ptr<Connection> next() override;
  CheckResult outcome() const override;

 private:
  void reap(bool kill_it);

  Setup setup_;
  Descriptor listening_, process_;
  pid_t pid_ = -1;
  int status_ = 0;
  bool ended_ = false, hung_ = false;
};

}  // namespace terrace::cuda
