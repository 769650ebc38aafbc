// A tenant whose host side is a process of its own: the program (frontend/program.h) that serves it. Each execution of the program
// begins with nothing of the processes of earlier ones. While the process works,
// the simulated machine stands still; what it issues begins when it waits. So the same processes give the same results, however
// fast they are.
// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "cuda/connection.h"
#include "cuda/host_session.h"
#include "frontend/program.h"
#include "frontend/ptx/execute/machine.h"

namespace terrace::cuda {

class CudaProgram final : public Program {
 public:
  CudaProgram(std::unique_ptr<HostSource> source, HostSession::Setup setup, GuestMemory& memory, ptx::Machine& machine)
      : source_(std::move(source)), session_(std::move(setup), memory, machine) {}

  void allocate(GuestMemory&) override {}
  void initialise(GuestMemory&) override;
  std::optional<Launch> next(GuestMemory&) override;
  CheckResult check(const GuestMemory&) const override;
  void stopped(GuestMemory&, const std::string& fault) override;
  void archive(Archive&) override;

  u64 code_hash() const { return session_.code_hash(); }
  u64 launches() const { return session_.launches(); }

 private:
  enum class Served : u8 { kIssues, kNoMore };
  Served serve();
  void lose();
  std::optional<Launch> next_issued();

  std::unique_ptr<HostSource> source_;
  HostSession session_;
  std::unique_ptr<Connection> connection_;
  std::optional<Message> message_;  // waits for an answer
  std::deque<Launch> issue_;
  std::string lost_;  // why a process was given up
};

/// What a fault is called in CUDA.
Status status_of_fault(const std::string& fault);

}  // namespace terrace::cuda
