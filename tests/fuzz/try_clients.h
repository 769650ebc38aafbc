// What the fuzz target of the protocol and its tests do with bytes: take them for what clients do at the socket of a server
// (src/cuda/reception.h), and serve them all. Whatever they send, in whatever parts, the server goes on, what it sends back is
// made of whole messages, and a client that comes after them gets the right answers; anything else is a defect of ours.
//
// A step is one byte for who does what, one for the call, two for a length, and so many bytes. A message gets its header here:
// in raw bytes most changes would end a client at once. Raw bytes arrive as they are, headers or none.
// SPDX-License-Identifier: MIT
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "cuda/cuda_program.h"
#include "cuda/reception.h"
#include "engine/check.h"
#include "frontend/functional_runner.h"

namespace terrace::cuda {

/// In a step's first byte: who, and what.
inline constexpr u32 kFuzzClients = 4;  // at a time
enum class Deed : u8 { kMessage = 0, kRaw = 1, kClose = 2, kLook = 3 };

/// One end of a socket at the server, as a hostile program may use it.
class FuzzClient {
 public:
  explicit FuzzClient(const std::string& path) : socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    SIM_CHECK(connect(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
              "cannot connect to {}: {}", path, std::strerror(errno));
  }

  void say(const void* from, u64 bytes) {
    const auto* first = static_cast<const u8*>(from);
    unsent_.insert(unsent_.end(), first, first + bytes);
  }
  void say(Call call, std::span<const u8> payload) {
    const Header header{static_cast<u32>(call), 0, payload.size()};
    say(&header, sizeof header);
    say(payload.data(), payload.size());
  }
  /// Goes without a word when all is sent, instead of listening to the end.
  void leave() { leaves_ = true; }
  /// What can be sent and received now.
  void work() {
    if (!socket_) return;
    const ssize_t sent = send(socket_.number(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) unsent_.erase(unsent_.begin(), unsent_.begin() + sent);
    if (sent < 0 && errno != EAGAIN) unsent_.clear();
    u8 part[65536];
    const ssize_t got = recv(socket_.number(), part, sizeof part, MSG_DONTWAIT);
    if (got > 0) heard_.insert(heard_.end(), part, part + got);
    if (got == 0 || (got < 0 && errno != EAGAIN)) socket_ = gone();
  }
  /// Nothing more will be said.
  void finish() {
    finished_ = true;
    end_if_all_is_sent();
  }
  void end_if_all_is_sent() {
    if (!finished_ || !socket_ || !unsent_.empty()) return;
    if (leaves_)
      socket_ = gone();
    else
      shutdown(socket_.number(), SHUT_WR);
  }
  pollfd waits() const { return {socket_.number(), static_cast<short>(POLLIN | (unsent_.empty() ? 0 : POLLOUT)), 0}; }
  bool over() const { return !socket_; }

  /// What the server has sent, taken apart; the last message may be cut short, all others are whole.
  std::vector<Message> heard() const {
    std::vector<Message> all;
    for (u64 at = 0; at + sizeof(Header) <= heard_.size();) {
      Header header;
      std::memcpy(&header, heard_.data() + at, sizeof header);
      SIM_CHECK(header.zero == 0 && header.bytes <= kMostPayloadBytes, "what the server sent is no message");
      at += sizeof header;
      if (header.bytes > heard_.size() - at) break;
      const auto first = heard_.begin() + static_cast<i64>(at);
      all.push_back({static_cast<Call>(header.call), {first, first + static_cast<i64>(header.bytes)}});
      SIM_CHECK(all.back().call >= Call::kAnswer && all.back().call <= Call::kPrinted, "the server sent a call");
      at += header.bytes;
    }
    return all;
  }
  /// How its calls ended.
  std::vector<Status> ends() const {
    std::vector<Status> all;
    for (const Message& message : heard())
      if (message.call == Call::kAnswer) all.push_back(static_cast<Status>(Reader(message.payload).u32()));
    return all;
  }

 private:
  static Descriptor gone() { return Descriptor(); }

  Descriptor socket_;
  std::vector<u8> unsent_, heard_;
  bool leaves_ = false, finished_ = false;
};

/// A server without the GPU: kernels run for some hundred instructions.
class FuzzServer {
 public:
  explicit FuzzServer(const std::string& path) : listening_(listen_at(path)) {}

  /// Takes in who has greeted.
  void look() {
    std::vector<TenantId> free;
    for (u32 tenant = 0; tenant < kTenants; ++tenant)
      if (!tenants_[tenant] || !tenants_[tenant]->busy) free.push_back(TenantId(tenant));
    for (const TenantId id : reception_.admit(free)) {
      std::unique_ptr<Tenant>& tenant = tenants_[index(id)];
      if (!tenant)
        tenant = std::make_unique<Tenant>(reception_, id);  // only now: most of a try's time is spent in making them
      tenant->begin();
    }
  }
  /// False when nobody is there.
  bool serve() {
    look();
    bool any = false;
    for (u32 tenant = 0; tenant < kTenants; ++tenant) {
      if (!tenants_[tenant] || !tenants_[tenant]->busy) continue;
      any = true;
      tenants_[tenant]->serve();
      if (tenants_[tenant]->faulted) tenants_[tenant].reset();
    }
    return any;
  }

