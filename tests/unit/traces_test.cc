// Folders of traces as tenants: a replay does what the recorded kernel does, and wrong input is told by file and line.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>

#include "engine/check.h"
#include "frontend/ptx/execute/machine.h"
#include "frontend/stream_kind.h"
#include "frontend/traces/opcode_table.h"
#include "frontend/traces/trace_folder.h"
#include "frontend/user_program.h"
#include "run/exec.h"
#include "support/scratch.h"
#include "support/trace_recorder.h"
#include "timing/tenant_runs.h"
#include "unit/ptx_harness.h"

namespace terrace {
namespace {

using ptx::refusal;
using testing::AllOf;
using testing::HasSubstr;

/// Adds neighbours through shared memory: a coalesced load, a scattered one that some lanes leave out, a barrier, a sum.
constexpr char kPtx[] = R"(.version 7.8
.target sm_70
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 sum) {
  .reg .u64 %in, %out, %sum, %off, %s; .reg .u32 %i, %t, %v, %w; .reg .pred %odd; .shared .u32 partner[96];
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u64 %sum, [sum];
  mov.u32 %i, %ctaid.x; mov.u32 %t, %tid.x; mad.lo.u32 %i, %i, 80, %t;
  mul.wide.u32 %off, %i, 4; add.u64 %out, %out, %off; add.u64 %off, %in, %off;
  ld.global.u32 %v, [%off];
  and.b32 %w, %t, 3; setp.eq.u32 %odd, %w, 1;
  mul.lo.u32 %w, %i, 37; and.b32 %w, %w, 4095; mul.wide.u32 %off, %w, 8; add.u64 %off, %in, %off;
  @!%odd ld.global.u64 %off, [%off];
  mov.u64 %s, partner; mul.wide.u32 %in, %t, 4; add.u64 %s, %s, %in;
  st.shared.u32 [%s], %v;
  bar.sync 0;
  ld.shared.u32 %w, [%s];
  add.u32 %v, %v, %w;
  @%odd red.global.add.u32 [%sum], %v;
  st.global.u32 [%out], %v;
  ret;
}
)";
constexpr char kToml[] = R"(source = "k.ptx"
[[buffer]]
name = "in"
type = "u32"
count = 8192
init = "iota"
[[buffer]]
name = "out"
type = "u32"
count = 1024
[[buffer]]
name = "sum"
type = "u32"
count = 1
[[launch]]
kernel = "k"
grid = [6]
block = [80]
args = ["in", "out", "sum"]
)";

/// The program and a folder of its traces.
class Recorded {
 public:
  explicit Recorded(WrittenAddresses as, const std::string& suffix = "") {
    scratch.write("k.ptx", kPtx);
    program = scratch.write("k.toml", kToml);
    ProgramInstance instance = load_user_program(program);
    GuestMemory memory(PageSize::k4K);
    instance.program->allocate(memory);
    const auto stream = make_stream(instance.code, memory);
    TraceRecorder recorder(*stream, as);
    FunctionalRunner runner(recorder);
    runner.run(*instance.program, memory);
    counts = runner.counts();
    text = recorder.text();
    const std::string bytes = suffix == ".xz" ? xz_of(text) : suffix == ".zst" ? zstd_of(text) : text;
    scratch.write("t/kernel-1.traceg" + suffix, bytes);
    scratch.write("t/kernelslist.g", "MemcpyHtoD,0x0000000100000000,32768\nkernel-1.traceg" + suffix + "\n");
    folder = (scratch.path() / "t").string();
  }
  Scratch scratch;
  std::string program, folder, text;
  FunctionalCounts counts;
};

FunctionalCounts replayed(const std::string& folder) {
  ExecOptions options;
  options.program = folder;
  return execute_program(options).total;
}

void expect_same(const FunctionalCounts& a, const FunctionalCounts& b) {
  EXPECT_EQ(a.warp_instructions, b.warp_instructions);
  EXPECT_EQ(a.thread_instructions, b.thread_instructions);
  EXPECT_EQ(a.by_class, b.by_class);
  EXPECT_EQ(a.line_accesses, b.line_accesses);
  EXPECT_EQ(a.lines, b.lines);
  EXPECT_EQ(a.pages, b.pages);
  EXPECT_EQ(a.max_lines, b.max_lines);
  EXPECT_EQ(a.blocks, b.blocks);
  EXPECT_EQ(a.accesses[index(MemorySpace::kShared)], b.accesses[index(MemorySpace::kShared)]);
}

