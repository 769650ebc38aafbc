// What `terrace list workloads` shows. SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/field_list.h"
#include "experiment/exec.h"

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

std::string workloads_text() {
  std::string text;
  for (const Workload* workload : all_workloads()) {
    const WorkloadInfo& info = workload->info();
    text += fmt::format("{:<9} {}\n", info.name, info.purpose);
    text += fmt::format("          origin    {}; run by {}\n", info.origin, info.papers);
    text += fmt::format("          variants  {}{}\n", fmt::join(info.variants, ", "),
                        info.paper_needs_variant ? " (size paper needs one)" : "");
    text += fmt::format("          MiB       {}\n", footprints(*workload));
    const auto params = workload->preset(InputSize::kTiny, "");
    for (const FieldInfo& field : fields_of(*params))
      text += fmt::format("          {:<12} {:<10} {}; {}\n", field.path, field.value, field.doc, field.phrase);
  }
  return text;
}

}  // namespace terrace
