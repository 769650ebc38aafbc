// The functions of the device runtime: what printf makes of its formats, the device heap, and kernels that call them.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "frontend/ptx/execute/print_format.h"
#include "unit/ptx_harness.h"

namespace terrace::ptx {
namespace {

/// Memory of a thread that prints: a format at 0x1000, its arguments from 0x10004 on, a text at 0x2000.
class Printing {
 public:
  explicit Printing(const std::string& format) { put(0x1000, format.c_str(), format.size() + 1); }

  template <class T>
  Printing& with(T value) {
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    put(at_, &value, sizeof(T));
    at_ += sizeof(T);
    return *this;
  }
  Printing& with_text(const std::string& text) {
    put(0x2000, text.c_str(), text.size() + 1);
    return with(u64{0x2000});
  }
  PrintedText run(u64 most = 1000) const {
    const ByteSource bytes = [this](u64 address) -> std::optional<u8> {
      const auto found = bytes_.find(address);
      return found == bytes_.end() ? std::nullopt : std::optional(found->second);
    };
    return format_text(bytes, 0x1000, 0x10000, most);
  }
  std::string text() const {
    const PrintedText printed = run();
    EXPECT_FALSE(printed.unreadable.has_value());
    return printed.text;
  }

 private:
  void put(u64 address, const void* from, u64 count) {
    for (u64 i = 0; i < count; ++i) bytes_[address + i] = static_cast<const u8*>(from)[i];
  }
  std::map<u64, u8> bytes_;
  u64 at_ = 0x10000;
};

TEST(PrintFormat, PrintsEveryConversionOfC) {
  EXPECT_EQ(Printing("no arguments, 100 %%").text(), "no arguments, 100 %");
  EXPECT_EQ(Printing("%d|%i|%u").with(-1).with(42).with(-1).text(), "-1|42|4294967295");
  EXPECT_EQ(Printing("%x|%X|%o|%#x|%#o").with(255).with(255).with(8).with(255).with(8).text(), "ff|FF|10|0xff|010");
  EXPECT_EQ(Printing("%c%c").with(int{'a'}).with(int{'b'}).text(), "ab");
  EXPECT_EQ(Printing("<%s>").with_text("a text").text(), "<a text>");
  EXPECT_EQ(Printing("%f %F").with(1.5).with(-0.25).text(), "1.500000 -0.250000");
  EXPECT_EQ(Printing("%e %E").with(1234.5).with(1234.5).text(), "1.234500e+03 1.234500E+03");
  EXPECT_EQ(Printing("%g %G").with(1e-10).with(1e20).text(), "1e-10 1E+20");
  EXPECT_EQ(Printing("%a").with(1.0).text(), "0x1p+0");
  EXPECT_EQ(Printing("%f %f").with(std::numeric_limits<double>::infinity()).with(-1e300 * 1e300).text(), "inf -inf");
  EXPECT_EQ(Printing("%p").with(u64{0x100000040}).text(), "0x100000040");
}

TEST(PrintFormat, TakesAsManyBytesAsTheLengthSays) {
  const i64 large = i64{5} << 40;
  EXPECT_EQ(Printing("%ld %lld %jd %zd %td").with(large).with(-large).with(large).with(large).with(large).text(),
            "5497558138880 -5497558138880 5497558138880 5497558138880 5497558138880");
  EXPECT_EQ(Printing("%lu %llx %zu").with(~u64{0}).with(~u64{0}).with(u64{7}).text(),
            "18446744073709551615 ffffffffffffffff 7");
  EXPECT_EQ(Printing("%hd %hu %hhd %hhu").with(0x18001).with(0x18001).with(0x1ff).with(0x1ff).text(),
            "-32767 32769 -1 255");
  EXPECT_EQ(Printing("%Lf").with(0.5).text(), "0.500000") << "a long double is a double on the device";
}

TEST(PrintFormat, AlignsEachArgumentToItsSize) {
  EXPECT_EQ(Printing("%d %f %d %ld").with(1).with(2.5).with(3).with(i64{4}).text(), "1 2.500000 3 4");
  EXPECT_EQ(Printing("%d %s %c").with(1).with_text("x").with(int{'y'}).text(), "1 x y");
}

TEST(PrintFormat, KnowsFlagsWidthsAndPrecisions) {
  EXPECT_EQ(Printing("[%5d|%-5d|%05d|%+d|% d]").with(42).with(42).with(42).with(42).with(42).text(),
            "[   42|42   |00042|+42| 42]");
  EXPECT_EQ(Printing("[%.3d|%8.3f|%-8.1e|%.0f]").with(7).with(3.14159).with(250.0).with(2.5).text(),
            "[007|   3.142|2.5e+02 |2]");
  EXPECT_EQ(Printing("[%.2s|%4.2s|%.0s]").with_text("abc").with(u64{0x2000}).with(u64{0x2000}).text(), "[ab|  ab|]");
  EXPECT_EQ(Printing("[%*d|%-*d|%.*f]").with(4).with(1).with(4).with(2).with(1).with(0.25).text(), "[   1|2   |0.2]");
  EXPECT_EQ(Printing("[%*d|%.*d]").with(-4).with(1).with(-1).with(2).text(), "[1   |2]");
}

TEST(PrintFormat, CountsArguments) {
  EXPECT_EQ(Printing("none").run().arguments, 0u);
  EXPECT_EQ(Printing("%d %% %s").with(1).with_text("a").run().arguments, 2u);
  EXPECT_EQ(Printing("%*d").with(3).with(1).run().arguments, 2u);
}

TEST(PrintFormat, CopiesWhatIsNoConversion) {
  EXPECT_EQ(Printing("%n%y %-").run().text, "%n%y %-");
  EXPECT_EQ(Printing("50%").run().text, "50%");
  EXPECT_EQ(Printing("").run().text, "");
  EXPECT_EQ(Printing("%s").with(u64{0}).text(), "(null)");
}

TEST(PrintFormat, EndsWhereTheThreadMayNotRead) {
  EXPECT_EQ(Printing("%d %d").with(1).run().unreadable, 0x10004u);
  EXPECT_EQ(Printing("%s").with(u64{0x9000}).run().unreadable, 0x9000u);
  EXPECT_EQ(Printing("%.0s").with(u64{0x9000}).run().unreadable, std::nullopt) << "nothing of it is read";
}

TEST(PrintFormat, HasAnEnd) {
  // No conversion is wider than all that may be printed, and nothing follows when that is reached.
  EXPECT_EQ(Printing("%999999999d%d%d").with(1).with(2).with(3).run(100).text.size(), 101u);
  EXPECT_EQ(Printing("%.*f").with(std::numeric_limits<int>::max()).with(1.0).run(100).text.size(), 102u);
  EXPECT_EQ(Printing("%*d").with(std::numeric_limits<int>::min()).with(1).run(100).text.size(), 100u);
}

TEST(DeviceRuntime, KeepsOneMegabyteOfText) {
  DeviceRuntime runtime;
  const std::string half(DeviceRuntime::kPrintBytes / 2, 'x');
  runtime.print(half);
  runtime.print(half);
  EXPECT_EQ(runtime.take_printed(), half + half);
  EXPECT_EQ(runtime.take_printed(), "");
  runtime.print(half);
  runtime.print(half + "y");
  runtime.print("z");
  EXPECT_EQ(runtime.take_printed(),
            half + "\n(The text of 2 more calls of printf is lost: 1048576 bytes are kept until they are shown.)\n");
  runtime.print("again");
  EXPECT_EQ(runtime.take_printed(), "again");
}

TEST(DeviceHeap, GivesTheLowestPlaceThatIsLargeEnough) {
  DeviceHeap heap;
  EXPECT_EQ(heap.take(1), 0u) << "there is none yet";
  heap.place({0x1000}, 256);
  EXPECT_EQ(heap.take(1), 0x1000u);
  EXPECT_EQ(heap.take(17), 0x1010u);
  EXPECT_EQ(heap.take(16), 0x1030u);
  heap.give_back(0x1000);
  EXPECT_EQ(heap.take(32), 0x1040u) << "the free 16 bytes are too few";
  EXPECT_EQ(heap.take(16), 0x1000u);
  EXPECT_EQ(heap.take(0), 0u);
  EXPECT_EQ(heap.take(~u64{0}), 0u);
}

TEST(DeviceHeap, JoinsWhatIsFree) {
  for (const std::vector<u64>& order : {std::vector<u64>{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}}) {
    DeviceHeap heap;
    heap.place({0x1000}, 64);
    for (u64 i = 0; i < 4; ++i) EXPECT_EQ(heap.take(16), 0x1000 + 16 * i);
    EXPECT_EQ(heap.take(1), 0u);
    for (const u64 i : order) {
      EXPECT_TRUE(heap.holds(0x1000 + 16 * i));
      heap.give_back(0x1000 + 16 * i);
      EXPECT_FALSE(heap.holds(0x1000 + 16 * i));
      heap.give_back(0x1000 + 16 * i);  // no longer held: nothing happens
    }
    EXPECT_EQ(heap.take(64), 0x1000u);
    heap.clear();
    EXPECT_EQ(heap.take(64), 0x1000u);
  }
}

constexpr const char* kDeclarations =
    ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
    ".extern .func (.param .b64 r) malloc(.param .b64 a);\n.extern .func free(.param .b64 a);\n"
    ".global .align 1 .b8 format[8] = {116, 37, 100, 32, 37, 120, 10, 0};\n";  // "t%d %x\n"

/// Thread %r1 with its word of `out` at %rd3; the body leaves its result in %rd20.
std::string kernel(const std::string& body) {
  std::string text = kernel_text({"u64 out"}, R"(
    .local .align 8 .b8 depot[16];
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.s32 %r4, %r2, %r3, %r1; mul.wide.u32 %rd2, %r4, 8; add.s64 %rd3, %rd1, %rd2; mov.u64 %rd20, 99;
    )" + body + "\nst.global.u64 [%rd3], %rd20; ret;");
  return text.insert(text.find(".visible .entry"), kDeclarations);
}
const std::string kPrint = R"({ .param .b64 p0; .param .b64 p1; .param .b32 r0;
    st.param.b64 [p0], %rd10; st.param.b64 [p1], %rd11; call.uni (r0), vprintf, (p0, p1); ld.param.b32 %r9, [r0]; }
    cvt.u64.u32 %rd20, %r9;)";
