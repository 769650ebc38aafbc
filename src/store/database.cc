// SPDX-License-Identifier: MIT
#include "store/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/check.h"

namespace terrace {

namespace {

/// Longer than any transaction of ours by far, so that only a stuck writer is reported.
constexpr int kBusyMilliseconds = 60'000;

/// SQLite opens a file that may not be written as one to be read, and a folder with a message of its own: we look first.
void check_file(const std::string& path, Database::Access access) {
  struct stat there = {};
  const bool exists = stat(path.c_str(), &there) == 0;
  if (!exists && access == Database::Access::kReadOnly)
    input_error("{}: cannot be read: {}", path, std::strerror(errno));
  if (!exists) return;
  if (S_ISDIR(there.st_mode)) input_error("{}: is a folder; name a file for the store", path);
  const int file = open(path.c_str(), O_CLOEXEC | (access == Database::Access::kReadOnly ? O_RDONLY : O_RDWR));
  if (file < 0)
    input_error("{}: cannot be {}: {}", path, access == Database::Access::kReadOnly ? "read" : "written",
                std::strerror(errno));
  close(file);
}

}  // namespace

Database::Database(std::string path, Access access) : path_(std::move(path)) {
  check_file(path_, access);
  const int flags = access == Access::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  int code = sqlite3_open_v2(path_.c_str(), &handle_, flags, nullptr);
  if (code == SQLITE_OK) sqlite3_busy_timeout(handle_, kBusyMilliseconds);
  // Beside a file that was used with a log, reading makes one; where nobody may write, what the file itself holds can
  // still be read.
  if (code == SQLITE_OK && access == Access::kReadOnly) {
    const int first = sqlite3_exec(handle_, "SELECT 1 FROM sqlite_master", nullptr, nullptr, nullptr) & 0xff;
    if (first == SQLITE_CANTOPEN || first == SQLITE_READONLY) {
      sqlite3_close(std::exchange(handle_, nullptr));
      code = sqlite3_open_v2(("file:" + path_ + "?immutable=1").c_str(), &handle_, flags | SQLITE_OPEN_URI, nullptr);
    }
  }
  if (code == SQLITE_OK) return;
  try {
    fail(code);
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

Database::~Database() {
  sqlite3_close(handle_);
}

void Database::fail(int code) {
  const int system = handle_ ? sqlite3_system_errno(handle_) : 0;
  const std::string said = handle_ ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
  // A log or an index beside the file that cannot grow is told as an error of input and output.
  const bool full = (code & 0xff) == SQLITE_IOERR && (system == ENOSPC || system == EDQUOT);
  switch (full ? SQLITE_FULL : code & 0xff) {
    case SQLITE_FULL:
      input_error("{}: the disk is full; free some space and repeat the command: stored results are safe", path_);
    case SQLITE_READONLY:
    case SQLITE_PERM:
      input_error("{}: cannot be written: it is read-only; make it writable, or name another --store", path_);
    case SQLITE_NOTADB:
      input_error("{}: is not a store of Terrace; name another file", path_);
    case SQLITE_CORRUPT:
      input_error("{}: is damaged ({}); restore a copy, or save what can be read with: sqlite3 {} .recover", path_,
                  said, path_);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      input_error("{}: another process has been writing for a minute; wait for it and try again", path_);
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
      input_error("{}: cannot be read or written: {}; stored results are safe", path_,
                  system != 0 ? std::strerror(system) : said.c_str());
    default:
      break;
  }
  SIM_CHECK(false, "{}: SQLite error {}: {}", path_, code, said);
  __builtin_unreachable();
}

void Database::run(std::string_view sql) {
  if (const int code = sqlite3_exec(handle_, std::string(sql).c_str(), nullptr, nullptr, nullptr); code != SQLITE_OK)
    fail(code);
}

u64 Database::number(std::string_view sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.number(0) : 0;
}

std::string Database::text(std::string_view sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.text(0) : "";
}

void Database::use_write_ahead_log() {
  // Changing over needs the file alone, and does not wait for others by itself.
  for (int tries = 0; text("PRAGMA journal_mode") != "wal"; ++tries) {
    const int code = sqlite3_exec(handle_, "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr);
    if (code != SQLITE_OK && (code != SQLITE_BUSY || tries > 100)) fail(code);
    if (code != SQLITE_OK) usleep(20'000);
    SIM_CHECK(tries < 200, "{}: SQLite keeps no write-ahead log here", path_);
  }
  run("PRAGMA synchronous=FULL");
}

Database::Transaction::Transaction(Database& database, Intent intent) : database_(database) {
  database_.run(intent == Intent::kWrite ? "BEGIN IMMEDIATE" : "BEGIN");
}

Database::Transaction::~Transaction() {
  // Fails only when SQLite has undone it already.
  if (open_) sqlite3_exec(database_.handle_, "ROLLBACK", nullptr, nullptr, nullptr);
}

void Database::Transaction::commit() {
  database_.run("COMMIT");
  open_ = false;
}

Statement::Statement(Database& database, std::string_view sql) : database_(database) {
  const int code = sqlite3_prepare_v2(database_.handle_, sql.data(), static_cast<int>(sql.size()), &handle_, nullptr);
  if (code != SQLITE_OK) database_.fail(code);
}

Statement::~Statement() {
  sqlite3_finalize(handle_);
}

Statement& Statement::bind(std::string_view text) {
  sqlite3_bind_text(handle_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::bind(u64 number) {
  sqlite3_bind_int64(handle_, ++bound_, static_cast<sqlite3_int64>(number));
  return *this;
}

Statement& Statement::bind(double number) {
  sqlite3_bind_double(handle_, ++bound_, number);
  return *this;
}

Statement& Statement::bind(const Cell& cell) {
  if (const auto* whole = std::get_if<i64>(&cell)) return bind(static_cast<u64>(*whole));
  if (const auto* real = std::get_if<double>(&cell)) return bind(*real);
  if (const auto* text = std::get_if<std::string>(&cell)) return bind(std::string_view(*text));
  sqlite3_bind_null(handle_, ++bound_);
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  sqlite3_reset(handle_);
  bound_ = 0;
  if (code != SQLITE_DONE) database_.fail(code);
  return false;
}

u32 Statement::columns() const {
  return static_cast<u32>(sqlite3_column_count(handle_));
}

std::string Statement::name(u32 column) const {
  return sqlite3_column_name(handle_, static_cast<int>(column));
}

Cell Statement::cell(u32 column) const {
  switch (sqlite3_column_type(handle_, static_cast<int>(column))) {
    case SQLITE_INTEGER:
      return i64{sqlite3_column_int64(handle_, static_cast<int>(column))};
    case SQLITE_FLOAT:
      return real(column);
    case SQLITE_NULL:
      return {};
    default:
      return text(column);
  }
}

std::string Statement::text(u32 column) const {
  const auto* bytes = sqlite3_column_text(handle_, static_cast<int>(column));
  return bytes ? reinterpret_cast<const char*>(bytes) : "";
}

u64 Statement::number(u32 column) const {
  return static_cast<u64>(sqlite3_column_int64(handle_, static_cast<int>(column)));
}

double Statement::real(u32 column) const {
  return sqlite3_column_double(handle_, static_cast<int>(column));
}

bool Statement::is_null(u32 column) const {
  return sqlite3_column_type(handle_, static_cast<int>(column)) == SQLITE_NULL;
}

}  // namespace terrace
