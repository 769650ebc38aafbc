// Device code, of whatever kind (stream_kind.h says who executes it). Here is how PTX is read: from a file, or from a
// .cu file that clang compiles on the spot with the flags of the workloads.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/types.h"

namespace terrace {

struct DeviceCode {
  static constexpr std::string_view kPtx = "ptx";
  /// A choice: a short loop of one warp reaches it within seconds under `exec`, and few kernels have a warp that does.
  static constexpr u64 kLoopLimit = u64{1} << 24;
  static constexpr u64 kStackBytes = 1024;                // CUDA's default
  static constexpr u64 kMostStackBytes = u64{512} << 10;  // the local memory that a thread may have under CUDA

  std::string file;  // what messages call it
  std::string text;  // what its kind reads
  std::string kind{kPtx};
  u64 heap_bytes = u64{8} << 20;  // what kernels can take with malloc, at first as much as under CUDA
  u64 stack_bytes = kStackBytes;  // what recursive functions have beyond the longest chain of calls that is known
  u64 loop_limit = kLoopLimit;    // jumps back of one warp after which it counts as endless; 0: none

  /// Of the text: results record which device code was run.
  u64 hash() const;
};

/// Reads FILE.ptx, or compiles FILE.cu, with more flags than the workloads' when some are given. Device code that does
/// not compile is the user's error, with clang's first one.
DeviceCode read_device_code(const std::string& path, const std::string& more_flags = {});

/// Likewise of several files, which are linked.
DeviceCode read_linked_code(const std::vector<std::string>& paths);

/// The folder that holds the workloads' modules: beside the program in a build, under share/terrace when installed.
std::string workload_folder();

/// A module of the workloads.
DeviceCode read_workload_module(std::string_view module);

}  // namespace terrace