/// Its number and its square.
const std::string kPrintNumbers = R"(mov.u64 %rd10, depot; mul.lo.u32 %r8, %r1, %r1;
    st.local.u32 [%rd10], %r4; st.local.u32 [%rd10+4], %r8; cvta.local.u64 %rd11, %rd10;
    mov.u64 %rd10, format; cvta.global.u64 %rd10, %rd10;)" +
                                  kPrint;
const std::string kMalloc =
    "{ .param .b64 p0; .param .b64 r0; st.param.b64 [p0], %rd10; call.uni (r0), malloc, (p0); "
    "ld.param.b64 %rd20, [r0]; }\n";
const std::string kFree = "{ .param .b64 p0; st.param.b64 [p0], %rd20; call.uni free, (p0); }\n";

class DeviceRuntimeWidths : public testing::TestWithParam<u32> {};
INSTANTIATE_TEST_SUITE_P(Ptx, DeviceRuntimeWidths, testing::Values(7, 32, 64), testing::PrintToStringParamName());

TEST_P(DeviceRuntimeWidths, EachLanePrintsItsOwnArgumentsInOrder) {
  Harness harness(kernel(kPrintNumbers), GetParam());
  const auto out = harness.buffer("out", std::vector<u64>(80));
  std::string expected, printed;
  harness.machine.print_to([&](std::string_view text) { printed += text; });
  harness.run(2, 40, out);
  // A block runs its warps in turn, one instruction each, so they print one after the other.
  for (u32 t = 0; t < 80; ++t) expected += fmt::format("t{} {:x}\n", t, (t % 40) * (t % 40));
  EXPECT_EQ(printed, expected);
  EXPECT_EQ(harness.read(out), std::vector<u64>(80, 2)) << "the number of arguments";
}

