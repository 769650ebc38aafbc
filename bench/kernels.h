// The kernels that speed is measured on, as PTX: an FMA loop, coalesced streaming, a walk in which each lane strides to
// its own line, random updates with all lanes apart. Their shapes belong to the figures in docs/speed.md.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <functional>
#include <optional>
#include <string>

#include "frontend/program.h"

namespace terrace::bench {

inline constexpr const char* kHeader = ".version 7.8\n.target sm_70\n.address_size 64\n";

inline constexpr const char* kFmaLoop = R"(
.visible .entry fma_loop(.param .u64 out, .param .u32 n) {
  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .f32 %f<12>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x; cvt.rn.f32.u32 %f1, %r2; mov.f32 %f2, 0f3F7FFF58; mov.f32 %f3, 0f3F000000;
  mov.f32 %f4, %f1; mov.f32 %f5, %f1; mov.f32 %f6, %f1; mov.u32 %r3, 0;
LOOP:
  fma.rn.f32 %f1, %f1, %f2, %f3; fma.rn.f32 %f4, %f4, %f2, %f3;
  fma.rn.f32 %f5, %f5, %f2, %f3; fma.rn.f32 %f6, %f6, %f2, %f3;
  fma.rn.f32 %f1, %f1, %f2, %f3; fma.rn.f32 %f4, %f4, %f2, %f3;
  fma.rn.f32 %f5, %f5, %f2, %f3; fma.rn.f32 %f6, %f6, %f2, %f3;
  add.s32 %r3, %r3, 1;
  setp.lt.u32 %p1, %r3, %r1;
  @%p1 bra LOOP;
  add.f32 %f1, %f1, %f4; add.f32 %f1, %f1, %f5; add.f32 %f1, %f1, %f6;
  mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2; st.global.f32 [%rd3], %f1;
  ret;
})";

inline constexpr const char* kStream = R"(
.visible .entry stream(.param .u64 a, .param .u64 b, .param .u32 n) {
  .reg .pred %p<2>; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;
  mov.u32 %r6, %nctaid.x; mul.lo.s32 %r7, %r6, %r3;
LOOP:
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra DONE;
  mul.wide.u32 %rd3, %r5, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4]; ld.global.f32 %f2, [%rd5]; add.f32 %f3, %f1, %f2; st.global.f32 [%rd5], %f3;
  add.s32 %r5, %r5, %r7;
  bra.uni LOOP;
DONE:
  ret;
})";

inline constexpr const char* kGups = R"(
.visible .entry gups(.param .u64 table, .param .u64 mask, .param .u32 n) {
  .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<14>;
  ld.param.u64 %rd1, [table]; ld.param.u64 %rd2, [mask]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;
  cvt.u64.u32 %rd3, %r5; mad.lo.s64 %rd3, %rd3, 6364136223846793005, 1442695040888963407; mov.u32 %r6, 0;
LOOP:
  shl.b64 %rd4, %rd3, 13; xor.b64 %rd3, %rd3, %rd4; shr.u64 %rd4, %rd3, 7; xor.b64 %rd3, %rd3, %rd4;
  shl.b64 %rd4, %rd3, 17; xor.b64 %rd3, %rd3, %rd4;
  and.b64 %rd5, %rd3, %rd2; shl.b64 %rd6, %rd5, 3; add.s64 %rd7, %rd1, %rd6;
  ld.global.u64 %rd8, [%rd7]; xor.b64 %rd9, %rd8, %rd3; st.global.u64 [%rd7], %rd9;
  add.s32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, %r1;
  @%p1 bra LOOP;
  ret;
})";

