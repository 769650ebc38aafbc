// What a CUDA process may ask, and that nothing it sends does harm (src/cuda).
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <random>

#include "cuda/fat_binary.h"
#include "cuda/host_session.h"
#include "engine/check.h"
#include "support/fat_binary.h"

namespace terrace::cuda {
namespace {

constexpr u64 kMemory = u64{64} << 20;
const std::string kPtx =
    ".version 7.8\n.target sm_70\n.address_size 64\n.global .align 4 .u32 counter = 3;\n"
    ".visible .entry k(.param .u64 out, .param .u32 value) {\n.reg .b64 %rd<3>;\n.reg .b32 %r<2>;\n"
    "ld.param.u64 %rd1, [out];\nld.param.u32 %r1, [value];\nst.global.u32 [%rd1], %r1;\nret;\n}\n"
    ".extern .func (.param .b64 r) malloc(.param .b64 a);\n.visible .entry takes() {\n"
    "{ .param .b64 p; .param .b64 r; st.param.b64 [p], 8; call (r), malloc, (p); }\nret;\n}\n"
    ".func down() { call down; ret; }\n.visible .entry recurses() { call down; ret; }\n"
    ".visible .entry odd() {\n.reg .b32 %r<4>;\nwgmma.fence.sync.aligned;\nret;\n}\n";

TEST(FatBinary, GivesItsPtx) {
  EXPECT_EQ(ptx_of_fat_binary(fat_binary(kPtx)), kPtx);
  std::vector<u8> machine_code = fat_binary(kPtx);
  put<u16>(machine_code, 16, 2);
  EXPECT_EQ(ptx_of_fat_binary(machine_code), std::nullopt);
}

TEST(FatBinary, DecompressesLz4WithCopiesThatOverlap) {
  // Four letters, eight bytes copied from four back, two letters.
  const std::string packed = std::string("\x44") + "abcd" + std::string("\x04\x00\x20", 3) + "yz";
  const std::string expected = "abcdabcdabcdyz";
  EXPECT_EQ(decompress_lz4({reinterpret_cast<const u8*>(packed.data()), packed.size()}, expected.size()), expected);
  EXPECT_EQ(ptx_of_fat_binary(fat_binary(packed, 0x2011, expected.size())), expected);
  for (u64 size = 0; size < 20; ++size) {
    if (size == expected.size()) continue;
    EXPECT_EQ(decompress_lz4({reinterpret_cast<const u8*>(packed.data()), packed.size()}, size), std::nullopt);
  }
}

TEST(FatBinary, RefusesOneThatIsCutOffAnywhere) {
  const std::vector<u8> whole = fat_binary(kPtx);
  for (u64 length = 0; length < whole.size(); ++length)
    EXPECT_THROW(ptx_of_fat_binary(std::span(whole).first(length)), InputError) << length;
}

struct Session {
  GuestMemory memory{PageSize::k4K};
  ptx::Machine machine{memory};
  HostSession host;

  static HostSession::Setup setup() {
    HostSession::Setup setup;
    setup.device = {"test", kMemory, 4, 32, 64, 32, 65536, 98304, 1000, 1 << 20};
    return setup;
  }
  Session() : host(setup(), memory, machine) {}

