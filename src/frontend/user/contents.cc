// SPDX-License-Identifier: MIT
#include "frontend/user/contents.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace terrace::user {

namespace fs = std::filesystem;

ContentsFile::ContentsFile(const std::string& folder, const std::string& name, u64 bytes, const Place& place)
    : path_((fs::path(folder) / name).string()), file_(std::fopen(path_.c_str(), "rb"), std::fclose) {
  if (!file_) refuse();
  std::error_code failed;
  const u64 holds = fs::file_size(path_, failed);
  if (failed) input_error("{}: cannot be read: {}", path_, failed.message());
  if (holds != bytes) place.refuse("needs {} bytes and {} holds {}", bytes, name, holds);
}

void ContentsFile::read(void* to, u64 bytes) {
  if (std::fread(to, 1, bytes, file_.get()) != bytes) refuse();
}

void ContentsFile::refuse() const {
  input_error("{}: cannot be read: {}", path_, errno != 0 ? std::strerror(errno) : "it became shorter meanwhile");
}

}  // namespace terrace::user
