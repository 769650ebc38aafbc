// Conversations to begin fuzzing from, in the form of try_conversation.h: between them they make every call.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "cuda/protocol.h"
#include "frontend/guest_memory.h"
#include "support/fat_binary.h"

namespace terrace::cuda {

inline const std::string kSeedPtx =
    ".version 7.8\n.target sm_70\n.address_size 64\n.global .align 4 .u32 counter = 3;\n"
    ".visible .entry k(.param .u64 out, .param .u32 value) {\n.reg .b64 %rd<3>;\n.reg .b32 %r<2>;\n"
    "ld.param.u64 %rd1, [out];\nld.param.u32 %r1, [value];\nst.global.u32 [%rd1], %r1;\nret;\n}\n"
    ".extern .func (.param .b64 r) malloc(.param .b64 a);\n.visible .entry takes() {\n"
    "{ .param .b64 p; .param .b64 r; st.param.b64 [p], 8; call (r), malloc, (p); }\nret;\n}\n";

class Seed {
 public:
  Seed& say(Call call, const Writer& fields = {}) {
    const u64 length = fields.bytes().size();
    bytes_.push_back(static_cast<u8>(call));
    bytes_.push_back(static_cast<u8>(length));
    bytes_.push_back(static_cast<u8>(length >> 8));
    bytes_.insert(bytes_.end(), fields.bytes().begin(), fields.bytes().end());
    return *this;
  }
  const std::vector<u8>& bytes() const { return bytes_; }

 private:
  std::vector<u8> bytes_;
};

/// The first buffers lie one behind the other, each on pages of its own.
inline std::vector<std::vector<u8>> protocol_seeds() {
  constexpr u64 kFirst = GuestMemory::kBase, kManaged = kFirst + (u64{1} << 24);
  const auto row = [](u64 first, u64 bytes) { return Area{first, bytes, bytes, 1}; };
  const Writer hello = Writer().u32(kProtocolVersion).u32(1);
  const std::string text(100, 'x');
  const std::vector<u8> binary = fat_binary(kSeedPtx);

  Seed memory;
  memory.say(Call::kHello, hello).say(Call::kDevice).say(Call::kAllocate, Writer().u64(100));
  memory.say(Call::kAllocate, Writer().u64(5000)).say(Call::kMemoryInfo);
  memory.say(Call::kAllocateManaged, Writer().u64(kManaged).u64(8192));
  memory.say(Call::kWrite, Writer().area(row(kFirst, 100)).u64(0).text(text));
  memory.say(Call::kWrite, Writer().area(row(kManaged, 100)).u64(0).text(text));
  memory.say(Call::kSet, Writer().area({kFirst, 25, 20, 4}).u64(0).u32(4).u32(7));
  memory.say(Call::kCopy, Writer().area(row(kFirst + 4096, 100)).area(row(kFirst, 100)).u64(0).u32(1));
  memory.say(Call::kRead, Writer().area(row(kFirst, 100)).u64(0).u32(1).u64(0));
  memory.say(Call::kRead, Writer().area(row(kFirst, 100)).u64(0).u32(0).u64(1)).say(Call::kWait);
  memory.say(Call::kFree, Writer().u64(kFirst)).say(Call::kReset).say(Call::kGoodbye);

  Seed kernels;
  kernels.say(Call::kHello, hello).say(Call::kLoadModule, Writer().data(binary.data(), binary.size()));
  kernels.say(Call::kSymbol, Writer().u32(0).text("counter")).say(Call::kKernel, Writer().u32(0).text("k"));
  kernels.say(Call::kKernel, Writer().u32(0).text("takes")).say(Call::kAllocate, Writer().u64(100));
  kernels.say(Call::kHeapBytes, Writer().u32(1).u64(65536)).say(Call::kOccupancy, Writer().u32(0).u64(64).u64(0));
  kernels.say(Call::kStreamCreate, Writer().u32(1)).say(Call::kEventCreate).say(Call::kEventCreate);
  const auto launch = [](u32 kernel, u64 stream, u64 out) {
    Writer fields;
    fields.u32(kernel).u32(1).u32(1).u32(1).u32(4).u32(1).u32(1).u64(0).u64(stream).u32(kernel == 0 ? 2 : 0);
    const u32 value = 5;
    if (kernel == 0) fields.data(&out, sizeof out).data(&value, sizeof value);
    return fields;
  };
  // Variables come first: the buffer lies behind them.
  kernels.say(Call::kEventRecord, Writer().u64(17).u64(0)).say(Call::kLaunch, launch(0, 0, kFirst + 4096));
  kernels.say(Call::kEventRecord, Writer().u64(18).u64(0));
  kernels.say(Call::kStreamAfterEvent, Writer().u64(16).u64(18)).say(Call::kLaunch, launch(1, 16, 0));
  kernels.say(Call::kStreamWait, Writer().u64(16)).say(Call::kEventWait, Writer().u64(18));
  kernels.say(Call::kEventElapsed, Writer().u64(17).u64(18)).say(Call::kEventDestroy, Writer().u64(17));
  kernels.say(Call::kStreamDestroy, Writer().u64(16)).say(Call::kGoodbye);
  kernels.say(Call::kHello, hello).say(Call::kLoadModule, Writer().data(binary.data(), binary.size()));
  kernels.say(Call::kKernel, Writer().u32(0).text("k")).say(Call::kLaunch, launch(0, 0, 1)).say(Call::kWait);
  return {memory.bytes(), kernels.bytes()};
}

}  // namespace terrace::cuda
