// For tests of the PTX machine: give PTX text, buffers and a launch, run, read back. Instructions can be tried one by
// one on many operands with `evaluate`.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "engine/check.h"
#include "frontend/functional_runner.h"
#include "frontend/ptx/execute/machine.h"

namespace terrace::ptx {

/// A module of one file around the given top-level text.
inline std::string module_text(const std::string& body) {
  return ".version 7.8\n.target sm_70\n.address_size 64\n" + body;
}

/// A kernel named k with the given parameters ("u64 out" ...) and body; common registers are declared.
inline std::string kernel_text(const std::vector<std::string>& parameters, const std::string& body) {
  std::string text = ".visible .entry k(";
  for (std::size_t i = 0; i < parameters.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::string(".param .") + parameters[i];
  return module_text(text +
                     ") {\n.reg .pred %p<20>;\n.reg .b16 %rs<20>;\n.reg .b32 %r<60>;\n.reg .f32 %f<40>;\n"
                     ".reg .b64 %rd<40>;\n.reg .f64 %fd<40>;\n" +
                     body + "\n}\n");
}

class Harness {
 public:
  explicit Harness(const std::string& text, u32 warp_width = 32)
      : memory(PageSize::k4K), machine(parse_module("test.ptx", text, warp_size_of(warp_width)), memory, {warp_width}) {
    // A kernel is decoded when it is first launched; tests of what is refused do not launch.
    for (const std::string_view kernel : machine.kernels(0)) machine.code(0, kernel);
  }

  template <class T>
  Buffer<T> buffer(const std::string& name, const std::vector<T>& values) {
    Buffer<T> made(memory, name, values.size());
    std::copy(values.begin(), values.end(), made.write(memory).begin());
    return made;
  }
  template <class T>
  std::vector<T> read(const Buffer<T>& from) const {
    const auto values = from.read(memory);
    return {values.begin(), values.end()};
  }

  template <class... Arguments>
  Launch launch(Dim3 grid, Dim3 block, const Arguments&... arguments) const {
    Launch made;
    made.kernel = "k";
    made.grid = grid;
    made.block = block;
    (made.argument(arguments), ...);
    return made;
  }
  FunctionalCounts run(const Launch& launch, FunctionalConfig config = {}) {
    FunctionalRunner runner(machine, config);
    runner.run(launch);
    return runner.counts();
  }
  template <class... Arguments>
  FunctionalCounts run(u32 blocks, u32 threads, const Arguments&... arguments) {
    return run(launch({blocks}, {threads}, arguments...));
  }

  GuestMemory memory;
  Machine machine;
};

/// The sentence of the InputError that f throws; empty when it throws none.
template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

/// Runs one instruction on many operands, one thread each: `instruction` has %a, %b, %c for 64-bit images of operands
/// and %d for the result, of types ta.. ("f32", "u64", "pred" ...). The result's bits come back.
struct Operation {
  std::string instruction;            // "add.s32 %d, %a, %b;"
  std::string result;                 // type of %d
  std::vector<std::string> operands;  // types of %a, %b, %c, %e
};
/// The module that does so: kernel k(in, out, n), four words of operands and one of result for each thread.
inline std::string operation_text(const Operation& op) {
  static const char* const kNames[] = {"%a", "%b", "%c", "%e"};
  const auto width = [](const std::string& type) {
    const auto parsed = parse_type(type);
    return parsed ? bytes_of(*parsed) : 0;
  };
  const auto raw = [&](const std::string& type) { return "b" + std::to_string(8 * std::max(width(type), 2u)); };
  std::string body = ".reg .u64 %in, %out, %off; .reg .u32 %i, %n, %t; .reg .b32 %w; .reg .pred %go;\n";
  const auto declare = [&](const std::string& name, const std::string& type) {
    body += ".reg ." + (type == "pred" ? type : raw(type)) + " " + name + ";\n";
  };
  declare("%d", op.result);
  for (std::size_t i = 0; i < op.operands.size(); ++i) declare(kNames[i], op.operands[i]);
  body +=
      "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u32 %n, [n];\n"
      "mov.u32 %i, %ctaid.x; mov.u32 %t, %ntid.x; mul.lo.u32 %i, %i, %t; mov.u32 %t, %tid.x; add.u32 %i, %i, %t;\n"
      "setp.ge.u32 %go, %i, %n; @%go ret;\n"
      "mul.wide.u32 %off, %i, 32; add.u64 %in, %in, %off; mul.wide.u32 %off, %i, 8; add.u64 %out, %out, %off;\n";
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const std::string at = "[%in+" + std::to_string(8 * i) + "];\n";
    if (op.operands[i] == "pred")
      body += "ld.global.u32 %w, " + at + "setp.ne.u32 " + kNames[i] + ", %w, 0;\n";
    else
      body += "ld.global.b" + std::to_string(8 * width(op.operands[i])) + " " + kNames[i] + ", " + at;
  }
  body += op.instruction + "\n";
  if (op.result == "pred")
    body += "selp.u32 %w, 1, 0, %d; st.global.u32 [%out], %w;\n";
  else
    body += "st.global.b" + std::to_string(8 * width(op.result)) + " [%out], %d;\n";
  body += "ret;";
  return module_text(".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {\n" + body + "\n}\n");
}
inline std::vector<u64> evaluate(const Operation& op, const std::vector<std::array<u64, 4>>& values,
                                 u32 warp_width = 32) {
  Harness harness(operation_text(op), warp_width);
  Buffer<u64> in(harness.memory, "in", values.size() * 4), out(harness.memory, "out", values.size());
  const auto flat = in.write(harness.memory);
  for (std::size_t i = 0; i < values.size(); ++i)
    std::copy(values[i].begin(), values[i].end(), flat.begin() + static_cast<std::ptrdiff_t>(i * 4));
  harness.run(static_cast<u32>((values.size() + 63) / 64), 64, in, out, static_cast<u32>(values.size()));
  return harness.read(out);
}

}  // namespace terrace::ptx
