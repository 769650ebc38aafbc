// A file of measured points that is whole at any time: what is known is there if a later point fails.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "engine/types.h"

namespace terrace::silicon {

/// What `nvidia-smi` says of clocks, power and the driver, as an object of JSON; null where there is no such program.
std::string machine_state();

/// As a string of JSON.
std::string quoted(const std::string& text);

class JsonFile {
 public:
  /// `simulated` is the machine in Terrace that stands in for a GPU, if one does.
  explicit JsonFile(std::string path, std::string simulated = {});

  void set_machine(const std::string& name, u32 sms);
  /// How it was made: a value of JSON, in the file's head.
  void set_made(std::string json) { made_ = std::move(json); }
  void point(std::string line);
  void problem(const std::string& where, const std::string& what);
  /// Reads what a process writes, to its end: #NAME|SMS, a point's object, or !PROBLEM, a line each.
  void take_lines(const std::string& group, int from);

  u64 points() const { return points_.size(); }
  void write() const;
  void finish();

 private:
  std::string path_, simulated_, date_, gpu_;
  u32 sms_ = 0;
  std::string before_ = "null", after_ = "null", made_;
  std::vector<std::string> points_, problems_;
  std::chrono::steady_clock::time_point written_;
};

}  // namespace terrace::silicon
