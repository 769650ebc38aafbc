// The folder STORE-jobs beside a store, where jobs that are under way have their files: ID.toml goes in, ID.json comes
// out. A result is here until it is in the store, so that a finished job survives the sweep that started it. Several
// sweeps may share a store: a lock per job, which ends with the process that holds it, keeps two from running the same
// one. The last sweep to leave removes the folder.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

#include "run/job.h"
#include "store/point.h"

namespace terrace {

class JobSpool {
 public:
  /// Anything that goes wrong is an InputError.
  explicit JobSpool(const std::string& store_path);
  ~JobSpool();
  JobSpool(const JobSpool&) = delete;
  JobSpool& operator=(const JobSpool&) = delete;

  /// False when another process has it.
  bool lock(const std::string& id);
  void unlock(const std::string& id);

  std::string config_path(const std::string& id) const { return (folder_ / (id + ".toml")).string(); }
  std::string result_path(const std::string& id) const { return (folder_ / (id + ".json")).string(); }
  bool has_result(const std::string& id) const;
  /// With the lock held.
  void write_config(const Job& job);
  void remove(const std::string& id);

 private:
  bool set_lock(int type, u64 byte) const;
  void remove_folder() const;

  std::filesystem::path folder_;
  int lock_ = -1;
};

}  // namespace terrace
