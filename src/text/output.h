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

/// The whole file at once, in the same way.
void write_whole(const std::string& path, std::string_view text);

/// A full disk is an InputError. A closed pipe is none: `terrace list stats | head` wants no more.
void write_stdout(std::string_view text);

}  // namespace terrace
