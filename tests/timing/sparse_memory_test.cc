// Kernels whose buffers lie far apart in 48 bits, and buffers that come and go between launches: without timing, and on
// machines with every shape of page table.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>

#include "frontend/functional_runner.h"
#include "timing/ptx_tenants.h"
#include "timing/small_gpu.h"

namespace terrace {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr u64 kBase = GuestMemory::kBase, kEnd = GuestMemory::kEnd;

/// out[i] = in[i] + 1, for 1024 words from every 64 KB.
constexpr char kAddOne[] = R"(.version 7.8
.target sm_70
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .b64 %rd<9>; .reg .b32 %r<9>;
  ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd3, %r1, 65536; mul.wide.u32 %rd4, %r2, 4; add.u64 %rd3, %rd3, %rd4;
  add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;
  ld.global.u32 %r3, [%rd1]; add.u32 %r3, %r3, 1; st.global.u32 [%rd2], %r3;
  ret;
}
)";
constexpr u32 kBlocks = 32, kThreads = 1024, kBlockWords = 65536 / 4;
constexpr u64 kWords = u64{kBlocks} * kBlockWords;

/// Launches over buffers that a step of the host chooses anew for each.
class HostSteps : public Program {
 public:
  struct Step {
    VirtAddr in, out;
  };
  using Host = std::function<Step(GuestMemory&)>;
  explicit HostSteps(std::vector<Host> steps) : steps_(std::move(steps)) {}
  void allocate(GuestMemory&) override {}
  void initialise(GuestMemory&) override { next_ = 0; }
  std::optional<Launch> next(GuestMemory& memory) override {
    if (next_ == steps_.size()) return std::nullopt;
    const Step step = steps_[next_++](memory);
    Launch launch;
    launch.kernel = "k";
    launch.grid = {kBlocks};
    launch.block = {kThreads};
    launch.argument(step.in.raw).argument(step.out.raw);
    return launch;
  }
  CheckResult check(const GuestMemory&) const override { return {true, ""}; }
  void archive(Archive& a) override { a(next_); }

 private:
  std::vector<Host> steps_;
  u64 next_ = 0;
};

VirtAddr filled(GuestMemory& memory, const char* name, u64 first, u32 value) {
  const Buffer<u32> buffer(memory, name, {first}, kWords);
  const auto words = buffer.write(memory);
  std::fill(words.begin(), words.end(), value);
  return buffer.address();
}

/// The words that the kernel wrote.
std::vector<u32> written(const GuestMemory& memory, VirtAddr first) {
  std::vector<u32> words;
  const auto bytes = memory.read(first, kWords * 4);
  for (u64 block = 0; block < kBlocks; ++block) {
    const u64 at = words.size();
    words.resize(at + kThreads);
    std::memcpy(&words[at], bytes.data() + block * 65536, kThreads * 4);
  }
  return words;
}

/// One tenant with its program, alone on a small GPU.
struct Alone {
  Alone(const GpuConfig& its_config, std::vector<HostSteps::Host> steps, Scheduler::Options options = {})
      : config(its_config),
        memory(PageSize(config.pages.bytes)),
        machine(ptx::parse_module("k.ptx", kAddOne), memory),
        program(std::move(steps)),
        gpu(config, {{"alone", &program, &memory, &machine, {0}}}, options) {}
  const std::string& run() {
    gpu.run({});
    fault = gpu.progress(TenantId(0)).fault;
    return fault;
  }

  GpuConfig config;
  GuestMemory memory;
  ptx::Machine machine;
  HostSteps program;
  Gpu gpu;
  std::string fault;
};

constexpr u64 kHigh = kEnd - kWords * 4, kMiddle = u64{3} << 44;

std::vector<HostSteps::Host> both_ends() {
  return {[](GuestMemory& memory) {
            return HostSteps::Step{filled(memory, "low", kBase, 10), filled(memory, "high", kHigh, 0)};
          },
          [](GuestMemory& memory) { return HostSteps::Step{{kHigh}, filled(memory, "middle", kMiddle, 0)}; }};
}

TEST(SparseMemory, AKernelReadsAndWritesAtBothEndsOf48Bits) {
  GuestMemory memory(PageSize::k4K);
  ptx::Machine machine(ptx::parse_module("k.ptx", kAddOne), memory);
  HostSteps program(both_ends());
  FunctionalRunner(machine).run(program, memory);
  EXPECT_THAT(written(memory, {kHigh}), Each(11));
  EXPECT_THAT(written(memory, {kMiddle}), Each(12));
}

struct Shape {
  const char* name;
  u32 page, level_bits;
  EntryLayout entries;
  FrameOrder frames;
  TranslateAt at;
};
constexpr Shape kShapes[] = {
    {"usual", 4096, 9, EntryLayout::kPacked, FrameOrder::kRandom, TranslateAt::kBeforeL1},
    {"one_entry_per_line", 4096, 9, EntryLayout::kOnePerLine, FrameOrder::kRandom, TranslateAt::kBeforeL1},
    {"few_bits", 4096, 4, EntryLayout::kPacked, FrameOrder::kContiguous, TranslateAt::kBeforeL1},
    {"few_bits_per_line", 65536, 5, EntryLayout::kOnePerLine, FrameOrder::kRandom, TranslateAt::kBeforeL1},
    {"medium_pages", 65536, 9, EntryLayout::kPacked, FrameOrder::kRandom, TranslateAt::kAfterL1},
    {"large_pages", 2097152, 9, EntryLayout::kPacked, FrameOrder::kRandom, TranslateAt::kBeforeL1},
    {"first_touch", 4096, 9, EntryLayout::kPacked, FrameOrder::kFirstTouch, TranslateAt::kBeforeL1},
    {"behind_the_l2", 4096, 9, EntryLayout::kPacked, FrameOrder::kRandom, TranslateAt::kAfterL2},
    {"ideal", 4096, 9, EntryLayout::kPacked, FrameOrder::kRandom, TranslateAt::kNowhere},
};

