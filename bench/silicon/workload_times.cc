// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "json_file.h"
#include "workloads.h"

namespace terrace::silicon {

std::vector<Subject> workload_subjects(const std::vector<std::string>& texts, InputSize size) {
  std::vector<Subject> subjects;
  const auto add = [&](const std::string& text) {
    WorkloadRequest request = parse_workload(text, size);
    find_workload(request.name);
    request.slice = Fraction{Fraction::kOne};
    subjects.push_back({text, std::move(request)});
  };
  for (const std::string& text : texts) add(text);
  if (texts.empty())
    for (const Workload* workload : all_workloads()) add(std::string(workload->info().name));
  return subjects;
}

std::vector<std::string> names_of(const std::vector<Subject>& subjects) {
  std::vector<std::string> names;
  for (const Subject& subject : subjects) names.push_back(subject.text);
  return names;
}

KernelTimes& kernel_of(std::vector<KernelTimes>& kernels, const std::string& name) {
  const auto known = std::ranges::find(kernels, name, &KernelTimes::name);
  if (known != kernels.end()) return *known;
  return kernels.emplace_back(KernelTimes{name, 0, {}, {}});
}

std::string workload_json(const Subject& subject, const std::string& more, const std::vector<KernelTimes>& kernels) {
  std::string text = fmt::format("{{\"workload\": {}, \"size\": \"{}\"{}, \"kernels\": [", quoted(subject.text),
                                 kInputSizes[static_cast<u32>(subject.request.size)], more);
  for (const KernelTimes& kernel : kernels) {
    text += fmt::format("{}{{\"kernel\": {}, \"launches\": {}{}, \"cycles\": [",
                        &kernel == &kernels.front() ? "" : ", ", quoted(kernel.name), kernel.launches, kernel.more);
    for (u64 i = 0; i < kernel.cycles.size(); ++i)
      text += fmt::format("{}{:.0f}", i == 0 ? "" : ", ", kernel.cycles[i]);
    text += "]}";
  }
  return text + "]}";
}

}  // namespace terrace::silicon
