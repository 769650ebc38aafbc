// SPDX-License-Identifier: MIT
#include "sweep/job_spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "engine/check.h"
#include "engine/hash.h"
#include "text/output.h"

namespace terrace {

namespace fs = std::filesystem;

namespace {

/// Held, shared, by every sweep that uses the folder.
constexpr u64 kPresence = 0;

/// Each job's byte in the lock file, which has none of them: locks reach beyond the end.
u64 byte_of(const std::string& id) {
  return 1 + (hash64(id) >> 2);
}

}  // namespace

JobSpool::JobSpool(const std::string& store_path) : folder_(store_path + "-jobs") {
  const std::string path = (folder_ / "lock").string();
  // Whoever leaves last removes the folder: what we opened may be gone by the time we hold it.
  while (true) {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) input_error("{}: cannot be created: {}", folder_.string(), error.message());
    lock_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock_ < 0 && errno == ENOENT) continue;
    if (lock_ < 0) input_error("{}: cannot be written: {}", path, std::strerror(errno));
    struct stat ours = {}, there = {};
    if (set_lock(F_RDLCK, kPresence) && fstat(lock_, &ours) == 0 && stat(path.c_str(), &there) == 0 &&
        ours.st_ino == there.st_ino)
      return;
    close(lock_);
  }
}

JobSpool::~JobSpool() {
  if (set_lock(F_WRLCK, kPresence)) {
    // Nobody else is here, and results that are not in a store yet are of use to the next sweep.
    bool results = false;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder_, ignored)) results |= entry.path().extension() == ".json";
    if (!results) remove_folder();
  }
  close(lock_);
}

/// While the lock file is there nobody else gets in. Once it is gone a newcomer makes another one, which stays, as does its folder.
void JobSpool::remove_folder() const {
  std::error_code ignored;
  const fs::path lock = folder_ / "lock";
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(folder_, ignored))
    if (entry.path() != lock) others.push_back(entry.path());
  for (const fs::path& other : others) fs::remove_all(other, ignored);
  fs::remove(lock, ignored);
  fs::remove(folder_, ignored);
}

bool JobSpool::set_lock(int type, u64 byte) const {
  struct flock range = {};
  range.l_type = static_cast<short>(type);
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(byte);
  range.l_len = 1;
  // A lock of the open file, not of the process: closing another descriptor of the same file does not lose it.
  return fcntl(lock_, F_OFD_SETLK, &range) == 0;
}

bool JobSpool::lock(const std::string& id) {
  return set_lock(F_WRLCK, byte_of(id));
}

void JobSpool::unlock(const std::string& id) {
  set_lock(F_UNLCK, byte_of(id));
}

bool JobSpool::has_result(const std::string& id) const {
  std::error_code ignored;
  return fs::exists(result_path(id), ignored);
}

void JobSpool::write_config(const Job& job) {
  OutputFile file(config_path(job.id));
  file.write(job.config);
  file.commit();
}

void JobSpool::remove(const std::string& id) {
  std::error_code ignored;
  fs::remove(config_path(id), ignored);
  fs::remove(result_path(id), ignored);
}

}  // namespace terrace
