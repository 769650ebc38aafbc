// Floors under the speed of a simulated GPU and of the PTX machine without timing: a quarter of each is asserted.
// SPDX-License-Identifier: MIT
#include "bench/gpu_speed.h"

#include <gtest/gtest.h>

#include "config/loader.h"
#include "frontend/functional_runner.h"
#include "speed/floor.h"
#include "support/paths.h"

namespace terrace::bench {
namespace {

GpuConfig dws_30sm(const std::string& design) {
  Layers layers;
  layers.gpu.push_back({source_folder() + "/configs/gpu/dws_30sm.toml", "dws_30sm.toml"});
  layers.designs.push_back({source_folder() + "/configs/designs/" + design + ".toml", design + ".toml"});
  return ConfigLoader<GpuConfig>(layers).config();
}

const Kernel& kernel(const std::string& name) {
  for (const Kernel& each : kGpuKernels) {
    if (each.name == name) return each;
  }
  throw InputError("no kernel " + name);
}

void expect_gpu_speed(const std::string& name, double floor, const std::string& design = "ideal") {
  expect_speed(floor, [&] { return run_on_gpu(dws_30sm(design), kernel(name)).warp_instructions; });
}

TEST(GpuSpeed, OfAnFmaLoopIsNotADisaster) {
  expect_gpu_speed("fma", 5);
}
TEST(GpuSpeed, OfCoalescedStreamingIsNotADisaster) {
  expect_gpu_speed("stream", 1);
}
TEST(GpuSpeed, OfLanesThatStrideToTheirOwnLinesIsNotADisaster) {
  expect_gpu_speed("strided", 0.25);
}
TEST(GpuSpeed, OfRandomUpdatesIsNotADisaster) {
  expect_gpu_speed("gups", 0.15);
}
TEST(GpuSpeed, OfCoalescedStreamingWithPageWalksIsNotADisaster) {
  expect_gpu_speed("stream", 0.8, "baseline");
}
TEST(GpuSpeed, OfRandomUpdatesWithPageWalksIsNotADisaster) {
  expect_gpu_speed("gups", 0.08, "baseline");
}

void expect_exec_speed(const std::string& name, double floor) {
  expect_speed(floor, [&] {
    GuestMemory memory(PageSize::k4K);
    ptx::Machine machine(ptx::parse_module("bench.ptx", std::string(kHeader) + kernel(name).text), memory);
    OneLaunch program([&](GuestMemory& into) { return kernel(name).make(into, 30); });
    program.allocate(memory);
    FunctionalConfig config;
    config.count = false;
    FunctionalRunner runner(machine, config);
    runner.run(program, memory);
    return runner.counts().warp_instructions;
  });
}

TEST(ExecSpeed, OfAnFmaLoopIsNotADisaster) {
  expect_exec_speed("fma", 40);
}
TEST(ExecSpeed, OfCoalescedStreamingIsNotADisaster) {
  expect_exec_speed("stream", 10);
}
TEST(ExecSpeed, OfRandomUpdatesIsNotADisaster) {
  expect_exec_speed("gups", 1);
}

}  // namespace
}  // namespace terrace::bench
