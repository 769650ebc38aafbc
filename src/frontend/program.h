// The host side of a tenant's program: it allocates, fills and frees buffers, launches kernels one after the other,
// reads results between them, and checks the outcome. Host work takes no simulated time.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

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
  std::string kernel;
  Dim3 grid;
  Dim3 block;
  u32 dynamic_shared_bytes = 0;
  std::vector<KernelArgument> arguments;
  /// Only the first so many blocks of the grid run, in the order x, y, z (--slice); all by default.
  u64 block_limit = ~u64{0};

  u64 blocks() const { return grid.count() < block_limit ? grid.count() : block_limit; }

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
  /// After `initialise`, and each time the previous launch has completed: what to launch next, or nothing when done.
  virtual std::optional<Launch> next(GuestMemory&) = 0;
  /// After the last launch: whether the results are right.
  virtual CheckResult check(const GuestMemory&) const = 0;
};

}  // namespace terrace
