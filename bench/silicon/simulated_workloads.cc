// The workloads in Terrace, kernel by kernel: each is the only tenant of a machine, on all of its SMs.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <chrono>
#include <map>

#include "cli/paths.h"
#include "config/loader.h"
#include "engine/check.h"
#include "json_file.h"
#include "processes.h"
#include "run/run.h"
#include "silicon.h"
#include "text/tree.h"
#include "workloads.h"

namespace terrace::silicon {
namespace {

u64 number_of(const Tree& tree, std::string_view key) {
  const Tree* const member = tree.find(key);
  const u64* const number = member ? std::get_if<u64>(&member->value) : nullptr;
  SIM_CHECK(number, "a result without {}", key);
  return *number;
}

GpuConfig machine(const WorkloadOptions& options) {
  Layers layers;
  layers.gpu.push_back(find_config(kGpus, options.gpu));
  for (const std::string& set : options.sets) layers.options.push_back(split_assignment(set, "--set"));
  return ConfigLoader<GpuConfig>(layers).config();
}

std::string simulate_workload(const WorkloadOptions& options, const Subject& subject) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point began = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  const std::string& text = subject.text;
  RunRequest run;
  run.config = machine(options);
  run.config.run.tenants = fmt::format("{}{}slice=1", text, text.find(':') == std::string::npos ? ":" : ",");
  run.config.run.size = kInputSizes[static_cast<u32>(subject.request.size)];
  bool stopped = false;
  run.stop = [&] { return stopped = stopped || seconds() > static_cast<double>(options.each); };
  const RunResult result = simulate(run);
  if (!result.faults.empty()) input_error("{}", result.faults.front());

  std::vector<KernelTimes> kernels;
  std::map<std::string, u64> instructions;
  for (const Tree& record : result.json.find("kernels")->items()) {
    const std::string name = std::get<std::string>(record.find("name")->value);
    KernelTimes& kernel = kernel_of(kernels, name);
    kernel.cycles.resize(1);
    ++kernel.launches;
    kernel.cycles[0] += static_cast<double>(number_of(record, "cycles"));
    instructions[name] += number_of(record, "warp_instructions");
  }
  for (KernelTimes& kernel : kernels)
    kernel.more = fmt::format(", \"warp_instructions\": {}", instructions[kernel.name]);
  return workload_json(
      subject, fmt::format(", \"seconds\": {:.1f}{}", seconds(), stopped ? ", \"unfinished\": true" : ""), kernels);
}

}  // namespace

void simulate_workloads(const std::string& out, const WorkloadOptions& options) {
  const std::vector<Subject> subjects = workload_subjects(options.workloads, options.size);
  const GpuConfig config = machine(options);
  JsonFile file(out, config.name);
  file.set_machine(config.name, config.sm.count);
  std::string sets;
  for (const std::string& set : options.sets) sets += (sets.empty() ? "" : ", ") + quoted(set);
  file.set_made(fmt::format("{{\"set\": [{}]}}", sets));
  // A run looks at the clock now and then; one that does not even do that is ended.
  share_out(names_of(subjects),
            {.at_once = options.jobs,
             .seconds = static_cast<double>(options.seconds),
             .each = static_cast<double>(options.each) + 60,
             .hint = "give it a larger --budget"},
            file, [&](u64 piece, std::FILE* lines) {
              fmt::print(lines, "{}\n", simulate_workload(options, subjects[piece]));
            });
  file.finish();
  fmt::print("{} of {} workloads\n", file.points(), subjects.size());
}

}  // namespace terrace::silicon
