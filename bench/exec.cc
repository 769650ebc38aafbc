// How fast the PTX machine executes, without timing: an FMA loop, coalesced streaming, and random updates of a large
// table with all lanes apart. One thread; items are warp instructions. SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#include "frontend/functional_runner.h"
#include "frontend/ptx/machine.h"

namespace terrace {
namespace {

constexpr const char* kHeader = ".version 7.8\n.target sm_70\n.address_size 64\n";

constexpr const char* kFmaLoop = R"(
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

constexpr const char* kStream = R"(
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

constexpr const char* kGups = R"(
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

/// Runs one launch again and again.
void measure(benchmark::State& state, const char* text, bool count, const auto& make_launch) {
  GuestMemory memory(PageSize::k4K);
  ptx::Machine machine(ptx::parse_module("bench.ptx", std::string(kHeader) + text), memory);
  const Launch launch = make_launch(memory);
  FunctionalConfig config;
  config.count = count;
  u64 instructions = 0;
  for (auto _ : state) {
    FunctionalRunner runner(machine, config);
    runner.run(launch);
    instructions += runner.executed();
  }
  state.SetItemsProcessed(static_cast<i64>(instructions));
}

Launch launch_of(const char* kernel, u32 blocks, u32 threads) {
  Launch launch;
  launch.kernel = kernel;
  launch.grid = {blocks, 1, 1};
  launch.block = {threads, 1, 1};
  return launch;
}

void fma_loop(benchmark::State& state) {
  measure(state, kFmaLoop, state.range(0) != 0, [](GuestMemory& memory) {
    const Buffer<float> out(memory, "out", 256);
    return launch_of("fma_loop", 1, 256).argument(out).argument(u32{20000});
  });
}
BENCHMARK(fma_loop)->ArgName("count")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void streaming(benchmark::State& state) {
  measure(state, kStream, state.range(0) != 0, [](GuestMemory& memory) {
    const u32 n = 4 << 20;
    const Buffer<float> a(memory, "a", n), b(memory, "b", n);
    return launch_of("stream", 16, 256).argument(a).argument(b).argument(n);
  });
}
BENCHMARK(streaming)->ArgName("count")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void gups(benchmark::State& state) {
  measure(state, kGups, state.range(0) != 0, [](GuestMemory& memory) {
    const u64 entries = u64{64 << 20} / 8;
    const Buffer<u64> table(memory, "table", entries);
    std::fill(table.write(memory).begin(), table.write(memory).end(), 1);
    return launch_of("gups", 64, 128).argument(table).argument(entries - 1).argument(u32{64});
  });
}
BENCHMARK(gups)->ArgName("count")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace terrace

BENCHMARK_MAIN();
