// SPDX-License-Identifier: MIT
#include "frontend/workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/check.h"
#include "frontend/workload_alias.h"
#include "text/by_name.h"
#include "text/suggest.h"

namespace terrace {
namespace {

ByName<Workload>& workloads() {
  static ByName<Workload> all("workload", "workloads");
  return all;
}

template <class Range>
std::vector<std::string> strings(const Range& range) {
  return {range.begin(), range.end()};
}

void check_variant(const WorkloadInfo& info, const WorkloadRequest& request) {
  const auto known = strings(info.variants);
  if (!request.variant.empty() && std::find(known.begin(), known.end(), request.variant) == known.end()) {
    input_error("{} has no variant \"{}\"; available: {}{}", info.name, request.variant, fmt::join(known, ", "),
                did_you_mean(request.variant, known));
  }
  if (request.variant.empty() && request.size == InputSize::kPaper && info.paper_needs_variant) {
    input_error("the papers ran different inputs under the name {}; add variant=..., one of {}", info.name,
                fmt::join(known, ", "));
  }
}

std::map<std::string_view, std::string_view>& aliases() {
  static std::map<std::string_view, std::string_view> all;
  return all;
}

/// The name of the workload that is called so, in capitals or not, or the text itself where none is.
std::string own_name(std::string_view called) {
  std::string lower(called);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (const auto alias = aliases().find(lower); alias != aliases().end()) return std::string(alias->second);
  const bool known =
      std::ranges::any_of(workloads().all(), [&](const Workload* one) { return one->info().name == lower; });
  return known ? lower : std::string(called);
}

}  // namespace

InputSize parse_input_size(std::string_view text) {
  const auto found = std::find(kInputSizes.begin(), kInputSizes.end(), text);
  if (found == kInputSizes.end()) {
    input_error("no size named \"{}\"; available: {}{}", text, fmt::join(kInputSizes, ", "),
                did_you_mean(text, strings(kInputSizes)));
  }
  return static_cast<InputSize>(found - kInputSizes.begin());
}

void register_workload(std::unique_ptr<Workload> workload) {
  std::string name(workload->info().name);
  workloads().add(std::move(name), std::move(workload));
}

RegisterAlias::RegisterAlias(std::string_view alias, std::string_view workload) {
  if (aliases().emplace(alias, workload).second) return;
  // Before main there is nobody to catch an exception.
  fmt::print(stderr, "terrace: two workloads are called \"{}\"; rename one of them.\n", alias);
  std::abort();
}

const std::map<std::string_view, std::string_view>& workload_aliases() {
  return aliases();
}

std::vector<const Workload*> all_workloads() {
  return workloads().all();
}

const Workload& find_workload(std::string_view name) {
  return workloads().find(own_name(name));
}

WorkloadRequest parse_workload(std::string_view text, InputSize size, std::string_view option) {
  WorkloadRequest request;
  request.size = size;
  const std::size_t colon = text.find(':');
  request.name = own_name(text.substr(0, colon));
  if (colon == text.npos) return request;
  for (Given& given : split_assignments(text.substr(colon + 1), option)) {
    if (given.path == "size") {
      request.size = parse_input_size(std::get<std::string>(given.value.value));
    } else if (given.path == "variant") {
      request.variant = std::get<std::string>(given.value.value);
    } else {
      request.overrides.push_back(std::move(given));
    }
  }
  return request;
}

std::unique_ptr<WorkloadParams> resolve_params(const WorkloadRequest& request) {
  const Workload& workload = find_workload(request.name);
  check_variant(workload.info(), request);
  auto params = workload.preset(request.size, request.variant);
  if (request.seed) params->seed = *request.seed;
  if (request.slice) params->slice = *request.slice;
  for (const Given& given : request.overrides) assign(*params, given, request.name);
  return params;
}

ProgramInstance make_workload(const WorkloadRequest& request) {
  const auto params = resolve_params(request);
  const Workload& workload = find_workload(request.name);
  return {workload.make(*params), read_workload_module(workload.info().module)};
}

Launch sliced_launch(std::string kernel, Dim3 grid, Dim3 block, Fraction slice) {
  Launch launch;
  launch.kernel = std::move(kernel);
  launch.grid = grid;
  launch.block = block;
  launch.block_limit = (grid.count() * slice.millionths + Fraction::kOne - 1) / Fraction::kOne;
  return launch;
}

void write_module_variable(GuestMemory& memory, std::string_view name, std::span<const std::byte> bytes) {
  const GuestMemory::Allocation& variable = memory.symbol(name);
  SIM_CHECK(bytes.size() <= variable.bytes, "{} bytes do not fit the variable {}", bytes.size(), name);
  std::memcpy(memory.write(variable.first, bytes.size()).data(), bytes.data(), bytes.size());
}

}  // namespace terrace
