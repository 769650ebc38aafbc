// SPDX-License-Identifier: MIT
#include "run/workload_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/field_list.h"
#include "frontend/workload.h"
#include "frontend/workload_alias.h"

namespace terrace {
namespace {

std::string megabytes(u64 bytes) {
  const double mebibytes = static_cast<double>(bytes) / (1 << 20);
  return mebibytes < 10 ? fmt::format("{:.1f}", mebibytes) : fmt::format("{:.0f}", mebibytes);
}

/// "mini 0.5, tiny 16, small 32, paper 4.5 (mask) 16 (dws)" in MiB.
std::string footprints(const Workload& workload) {
  const WorkloadInfo& info = workload.info();
  std::vector<std::string> sizes;
  for (u32 size = 0; size < kInputSizes.size(); ++size) {
    const auto chosen = static_cast<InputSize>(size);
    std::string text(kInputSizes[size]);
    if (chosen == InputSize::kPaper && info.paper_needs_variant) {
      for (const std::string_view variant : info.variants)
        text +=
            fmt::format(" {} ({})", megabytes(workload.footprint_bytes(*workload.preset(chosen, variant))), variant);
    } else {
      text += " " + megabytes(workload.footprint_bytes(*workload.preset(chosen, "")));
    }
    sizes.push_back(text);
  }
  return fmt::format("{}", fmt::join(sizes, ", "));
}

}  // namespace

std::string workloads_text(bool markdown) {
  const std::string mark = markdown ? "`" : "", point = markdown ? "- " : "  ";
  std::string text;
  if (markdown) text = "# Workloads\n\nWritten by `terrace list workloads --markdown`; do not edit.\n";
  for (const Workload* workload : all_workloads()) {
    const WorkloadInfo& info = workload->info();
    text += markdown ? fmt::format("\n## {}\n\n{}.\n\n", info.name, info.purpose)
                     : fmt::format("{}: {}\n", info.name, info.purpose);
    text += fmt::format("{}from {}; used by {}\n", point, info.origin, info.papers);
    for (const auto& [alias, name] : workload_aliases())
      if (name == info.name) text += fmt::format("{}also called {}\n", point, alias);
    text += fmt::format("{}variants {}{}\n", point, fmt::join(info.variants, ", "),
                        info.paper_needs_variant ? "; --size paper needs one of them" : "");
    text += fmt::format("{}MiB at {}\n", point, footprints(*workload));
    const auto params = workload->preset(InputSize::kTiny, "");
    for (const FieldInfo& field : fields_of(*params))
      text +=
          fmt::format("{}{}{} = {}{}: {} ({})\n", point, mark, field.path, field.value, mark, field.doc, field.phrase);
  }
  return text;
}

}  // namespace terrace
