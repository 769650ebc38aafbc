// Checkpoints (docs/checkpoints.md): the state of a run in a file, and a run that goes on from one. A file begins with words about
// itself, uncompressed; the state follows as a stream of zstd; the last eight bytes are a hash of everything before.
// It appears whole or not at all.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/archive.h"
#include "engine/types.h"
#include "gpu/config.h"
#include "text/tree.h"

namespace terrace {

/// A checkpoint that is asked for: FILE@CYCLE, or FILE@every:CYCLES.
struct CheckpointWish {
  std::string file;
  Cycle cycle = 0;  // the next one
  Cycle every = 0;  // 0: there is only one
};
CheckpointWish parse_checkpoint(std::string_view text);

/// What a machine was asked to keep beside its statistics. One that goes on must keep the same.
struct Kept {
  bool check = false;  // every tenant's results, when it first completes
  std::string log;
  bool timeline = false;
  std::vector<std::string> timeline_of;
  u64 timeline_events = 0;
};

/// What a checkpoint says of itself.
struct CheckpointFacts {
  Cycle cycle = 0;
  u64 warp_instructions = 0, thread_instructions = 0;  // that have issued
  std::string config;                                  // resolved, as TOML
  std::vector<std::string> tenants;                    // as the configuration names them
  std::vector<std::string> programs;                   // hash of all that each one's depends on
  std::vector<u64> completed;                          // by tenant: executions
  Kept kept;
  Tree asked;  // words of whoever asked for the run, for themselves
};

/// Writes a checkpoint; `state` archives what there is.
void write_checkpoint(const std::string& file, const CheckpointFacts& facts,
                      const std::function<void(Archive&)>& state);

/// A checkpoint to go on from. All that can be wrong with the file itself is told when it is opened: it is read to its end
/// once, so that nothing is begun with a part of one. A sentence about it names the file and the remedy.
class Checkpoint {
 public:
  explicit Checkpoint(std::string file);

  const std::string& file() const { return name_; }
  const CheckpointFacts& facts() const { return facts_; }
  GpuConfig config() const;

  /// InputErrors unless a run of that configuration, whose programs have these hashes, can go on from here. When it ends
  /// may differ, if it is a time to come.
  void require(const GpuConfig& config, const std::vector<std::string>& programs) const;
  /// What the machine must keep: what it kept; and what is asked for besides, if it concerns cycles to come only.
  Kept require(const Kept& wanted) const;

  /// Once.
  void restore(const std::function<void(Archive&)>& state);

 private:
  void verify();
  void read_facts();
  [[noreturn]] void refuse_damaged() const;
  void require_until(GpuConfig mine, GpuConfig its) const;

  std::string name_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  u64 state_begins_ = 0, state_ends_ = 0;
  CheckpointFacts facts_;
};

}  // namespace terrace
