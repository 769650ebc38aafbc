// A user's TOML file, read: the device code, the buffers, the launches, and what is expected in the end.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/program.h"
#include "frontend/user/contents.h"

namespace terrace::user {

struct BufferSpec : ContentsSpec {
  std::string name;
  Element type = Element::kF32;
  u64 count = 0;
  bool read_only = false;
  std::string same_as;
  u64 same_as_index = 0;
  Place place;
  bool is_mapping() const { return !same_as.empty(); }

  void describe(Fields& v) {
    v("name", name, "what launches and expectations call it");
    v("same_as", same_as, "another mapping of that buffer: the same memory at other addresses");
    v("type", type, {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "f16", "bf16"},
      "of an element");
    v("count", count, in(1, u64{1} << 34), "elements");
    v("read_only", read_only, "a kernel that writes to it faults");
    ContentsSpec::describe(v, "init", "first contents");
  }
};

struct LaunchSpec {
  std::string kernel;
  std::vector<u64> grid{1}, block{1};
  u32 shared = 0;
  u32 repeat = 1;
  Launch launch;
  std::vector<u64> buffer_arguments;  // per argument: which buffer, or kNoBuffer
  static constexpr u64 kNoBuffer = ~u64{0};
  /// What the host does before it, in this order: buffers by number.
  std::vector<u64> unmap, read_only, read_write;

  void describe(Fields& v) {
    v("kernel", kernel, "name of the .entry");
    v("grid", grid, in(1, (u64{1} << 31) - 1), "blocks in x, y, z");
    v("block", block, in(1, 1024), "threads in x, y, z");
    v("shared", shared, in(0, 1 << 20), "bytes of dynamic shared memory");
    v("repeat", repeat, in(1, 1'000'000), "times in a row");
  }
};

struct ExpectSpec : ContentsSpec {
  std::string buffer, digest;
  Tree tolerance, absolute;  // relative and absolute error, either of which suffices; exact without them
  u64 mismatches = 1;
  u64 index = 0;
  bool compares = false;
  Place place;

  void describe(Fields& v) {
    v("buffer", buffer, "which one");
    v("mismatches", mismatches, in(1, u64{1} << 34), "how many values that differ are told");
    v("digest", digest, "hash of its bytes, as exec prints it");
    ContentsSpec::describe(v, "equals", "what it should hold");
  }
};

/// Whether the file has the key that a tree stands for.
inline bool given(const Tree& tree) {
  return !std::holds_alternative<std::monostate>(tree.value);
}

/// Where it is: places in it point to its name.
struct ProgramFile {
  std::string file, folder;  // it, and what files it names are relative to
  std::string source;
  std::vector<BufferSpec> buffers;
  std::vector<LaunchSpec> launches;
  std::vector<ExpectSpec> expectations;
};

/// Anything wrong is an InputError with file, line and key. `seed` is of the contents that are drawn, where the file gives
/// none.
std::unique_ptr<const ProgramFile> read_program_file(const std::string& path, u64 seed);

}  // namespace terrace::user