TEST_P(DeviceRuntimeWidths, LanesThatDoNotCallPrintNothing) {
  Harness harness(kernel("setp.ne.u32 %p1, %r1, 5; @%p1 bra OUT;\n" + kPrintNumbers + "\nOUT:"), GetParam());
  const auto out = harness.buffer("out", std::vector<u64>(40));
  harness.run(1, 40, out);
  EXPECT_EQ(harness.machine.take_printed(), "t5 19\n");
  for (u32 t = 0; t < 40; ++t) EXPECT_EQ(harness.read(out)[t], t == 5 ? 2u : 99u);
}

TEST(DeviceRuntime, AGuardedCallIsThatOfItsLanes) {
  Harness harness(kernel(R"(setp.eq.u32 %p1, %r1, 3; mov.u64 %rd10, depot; st.local.u32 [%rd10], %r1;
    st.local.u32 [%rd10+4], %r1; cvta.local.u64 %rd11, %rd10; mov.u64 %rd10, format; cvta.global.u64 %rd10, %rd10;
    { .param .b64 p0; .param .b64 p1; .param .b32 r0; st.param.b64 [p0], %rd10; st.param.b64 [p1], %rd11;
    @%p1 call.uni (r0), vprintf, (p0, p1); })"));
  harness.run(1, 32, harness.buffer("out", std::vector<u64>(32)));
  EXPECT_EQ(harness.machine.take_printed(), "t3 3\n");
}

TEST(DeviceRuntime, PrintingWithoutAFormatGivesMinusOneAndFromNowhereIsAFault) {
  Harness none(kernel("mov.u64 %rd10, 0; mov.u64 %rd11, 0;\n" + kPrint));
  const auto out = none.buffer("out", std::vector<u64>(1));
  none.run(1, 1, out);
  EXPECT_EQ(none.read(out)[0], 0xffffffffu);
  const auto fault = [](const std::string& body) {
    return refusal([&] {
      Harness harness(kernel(body + kPrint));
      harness.run(1, 2, harness.buffer("out", std::vector<u64>(2)));
    });
  };
  EXPECT_NE(fault("mov.u64 %rd10, 64; mov.u64 %rd11, 0;")
                .find("lane 0 of warp 0 of block 0 reads 1 bytes at 0x40, outside any allocation"),
            std::string::npos);
  const std::string format = "mov.u64 %rd10, format; cvta.global.u64 %rd10, %rd10; ";
  EXPECT_NE(fault(format + "mov.u64 %rd11, 0;").find("reads 1 bytes at 0x0, outside any allocation"),
            std::string::npos);
  EXPECT_NE(fault(format + "mov.u64 %rd11, depot; add.u64 %rd11, %rd11, 16; cvta.local.u64 %rd11, %rd11;")
                .find("reads 1 bytes at offset 0x10 of local memory, of which a thread has 16 bytes"),
            std::string::npos);
  EXPECT_NE(fault(format + "mov.u64 %rd11, 8; cvta.shared.u64 %rd11, %rd11;")
                .find("reads 1 bytes at offset 0x8 of shared memory, of which the block has 0 bytes"),
            std::string::npos);
}

TEST_P(DeviceRuntimeWidths, EveryLaneGetsMemoryOfItsOwn) {
  // Each writes its number to both ends of what it got, waits for all, and adds them up.
  Harness harness(kernel("mov.u64 %rd10, 20;\n" + kMalloc + R"(st.u32 [%rd20], %r4; st.u32 [%rd20+16], %r4;
    bar.sync 0; ld.u32 %r5, [%rd20]; ld.u32 %r6, [%rd20+16]; add.u32 %r5, %r5, %r6; )" +
                         kFree + "cvt.u64.u32 %rd20, %r5;"),
                  GetParam());
  const auto out = harness.buffer("out", std::vector<u64>(120));
  for (u32 run = 0; run < 2; ++run) {
    harness.run(3, 40, out);
    for (u64 t = 0; t < 120; ++t) EXPECT_EQ(harness.read(out)[t], 2 * t);
  }
  // All was freed again: the whole heap is there.
  EXPECT_EQ(harness.machine.runtime().heap.take(DeviceHeap::kBytes), harness.machine.runtime().heap.first().raw);
}

