// Asynchronous copies and barrier objects as kernels, for the tests and for the comparison with a real GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "engine/types.h"

namespace terrace::async_cases {

inline constexpr u32 kBytes = 512;

inline std::string text_of(const std::string& body) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {\n"
         ".reg .pred %p<4>; .reg .b32 %r<60>; .reg .b64 %rd<8>;\n" +
         body + "\nret;\n}\n";
}

/// Kernel k(in, out), one warp: lane l copies from its 16 bytes of in to its place in shared memory, which held 0xee in every
/// byte; all of it goes to out. %r5 is l % 17, %p1 holds in odd lanes.
inline std::string copy_text(const std::string& copy) {
  return text_of(
      ".shared .align 16 .b8 m[512];\n"
      "ld.param.u64 %rd0, [in]; ld.param.u64 %rd1, [out]; mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 4;\n"
      "cvt.u64.u32 %rd2, %r1; add.u64 %rd0, %rd0, %rd2; add.u64 %rd1, %rd1, %rd2; mov.u32 %r2, m;\n"
      "add.u32 %r2, %r2, %r1; mov.u32 %r3, 0xeeeeeeee; st.shared.v4.u32 [%r2], {%r3, %r3, %r3, %r3};\n"
      "and.b32 %r4, %r0, 1; setp.eq.u32 %p1, %r4, 1; rem.u32 %r5, %r0, 17; bar.sync 0;\n" +
      copy +
      "\ncp.async.commit_group; cp.async.wait_group 0; bar.sync 0;\n"
      "ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r2]; st.global.v4.u32 [%rd1], {%r10, %r11, %r12, %r13};");
}
/// What `in` holds.
inline std::vector<u8> numbers() {
  std::vector<u8> made(kBytes);
  for (u32 i = 0; i < made.size(); ++i) made[i] = static_cast<u8>(i * 7 + 1);
  return made;
}
inline std::vector<std::string> all_copies() {
  return {"cp.async.ca.shared.global [%r2], [%rd0], 4;",       "cp.async.ca.shared.global [%r2], [%rd0], 8;",
          "cp.async.ca.shared.global [%r2], [%rd0], 16;",      "cp.async.cg.shared.global.L2::128B [%r2], [%rd0], 16;",
          "cp.async.ca.shared.global [%r2], [%rd0], 16, %r5;", "cp.async.cg.shared.global [%r2], [%rd0], 16, 3;",
          "cp.async.ca.shared.global [%r2], [%rd0], 8, %p1;",  "cp.async.ca.shared.global [%r2], [%rd0], 8, !%p1;"};
}

/// Kernel k(in, out) with a barrier object b; %r0 is its address, %rd0 leads to out.
inline std::string barrier_text(const std::string& body) {
  return text_of(".shared .align 8 .b64 b;\nld.param.u64 %rd0, [out]; mov.u32 %r0, b;\n" + body);
}
/// The word `place` of out becomes 1 where the predicate holds, or 0.
inline std::string note(u32 place, const std::string& predicate) {
  return fmt::format("selp.u32 %r50, 1, 0, {}; st.global.u32 [%rd0+{}], %r50;\n", predicate, place * 4);
}

struct BarrierCase {
  std::string body;
  u32 threads;
  std::vector<u32> words;  // of out
};

/// A phase that three complete, and the next one.
inline BarrierCase two_phases() {
  return {
      "mbarrier.init.shared.b64 [%r0], 3;\n"
      "mbarrier.arrive.shared.b64 %rd1, [%r0]; mbarrier.pending_count.b64 %r1, %rd1; st.global.u32 [%rd0], %r1;\n"
      "mbarrier.test_wait.shared.b64 %p0, [%r0], %rd1;" +
          note(1, "%p0") + "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r0], 0;" + note(2, "%p1") +
          "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r0], 1;" + note(3, "%p1") +
          "mbarrier.arrive.release.cta.shared::cta.b64 _, [%r0], 2;\n"
          "mbarrier.try_wait.shared.b64 %p0, [%r0], %rd1;" +
          note(4, "%p0") + "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r0], 0, 100;" + note(5, "%p1") +
          "mbarrier.test_wait.parity.shared.b64 %p1, [b], 1;" + note(6, "%p1") +
          "mbarrier.arrive.shared::cta.b64 %rd2, [%r0], 2; mbarrier.pending_count.b64 %r1, %rd2;\n"
          "st.global.u32 [%rd0+28], %r1; mbarrier.test_wait.shared.b64 %p0, [%r0], %rd2;" +
          note(8, "%p0") +
          "mov.u64 %rd5, b; cvta.shared.u64 %rd5, %rd5; mbarrier.arrive.b64 %rd3, [%rd5];\n"
          "mbarrier.test_wait.b64 %p0, [%rd5], %rd2;" +
          note(9, "%p0") + "mbarrier.inval.shared.b64 [%r0];",
      1,
      {3, 0, 0, 1, 1, 1, 0, 3, 0, 1}};
}
/// Two of three drop out: the next phase waits for one.
inline BarrierCase dropping_out() {
  return {
      "mbarrier.init.shared.b64 [%r0], 3; mbarrier.arrive_drop.shared::cta.b64 _, [%r0], 2;\n"
      "mbarrier.test_wait.parity.shared.b64 %p0, [%r0], 0;" +
          note(0, "%p0") +
          "mbarrier.arrive.shared.b64 %rd1, [%r0]; mbarrier.test_wait.parity.shared.b64 %p0, [%r0], 0;" +
          note(1, "%p0") +
          "mbarrier.arrive.shared.b64 %rd1, [%r0]; mbarrier.pending_count.b64 %r1, %rd1; st.global.u32 [%rd0+8], %r1;\n"
          "mbarrier.test_wait.parity.shared.b64 %p0, [%r0], 1;" +
          note(3, "%p0"),
      1,
      {0, 1, 1, 1}};
}
/// Without .noinc an arrival of copies adds itself before; with it, it stands for one that was expected.
inline BarrierCase arrivals_of_copies() {
  return {
      "mbarrier.init.shared.b64 [%r0], 2; cp.async.mbarrier.arrive.shared.b64 [%r0]; cp.async.wait_all;\n"
      "mbarrier.arrive.noComplete.shared.b64 %rd1, [%r0], 1; mbarrier.test_wait.parity.shared.b64 %p0, [%r0], 0;" +
          note(0, "%p0") +
          "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r0];\n"
          "WAIT: mbarrier.try_wait.parity.shared.b64 %p0, [%r0], 0; @!%p0 bra WAIT;" +
          note(1, "%p0"),
      1,
      {0, 1}};
}
/// 64 threads arrive and wait for each other.
inline BarrierCase many_threads() {
  return {
      "mov.u32 %r1, %tid.x; setp.eq.u32 %p0, %r1, 0; @%p0 mbarrier.init.shared.b64 [%r0], 64; bar.sync 0;\n"
      "mbarrier.arrive.shared.b64 %rd1, [%r0];\n"
      "WAIT: mbarrier.try_wait.shared.b64 %p1, [%r0], %rd1; @!%p1 bra WAIT;\n"
      "red.global.add.u32 [%rd0], 1;",
      64,
      {64}};
}
inline std::vector<BarrierCase> all_barriers() {
  return {two_phases(), dropping_out(), arrivals_of_copies(), many_threads()};
}

}  // namespace terrace::async_cases
