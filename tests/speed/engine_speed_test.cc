// Floors under the engine's speed: the toy machine in five regimes. A floor is what docs/speed.md promises; a quarter
// of it is asserted, so that a noisy machine does not fail and a disaster does.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "laws/toy/toy_machine.h"
#include "speed/floor.h"

namespace terrace::toy {
namespace {

struct Floor {
  std::string mix;
  double million_per_second;  // warp instructions; 70 % of what a prototype of this shape reached on two shared cores
};

class ToyMachineSpeed : public testing::TestWithParam<Floor> {};

TEST_P(ToyMachineSpeed, IsNotADisaster) {
  Config config;
  config.mix = mix(GetParam().mix);
  config.instructions = config.mix.name == "walk" ? 100'000 : 1'000'000;
  expect_speed(GetParam().million_per_second, [&] { return run(config).instructions; });
}

INSTANTIATE_TEST_SUITE_P(Mixes, ToyMachineSpeed,
                         testing::Values(Floor{"compute", 0.7 * 20.3}, Floor{"balanced", 0.7 * 5.6},
                                         Floor{"memory", 0.7 * 3.6}, Floor{"walk", 0.7 * 1.2},
                                         Floor{"few_sms", 0.7 * 7.5}),
                         [](const auto& tested) { return tested.param.mix; });

}  // namespace
}  // namespace terrace::toy
