// Who attaches to the socket of `terrace serve`. Greetings are read as they come in, without waiting for any of them: whoever
// connects and says nothing, or half a greeting, keeps nobody waiting. Who has greeted as a runtime library does waits until
// one of the GPU's tenants is free, first come, first served. A client is that tenant from its greeting to its end.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/connection.h"
#include "frontend/visitors.h"

namespace terrace::cuda {

class Reception final : public Visitors {
 public:
  struct Setup {
    u32 tenants = 1;
    u64 clients = ~u64{0};  // in all
    u32 patience_s = 0;     // see Connection
    u32 idle_s = 0;         // without a client, after which nobody is waited for any more; 0: for ever
  };
  /// `listening` stays the caller's.
  Reception(const Descriptor& listening, Setup setup);

  /// Waits until `setup.clients` have greeted. They become tenants in the order of their command lines: whoever attaches first
  /// makes no difference, unless command lines are the same.
  void gather();
  /// Who has greeted and is no tenant yet.
  std::vector<std::string> waiting() const;

  std::vector<TenantId> admit(std::span<const TenantId> free) override;
  bool open() const override;
  void wait() override;

  /// The client that has just become the tenant; null when it was taken already.
  std::unique_ptr<Connection> take(TenantId tenant) { return std::move(tenants_[index(tenant)].connection); }
  /// The command line of who is the tenant, or was it last.
  const std::string& command(TenantId tenant) const { return tenants_[index(tenant)].command; }

 private:
  struct Greeter {
    Descriptor socket;
    std::vector<u8> bytes;  // of its greeting, so far
  };
  struct Client {
    std::unique_ptr<Connection> connection;
    std::string command;
  };
  enum class Greeting : u8 { kIncomplete, kGood, kBad };

  /// Takes in what has arrived; waits for something at most so long.
  void look(int milliseconds);
  void accept_one();
  static Greeting hear(Greeter& greeter);
  void listen_to(const std::vector<bool>& ready);

  const Descriptor& listening_;
  Setup setup_;
  std::deque<Greeter> greeters_;
  std::deque<Client> waiting_;
  std::vector<Client> tenants_;
  u64 admitted_ = 0;
  bool closed_ = false;  // it was idle for too long
};

/// The processes of a tenant: one at a time, each a visit.
class TenantHost final : public HostSource {
 public:
  TenantHost(Reception& reception, TenantId tenant) : reception_(reception), tenant_(tenant) {}

  std::unique_ptr<Connection> next() override { return reception_.take(tenant_); }
  CheckResult outcome() const override { return {true, ""}; }

 private:
  Reception& reception_;
  TenantId tenant_;
};

}  // namespace terrace::cuda
