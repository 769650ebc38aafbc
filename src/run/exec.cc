// SPDX-License-Identifier: MIT
#include "run/exec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <span>

#include "config/field_list.h"
#include "config/field_text.h"
#include "engine/check.h"
#include "engine/hash.h"
#include "frontend/stream_kind.h"
#include "run/saves.h"
#include "run/unknown_opcodes.h"
#include "text/output.h"
#include "text/suggest.h"
#include "version.h"

namespace terrace {
namespace {

constexpr std::array<std::string_view, kInstClasses> kClassNames{"integer", "float", "double", "special", "control",
                                                                 "barrier", "fence", "memory", "tensor"};

struct Loaded {
  ProgramInstance instance;
  std::vector<std::pair<std::string, std::string>> params;
};

Loaded load_workload(const ExecOptions& options) {
  auto request =
      parse_workload(options.program, parse_input_size(options.size.empty() ? "tiny" : options.size), "exec");
  if (!options.variant.empty()) request.variant = options.variant;
  const std::pair<const char*, const std::string*> shorts[] = {{"seed", &options.seed}, {"slice", &options.slice}};
  for (const auto& [key, value] : shorts)
    if (!value->empty()) request.overrides.push_back({key, Tree(*value), true, {fmt::format("--{}", key), 0}});
  for (const std::string& param : options.params) request.overrides.push_back(split_assignment(param, "--param"));
  const auto params = resolve_params(request);
  Loaded loaded{make_workload(request), {{"size", std::string(kInputSizes[index(request.size)])}}};
  if (!request.variant.empty()) loaded.params.emplace_back("variant", request.variant);
  for (const FieldInfo& field : fields_of(*params)) loaded.params.emplace_back(field.path, field.value);
  return loaded;
}

Loaded load(const ExecOptions& options) {
  Loaded loaded;
  if (names_file(options.program)) {
    if (!options.size.empty() || !options.variant.empty() || !options.seed.empty() || !options.slice.empty() ||
        !options.params.empty())
      input_error("{}: sizes, variants, seeds, slices and parameters belong to workloads; edit the file instead",
                  options.program);
    loaded.instance = load_program(options.program, InputSize::kTiny, "exec");
  } else if (options.program.ends_with(".ptx") || options.program.ends_with(".cu")) {
    input_error(
        "{}: device code alone does not say what to launch; describe it in a TOML file (docs/add_a_workload.md)",
        options.program);
  } else {
    loaded = load_workload(options);
  }
  if (!options.code.empty()) {
    const u64 heap_bytes = loaded.instance.code.heap_bytes, stack_bytes = loaded.instance.code.stack_bytes;
    loaded.instance.code = read_device_code(options.code);
    loaded.instance.code.heap_bytes = heap_bytes;
    loaded.instance.code.stack_bytes = stack_bytes;
  }
  if (!options.loop_limit.empty()) {
    const auto limit = parse_integer(options.loop_limit);
    if (!limit)
      input_error("exec: --loop-limit must be a whole number of backward branches, not {}", options.loop_limit);
    loaded.instance.code.loop_limit = *limit;
  }
  return loaded;
}

FunctionalConfig config_of(const ExecOptions& options) {
  FunctionalConfig config;
  if (options.limit.empty()) return config;
  const auto limit = parse_integer(options.limit);
  if (!limit || *limit == 0)
    input_error("exec: --limit must be a whole number of warp instructions from 1 on, not {}", options.limit);
  config.instruction_limit = *limit;
  return config;
}

std::string access_text(const FunctionalCounts& counts) {
  if (counts.line_accesses == 0) return "no accesses to global memory";
  return fmt::format("{} accesses, {:.2f} lines/access, {:.2f} pages/access (at most {})", counts.line_accesses,
                     counts.lines_per_access(), counts.pages_per_access(), counts.max_pages);
}

u64 shared_accesses(const FunctionalCounts& counts) {
  return counts.accesses[index(MemorySpace::kShared)];
}

Tree counts_tree(const FunctionalCounts& counts) {
  Tree by_class = Tree::table();
  for (u32 cls = 0; cls < kInstClasses; ++cls) by_class[kClassNames[cls]] = counts.by_class[cls];
  return {{"launches", counts.launches},
          {"blocks", counts.blocks},
          {"warp_instructions", counts.warp_instructions},
          {"thread_instructions", counts.thread_instructions},
          {"warp_instructions_by_class", by_class},
          {"accesses", counts.line_accesses},
          {"line_requests", counts.lines},
          {"lines_per_access", counts.lines_per_access()},
          {"pages_per_access", counts.pages_per_access()},
          {"most_pages_per_access", counts.max_pages},
          {"shared_accesses", shared_accesses(counts)}};
}

double rate(const ExecResult& result) {
  return result.seconds > 0 ? static_cast<double>(result.total.warp_instructions) / result.seconds : 0;
}

}  // namespace

std::vector<KernelCounts> run_functionally(Program& program, InstStream& stream, GuestMemory& memory,
                                           FunctionalConfig config) {
  std::vector<KernelCounts> kernels;  // in the order of their first launches
  for_each_launch(program, memory, [&](const Launch& launch) {
    FunctionalRunner runner(stream, config);
    runner.run(launch);
    auto known = std::find_if(kernels.begin(), kernels.end(), [&](const auto& k) { return k.kernel == launch.kernel; });
    if (known == kernels.end()) known = kernels.insert(known, {launch.kernel, {}});
    known->counts += runner.counts();
  });
  return kernels;
}

ExecResult execute_program(const ExecOptions& options, const Printer& print) {
  const FunctionalConfig config = config_of(options);
  Loaded loaded = load(options);
  Program& program = *loaded.instance.program;
  const DeviceCode& code = loaded.instance.code;
  if (options.check) require_values(code, "--check");
  ExecResult result;
  result.program = options.program;
  result.code_file = code.file;
  result.code_hash = code.hash();
  result.params = std::move(loaded.params);
  result.unknown_opcodes = stream_kind(code.kind).unknown_opcodes(code);

  GuestMemory memory(PageSize::k4K);
  program.allocate(memory);
  result.footprint_bytes = memory.footprint_bytes();
  Saves saves("exec", options.saves, {{&program, &memory}});
  const std::unique_ptr<InstStream> stream = make_stream(code, memory);
  program.initialise(memory);
  const auto from = std::chrono::steady_clock::now();
  stream->print_to(print);
  try {
    result.kernels = run_functionally(program, *stream, memory, config);
  } catch (...) {
    stream->print_to({});  // what was printed may say why
    throw;
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  for (const auto& [kernel, counts] : result.kernels) result.total += counts;
  result.digest = memory.digest();
  if (options.check) result.check = program.check(memory);
  saves.take(0);
  saves.commit();
  return result;
}

std::string exec_text(const ExecResult& result) {
  std::string text = result.program;
  for (const auto& [key, value] : result.params) text += fmt::format(" {}={}", key, value);
  text += fmt::format("\n  {:.2f} MiB, {} launch{}, device code {} ({})\n",
                      static_cast<double>(result.footprint_bytes) / (1 << 20), result.total.launches,
                      result.total.launches == 1 ? "" : "es", result.code_file, hash_text(result.code_hash));
  const u64 all = result.total.warp_instructions;
  text += fmt::format("  {} warp instructions, {} thread instructions\n", all, result.total.thread_instructions);
  for (u32 cls = 0; cls < kInstClasses; ++cls) {
    const u64 count = result.total.by_class[cls];
    if (count != 0)
      text += fmt::format("    {:<8} {:>12} {:5.1f} %\n", kClassNames[cls], count,
                          100.0 * static_cast<double>(count) / static_cast<double>(all));
  }
  text += fmt::format("  {}\n", access_text(result.total));
  if (result.kernels.size() > 1) {
    for (const auto& [kernel, counts] : result.kernels)
      text += fmt::format("    {} x{}: {} warp instructions, {}\n", kernel, counts.launches, counts.warp_instructions,
                          access_text(counts));
  }
  text += fmt::format("  digest {}, {:.3f} s, {:.2f} M warp instructions/s\n", hash_text(result.digest), result.seconds,
                      rate(result) / 1e6);
  if (!result.unknown_opcodes.empty()) text += fmt::format("  {}\n", unknown_opcodes_text(result.unknown_opcodes));
  if (result.check)
    text += fmt::format("  check {}: {}\n", result.check->passed ? "passed" : "FAILED", result.check->message);
  return text;
}

Tree exec_tree(const ExecResult& result) {
  Tree params = Tree::table();
  for (const auto& [key, value] : result.params) params[key] = value;
  Tree tree{{"schema", "terrace.exec/1"},
            {"version", fmt::format("{} ({}, {})", version(), revision(), compiler())},
            {"program", result.program},
            {"params", params},
            {"device_code", Tree{{"file", result.code_file}, {"hash", hash_text(result.code_hash)}}},
            {"footprint_bytes", result.footprint_bytes},
            {"digest", hash_text(result.digest)},
            {"wall_seconds", result.seconds},
            {"warp_instructions_per_second", rate(result)},
            {"total", counts_tree(result.total)}};
  Tree kernels = Tree::list();
  for (const auto& [kernel, counts] : result.kernels) kernels.push({{"name", kernel}, {"counts", counts_tree(counts)}});
  tree["kernels"] = kernels;
  if (!result.unknown_opcodes.empty()) tree["unknown_opcodes"] = unknown_opcodes_tree(result.unknown_opcodes);
  if (result.check) tree["check"] = Tree{{"passed", result.check->passed}, {"message", result.check->message}};
  return tree;
}

}  // namespace terrace
