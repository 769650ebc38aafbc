// What a program does, counted while it runs: warp instructions by class, and how many lines and pages its warp-level
// accesses to global and local memory touch. The units are those of the workloads' specification: lines of 128 bytes
// and pages of 4 KB, whatever the machine's; accesses that no lane takes part in do not count. SPDX-License-Identifier:
// MIT
#pragma once

#include <array>

#include "engine/types.h"
#include "frontend/inst_stream.h"

namespace terrace {

class AccessProfile {
 public:
  static constexpr u32 kLineBytes = 128;
  static constexpr u32 kPageBytes = 4096;

  void record(const DecodedInst& inst, const Effect& effect);

  u64 warp_instructions() const;
  u64 of_class(InstClass cls) const { return by_class_[index(cls)]; }
  u64 thread_instructions() const { return thread_instructions_; }
  u64 accesses() const { return accesses_; }
  u64 line_requests() const { return lines_; }
  double lines_per_access() const { return per_access(lines_); }
  double pages_per_access() const { return per_access(pages_); }
  u32 most_pages() const { return most_pages_; }
  u64 shared_accesses() const { return shared_accesses_; }

 private:
  double per_access(u64 count) const {
    return accesses_ == 0 ? 0 : static_cast<double>(count) / static_cast<double>(accesses_);
  }
  void record_access(const Effect& effect);

  std::array<u64, kInstClasses> by_class_{};
  u64 thread_instructions_ = 0;
  u64 accesses_ = 0, lines_ = 0, pages_ = 0, shared_accesses_ = 0;
  u32 most_pages_ = 0;
};

/// In tables and result files.
inline constexpr std::array<std::string_view, kInstClasses> kInstClassNames{"integer", "float",   "double", "special",
                                                                            "control", "barrier", "fence",  "memory"};

}  // namespace terrace
