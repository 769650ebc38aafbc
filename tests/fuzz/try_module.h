// What the fuzz target and the tests of its findings do with a text: read it as PTX, decode every kernel, run each for
// some hundred instructions. Whatever the text says, the outcome is a result or an InputError; anything else is a
// defect of ours.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "engine/check.h"
#include "frontend/functional_runner.h"
#include "frontend/ptx/execute/machine.h"

namespace terrace::ptx {

struct Trial {
  std::string refusal;   // what was said first; empty when all went well
  bool decoded = false;  // it was a module that can be executed
};

inline Launch trial_launch(const Function& kernel, VirtAddr buffer) {
  Launch launch;
  launch.kernel = kernel.name;
  launch.block = {kernel.required_threads != 0 ? kernel.required_threads : 33};  // a whole warp and part of one
  for (const u32 param : kernel.params) {
    KernelArgument argument{std::vector<u8>(kernel.variables[param].bytes)};
    if (argument.bytes.size() == sizeof buffer.raw)  // perhaps a pointer
      std::memcpy(argument.bytes.data(), &buffer.raw, sizeof buffer.raw);
    launch.arguments.push_back(std::move(argument));
  }
  return launch;
}

inline Trial try_module(const std::string& text) {
  Trial trial;
  const auto note = [&](auto&& act) {
    try {
      act();
      return true;
    } catch (const InputError& error) {
      if (trial.refusal.empty()) trial.refusal = error.what();
      return false;
    }
  };
  note([&] {
    GuestMemory memory(PageSize::k4K, u64{16} << 20);  // little: nothing here may ask for much and get it
    Module module = parse_module("fuzz.ptx", text);
    Machine machine(std::move(module), memory);
    for (const std::string_view kernel : machine.kernels(0)) machine.code(0, kernel);
    trial.decoded = true;
    const VirtAddr buffer = memory.allocate("buffer", 4096);
    for (const std::string_view kernel : machine.kernels(0)) {
      note([&] {
        FunctionalRunner runner(machine, {.resident_blocks = 1, .instruction_limit = 400, .count = true});
        runner.run(trial_launch(*machine.code(0, kernel).functions[0].source, buffer));
      });
    }
  });
  return trial;
}

}  // namespace terrace::ptx
