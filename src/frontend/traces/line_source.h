// The lines of a text file that may be compressed: FILE.xz and FILE.zst are decompressed on the way, whatever is named
// otherwise is plain text. Traces are large: a piece at a time is in memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/check.h"
#include "engine/types.h"

namespace terrace::traces {

/// The bytes of a file, decompressed.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Appends the next ones; false at the end. A file that is damaged or truncated is an InputError.
  virtual bool read(std::string& to) = 0;
};

class LineSource {
 public:
  /// A file that cannot be read is an InputError.
  explicit LineSource(std::string path);
  ~LineSource();
  LineSource(LineSource&&) noexcept;
  LineSource& operator=(LineSource&&) noexcept;

  /// The next line without its end, valid until the next call; nothing at the end of the file.
  std::optional<std::string_view> next();
  /// Of the line that was given last, from 1.
  u64 line() const { return line_; }
  const std::string& path() const { return path_; }

  /// What is wrong with the last line, in a sentence that names it.
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    input_error("{}:{}: {}", path_, line_, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  std::string path_;
  std::unique_ptr<ByteSource> bytes_;
  std::string text_;  // read and not yet given, from at_ on
  std::size_t at_ = 0;
  u64 line_ = 0;
  bool ended_ = false;
};

/// Of the file's bytes as they lie on disk.
u64 file_hash(const std::string& path);

}  // namespace terrace::traces
