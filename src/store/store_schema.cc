// SPDX-License-Identifier: MIT
#include "store/store_schema.h"

#include <fmt/format.h>

#include <iterator>

#include "engine/check.h"

namespace terrace {

namespace {

constexpr std::string_view kSteps[] = {
    // 1: jobs and their results.
    R"(
CREATE TABLE job (
  number INTEGER PRIMARY KEY,            -- names the job inside this file; another store numbers it otherwise
  id TEXT NOT NULL UNIQUE,               -- hash of configuration, code and device code
  state TEXT NOT NULL CHECK (state IN ('done', 'failed')),
  machine TEXT NOT NULL,
  tenants TEXT NOT NULL,                 -- separated by spaces
  size TEXT NOT NULL,
  seed INTEGER NOT NULL,
  sms TEXT NOT NULL,                     -- of each tenant; empty: shared evenly
  config TEXT NOT NULL,                  -- TOML: terrace run --gpu FILE repeats the job
  revision TEXT NOT NULL, code TEXT NOT NULL, compiler TEXT NOT NULL,
  digest TEXT,                           -- over all integer statistics
  cycles INTEGER, warp_instructions INTEGER, thread_instructions INTEGER, total_ipc REAL,
  exit_code INTEGER NOT NULL,
  message TEXT NOT NULL                  -- why it failed
);
CREATE TABLE tenant (
  job INTEGER NOT NULL REFERENCES job (number) ON DELETE CASCADE,
  tenant INTEGER NOT NULL,               -- 0, 1, ...
  name TEXT NOT NULL, workload TEXT NOT NULL, ptx_hash TEXT NOT NULL,
  sms INTEGER NOT NULL, cycles INTEGER NOT NULL, warp_instructions INTEGER NOT NULL, thread_instructions INTEGER NOT NULL,
  ipc REAL NOT NULL, warp_ipc REAL NOT NULL, completed_runs INTEGER NOT NULL,
  capped INTEGER NOT NULL,               -- 1: it never completed, and its rates are of what it did
  fault TEXT NOT NULL,
  PRIMARY KEY (job, tenant)
) WITHOUT ROWID;
CREATE TABLE kernel (
  job INTEGER NOT NULL REFERENCES job (number) ON DELETE CASCADE,
  kernel INTEGER NOT NULL,               -- in the order of their ends
  tenant INTEGER NOT NULL, name TEXT NOT NULL, cycles INTEGER NOT NULL,
  warp_instructions INTEGER NOT NULL, thread_instructions INTEGER NOT NULL, ipc REAL NOT NULL,
  PRIMARY KEY (job, kernel)
) WITHOUT ROWID;
CREATE TABLE stat_name (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, unit TEXT NOT NULL);
CREATE TABLE stat (
  job INTEGER NOT NULL REFERENCES job (number) ON DELETE CASCADE,
  name INTEGER NOT NULL REFERENCES stat_name (number),
  value NUMERIC NOT NULL,
  PRIMARY KEY (job, name)
) WITHOUT ROWID;
CREATE TABLE effort (                    -- what the host did: differs from run to run
  job INTEGER PRIMARY KEY REFERENCES job (number) ON DELETE CASCADE,
  simulation_seconds REAL, process_seconds REAL, warp_instructions_per_second REAL, cycles_per_second REAL,
  peak_rss_bytes INTEGER, stored_at TEXT NOT NULL
);
CREATE VIEW stats AS
  SELECT job.id AS job, stat_name.name AS name, stat.value AS value, stat_name.unit AS unit
  FROM stat JOIN job ON job.number = stat.job JOIN stat_name ON stat_name.number = stat.name;
)",
    // 2: which sweep asked for which job, and what follows from several of them.
    R"(
CREATE TABLE sweep (
  name TEXT PRIMARY KEY,
  file TEXT NOT NULL,                    -- the sweep file, whole
  complete INTEGER NOT NULL              -- 1: every job was done or failed when the sweep ended
);
CREATE TABLE point (
  sweep TEXT NOT NULL REFERENCES sweep (name) ON DELETE CASCADE,
  point INTEGER NOT NULL,
  grid TEXT NOT NULL,
  gpu TEXT NOT NULL, design TEXT NOT NULL, mix TEXT NOT NULL, list TEXT NOT NULL, size TEXT NOT NULL, seed TEXT NOT NULL,
  sms TEXT NOT NULL, until TEXT NOT NULL,
  settings TEXT NOT NULL,                -- JSON: the keys of set and tune tables
  job TEXT NOT NULL,                     -- id; a job that is not there yet has no row in job
  reference TEXT NOT NULL,               -- of the relative metrics, in words
  PRIMARY KEY (sweep, point)
) WITHOUT ROWID;
CREATE TABLE alone (                     -- the reference run of each tenant of a point
  sweep TEXT NOT NULL, point INTEGER NOT NULL, tenant INTEGER NOT NULL, job TEXT NOT NULL,
  PRIMARY KEY (sweep, point, tenant),
  FOREIGN KEY (sweep, point) REFERENCES point (sweep, point) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE TABLE metric (
  sweep TEXT NOT NULL, point INTEGER NOT NULL, name TEXT NOT NULL, value REAL NOT NULL,
  PRIMARY KEY (sweep, point, name),
  FOREIGN KEY (sweep, point) REFERENCES point (sweep, point) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE TABLE search (                    -- oracle partitions found
  sweep TEXT NOT NULL REFERENCES sweep (name) ON DELETE CASCADE,
  grid TEXT NOT NULL, gpu TEXT NOT NULL, design TEXT NOT NULL, mix TEXT NOT NULL, size TEXT NOT NULL, seed TEXT NOT NULL,
  settings TEXT NOT NULL,
  metric TEXT NOT NULL, sms TEXT NOT NULL, value REAL NOT NULL, tried INTEGER NOT NULL,
  PRIMARY KEY (sweep, grid, gpu, design, mix, size, seed, settings)
) WITHOUT ROWID;
CREATE VIEW results AS
  SELECT point.sweep, point.grid, point.gpu, point.design, point.mix, point.list, point.size, point.seed, point.sms, point.until,
    point.settings, point.reference, job.id AS job, job.cycles, job.warp_instructions, job.thread_instructions, job.total_ipc,
    (SELECT value FROM metric WHERE sweep = point.sweep AND point = point.point AND name = 'weighted_speedup')
      AS weighted_speedup,
    (SELECT value FROM metric WHERE sweep = point.sweep AND point = point.point AND name = 'max_slowdown') AS max_slowdown,
    (SELECT value FROM metric WHERE sweep = point.sweep AND point = point.point AND name = 'fairness') AS fairness,
    (SELECT value FROM metric WHERE sweep = point.sweep AND point = point.point AND name = 'antt') AS antt
  FROM point JOIN job ON job.id = point.job AND job.state = 'done';
)",
    // 3: what happened when. A series is one row with a list of numbers: a tenth of the room of a row for each.
    R"(
CREATE TABLE epoch (                     -- of jobs that kept statistics over time
  job INTEGER PRIMARY KEY REFERENCES job (number) ON DELETE CASCADE,
  every INTEGER NOT NULL,                -- cycles
  ends TEXT NOT NULL                     -- JSON: the cycle before which each epoch ended
);
CREATE TABLE series (
  job INTEGER NOT NULL REFERENCES job (number) ON DELETE CASCADE,
  name INTEGER NOT NULL REFERENCES stat_name (number),
  growth TEXT NOT NULL,                  -- JSON: by how much it grew in each epoch
  PRIMARY KEY (job, name)
) WITHOUT ROWID;
CREATE TABLE decision (                  -- what a policy that moves SMs measured and decided
  job INTEGER NOT NULL REFERENCES job (number) ON DELETE CASCADE,
  decision INTEGER NOT NULL,
  cycle INTEGER NOT NULL,
  tenant INTEGER,                        -- nothing: of all tenants
  text TEXT NOT NULL,
  sms TEXT NOT NULL,                     -- JSON: SMs of each tenant from then on
  PRIMARY KEY (job, decision)
) WITHOUT ROWID;
CREATE VIEW epochs AS
  SELECT job.id AS job, stat_name.name AS name, ends.key AS epoch, ends.value AS cycle,
    json_extract(series.growth, '$[' || ends.key || ']') AS value, stat_name.unit AS unit
  FROM job JOIN epoch ON epoch.job = job.number JOIN series ON series.job = job.number
    JOIN stat_name ON stat_name.number = series.name, json_each(epoch.ends) AS ends;
)",
    // 4: when kernels began and ended, and when tenants completed. Nothing in jobs that were stored before.
    R"(
ALTER TABLE kernel ADD COLUMN began INTEGER;            -- cycle
ALTER TABLE kernel ADD COLUMN ended INTEGER;            -- cycle; nothing: it had not ended when the run did
ALTER TABLE tenant ADD COLUMN first_completion INTEGER; -- cycle; nothing: it never completed
)",
    // 5: statistics over time have intervals; epochs are something else (run.epoch).
    R"(
DROP VIEW epochs;
ALTER TABLE epoch RENAME TO interval;
CREATE VIEW over_time AS
  SELECT job.id AS job, stat_name.name AS name, ends.key AS interval, ends.value AS cycle,
    json_extract(series.growth, '$[' || ends.key || ']') AS value, stat_name.unit AS unit
  FROM job JOIN interval ON interval.job = job.number JOIN series ON series.job = job.number
    JOIN stat_name ON stat_name.number = series.name, json_each(interval.ends) AS ends;
)",
};

}  // namespace

