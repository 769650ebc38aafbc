// `terrace list kernels FILE`: what can be launched, with which arguments, and what it takes of an SM.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <utility>

#include "cli/commands.h"
#include "engine/check.h"
#include "frontend/ptx/execute/machine.h"
#include "frontend/ptx/read/plain_names.h"
#include "frontend/user_program.h"
#include "text/table.h"

namespace terrace {
namespace {

/// As PTX declares it. A struct is an array of bytes there.
std::string type_text(const ptx::Variable& variable) {
  if (variable.bytes == ptx::bytes_of(variable.type)) return std::string(ptx::type_name(variable.type));
  return fmt::format("struct, aligned to {}", variable.align);
}

std::string resources_text(ptx::Machine& machine, std::string_view kernel) {
  try {
    const ptx::Code& code = machine.code(0, kernel);
    std::string text = fmt::format("{} registers per thread, {} bytes of shared memory", code.registers_per_thread,
                                   code.static_shared_bytes);
    if (code.local_bytes != 0) text += fmt::format(", {} bytes of local memory per thread", code.local_bytes);
    if (code.recursive) text += ", and a stack for recursion";
    return text;
  } catch (const InputError& error) {  // the others of the module can be launched all the same
    return fmt::format("cannot be executed: {}", error.what());
  }
}

std::string limits_text(const ptx::Function& kernel) {
  if (kernel.required_threads != 0) return fmt::format(", blocks of exactly {} threads", kernel.required_threads);
  if (kernel.max_threads != 0) return fmt::format(", blocks of at most {} threads", kernel.max_threads);
  return "";
}

}  // namespace

std::string kernels_listing(const std::string& file, bool markdown) {
  const DeviceCode code = file.ends_with(".toml") ? load_user_program(file).code : read_device_code(file);
  if (code.kind != DeviceCode::kPtx) input_error("list: {} is not PTX", file);
  GuestMemory memory(PageSize::k4K);
  ptx::Module module = ptx::parse_module(code.file, code.text);
  TextTable variables{{"variable", "space", "bytes"}, {}, {false, false, true}};
  for (const ptx::Variable& variable : module.variables)
    if (variable.space == ptx::Space::kConst || variable.space == ptx::Space::kGlobal)
      variables.rows.push_back({std::string(variable.name),
                                variable.space == ptx::Space::kConst ? "__constant__" : "__device__",
                                fmt::format("{}", variable.bytes)});
  ptx::Machine machine(std::move(module), memory);
  std::string text;
  for (const std::string_view kernel : machine.kernels(0)) {
    const ptx::Function& declared = *machine.declaration(0, kernel);
    const std::string source = ptx::source_name(kernel);  // with its parameters, if a C++ compiler named it
    const std::string heading = source == kernel ? source : fmt::format("{}, {}", source, kernel);
    text += fmt::format("{}{}{}: {}{}\n{}", text.empty() ? "" : "\n", markdown ? "## " : "", heading,
                        resources_text(machine, kernel), limits_text(declared), markdown ? "\n" : "");
    TextTable table{{"argument", "name", "type", "bytes"}, {}, {true, false, false, true}};
    for (u64 i = 0; i < declared.params.size(); ++i) {
      const ptx::Variable& parameter = declared.variables[declared.params[i]];
      table.rows.push_back({fmt::format("{}", i), std::string(parameter.name), type_text(parameter),
                            fmt::format("{}", parameter.bytes)});
    }
    text += table.rows.empty() ? "takes no arguments\n" : markdown ? table.markdown() : table.plain();
  }
  if (text.empty())
    input_error("list: {} has no kernel; a kernel is a __global__ function, or .entry in PTX", code.file);
  if (!variables.rows.empty()) text += "\n" + (markdown ? variables.markdown() : variables.plain());
  return text;
}

}  // namespace terrace
