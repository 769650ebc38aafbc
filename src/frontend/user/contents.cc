// SPDX-License-Identifier: MIT
#include "frontend/user/contents.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "frontend/user/npy.h"
#include "text/plain_file.h"

namespace terrace::user {

namespace fs = std::filesystem;

namespace {

std::string regular(const std::string& folder, const std::string& name) {
  std::string path = (fs::path(folder) / name).string();
  require_plain_file(path);
  return path;
}

}  // namespace

ContentsFile::ContentsFile(const std::string& folder, const std::string& name, Element type, u64 count,
                           const Place& place)
    : path_(regular(folder, name)), file_(std::fopen(path_.c_str(), "rb"), std::fclose) {
  if (!file_) refuse();
  std::error_code failed;
  u64 holds = fs::file_size(path_, failed);
  if (failed) input_error("{}: cannot be read: {}", path_, failed.message());
  if (name.ends_with(".npy")) holds -= read_npy_header(file_.get(), path_, type, count, place);
  const u64 bytes = count * bytes_of(type);
  if (holds != bytes) place.refuse("needs {} bytes, but {} holds {}", bytes, name, holds);
}

void ContentsFile::read(void* to, u64 bytes) {
  if (std::fread(to, 1, bytes, file_.get()) != bytes) refuse();
}

void ContentsFile::refuse() const {
  input_error("{}: cannot be read: {}", path_,
              errno != 0 ? std::strerror(errno) : "it became shorter while it was read");
}

}  // namespace terrace::user