  struct Reply {
    Status status;
    std::vector<u8> fields;
    Reader reader() const { return Reader(fields); }
  };
  Reply ask(Call call, const Writer& fields) {
    std::vector<Message> answers;
    const Message message{call, fields.bytes()};
    while (host.handle(message, answers) == HostSession::Outcome::kWaits) perform();
    Reader reader(answers.back().payload);
    const Status status = static_cast<Status>(reader.u32());
    reader.text();
    const auto rest = reader.data();
    return {status, {rest.begin(), rest.end()}};
  }
  /// What was issued, in the order of issue; kernels do nothing.
  void perform() {
    for (const Launch& launch : host.take_issued())
      if (launch.action) launch.action(memory, 7);
  }
  u64 allocate(u64 bytes) { return ask(Call::kAllocate, Writer().u64(bytes)).reader().u64(); }
  u32 load() {
    return ask(Call::kLoadModule, Writer().data(fat_binary(kPtx).data(), fat_binary(kPtx).size())).reader().u32();
  }
};

Area row(u64 first, u64 bytes) {
  return {first, bytes, bytes, 1};
}

TEST(CudaSession, WritesAndReadsOnlyInsideOneBuffer) {
  Session session;
  const u64 buffer = session.allocate(100);
  const std::string text(100, 'x');
  EXPECT_EQ(session.ask(Call::kWrite, Writer().area(row(buffer, 100)).u64(0).text(text)).status, Status::kSuccess);
  const auto read = [&](const Area& area) {
    return session.ask(Call::kRead, Writer().area(area).u64(0).u32(1).u64(0)).status;
  };
  EXPECT_EQ(read(row(buffer, 100)), Status::kSuccess);
  EXPECT_EQ(read(row(buffer, 101)), Status::kInvalidValue);
  EXPECT_EQ(read(row(buffer + 1, 100)), Status::kInvalidValue);
  EXPECT_EQ(read(row(buffer - 1, 1)), Status::kInvalidValue);
  EXPECT_EQ(read(row(0, 1)), Status::kInvalidValue);
  EXPECT_EQ(read({buffer, 50, 50, 2}), Status::kSuccess);
  EXPECT_EQ(read({buffer, 51, 50, 2}), Status::kInvalidValue);
  EXPECT_EQ(read({buffer, ~u64{0}, 10, 2}), Status::kInvalidValue);
  EXPECT_EQ(read({buffer, 1, 1, ~u64{0}}), Status::kInvalidValue);
  EXPECT_EQ(read({buffer, ~u64{0} / 2, ~u64{0}, 3}), Status::kInvalidValue);
}

TEST(CudaSession, LimitsMemory) {
  Session session;
  EXPECT_EQ(session.ask(Call::kAllocate, Writer().u64(kMemory + 1)).status, Status::kMemoryAllocation);
  EXPECT_EQ(session.ask(Call::kAllocate, Writer().u64(~u64{0})).status, Status::kMemoryAllocation);
  const u64 buffer = session.allocate(kMemory);
  EXPECT_NE(buffer, 0u);
  EXPECT_EQ(session.ask(Call::kAllocate, Writer().u64(1)).status, Status::kMemoryAllocation);
  EXPECT_EQ(session.ask(Call::kFree, Writer().u64(buffer)).status, Status::kSuccess);
  EXPECT_NE(session.allocate(kMemory), 0u);
}

TEST(CudaSession, CountsTheDeviceHeapAsMemory) {
  Session session;
  const auto heap = [&](u64 bytes) { return session.ask(Call::kHeapBytes, Writer().u32(1).u64(bytes)); };
  EXPECT_EQ(session.ask(Call::kHeapBytes, Writer().u32(0).u64(0)).reader().u64(), u64{8} << 20);
  EXPECT_EQ(heap(kMemory + 1).status, Status::kInvalidValue);
  EXPECT_EQ(session.ask(Call::kHeapBytes, Writer().u32(1)).status, Status::kInvalidValue);
  EXPECT_EQ(heap(kMemory / 2).status, Status::kSuccess);
  const u32 module = session.load();
  const u32 kernel = session.ask(Call::kKernel, Writer().u32(module).text("takes")).reader().u32();
  const auto launch = [&] {
    Writer fields;
    fields.u32(kernel).u32(1).u32(1).u32(1).u32(1).u32(1).u32(1).u64(0).u64(0).u32(0);
    return session.ask(Call::kLaunch, fields).status;
  };
  const u64 buffer = session.allocate(kMemory / 2 + 4096);
  EXPECT_EQ(launch(), Status::kLaunchOutOfResources);
  EXPECT_EQ(session.ask(Call::kFree, Writer().u64(buffer)).status, Status::kSuccess);
  EXPECT_EQ(launch(), Status::kSuccess);
  EXPECT_EQ(launch(), Status::kSuccess) << "it is counted once";
  EXPECT_EQ(session.allocate(kMemory / 2 + 4096), 0u);
}

TEST(CudaSession, CountsTheStackOfRecursionAsMemory) {
  Session session;
  const auto stack = [&](u64 bytes) { return session.ask(Call::kStackBytes, Writer().u32(1).u64(bytes)).status; };
  EXPECT_EQ(session.ask(Call::kStackBytes, Writer().u32(0).u64(0)).reader().u64(), 1024u);
  EXPECT_EQ(stack((512 << 10) + 1), Status::kInvalidValue);
  EXPECT_EQ(session.ask(Call::kStackBytes, Writer().u32(1)).status, Status::kInvalidValue);
  const u32 module = session.load();
  const u32 kernel = session.ask(Call::kKernel, Writer().u32(module).text("recurses")).reader().u32();
  const auto launch = [&](u32 blocks) {
    Writer fields;
    fields.u32(kernel).u32(blocks).u32(1).u32(1).u32(32).u32(1).u32(1).u64(0).u64(0).u32(0);
    return session.ask(Call::kLaunch, fields).status;
  };
  // Twice the stacks of all threads must fit: of five blocks, 2 x 5 x 32 x kMemory / 256 = 1.25 kMemory, they do not.
  EXPECT_EQ(stack(kMemory / 256), Status::kSuccess);
  EXPECT_EQ(launch(5), Status::kLaunchOutOfResources);
  EXPECT_EQ(stack(1024), Status::kSuccess);
  EXPECT_EQ(launch(5), Status::kSuccess);
}

TEST(CudaSession, RefusesAKernelItCannotExecuteAndRunsTheOthers) {
  Session session;
  const u32 module = session.load();
  EXPECT_EQ(session.ask(Call::kKernel, Writer().u32(module).text("odd")).status, Status::kNotSupported);
  EXPECT_EQ(session.ask(Call::kKernel, Writer().u32(module).text("none")).status, Status::kInvalidDeviceFunction);
  const Session::Reply kernel = session.ask(Call::kKernel, Writer().u32(module).text("k"));
  EXPECT_EQ(kernel.status, Status::kSuccess);
  const auto launch = [&](u32 blocks, u32 threads, u64 shared, u32 arguments) {
    Writer fields;
    fields.u32(kernel.reader().u32()).u32(blocks).u32(1).u32(1).u32(threads).u32(1).u32(1).u64(shared).u64(0);
    fields.u32(arguments);
    for (u32 i = 0; i < arguments; ++i) fields.data("\0\0\0\0\0\0\0\0", i == 0 ? 8 : 4);
    return session.ask(Call::kLaunch, fields).status;
  };
  EXPECT_EQ(launch(1, 32, 0, 2), Status::kSuccess);
  EXPECT_EQ(launch(1, 32, 0, 1), Status::kInvalidValue);
  EXPECT_EQ(launch(0, 32, 0, 2), Status::kInvalidConfiguration);
  EXPECT_EQ(launch(1, 1025, 0, 2), Status::kInvalidConfiguration);
  EXPECT_EQ(launch(1, 32, 98305, 2), Status::kInvalidConfiguration);
}

TEST(CudaSession, PutsTheDefaultStreamBehindTheOthersUnlessTheyOptOut) {
  Session session;
  const u64 waits = session.ask(Call::kStreamCreate, Writer().u32(0)).reader().u64();
  const u64 apart = session.ask(Call::kStreamCreate, Writer().u32(1)).reader().u64();
  const u64 event = session.ask(Call::kEventCreate, {}).reader().u64();
  for (const u64 stream : {waits, apart, u64{0}, waits, apart})
    session.ask(Call::kEventRecord, Writer().u64(event).u64(stream));
  const std::vector<Launch> issued = session.host.take_issued();
  ASSERT_EQ(issued.size(), 5u);
  EXPECT_TRUE(issued[0].after.empty());
  EXPECT_TRUE(issued[1].after.empty());
  EXPECT_EQ(issued[2].after, std::vector<u64>{issued[0].ticket});
  EXPECT_EQ(issued[3].after, std::vector<u64>{issued[2].ticket});
  EXPECT_TRUE(issued[4].after.empty());
}

/// Messages of random bytes, and messages that are almost right, with a number or a byte of theirs changed.
TEST(CudaSession, AnswersWhateverItIsSent) {
  std::mt19937_64 random(1);
  const auto pick = [&](u64 below) { return random() % below; };
  Session session;
  u64 answers_seen = 0;
  for (u32 round = 0; round < 4000; ++round) {
    Message message;
    message.call = static_cast<Call>(pick(32));
    Writer fields;
    const u64 buffer = round % 16 == 0 ? session.allocate(1 + pick(100'000)) : GuestMemory::kBase + pick(1 << 20);
    const auto number = [&]() -> u64 {
      switch (pick(5)) {
        case 0:
          return pick(40);
        case 1:
          return buffer;
        case 2:
          return random();
        case 3:
          return ~u64{0} - pick(16);
        default:
          return u64{1} << pick(64);
      }
    };
    for (u64 count = pick(14); count > 0; --count)
      pick(3) == 0 ? fields.u32(static_cast<u32>(number())) : fields.u64(number());
    if (pick(4) == 0) fields.data(fat_binary(kPtx).data(), pick(fat_binary(kPtx).size() + 1));
    message.payload = fields.bytes();
    if (!message.payload.empty() && pick(2) == 0) message.payload.resize(pick(message.payload.size()));
    if (!message.payload.empty()) message.payload[pick(message.payload.size())] ^= static_cast<u8>(random());
    std::vector<Message> answers;
    while (session.host.handle(message, answers) == HostSession::Outcome::kWaits) session.perform();
    ASSERT_FALSE(answers.empty());
    ASSERT_EQ(answers.back().call, Call::kAnswer);
    ++answers_seen;
    ASSERT_LE(session.memory.footprint_bytes(), kMemory);
    if (session.host.full()) session.perform();
  }
  EXPECT_EQ(answers_seen, 4000u);
}

}  // namespace
}  // namespace terrace::cuda
