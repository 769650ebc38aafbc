// The way from a CUDA program to the simulator: the socket, the modules and kernels that the program registered, and the
// managed memory of both sides. One lock guards it all: calls of several threads go one after the other.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
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
  kInvalidMemcpyDirection = 21,
  kInvalidDeviceFunction = 98,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidHandle = 400,
  kNotReady = 600,
  kIllegalAddress = 700,
  kNotSupported = 801,
  kUnknown = 999,
};

/// A kernel as the program and the simulator know it.
struct Kernel {
  void** module = nullptr;
  std::string name;
  bool asked = false;
  int status = kSuccess;  // what asking gave
  std::uint32_t number = 0, registers = 0, static_shared = 0, local = 0, max_threads = 0;
  std::vector<std::uint32_t> sizes;  // of its parameters
};

struct Symbol {
  void** module = nullptr;
  std::string name;
  std::size_t bytes = 0;
  bool managed = false;
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
  /// Null when the program has none there.
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
  void goodbye();

 private:
  struct Read {
    unsigned char* to;
    std::size_t pitch, width, rows;
  };
  struct Managed {
    std::size_t bytes, mapped;
    std::vector<unsigned char> known;  // what the simulator has there
  };
  struct Module {
    const void* fat_binary;
    bool loaded = false;
    int status = kSuccess;
    std::uint32_t number = 0;
  };

  bool connect();
  bool send(Call call, const std::vector<unsigned char>& payload);
  bool receive(void* to, std::size_t bytes);
  int load(void** module);
  void lost();

  int socket_ = -1;
  bool tried_ = false, have_device_ = false;
  DeviceFacts device_;
  std::vector<Module*> modules_;
  std::map<const void*, Kernel> kernels_;
  std::map<const void*, Symbol> symbols_;
  std::map<std::uint64_t, Read> reads_;
  std::uint64_t next_read_ = 1;
  std::map<std::uintptr_t, Managed> managed_;
};

/// One line on standard error.
void say(const std::string& sentence);

}  // namespace terrace::cudart
