// The reader: what compilers print is understood, what cannot be executed is refused with file, line and remedy, and
// damaged text gives a sentence.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>

#include "unit/ptx_harness.h"

namespace terrace::ptx {
namespace {

using testing::HasSubstr;

/// What the machine says to a kernel whose body starts at line 11.
std::string refusal_of(const std::string& body) {
  return refusal([&] { Harness harness(kernel_text({"u64 out"}, body)); });
}
std::string parse_refusal(const std::string& text) {
  return refusal([&] { parse_module("test.ptx", text); });
}

constexpr const char* kSample = R"(
.version 7.8
.target sm_70, debug
.address_size 64
	// .globl	f
.file 1 "a.cu"
.visible .const .align 4 .b8 coef[8] = {0, 0, 128, 63, 0, 0, 0, 64};
.visible .global .align 4 .u32 table[2][2] = {{1, 2}, {-3, 0x4}};
.global .align 8 .u64 pointers[2] = {generic(table), generic(table)+4};
.global .f32 numbers[3] = {0f3F800000, 1.5, -2};
.extern .shared .align 4 .b8 dyn[];
.weak .func (.param .b32 r) f(.param .b32 a, .param .align 8 .b8 s[16]);
.visible .entry k(.param .u64 .ptr .global .align 4 out, .param .align 8 .b8 s[16])
.maxntid 256, 1, 1
.minnctapersm 2
.pragma "nounroll";
{
	.local .align 8 .b8 depot[16];
	.reg .pred %p<3>; .reg .b32 %r<10>, %single; .reg .b64 %rd<10>; .reg .f32 %f<3>;
	.shared .align 4 .u32 cell;
	.loc 1 3 5
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %tid.x;
	{ // callseq
		.reg .b32 %r<2>;
		.param .b32 p0;
		mov.b32 %r1, 7;
		st.param.b32 [p0+0], %r1;
		.param .align 8 .b8 p1[16];
		st.param.v2.b64 [p1], {%rd1, %rd1};
		.param .b32 q;
		call.uni (q), f, (p0, p1);
		ld.param.b32 %single, [q];
	}
	setp.ge.u32 %p1|%p2, %r1, 4;
	@!%p1 bra $L__end;
	st.global.u32 [%rd1+4], %single;
$L__end:
	ret;
}
.weak .func (.param .b32 r) f(.param .b32 a, .param .align 8 .b8 s[16])
{
	.reg .b32 %r<3>;
	ld.param.b32 %r1, [a];
	add.s32 %r2, %r1, 1;
	st.param.b32 [r], %r2;
	ret;
}
.section .debug_str { .b8 1, 2, 3 }
)";

TEST(PtxReader, AModuleWithEveryConstructIsRead) {
  const Module module = parse_module("test.ptx", kSample);
  ASSERT_EQ(module.functions.size(), 2u);
  const Function& kernel = module.functions[module.function_index.at("k")];
  EXPECT_TRUE(kernel.entry);
  EXPECT_EQ(kernel.max_threads, 256u);
  EXPECT_EQ(kernel.params.size(), 2u);
  EXPECT_EQ(kernel.local_bytes, 16u);
  EXPECT_TRUE(module.functions[module.function_index.at("f")].defined);
  const Variable& table = module.variables[module.variable_index.at("table")];
  EXPECT_EQ(table.bytes, 16u);
  EXPECT_EQ(
      std::bit_cast<i32>(std::array<u8, 4>{table.initial[8], table.initial[9], table.initial[10], table.initial[11]}),
      -3);
  EXPECT_EQ(module.variables[module.variable_index.at("pointers")].relocations[1].addend, 4);
}

TEST(PtxReader, TextTruncatedAnywhereGivesASentenceAndNeverACrash) {
  const std::string whole = kSample;
  u32 refused = 0;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string sentence = refusal([&] {
      GuestMemory memory(PageSize::k4K);
      Machine machine(parse_module("test.ptx", whole.substr(0, length)), memory);
    });
    refused += !sentence.empty();
    if (!sentence.empty()) {
      EXPECT_EQ(sentence.substr(0, 9), "test.ptx:") << sentence;
    }
  }
  EXPECT_GT(refused, whole.size() / 2);
}

TEST(PtxReader, ADamagedByteGivesASentenceAndNeverACrash) {
  for (const char damage : {'\x01', '}', '{', ';', '.', '"', '9', '%', '[', '('}) {
    for (std::size_t at = 0; at < std::string_view(kSample).size(); at += 3) {
      std::string text = kSample;
      text[at] = damage;
      refusal([&] {
        GuestMemory memory(PageSize::k4K);
        Machine machine(parse_module("test.ptx", text), memory);
      });
    }
  }
}

