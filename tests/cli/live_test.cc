// --live, as a browser meets it.
// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "support/program.h"
#include "support/scratch.h"
#include "text/tree.h"

namespace terrace {
namespace {

using ::testing::HasSubstr;

/// What a server on this machine answers, with its headers; nothing when there is none.
std::string answer_to(int port, const std::string& request) {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(file, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      send(file, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    char block[4096];
    for (ssize_t got = 0; (got = recv(file, block, sizeof block, 0)) > 0;)
      answer.append(block, static_cast<std::size_t>(got));
  }
  close(file);
  return answer;
}
std::string get(int port, const std::string& path, const std::string& host = "127.0.0.1") {
  return answer_to(port, fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", path, host));
}
std::string post(int port, const std::string& path, const std::string& headers) {
  return answer_to(
      port, fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n{}\r\n", path,
                        headers));
}
constexpr const char* kOurs = "X-Terrace: 1\r\n";

int free_port() {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(bind(file, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(getsockname(file, reinterpret_cast<sockaddr*>(&address), &length), 0);
  close(file);
  return ntohs(address.sin_port);
}

Tree samples(int port) {
  const std::string answer = get(port, "/samples?from=0");
  const std::size_t body = answer.find("\r\n\r\n");
  return body == answer.npos ? Tree::table() : parse_json(answer.substr(body + 4), "/samples");
}
u64 last_cycle(int port) {
  const Tree* list = nullptr;
  const Tree all = samples(port);
  list = all.find("samples");
  return list == nullptr || list->items().empty() ? 0 : std::get<u64>(list->items().back().find("cycle")->value);
}
void await(const std::function<bool()>& what) {
  for (int i = 0; i < 300 && !what(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(what());
}

TEST(Live, ShowsARunPausesItAndStopsIt) {
  const Scratch scratch;
  const int port = free_port();
  Child child(terrace_program(),
              {"run", "--gpu", "dws_30sm", "--tenant", "mm", "--tenant", "mm", "--size", "paper", "--json", "r.json",
               "--live", fmt::format("{}", port)},
              scratch.path().string());
  await([&] { return last_cycle(port) > 0; });
  if (HasFailure()) return;
  EXPECT_THAT(get(port, "/"), HasSubstr("<title>Terrace</title>"));
  EXPECT_THAT(get(port, "/terrace.js"), HasSubstr("terrace.chart = ")) << "the charts of reports";
  EXPECT_THAT(get(port, "/chart.js"), HasSubstr("Chart.js"));
  EXPECT_THAT(get(port, "/style.css"), HasSubstr(".plot"));
  const Tree seen = samples(port);
  EXPECT_EQ(*seen.find("kind"), Tree("run"));
  EXPECT_EQ(seen.find("samples")->items().back().find("tenants")->items().size(), 2u);
  u64 waited = 0;
  for (const Tree& part : seen.find("samples")->items().back().find("waits")->items()) {
    ASSERT_EQ(part.find("cycles")->items().size(), 2u) << "a number for each tenant";
    for (const Tree& cycles : part.find("cycles")->items()) waited += std::get<u64>(cycles.value);
  }
  EXPECT_GT(waited, 0u) << "two tenants wait somewhere";
  EXPECT_THAT(post(port, "/pause", ""), HasSubstr("403")) << "a page from elsewhere";
  EXPECT_THAT(get(port, "/samples?from=0", "evil.example"), HasSubstr("403")) << "another name for this machine";
  EXPECT_EQ(*samples(port).find("paused"), Tree(false));
  EXPECT_THAT(post(port, "/pause", kOurs), HasSubstr("200"));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const u64 paused = last_cycle(port);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(last_cycle(port), paused);
  EXPECT_EQ(*samples(port).find("paused"), Tree(true));
  post(port, "/step", kOurs);
  await([&] { return last_cycle(port) > paused; });
  EXPECT_LE(last_cycle(port), paused + 2048) << "a step is a stretch between two looks";
  post(port, "/stop", kOurs);
  const Outcome outcome = child.wait();
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_THAT(outcome.err, HasSubstr(fmt::format("watch it at http://127.0.0.1:{}/", port)));
  EXPECT_EQ(scratch.files(), 0u);
}

TEST(Live, ShowsASweepAndChangesNoResult) {
  const Scratch scratch;
  scratch.write("s.toml", "[[grid]]\ngpu = \"dws_30sm\"\nworkload = \"gups\"\nsize = \"mini\"\nseed = [1, 2, 3, 4]\n");
  const int port = free_port();
  Child child(terrace_program(),
              {"sweep", "s.toml", "--store", "a.db", "--jobs", "1", "--live", fmt::format("{}", port), "--quiet"},
              scratch.path().string());
  await([&] { return !get(port, "/").empty(); });
  post(port, "/pause", kOurs);
  await([&] { return samples(port).find("samples") != nullptr && !samples(port).find("samples")->items().empty(); });
  post(port, "/resume", kOurs);
  const Outcome outcome = child.wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("4 jobs: 4 ran"));
}

TEST(Live, RefusesAPortThatIsTakenAndAnAddressThatOthersReach) {
  const Scratch scratch;
  const auto said = [&](const std::string& address) {
    const Outcome outcome = run_terrace(
        {"run", "--gpu", "dws_30sm", "--tenant", "mm", "--size", "mini", "--live", address}, scratch.path().string());
    EXPECT_EQ(outcome.exit_code, 2);
    return outcome.err;
  };
  EXPECT_THAT(said("0.0.0.0:8080"), HasSubstr("others could watch and stop this run at 0.0.0.0:8080"));
  EXPECT_THAT(said("soon"), HasSubstr("--live takes a port such as 8080"));
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(bind(file, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(file, 1), 0);
  ASSERT_EQ(getsockname(file, reinterpret_cast<sockaddr*>(&address), &length), 0);
  EXPECT_THAT(said(fmt::format("{}", ntohs(address.sin_port))), HasSubstr("cannot be opened"));
  close(file);
}

}  // namespace
}  // namespace terrace
