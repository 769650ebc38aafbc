// Runs the built `terrace` as a user would and keeps what it said.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "support/paths.h"

namespace terrace {

struct Outcome {
  int exit_code = -1;
  std::string out, err;
};

class Child {
 public:
  /// `folder` is where it runs; its standard output goes to `stdout_file` when that is given.
  Child(const std::string& program, const std::vector<std::string>& arguments, const std::string& folder,
        const std::string& stdout_file = "");
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void signal(int number);
  /// Waits for the end.
  Outcome wait();

 private:
  std::string out_file_, err_file_;
  int pid_ = -1;
};

Outcome run_terrace(const std::vector<std::string>& arguments, const std::string& folder);

}  // namespace terrace
