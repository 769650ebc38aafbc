// The way from a CUDA program to the simulator: the socket, the modules and kernels that the program registered, and the
// managed memory of both sides. One lock guards it all: calls of several threads go one after the other.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cuda/protocol.h"

namespace terrace::cudart {

using cuda::Area;
using cuda::Call;
using cuda::DeviceFacts;
using cuda::Reader;
using cuda::Writer;

// CUDA's error numbers that the library itself returns.
enum Error : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kInitialization = 3,
  kInvalidConfiguration = 9,
  kInvalidPitch = 12,
  kInvalidSymbol = 13,
  kInvalidChannels = 20,
  kInvalidMemcpyDirection = 21,
  kInvalidFilter = 26,
  kInvalidNormalization = 27,
  kInvalidDeviceFunction = 98,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kUnsupportedLimit = 215,
  kInvalidHandle = 400,
  kNotReady = 600,
  kIllegalAddress = 700,
  kAssert = 710,
  kHostMemoryAlreadyRegistered = 712,
  kHostMemoryNotRegistered = 713,
  kLaunchFailure = 719,
  kNotSupported = 801,
  kUnknown = 999,
};

/// What a block may use without asking for more.
inline constexpr std::size_t kUsualSharedBytes = 48 << 10;

/// A kernel as the program and the simulator know it.
struct Kernel {
  void** module = nullptr;
  std::string name;
  bool asked = false;
  int status = kSuccess;  // what asking gave
  std::uint32_t number = 0, registers = 0, static_shared = 0, local = 0, max_threads = 0;
  std::vector<std::uint32_t> sizes;  // of its parameters
  // What cudaFuncSetAttribute set; less than zero is CUDA's default.
  std::int64_t most_dynamic_shared = -1;
  int carveout = -1;
};

struct Symbol {
  void** module = nullptr;
  std::string name;
  std::size_t bytes = 0;
};

struct Answer {
  int status = kSuccess;
  std::vector<unsigned char> fields;
  Reader reader() const { return Reader(fields); }
};

class Link {
 public:
  static Link& instance();
  std::recursive_mutex lock;

  /// Asks and waits for the answer. Without a simulator the status is kNoDevice.
  Answer ask(Call call, const Writer& fields);
  int ask_status(Call call, const Writer& fields) { return ask(call, fields).status; }
  const DeviceFacts& device();

  // What the program registers before it begins.
  void** add_module(const void* fat_binary);
  void add_kernel(void** module, const void* host, const char* name);
  void add_symbol(void** module, const void* host, const char* name, std::size_t bytes);
  /// A __managed__ variable: `place` gets its address when its module is loaded.
  void add_managed_symbol(void** module, void** place, const char* name, std::size_t bytes);
  /// Sends a module to the simulator, unless that was done.
  int load(void** module);
  /// By the address of its host function, or by what cudaGetKernel gave. Null when the program has none there.
  Kernel* kernel(const void* host);
  /// Asks for its facts once.
  int prepare(Kernel& kernel);
  int symbol_address(const void* host, std::uint64_t& address, std::size_t& bytes);

  /// A read whose bytes come later.
  std::uint64_t expect(void* to, std::size_t pitch, std::size_t width, std::size_t rows);
  void forget_read(std::uint64_t number) { reads_.erase(number); }

  int allocate_managed(void** to, std::size_t bytes);
  bool is_managed(const void* address) const;
  int free_managed(void* address);
  /// Sends what the program wrote to managed memory since the last time.
  int send_managed(std::uint64_t stream);
  void reset();
  /// How often; what was made before a reset is gone.
  unsigned resets() const { return resets_; }
  void goodbye();

 private:
  struct Read {
    unsigned char* to;
    std::size_t pitch, width, rows;
  };
  struct Managed {
    std::size_t bytes, mapped;         // mapped: zero for a variable
    std::vector<unsigned char> known;  // what the simulator has there
  };
  struct Module {
    const void* fat_binary;
    bool loaded = false;
    int status = kSuccess;
    std::uint32_t number = 0;
  };
  struct ManagedSymbol {
    void** module;
    void** place;
    std::string name;
    std::size_t bytes;
  };

  static bool add_containers(const void* fat_binary, Writer& fields);
  bool connect();
  bool send(Call call, const std::vector<unsigned char>& payload);
  bool receive(void* to, std::size_t bytes);
  int place_managed(const ManagedSymbol& symbol, std::uint32_t module);
  int read_now(std::uint64_t first, std::vector<unsigned char>& to);
  bool map_variable_pages(std::uintptr_t first, std::size_t bytes);
  void lost();

  int socket_ = -1;
  bool tried_ = false, have_device_ = false;
  DeviceFacts device_;
  std::vector<Module*> modules_;
  std::map<const void*, Kernel> kernels_;
  std::map<const void*, Symbol> symbols_;
  std::vector<ManagedSymbol> managed_symbols_;
  std::set<std::uintptr_t> variable_pages_;  // of managed variables, mapped in the process
  unsigned resets_ = 0;
  std::map<std::uint64_t, Read> reads_;
  std::uint64_t next_read_ = 1;
  std::map<std::uintptr_t, Managed> managed_;
};

/// One line on standard error.
void say(const std::string& sentence);

}  // namespace terrace::cudart
