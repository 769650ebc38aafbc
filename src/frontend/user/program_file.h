// A user's TOML file, read: the device code, the buffers, the launches, and what is expected in the end.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/program.h"
#include "frontend/user/arguments.h"
#include "frontend/user/contents.h"
#include "frontend/user/expression.h"

namespace terrace::user {

inline void describe_element(Fields& v, Element& type) {
  v("type", type, {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "f16", "bf16"}, "of an element");
}

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
    describe_element(v, type);
    v("count", count, in(1, u64{1} << 34), "elements");
    v("read_only", read_only, "a kernel that writes to it faults");
    ContentsSpec::describe(v, "init", "first contents");
  }
};

/// Elements of a buffer that get one value before a launch.
struct FillSpec {
  std::string buffer;
  u64 offset = 0, count = 0;
  Tree value{u64{0}};
  u64 index = 0;
  Place place;

  void describe(Fields& v) {
    v("buffer", buffer, "which one");
    v("offset", offset, in(0, u64{1} << 34), "first element");
    v("count", count, in(1, u64{1} << 34), "elements; the rest of the buffer when left out");
  }
};

/// Elements that are copied before a launch.
struct CopySpec {
  std::string from, to;
  u64 from_offset = 0, to_offset = 0, count = 0;
  u64 from_index = 0, to_index = 0;

  void describe(Fields& v) {
    v("from", from, "buffer to read");
    v("to", to, "buffer to write");
    v("from_offset", from_offset, in(0, u64{1} << 34), "first element read");
    v("to_offset", to_offset, in(0, u64{1} << 34), "first element written");
    v("count", count, in(1, u64{1} << 34), "elements; the rest of `from` when left out");
  }
};

/// What is launched in one repetition, and what the host does before it.
struct LaunchOnce {
  Launch launch;
  std::vector<std::vector<Address>> addresses;  // per argument
  std::vector<FillSpec> fills;
  std::vector<CopySpec> copies;
};

struct LaunchSpec {
  std::string kernel;
  std::vector<u64> grid{1}, block{1};
  u32 shared = 0;
  u32 repeat = 1;
  std::string group;
  /// What the host does before the first of its repetitions, in this order, buffers by number.
  std::vector<u64> unmap, read_only, read_write;
  /// One for each repetition where expressions tell them apart: for each round of the group those of its repetitions.
  std::vector<LaunchOnce> times;
  u64 per_round = 0, per_repeat = 0;  // how far those of the next round and the next repetition lie apart

  const LaunchOnce& at(u64 round, u64 again) const { return times[round * per_round + again * per_repeat]; }

  void describe(Fields& v) {
    v("kernel", kernel, "name of the .entry");
    v("grid", grid, in(1, (u64{1} << 31) - 1), "blocks in x, y, z");
    v("block", block, in(1, 1024), "threads in x, y, z");
    v("shared", shared, in(0, 1 << 20), "bytes of dynamic shared memory");
    v("repeat", repeat, in(1, 1'000'000), "times in a row");
    v("group", group, "launches that follow each other and repeat together");
  }
};

/// Launches that repeat together.
struct GroupSpec {
  std::string name;
  u32 repeat = 1;
  u64 first = 0, end = 0;  // launches by number
  Place place;

  void describe(Fields& v) {
    v("name", name, "what launches call it");
    v("repeat", repeat, in(1, 1'000'000), "times in a row");
  }
};

/// What a __constant__ or __device__ variable holds before the first launch.
struct VariableSpec : ContentsSpec {
  std::string name;
  Element type = Element::kF32;
  u64 count = 0;
  Place place;

  void describe(Fields& v) {
    v("name", name, "of the variable in the device code");
    describe_element(v, type);
    v("count", count, in(1, u64{1} << 34), "elements");
    ContentsSpec::describe(v, "init", "contents");
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
  std::string file, folder;                    // it, and what files it names are relative to
  std::vector<std::string> sources;            // linked, if there are several
  Names names;                                 // of [define]
  std::optional<u64> heap_bytes, stack_bytes;  // of device code: the usual ones when left out
  std::vector<BufferSpec> buffers;
  std::vector<GroupSpec> groups;
  std::vector<LaunchSpec> launches;
  std::vector<VariableSpec> variables;
  std::vector<ExpectSpec> expectations;
};

/// Anything wrong is an InputError with file, line and key. `seed` is of the contents that are drawn, where the file gives
/// none.
std::unique_ptr<const ProgramFile> read_program_file(const std::string& path, u64 seed);

}  // namespace terrace::user
