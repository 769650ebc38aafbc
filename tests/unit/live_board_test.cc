// What a live page shows and asks for, without a page: samples, pause, step and stop.
// SPDX-License-Identifier: MIT
#include "live/live_board.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "engine/check.h"
#include "live/live_server.h"
#include "text/tree.h"

namespace terrace {
namespace {

TEST(LiveBoard, GivesTheSamplesThatThePageHasNotSeen) {
  LiveBoard board("a \"title\"", "run");
  EXPECT_TRUE(board.due()) << "the first is wanted at once";
  for (u64 i = 0; i < 5; ++i) board.publish(json_text({{"cycle", i}}));
  EXPECT_FALSE(board.due());
  const Tree all = parse_json(board.samples(0), "samples"), rest = parse_json(board.samples(3), "samples");
  EXPECT_EQ(*all.find("title"), Tree("a \"title\""));
  EXPECT_EQ(*all.find("paused"), Tree(false));
  EXPECT_EQ(all.find("samples")->items().size(), 5u);
  EXPECT_EQ(*rest.find("from"), Tree(u64{3}));
  EXPECT_EQ(*rest.find("samples")->items().at(0).find("cycle"), Tree(u64{3}));
  EXPECT_TRUE(parse_json(board.samples(99), "samples").find("samples")->items().empty());
}

TEST(LiveBoard, ForgetsTheOldestSamples) {
  LiveBoard board("", "run");
  for (u64 i = 0; i < 3010; ++i) board.publish(json_text({{"cycle", i}}));
  const Tree all = parse_json(board.samples(0), "samples");
  EXPECT_EQ(*all.find("from"), Tree(u64{10}));
  EXPECT_EQ(*all.find("samples")->items().at(0).find("cycle"), Tree(u64{10}));
}

/// Counts its steps in a thread of its own until it is stopped.
class Worker {
 public:
  explicit Worker(LiveBoard& board)
      : thread_([this, &board] {
          try {
            while (true) {
              board.obey([this] { ++waits; });
              ++steps;
              std::this_thread::yield();
            }
          } catch (const Interrupted&) {
            stopped = true;
          }
        }) {}
  ~Worker() { thread_.join(); }
  static void await(const std::function<bool()>& what) {
    for (int i = 0; i < 5000 && !what(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(what());
  }
  std::atomic<u64> steps = 0, waits = 0;
  std::atomic<bool> stopped = false;

 private:
  std::thread thread_;
};

TEST(LiveBoard, PausesStepsResumesAndStops) {
  LiveBoard board("", "run");
  Worker worker(board);
  Worker::await([&] { return worker.steps > 10; });
  board.ask(LiveBoard::Request::kPause);
  Worker::await([&] { return worker.waits == 1; });
  const u64 paused = worker.steps;
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_EQ(worker.steps, paused);
  for (u64 i = 1; i <= 3; ++i) {
    board.ask(LiveBoard::Request::kStep);
    Worker::await([&] { return worker.steps == paused + i && worker.waits == 1 + i; });
  }
  board.ask(LiveBoard::Request::kResume);
  Worker::await([&] { return worker.steps > paused + 10; });
  EXPECT_FALSE(worker.stopped);
  board.ask(LiveBoard::Request::kStop);
  Worker::await([&] { return worker.stopped.load(); });
}

TEST(LiveBoard, LetsOneJobBeginForEachStep) {
  LiveBoard board("", "sweep");
  EXPECT_TRUE(board.may_begin());
  board.ask(LiveBoard::Request::kPause);
  EXPECT_FALSE(board.may_begin());
  board.ask(LiveBoard::Request::kStep);
  EXPECT_TRUE(board.may_begin());
  EXPECT_FALSE(board.may_begin());
  board.ask(LiveBoard::Request::kResume);
  EXPECT_TRUE(board.may_begin());
  EXPECT_NO_THROW(board.check_stop());
  board.ask(LiveBoard::Request::kStop);
  EXPECT_THROW(board.check_stop(), Interrupted);
}

std::string refusal(const std::string& text, bool open = false) {
  try {
    parse_live_address(text, open);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(LiveAddress, IsOfThisMachineUnlessTheUserSaysOtherwise) {
  EXPECT_EQ(parse_live_address("8080", false).host, "127.0.0.1");
  EXPECT_EQ(parse_live_address("8080", false).port, 8080);
  EXPECT_EQ(parse_live_address("localhost:8080", false).host, "localhost");
  EXPECT_EQ(parse_live_address("0.0.0.0:8080", true).host, "0.0.0.0");
  EXPECT_EQ(
      refusal("0.0.0.0:8080"),
      "--live: others could watch and stop this run at 0.0.0.0:8080; leave the address out, or add --live-open if "
      "you mean it");
  for (const char* wrong : {"", "web", "80a", "-1", "65536", ":8080", "127.0.0.1:"})
    EXPECT_EQ(refusal(wrong), std::string("--live takes a port such as 8080, or an address with a port such as "
                                          "127.0.0.1:8080, not ") +
                                  wrong);
}

}  // namespace
}  // namespace terrace
