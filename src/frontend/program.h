// The host side of a tenant's program: it allocates, fills and frees buffers, launches kernels, reads results between
// them, and checks the outcome. Host work takes no simulated time.
//
// Launches of one stream run one after the other, in the order of issue; those of different streams may run at once.
// The host works only while nothing of its program runs: what it issues without waiting begins when it waits.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/archive.h"
#include "engine/check.h"
#include "engine/types.h"
#include "frontend/guest_memory.h"

namespace terrace {

struct Dim3 {
  u32 x = 1, y = 1, z = 1;
  u64 count() const { return u64{x} * y * z; }
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

/// What CUDA allows of a launch.
inline constexpr Dim3 kMostBlocks{0x7fff'ffff, 65535, 65535}, kMostThreads{1024, 1024, 64};
inline constexpr u32 kMostThreadsOfBlock = 1024;
constexpr bool fits(const Dim3& size, const Dim3& most) {
  return size.x <= most.x && size.y <= most.y && size.z <= most.z;
}

/// One kernel argument: the bytes as the kernel's .param declares them. Sizes, and kinds where both sides tell, are checked
/// against the PTX at launch.
struct KernelArgument {
  enum class Kind : u8 { kAny, kWhole, kFloat };  // a buffer's address is a whole number
  std::vector<u8> bytes;
  Kind kind = Kind::kAny;
  std::string origin = {};  // its place in a user's file, for messages
};

struct Launch {
  u32 module = 0;  // of the device code, where it has several
  std::string kernel;
  std::string origin = {};  // its place in a user's file, for messages
  Dim3 grid;
  Dim3 block;
  u32 dynamic_shared_bytes = 0;
  std::vector<KernelArgument> arguments;
  u32 stream = 0;
  /// The host goes on when this and all earlier launches have completed. Otherwise it goes on before they begin: they
  /// find what it writes or frees meanwhile.
  bool host_waits = true;
  /// Only the first so many blocks of the grid run, in the order x, y, z (--slice); all by default.
  u64 block_limit = ~u64{0};

  /// Instead of a kernel: what the host asked to be done in the order of a stream, such as a copy or the time of an
  /// event. It is done between cycles as soon as its turn has come, and takes no time.
  std::function<void(GuestMemory&, Cycle)> action = {};
  bool action_writes = false;  // memory: it waits until nothing of the program runs
  /// Those of the program's launches, by their tickets, that must have completed before, besides earlier ones of the stream.
  u64 ticket = 0;
  std::vector<u64> after = {};
  /// Cycles that the host has spent since it last went on: the launch does not begin before they are over.
  Cycle host_cycles = 0;

  u64 blocks() const { return grid.count() < block_limit ? grid.count() : block_limit; }
  void archive(Archive& a) {
    if (action) input_error("what a CUDA process waits for cannot be saved in a checkpoint; save before it starts");
    a(module, kernel, origin, grid, block, dynamic_shared_bytes, arguments, stream, host_waits, block_limit);
    a(action_writes, ticket, after, host_cycles);
  }

  template <class T>
    requires std::is_trivially_copyable_v<T>
  Launch& argument(const T& value) {
    KernelArgument argument{std::vector<u8>(sizeof(T))};
    std::memcpy(argument.bytes.data(), &value, sizeof(T));
    arguments.push_back(std::move(argument));
    return *this;
  }
  template <class T>
  Launch& argument(const Buffer<T>& buffer) {
    return argument(buffer.address().raw);
  }
};

struct CheckResult {
  bool passed = false;
  std::string message;  // what was compared and how far it agrees, in words for a person
};

class Program {
 public:
  virtual ~Program() = default;
  /// Once, before anything else: makes the buffers.
  virtual void allocate(GuestMemory&) = 0;
  /// Before each execution: fills the buffers and starts from the first launch again. Called again for a relaunch.
  virtual void initialise(GuestMemory&) = 0;
  /// After `initialise`, and each time the host goes on after a launch: what to launch next, or nothing when done.
  virtual std::optional<Launch> next(GuestMemory&) = 0;
  /// After the last launch: whether the results are right.
  virtual CheckResult check(const GuestMemory&) const = 0;
  /// A fault ended its tenant, or it left: nothing of it is launched any more. `fault` is empty if it left.
  virtual void stopped(GuestMemory&, const std::string& /*fault*/) {}
  /// What its host knows besides what is in memory, and cannot know anew. It is restored into a program of the same
  /// parameters, after `allocate` and `initialise`; then memory is restored too. So inputs that these two compute are left out.
  virtual void archive(Archive&) = 0;
};

/// What the host issues until it waits, in that order.
struct LaunchBatch {
  std::vector<Launch> launches;
  bool last = false;  // the program is done when these have completed
};

inline LaunchBatch next_batch(Program& program, GuestMemory& memory) {
  LaunchBatch batch;
  do {
    std::optional<Launch> launch = program.next(memory);
    batch.last = !launch;
    if (launch) batch.launches.push_back(std::move(*launch));
  } while (!batch.last && !batch.launches.back().host_waits);
  return batch;
}

/// Executes a program without time: `run(launch)` for every launch, in the order of issue.
template <class Run>
void for_each_launch(Program& program, GuestMemory& memory, Run&& run) {
  for (bool last = false; !last;) {
    const LaunchBatch batch = next_batch(program, memory);
    for (const Launch& launch : batch.launches) launch.action ? launch.action(memory, 0) : run(launch);
    last = batch.last;
  }
}

}  // namespace terrace
