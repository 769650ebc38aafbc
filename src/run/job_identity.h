// What identifies a job: its resolved configuration, the code, and the device code of its tenants. A finished job is
// never run again unless one of these has changed.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gpu/config.h"
#include "run/job.h"

namespace terrace {

/// What a tenant's program contributes to the identity of a job.
struct ProgramFacts {
  std::string ptx;          // hash of its device code
  std::string hash;         // of all it depends on: for a user's program also its TOML file and every file it names
  u64 footprint_bytes = 0;  // of its buffers; 0 for a user's program, where it is not known in advance
};

/// Looks at each program once.
class ProgramCatalogue {
 public:
  /// `text` as in --tenant. A program that cannot be read is an InputError.
  const ProgramFacts& of(const std::string& text, const std::string& size, u64 seed);

 private:
  std::map<std::string, ProgramFacts> known_;
};

/// `config.run` names the tenants.
Job make_job(GpuConfig config, ProgramCatalogue& programs);

std::vector<std::string> split_words(const std::string& text);

}  // namespace terrace