 private:
  static constexpr u32 kTenants = 2;
  struct Tenant {
    Tenant(Reception& reception, TenantId id)
        : program(std::make_unique<TenantHost>(reception, id), setup(), memory, machine) {}
    static HostSession::Setup setup() {
      HostSession::Setup setup;
      setup.device = {"fuzz", u64{4} << 20, 4, 32, 64, 32, 65536, 98304, 1000, 1 << 20};
      return setup;
    }
    void begin() {
      program.initialise(memory);
      busy = true;
    }
    void serve() {
      const LaunchBatch batch = next_batch(program, memory);
      for (const Launch& launch : batch.launches) {
        if (launch.action) {
          launch.action(memory, 7);
          continue;
        }
        try {
          FunctionalRunner(machine, {.resident_blocks = 1, .instruction_limit = 400, .count = false}).run(launch);
        } catch (const InputError& error) {
          program.stopped(memory, error.what());
          faulted = true;  // the GPU would end the blocks that are left; here the tenant is made anew
          return;
        }
      }
      if (!batch.last) return;
      program.check(memory);
      busy = false;
    }
    GuestMemory memory{PageSize::k4K, u64{64} << 20};  // little: nothing here may ask for much and get it
    ptx::Machine machine{memory};
    CudaProgram program;
    bool busy = false, faulted = false;
  };

  Descriptor listening_;
  Reception reception_{listening_, {.tenants = kTenants}};
  std::array<std::unique_ptr<Tenant>, kTenants> tenants_;
};

/// All clients of one try, in the order in which they came.
class Crowd {
 public:
  explicit Crowd(std::string path) : path_(std::move(path)) {}

  FuzzClient& come() {
    all_.push_back(std::make_unique<FuzzClient>(path_));
    return *all_.back();
  }
  u64 size() const { return all_.size(); }
  void work() {
    for (const auto& client : all_) client->work();
  }
  /// Until the server has closed every one of them, which it must.
  void finish() {
    for (const auto& client : all_) client->finish();
    while (true) {
      std::vector<pollfd> waiting;
      for (const auto& client : all_)
        if (!client->over()) waiting.push_back(client->waits());
      if (waiting.empty()) return;
      poll(waiting.data(), waiting.size(), 100);
      for (const auto& client : all_) {
        if (client->over()) continue;
        client->work();
        client->end_if_all_is_sent();
      }
    }
  }
  const std::vector<std::unique_ptr<FuzzClient>>& all() const { return all_; }

 private:
  std::string path_;
  std::vector<std::unique_ptr<FuzzClient>> all_;
};

/// The script of a try, step by step; the server takes in greetings in its midst.
inline void perform(std::span<const u8> bytes, Crowd& crowd, FuzzServer& server) {
  constexpr u64 kMostClients = 16;
  std::array<FuzzClient*, kFuzzClients> present{};
  while (bytes.size() >= 4) {
    const u32 who = bytes[0] % kFuzzClients;
    const auto deed = static_cast<Deed>(bytes[0] / kFuzzClients % 4);
    const u64 length = std::min<u64>(u64{bytes[2]} | u64{bytes[3]} << 8, bytes.size() - 4);
    const auto payload = bytes.subspan(4, length);
    if (deed == Deed::kLook) {
      crowd.work();
      server.look();
    } else if (present[who] == nullptr && deed != Deed::kClose && crowd.size() < kMostClients) {
      present[who] = &crowd.come();
    }
    if (present[who] != nullptr) {
      if (deed == Deed::kMessage) present[who]->say(static_cast<Call>(bytes[1]), payload);
      if (deed == Deed::kRaw) present[who]->say(payload.data(), payload.size());
      if (deed == Deed::kClose) std::exchange(present[who], nullptr)->leave();
    }
    bytes = bytes.subspan(4 + length);
  }
}

/// What a client that keeps to the rules says: it gets its own bytes back, whoever came before.
inline void be_honest(FuzzClient& client) {
  const std::string text = "what one client wrote";
  const Area area{GuestMemory::kBase, text.size(), text.size(), 1};
  const auto say = [&client](Call call, const Writer& fields = {}) { client.say(call, fields.bytes()); };
  say(Call::kHello, Writer().u32(kProtocolVersion).u32(1));
  say(Call::kAllocate, Writer().u64(100));
  say(Call::kRead, Writer().area(area).u64(0).u32(1).u64(0));
  say(Call::kWrite, Writer().area(area).u64(0).text(text));
  say(Call::kRead, Writer().area(area).u64(0).u32(1).u64(0));
  say(Call::kGoodbye);
}
inline void check_honest(const FuzzClient& client) {
  constexpr u64 kBytes = 21;
  const std::vector<Message> heard = client.heard();
  SIM_CHECK(heard.size() == 6, "an honest client got {} answers", heard.size());
  for (u64 i = 0; i < heard.size(); ++i) {
    Reader answer(heard[i].payload);
    SIM_CHECK(heard[i].call == Call::kAnswer && answer.u32() == 0, "call {} of an honest client failed", i);
    if (i != 2 && i != 4) continue;
    answer.text();
    Reader fields(answer.data());
    const std::string got = fields.text();
    SIM_CHECK(got == (i == 2 ? std::string(kBytes, '\0') : "what one client wrote"), "an honest client read \"{}\"",
              got);
  }
}

/// How the calls of each client ended; the honest one is not among them.
inline std::vector<std::vector<Status>> try_clients(std::span<const u8> bytes) {
  const std::string path = fmt::format("/tmp/terrace_clients_{}", getpid());
  unlink(path.c_str());
  Crowd crowd(path);
  {
    FuzzServer server(path);
    perform(bytes, crowd, server);
    be_honest(crowd.come());
    std::atomic<bool> over = false;
    std::thread others([&] {
      crowd.finish();
      over = true;
    });
    while (!over)
      if (!server.serve()) std::this_thread::yield();
    others.join();
  }
  unlink(path.c_str());
  std::vector<std::vector<Status>> ends;
  for (const auto& client : crowd.all()) ends.push_back(client->ends());
  check_honest(*crowd.all().back());
  ends.pop_back();
  return ends;
}

}  // namespace terrace::cuda
