// What the fuzz target of the protocol and its tests do with bytes: take them for what clients do at the socket of a server
// (src/cuda/reception.h), and serve them all. Whatever they send, in whatever parts, the server goes on, what it sends back is
// made of whole messages, and a client that comes after them gets the right answers; anything else is a defect of ours.
//
// A step is one byte for who does what, one for the call, two for a length, and so many bytes. A message gets its header here:
// in raw bytes most changes would end a client at once. Raw bytes arrive as they are, headers or none. What a client says may be
// cut into parts, each of which is sent when the server has read the one before: so reads end within headers and payloads.
// How messages are taken from a socket is compared with what should come out in try_framing.h.
// SPDX-License-Identifier: MIT
#pragma once

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
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
enum class Deed : u8 {
  kMessage = 0,
  kRaw,
  kClose,  // when all is sent
  kLook,
  kLie,     // a header that says something else than what follows: the step's second byte says what
  kParts,   // of as many bytes as the step's second byte says; 0: all at once
  kShut,    // hears nothing more (odd), or says nothing more after this
  kVanish,  // at once, whatever is not sent yet
};
inline constexpr u32 kDeeds = 8;

/// A header that lies: about the length of what follows, or with a field that is not zero.
inline Header lying_header(u8 how, Call call, u64 bytes) {
  Header header{static_cast<u32>(call), 0, bytes};
  switch (how % 8) {
    case 0:
      header.bytes = bytes + 1 + how / 8;
      break;
    case 1:
      header.bytes = bytes - std::min<u64>(bytes, 1 + how / 8);
      break;
    case 2:
      header.bytes = kMostPayloadBytes;
      break;
    case 3:
      header.bytes = kMostPayloadBytes + 1;
      break;
    case 4:
      header.bytes = ~u64{0} - how / 8;
      break;
    case 5:
      header.bytes = u64{1} << (how / 8 + 32);
      break;
    case 6:
      header.zero = 1u << how / 8;
      break;
    case 7:
      header.call |= 0x100u << how % 24;
      break;
  }
  return header;
}

/// Whether the other end has taken all that was sent.
inline bool all_is_read(const Descriptor& socket) {
  int unread = 0;
  return ioctl(socket.number(), SIOCOUTQ, &unread) != 0 || unread == 0;
}

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
  /// From now on, and for what is not sent yet. 0: all at once.
  void say_in_parts_of(u32 bytes) { part_bytes_ = bytes; }
  /// Closes this end at once.
  void vanish() { socket_ = gone(); }
  /// The server cannot send to it any more.
  void hear_no_more() {
    if (socket_) shutdown(socket_.number(), SHUT_RD);
    deaf_ = leaves_ = true;
  }
  /// What can be sent and received now.
  void work() {
    if (!socket_) return;
    if (!in_parts() || all_is_read(socket_)) {
      const u64 most = in_parts() ? std::min<u64>(part_bytes_, unsent_.size()) : unsent_.size();
      const ssize_t sent = send(socket_.number(), unsent_.data(), most, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) {
        said_.insert(said_.end(), unsent_.begin(), unsent_.begin() + sent);
        unsent_.erase(unsent_.begin(), unsent_.begin() + sent);
        ++parts_;
      }
      if (sent < 0 && errno != EAGAIN) unsent_.clear();
    }
    if (deaf_) return;
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
  /// Waits for the server to read, which nothing tells.
  bool in_parts() const { return part_bytes_ != 0 && parts_ < kMostParts && !unsent_.empty(); }
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
  /// How many messages it has sent, up to the first thing that is none.
  u64 messages_said() const {
    u64 count = 0;
    for (u64 at = 0; at + sizeof(Header) <= said_.size(); ++count) {
      Header header;
      std::memcpy(&header, said_.data() + at, sizeof header);
      at += sizeof header;
      if (header.zero != 0 || header.bytes > said_.size() - at) break;
      at += header.bytes;
    }
    return count;
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

  static constexpr u64 kMostParts = 400;  // of one client: then all at once, for the sake of time

  Descriptor socket_;
  std::vector<u8> unsent_, said_, heard_;
  u64 part_bytes_ = 0, parts_ = 0;
  bool leaves_ = false, finished_ = false, deaf_ = false;
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
    for (const auto& client : all_) {
      client->work();
      client->end_if_all_is_sent();
    }
  }
  /// Until the server has closed every one of them, which it must.
  void finish() {
    for (const auto& client : all_) client->finish();
    while (true) {
      std::vector<pollfd> waiting;
      bool in_parts = false;
      for (const auto& client : all_) {
        if (client->over()) continue;
        waiting.push_back(client->waits());
        in_parts |= client->in_parts();
      }
      if (waiting.empty()) return;
      poll(waiting.data(), waiting.size(), in_parts ? 0 : 100);
      if (in_parts) std::this_thread::yield();
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

/// One step of a client; null afterwards when it has gone.
inline void act(Deed deed, u8 how, std::span<const u8> payload, FuzzClient*& client) {
  switch (deed) {
    case Deed::kMessage:
      client->say(static_cast<Call>(how), payload);
      break;
    case Deed::kRaw:
      client->say(payload.data(), payload.size());
      break;
    case Deed::kClose:
      std::exchange(client, nullptr)->leave();
      break;
    case Deed::kLook:
      break;
    case Deed::kLie: {
      const Header header = lying_header(how, Call::kAllocate, payload.size());
      client->say(&header, sizeof header);
      client->say(payload.data(), payload.size());
      break;
    }
    case Deed::kParts:
      client->say_in_parts_of(how);
      break;
    case Deed::kShut:
      if (how % 2 == 1)
        client->hear_no_more();
      else
        client->finish();
      break;
    case Deed::kVanish:
      std::exchange(client, nullptr)->vanish();
      break;
  }
}

/// The script of a try, step by step; the server takes in greetings in its midst.
inline void perform(std::span<const u8> bytes, Crowd& crowd, FuzzServer& server) {
  constexpr u64 kMostClients = 16;
  std::array<FuzzClient*, kFuzzClients> present{};
  while (bytes.size() >= 4) {
    const u32 who = bytes[0] % kFuzzClients;
    const auto deed = static_cast<Deed>(bytes[0] / kFuzzClients % kDeeds);
    const u64 length = std::min<u64>(u64{bytes[2]} | u64{bytes[3]} << 8, bytes.size() - 4);
    const auto payload = bytes.subspan(4, length);
    if (deed == Deed::kLook) {
      crowd.work();
      server.look();
    } else if (present[who] == nullptr && deed != Deed::kClose && deed != Deed::kVanish &&
               crowd.size() < kMostClients) {
      present[who] = &crowd.come();
    }
    if (present[who] != nullptr) act(deed, bytes[1], payload, present[who]);
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
  for (const auto& client : crowd.all()) {
    ends.push_back(client->ends());
    SIM_CHECK(ends.back().size() <= client->messages_said(), "{} answers to {} messages", ends.back().size(),
              client->messages_said());
  }
  check_honest(*crowd.all().back());
  ends.pop_back();
  return ends;
}

}  // namespace terrace::cuda