TEST(Traces, AReplayMakesTheLineRequestsOfThePtxInEveryFormOfAddresses) {
  for (const WrittenAddresses as : {WrittenAddresses::kAll, WrittenAddresses::kStride, WrittenAddresses::kDistances}) {
    const Recorded recorded(as);
    ASSERT_GT(recorded.counts.lines, recorded.counts.line_accesses) << "the kernel should scatter";
    expect_same(replayed(recorded.folder), recorded.counts);
  }
}

TEST(Traces, CompressedTracesSayTheSame) {
  for (const char* const suffix : {".xz", ".zst"}) {
    const Recorded recorded(WrittenAddresses::kStride, suffix);
    expect_same(replayed(recorded.folder), recorded.counts);
  }
}

TEST(Traces, ARunOfTheTraceIsTheRunOfThePtxCycleByCycle) {
  const Recorded recorded(WrittenAddresses::kStride);
  const std::vector<std::string> once{"run.relaunch=false"};
  const RunResult ptx = simulate(tenant_run(recorded.program, once));
  const RunResult trace = expect_laws(tenant_run(recorded.folder, once));
  for (const char* const key : {"cycles", "warp_instructions", "thread_instructions"})
    EXPECT_EQ(number(tenant_of(trace, 0), key), number(tenant_of(ptx, 0), key)) << key;
  EXPECT_EQ(digest_of(trace), digest_of(ptx));
}

TEST(Traces, TracesMixWithWorkloadsAndTakeTurns) {
  const Recorded recorded(WrittenAddresses::kDistances);
  const RunResult mixed = simulate(tenant_run(recorded.folder + " mm", {"run.relaunch=false"}));
  for (const u32 tenant : {0u, 1u}) EXPECT_EQ(number(tenant_of(mixed, tenant), "completed_runs"), 1u);
  // Turns so short that blocks are saved in the middle and restored.
  const std::vector<std::string> turns{"run.relaunch=false", "tenancy.sharing=time", "tenancy.quantum=400",
                                       "tenancy.switch_cycles=50"};
  const RunResult in_turn = simulate(tenant_run(recorded.folder + " " + recorded.folder, turns));
  for (const u32 tenant : {0u, 1u})
    EXPECT_EQ(number(tenant_of(in_turn, tenant), "warp_instructions"), recorded.counts.warp_instructions);
}

TEST(Traces, NothingCanBeCheckedInATrace) {
  const Recorded recorded(WrittenAddresses::kAll);
  ExecOptions options;
  options.program = recorded.folder;
  options.check = true;
  EXPECT_THAT(refusal([&] { execute_program(options); }), HasSubstr("there are no values in traces"));
  RunRequest request = tenant_run(recorded.folder);
  request.check = true;
  EXPECT_THAT(refusal([&] { simulate(request); }), HasSubstr("leave out --check"));
}

constexpr char kHeader[] = R"(-kernel name = k
-grid dim = (2,1,1)
-block dim = (64,1,1)
-shmem = 256
-nregs = 32
-binary version = 80
-shmem base_addr = 0x00007f1000000000
-local mem base_addr = 0x00007f1002000000
-accelsim tracer version = 4
-enable lineinfo = 1

#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] [mem_addresses] immediate
)";
constexpr char kExit[] = "9 0100 ffffffff 0 EXIT 0 0 0\n";

/// A trace of one block: what its two warps do.
std::string block_of(const std::vector<std::string>& lines, const std::vector<std::string>& others = {}) {
  std::string text = "#BEGIN_TB\nthread block = 1,0,0\n";
  u32 number = 0;
  for (const std::vector<std::string>* const warp : {&lines, &others}) {
    text += fmt::format("warp = {}\ninsts = {}\n", number++, warp->size() + 1);
    for (const std::string& line : *warp) text += line + "\n";
    text += kExit;
  }
  return text + "#END_TB\n";
}

std::string written(const Scratch& scratch, const std::string& trace) {
  scratch.write("t/kernel-1.traceg", trace);
  scratch.write("t/kernelslist.g", "kernel-1.traceg\n");
  return (scratch.path() / "t").string();
}
std::string wrong(const std::string& trace) {
  const Scratch scratch;
  const std::string folder = written(scratch, trace);
  return refusal([&] { load_program(folder, InputSize::kMini); });
}
std::string wrong_line(const std::string& line) {
  return wrong(kHeader + block_of({line}));
}