TEST(PtxReader, AnEmptyFileIsRefused) {
  EXPECT_EQ(parse_refusal(""), "test.ptx:1: the file is empty; give the text form that nvcc -ptx or clang -S prints");
}

TEST(PtxReader, ABinaryIsRefused) {
  EXPECT_EQ(parse_refusal("\x7f"
                          "ELF"),
            "test.ptx:1: unexpected character 0x7f; this does not look like PTX text");
}

TEST(PtxReader, ThirtyTwoBitAddressesAreRefused) {
  EXPECT_EQ(parse_refusal(".version 7.8\n.target sm_70\n.address_size 32\n"),
            "test.ptx:3: .address_size 32 is not supported; compile for 64-bit addresses");
}

TEST(PtxReader, AnUnclosedFunctionIsRefused) {
  EXPECT_EQ(parse_refusal(module_text(".visible .entry k() {\nret;\n")),
            "test.ptx:6: function k has no closing brace; the file seems truncated");
}

TEST(PtxReader, AFunctionDefinedTwiceIsRefused) {
  EXPECT_EQ(parse_refusal(module_text(".entry k() { ret; }\n.entry k() { ret; }\n")),
            "test.ptx:5: function k is defined twice, first at line 4");
}

TEST(PtxReader, AnInitialiserLongerThanItsVariableIsRefused) {
  EXPECT_EQ(parse_refusal(module_text(".global .u32 a[1] = {1, 2};\n")),
            "test.ptx:4: variable a has 4 bytes but its initialiser has 8");
}

TEST(PtxReader, AnUnknownInstructionIsRefusedByName) {
  EXPECT_EQ(
      refusal_of("frobnicate.u32 %r1, %r2;"),
      "test.ptx:11: frobnicate.u32: the instruction is not known; compile for sm_70 to sm_90, without inline PTX of "
      "newer kinds");
}

TEST(PtxReader, TexturesOfKindsThatAreNotThereAreRefusedWithARemedy) {
  EXPECT_EQ(
      refusal_of("tex.3d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2, %f3, %f3}];"),
      "test.ptx:11: tex.3d.v4.f32.f32: textures of this kind are not supported; use one or two dimensions without "
      "layers or mipmaps");
  EXPECT_EQ(refusal_of("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, %rd1, {%r1}];"),
            "test.ptx:11: tex.1d.v4.f32.s32: the place must be [texture object, {coordinates}]; compile for texture "
            "objects, without samplers");
  EXPECT_EQ(
      refusal_of("txq.width.b32 %r1, [%rd1];"),
      "test.ptx:11: txq.width.b32: queries of textures are not supported; pass their sizes to the kernel instead");
}

TEST(PtxReader, BulkCopiesAreRefusedWithARemedy) {
  EXPECT_EQ(refusal_of("cp.async.bulk.commit_group;"),
            "test.ptx:11: cp.async.bulk.commit_group: bulk copies are not supported; use cp.async of 16 bytes instead");
}

TEST(PtxReader, TensorInstructionsOfWarpGroupsAreRefusedWithARemedy) {
  EXPECT_EQ(refusal_of("wgmma.fence.sync.aligned;"),
            "test.ptx:11: wgmma.fence.sync.aligned: this tensor instruction is not supported; use mma or wmma instead");
}

TEST(PtxReader, AModifierNobodyUnderstandsIsRefused) {
  EXPECT_EQ(refusal_of("add.frob.s32 %r1, %r2, %r3;"),
            "test.ptx:11: add.frob.s32: modifier .frob is not supported here");
}

TEST(PtxReader, ARegisterOfTheWrongWidthIsRefused) {
  EXPECT_EQ(refusal_of("add.s32 %r1, %rd2, %r3;"),
            "test.ptx:11: add.s32: register %rd2 of type .b64 does not fit an operand of type .s32");
}

TEST(PtxReader, AnUndefinedLabelIsRefused) {
  EXPECT_EQ(refusal_of("bra NOWHERE;"), "test.ptx:11: bra: label NOWHERE is not defined in function k");
}

TEST(PtxReader, AnUndeclaredVariableIsRefused) {
  EXPECT_EQ(refusal_of("ld.global.u32 %r1, [nothing];"),
            "test.ptx:11: ld.global.u32: variable nothing is not declared");
}