u32 store_schema() {
  return static_cast<u32>(std::size(kSteps));
}

void check_store(Database& database) {
  // The whole file, once: damage that shows only hours later would cost the work in between.
  if (const std::string said = database.text("PRAGMA quick_check(1)"); said != "ok")
    input_error("{}: is damaged ({}); restore a copy, or save what can be read with: sqlite3 {} .recover",
                database.path(), said.substr(0, said.find('\n')), database.path());
  // At one moment: another sweep may be making the store, and half of an empty file and half of a store would be neither.
  const Database::Transaction reading(database, Database::Intent::kRead);
  const u64 version = database.number("PRAGMA user_version");
  const u64 application = database.number("PRAGMA application_id");
  const bool empty = version == 0 && application == 0 && database.number("SELECT count(*) FROM sqlite_master") == 0;
  if (!empty && application != kStoreApplication)
    input_error("{}: is not a store of Terrace but another program's database; name another file", database.path());
  if (version > store_schema())
    input_error("{}: has schema {}, and this version of Terrace knows schemas up to {}; use a newer version",
                database.path(), version, store_schema());
}

void migrate_store(Database& database, u32 schema) {
  Database::Transaction transaction(database);
  // Read again inside: another process may have done it meanwhile.
  for (u64 version = database.number("PRAGMA user_version"); version < schema; ++version) {
    database.run(kSteps[version]);
    database.run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kStoreApplication, version + 1));
  }
  transaction.commit();
}

}  // namespace terrace