TEST(DeviceRuntime, MallocGivesNullWhenTheHeapIsFull) {
  GuestMemory memory(PageSize::k4K);
  Machine machine(parse_module("test.ptx", kernel("mov.u64 %rd10, 100;\n" + kMalloc)), memory, {32, 1000});
  Buffer<u64> out(memory, "out", 32);
  Launch launch;
  launch.kernel = "k";
  launch.block = {32};
  launch.argument(out);
  FunctionalRunner(machine).run(launch);
  std::set<u64> places;
  for (u32 t = 0; t < 32; ++t) {
    const u64 got = out.get(memory, t);
    EXPECT_EQ(got != 0, t < 8) << t;  // 112 bytes each
    EXPECT_EQ(got % 16, 0u);
    EXPECT_TRUE(got == 0 || places.insert(got).second);
  }
  // Memory lasts from launch to launch, until the program begins again.
  FunctionalRunner(machine).run(launch);
  EXPECT_EQ(out.get(memory, 0), 0u);
  machine.begin_run();
  FunctionalRunner(machine).run(launch);
  EXPECT_EQ(out.get(memory, 0), *places.begin());
  EXPECT_FALSE(machine.set_heap_bytes(5000)) << "it is in use";
  machine.clear();
  EXPECT_TRUE(machine.set_heap_bytes(5000));
}