TEST(PtxReader, AnUndeclaredRegisterIsCalledThatWhereverItStands) {
  const auto told = [](const std::string& name) {
    return "test.ptx:11: register " + name + " is not declared in function k; declare it with .reg";
  };
  EXPECT_EQ(refusal_of("mov.u32 %r1, %nonsense;"), told("%nonsense"));
  EXPECT_EQ(refusal_of("add.u32 %r60, %r1, %r2;"), told("%r60"));  // %r<60> ends with %r59
  EXPECT_EQ(refusal_of("ld.global.u32 %r1, [%pointer+4];"), told("%pointer"));
  EXPECT_EQ(refusal_of("@%q bra NOWHERE;"), told("%q"));
  EXPECT_EQ(refusal_of("setp.lt.s32 %p1|%q, %r1, %r2;"), told("%q"));
}

TEST(PtxReader, ASpecialRegisterThatThereIsNotHereIsCalledThat) {
  EXPECT_EQ(refusal_of("mov.u32 %r1, %envreg3;"), "test.ptx:11: mov.u32: special register %envreg3 is not supported");
  EXPECT_EQ(refusal_of("mov.u32 %r1, %clusterid.x;"),
            "test.ptx:11: mov.u32: special register %clusterid.x is not supported");
}

TEST(PtxReader, AParameterBeforeTheFirstIsRefused) {
  EXPECT_EQ(refusal_of("ld.param.u64 %rd1, [out-8];"),
            "test.ptx:11: ld.param.u64: reads beyond the kernel's parameters");
}

TEST(PtxReader, TypesAndModifiersThatDoNotGoTogetherAreRefused) {
  EXPECT_EQ(
      refusal_of("set.lt.f32.f16x2 %r1, %r2, %r3;"),
      "test.ptx:11: set.lt.f32.f16x2: results of type .f32 do not exist for operands of type .f16x2; use setp and "
      "selp");
  EXPECT_EQ(refusal_of("set.lt.ftz.u32.bf16x2 %r1, %r2, %r3;"),
            "test.ptx:11: set.lt.ftz.u32.bf16x2: type .bf16x2 is not supported by this instruction");
  EXPECT_EQ(refusal_of("min.relu.u16x2 %r1, %r2, %r3;"),
            "test.ptx:11: min.relu.u16x2: .relu exists for .s32 and .s16x2 only");
  EXPECT_EQ(refusal_of("sub.s16x2 %r1, %r2, %r3;"),
            "test.ptx:11: sub.s16x2: type .s16x2 is not supported by this instruction");
}

TEST(PtxReader, ACallOfAFunctionWithoutBodyIsRefused) {
  EXPECT_EQ(
      refusal([] { Harness harness(module_text(".extern .func f();\n.visible .entry k() {\ncall f;\nret;\n}\n")); }),
      "test.ptx:4: function f is called but not defined; link the module that defines it");
}

TEST(PtxReader, ACallThroughAPointerTakesWhatACallByNameTakes) {
  EXPECT_EQ(refusal_of("call (%r1), %rd1, (%r2);"), "test.ptx:11: call: '%r1' must be a .param variable");
  EXPECT_EQ(refusal_of("call %r1;"),
            "test.ptx:11: call: register %r1 of type .b32 does not fit an operand of type .u64");
  EXPECT_EQ(refusal_of("call %rd1, %rd2;"),
            "test.ptx:11: call: needs results, a function or a register that points to one, and arguments");
}

TEST(PtxReader, WideRegistersAreRefused) {
  EXPECT_EQ(
      refusal_of(".reg .b128 %q;"),
      "test.ptx:11: registers of type .b128 are not supported; compile for an older architecture (sm_90 or below)");
}