inline constexpr const char* kRowWalk = R"(
.visible .entry row_walk(.param .u64 a, .param .u64 out, .param .u32 columns, .param .u32 pitch) {
  .reg .pred %p<2>; .reg .b32 %r<10>; .reg .f32 %f<4>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [out]; ld.param.u32 %r1, [columns]; ld.param.u32 %r2, [pitch];
  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x; mad.lo.s32 %r6, %r3, %r4, %r5;
  mul.wide.u32 %rd3, %r6, %r2; add.s64 %rd4, %rd1, %rd3; mov.f32 %f1, 0f00000000; mov.u32 %r7, 0;
LOOP:
  ld.global.f32 %f2, [%rd4]; add.f32 %f1, %f1, %f2;
  add.s64 %rd4, %rd4, 4; add.s32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, %r1;
  @%p1 bra LOOP;
  mul.wide.u32 %rd5, %r6, 4; add.s64 %rd6, %rd2, %rd5; st.global.f32 [%rd6], %f1;
  ret;
})";

/// One launch of one kernel over buffers that `make` allocates.
class OneLaunch final : public Program {
 public:
  explicit OneLaunch(std::function<Launch(GuestMemory&)> make) : make_(std::move(make)) {}
  void allocate(GuestMemory& memory) override { launch_ = make_(memory); }
  void initialise(GuestMemory&) override { launched_ = false; }
  std::optional<Launch> next(GuestMemory&) override {
    if (launched_) return std::nullopt;
    launched_ = true;
    return launch_;
  }
  CheckResult check(const GuestMemory&) const override { return {true, "not checked: only its speed matters"}; }
  void archive(Archive& a) override { a(launched_); }

 private:
  std::function<Launch(GuestMemory&)> make_;
  Launch launch_;
  bool launched_ = false;
};

/// What 30 SMs are given, for a machine with other SMs: each has as much to do.
constexpr u32 per_30_sms(u32 amount, u32 sms) {
  return amount * sms / 30;
}

struct Kernel {
  const char* name;
  const char* text;
  Launch (*make)(GuestMemory&, u32 sms);
};

/// The shapes for the whole GPU: enough blocks for its SMs, a second or so of simulation each for 30 of them.
inline const Kernel kGpuKernels[] = {
    {"fma", kFmaLoop,
     [](GuestMemory& memory, u32 sms) {
       Launch launch{.kernel = "fma_loop", .grid = {per_30_sms(240, sms), 1, 1}, .block = {256, 1, 1}, .arguments = {}};
       launch.argument(Buffer<float>(memory, "out", 256)).argument(u32{100});
       return launch;
     }},
    {"stream", kStream,
     [](GuestMemory& memory, u32 sms) {
       const u32 count = per_30_sms(1 << 21, sms);
       Launch launch{.kernel = "stream", .grid = {per_30_sms(480, sms), 1, 1}, .block = {256, 1, 1}, .arguments = {}};
       launch.argument(Buffer<float>(memory, "a", count)).argument(Buffer<float>(memory, "b", count)).argument(count);
       return launch;
     }},
    {"strided", kRowWalk,
     [](GuestMemory& memory, u32 sms) {
       constexpr u32 kBlockRows = 128, kColumns = 96, kPitch = 4096;
       const u32 blocks = per_30_sms(32, sms), rows = blocks * kBlockRows;
       Launch launch{.kernel = "row_walk", .grid = {blocks, 1, 1}, .block = {kBlockRows, 1, 1}, .arguments = {}};
       launch.argument(Buffer<u8>(memory, "a", u64{rows} * kPitch)).argument(Buffer<float>(memory, "out", rows));
       launch.argument(kColumns).argument(kPitch);
       return launch;
     }},
    {"gups", kGups,
     [](GuestMemory& memory, u32 sms) {
       // The tiny shape for 30 SMs: 16 MiB, 128 blocks of 128 threads, 16 updates each. Tables are powers of two.
       const u64 words = std::bit_ceil(u64{per_30_sms(1 << 21, sms)});
       Launch launch{.kernel = "gups", .grid = {per_30_sms(128, sms), 1, 1}, .block = {128, 1, 1}, .arguments = {}};
       launch.argument(Buffer<u64>(memory, "table", words)).argument(words - 1).argument(u32{16});
       return launch;
     }},
};

}  // namespace terrace::bench
