// Kernels whose threads wait for each other, and kernels that call through pointers, with results that do not depend on who
// comes first: for tests of the machine, and for a real GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "engine/types.h"

namespace terrace {

/// k(lock, count, out): one word, one word, a word for each thread. All begin as zeros.
struct WaitingKernel {
  std::string name, ptx;
  u32 blocks, threads;
  u32 count;                    // what `count` holds in the end,
  u32 (*expected)(u32 thread);  // and `out`; threads are numbered through the grid
};

/// %rd1 to %rd3 are the addresses of the buffers, %r1 the thread's number in its block, %r4 that in the grid; the body
/// leaves its result in %r10.
inline std::string waiting_ptx(const std::string& body, const std::string& before = "") {
  return ".version 7.8\n.target sm_70\n.address_size 64\n" + before +
         R"(.visible .entry k(.param .u64 lock, .param .u64 count, .param .u64 out) {
  .reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<20>;
  ld.param.u64 %rd1, [lock]; ld.param.u64 %rd2, [count]; ld.param.u64 %rd3, [out];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.s32 %r4, %r2, %r3, %r1;
  mul.wide.u32 %rd4, %r4, 4; add.s64 %rd4, %rd3, %rd4; mov.u32 %r10, 0;
)" + body +
         "\nSTORE: st.global.u32 [%rd4], %r10; ret;\n}\n";
}

inline std::vector<WaitingKernel> waiting_kernels() {
  const std::string take =
      "TAKE: atom.global.cas.b32 %r5, [%rd1], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra TAKE; membar.gl;\n";
  const std::string count =
      "ld.volatile.global.u32 %r6, [%rd2]; add.u32 %r7, %r6, 1; st.volatile.global.u32 [%rd2], %r7;\n";
  const std::string give = "membar.gl; atom.global.exch.b32 %r8, [%rd1], 0;\n";
  const std::string sleep = R"(
    mov.u32 %r20, 8; bra TRY;
  WAIT: nanosleep.u32 %r20; setp.gt.u32 %p2, %r20, 255; @%p2 bra TRY; shl.b32 %r20, %r20, 1;
  TRY: atom.global.cas.b32 %r5, [%rd1], 0, 1; setp.eq.u32 %p1, %r5, 1; @%p1 bra WAIT; membar.gl;
)";
  const std::string functions = R"(
.func (.param .b32 r) add_one(.param .b32 n) {
  .reg .b32 %a; ld.param.u32 %a, [n]; add.u32 %a, %a, 1; st.param.b32 [r], %a; ret;
}
.func (.param .b32 r) square(.param .b32 n) {
  .reg .b32 %a, %b; .reg .b64 %w;
  ld.param.u32 %a, [n]; mul.wide.u32 %w, %a, %a; cvt.u32.u64 %b, %w; st.param.b32 [r], %b; ret;
}
.func (.param .b32 r) halve(.param .b32 n) {
  .reg .pred %p; .reg .b32 %a, %b; .reg .b64 %f;
  ld.param.u32 %a, [n]; mov.u32 %b, 0; setp.eq.u32 %p, %a, 0; @%p bra DONE;
  shr.u32 %a, %a, 1; mov.u64 %f, halve;
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %a;
    prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (y), %f, (x), prototype; ld.param.b32 %b, [y]; }
  add.u32 %b, %b, 1;
DONE: st.param.b32 [r], %b; ret;
}
.global .align 8 .u64 table[3] = {add_one, square, halve};
)";
  const std::string call = R"(
    rem.u32 %r20, %r1, 3; mul.wide.u32 %rd5, %r20, 8; mov.u64 %rd6, table; add.s64 %rd7, %rd6, %rd5;
    ld.global.u64 %rd8, [%rd7];
    { .param .b32 x; .param .b32 y; st.param.b32 [x], %r4;
      prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
      call (y), %rd8, (x), prototype; ld.param.b32 %r10, [y]; }
)";
  // The even lanes count and meet; then the odd ones, which wait for a flag, may go on.
  const std::string members = R"(
    and.b32 %r20, %r1, 1; setp.eq.u32 %p2, %r20, 1; @%p2 bra ODD;
    )" + take + count + give + R"(
    bar.warp.sync 0x55555555; ld.volatile.global.u32 %r10, [%rd2]; bra STORE;
  ODD: ld.volatile.global.u32 %r21, [%rd2]; setp.lt.u32 %p3, %r21, 16; @%p3 bra ODD;
    mov.u32 %r10, 7;)";
  return {
      {"ANaiveLock", waiting_ptx(take + count + give + "mov.u32 %r10, 5;"), 8, 96, 768, [](u32) -> u32 { return 5; }},
      {"ALockThatIsWaitedForAsleep", waiting_ptx(sleep + count + give + "mov.u32 %r10, 5;"), 2, 64, 128,
       [](u32) -> u32 { return 5; }},
      {"ABarrierBehindALock", waiting_ptx(take + count + give + "bar.sync 0; ld.volatile.global.u32 %r10, [%rd2];"), 1,
       96, 96, [](u32) -> u32 { return 96; }},
      {"ALockWithinAWarpAndABarrierOfItsHalf", waiting_ptx(members), 1, 32, 16,
       [](u32 t) -> u32 { return t % 2 == 1 ? 7 : 16; }},
      {"ALaneThatWaitsForAnother", waiting_ptx(R"(
    setp.eq.u32 %p1, %r1, 0; @%p1 bra WAIT;
    setp.ne.u32 %p2, %r1, 5; @%p2 bra STORE;
    st.volatile.global.u32 [%rd2], 77; mov.u32 %r10, 1; bra STORE;
  WAIT: ld.volatile.global.u32 %r10, [%rd2]; setp.eq.u32 %p3, %r10, 0; @%p3 bra WAIT;)"),
       1, 32, 77, [](u32 t) -> u32 { return t == 0   ? 77
                                            : t == 5 ? 1
                                                     : 0; }},
      {"ABarrierOfTheGrid", waiting_ptx(R"(
    setp.ne.u32 %p1, %r1, 0; @%p1 bra TOGETHER;
    atom.global.add.u32 %r5, [%rd2], 1; mov.u32 %r6, %nctaid.x;
  WAIT: ld.volatile.global.u32 %r7, [%rd2]; setp.lt.u32 %p2, %r7, %r6; @%p2 bra WAIT;
  TOGETHER: bar.sync 0; ld.volatile.global.u32 %r10, [%rd2];)"),
       16, 64, 16, [](u32) -> u32 { return 16; }},
      {"CallsThroughPointers", waiting_ptx(call, functions), 3, 96, 0,
       [](u32 t) -> u32 {
         if (t % 96 % 3 == 0) return t + 1;
         if (t % 96 % 3 == 1) return t * t;
         u32 halvings = 0;
         for (u32 n = t; n != 0; n /= 2) ++halvings;
         return halvings;
       }},
  };
}

}  // namespace terrace
