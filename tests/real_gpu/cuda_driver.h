// The few functions of the CUDA driver that running a kernel takes, found in libcuda.so.1 at run time: nothing of a
// CUDA toolkit is needed to build this. Declarations are ours, after the documented interface.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "frontend/program.h"

namespace terrace::real_gpu {

class Gpu {
 public:
  /// Opens the first GPU; without one, or without a driver, that is the user's error.
  Gpu();
  std::string name() const;

  using Address = u64;
  Address allocate(u64 bytes);  // zero-filled
  void release(Address address);
  void upload(Address to, const void* from, u64 bytes);
  void download(void* to, Address from, u64 bytes);

  struct Module;
  /// A cubin, or PTX text, which the driver compiles.
  Module* load(const std::string& image);
  void unload(Module* module);
  /// Where a variable of the module lies; 0 when it has none of that name.
  Address variable(Module* module, const std::string& name);
  /// Runs a kernel to its end; pointers among the arguments are the GPU's own.
  void launch(Module* module, const Launch& launch);

  /// What the driver's code of a kernel takes of an SM.
  struct Needs {
    u32 registers, shared_bytes, local_bytes;  // of a thread, of a block, of a thread
    u32 blocks_per_sm;                         // that fit at once
  };
  Needs needs(Module* module, const Launch& launch);

  u32 sms() const;
  u32 threads_per_sm() const;
  u64 free_bytes() const;

  /// Streams do not wait for each other, nor for anything above; what follows does not wait for its end.
  struct Stream;
  Stream* make_stream();
  void start(Module* module, const Launch& launch, Stream* stream);
  void start_copy(Address to, Address from, u64 bytes, Stream* stream);
  void start_upload(Address to, const void* from, u64 bytes, Stream* stream);
  void wait(Stream* stream);
  /// Brings back what lies there now, while kernels of other streams run.
  void download_now(void* to, Address from, u64 bytes, Stream* stream);

  struct Event;
  Event* make_event();
  void record(Event* event, Stream* stream);
  /// Both have happened.
  double milliseconds(Event* from, Event* to);
};

}  // namespace terrace::real_gpu
