// SPDX-License-Identifier: MIT
#include "cuda/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "engine/check.h"
#include "engine/interrupt.h"

namespace terrace::cuda {

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

bool Connection::receive(void* to, u64 bytes) {
  auto since = std::chrono::steady_clock::now();
  for (u64 got = 0; got < bytes;) {
    pollfd waiting{socket_.number(), POLLIN, 0};
    const int ready = poll(&waiting, 1, 100);
    if (!goes_on()) return false;
    if (ready == 0 || (ready < 0 && errno == EINTR)) {
      const auto waited = std::chrono::steady_clock::now() - since;
      if (patience_s_ != 0 && waited > std::chrono::seconds(patience_s_)) {
        why_ = fmt::format("its process made no call for {} s", patience_s_);
        return false;
      }
      continue;
    }
    const ssize_t count = recv(socket_.number(), static_cast<u8*>(to) + got, bytes - got, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      why_ = "its process ended without detaching";
      return false;
    }
    got += static_cast<u64>(count);
    since = std::chrono::steady_clock::now();
  }
  return true;
}

bool Connection::goes_on() {
  if (on_interrupt_ == OnInterrupt::kThrow) check_interrupt();
  if (interrupted()) why_ = "the server was ended";
  return !interrupted();
}

std::optional<Message> Connection::receive() {
  if (greeting_) return std::exchange(greeting_, std::nullopt);
  Header header;
  if (!receive(&header, sizeof header)) return std::nullopt;
  if (header.zero != 0 || header.bytes > kMostPayloadBytes) {
    why_ = "its process sent something that is not a message";
    return std::nullopt;
  }
  Message message{static_cast<Call>(header.call), {}};
  // In parts, so that memory is taken only for what is really sent.
  constexpr u64 kPart = u64{1} << 20;
  for (u64 at = 0; at < header.bytes; at += kPart) {
    const u64 count = std::min(kPart, header.bytes - at);
    message.payload.resize(at + count);
    if (!receive(message.payload.data() + at, count)) return std::nullopt;
  }
  return message;
}

bool Connection::send(const Message& message) {
  const Header header{static_cast<u32>(message.call), 0, message.payload.size()};
  const auto all = [&](const void* from, u64 bytes) {
    auto since = std::chrono::steady_clock::now();
    for (u64 sent = 0; sent < bytes;) {
      pollfd waiting{socket_.number(), POLLOUT, 0};
      const int ready = poll(&waiting, 1, 100);
      if (!goes_on()) return false;
      if (ready <= 0) {
        const auto waited = std::chrono::steady_clock::now() - since;
        if (patience_s_ != 0 && waited > std::chrono::seconds(patience_s_)) return false;
        continue;
      }
      const ssize_t count =
          ::send(socket_.number(), static_cast<const u8*>(from) + sent, bytes - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (count <= 0) return false;
      sent += static_cast<u64>(count);
      since = std::chrono::steady_clock::now();
    }
    return true;
  };
  const bool sent = all(&header, sizeof header) && all(message.payload.data(), message.payload.size());
  if (!sent && why_.empty()) why_ = "its process ended without detaching";
  return sent;
}

Descriptor listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    input_error("the name of the socket {} is too long; give a path of at most {} characters", path,
                sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, path.data(), path.size());
  Descriptor listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const mode_t before = umask(0177);  // no moment in which others could connect
  const bool bound =
      listening && bind(listening.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int error = errno;
  umask(before);
  if (!bound || listen(listening.number(), 64) != 0)
    input_error(
        "cannot listen on the socket {}: {}; give a path that does not exist, in a folder that you can write to", path,
        std::strerror(bound ? errno : error));
  return listening;
}

Descriptor accept_own(const Descriptor& listening) {
  Descriptor accepted(accept4(listening.number(), nullptr, nullptr, SOCK_CLOEXEC));
  ucred who{};
  socklen_t size = sizeof who;
  const bool own =
      accepted && getsockopt(accepted.number(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == geteuid();
  return own ? std::move(accepted) : Descriptor();
}

}  // namespace terrace::cuda