/// A stream in the middle of the only block of such a trace.
struct Replay {
  explicit Replay(const std::vector<std::string>& lines, const std::vector<std::string>& others = {})
      : folder(written(scratch, kHeader + block_of(lines, others))),
        instance(load_program(folder, InputSize::kMini)),
        memory(PageSize::k64K),
        stream((instance.program->allocate(memory), make_stream(instance.code, memory))) {
    instance.program->initialise(memory);
    shape = stream->begin_launch(*instance.program->next(memory));
    block = stream->begin_block(shape.launch, 0, SmId{0});
  }
  const DecodedInst& next(u32 warp = 0) const { return stream->view(stream->warp(block, warp)).next(); }
  const Effect& step(u32 warp = 0) {
    stream->execute(stream->warp(block, warp), 0, stores, effect);
    return effect;
  }
  Scratch scratch;
  std::string folder;
  ProgramInstance instance;
  GuestMemory memory;
  std::unique_ptr<InstStream> stream;
  LaunchShape shape;
  BlockRef block{};
  StoreLog stores;
  Effect effect;
};

TEST(Traces, OnlyRecordedBlocksRun) {
  const Replay replay({});
  EXPECT_EQ(replay.shape.blocks, 1u);
  EXPECT_EQ(replay.shape.registers_per_thread, 32u);
  EXPECT_EQ(replay.shape.shared_bytes_per_block, 256u);
}

TEST(Traces, RegistersOfWideLoadsAreARowAndTheZeroRegisterIsNone) {
  const Replay replay({"3 0010 0000000f 1 R24 LDG.E.128.STRONG.GPU 2 R44 R255 16 1 0x7f2000000000 16 0"});
  const DecodedInst& inst = replay.next();
  EXPECT_EQ(inst.sources, 1);
  EXPECT_EQ(inst.destinations, 4);
  EXPECT_EQ(inst.registers[0], 44);
  for (u16 i = 0; i < 4; ++i) EXPECT_EQ(inst.registers[1 + i], 24 + i);
  EXPECT_EQ(inst.lane_bytes, 16);
  EXPECT_EQ(inst.line, 3u);
  EXPECT_TRUE(inst.volatile_access);
}

TEST(Traces, GenericAddressesReachSharedAndLocalMemoryThroughTheirWindows) {
  Replay replay({"1 0010 00000003 1 R1 LD.E 1 R2 4 0 0x7f1000000010 0x7f2000000040 0",
                 "1 0020 00000003 1 R1 LD.E 1 R2 4 1 0x7f1000000020 4 0",
                 "1 0030 00000003 0 STL.64 1 R2 8 1 0xfffc00 0 0",
                 "1 0040 00000003 1 R1 ATOM.ADD 1 R2 4 1 0x7f2000000080 4 0"});
  Effect mixed = replay.step();
  EXPECT_EQ(mixed.space, MemorySpace::kGlobal);
  EXPECT_EQ(mixed.shared_lanes, 1u);
  EXPECT_EQ(mixed.address[0], 0x10u);
  EXPECT_EQ(mixed.address[1], 0x7f2000000040u);
  Effect shared = replay.step();
  EXPECT_EQ(shared.space, MemorySpace::kShared);
  EXPECT_EQ(shared.address[1], 0x24u);
  Effect local = replay.step();
  EXPECT_EQ(local.space, MemorySpace::kLocal);
  EXPECT_EQ(local.words, 2);
  EXPECT_EQ(local.address[1], local.address[0] + 4) << "threads lie side by side";
  EXPECT_EQ(local.stride, 64u * 4);
  EXPECT_TRUE(replay.memory.contains({local.address[1] + local.stride}, 4));
  Effect atomic = replay.step();
  EXPECT_EQ(atomic.atomic_lanes, 3u);
  EXPECT_NE(atomic.atomic, kNoAtomic);
}

TEST(Traces, ABarrierIsCompleteWhenNobodyIsMissing) {
  const std::string barrier = "1 0010 ffffffff 0 BAR.SYNC.DEFER_BLOCKING 0 0 0";
  Replay replay({barrier, barrier, "1 0020 00000000 0 BAR.SYNC 0 0 0"}, {barrier});
  EXPECT_EQ(replay.step(0).status, WarpStatus::kAtBarrier);
  EXPECT_EQ(replay.effect.released_warps, 0u);
  replay.step(1);
  EXPECT_EQ(replay.effect.released_warps, 3u);
  EXPECT_EQ(replay.step(0).status, WarpStatus::kAtBarrier);
  EXPECT_EQ(replay.step(1).status, WarpStatus::kDone);
  EXPECT_EQ(replay.effect.released_warps, 1u) << "the other warp has ended";
  EXPECT_EQ(replay.step(0).status, WarpStatus::kRunning) << "no lane arrives";
  EXPECT_EQ(replay.step(0).status, WarpStatus::kDone);
}

