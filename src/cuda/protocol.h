// What a CUDA program's runtime library (cudart/) and the simulator say to each other, over one Unix socket for each process:
// the library asks, the simulator answers, one call at a time. Both sides are built from the same tree. The library
// includes this file and nothing else of src/.
//
// A message is a header and a payload of fields in order: numbers of 4 or 8 bytes, and bytes behind their count. An answer
// begins with a status (as CUDA numbers its errors) and a sentence for a person, which may be empty.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace terrace::cuda {

inline constexpr std::uint32_t kProtocolVersion = 5;
/// The environment variable that names the socket.
inline constexpr const char* kSocketVariable = "TERRACE_SOCKET";

enum class Call : std::uint32_t {
  kHello = 1,         // version, process id
  kGoodbye,           // the process ends in good order: what it issued is completed
  kLoadModule,        // fat binaries that are linked together -> module
  kKernel,            // module, name -> kernel, attributes, sizes of its parameters
  kSymbol,            // module, name -> address, bytes
  kAllocate,          // bytes -> address
  kAllocateManaged,   // address, bytes
  kFree,              // address
  kWrite,             // area, stream, bytes
  kRead,              // area, stream, wait, number of the read -> bytes, if it waits
  kCopy,              // area, area, stream, wait
  kSet,               // area, stream, element: bytes of one, value
  kStreamCreate,      // flags -> stream
  kStreamDestroy,     // stream
  kStreamWait,        // stream
  kStreamAfterEvent,  // stream, event
  kEventCreate,       // -> event
  kEventDestroy,      // event
  kEventRecord,       // event, stream
  kEventWait,         // event
  kEventElapsed,      // event, event -> nanoseconds
  kLaunch,            // kernel, grid, block, shared bytes, stream, arguments
  kWait,              //
  kMemoryInfo,        // -> free bytes, all bytes
  kDevice,            // -> DeviceFacts, as fields
  kOccupancy,         // kernel, threads of a block, dynamic shared bytes -> blocks of an SM
  kReset,             // frees everything
  kHeapBytes,         // whether to change it, bytes -> bytes of the device heap
  kStackBytes,        // likewise, of the stack that recursion has in each thread
  kManagedSymbol,     // module, name -> address, bytes; from now on it is managed memory
  kTextureCreate,     // TextureFacts, as fields -> texture object
  kTextureDestroy,    // texture object
  kSurfaceCreate,     // area -> surface object
  kSurfaceDestroy,    // surface object
  // From the simulator.
  kAnswer = 100,
  kReadDone,      // number of the read, bytes: goes ahead of an answer
  kManagedBytes,  // address, bytes: likewise
  kPrinted,       // text that kernels printed: likewise
};

/// What the simulator answers, as CUDA numbers errors.
enum class Status : std::uint32_t {
  kSuccess = 0,
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kInvalidConfiguration = 9,
  kInvalidSymbol = 13,
  kInvalidDevicePointer = 17,
  kInvalidDeviceFunction = 98,
  kNoDevice = 100,
  kInvalidKernelImage = 200,
  kNoKernelImage = 209,
  kInvalidPtx = 218,
  kInvalidHandle = 400,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kAssert = 710,
  kMisalignedAddress = 716,
  kLaunchFailure = 719,
  kNotSupported = 801,
};

struct Header {
  std::uint32_t call = 0;
  std::uint32_t zero = 0;
  std::uint64_t bytes = 0;  // of the payload
};
/// Larger copies are sent in parts.
inline constexpr std::uint64_t kMostPayloadBytes = (std::uint64_t{64} << 20) + 4096;
inline constexpr std::uint64_t kMostCopyBytes = std::uint64_t{64} << 20;

/// `rows` of `width` bytes each, `pitch` bytes apart.
struct Area {
  std::uint64_t first = 0, pitch = 0, width = 0, rows = 1;
  std::uint64_t bytes() const { return width * rows; }
};

/// What programs may learn about the device.
struct DeviceFacts {
  std::string name;
  std::uint64_t memory_bytes = 0;
  std::uint32_t sms = 0, warp_width = 32, sm_warps = 0, sm_blocks = 0, sm_registers = 0, sm_shared_bytes = 0;
  std::uint32_t core_mhz = 0, l2_bytes = 0;
};

/// A texture object: where its texels lie and how they are read. Numbers are CUDA's.
struct TextureFacts {
  std::uint64_t first = 0, pitch = 0, width = 0, height = 1;  // in texels
  std::uint32_t channels = 1, channel_bytes = 4, kind = 0;    // kind: signed, unsigned, float
  std::uint32_t outside[2] = {}, linear_filter = 0, normalized_coordinates = 0, normalized_values = 0;
  std::uint32_t plain_memory = 0;
  std::uint32_t border[4] = {};  // floats, as bits
};

class Writer {
 public:
  Writer& u32(std::uint32_t value) { return raw(&value, sizeof value); }
  Writer& u64(std::uint64_t value) { return raw(&value, sizeof value); }
  Writer& data(const void* from, std::uint64_t count) { return u64(count).raw(from, count); }
  Writer& text(std::string_view text) { return data(text.data(), text.size()); }
  Writer& area(const Area& area) { return u64(area.first).u64(area.pitch).u64(area.width).u64(area.rows); }
  const std::vector<unsigned char>& bytes() const { return bytes_; }
  /// Room for bytes that the caller fills in.
  unsigned char* room(std::uint64_t count) {
    u64(count);
    bytes_.resize(bytes_.size() + count);
    return bytes_.data() + bytes_.size() - count;
  }

 private:
  Writer& raw(const void* from, std::uint64_t count) {
    const auto* first = static_cast<const unsigned char*>(from);
    bytes_.insert(bytes_.end(), first, first + count);
    return *this;
  }
  std::vector<unsigned char> bytes_;
};

/// Reads fields; one that is not there gives zero, and `good` is false from then on.
class Reader {
 public:
  explicit Reader(std::span<const unsigned char> bytes) : rest_(bytes) {}
  std::uint32_t u32() { return number<std::uint32_t>(); }
  std::uint64_t u64() { return number<std::uint64_t>(); }
  std::span<const unsigned char> data() {
    const std::uint64_t count = u64();
    if (count > rest_.size()) return good_ = false, rest_ = {}, rest_;
    const auto found = rest_.first(count);
    rest_ = rest_.subspan(count);
    return found;
  }
  std::string text() {
    const auto bytes = data();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  Area area() {
    Area area;
    area.first = u64();
    area.pitch = u64();
    area.width = u64();
    area.rows = u64();
    return area;
  }
  bool good() const { return good_; }
  /// Everything was there, and nothing is left.
  bool complete() const { return good_ && rest_.empty(); }

 private:
  template <class T>
  T number() {
    T value = 0;
    if (rest_.size() < sizeof value) return good_ = false, rest_ = {}, value;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return value;
  }
  std::span<const unsigned char> rest_;
  bool good_ = true;
};

}  // namespace terrace::cuda