TEST(PtxReader, DeepNestingIsRefusedAndDoesNotOverflowTheStack) {
  EXPECT_EQ(refusal_of(std::string(100'000, '{')), "test.ptx:11: blocks are nested deeper than 256");
}

/// As clang -gline-tables-only and nvcc -lineinfo print it.
TEST(PtxReader, LinesOfTheSourceAreKeptForMessages) {
  const auto fault = [](const std::string& location, const std::string& files) {
    Harness harness(kernel_text({}, location + "\ntrap;\nret;") + files);
    return refusal([&] { harness.run(1, 32); });
  };
  const std::string files = ".file 1 \"dir/own.cu\"\n\t.file\t2 \"util.h\", 123, 45\n";
  EXPECT_THAT(fault(".loc 1 42 7", files),
              HasSubstr("kernel k, dir/own.cu:42 (line 12 of the PTX of test.ptx), \"trap\": "));
  EXPECT_THAT(fault("\t.loc\t2 9 0, function_name $L__info, inlined_at 1 5 3", files), HasSubstr("util.h:9 (line 12 "));
  EXPECT_THAT(fault(".loc 1 0 0", files), HasSubstr("test.ptx (line 12 of its PTX), \"trap\""));
  EXPECT_THAT(fault(".loc 7 42 7", files), HasSubstr("test.ptx (line 12 of its PTX), \"trap\""));
  EXPECT_THAT(fault(".loc", files), HasSubstr("test.ptx (line 12 of its PTX), \"trap\""));
  EXPECT_THAT(fault("", ""), HasSubstr("test.ptx:12, \"trap\""));
  EXPECT_THAT(refusal([&] { Harness harness(kernel_text({}, ".loc 1 42 7\ntex.1d.v4.f32.s32 %r1;") + files); }),
              HasSubstr("dir/own.cu:42 (line 12 of the PTX of test.ptx): tex"));
}

TEST(PtxReader, ALaunchWithTheWrongArgumentsIsRefused) {
  Harness harness(kernel_text({"u64 out"}, "ret;"));
  EXPECT_EQ(refusal([&] { harness.run(1, 32); }), "kernel k takes 1 arguments, 0 are given");
  EXPECT_EQ(refusal([&] { harness.run(1, 32, u32{1}); }),
            "argument 0 of kernel k has 4 bytes, its parameter out has 8; check its type");
  Launch other = harness.launch({1}, {32});
  other.kernel = "other";
  EXPECT_EQ(refusal([&] { harness.run(other); }), "test.ptx has no kernel \"other\"; it has k");
}

TEST(PtxReader, ABlockOrGridLargerThanCudaAllowsIsRefused) {
  Harness harness(kernel_text({}, "ret;"));
  const auto outcome = [&](Dim3 grid, Dim3 block) {
    return refusal([&] { harness.run(harness.launch(grid, block)); });
  };
  EXPECT_EQ(outcome({1}, {1, 1, 64}), "");
  EXPECT_EQ(outcome({1}, {1, 1, 65}),
            "kernel k is launched with a block of 1 x 1 x 65 threads; at most 1024 x 1024 x 64 are possible");
  EXPECT_EQ(outcome({1}, {1, 1, 1024}),
            "kernel k is launched with a block of 1 x 1 x 1024 threads; at most 1024 x 1024 x 64 are possible");
  EXPECT_EQ(outcome({1}, {1, 1024, 1}), "");
  EXPECT_NE(outcome({1}, {1, 1025, 1}).find("a block of 1 x 1025 x 1 threads"), std::string::npos);
  EXPECT_NE(outcome({1}, {1025, 1, 1}).find("a block of 1025 x 1 x 1 threads"), std::string::npos);
  EXPECT_NE(outcome({1}, {32, 33, 1}).find("1056 threads per block; at most 1024 threads"), std::string::npos);
  EXPECT_EQ(
      outcome({1, 65536, 1}, {1}),
      "kernel k is launched with a grid of 1 x 65536 x 1 blocks; at most 2147483647 x 65535 x 65535 are possible");
  EXPECT_NE(outcome({1, 1, 65536}, {1}).find("a grid of 1 x 1 x 65536 blocks"), std::string::npos);
}

TEST(PtxReader, AnArgumentOfTheWrongKindIsRefused) {
  Harness harness(kernel_text({"u32 n", "f32 scale", "b32 either"}, "ret;"));
  using Kind = KernelArgument::Kind;
  const auto outcome = [&](Kind n, Kind scale, Kind either) {
    Launch launch = harness.launch({1}, {1}, u32{1}, 1.0f, u32{1});
    launch.arguments[0].kind = n;
    launch.arguments[1].kind = scale;
    launch.arguments[2].kind = either;
    launch.arguments[1].origin = "p.toml:7: launch[0].args[1]";
    return refusal([&] { harness.run(launch); });
  };
  EXPECT_EQ(outcome(Kind::kWhole, Kind::kFloat, Kind::kFloat), "");
  EXPECT_EQ(outcome(Kind::kAny, Kind::kAny, Kind::kWhole), "");
  EXPECT_EQ(outcome(Kind::kFloat, Kind::kFloat, Kind::kAny),
            "argument 0 of kernel k is a floating-point number, its parameter n is of type .u32; give a whole number");
  EXPECT_EQ(outcome(Kind::kWhole, Kind::kWhole, Kind::kAny),
            "p.toml:7: launch[0].args[1] of kernel k is a whole number, its parameter scale is of type .f32; give it a "
            "decimal point or a type");
}

}  // namespace
}  // namespace terrace::ptx
