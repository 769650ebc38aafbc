// A folder of traces: kernelslist.g says in which order memory was copied to the GPU and kernels were launched. Reading it
// looks at every line of every trace once: mistakes are told before anything runs, and all memory that the kernels touch is
// known.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/types.h"
#include "frontend/traces/kernel_trace.h"

namespace terrace::traces {

/// What is known of a kernel's trace without its instructions.
struct KernelFile {
  std::string name;  // in the folder
  u64 hash = 0;
  u64 blocks = 0;                        // that were recorded
  u64 local_first = 0, local_bytes = 0;  // of a thread: the part of its local memory that is touched
};

struct MemoryRange {
  u64 first = 0, bytes = 0;
};

struct TraceFolder {
  struct Copy {
    MemoryRange to;
  };
  struct Kernel {
    u32 file = 0;
    KernelHeader header;
  };

  std::string path;
  std::vector<KernelFile> files;  // each once, in the order of their first launches
  std::vector<std::variant<Copy, Kernel>> commands;
  std::vector<MemoryRange> memory;     // that is touched, by address; none touches another
  std::map<std::string, u64> unknown;  // opcodes that the table does not have: instructions per execution
  u64 table_hash = 0;

  /// Everything that decides what a run does, as text: what DeviceCode::text holds.
  std::string manifest() const;
};

/// Reads all of it. Anything wrong is an InputError.
TraceFolder read_trace_folder(const std::string& path);

/// What of a manifest a stream needs.
struct Manifest {
  std::vector<KernelFile> files;
  std::map<std::string, u64> unknown;
};
Manifest parse_manifest(const std::string& text, const std::string& folder);

}  // namespace terrace::traces
