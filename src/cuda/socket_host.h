// A process that somebody else started and that attaches to the socket of `terrace serve`: the tenant begins with it and ends
// with it. Who connects and does not begin as a runtime library does is sent away.
// SPDX-License-Identifier: MIT
#pragma once

#include "cuda/connection.h"

namespace terrace::cuda {

class SocketHost final : public HostSource {
 public:
  /// Takes one process from the socket, which others may take from too.
  SocketHost(const Descriptor& listening, u32 patience_s) : listening_(listening), patience_s_(patience_s) {}

  std::unique_ptr<Connection> next() override;
  CheckResult outcome() const override { return {served_, served_ ? "it has detached" : "no program attached"}; }

 private:
  const Descriptor& listening_;
  u32 patience_s_;
  bool served_ = false;
};

}  // namespace terrace::cuda