TEST(DeviceRuntime, AKernelWithoutMallocHasNoHeap) {
  Harness harness(kernel(kPrintNumbers));
  harness.run(1, 1, harness.buffer("out", std::vector<u64>(1)));
  for (const auto& allocation : harness.memory.allocations()) EXPECT_NE(allocation.name, "device heap");
}

TEST(DeviceRuntime, FreeingWhatMallocDidNotGiveIsAFault) {
  const auto fault = [](const std::string& body) {
    return refusal([&] {
      Harness harness(kernel("mov.u64 %rd10, 32;\n" + body));
      harness.run(1, 4, harness.buffer("out", std::vector<u64>(4)));
    });
  };
  const std::string sentence = "where nothing begins that malloc gave and that is not freed yet";
  EXPECT_EQ(fault("mov.u64 %rd20, 0;" + kFree), "") << "null may be freed";
  EXPECT_EQ(fault(kMalloc + kFree), "");
  EXPECT_NE(fault("mov.u64 %rd20, 4096;" + kFree).find("lane 0 of warp 0 of block 0 frees 0x1000, " + sentence),
            std::string::npos);
  EXPECT_NE(fault(kMalloc + "add.u64 %rd20, %rd20, 16;" + kFree).find(sentence), std::string::npos);
  EXPECT_NE(fault(kMalloc + kFree + kFree).find(sentence), std::string::npos);
  EXPECT_NE(fault("mov.u64 %rd20, %rd1;" + kFree).find(sentence), std::string::npos)
      << "the host's buffers are not of it";
  EXPECT_NE(fault(kMalloc +
                  "cvt.u32.u64 %r5, %rd20; shfl.sync.idx.b32 %r5, %r5, 0, 31, -1; cvt.u64.u32 %rd21, %r5;"
                  "shr.u64 %rd20, %rd20, 32; shl.b64 %rd20, %rd20, 32; or.b64 %rd20, %rd20, %rd21;" +
                  kFree)
                .find("lane 1 of warp 0 of block 0 frees"),
            std::string::npos)
      << "lanes of one warp free the same";
}

TEST(DeviceRuntime, FunctionsOfTheWrongShapeAreRefusedAndThoseOfTheModuleAreItsOwn) {
  const auto refused = [](const std::string& declaration, const std::string& body) {
    return refusal(
        [&] { Harness harness(module_text(declaration + ".visible .entry k() {\n" + body + "\nret;\n}\n")); });
  };
  EXPECT_EQ(refused(".extern .func malloc(.param .b64 a);\n", "{ .param .b64 p; call malloc, (p); }"),
            "test.ptx:6: call: malloc takes a number of bytes of 64 bits, and gives an address; declare it as stdlib.h "
            "does");
  EXPECT_EQ(refused(".extern .func free(.param .b32 a);\n", "{ .param .b32 p; call free, (p); }"),
            "test.ptx:6: call: free takes an address, and gives nothing; declare it as stdlib.h does");
  EXPECT_EQ(
      refused(".extern .func (.param .b64 r) vprintf(.param .b64 a, .param .b64 b);\n",
              "{ .param .b64 p; .param .b64 q; .param .b64 r; call (r), vprintf, (p, q); }"),
      "test.ptx:6: call: vprintf takes a format and a buffer of arguments, and gives a number of 32 bits; declare "
      "it as CUDA does");
  EXPECT_EQ(refused(".extern .func cosf_of_another(.param .b64 a);\n", "{ .param .b64 p; call cosf_of_another, (p); }"),
            "test.ptx:4: function cosf_of_another is called but not defined; link the module that defines it");
  // A module may define a function of such a name.
  EXPECT_EQ(refused(".func free(.param .b32 a) { ret; }\n", "{ .param .b32 p; call free, (p); }"), "");
}

}  // namespace
}  // namespace terrace::ptx
