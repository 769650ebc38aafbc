// Who waits for whom in a memory channel: matrices follow from the cycles of the commands.
// SPDX-License-Identifier: MIT
#include <functional>

#include "support/dram_bench.h"

namespace terrace {
namespace {

using Kind = DramCommand::Kind;
constexpr TenantId kFirst{0}, kSecond{1};
using Matrix = std::vector<std::vector<u64>>;
const Matrix kNothing{{0, 0, 0}, {0, 0, 0}};

/// One channel, core and command clock the same, a source for each of two tenants.
class DramBlameOfTwo : public testing::Test {
 protected:
  DramBlameOfTwo() {
    config_.channels = 1;
    config_.channel_hash = config_.bank_hash = false;
    config_.refresh = false;
  }
  /// Runs it and closes the books: an identity that does not hold would throw.
  void run(const std::function<void(DramBench&)>& script, Cycle until = 1'000'000) {
    bench_ = std::make_unique<DramBench>(config_, DramBench::Options{.sources = 2, .tenants = 2});
    bench_->channel.enable_blame(2);
    script(*bench_);
    bench_->run(until);
    bench_->channel.settle(bench_->scheduler.now());
    tree_ = std::make_unique<StatTree>(2);
    tree_->add("dram", bench_->channel.blame);
    tree_->check_identities(!bench_->channel.idle());
  }
  Matrix matrix(const std::string& cause) const {
    Matrix rows;
    const Tree json = tree_->json();
    for (const Tree& row : json.find("dram")->find(cause)->find("matrix")->items()) {
      rows.emplace_back();
      for (const Tree& cell : row.items()) rows.back().push_back(std::get<u64>(cell.value));
    }
    return rows;
  }
  static void read(DramBench& bench, Cycle at, TenantId tenant, u32 bank, u32 row, u32 column = 0) {
    bench.send({at, {0, bank, row, column}, false, tenant}, index(tenant));
  }

  DramConfig config_;
  std::unique_ptr<DramBench> bench_;
  std::unique_ptr<StatTree> tree_;
};

TEST_F(DramBlameOfTwo, AReadThatMeetsNobodyWaitsNowhere) {
  run([](DramBench& bench) {
    read(bench, 100, kFirst, 3, 7);
    read(bench, 500, kSecond, 3, 8);  // closes the other's row, which is long done
    read(bench, 900, kSecond, 3, 8, 256);
  });
  for (const char* cause : {"queue", "banks", "bus", "returns"}) EXPECT_EQ(matrix(cause), kNothing) << cause;
}

TEST_F(DramBlameOfTwo, AReadWaitsForTheTenantWhoseRowKeepsItsBank) {
  run([](DramBench& bench) {
    read(bench, 100, kFirst, 3, 7);
    read(bench, 100, kSecond, 3, 8);
  });
  // Both are looked at in 101; from its precharge on the second one is served.
  EXPECT_EQ(matrix("banks"), (Matrix{{0, 0, 0}, {bench_->cycle_of(Kind::kPrecharge) - 101, 0, 0}}));
  EXPECT_EQ(matrix("bus"), kNothing);
}

TEST_F(DramBlameOfTwo, AReadWhoseRowIsOpenWaitsForTheTenantOnTheBus) {
  run([](DramBench& bench) {
    read(bench, 100, kFirst, 0, 1);
    read(bench, 300, kSecond, 1, 1);
    read(bench, 1000, kFirst, 0, 1, 256);
    read(bench, 1000, kSecond, 1, 1, 256);
  });
  const u64 wait = bench_->cycle_of(Kind::kRead, 3) - 1001;
  EXPECT_GT(wait, 0u);
  EXPECT_EQ(matrix("bus"), (Matrix{{0, 0, 0}, {wait, 0, 0}}));
  EXPECT_EQ(matrix("banks"), kNothing);
}

TEST_F(DramBlameOfTwo, ARefreshIsNobodysFault) {
  config_.refresh = true;
  const u64 due = config_.resolved().timing.trefi;
  run([&](DramBench& bench) { read(bench, due, kSecond, 0, 1); });
  const u64 wait = bench_->cycle_of(Kind::kActivate) - (due + 1);
  EXPECT_GT(wait, config_.resolved().timing.trfc / 2);
  EXPECT_EQ(matrix("banks"), (Matrix{{0, 0, 0}, {0, 0, wait}}));
  EXPECT_EQ(matrix("bus"), kNothing);
}

TEST_F(DramBlameOfTwo, AfterARefreshAReadWaitsForThoseWhoseWritesGoFirst) {
  config_.refresh = true;
  config_.write_high = 8;
  config_.write_low = 0;
  const u64 due = config_.resolved().timing.trefi;
  run([&](DramBench& bench) {
    for (u32 i = 0; i < 8; ++i) bench.send({due - 40, {0, 1, i, 0}, true, kFirst}, index(kFirst));
    read(bench, due - 30, kSecond, 5, 3);  // the channel writes until all have left, and its bank has none of them
  });
  const Cycle over = bench_->cycle_of(Kind::kRefresh) + config_.resolved().timing.trfc;
  const Cycle written = bench_->cycle_of(Kind::kWrite, 7);
  ASSERT_GT(written, over) << "writes go on after the refresh";
  const std::vector<u64> banks = matrix("banks")[1], bus = matrix("bus")[1];
  EXPECT_EQ(banks[2], over - due);
  EXPECT_GE(bus[0], written - over);
}

TEST_F(DramBlameOfTwo, AFullQueueIsHeldByThoseInIt) {
  config_.read_entries = 2;
  run([](DramBench& bench) {
    read(bench, 100, kFirst, 0, 1);
    read(bench, 101, kFirst, 0, 2);
    read(bench, 102, kSecond, 1, 1);
  });
  // In its link since 103; the first read leaves the queue with its column command, and a place freed is used in the
  // next cycle.
  EXPECT_EQ(matrix("queue"), (Matrix{{0, 0, 0}, {bench_->cycle_of(Kind::kRead) + 1 - 103, 0, 0}}));
}

TEST_F(DramBlameOfTwo, WritesHoldButDoNotWait) {
  run([](DramBench& bench) {
    bench.send({100, {0, 3, 7, 0}, true, kFirst}, 0);
    bench.send({101, {0, 3, 9, 0}, true, kFirst}, 0);
    read(bench, 102, kSecond, 3, 8);
  });
  for (const char* cause : {"queue", "banks", "bus", "returns"}) EXPECT_EQ(matrix(cause)[0], kNothing[0]) << cause;
  EXPECT_GT(matrix("banks")[1][0], 0u);
}

TEST_F(DramBlameOfTwo, TheBooksCloseWhereverTheRunIsCutOff) {
  config_.refresh = true;
  config_.read_entries = 6;
  config_.return_entries = 2;
  for (const Cycle until : {Cycle{120}, Cycle{777}, Cycle{4001}, Cycle{99999}}) {
    run(
        [](DramBench& bench) {
          for (u32 i = 0; i < 600; ++i) {
            read(bench, 100 + i, kFirst, i * 7 % 16, i % 3);
            read(bench, 100 + 2 * i, kSecond, i * 5 % 16, i % 5);
            if (i % 4 == 0) bench.send({100 + i, {0, i % 16, 9, 0}, true, kFirst}, 1);
          }
        },
        until);
    EXPECT_EQ(bench_->channel.idle(), until == 99999) << until;
    EXPECT_GT(matrix("banks")[1][0] + matrix("bus")[1][0] + matrix("queue")[1][0], 0u) << until;
  }
}

}  // namespace
}  // namespace terrace
