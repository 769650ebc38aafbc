// SPDX-License-Identifier: MIT
#include "cuda/reception.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "engine/check.h"
#include "engine/interrupt.h"

namespace terrace::cuda {
namespace {

// Chosen: more than a user starts at once, and few enough for the usual limit of 1024 open files.
constexpr u64 kMostGreeters = 256, kMostWaiting = 256;
constexpr u64 kMostGreetingBytes = 256;  // a greeting of another version may be longer than ours

/// The command line of the process at the other end, for a person; empty if it has gone.
std::string command_of(const Descriptor& socket) {
  ucred who{};
  socklen_t size = sizeof who;
  if (getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return "";
  std::ifstream file(fmt::format("/proc/{}/cmdline", who.pid), std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& letter : text) {
    if (letter == '\0') letter = ' ';
    if (std::iscntrl(static_cast<unsigned char>(letter)) != 0) letter = '?';
  }
  constexpr size_t kMostLetters = 200;  // of a line in a table
  if (text.size() > kMostLetters) text.resize(kMostLetters);
  return text;
}

}  // namespace

Reception::Reception(const Descriptor& listening, Setup setup)
    : listening_(listening), setup_(setup), tenants_(setup.tenants) {}

void Reception::gather() {
  while (waiting_.size() < setup_.clients) {
    check_interrupt();
    look(100);
  }
  std::stable_sort(waiting_.begin(), waiting_.end(),
                   [](const Client& a, const Client& b) { return a.command < b.command; });
}

std::vector<std::string> Reception::waiting() const {
  std::vector<std::string> all;
  for (const Client& client : waiting_) all.push_back(client.command);
  return all;
}

bool Reception::open() const {
  return !closed_ && admitted_ < setup_.clients && !interrupted();
}

std::vector<TenantId> Reception::admit(std::span<const TenantId> free) {
  look(0);
  std::vector<TenantId> coming;
  for (const TenantId tenant : free) {
    if (waiting_.empty() || !open()) break;
    tenants_[index(tenant)] = std::move(waiting_.front());
    waiting_.pop_front();
    ++admitted_;
    coming.push_back(tenant);
  }
  return coming;
}

void Reception::wait() {
  const auto since = std::chrono::steady_clock::now();
  while (open() && waiting_.empty()) {
    look(100);
    const auto waited = std::chrono::steady_clock::now() - since;
    closed_ = setup_.idle_s != 0 && waiting_.empty() && waited > std::chrono::seconds(setup_.idle_s);
  }
}

void Reception::look(int milliseconds) {
  std::vector<pollfd> all;
  for (const Greeter& greeter : greeters_) all.push_back({greeter.socket.number(), POLLIN, 0});
  if (waiting_.size() < kMostWaiting) all.push_back({listening_.number(), POLLIN, 0});
  if (poll(all.data(), all.size(), milliseconds) <= 0) return;
  std::vector<bool> ready;
  for (size_t i = 0; i < greeters_.size(); ++i) ready.push_back(all[i].revents != 0);
  const bool somebody = all.size() > greeters_.size() && all.back().revents != 0;
  listen_to(ready);
  if (somebody) accept_one();
}

void Reception::listen_to(const std::vector<bool>& ready) {
  std::deque<Greeter> still;
  for (size_t i = 0; i < ready.size(); ++i) {
    Greeter& greeter = greeters_[i];
    const Greeting heard = ready[i] ? hear(greeter) : Greeting::kIncomplete;
    if (heard == Greeting::kIncomplete) still.push_back(std::move(greeter));
    if (heard != Greeting::kGood) continue;
    std::string command = command_of(greeter.socket);
    Message greeting{Call::kHello, {greeter.bytes.begin() + sizeof(Header), greeter.bytes.end()}};
    waiting_.push_back({std::make_unique<Connection>(std::move(greeter.socket), setup_.patience_s,
                                                     Connection::OnInterrupt::kLose, std::move(greeting)),
                        std::move(command)});
  }
  greeters_ = std::move(still);
}

/// Whoever has kept silent for longest goes when there are too many.
void Reception::accept_one() {
  if (greeters_.size() >= kMostGreeters) greeters_.pop_front();
  Descriptor accepted = accept_own(listening_);
  if (accepted)
    greeters_.push_back({std::move(accepted), {}});
  else if (!greeters_.empty() && (errno == EMFILE || errno == ENFILE))
    greeters_.pop_front();
}

/// Reads what is there, and never beyond the greeting: the rest is the session's.
Reception::Greeting Reception::hear(Greeter& greeter) {
  std::vector<u8>& bytes = greeter.bytes;
  while (true) {
    Header header;
    u64 whole = sizeof header;
    if (bytes.size() >= sizeof header) {
      std::memcpy(&header, bytes.data(), sizeof header);
      const bool greets = header.call == static_cast<u32>(Call::kHello) && header.zero == 0;
      if (!greets || header.bytes > kMostGreetingBytes) return Greeting::kBad;
      whole += header.bytes;
      if (bytes.size() == whole) return Greeting::kGood;
    }
    const u64 had = bytes.size();
    bytes.resize(whole);
    const ssize_t count = recv(greeter.socket.number(), bytes.data() + had, whole - had, MSG_DONTWAIT);
    const int error = errno;
    bytes.resize(had + static_cast<u64>(std::max<ssize_t>(count, 0)));
    if (count < 0 && error == EINTR) continue;
    if (count < 0 && (error == EAGAIN || error == EWOULDBLOCK)) return Greeting::kIncomplete;
    if (count <= 0) return Greeting::kBad;
  }
}

}  // namespace terrace::cuda