TEST(Traces, UnknownOpcodesAreNamedAndTheFolderMayExplainThem) {
  const std::string line = "1 0010 ffffffff 1 R4 UTMALDG.2D 2 R4 R8 0 0";
  const Scratch scratch;
  const std::string folder = written(scratch, kHeader + block_of({line, line}, {line}));
  ExecOptions options;
  options.program = folder;
  const ExecResult unknown = execute_program(options);
  EXPECT_EQ(unknown.unknown_opcodes, (std::map<std::string, u64>{{"UTMALDG.2D", 3}}));
  EXPECT_THAT(exec_text(unknown), HasSubstr("3 instructions of each execution did nothing but issue"));
  EXPECT_EQ(unknown.total.warp_instructions, 5u);
  const RunResult run = simulate(tenant_run(folder, {"run.relaunch=false"}));
  EXPECT_EQ(number(*tenant_of(run, 0).find("unknown_opcodes"), "UTMALDG.2D"), 3u);
  EXPECT_THAT(run.text, HasSubstr("UTMALDG.2D (3)"));
  scratch.write("t/opcodes.toml", "[pipelines]\nspecial = [\"UTMALDG\"]\n");
  const ExecResult known = execute_program(options);
  EXPECT_TRUE(known.unknown_opcodes.empty());
  EXPECT_EQ(known.total.by_class[index(InstClass::kSpecial)], 3u);
  EXPECT_NE(known.code_hash, unknown.code_hash) << "the table decides what runs";
}

TEST(Traces, TensorInstructionsTakeTheTensorPipelineAsLongAsTheirShapeSays) {
  const Scratch scratch;
  const auto line = [](const std::string& opcode) { return "1 0010 ffffffff 1 R4 " + opcode + " 2 R4 R8 0 0"; };
  const std::string folder =
      written(scratch, kHeader + block_of({line("HMMA.16816.F32"), line("HMMA.1688.F32.TF32"), line("HMMA.1688.F32"),
                                           line("IMMA.16832.S8.S8"), line("DMMA.884"), line("HGMMA.64x128x16.F32"),
                                           line("BGMMA.64x8x256.AND.POPC"), line("ARRIVES.LDGSTSBAR.64")},
                                          {line("HMMA.4444")}));
  const traces::OpcodeTable table = traces::OpcodeTable::read(folder);
  // m n k, of tf32 twice, of 8 bits half, of f64 sixteen times; a quarter of what four warps do together.
  const std::pair<const char*, u32> works[] = {{"HMMA.16816.F32", 16 * 8 * 16},
                                               {"HMMA.1688.F32.TF32", 16 * 8 * 8 * 2},
                                               {"HMMA.1688.F32", 16 * 8 * 8},
                                               {"IMMA.16832.S8.S8", 16 * 8 * 32 / 2},
                                               {"IMMA.16864.S4.S4", 16 * 8 * 64 / 4},
                                               {"DMMA.884", 8 * 8 * 4 * 16},
                                               {"HGMMA.64x128x16.F32", 64 * 128 * 16 / 4},
                                               {"BGMMA.64x8x256.AND.POPC", 64 * 8 * 256 / 16 / 4}};
  for (const auto& [opcode, work] : works) EXPECT_EQ(table.find(opcode).tensor_work, work) << opcode;
  ExecOptions options;
  options.program = folder;
  const ExecResult known = execute_program(options);
  EXPECT_EQ(known.total.by_class[index(InstClass::kTensor)], 7u);
  EXPECT_EQ(known.unknown_opcodes, (std::map<std::string, u64>{{"HMMA.4444", 1}})) << "a shape that is not listed";
}

