// SPDX-License-Identifier: MIT
#include "text/output.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/check.h"
#include "engine/interrupt.h"

namespace terrace {

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  struct stat there = {};
  const bool exists = stat(path_.c_str(), &there) == 0;
  if (exists && S_ISDIR(there.st_mode)) fail(EISDIR);
  // Renaming over a device would replace it.
  if (!exists || S_ISREG(there.st_mode)) {
    const std::size_t slash = path_.rfind('/');
    const std::size_t name = slash == path_.npos ? 0 : slash + 1;
    if (name == path_.size()) fail(path_.empty() ? ENOENT : EISDIR);
    temporary_ = fmt::format("{}.{}.{}.tmp", path_.substr(0, name), path_.substr(name), getpid());
    remove_if_killed(temporary_);
  }
  file_ = std::fopen(temporary_.empty() ? path_.c_str() : temporary_.c_str(), "wb");
  if (!file_) fail(errno);
}

OutputFile::~OutputFile() {
  if (file_) std::fclose(file_);
  if (temporary_.empty()) return;
  unlink(temporary_.c_str());
  keep_if_killed(temporary_);
}

void OutputFile::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail(errno);
}

void OutputFile::commit() {
  if (std::fclose(std::exchange(file_, nullptr)) != 0) fail(errno);
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  keep_if_killed(std::exchange(temporary_, ""));
}

void OutputFile::fail(int error) {
  // A constructor that throws runs no destructor.
  if (file_) std::fclose(std::exchange(file_, nullptr));
  if (!temporary_.empty()) {
    unlink(temporary_.c_str());
    keep_if_killed(std::exchange(temporary_, ""));
  }
  input_error("{}: cannot be written: {}", path_.empty() ? "\"\"" : path_, std::strerror(error));
}

void write_whole(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

void write_stdout(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written || errno == EPIPE) return;  // whoever reads has seen enough
  input_error("standard output cannot be written: {}", std::strerror(errno));
}

}  // namespace terrace
