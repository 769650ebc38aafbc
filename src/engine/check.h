// The kinds of failure, and how they are reported.
//   InputError   wrong input: one sentence with file, line, key and remedy. Caught in main, exit code 2.
//   ModelError   SIM_CHECK found a broken invariant of the model. Exit code 3.
//   Deadlock     no unit can make progress although work is left. Exit code 4.
// An expected refusal (a full queue) is a return value, never one of these.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace terrace {

class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ModelError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

class Deadlock : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thrown between cycles when the user pressed Ctrl-C. Exit code 130.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

[[noreturn]] void fail_check(const char* condition, const char* file, int line, std::string message);

template <class... Args>
[[noreturn]] void input_error(fmt::format_string<Args...> format, Args&&... args) {
  throw InputError(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace terrace

/// Always on; for cold paths. The message is a fmt format with its arguments.
#define SIM_CHECK(condition, ...)                                                        \
  do {                                                                                   \
    if (!(condition)) [[unlikely]]                                                       \
      ::terrace::fail_check(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
  } while (false)

/// For hot paths: only in debug and sanitizer builds.
#ifdef TERRACE_DCHECK
#define SIM_DCHECK(condition, ...) SIM_CHECK(condition, __VA_ARGS__)
#else
#define SIM_DCHECK(condition, ...) \
  do {                             \
  } while (false)
#endif
