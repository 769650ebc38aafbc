// terrace cuda: processes as tenants.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/program.h"
#include "support/scratch.h"
#include "text/tree.h"

namespace terrace {
namespace {

std::string api(const std::string& form = "zstd") {
  return build_folder() + "/tests/cuda/api_" + form;
}

Outcome run_cuda(std::vector<std::string> words, const Scratch& scratch) {
  std::vector<std::string> all{"cuda", "--gpu", "dws_30sm", "--quiet"};
  all.insert(all.end(), words.begin(), words.end());
  return run_terrace(all, scratch.path().string());
}

Tree result_in(const Scratch& scratch) {
  return read_json((scratch.path() / "r.json").string());
}
u64 cycles_in(const Scratch& scratch) {
  return std::get<u64>(result_in(scratch).find("run")->find("cycles")->value);
}

TEST(Cuda, ServesTheCallsOfAProgramWhosePtxIsPlainOrCompressed) {
  const Scratch scratch;
  std::string digests;  // managed memory has the same addresses each time
  for (const char* form : {"plain", "lz4", "zstd"}) {
    const Outcome outcome = run_cuda({"--", api(form), "all"}, scratch);
    EXPECT_EQ(outcome.exit_code, 0) << form << outcome.out << outcome.err;
    EXPECT_NE(outcome.out.find("all parts passed\n"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("passed: exit code 0"), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.err, "terrace: cudaGraphCreate is not supported\n");
    const std::string digest = outcome.out.substr(outcome.out.find("digest "), 23);
    if (digests.empty()) digests = digest;
    EXPECT_EQ(digest, digests);
  }
}

TEST(Cuda, ShowsWhatKernelsPrintWhereTheProgramPrints) {
  const Scratch scratch;
  const Outcome outcome = run_cuda({"--", api(), "print"}, scratch);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(
      outcome.out.starts_with("before\n7 squared is 49 (device, 0.0)\n8 squared is 64 (device, 0.5)\n"
                              "9 squared is 81 (device, 1.0)\nafter\n1 squared is 1 (device, 0.0)\n"))
      << outcome.out;
}

TEST(Cuda, RunsProcessesAsTenantsWithOneDigestEachTime) {
  std::string digest;
  for (int i = 0; i < 3; ++i) {
    const Scratch scratch;
    const Outcome outcome = run_cuda(
        {"--json", "r.json", "--", api(), "add", "6", "--", api(), "add", "3", "--", api(), "unfinished"}, scratch);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_NE(outcome.out.find("sum 15\n"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("sum 3\n"), std::string::npos) << outcome.out;
    const Tree result = result_in(scratch);
    ASSERT_EQ(result.find("tenants")->items().size(), 3u);
    EXPECT_EQ(result.find("kernels")->items().size(), 6u + 3u + 1u);
    const std::string its = std::get<std::string>(result.find("run")->find("digest")->value);
    if (i == 0) digest = its;
    EXPECT_EQ(its, digest);
  }
}

TEST(Cuda, EndsOnlyTheTenantOfAHostThatFaultsDiesOrHangs) {
  const Scratch scratch;
  Outcome outcome = run_cuda({"--", api(), "fault", "--", api(), "add", "8"}, scratch);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("sum 28\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("was ended by a fault: kernel"), std::string::npos) << outcome.err;

  outcome = run_cuda({"--", api(), "killed", "--", api(), "add", "8"}, scratch);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("sum 28\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("FAILED: ended by signal 9"), std::string::npos) << outcome.out;

  outcome = run_cuda({"--host-timeout", "1", "--", api(), "hang", "--", api(), "add", "8"}, scratch);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("sum 28\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("made no call for 1 s"), std::string::npos) << outcome.out;
}

TEST(Cuda, GivesHostCallsTimeWhenTheConfigurationSaysSo) {
  const Scratch without, with;
  ASSERT_EQ(run_cuda({"--json", "r.json", "--", api(), "add", "4"}, without).exit_code, 0);
  ASSERT_EQ(
      run_cuda({"--json", "r.json", "--set", "tenancy.host_call_cycles=5000", "--", api(), "add", "4"}, with).exit_code,
      0);
  // Before its first launch the process has made at least five calls that reach the simulator.
  EXPECT_GT(cycles_in(with), cycles_in(without) + 5 * 5000);
}

TEST(Cuda, ServesAScriptWhoseProgramsFollowEachOther) {
  const Scratch scratch;
  const Outcome outcome =
      run_cuda({"--json", "r.json", "--", "/bin/sh", "-c", api() + " add 3 && " + api() + " add 4"}, scratch);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("sum 3\nsum 6\n"), std::string::npos) << outcome.out;
  EXPECT_EQ(result_in(scratch).find("kernels")->items().size(), 3u + 4u);
}

TEST(Cuda, RefusesWhatItCannotRun) {
  const Scratch scratch;
  const auto refusal = [&](const std::vector<std::string>& words) {
    const Outcome outcome = run_cuda(words, scratch);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_EQ(refusal({}),
            "terrace: cuda: give a program after --, such as terrace cuda --gpu dws_30sm -- ./app; see terrace cuda "
            "--help\n");
  EXPECT_EQ(refusal({"--", api(), "--"}), "terrace: cuda: no program follows a --; see terrace cuda --help\n");
  EXPECT_EQ(refusal({"--", "./no_such_program"}),
            "terrace: cannot start ./no_such_program: No such file or directory; give the program after --, as on a "
            "command line\n");
  EXPECT_NE(refusal({"--host-timeout", "soon", "--", api()}).find("--host-timeout must be a whole number"),
            std::string::npos);
  EXPECT_NE(refusal({"--until", "window:1000", "--", api()}).find("a process runs only once"), std::string::npos);
  EXPECT_NE(refusal({"--tenant", "mm", "--", api()}).find("no option --tenant"), std::string::npos);
}

/// A server, and what attaches to it.
class Served {
 public:
  explicit Served(const std::string& clients)
      : server_(
            terrace_program(),
            {"serve", "--gpu", "dws_30sm", "--quiet", "--socket", socket(), "--clients", clients, "--json", "r.json"},
            scratch.path().string()) {
    for (int i = 0; i < 2000 && !std::filesystem::exists(socket()); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::unique_ptr<Child> attach(const std::string& arguments) {
    const std::string libraries = std::filesystem::path(terrace_program()).parent_path().string() + "/cudart";
    return std::make_unique<Child>("/bin/sh",
                                   std::vector<std::string>{"-c", "LD_LIBRARY_PATH=" + libraries + " TERRACE_SOCKET=" +
                                                                      socket() + " exec " + api() + " " + arguments},
                                   scratch.path().string());
  }
  Outcome wait() { return server_.wait(); }
  std::string socket() const { return (scratch.path() / "s").string(); }
  /// Bytes of somebody who is no runtime library.
  void send(const std::string& bytes) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, socket().c_str());
    const int to = ::socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(connect(to, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    close(to);
  }

  const Scratch scratch;

 private:
  Child server_;
};

TEST(Serve, RunsProgramsThatAttachAndIgnoresOthers) {
  Served served("2");
  struct stat facts{};
  ASSERT_EQ(stat(served.socket().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u) << "others could attach";
  served.send("GET / HTTP/1.1\r\n\r\n");
  served.send(std::string(64, '\xff'));
  served.send(std::string(16, '\0'));
  const auto one = served.attach("add 5"), two = served.attach("add 7");
  EXPECT_EQ(one->wait().out, "sum 10\n");
  EXPECT_EQ(two->wait().out, "sum 21\n");
  const Outcome outcome = served.wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(result_in(served.scratch).find("kernels")->items().size(), 5u + 7u);
  EXPECT_FALSE(std::filesystem::exists(served.socket()));
}

TEST(Serve, AClientThatIsKilledHarmsNoOther) {
  Served served("2");
  const auto killed = served.attach("hang");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto other = served.attach("add 6");
  killed->signal(SIGKILL);
  EXPECT_EQ(other->wait().out, "sum 15\n");
  EXPECT_EQ(served.wait().exit_code, 1) << "one of them did not end in good order";
}

TEST(Serve, RefusesASocketThatIsThereAndOddNumbersOfClients) {
  const Scratch scratch;
  const auto refusal = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all{"serve", "--gpu", "dws_30sm", "--quiet"};
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
}

}  // namespace
}  // namespace terrace
