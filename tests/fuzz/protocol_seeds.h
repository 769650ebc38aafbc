// What clients do, to begin fuzzing from, in the form of try_clients.h: between them they make every call.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "cuda/protocol.h"
#include "frontend/guest_memory.h"
#include "fuzz/try_framing.h"
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
    return step(Deed::kMessage, static_cast<u8>(call), fields.bytes());
  }
  Seed& raw(const std::vector<u8>& bytes) { return step(Deed::kRaw, 0, bytes); }
  Seed& look() { return step(Deed::kLook, 0, {}); }
  Seed& close() { return step(Deed::kClose, 0, {}); }
  Seed& lie(u8 how, const std::vector<u8>& bytes) { return step(Deed::kLie, how, bytes); }
  Seed& parts(u8 bytes) { return step(Deed::kParts, bytes, {}); }
  Seed& hear_no_more() { return step(Deed::kShut, 1, {}); }
  Seed& say_no_more() { return step(Deed::kShut, 0, {}); }
  Seed& vanish() { return step(Deed::kVanish, 0, {}); }
  /// Who does what follows.
  Seed& as(u32 client) {
    client_ = client;
    return *this;
  }
  const std::vector<u8>& bytes() const { return bytes_; }

 private:
  Seed& step(Deed deed, u8 call, const std::vector<u8>& payload) {
    bytes_.push_back(static_cast<u8>(static_cast<u32>(deed) * kFuzzClients + client_));
    bytes_.push_back(call);
    bytes_.push_back(static_cast<u8>(payload.size()));
    bytes_.push_back(static_cast<u8>(payload.size() >> 8));
    bytes_.insert(bytes_.end(), payload.begin(), payload.end());
    return *this;
  }
  std::vector<u8> bytes_;
  u32 client_ = 0;
};

/// A message as it is on the socket.
inline std::vector<u8> framed(Call call, const Writer& fields) {
  const Header header{static_cast<u32>(call), 0, fields.bytes().size()};
  const auto* first = reinterpret_cast<const u8*>(&header);
  std::vector<u8> bytes(first, first + sizeof header);
  bytes.insert(bytes.end(), fields.bytes().begin(), fields.bytes().end());
  return bytes;
}

/// Four clients at once: one greets in parts and asks for more memory than there is, one claims more bytes than it sends,
/// one says what is no message, one goes early.
inline Seed crowded(const Writer& hello) {
  const std::vector<u8> greeting = framed(Call::kHello, hello);
  Seed seed;
  seed.as(0).raw({greeting.begin(), greeting.begin() + 7}).look();
  seed.as(1).say(Call::kHello, hello).raw({6, 0, 0, 0, 0, 0, 0, 0, 200, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3}).look();
  seed.as(2).say(Call::kHello, hello).raw(std::vector<u8>(40, 0xff));
  seed.as(0).raw({greeting.begin() + 7, greeting.end()}).look().say(Call::kMemoryInfo);
  seed.say(Call::kAllocate, Writer().u64(u64{1} << 40)).say(Call::kGoodbye);
  seed.as(3).say(Call::kHello, hello).look().say(Call::kAllocate, Writer().u64(100)).close();
  return seed;
}

/// Four clients whose words arrive in parts: one keeps to the rules, one stops in the midst of a message, one does not listen, one
/// vanishes.
inline Seed in_parts(const Writer& hello) {
  Seed seed;
  seed.as(0).parts(3).say(Call::kHello, hello).say(Call::kAllocate, Writer().u64(100)).look();
  seed.as(1).parts(7).say(Call::kHello, hello).lie(0, std::vector<u8>(8, 1)).say_no_more();
  seed.as(2).parts(1).hear_no_more().say(Call::kHello, hello).say(Call::kMemoryInfo).look();
  seed.as(3).say(Call::kHello, hello).look().say(Call::kDevice).vanish();
  seed.as(0).say(Call::kMemoryInfo).say(Call::kGoodbye);
  return seed;
}

/// Streams of messages for try_framing.h: whole ones at once; ones that are cut in headers and payloads, long ones, a lie, nonsense.
inline std::vector<std::vector<u8>> framing_seeds() {
  const auto step = [](std::vector<u8>& to, Piece piece, u8 how, u64 length, u8 fill = 0, bool filled = true) {
    to.insert(to.end(), {static_cast<u8>(piece), how, static_cast<u8>(length), static_cast<u8>(length >> 8)});
    if (filled) to.insert(to.end(), length, fill);
  };
  std::vector<u8> whole{static_cast<u8>(kFramingMark | kSendsBack)};
  for (const u64 length : {0, 1, 40, 300}) step(whole, Piece::kMessage, 9, length, 5);
  std::vector<u8> cut{kFramingMark};
  step(cut, Piece::kMessage, 9, 20, 1);
  const Header header{9, 0, 24};
  for (u64 at = 0; at < sizeof header; at += 5) {
    step(cut, Piece::kRaw, 0, std::min<u64>(5, sizeof header - at), 0, false);
    const auto* first = reinterpret_cast<const u8*>(&header) + at;
    cut.insert(cut.end(), first, first + std::min<u64>(5, sizeof header - at));
    step(cut, Piece::kPartEnd, 0, 0);
  }
  for (int part = 0; part < 3; ++part) {
    step(cut, Piece::kRaw, 0, 8, 2);
    step(cut, Piece::kPartEnd, 0, 0);
  }
  step(cut, Piece::kLie, 0, 6, 3);
  std::vector<u8> long_ones{static_cast<u8>(kFramingMark | kSendsBack | kHangsUp)};
  step(long_ones, Piece::kLong, 9, 60000, 0, false);
  step(long_ones, Piece::kPartEnd, 0, 0);
  step(long_ones, Piece::kLong, 10, 300, 0, false);
  std::vector<u8> deaf{static_cast<u8>(kFramingMark | kSendsBack | kIsDeaf)};
  for (int i = 0; i < 3; ++i) step(deaf, Piece::kMessage, 9, 50, 4);
  step(deaf, Piece::kLie, 6, 8, 0xff);
  return {whole, cut, long_ones, deaf};
}

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
  Writer texture = Writer().u64(kFirst + 4096).u64(256).u64(16).u64(4);
  for (const u32 field : {1, 4, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}) texture.u32(field);
  memory.say(Call::kTextureCreate, texture).say(Call::kTextureDestroy, Writer().u64(1));
  memory.say(Call::kSurfaceCreate, Writer().area({kFirst + 4096, 256, 64, 4}));
  memory.say(Call::kSurfaceDestroy, Writer().u64(u64{1} << 40));
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
  kernels.as(1).say(Call::kHello, hello).say(Call::kLoadModule, Writer().data(binary.data(), binary.size()));
  kernels.say(Call::kKernel, Writer().u32(0).text("k")).say(Call::kLaunch, launch(0, 0, 1)).say(Call::kWait);
  return {memory.bytes(), kernels.bytes(), crowded(hello).bytes(), in_parts(hello).bytes()};
}

}  // namespace terrace::cuda
