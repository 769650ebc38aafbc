// One end of a Unix socket that carries messages (protocol.h), and who connects to it: a process that the simulator
// starts, or whoever attaches to a server. Waiting for the other end is done in real time; the simulated machine stands
// still meanwhile, so that no result depends on how fast a process is.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cuda/host_session.h"

namespace terrace::cuda {

/// A file descriptor with an owner.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();
  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

class Connection {
 public:
  /// What an interrupt of the simulator does: it ends the run with an exception, or only this connection.
  enum class OnInterrupt : u8 { kThrow, kLose };
  /// `patience_s` seconds without a byte are taken for a process that hangs; 0: for ever. `greeting` is what it has said
  /// already.
  Connection(Descriptor socket, u32 patience_s, OnInterrupt on_interrupt = OnInterrupt::kThrow,
             std::optional<Message> greeting = {})
      : greeting_(std::move(greeting)),
        socket_(std::move(socket)),
        patience_s_(patience_s),
        on_interrupt_(on_interrupt) {}

  /// The next message; nothing when the other end has gone, hangs or says what is no message. `why` says which.
  std::optional<Message> receive();
  /// False when the other end has gone.
  bool send(const Message& message);
  const std::string& why() const { return why_; }

 private:
  bool receive(void* to, u64 bytes);
  bool goes_on();

  std::optional<Message> greeting_;
  Descriptor socket_;
  u32 patience_s_;
  OnInterrupt on_interrupt_;
  std::string why_;
};

/// Where a tenant's processes come from.
class HostSource {
 public:
  virtual ~HostSource() = default;
  /// Waits for the next process; null when there will be none.
  virtual std::unique_ptr<Connection> next() = 0;
  /// What became of it, when there is no next one.
  virtual CheckResult outcome() const = 0;
};

/// Listens on a socket that only its user can connect to. A path that exists is the user's error.
Descriptor listen_at(const std::string& path);
/// The next process that connects, if it belongs to the same user; otherwise it is sent away.
Descriptor accept_own(const Descriptor& listening);

}  // namespace terrace::cuda
