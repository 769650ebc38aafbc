// terrace serve: programs that attach to a socket, come, go, die and misbehave.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cuda/protocol.h"
#include "support/fat_binary.h"
#include "support/program.h"
#include "support/scratch.h"
#include "text/tree.h"

namespace terrace {
namespace {

using cuda::Call;
using cuda::Reader;
using cuda::Status;
using cuda::Writer;
using Words = std::vector<std::string>;

void sleep_ms(u64 milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

/// A server, and programs that attach to it.
class Served {
 public:
  explicit Served(const Words& options) : server_(terrace_program(), words(options), scratch.path().string()) {
    for (int i = 0; i < 2000 && !listens(); ++i) sleep_ms(10);
  }
  std::unique_ptr<Child> attach(const std::string& arguments) const {
    const std::string libraries = std::filesystem::path(terrace_program()).parent_path().string() + "/cudart";
    const std::string command = "LD_LIBRARY_PATH=" + libraries + " TERRACE_SOCKET=" + socket() + " exec " +
                                build_folder() + "/tests/cuda/api_zstd " + arguments;
    return std::make_unique<Child>("/bin/sh", Words{"-c", command}, scratch.path().string());
  }
  void signal(int number) { server_.signal(number); }
  Outcome wait() { return server_.wait(); }
  std::string socket() const { return (scratch.path() / "s").string(); }
  /// What became of the clients; after the end.
  Tree result() const { return read_json((scratch.path() / "r.json").string()); }
  std::vector<Tree> clients() const { return result().find("clients")->items(); }
  std::string digest() const { return result().find("run")->find("digest")->text(); }

  const Scratch scratch;

 private:
  /// Its socket is there a moment before it listens, and who connects in that moment is refused.
  bool listens() const {
    const std::string accepts = " 00010000 ";  // flags of a socket that listens
    std::ifstream sockets("/proc/net/unix");
    for (std::string line; std::getline(sockets, line);)
      if (line.ends_with(" " + socket()) && line.find(accepts) != std::string::npos) return true;
    return false;
  }
  Words words(const Words& options) const {
    Words all{"serve", "--gpu", "dws_30sm", "--quiet", "--socket", socket(), "--json", "r.json"};
    all.insert(all.end(), options.begin(), options.end());
    return all;
  }
  Child server_;
};

/// Speaks the protocol by itself, and may speak it wrongly.
class RawClient {
 public:
  explicit RawClient(const Served& served) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, served.socket().c_str());
    EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~RawClient() { leave(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void leave() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }
  void send(const std::string& bytes) const {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  struct Reply {
    Status status{};
    std::vector<u8> fields;
    Reader reader() const { return Reader(fields); }
  };
  Reply ask(Call call, const Writer& fields = {}) const {
    say(call, fields);
    return answer();
  }
  void send_greeting() const { say(Call::kHello, Writer().u32(cuda::kProtocolVersion).u32(1)); }
  void greet() const {
    send_greeting();
    EXPECT_EQ(answer().status, Status::kSuccess);
  }
  u64 allocate(u64 bytes) const { return ask(Call::kAllocate, Writer().u64(bytes)).reader().u64(); }
  Status write(u64 address, const std::string& text) const {
    return ask(Call::kWrite, Writer().area(row(address, text.size())).u64(0).text(text)).status;
  }
  /// Empty when the server refuses.
  std::string read(u64 address, u64 bytes) const {
    const Reply reply = ask(Call::kRead, Writer().area(row(address, bytes)).u64(0).u32(1).u64(0));
    return reply.status == Status::kSuccess ? reply.reader().text() : "";
  }
  static cuda::Area row(u64 first, u64 bytes) { return {first, bytes, bytes, 1}; }
  /// The next one.
  Reply answer() const {
    while (true) {
      cuda::Header header;
      if (!receive(&header, sizeof header)) return {Status::kNoDevice, {}};
      std::vector<u8> payload(header.bytes);
      if (!receive(payload.data(), payload.size())) return {Status::kNoDevice, {}};
      if (header.call != static_cast<u32>(Call::kAnswer)) continue;
      Reader reader(payload);
      const auto status = static_cast<Status>(reader.u32());
      reader.text();
      const auto rest = reader.data();
      return {status, {rest.begin(), rest.end()}};
    }
  }

 private:
  void say(Call call, const Writer& fields) const {
    const cuda::Header header{static_cast<u32>(call), 0, fields.bytes().size()};
    send(std::string(reinterpret_cast<const char*>(&header), sizeof header) +
         std::string(fields.bytes().begin(), fields.bytes().end()));
  }
  bool receive(void* to, u64 bytes) const {
    for (u64 got = 0; got < bytes;) {
      const ssize_t count = recv(socket_, static_cast<char*>(to) + got, bytes - got, 0);
      if (count <= 0) return false;
      got += static_cast<u64>(count);
    }
    return true;
  }
  int socket_;
};

std::string sum(u64 rounds) {
  return "sum " + std::to_string(rounds * (rounds - 1) / 2) + "\n";
}

TEST(Serve, RunsProgramsThatAttachAndIgnoresOthers) {
  Served served({"--clients", "2"});
  struct stat facts{};
  ASSERT_EQ(stat(served.socket().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u) << "others could attach";
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(64, '\xff'), std::string(16, '\0')})
    RawClient(served).send(bytes);
  const auto one = served.attach("add 5"), two = served.attach("add 7");
  EXPECT_EQ(one->wait().out, sum(5));
  EXPECT_EQ(two->wait().out, sum(7));
  const Outcome outcome = served.wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(served.result().find("kernels")->items().size(), 5u + 7u);
  EXPECT_FALSE(std::filesystem::exists(served.socket()));
}

TEST(Serve, AClientThatIsKilledHarmsNoOther) {
  Served served({"--clients", "2"});
  const auto killed = served.attach("killed"), other = served.attach("add 6");
  EXPECT_EQ(killed->wait().exit_code, 1000 + SIGKILL);
  EXPECT_EQ(other->wait().out, sum(6));
  EXPECT_EQ(served.wait().exit_code, 1) << "one of them did not end in good order";
}

TEST(Serve, GivesOneDigestToASetOfClientsWhoeverAttachesFirst) {
  std::string digest;
  for (const Words& order : {Words{"add 5", "add 7", "unfinished"}, Words{"unfinished", "add 7", "add 5"},
                             Words{"add 7", "add 5", "unfinished"}}) {
    Served served({"--clients", "3"});
    std::vector<std::unique_ptr<Child>> clients;
    for (const std::string& each : order) {
      clients.push_back(served.attach(each));
      sleep_ms(100);
    }
    const Outcome outcome = served.wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    if (digest.empty()) digest = served.digest();
    EXPECT_EQ(served.digest(), digest);
  }
}

TEST(Serve, LetsClientsFollowEachOtherAsOneTenant) {
  Served served({"--tenants", "1", "--clients", "4"});
  EXPECT_EQ(served.attach("add 5")->wait().out, sum(5));
  EXPECT_EQ(served.attach("fault")->wait().exit_code, 3);
  EXPECT_EQ(served.attach("all")->wait().exit_code, 0) << "nothing of the fault is left";
  EXPECT_EQ(served.attach("add 6")->wait().out, sum(6));
  const Outcome outcome = served.wait();
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("fault: kernel"), std::string::npos) << outcome.out;
  const std::vector<Tree> clients = served.clients();
  ASSERT_EQ(clients.size(), 4u);
  const auto number = [&](u32 client, const char* key) { return std::get<u64>(clients[client].find(key)->value); };
  for (u32 i = 0; i < 4; ++i) {
    EXPECT_EQ(number(i, "tenant"), 0u);
    EXPECT_EQ(std::get<bool>(clients[i].find("passed")->value), i != 1);
    if (i > 0) {
      EXPECT_GE(number(i, "came"), number(i - 1, "left"));
    }
  }
  EXPECT_EQ(number(0, "launches"), 5u);
  EXPECT_EQ(number(3, "launches"), 6u);
  EXPECT_NE(clients[3].find("command")->text().find("api_zstd add 6"), std::string::npos);
}

TEST(Serve, LetsClientsWaitUntilATenantIsFree) {
  for (const char* partition : {"fixed", "present"}) {
    Served served({"--tenants", "2", "--clients", "7", "--set", std::string("tenancy.partition.use=") + partition});
    std::vector<std::unique_ptr<Child>> clients;
    for (u64 i = 0; i < 7; ++i) clients.push_back(served.attach("add " + std::to_string(3 + i)));
    for (u64 i = 0; i < 7; ++i) EXPECT_EQ(clients[i]->wait().out, sum(3 + i));
    const Outcome outcome = served.wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_EQ(served.clients().size(), 7u);
  }
}

TEST(Serve, IsNotDelayedByWhoConnectsAndSaysNothingOrHalfAGreeting) {
  Served served({"--clients", "1"});
  const RawClient silent(served), half(served), slow(served);
  half.send(std::string("\x01\0\0\0\0\0", 6));
  slow.send(std::string("\x01\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\x02", 17));
  EXPECT_EQ(served.attach("add 4")->wait().out, sum(4));
  EXPECT_EQ(served.wait().exit_code, 0);
}

TEST(Serve, EndsOnASignalOrWhenNobodyComesWithWhatItHasServed) {
  {
    Served served({"--tenants", "2"});
    EXPECT_EQ(served.attach("add 4")->wait().out, sum(4));
    sleep_ms(100);
    served.signal(SIGTERM);
    const Outcome outcome = served.wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_EQ(served.clients().size(), 1u);
    EXPECT_FALSE(std::filesystem::exists(served.socket()));
  }
  {
    Served served({"--idle", "1"});
    EXPECT_EQ(served.attach("add 4")->wait().out, sum(4));
    EXPECT_EQ(served.wait().exit_code, 0);
    EXPECT_EQ(served.clients().size(), 1u);
  }
  Served served({});
  const RawClient hangs(served);
  hangs.greet();
  served.signal(SIGTERM);
  const Outcome outcome = served.wait();
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("the server was ended"), std::string::npos) << outcome.out;
}

const std::string kStore =
    ".version 7.8\n.target sm_70\n.address_size 64\n"
    ".visible .entry store(.param .u64 to, .param .u32 value) {\n.reg .b64 %rd<3>;\n.reg .b32 %r<2>;\n"
    "ld.param.u64 %rd1, [to];\nld.param.u32 %r1, [value];\nst.global.u32 [%rd1], %r1;\nret;\n}\n";

/// One thread that writes a number to an address.
Status launch_store(const RawClient& client, u64 address) {
  const std::vector<u8> binary = cuda::fat_binary(kStore);
  const u32 module = client.ask(Call::kLoadModule, Writer().data(binary.data(), binary.size())).reader().u32();
  const u32 kernel = client.ask(Call::kKernel, Writer().u32(module).text("store")).reader().u32();
  Writer launch;
  launch.u32(kernel).u32(1).u32(1).u32(1).u32(1).u32(1).u32(1).u64(0).u64(0).u32(2);
  const u32 value = 0x21212121;  // !!!!
  launch.data(&address, sizeof address).data(&value, sizeof value);
  EXPECT_EQ(client.ask(Call::kLaunch, launch).status, Status::kSuccess);
  return client.ask(Call::kWait).status;
}

/// The owner's memory is there while the thief tries: the server turns to the thief when the owner waits for its kernel.
TEST(Serve, KeepsClientsOutOfEachOthersMemory) {
  Served served({"--clients", "2"});
  const std::string text(64, 's');
  constexpr u64 kLarge = 1 << 20;
  const RawClient owner(served), thief(served);
  owner.send_greeting();
  sleep_ms(200);
  thief.send_greeting();
  std::atomic<u64> large = 0, secret = 0;
  const auto own = [&] {
    EXPECT_EQ(owner.answer().status, Status::kSuccess);
    large = owner.allocate(kLarge);
    secret = owner.allocate(64);
    EXPECT_EQ(owner.write(secret, text), Status::kSuccess);
    EXPECT_EQ(launch_store(owner, secret), Status::kSuccess);
    EXPECT_EQ(owner.read(secret, 64), "!!!!" + text.substr(4));
    EXPECT_EQ(owner.ask(Call::kGoodbye).status, Status::kSuccess);
  };
  std::thread owning(own);
  // The same numbers mean nothing to another client, or its own memory.
  EXPECT_EQ(thief.answer().status, Status::kSuccess);
  EXPECT_NE(secret, 0u) << "the thief came first";
  EXPECT_EQ(thief.read(secret, 64), "");
  EXPECT_EQ(thief.write(secret, text), Status::kInvalidValue);
  EXPECT_EQ(thief.ask(Call::kFree, Writer().u64(secret)).status, Status::kInvalidValue);
  EXPECT_EQ(thief.ask(Call::kSet, Writer().area(RawClient::row(secret, 64)).u64(0).u32(1).u32(0)).status,
            Status::kInvalidValue);
  const u64 mine = thief.allocate(64);
  EXPECT_EQ(mine, large) << "each has an address space of its own";
  EXPECT_EQ(thief.read(mine, 64), std::string(64, '\0'));
  EXPECT_EQ(thief.read(mine, kLarge), "") << "what the owner has there is not its own";
  const auto copy = [&](u64 to, u64 from) {
    const Writer fields = Writer().area(RawClient::row(to, 64)).area(RawClient::row(from, 64)).u64(0).u32(1);
    return thief.ask(Call::kCopy, fields).status;
  };
  EXPECT_EQ(copy(mine, secret), Status::kInvalidValue);
  EXPECT_EQ(copy(secret, mine), Status::kInvalidValue);
  EXPECT_EQ(launch_store(thief, secret), Status::kIllegalAddress);
  EXPECT_EQ(thief.ask(Call::kAllocate, Writer().u64(64)).status, Status::kIllegalAddress) << "as after any fault";
  EXPECT_EQ(thief.ask(Call::kGoodbye).status, Status::kSuccess);
  owning.join();
  EXPECT_EQ(served.wait().exit_code, 1) << "one of them has faulted";
}

TEST(Serve, GivesMemoryThatHoldsNothingOfItsPast) {
  Served served({"--tenants", "1", "--clients", "3"});
  const std::string text(64, 's');
  constexpr u64 kLarge = 1 << 20;
  u64 large = 0, secret = 0;
  for (int i = 0; i < 3; ++i) {
    const RawClient client(served);
    client.greet();
    const u64 first = client.allocate(kLarge), second = client.allocate(64);
    if (i == 0) {
      large = first;
      secret = second;
    }
    EXPECT_EQ(first, large);
    EXPECT_EQ(second, secret);
    EXPECT_EQ(client.read(large, kLarge), std::string(kLarge, '\0'));
    EXPECT_EQ(client.read(secret, 64), std::string(64, '\0'));
    EXPECT_EQ(client.write(secret, text), Status::kSuccess);
    EXPECT_EQ(client.write(large, std::string(kLarge, 's')), Status::kSuccess);
    EXPECT_EQ(launch_store(client, secret), Status::kSuccess);
    EXPECT_EQ(client.ask(Call::kFree, Writer().u64(secret)).status, Status::kSuccess);
    EXPECT_EQ(client.read(secret, 64), "");
    EXPECT_EQ(client.allocate(64), secret);
    EXPECT_EQ(client.read(secret, 64), std::string(64, '\0'));
    EXPECT_EQ(client.write(secret, text), Status::kSuccess);
    if (i == 1) continue;  // it goes without a word
    EXPECT_EQ(client.ask(Call::kGoodbye).status, Status::kSuccess);
  }
  EXPECT_EQ(served.wait().exit_code, 1) << "one of them has not detached";
}

TEST(Serve, LimitsTheMemoryOfEachClientByConfiguration) {
  Served served({"--tenants", "2", "--clients", "2", "--set", "pages.memory_bytes=67108864"});
  const u64 share = (u64{32} << 20) / 8 * 7;
  const RawClient greedy(served), modest(served);
  greedy.greet();
  EXPECT_EQ(greedy.ask(Call::kAllocate, Writer().u64(share + 1)).status, Status::kMemoryAllocation);
  EXPECT_NE(greedy.allocate(share), 0u);
  EXPECT_EQ(greedy.ask(Call::kAllocate, Writer().u64(1)).status, Status::kMemoryAllocation);
  EXPECT_EQ(greedy.ask(Call::kGoodbye).status, Status::kSuccess);
  modest.greet();
  EXPECT_NE(modest.allocate(share), 0u);
  EXPECT_EQ(modest.ask(Call::kGoodbye).status, Status::kSuccess);
  EXPECT_EQ(served.wait().exit_code, 0);
}

/// Every other client is killed at a random moment, in the middle of whatever it does.
void kill_at_random(u64 count, const std::string& tenants, u64 seed) {
  Served served({"--tenants", tenants});
  std::mt19937_64 random(seed);
  struct Client {
    std::unique_ptr<Child> process;
    u64 rounds;
  };
  std::vector<Client> survivors, victims;
  for (u64 i = 0; i < count; ++i) {
    const bool hangs = random() % 4 == 0, dies = i % 2 == 0;
    const u64 rounds = 2 + random() % 20;
    auto process = served.attach(dies && hangs ? "hang" : "add " + std::to_string(dies ? 20 * rounds : rounds));
    (dies ? victims : survivors).push_back({std::move(process), rounds});
    sleep_ms(random() % 20);
    if (i % 4 == 3) {
      const u64 which = random() % victims.size();
      victims[which].process->signal(SIGKILL);
    }
  }
  for (const Client& victim : victims) {
    sleep_ms(random() % 50);
    victim.process->signal(SIGKILL);
  }
  for (const Client& survivor : survivors) EXPECT_EQ(survivor.process->wait().out, sum(survivor.rounds));
  EXPECT_EQ(served.attach("add 9")->wait().out, sum(9)) << "the server goes on";
  sleep_ms(100);
  served.signal(SIGTERM);
  const Outcome outcome = served.wait();
  EXPECT_LE(outcome.exit_code, 1) << outcome.out << outcome.err;
  u64 ended_well = 0;
  for (const Tree& client : served.clients()) ended_well += std::get<bool>(client.find("passed")->value);
  EXPECT_GE(ended_well, survivors.size() + 1);
}

TEST(Serve, LosesNoResultWhenOtherClientsAreKilled) {
  kill_at_random(12, "4", 1);
}

TEST(ServeLong, DISABLED_LosesNoResultOf50ClientsThatAreKilledAtRandom) {
  for (u64 seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    kill_at_random(50, "8", seed);
  }
}

TEST(Serve, RefusesASocketThatIsThereAndOddNumbers) {
  const Scratch scratch;
  const auto refusal = [&](const Words& words) {
    Words all{"serve", "--gpu", "dws_30sm", "--quiet"};
    all.insert(all.end(), words.begin(), words.end());
    const Outcome outcome = run_terrace(all, scratch.path().string());
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    return outcome.err;
  };
  EXPECT_NE(refusal({}).find("--socket is missing"), std::string::npos);
  EXPECT_NE(refusal({"--socket", "/tmp"}).find("cannot listen on the socket /tmp: Address already in use"),
            std::string::npos);
  EXPECT_NE(refusal({"--socket", std::string(200, 'x')}).find("is too long"), std::string::npos);
  EXPECT_NE(refusal({"--socket", "s", "--clients", "17"}).find("--clients must be a whole number from 1 to 16"),
            std::string::npos);
  EXPECT_NE(refusal({"--socket", "s", "--tenants", "0"}).find("--tenants must be a whole number from 1 to 16"),
            std::string::npos);
  EXPECT_NE(refusal({"--socket", "s", "--idle", "soon"}).find("--idle must be a whole number of seconds"),
            std::string::npos);
  EXPECT_NE(refusal({"--socket", "s", "--idle", "1", "--clients", "2"}).find("add --tenants"), std::string::npos);
  EXPECT_EQ(scratch.files(), 0u);
}

}  // namespace
}  // namespace terrace