class SparseMemoryOn : public ::testing::TestWithParam<Shape> {
 protected:
  GpuConfig config() const {
    GpuConfig config = small_gpu();
    config.pages.bytes = GetParam().page;
    config.pages.level_bits = GetParam().level_bits;
    config.pages.entries = GetParam().entries;
    config.pages.frames = GetParam().frames;
    config.translation = GetParam().at;
    if (config.translation == TranslateAt::kAfterL2) {
      config.l2.slice_by = L2Config::SliceBy::kLine;
      config.mmu.walk_path.use = "memory";
    }
    return config;
  }
};

TEST_P(SparseMemoryOn, ARunReadsAndWritesAtBothEndsOf48Bits) {
  std::vector<u64> cycles;
  for (const Scheduler::Options& options :
       {Scheduler::Options{}, Scheduler::Options{.sleep = false, .permute_seed = 3}}) {
    Alone alone(config(), both_ends(), options);
    EXPECT_EQ(alone.run(), "");
    EXPECT_THAT(written(alone.memory, {kHigh}), Each(11));
    EXPECT_THAT(written(alone.memory, {kMiddle}), Each(12));
    alone.gpu.stats().check_identities(!alone.gpu.quiet());
    cycles.push_back(alone.gpu.now());
  }
  EXPECT_EQ(cycles[0], cycles[1]);
}

/// What one launch wrote the next one frees, and something else takes its addresses and its frames.
TEST_P(SparseMemoryOn, FreedAddressesServeTheNextBuffer) {
  for (const u64 first : {kBase, kHigh}) {
    std::vector<HostSteps::Host> steps{[&](GuestMemory& memory) {
      return HostSteps::Step{filled(memory, "in", kMiddle, 1), filled(memory, "out", first, 0)};
    }};
    for (u32 round = 2; round < 5; ++round) {
      steps.push_back([=](GuestMemory& memory) {
        memory.free({kMiddle});
        memory.free({first});
        const VirtAddr out = filled(memory, "out", kMiddle, 0);
        return HostSteps::Step{filled(memory, "in", first, 10 * round), out};
      });
      steps.push_back([=](GuestMemory& memory) {
        memory.free({first});
        return HostSteps::Step{{kMiddle}, filled(memory, "out", first, 0)};
      });
    }
    Alone alone(config(), steps);
    EXPECT_EQ(alone.run(), "");
    EXPECT_THAT(written(alone.memory, {first}), Each(42));
    alone.gpu.stats().check_identities(!alone.gpu.quiet());
  }
}

TEST_P(SparseMemoryOn, WhatIsFreedFaultsWithItsName) {
  Alone alone(config(), {[](GuestMemory& memory) {
                           return HostSteps::Step{filled(memory, "in", kHigh, 1), filled(memory, "out", kBase, 0)};
                         },
                         [](GuestMemory& memory) {
                           memory.free({kHigh});
                           return HostSteps::Step{{kHigh}, {kBase}};
                         }});
  EXPECT_THAT(alone.run(), HasSubstr("reads 4 bytes at"));
  EXPECT_THAT(alone.fault, HasSubstr("which lies in \"in\", 2097152 bytes from 0xffffffe00000; they have been freed"));
  EXPECT_EQ(alone.gpu.kernels().size(), 1u) << "the first launch was in order";
}

INSTANTIATE_TEST_SUITE_P(Tables, SparseMemoryOn, ::testing::ValuesIn(kShapes),
                         [](const auto& tested) { return std::string(tested.param.name); });

u64 walks(Gpu& gpu) {
  return gpu.stats().total("gpu.mmu.*.walks_done", TenantId(0)).value();
}

/// TLBs that hold every page of both buffers: only what is freed is walked for again.
TEST(SparseMemory, OnlyFreedPagesAreForgotten) {
  GpuConfig config = small_gpu();
  config.l1_tlb.entries = config.l2_tlb.entries = 1024;
  std::vector<u64> before;
  Gpu* gpu = nullptr;
  const auto again = [&](GuestMemory&) {
    before.push_back(walks(*gpu));
    return HostSteps::Step{{kMiddle}, {kHigh}};
  };
  Alone alone(config, {[](GuestMemory& memory) {
                         return HostSteps::Step{filled(memory, "in", kMiddle, 1), filled(memory, "out", kHigh, 0)};
                       },
                       again,
                       [&](GuestMemory& memory) {
                         memory.free({kMiddle});
                         filled(memory, "in", kMiddle, 2);
                         return again(memory);
                       }});
  gpu = &alone.gpu;
  EXPECT_EQ(alone.run(), "");
  before.push_back(walks(alone.gpu));
  EXPECT_EQ(before[0], 2 * kBlocks) << "a page of each buffer for each block";
  EXPECT_EQ(before[1], before[0]) << "all are known";
  EXPECT_EQ(before[2] - before[1], kBlocks) << "the new buffer's";
  EXPECT_THAT(written(alone.memory, {kHigh}), Each(3));
}

}  // namespace
}  // namespace terrace
