// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "engine/check.h"
#include "report/report.h"
#include "stats/decision_log.h"
#include "store/store.h"
#include "store/store_schema.h"
#include "support/scratch.h"

namespace terrace {
namespace {

using ::testing::HasSubstr;

Tree result_of(double ipc) {
  return parse_json(fmt::format(R"({{"schema": "terrace.run/1",
    "run": {{"cycles": 100, "warp_instructions": 10, "thread_instructions": 320, "wall_seconds": 0.5,
             "warp_instructions_per_second": 20, "cycles_per_second": 200, "peak_rss_bytes": 4096, "digest": "d"}},
    "tenants": [{{"name": "gups", "workload": "gups", "ptx_hash": "p", "sms": 24, "cycles": 100, "warp_instructions": 10,
                  "thread_instructions": 320, "ipc": {}, "warp_ipc": 0.1, "completed_runs": 1,
                  "first_completion": 80, "capped": false, "faults": []}}],
    "kernels": [{{"tenant": 0, "name": "k", "cycles": 90, "warp_instructions": 10, "thread_instructions": 320, "ipc": 3.5,
                  "began": 5, "ended": 95}}],
    "metrics": {{"total_ipc": {}}},
    "stats": {{"l2": {{"0": {{"hits": {{"unit": "accesses", "tenants": [5]}}, "cycles": {{"unit": "cycles", "value": 9}}}}}}}}}})",
                                ipc, ipc),
                    "result");
}

Job job_named(const std::string& id) {
  Job job;
  job.id = id;
  job.machine = "cd_24sm";
  job.tenants = "gups";
  job.size = "mini";
  job.config = "name = \"cd_24sm\"\n";
  return job;
}

class StoreTest : public ::testing::Test {
 protected:
  std::string path() const { return (scratch_.path() / "results.db").string(); }
  std::string bytes() const { return read_file(path()); }
  template <class Act>
  static std::string refusal(Act&& act) {
    try {
      act();
    } catch (const InputError& error) {
      return error.what();
    }
    return "nothing was refused";
  }
  Scratch scratch_;
};

TEST_F(StoreTest, ARunInWhichAFaultEndedEveryTenantIsNoResult) {
  Tree result = result_of(2.5);
  EXPECT_EQ(refusal([&] { check_result(job_named("one"), result); }), "nothing was refused");
  Tree faulted = result.find("tenants")->items()[0];
  faulted["faults"] = Tree(Tree::List{Tree("kernel k reads beyond its buffer")});
  result["tenants"] = Tree(Tree::List{faulted, result.find("tenants")->items()[0]});
  EXPECT_EQ(refusal([&] { check_result(job_named("one"), result); }), "nothing was refused");
  result["tenants"] = Tree(Tree::List{faulted, faulted});
  EXPECT_EQ(refusal([&] { check_result(job_named("one"), result); }),
            "a fault ended every tenant of gups; correct their programs");
}

TEST_F(StoreTest, KeepsAResultWithItsStatistics) {
  Store store(path());
  store.put_result(job_named("one"), result_of(2.5), 0.75);
  EXPECT_TRUE(store.states().at("one").done);
  EXPECT_EQ(store.tenant_ipcs("one"), std::vector<double>{2.5});
  EXPECT_EQ(store.database().number("SELECT value FROM stats WHERE job = 'one' AND name = 'l2.0.hits{tenant=0}'"), 5u);
  EXPECT_EQ(store.database().text("SELECT unit FROM stats WHERE name = 'l2.0.cycles'"), "cycles");
  EXPECT_EQ(store.database().text("SELECT name FROM kernel"), "k");
  EXPECT_EQ(store.efforts().front().seconds, 0.75);
}

TEST_F(StoreTest, TakesAResultWholeOrNotAtAll) {
  Store store(path());
  Tree damaged = result_of(1);
  damaged["stats"] = Tree();
  damaged["kernels"].push(Tree{{"tenant", u64{0}}});  // no name: refused after job and tenants went in
  EXPECT_THAT(refusal([&] { store.put_result(job_named("one"), damaged, 1); }), HasSubstr("has no \"name\""));
  EXPECT_TRUE(store.states().empty());
  EXPECT_EQ(store.database().number("SELECT count(*) FROM tenant"), 0u);
  store.put_result(job_named("one"), result_of(1), 1);
  EXPECT_TRUE(store.states().at("one").done);
}

TEST_F(StoreTest, KeepsAFailureUntilTheJobSucceeds) {
  Store store(path());
  store.put_failure(job_named("one"), 4, "deadlock: everybody waits");
  EXPECT_FALSE(store.states().at("one").done);
  EXPECT_EQ(store.states().at("one").message, "deadlock: everybody waits");
  store.put_result(job_named("one"), result_of(1), 1);
  EXPECT_TRUE(store.states().at("one").done);
  EXPECT_EQ(store.database().number("SELECT count(*) FROM job"), 1u);
}