TEST(Traces, MistakesInTheTableAreToldByLine) {
  const Scratch scratch;
  const std::string folder = written(scratch, kHeader + block_of({}));
  const auto table = [&](const std::string& text) {
    scratch.write("t/opcodes.toml", text);
    return refusal([&] { load_program(folder, InputSize::kMini); });
  };
  EXPECT_THAT(table("[pipelines]\ntensor = [\"HMMA\"]\n"), HasSubstr("a pipeline must be one of integer, float"));
  EXPECT_THAT(table("[accesses]\nX = {action = \"lod\", space = \"global\"}\n"),
              AllOf(HasSubstr("opcodes.toml:2: action must be one of"), HasSubstr("did you mean \"load\"?")));
  EXPECT_THAT(table("[accesses]\nX = {action = \"load\"}\n"), HasSubstr("X needs an action and a space"));
  EXPECT_THAT(table("[accesses]\nX = {action = \"load\", space = \"global\", bytes = 3}\n"), HasSubstr("not 3"));
  EXPECT_THAT(table("[tensor]\n70000 = [\"HMMA\"]\n"), HasSubstr("from 1 to 65535, not \"70000\""));
  EXPECT_THAT(table("[opcodes]\n"), HasSubstr("there is no section \"opcodes\""));
  EXPECT_THAT(table("[pipelines]\nfloat = [\"A\", \"A\"]\n"), HasSubstr("A is listed twice in this file"));
}

TEST(Traces, WrongLinesAreToldByFileAndLine) {
  const std::string good = "1 0010 0000000f 1 R1 LDG.E 1 R2 4 1 0x7f2000000000 4 0";
  EXPECT_EQ(wrong_line(good), "");
  const std::pair<std::string, const char*> cases[] = {
      {"1 0010 0000000f", "the line ends before its count of destination registers"},
      {"1 0010 xyz 0 NOP 0 0", "\"xyz\" is not a valid mask of lanes"},
      {"1 0010 1ffffffff 0 NOP 0 0", "is not a valid mask of lanes"},
      {"1 0010 0000000f 1 P1 NOP 0 0", "\"P1\" is not a valid destination register"},
      {"1 0010 0000000f 1 R256 NOP 0 0", "\"R256\" is not a valid destination register"},
      {"1 0010 0000000f 9 R1 NOP 0 0", "\"9\" is not a valid count of destination registers"},
      {"1 0010 0000000f 0 99 0 0", "\"99\" is not a valid opcode"},
      {"1 0010 0000000f 0 NOP 0 0 0 7", "\"7\" stands behind the end"},
      {"1 0010 0000000f 1 R1 LDG.E 1 R2 0", "LDG.E has no addresses"},
      {"1 0010 0000000f 1 R1 LDG.E 1 R2 4 5 0x7f2000000000", "the form of the addresses must be 0 to 4, not 5"},
      {"1 0010 0000000f 1 R1 LDG.E 1 R2 4 0 0x7f2000000000", "the line ends before its address"},
      {"1 0010 0000000f 1 R1 LDG.E 1 R2 4 2 0x7f2000000000 4 4", "the line ends before its distance"},
      {"1 0010 0000000d 1 R1 LDG.E 1 R2 4 1 0x7f2000000000 4", "contiguous lanes, but the mask is 0000000d"},
      {"1 0010 0000000f 1 R1 LDG.E 1 R2 4 1 0x7f2000000002 4", "not a multiple of the 4 bytes"},
      {"1 0010 0000000f 1 R1 LDG.E 1 R2 4 1 0x1000 4", "0x1000 is not a global address"},
      {"1 0010 0000000f 1 R1 LDG.E 1 R2 4 1 0xfffffffffff0 4096", "is not a global address"},
      {"1 0010 0000000f 1 R1 LDS 1 R2 4 1 0x2000000 4", "beyond the end of shared memory"},
      {"1 0010 0000000f 1 R1 LDG.E 1 R2 4 3 1 0x7f2000000000", "has the addresses of a bulk copy"},
  };
  for (const auto& [line, sentence] : cases)
    EXPECT_THAT(wrong_line(line), AllOf(HasSubstr("kernel-1.traceg:17: "), HasSubstr(sentence))) << line;
}

TEST(Traces, WrongBlocksAreToldByFileAndLine) {
  const std::string good = block_of({});
  EXPECT_EQ(wrong(kHeader + good), "");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return wrong(kHeader + text);
  };
  EXPECT_THAT(changed("1,0,0", "2,0,0"), HasSubstr("traceg:14: \"2,0,0\" is not a block of a grid of 2 x 1 x 1"));
  EXPECT_THAT(changed("thread block = 1,0,0\n", ""), HasSubstr("\"thread block = x,y,z\" was expected"));
  EXPECT_THAT(changed("warp = 1", "warp = 2"), HasSubstr("is not a warp of a block of 64 threads"));
  EXPECT_THAT(changed("warp = 1", "warp = 0"), HasSubstr("warp 0 appears twice in this thread block"));
  EXPECT_THAT(changed("insts = 1", "insts = 2"), HasSubstr("1 instructions of warp 0 are missing"));
  EXPECT_THAT(changed("insts = 1", "insts = 0"), HasSubstr("warp 0 has more instructions than \"insts\" says"));
  EXPECT_THAT(changed("#END_TB", ""), HasSubstr("it is truncated"));
  EXPECT_THAT(wrong(kHeader + good + good), HasSubstr("block 1,0,0 appears twice in this trace"));
  EXPECT_THAT(wrong(kHeader), HasSubstr("has no thread block"));
  EXPECT_THAT(wrong(""), HasSubstr("the header has no line \"-kernel name = ...\""));
  EXPECT_THAT(wrong("hello\n"), HasSubstr("traceg:1: is neither a line of the header"));
}

