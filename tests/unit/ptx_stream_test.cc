// What an SM may rely on: looking has no effect, stores wait for the commit, atomics for their performance, a block is a
// value.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>

#include "unit/ptx_harness.h"

namespace terrace::ptx {
namespace {

constexpr const char* kIndex = R"(
  ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
)";

TEST(PtxStream, AViewShowsRegistersAndSpaceAndLookingChangesNothing) {
  Harness harness(
      kernel_text({"u64 out"}, std::string(kIndex) + "fma.rn.f32 %f1, %f2, %f3, %f4; st.global.f32 [%rd3], %f1; ret;"));
  const auto out = harness.buffer("out", std::vector<u32>(32));
  const LaunchShape shape = harness.machine.begin_launch(harness.launch({1}, {32}, out));
  EXPECT_EQ(shape.warps_per_block, 1u);
  const WarpRef warp = harness.machine.warp(harness.machine.begin_block(shape.launch, 0, SmId{}), 0);
  StoreLog stores;
  Effect effect;
  const DecodedInst& first = harness.machine.view(warp).next();
  EXPECT_EQ(&harness.machine.view(warp).next(), &first);
  EXPECT_EQ(first.cls, InstClass::kMemory);
  EXPECT_EQ(first.space, MemorySpace::kParameter);
  EXPECT_EQ(first.sources, 0);
  EXPECT_EQ(first.destinations, 2);  // a 64-bit register is two names
  for (int i = 0; i < 4; ++i) harness.machine.execute(warp, 0, stores, effect);
  const DecodedInst& fma = harness.machine.view(warp).next();
  EXPECT_EQ(fma.cls, InstClass::kFloat);
  EXPECT_EQ(fma.sources, 3);
  EXPECT_EQ(fma.destinations, 1);
  for (u32 r = 0; r < 4; ++r) EXPECT_LT(fma.registers[r], shape.scoreboard_names);
  harness.machine.execute(warp, 0, stores, effect);
  const DecodedInst& store = harness.machine.view(warp).next();
  EXPECT_EQ(store.action, MemoryAction::kStore);
  EXPECT_EQ(store.lane_bytes, 4);
  EXPECT_EQ(store.registers[0], fma.registers[3]);  // what the fma wrote is what the store reads
  harness.machine.execute(warp, 0, stores, effect);
  EXPECT_EQ(effect.active, 0xffff'ffffu);
  EXPECT_EQ(effect.space, MemorySpace::kGlobal);
  for (u32 lane = 0; lane < 32; ++lane) EXPECT_EQ(effect.address[lane], out.address().raw + 4 * lane);
}

TEST(PtxStream, AStoreIsInvisibleUntilItIsCommitted) {
  Harness harness(kernel_text(
      {"u64 out"},
      std::string(kIndex) + "st.global.u32 [%rd3], 9; ld.global.u32 %r2, [%rd3]; st.global.u32 [%rd3], %r2; ret;"));
  const auto out = harness.buffer("out", std::vector<u32>(32, 4));
  const LaunchId launch = harness.machine.begin_launch(harness.launch({1}, {32}, out)).launch;
  const WarpRef warp = harness.machine.warp(harness.machine.begin_block(launch, 0, SmId{}), 0);
  StoreLog stores;
  Effect effect;
  for (int i = 0; i < 7; ++i) harness.machine.execute(warp, 0, stores, effect);
  EXPECT_EQ(harness.read(out)[3], 4u);
  stores.commit();
  EXPECT_EQ(harness.read(out)[3], 4u)
      << "the load read memory before the first store was committed, the second store wins";
  EXPECT_TRUE(stores.empty());
}

TEST(PtxStream, AnAtomicTakesEffectWhenAndWhereItIsPerformed) {
  Harness harness(kernel_text(
      {"u64 out"}, std::string(kIndex) +
                       "atom.global.add.u32 %r2, [%rd1], 1; add.u32 %r2, %r2, 10; st.global.u32 [%rd3+4], %r2; ret;"));
  const auto out = harness.buffer("out", std::vector<u32>(33));
  const LaunchId launch = harness.machine.begin_launch(harness.launch({1}, {32}, out)).launch;
  const WarpRef warp = harness.machine.warp(harness.machine.begin_block(launch, 0, SmId{}), 0);
  StoreLog stores;
  Effect effect;
  for (int i = 0; i < 5; ++i) harness.machine.execute(warp, 0, stores, effect);
  ASSERT_NE(effect.atomic, kNoAtomic);
  EXPECT_EQ(harness.read(out)[0], 0u);
  const AtomicRef atomic = effect.atomic;
  harness.machine.perform_atomic(atomic, 0xffff'0000);
  EXPECT_EQ(harness.read(out)[0], 16u);
  harness.machine.perform_atomic(atomic, 0x0000'ffff);
  for (int i = 0; i < 2; ++i) harness.machine.execute(warp, 0, stores, effect);
  stores.commit();
  const auto result = harness.read(out);
  for (u32 t = 0; t < 32; ++t) EXPECT_EQ(result[t + 1], 10 + (t < 16 ? t + 16 : t - 16)) << t;
}

constexpr const char* kBusyBody = R"(
  .shared .align 4 .b8 cells[256]; .local .align 4 .b8 depot[8];
  mov.u32 %r20, cells; shl.b32 %r21, %r1, 2; add.u32 %r22, %r20, %r21; mov.u32 %r5, 0; mov.u32 %r6, 1;
LOOP: setp.ge.u32 %p1, %r5, %r1; @%p1 bra DONE;
  mad.lo.u32 %r6, %r6, 3, %r5; st.local.u32 [depot+4], %r6; add.u32 %r5, %r5, 1; bra LOOP;
DONE: ld.local.u32 %r7, [depot+4]; add.u32 %r6, %r6, %r7; st.shared.u32 [%r22], %r6; bar.sync 0;
  xor.b32 %r23, %r21, 128; add.u32 %r24, %r20, %r23; ld.shared.u32 %r8, [%r24]; mad.lo.u32 %r8, %r8, 5, %r6;
  st.global.u32 [%rd3], %r8; ret;
)";

/// Steps the warps of a block in turn; `pause` is called before each round and may replace the block.
std::vector<u32> run_with_pauses(const std::function<BlockRef(Machine&, LaunchId, BlockRef)>& pause) {
  Harness harness(kernel_text({"u64 out"}, std::string(kIndex) + kBusyBody));
  const auto out = harness.buffer("out", std::vector<u32>(64));
  const LaunchId launch = harness.machine.begin_launch(harness.launch({1}, {64}, out)).launch;
  BlockRef block = harness.machine.begin_block(launch, 0, SmId{});
  StoreLog stores;
  Effect effect;
  for (bool running = true; running;) {
    running = false;
    block = pause(harness.machine, launch, block);
    for (u32 w = 0; w < 2; ++w) {
      const WarpRef warp = harness.machine.warp(block, w);
      running |= harness.machine.view(warp).status != WarpStatus::kDone;
      if (harness.machine.view(warp).status != WarpStatus::kRunning) continue;
      harness.machine.execute(warp, 0, stores, effect);
      stores.commit();
    }
  }
  return harness.read(out);
}

TEST(PtxStream, ABlockSavedAndRestoredAtEveryStepEndsAsIfItHadNeverMoved) {
  const auto undisturbed = run_with_pauses([](Machine&, LaunchId, BlockRef block) { return block; });
  EXPECT_GT(*std::max_element(undisturbed.begin(), undisturbed.end()), 1000u);
  u16 sm = 0;
  const auto moved = run_with_pauses([&](Machine& machine, LaunchId launch, BlockRef block) {
    const BlockImage image = machine.save(block);
    machine.end_block(block);
    machine.begin_block(launch, 0, SmId{});  // somebody else takes the place
    return machine.restore(launch, image, SmId{++sm});
  });
  EXPECT_EQ(moved, undisturbed);
}

TEST(PtxStream, RegisterDemandCountsWhatIsLiveAtOnceInWordsRoundedToEight) {
  // Nine f64 values are live together: 18 words, and the address: 20, rounded to 24.
  std::string body = kIndex;
  for (int i = 1; i <= 9; ++i)
    body += "ld.global.f64 %fd" + std::to_string(i) + ", [%rd1+" + std::to_string(8 * i) + "];\n";
  for (int i = 2; i <= 9; ++i) body += "add.f64 %fd1, %fd1, %fd" + std::to_string(i) + ";\n";
  Harness harness(kernel_text({"u64 out"}, body + "st.global.f64 [%rd1], %fd1; ret;"));
  EXPECT_EQ(harness.machine.code(0, "k").registers_per_thread, 24u);
}

TEST(PtxStream, CountsTellLinesAndPagesPerAccess) {
  Harness harness(kernel_text({"u64 out"}, std::string(kIndex) + R"(
    ld.global.u32 %r2, [%rd3]; mul.wide.u32 %rd4, %r1, 4096; add.s64 %rd5, %rd1, %rd4; ld.global.u32 %r3, [%rd5];
    add.u32 %r4, %r2, %r3; st.global.u32 [%rd3], %r4; ret;)"));
  const Buffer<u32> out(harness.memory, "out", 32 * 1024);
  const FunctionalCounts counts = harness.run(1, 32, out);
  EXPECT_EQ(counts.warp_instructions, 11u);
  EXPECT_EQ(counts.thread_instructions, 11u * 32);
  EXPECT_EQ(counts.line_accesses, 3u);
  EXPECT_EQ(counts.lines, 1u + 32 + 1);
  EXPECT_EQ(counts.max_pages, 32u);
  EXPECT_EQ(counts.accesses[static_cast<u32>(MemorySpace::kParameter)], 1u);
}

TEST(PtxStream, OneInstructionCanBeTriedOnManyOperands) {
  const auto result = evaluate({"add.s32 %d, %a, %b;", "s32", {"s32", "s32"}},
                               std::vector<std::array<u64, 4>>(100, {0x7fff'ffff, 1, 0, 0}));
  EXPECT_EQ(result, std::vector<u64>(100, 0x8000'0000));
  EXPECT_EQ(evaluate({"setp.ltu.f64 %d, %a, %b;", "pred", {"f64", "f64"}}, {{{0x7ff8'0000'0000'0000, 0, 0, 0}}})[0],
            1u);
}

}  // namespace
}  // namespace terrace::ptx
