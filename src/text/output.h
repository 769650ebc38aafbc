// What the program writes: files that appear whole or not at all, and standard output that says when it failed.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace terrace {

/// Written under a temporary name in the same folder and renamed by `commit`; without it nothing is left. Making it
/// early tells before long work starts that a file cannot be written. Any failure is an InputError.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  void commit();

 private:
  [[noreturn]] void fail(int error);

  std::string path_;
  std::string temporary_;  // empty for devices and pipes, which are written in place
  std::FILE* file_ = nullptr;
};

/// A closed pipe or a full disk is an InputError.
void write_stdout(std::string_view text);

}  // namespace terrace
