// Matrix multiplication on tensor cores, compiled by clang (tests/data/tensor_gemm.cu), without timing and on GPUs: with
// copies that are waited for by groups and by barrier objects, and with wmma. The host computes the same product.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "engine/rng.h"
#include "frontend/functional_runner.h"
#include "frontend/ptx/arith/half.h"
#include "frontend/ptx/execute/machine.h"
#include "frontend/user_program.h"
#include "support/paths.h"
#include "support/scratch.h"
#include "timing/tenant_runs.h"

namespace terrace {
namespace {

constexpr u32 kM = 64, kN = 96, kK = 80;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// Small whole numbers: every sum is exact, in any order.
std::string program(const Scratch& scratch, const std::string& kernel) {
  Rng rng(1, "tensor");
  std::vector<int> a(kM * kK), b(kK * kN);
  for (int& value : a) value = static_cast<int>(rng.below(17)) - 8;
  for (int& value : b) value = static_cast<int>(rng.below(17)) - 8;
  std::vector<float> c(kM * kN);
  for (u32 row = 0; row < kM; ++row)
    for (u32 col = 0; col < kN; ++col)
      for (u32 k = 0; k < kK; ++k) c[row * kN + col] += static_cast<float>(a[row * kK + k] * b[k * kN + col]);
  const auto halves = [](const std::vector<int>& values) {
    std::vector<u16> bits;
    for (const int value : values) bits.push_back(ptx::narrow<ptx::F16, ptx::Round::kNearestEven>(value).bits);
    return bytes_of(bits);
  };
  scratch.write("a.bin", halves(a));
  scratch.write("b.bin", halves(b));
  scratch.write("c.bin", bytes_of(c));
  return scratch.write(
      "gemm.toml",
      fmt::format("source = \"{}/tests/data/tensor_gemm.cu\"\n"
                  "[[buffer]]\nname = \"a\"\ntype = \"u16\"\ncount = {}\ninit = \"file\"\nfile = \"a.bin\"\n"
                  "[[buffer]]\nname = \"b\"\ntype = \"u16\"\ncount = {}\ninit = \"file\"\nfile = \"b.bin\"\n"
                  "[[buffer]]\nname = \"c\"\ntype = \"f32\"\ncount = {}\n"
                  "[[launch]]\nkernel = \"{}\"\ngrid = [{}, {}]\nblock = [128]\nargs = [\"a\", \"b\", \"c\", {}, {}]\n"
                  "[[expect]]\nbuffer = \"c\"\nequals = \"file\"\nfile = \"c.bin\"\n",
                  source_folder(), a.size(), b.size(), c.size(), kernel, kN / 32, kM / 32, kN, kK));
}

class GpuTensor : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, GpuTensor, testing::Values("gemm_groups", "gemm_barriers", "gemm_wmma"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(GpuTensor, AProductIsRightWithoutTiming) {
  const Scratch scratch;
  const ProgramInstance user = load_user_program(program(scratch, GetParam()), 1);
  for (const u32 width : {32u, 64u}) {
    GuestMemory memory(PageSize::k4K);
    ptx::Machine machine(ptx::parse_module(user.code.file, user.code.text, 32), memory, {width});
    user.program->allocate(memory);
    FunctionalRunner runner(machine, {.resident_blocks = 2});
    runner.run(*user.program, memory);
    const CheckResult check = user.program->check(memory);
    EXPECT_TRUE(check.passed) << check.message;
    const u64 tensor = runner.counts().by_class[static_cast<u32>(InstClass::kTensor)];
    const u64 products = std::string(GetParam()) == "gemm_wmma" ? 16 * 16 * 16 : 16 * 8 * 16;
    EXPECT_EQ(tensor, u64{kM} * kN * kK / products * 32 / width);
  }
}

TEST_P(GpuTensor, AProductIsRightOnEveryMachineAndInEveryTickOrder) {
  const Scratch scratch;
  const std::string path = program(scratch, GetParam());
  const auto run = [&](const std::string& gpu, const std::vector<std::string>& sets, Scheduler::Options options = {}) {
    RunRequest request = tenant_run(path, sets, {}, gpu);
    request.check = true;
    request.options = options;
    const RunResult result = simulate(request);
    EXPECT_TRUE(result.faults.empty());
    EXPECT_TRUE(result.checks_passed) << gpu;
    return digest_of(result);
  };
  for (const char* gpu : {"dws_30sm", "simt_8cu", "vc_16cu"}) {
    const std::string straight = run(gpu, {"sm.count=2"});
    EXPECT_EQ(straight, run(gpu, {"sm.count=2"}, {.permute_seed = 3}));
    EXPECT_EQ(straight, run(gpu, {"sm.count=2"}, {.sleep = false}));
  }
  run("dws_30sm", tiny_queues());
}

TEST_P(GpuTensor, ProductsOfTenantsThatTakeTurnsOrThreadsAreRight) {
  const Scratch scratch;
  const std::string path = program(scratch, GetParam());
  RunRequest turns = tenant_run(path + " " + path, {"sm.count=1", "run.relaunch=false", "tenancy.sharing=time",
                                                    "tenancy.quantum=300", "tenancy.switch_cycles=10"});
  turns.check = true;
  EXPECT_TRUE(simulate(turns).checks_passed);
  RunRequest threads = tenant_run(path, {"sm.count=4"});
  threads.check = true;
  const RunResult one = simulate(threads);
  threads.options = {.threads = 3, .share_from = 1};
  const RunResult three = simulate(threads);
  EXPECT_TRUE(one.checks_passed && three.checks_passed);
  EXPECT_EQ(digest_of(one), digest_of(three));
}

u64 cycles_of(const std::string& path, const std::vector<std::string>& sets) {
  const RunResult result = simulate(tenant_run(path, sets));
  return number(*result.json.find("run"), "cycles");
}

TEST(GpuTensorTime, ASlowerPipelineAndALongerLatencyTakeLonger) {
  const Scratch scratch;
  const std::string path = program(scratch, "gemm_groups");
  const u64 usual = cycles_of(path, {"sm.count=1"});
  EXPECT_GT(cycles_of(path, {"sm.count=1", "sm.tensor.macs=2"}), usual);
  EXPECT_GT(cycles_of(path, {"sm.count=1", "sm.tensor.latency=900"}), usual);
}

}  // namespace
}  // namespace terrace
