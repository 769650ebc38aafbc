// A thin layer over SQLite: every failure is an InputError of one sentence that names the file and the remedy, and
// several processes may write to one file. Only database.cc includes sqlite3.h.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "engine/types.h"

struct sqlite3;
struct sqlite3_stmt;

namespace terrace {

class Database {
 public:
  enum class Access : u8 { kReadOnly, kReadWrite };

  /// Opens the file; creates it if it does not exist and is to be written. Changes nothing in it.
  Database(std::string path, Access access);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::string& path() const { return path_; }
  /// One or several statements without results.
  void run(std::string_view sql);
  u64 number(std::string_view sql);  // the first column of the first row; 0 when there is none
  std::string text(std::string_view sql);
  /// Readers see the last commit while one process writes; a commit is on the disk before it returns.
  void use_write_ahead_log();

  enum class Intent : u8 { kRead, kWrite };

  /// Begins with the constructor and is rolled back unless it is committed. Writers in other processes wait for one that
  /// writes; one that reads sees the file as it was at its first look, whatever they commit meanwhile.
  class Transaction {
   public:
    explicit Transaction(Database& database, Intent intent = Intent::kWrite);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit();

   private:
    Database& database_;
    bool open_ = true;
  };

  [[noreturn]] void fail(int code);

 private:
  friend class Statement;
  std::string path_;
  sqlite3* handle_ = nullptr;
};

using Cell = std::variant<std::monostate, i64, double, std::string>;

/// A prepared statement: bind every `?` in order, then step. After the last row it can be bound again.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::string_view text);
  Statement& bind(const std::string& text) { return bind(std::string_view(text)); }
  Statement& bind(const char* text) { return bind(std::string_view(text)); }
  Statement& bind(u64 number);
  Statement& bind(u32 number) { return bind(u64{number}); }
  Statement& bind(double number);
  Statement& bind(const Cell& cell);

  /// Goes to the next row; false when there is none, and the statement is ready for the next use.
  bool step();
  /// For statements without results.
  void run() {
    while (step()) {
    }
  }

  u32 columns() const;
  std::string name(u32 column) const;
  Cell cell(u32 column) const;
  std::string text(u32 column) const;
  u64 number(u32 column) const;
  double real(u32 column) const;
  bool is_null(u32 column) const;

 private:
  Database& database_;
  sqlite3_stmt* handle_ = nullptr;
  int bound_ = 0;
};

}  // namespace terrace