TEST_F(StoreTest, RefusesAResultOfOtherDeviceCodeThanWasPlanned) {
  Store store(path());
  Job job = job_named("one");
  job.ptx = {"q"};
  EXPECT_THAT(refusal([&] { store.put_result(job, result_of(1), 1); }), HasSubstr("device code of gups changed"));
  EXPECT_TRUE(store.states().empty());
}

TEST_F(StoreTest, SeveralWritersTakeTurns) {
  Store one(path()), two(path());
  for (int i = 0; i < 20; ++i) (i % 2 ? one : two).put_result(job_named(std::to_string(i)), result_of(i), 1);
  EXPECT_EQ(one.states().size(), 20u);
  EXPECT_EQ(one.database().number("SELECT count(*) FROM stats"), 40u);
}

TEST_F(StoreTest, MayBeMadeByAnotherWhileItIsLookedAt) {
  // A commit of another between two looks at an empty file must not make it look like another program's.
  for (int round = 0; round < 12; ++round) {
    const std::string fresh = (scratch_.path() / fmt::format("{}.db", round)).string();
    Database looked_at(fresh, Database::Access::kReadWrite);
    looked_at.use_write_ahead_log();
    std::thread maker([&] { Store{fresh}; });
    const std::string said = refusal([&] {
      while (looked_at.number("PRAGMA user_version") != store_schema()) check_store(looked_at);
    });
    maker.join();
    ASSERT_EQ(said, "nothing was refused") << "round " << round;
  }
}

TEST_F(StoreTest, ComputesMetricsOfPointsWhoseJobsAreDone) {
  Store store(path());
  store.put_result(job_named("shared"), result_of(2), 1);
  store.put_result(job_named("alone"), result_of(4), 1);
  const std::vector<Point> points = {{"g", {{"gpu", "x"}, {"mmu.walkers", "8"}}, "shared", {"alone"}, "r"},
                                     {"g", {{"gpu", "y"}}, "missing", {"alone"}, "r"}};
  store.put_sweep("s", "file", points);
  store.finish_sweep("s", {}, true);
  EXPECT_EQ(store.database().text("SELECT value FROM metric WHERE point = 0 AND name = 'weighted_speedup'"), "0.5");
  EXPECT_EQ(store.database().number("SELECT count(*) FROM metric WHERE point = 1"), 0u);
  EXPECT_EQ(store.points("s").front().labels.at("mmu.walkers"), "8");
  EXPECT_EQ(store.points("s").front().alone, std::vector<std::string>{"alone"});
}

TEST_F(StoreTest, AnOlderOneIsBroughtUpToDateAndLosesNothing) {
  {
    Database old(path(), Database::Access::kReadWrite);
    migrate_store(old, 1);
    old.run(
        "INSERT INTO job VALUES (1, 'kept', 'done', 'm', 't', 's', 1, '', 'c', 'r', 'c', 'g', 'd', 1, 2, 3, 4.0, 0, "
        "'')");
    old.run("INSERT INTO kernel VALUES (1, 0, 0, 'k', 90, 10, 320, 3.5)");
    EXPECT_EQ(old.number("PRAGMA user_version"), 1u);
  }
  EXPECT_THAT(refusal([&] { Store::existing(path()); }), HasSubstr("has an older schema"));
  Store store(path());
  EXPECT_EQ(store.database().number("PRAGMA user_version"), store_schema());
  EXPECT_TRUE(store.states().at("kept").done);
  EXPECT_EQ(store.database().text("SELECT cycles || ',' || coalesce(began, 'none') FROM kernel"), "90,none");
  store.put_sweep("s", "file", {});
  EXPECT_EQ(store.sweeps(), std::vector<std::string>{"s"});
}

TEST_F(StoreTest, StatisticsOverTimeOfAnOlderOneKeepTheirValues) {
  {
    Database old(path(), Database::Access::kReadWrite);
    migrate_store(old, 4);
    old.run(
        "INSERT INTO job VALUES (1, 'kept', 'done', 'm', 't', 's', 1, '', 'c', 'r', 'c', 'g', 'd', 1, 2, 3, 4.0, 0, "
        "'')");
    old.run("INSERT INTO stat_name VALUES (7, 'gpu.hits', 'look-ups')");
    old.run("INSERT INTO epoch VALUES (1, 50, '[50,80]')");
    old.run("INSERT INTO series VALUES (1, 7, '[3,4]')");
  }
  Store store(path());
  EXPECT_EQ(store.database().text("SELECT group_concat(name || ' ' || interval || ' ' || cycle || ' ' || value, ', ') "
                                  "FROM over_time WHERE job = 'kept'"),
            "gpu.hits 0 50 3, gpu.hits 1 80 4");
}

