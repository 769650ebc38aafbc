// Memory: every space, vectors, generic addresses, atomics, and the faults of what lies outside.
// SPDX-License-Identifier: MIT
#include "support/case_name.h"
#include "unit/ptx_harness.h"

namespace terrace::ptx {
namespace {

constexpr const char* kPrologue = R"(
  ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
  mul.wide.u32 %rd4, %r1, 16; add.s64 %rd5, %rd1, %rd4;
)";

std::string with_prologue(const std::string& body) {
  return kernel_text({"u64 out"}, kPrologue + body);
}

TEST(PtxMemory, VectorsMoveAllTheirElements) {
  Harness harness(with_prologue(R"(
    ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd5];
    st.global.v2.u32 [%rd5], {%r5, %r4}; st.global.v2.u32 [%rd5+8], {%r3, %r2}; ret;)"));
  std::vector<u32> values(4 * 40);
  for (u32 i = 0; i < values.size(); ++i) values[i] = i * 7;
  const auto out = harness.buffer("out", values);
  harness.run(1, 40, out);
  const auto result = harness.read(out);
  for (u32 i = 0; i < values.size(); ++i) EXPECT_EQ(result[i], values[i / 4 * 4 + 3 - i % 4]) << i;
}

TEST(PtxMemory, NarrowLoadsExtendAsTheirTypeSaysAndNarrowStoresKeepLowBits) {
  Harness harness(with_prologue(R"(
    ld.global.s8 %r2, [%rd3]; ld.global.u8 %r3, [%rd3+1]; ld.global.s16 %rd6, [%rd3+2];
    cvt.u32.u64 %r4, %rd6; add.s32 %r5, %r2, %r3; add.s32 %r5, %r5, %r4; st.global.u16 [%rd3], %r5; st.global.u8 [%rd3+2], %rd6; ret;)"));
  const auto out = harness.buffer("out", std::vector<u32>(3, 0x8001'02ff));
  harness.run(1, 3, out);
  // -1 + 2 + (-32767) = -32766 = 0x8002; byte 2 becomes 0x01
  for (const u32 word : harness.read(out)) EXPECT_EQ(word, 0x8001'8002u);
}

TEST(PtxMemory, ModuleVariablesStartWithTheirInitialValuesAndCanHoldAddresses) {
  std::string text = with_prologue(R"(
    ld.global.u64 %rd6, [pointers+8]; ld.u32 %r2, [%rd6]; ld.const.u32 %r3, [coef+4]; add.u32 %r4, %r2, %r3;
    st.global.u32 [%rd3], %r4; ld.global.u32 %r5, [count]; add.u32 %r5, %r5, 1; st.global.u32 [count], %r5; ret;)");
  text.insert(text.find(".visible .entry"),
              ".global .u32 table[3] = {5, 6, 7};\n.global .u64 pointers[2] = {generic(table), generic(table)+8};\n"
              ".const .u32 coef[2] = {100, 200};\n.global .u32 count;\n");
  Harness harness(text);
  const auto out = harness.buffer("out", std::vector<u32>(1));
  harness.run(1, 1, out);
  harness.run(1, 1, out);
  EXPECT_EQ(harness.read(out)[0], 207u);
  const auto& count = harness.memory.symbol("count");
  EXPECT_EQ(harness.memory.read(count.first, 4)[0], 2);
  harness.machine.begin_run();
  EXPECT_EQ(harness.memory.read(count.first, 4)[0], 0);
}

TEST(PtxMemory, LocalMemoryIsPrivateAndWordInterleavedOverTheThreadsOfTheLaunch) {
  Harness harness(with_prologue(R"(
    .local .align 8 .b8 depot[32]; .reg .b64 %SP, %SPL;
    mov.u64 %SPL, depot; cvta.local.u64 %SP, %SPL;
    add.u32 %r2, %r1, 1000; st.local.u32 [%SPL+4], %r2; cvt.u64.u32 %rd6, %r1; st.local.u64 [%SPL+8], %rd6;
    ld.u32 %r3, [%SP+4]; ld.local.v2.u32 {%r4, %r5}, [depot+8]; add.u32 %r6, %r3, %r4; st.global.u32 [%rd3], %r6; ret;)"));
  const auto out = harness.buffer("out", std::vector<u32>(48));
  harness.run(1, 48, out);
  const auto result = harness.read(out);
  for (u32 t = 0; t < 48; ++t) EXPECT_EQ(result[t], 1000 + 2 * t);
  const auto& local = harness.memory.allocations().back();
  EXPECT_EQ(local.name, "local memory of k");
  EXPECT_EQ(local.bytes, 48u * 32);
  // Word 1 of thread t is at (1 * 48 + t) * 4.
  const auto bytes = harness.memory.read(local.first, local.bytes);
  for (u32 t = 0; t < 48; ++t) {
    u32 word;
    std::memcpy(&word, bytes.data() + (48 + t) * 4, 4);
    EXPECT_EQ(word, 1000 + t);
  }
}

TEST(PtxMemory, AGenericAccessFindsSharedLocalAndGlobalMemoryLaneByLane) {
  Harness harness(with_prologue(R"(
    .shared .align 4 .u32 cell; .local .align 4 .b8 depot[4]; .reg .b64 %g<4>;
    mov.u64 %g0, cell; cvta.shared.u64 %g1, %g0; mov.u64 %g0, depot; cvta.local.u64 %g2, %g0;
    mov.u32 %r2, 70; st.shared.u32 [cell], %r2; mov.u32 %r2, 80; st.local.u32 [depot], %r2; mov.u32 %r2, 90; st.global.u32 [%rd3], %r2;
    rem.u32 %r4, %r1, 3; setp.eq.u32 %p1, %r4, 0; setp.eq.u32 %p2, %r4, 1; mov.u64 %g3, %rd3;
    selp.b64 %g3, %g1, %g3, %p1; selp.b64 %g3, %g2, %g3, %p2;
    ld.u32 %r5, [%g3]; isspacep.shared %p3, %g3; @%p3 add.u32 %r5, %r5, 1; st.global.u32 [%rd3], %r5; ret;)"));
  const auto out = harness.buffer("out", std::vector<u32>(32));
  harness.run(1, 32, out);
  const auto result = harness.read(out);
  for (u32 t = 0; t < 32; ++t) EXPECT_EQ(result[t], t % 3 == 0 ? 71u : t % 3 == 1 ? 80u : 90u) << t;
}

TEST(PtxMemory, DynamicSharedMemoryFollowsTheStaticOne) {
  std::string text = with_prologue(R"(
    .shared .align 4 .b8 fixed[20];
    mov.u32 %r2, dyn; mov.u32 %r3, %dynamic_smem_size; mov.u32 %r4, %total_smem_size; add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4;
    mov.u32 %r5, fixed; add.u32 %r2, %r2, %r5; st.global.u32 [%rd3], %r2; ret;)");
  text.insert(text.find(".visible .entry"), ".extern .shared .align 4 .b8 dyn[];\n");
  Harness harness(text);
  const auto out = harness.buffer("out", std::vector<u32>(1));
  Launch launch = harness.launch({1}, {1}, out);
  launch.dynamic_shared_bytes = 1000;
  harness.run(launch);
  EXPECT_EQ(harness.read(out)[0], 32u + 1000 + 1032 + 0);
}

TEST(PtxMemory, AKernelParameterThatIsAStructureCanBeIndexed) {
  Harness harness(module_text(R"(.visible .entry k(.param .u64 out, .param .align 4 .b8 s[12]) {
    .reg .b64 %rd<8>; .reg .b32 %r<6>;
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
    mov.b64 %rd4, s; add.s64 %rd5, %rd4, %rd2; ld.param.u32 %r2, [%rd5]; ld.param.u32 %r3, [s+8]; add.u32 %r2, %r2, %r3;
    st.global.u32 [%rd3], %r2; ret; })"));
  const auto out = harness.buffer("out", std::vector<u32>(3));
  harness.run(1, 3, out, std::array<u32, 3>{10, 20, 30});
  EXPECT_EQ(harness.read(out), (std::vector<u32>{40, 50, 60}));
}

/// Runs one thread; the word it leaves.
u32 word_after(const std::string& body, const std::string& before = "") {
  std::string text = with_prologue(body + " st.global.u32 [%rd3], %r9; ret;");
  text.insert(text.find(".visible .entry"), before);
  Harness harness(text);
  const auto out = harness.buffer("out", std::vector<u32>(1));
  harness.run(1, 1, out);
  return harness.read(out)[0];
}

/// Below zero by an amount that the offset makes up for, as optimisers leave loops that count downwards.
TEST(PtxMemory, SharedAddressesWrapAt32BitsInLoadsStoresAndAtomics) {
  const std::string before = ".shared .align 4 .b8 cells[64];\n";
  const std::string start = "mov.u32 %r4, -64; mov.u32 %r5, 77; cvt.u64.u32 %rd9, %r4; add.s64 %rd10, %rd9, 68; ";
  EXPECT_EQ(word_after(start + "st.shared.u32 [cells+4], %r5; ld.shared.u32 %r9, [%r4+68];", before), 77u);
  EXPECT_EQ(word_after(start + "st.shared.u32 [%r4+68], %r5; ld.shared.u32 %r9, [cells+4];", before), 77u);
  EXPECT_EQ(word_after(start + "atom.shared.add.u32 %r6, [%r4+68], %r5; ld.shared.u32 %r9, [cells+4];", before), 77u);
  EXPECT_EQ(word_after(start + "st.shared.u32 [cells+4], %r5; ld.shared.u32 %r9, [%rd9+68];", before), 77u);
  EXPECT_EQ(word_after(start + "st.shared.u32 [cells+4], %r5; ld.shared.u32 %r9, [%rd10];", before), 77u);
  EXPECT_EQ(word_after(start + "st.shared.v2.u32 [%r4+72], {%r4, %r5}; ld.shared.u32 %r9, [cells+12];", before), 77u);
}

/// As on an H200, where cvta looks at 32 bits of a shared address and leaves as many.
TEST(PtxMemory, GenericAddressesAreMadeOf32BitsOfASharedOne) {
  const std::string before = ".shared .align 4 .b8 cells[64];\n",
                    start = "mov.u32 %r5, 79; st.shared.u32 [cells+4], %r5; ";
  EXPECT_EQ(word_after(start + "mov.u64 %rd9, 0x500000004; cvta.shared.u64 %rd10, %rd9; ld.u32 %r9, [%rd10];", before),
            79u);
  EXPECT_EQ(word_after(start + "mov.u64 %rd9, -64; cvta.shared.u64 %rd10, %rd9; ld.u32 %r9, [%rd10+68];", before), 79u);
  EXPECT_EQ(word_after(start + "mov.u64 %rd9, 4; cvta.shared.u64 %rd10, %rd9; add.s64 %rd10, %rd10, 0x100000000; "
                               "cvta.to.shared.u64 %rd11, %rd10; add.s64 %rd11, %rd11, 75; cvt.u32.u64 %r9, %rd11; "
                               "shr.u64 %rd11, %rd11, 32; cvt.u32.u64 %r6, %rd11; add.u32 %r9, %r9, %r6;",
                       before),
            79u);
}

TEST(PtxMemory, LocalAddressesWrapAt32Bits) {
  const std::string start =
      ".local .align 4 .b8 cells[64]; mov.u32 %r4, cells; sub.u32 %r4, %r4, 64; mov.u32 %r5, 78; cvt.u64.u32 %rd9, "
      "%r4; ";
  EXPECT_EQ(word_after(start + "st.local.u32 [cells+4], %r5; ld.local.u32 %r9, [%r4+68];"), 78u);
  EXPECT_EQ(word_after(start + "st.local.u32 [%rd9+68], %r5; ld.local.u32 %r9, [cells+4];"), 78u);
}

TEST(PtxMemory, ConstantAddressesWrapAt32Bits) {
  const std::string before = ".const .align 4 .u32 table[4] = {11, 12, 13, 14};\n";
  EXPECT_EQ(word_after("mov.u32 %r4, table; ld.const.u32 %r9, [%r4+4];", before), 12u);
  EXPECT_EQ(word_after("mov.u32 %r4, table; sub.u32 %r4, %r4, 64; ld.const.u32 %r9, [%r4+72];", before), 13u);
  EXPECT_EQ(word_after("mov.u64 %rd9, table; add.s64 %rd9, %rd9, 0x500000000; ld.const.u32 %r9, [%rd9+12];", before),
            14u);
}

TEST(PtxMemory, ConstantsBeyondFourGigabytesAreFoundByTheir32Bits) {
  GuestMemory memory(PageSize::k4K);
  memory.allocate("large", u64{5} << 30);
  std::string text = with_prologue("mov.u32 %r4, table; ld.const.u32 %r9, [%r4+4]; st.global.u32 [%rd3], %r9; ret;");
  text.insert(text.find(".visible .entry"), ".const .align 4 .u32 table[4] = {11, 12, 13, 14};\n");
  Machine machine(parse_module("test.ptx", text), memory);
  const Buffer<u32> out(memory, "out", 1);
  Launch launch;
  launch.kernel = "k";
  launch.argument(out);
  FunctionalRunner(machine).run(launch);
  EXPECT_EQ(out.get(memory, 0), 12u);
}

TEST(PtxMemory, ParameterAddressesWrapAt32Bits) {
  Harness harness(module_text(R"(.visible .entry k(.param .u64 out, .param .align 4 .b8 s[12]) {
    .reg .b64 %rd<8>; .reg .b32 %r<6>;
    ld.param.u64 %rd1, [out]; mov.b32 %r1, s; sub.u32 %r1, %r1, 64; ld.param.u32 %r2, [%r1+68];
    st.global.u32 [%rd1], %r2; ret; })"));
  const auto out = harness.buffer("out", std::vector<u32>(1));
  harness.run(1, 1, out, std::array<u32, 3>{10, 20, 30});
  EXPECT_EQ(harness.read(out)[0], 20u);
}

TEST(PtxMemory, GlobalAddressesDoNotWrap) {
  const std::string sentence = refusal([] { word_after("mov.u32 %r4, -64; ld.global.u32 %r9, [%r4+68];"); });
  EXPECT_NE(sentence.find("reads 4 bytes at 0x100000004"), std::string::npos) << sentence;
}

struct AtomicCase {
  const char* instruction;
  u64 start;
  u64 expected;
};
class PtxAtomics : public testing::TestWithParam<AtomicCase> {};
// 40 threads; %r2 is the thread's number plus one.
INSTANTIATE_TEST_SUITE_P(
    , PtxAtomics,
    testing::Values(AtomicCase{"atom.SPACE.add.u32 %r3, [%rd6], %r2;", 5, 5 + 820},
                    AtomicCase{"red.SPACE.add.u32 [%rd6], %r2;", 5, 5 + 820},
                    AtomicCase{"atom.SPACE.add.u64 %rd7, [%rd6], %rd8;", u64{1} << 40, (u64{1} << 40) + 820},
                    AtomicCase{"atom.SPACE.min.s32 %r3, [%rd6], %r4;", 0, 0xffff'ffd8},
                    AtomicCase{"atom.SPACE.max.u32 %r3, [%rd6], %r2;", 7, 40},
                    AtomicCase{"atom.SPACE.and.b32 %r3, [%rd6], %r2;", 0xff, 0},
                    AtomicCase{"atom.SPACE.or.b32 %r3, [%rd6], %r2;", 0, 63},
                    AtomicCase{"atom.SPACE.xor.b32 %r3, [%rd6], %r2;", 0, 40},
                    AtomicCase{"atom.SPACE.exch.b32 %r3, [%rd6], %r2;", 0, 40},
                    AtomicCase{"atom.SPACE.cas.b32 %r3, [%rd6], %r1, %r2;", 0, 40},
                    AtomicCase{"atom.SPACE.inc.u32 %r3, [%rd6], 6;", 0, 40 % 7},
                    AtomicCase{"atom.SPACE.dec.u32 %r3, [%rd6], 6;", 0, 2},
                    AtomicCase{"atom.SPACE.add.f32 %f1, [%rd6], 0f3F000000;", 0, 0x41a0'0000},
                    AtomicCase{"red.SPACE.add.f64 [%rd6], 0d3FE0000000000000;", 0, 0x4034'0000'0000'0000}),
    [](const auto& tested) {
      return case_name(std::string_view(tested.param.instruction).substr(0, 22), tested.index);
    });

std::string atomic_kernel(std::string instruction, const std::string& space) {
  for (auto at = instruction.find("SPACE"); at != std::string::npos; at = instruction.find("SPACE"))
    instruction.replace(at, 5, space);
  return with_prologue(
      std::string(R"(
    .shared .align 8 .b64 cell;
    add.u32 %r2, %r1, 1; cvt.u64.u32 %rd8, %r2; neg.s32 %r4, %r2; mov.u64 %rd6, cell;
    ld.global.u64 %rd9, [%rd1]; st.shared.u64 [cell], %rd9; bar.sync 0;
    )") +
      (space == "global" ? "mov.u64 %rd6, %rd1;\n" : "") + instruction +
      (space == "shared" ? "bar.sync 0; ld.shared.u64 %rd9, [cell]; st.global.u64 [%rd1], %rd9;" : "") + " ret;");
}

TEST_P(PtxAtomics, OnGlobalMemoryEveryThreadCounts) {
  Harness harness(atomic_kernel(GetParam().instruction, "global"));
  const auto out = harness.buffer("out", std::vector<u64>{GetParam().start});
  harness.run(1, 40, out);
  EXPECT_EQ(harness.read(out)[0], GetParam().expected);
}

TEST_P(PtxAtomics, OnSharedMemoryEveryThreadCounts) {
  Harness harness(atomic_kernel(GetParam().instruction, "shared"));
  const auto out = harness.buffer("out", std::vector<u64>{GetParam().start});
  harness.run(1, 40, out);
  EXPECT_EQ(harness.read(out)[0], GetParam().expected);
}

TEST(PtxMemory, AnAtomicReturnsWhatTheWordHeldInLaneOrder) {
  Harness harness(with_prologue("atom.global.add.u32 %r2, [%rd1+256], 3; st.global.u32 [%rd3], %r2; ret;"));
  const auto out = harness.buffer("out", std::vector<u32>(65));
  harness.run(1, 64, out);
  const auto result = harness.read(out);
  for (u32 t = 0; t < 64; ++t) EXPECT_EQ(result[t], 3 * t);
  EXPECT_EQ(result[64], 192u);
}

std::string fault_of(const std::string& body, u32 threads = 32) {
  Harness harness(with_prologue(body));
  const auto out = harness.buffer("out", std::vector<u32>(threads));
  return refusal([&] { harness.run(1, threads, out); });
}

TEST(PtxFaults, AReadBeyondABufferNamesLaneAddressAndBuffer) {
  EXPECT_EQ(fault_of("ld.global.u32 %r2, [%rd3+4]; ret;"),
            "kernel k, test.ptx:14, \"ld.global.u32 %r2, [%rd3+4]\": lane 31 of warp 0 of block 0 reads 4 bytes at "
            "0x100000080, outside any allocation; the nearest is \"out\", 128 bytes from 0x100000000");
}

TEST(PtxFaults, AWriteThroughANullPointerIsAFault) {
  EXPECT_EQ(fault_of("mov.u64 %rd9, 0; st.global.u64 [%rd9], %rd9; ret;"),
            "kernel k, test.ptx:14, \"st.global.u64 [%rd9], %rd9\": lane 0 of warp 0 of block 0 writes 8 bytes at 0x0, "
            "outside any allocation; the nearest is \"out\", 128 bytes from 0x100000000");
}

TEST(PtxFaults, AMisalignedAccessIsAFault) {
  EXPECT_EQ(fault_of("ld.global.u64 %rd9, [%rd1+4]; ret;"),
            "kernel k, test.ptx:14, \"ld.global.u64 %rd9, [%rd1+4]\": lane 0 of warp 0 of block 0 reads 8 bytes at "
            "0x100000004, which is not a multiple of 8");
}

TEST(PtxFaults, SharedAndLocalMemoryHaveTheirLimits) {
  EXPECT_EQ(
      fault_of(".shared .align 4 .b8 s[64]; mov.u32 %r2, 64; st.shared.u32 [%r2], %r1; ret;"),
      "kernel k, test.ptx:14, \"st.shared.u32 [%r2], %r1\": lane 0 of warp 0 of block 0 writes 4 bytes at offset 0x40 "
      "of shared memory, of which the block has 64 bytes");
  EXPECT_EQ(
      fault_of(".local .align 4 .b8 s[16]; mov.u64 %rd9, s; ld.local.u32 %r2, [%rd9+16]; ret;"),
      "kernel k, test.ptx:14, \"ld.local.u32 %r2, [%rd9+16]\": lane 0 of warp 0 of block 0 reads 4 bytes at offset "
      "0x10 of local memory, of which a thread has 16 bytes");
}

TEST(PtxFaults, AnAtomicOutsideIsAFaultBeforeAnythingIsPerformed) {
  EXPECT_NE(fault_of("red.global.add.u32 [%rd3+4], 1; ret;").find("lane 31 of warp 0 of block 0 writes 4 bytes"),
            std::string::npos);
}

TEST(PtxFaults, StoresAndAtomicsToAReadOnlyBufferAreFaultsAndLoadsAreNot) {
  const auto outcome = [](const std::string& body) {
    Harness harness(with_prologue(body));
    const VirtAddr fixed = harness.memory.allocate("fixed", 4096, Permission::kReadOnly);
    return refusal([&] { harness.run(1, 32, fixed.raw); });
  };
  EXPECT_EQ(outcome("ld.global.u32 %r2, [%rd3]; ret;"), "");
  EXPECT_EQ(outcome("st.global.u32 [%rd3], %r1; ret;"),
            "kernel k, test.ptx:14, \"st.global.u32 [%rd3], %r1\": lane 0 of warp 0 of block 0 writes 4 bytes at "
            "0x100000000, which may only be read: it lies in \"fixed\"");
  EXPECT_NE(outcome("st.global.u32 [%rd1+64], %r1; ret;").find("0x100000040, which may only be read"),
            std::string::npos);
  EXPECT_NE(outcome("red.global.add.u32 [%rd3], 1; ret;").find("which may only be read"), std::string::npos);
}

TEST(PtxMemory, DivisionByZeroGivesAllOnesAndStopsNobody) {
  Harness harness(
      with_prologue("mov.u32 %r2, 0; div.u32 %r3, %r1, %r2; rem.u32 %r4, %r1, %r2; and.b32 %r5, %r3, %r4; "
                    "st.global.u32 [%rd3], %r5; ret;"));
  const auto out = harness.buffer("out", std::vector<u32>(32));
  harness.run(1, 32, out);
  const auto result = harness.read(out);
  for (u32 t = 0; t < 32; ++t) EXPECT_EQ(result[t], ~0u);  // quotient and remainder, as on an H200
}

TEST(PtxMemory, ATableOfFunctionsKeepsNoKernelFromRunning) {
  Harness harness(
      module_text(".func virtual_one() { ret; }\n.visible .global .align 8 .u64 table[2] = {0, virtual_one};\n"
                  ".visible .entry k(.param .u64 to) {\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [to];\n"
                  "st.global.u64 [%rd1], 7;\nret;\n}\n"));
  const auto results = harness.buffer("results", std::vector<u64>(1));
  harness.run(1, 1, results);
  EXPECT_EQ(harness.read(results)[0], 7u);
}

}  // namespace
}  // namespace terrace::ptx
