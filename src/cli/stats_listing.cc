// SPDX-License-Identifier: MIT
#include "cli/stats_listing.h"

#include <fmt/format.h>

#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cli/paths.h"
#include "cli/root_config.h"
#include "config/registry.h"
#include "engine/check.h"
#include "gpu/gpu.h"
#include "text/unit_names.h"

namespace terrace {
namespace {

/// Keys that bring statistics of their own and that no machine or design sets.
constexpr const char* kOptions[] = {"run.sample=1000", "run.lifetimes=true", "tenancy.sharing=time",
                                    "cpu.shootdown_interval=1000"};

const char* shape_of(const Stat& stat) {
  switch (stat.shape) {
    case StatShape::kPerTenant:
      return "yes";
    case StatShape::kHistogram:
      return "histogram";
    case StatShape::kMatrix:
      return "by holder";
    default:
      return "";
  }
}

class Listing {
 public:
  /// Statistics that are not known yet are put behind those that stand before them in this machine.
  void add(const GpuConfig& config, const std::string& brought_by) {
    Gpu gpu(config, {TenantSetup{}, TenantSetup{}});  // two: some things are counted only between tenants
    auto behind = rows_.begin();
    for (const Stat& stat : gpu.stats().stats()) {
      const std::string name = over_all_units(stat.name);
      const auto [known, fresh] = known_.try_emplace(name, rows_.end());
      if (fresh) known->second = rows_.insert(behind, {name, stat.unit, shape_of(stat), brought_by, stat.doc});
      behind = std::next(known->second);
    }
  }
  std::vector<std::vector<std::string>> rows() const { return {rows_.begin(), rows_.end()}; }

 private:
  using Rows = std::list<std::vector<std::string>>;
  Rows rows_;
  std::map<std::string, Rows::iterator> known_;
};

/// Nothing if these do not go together.
std::optional<GpuConfig> configuration(const Layers& layers) {
  try {
    return ConfigLoader<GpuConfig>(layers).config();
  } catch (const InputError&) {
    return std::nullopt;
  }
}

Layers with_option(std::string_view option) {
  return {.options = {split_assignment(option, "--set")}};
}

}  // namespace

TextTable stats_listing() {
  Listing listing;
  listing.add(GpuConfig(), "");
  const std::vector<ConfigFile> machines = config_files(kGpus);
  for (const ConfigFile& machine : machines)
    listing.add(*configuration({.gpu = {find_config(kGpus, machine.name)}}), machine.name);
  for (const ConfigFile& design : config_files(kDesigns)) {
    const LayerFile overlay = find_config(kDesigns, design.name);
    std::optional<GpuConfig> config = configuration({.designs = {overlay}});
    for (const ConfigFile& machine : machines)
      if (!config) config = configuration({.gpu = {find_config(kGpus, machine.name)}, .designs = {overlay}});
    if (config) listing.add(*config, design.name);
  }
  for (const PolicyTable* slot : PolicyTable::all()) {
    if (slot->slot().key.empty()) continue;
    for (const auto& [name, entry] : slot->entries()) {
      const std::string option = fmt::format("{}.use={}", slot->slot().key, name);
      if (const auto config = configuration(with_option(option))) listing.add(*config, option);
    }
  }
  for (const char* option : kOptions)
    if (const auto config = configuration(with_option(option))) listing.add(*config, option);
  return {{"statistic", "unit", "per tenant", "with", "meaning"}, listing.rows()};
}

}  // namespace terrace