TEST(Traces, WrongHeadersAreToldByFileAndLine) {
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = kHeader + block_of({});
    text.replace(text.find(from), from.size(), to);
    return wrong(text);
  };
  EXPECT_THAT(changed("(2,1,1)", "(2,1)"), HasSubstr("traceg:2: \"(2,1)\" is not a valid grid dim"));
  EXPECT_THAT(changed("(64,1,1)", "(64,64,1)"), HasSubstr("traceg:3: \"(64,64,1)\" is not a valid block dim"));
  EXPECT_THAT(changed("-nregs = 32\n", ""), HasSubstr("the header has no line \"-nregs = ...\""));
  EXPECT_THAT(changed("version = 80", "version = 61"), HasSubstr("record the trace on Volta or later"));
  EXPECT_THAT(changed("tracer version = 4", "tracer version = 2"), HasSubstr("traces of version 2 are not supported"));
}

TEST(Traces, WrongFoldersAndListsAreTold) {
  const Scratch scratch;
  const std::string folder = written(scratch, kHeader + block_of({}));
  const auto load = [&] { return refusal([&] { load_program(folder, InputSize::kMini); }); };
  const auto list = [&](const std::string& text) {
    scratch.write("t/kernelslist.g", text);
    return load();
  };
  EXPECT_EQ(list("MemcpyHtoD,0x7f2000000100,300\nMemcpyDtoH,0x7f2000000100,300\nkernel-1.traceg\n"), "");
  EXPECT_THAT(list(""), HasSubstr("has no kernel"));
  EXPECT_THAT(list("MemcpyHtoD,0x7f2000000100\n"), HasSubstr("kernelslist.g:1: a copy is written as"));
  EXPECT_THAT(list("\nkernel-2.traceg\n"), HasSubstr("kernelslist.g:2: there is no file"));
  EXPECT_THAT(list("../kernel-1.traceg\n"), HasSubstr("lies in another folder"));
  EXPECT_THAT(list("kernel-1.trace\n"), HasSubstr("is neither a copy"));
  std::filesystem::remove(folder + "/kernelslist.g");
  EXPECT_THAT(load(), HasSubstr("has no kernelslist.g"));
  EXPECT_THAT(refusal([&] { load_program("traces/nowhere", InputSize::kMini); }),
              HasSubstr("traces/nowhere: there is no such folder of traces"));
}

TEST(Traces, DamagedCompressedFilesAreTold) {
  for (const std::string suffix : {".xz", ".zst"}) {
    const Recorded recorded(WrittenAddresses::kAll, suffix);
    const std::string name = "t/kernel-1.traceg" + suffix;
    const std::string whole = suffix == ".xz" ? xz_of(recorded.text) : zstd_of(recorded.text);
    const auto with = [&](const std::string& bytes) {
      recorded.scratch.write(name, bytes);
      return refusal([&] { load_program(recorded.folder, InputSize::kMini); });
    };
    EXPECT_EQ(with(whole), "");
    EXPECT_THAT(with(whole.substr(0, whole.size() / 2)), HasSubstr("it is truncated")) << suffix;
    EXPECT_THAT(with(""), HasSubstr("kernel-1.traceg")) << suffix;
    EXPECT_THAT(with("plain text, and no archive at all"), HasSubstr("cannot decompress it")) << suffix;
  }
}

TEST(Traces, AMachineWithWiderWarpsIsRefused) {
  const Recorded recorded(WrittenAddresses::kAll);
  const ProgramInstance instance = load_program(recorded.folder, InputSize::kMini);
  GuestMemory memory(PageSize::k4K);
  EXPECT_THAT(refusal([&] { make_stream(instance.code, memory, 64); }), HasSubstr("set sm.warp_width to 32"));
}

}  // namespace
}  // namespace terrace