TEST_F(StoreTest, TellsWhenASearchEndedAndATenantCompleted) {
  Store store(path());
  const auto value = [&](const char* name, const std::vector<std::pair<u64, std::string>>& log) {
    Tree result = result_of(2);
    Tree::List decisions;
    for (const auto& [cycle, text] : log)
      decisions.push_back({{"cycle", cycle}, {"tenant", Tree()}, {"text", text}, {"sms", Tree(Tree::List{})}});
    if (!log.empty()) result["decisions"] = Tree(std::move(decisions));
    store.put_result(job_named("a"), result, 1);
    store.put_sweep("s", "file", {{"g", {{"gpu", "x"}}, "a", {}, "r"}});
    return stored_results(store, "s")->value(0, {name, std::nullopt, ""});
  };
  const std::string ended(kSearchEnded);
  EXPECT_EQ(value("first_completion", {}), 80);
  EXPECT_FALSE(value("search_end", {})) << "nobody searched";
  EXPECT_EQ(value("search_end", {{10, "begin"}, {70, "gets 2 SMs more"}, {70, ended}, {75, "moved"}}), 70);
  EXPECT_EQ(value("search_end", {{10, "begin"}, {20, ended}, {30, "begin"}, {90, ended}}), 90) << "it began again";
  EXPECT_EQ(value("search_end", {{10, "begin"}}), 100) << "the last cycle of the run";
  store.database().run("UPDATE kernel SET began = NULL");
  EXPECT_FALSE(stored_results(store, "s")->value(0, {"search_end", std::nullopt, ""})) << "stored before it was known";
}

TEST_F(StoreTest, OneOfTheFutureIsRefusedAndLeftAlone) {
  {
    Store store(path());
    store.database().run("PRAGMA user_version = 99");
  }
  const std::string before = bytes();
  EXPECT_EQ(refusal([&] { Store{path()}; }),
            path() + ": has schema 99, and this version of Terrace knows schemas up to 5; use a newer version");
  EXPECT_EQ(bytes(), before);
}

TEST_F(StoreTest, AnotherProgramsDatabaseIsRefusedAndLeftAlone) {
  {
    Database other(path(), Database::Access::kReadWrite);
    other.run("CREATE TABLE mine (x)");
  }
  const std::string before = bytes();
  EXPECT_THAT(refusal([&] { Store{path()}; }), HasSubstr("is not a store of Terrace but another program's database"));
  EXPECT_EQ(bytes(), before);
}

TEST_F(StoreTest, WhatIsNoDatabaseIsRefusedAndLeftAlone) {
  scratch_.write("results.db", std::string(5000, 'x'));
  EXPECT_EQ(refusal([&] { Store{path()}; }), path() + ": is not a store of Terrace; name another file");
  EXPECT_EQ(bytes(), std::string(5000, 'x'));
  EXPECT_THAT(refusal([&] { Store{scratch_.path().string()}; }), HasSubstr("is a folder; name a file"));
  EXPECT_THAT(refusal([&] { Store::existing(path() + "x"); }), HasSubstr("cannot be read: No such file"));
  EXPECT_THAT(refusal([&] { Store{"/nonexistent/x.db"}; }), HasSubstr("/nonexistent/x.db: cannot be read or written"));
}

TEST_F(StoreTest, DamageAnywhereIsFoundBeforeAnythingIsWritten) {
  {
    Store store(path());
    for (int i = 0; i < 30; ++i) store.put_result(job_named(std::to_string(i)), result_of(i), 1);
  }
  std::string damaged = bytes();
  ASSERT_GT(damaged.size(), 3u * 4096);
  for (std::size_t i = 2 * 4096; i < 3 * 4096; ++i) damaged[i] = static_cast<char>(i * 37);
  scratch_.write("results.db", damaged);
  EXPECT_THAT(refusal([&] { Store{path()}; }), HasSubstr("results.db: is damaged ("));
  EXPECT_EQ(bytes(), damaged);
}

TEST_F(StoreTest, AReadOnlyOneIsRefusedForWritingAndCanBeRead) {
  {
    Store store(path());
    store.put_result(job_named("one"), result_of(1), 1);
  }
  chmod(path().c_str(), 0444);
  chmod(scratch_.path().c_str(), 0555);
  // Nothing is read-only to root: be nobody for a moment.
  const bool root = geteuid() == 0;
  if (root) {
    ASSERT_EQ(chown(scratch_.path().c_str(), 65534, 65534), 0);
    ASSERT_EQ(seteuid(65534), 0);
  }
  const std::string said = refusal([&] { Store{path()}; });
  const std::string read = refusal([&] { EXPECT_TRUE(Store::existing(path()).states().at("one").done); });
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  chmod(scratch_.path().c_str(), 0755);
  EXPECT_EQ(said, path() + ": cannot be written: Permission denied");
  EXPECT_EQ(read, "nothing was refused");
}

}  // namespace
}  // namespace terrace
