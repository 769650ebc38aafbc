// SPDX-License-Identifier: MIT
#include "sweep/sweep_plan.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "config/loader.h"
#include "engine/even_share.h"
#include "frontend/workload.h"
#include "gpu/until.h"
#include "run/alone.h"
#include "run/metrics.h"
#include "text/suggest.h"

namespace terrace {

struct Planner::Choice {
  const Grid& grid;
  const std::string& gpu;
  const std::vector<std::string>& designs;
  const Mix& mix;
  const std::string& size;
  const std::string& until;
  u64 seed;
  const Shares& shares;
  std::vector<const Tree*> values;  // of the grid's axes

  std::string key(const std::string& search) const {
    return fmt::format("{} | {} | {} | {} | {}", search, gpu, mix.label, size, seed);
  }
  Labels labels() const {
    Labels labels{{"grid", grid.name},
                  {"gpu", gpu},
                  {"design", designs.empty() ? "none" : fmt::format("{}", fmt::join(designs, "+"))},
                  {"mix", mix.label},
                  {"list", mix.list},
                  {"size", size},
                  {"seed", fmt::format("{}", seed)},
                  {"until", until}};
    for (std::size_t i = 0; i < values.size(); ++i) labels[grid.axes[i].key] = plain_text(*values[i]);
    return labels;
  }
};

namespace {

/// Cycles, where a sweep repeats its runs and does not say it itself: chosen to be the usual gap between two kernels
/// (tenancy.launch_gap), the smallest chance that tenants' phases meet differently.
constexpr u64 kArrivalSpread = 1000;

bool sets(const Grid& grid, const std::string& key) {
  return std::any_of(grid.axes.begin(), grid.axes.end(), [&](const Axis& axis) { return axis.key == key; });
}

}  // namespace

Plan Planner::plan(const MetricLookup& lookup, Mistakes& mistakes) {
  Plan plan;
  plan_ = &plan;
  mistakes_ = &mistakes;
  lookup_ = &lookup;
  splits_.clear();
  planned_.clear();
  // Searches first: what they found is needed by others.
  for (const bool searches : {true, false})
    for (const Grid& grid : file_.grids)
      if (grid.optimise.empty() != searches) plan_grid(grid);
  return plan;
}

/// Each name and value by itself, so that one mistake hides no other.
bool Planner::check_parts(const Grid& grid) {
  bool good = true;
  for (const std::string& gpu : grid.gpus) good &= mistakes_->guard(line_of(grid, "gpu"), [&] { configs_.gpu(gpu); });
  for (const auto& designs : grid.designs)
    for (const std::string& design : designs)
      good &= mistakes_->guard(line_of(grid, "design"), [&] { configs_.design(design); });
  for (const Mix& mix : grid.mixes) {
    const u32 line = line_of(grid, mix.tenants.size() == 1 && mix.list.empty() ? "workload" : "mix");
    for (const std::string& tenant : mix.tenants)
      for (const std::string& size : grid.sizes)
        if (std::find(kInputSizes.begin(), kInputSizes.end(), size) != kInputSizes.end())
          good &= mistakes_->guard(line, [&] { programs_.of(tenant, size, grid.seeds.front()); });
        else
          good = false;
  }
  for (const Axis& axis : grid.axes)
    for (const Tree& value : axis.values)
      good &= mistakes_->guard(axis.line, [&] {
        GpuConfig any;
        assign(any, {axis.key, value, false, {file_.path, axis.line}});
      });
  return good;
}

void Planner::plan_grid(const Grid& grid) {
  if (!check_parts(grid)) return;
  for_each_choice(grid, [&](const Choice& choice) {
    mistakes_->guard(grid.line, [&] { grid.optimise.empty() ? plan_choice(choice) : search(choice); });
  });
}

void Planner::for_each_choice(const Grid& grid, const std::function<void(const Choice&)>& act) {
  std::vector<const Tree*> values(grid.axes.size());
  const std::function<void(std::size_t, const std::function<void()>&)> each_value =
      [&](std::size_t axis, const std::function<void()>& then) {
        if (axis == values.size()) return then();
        for (const Tree& value : grid.axes[axis].values) {
          values[axis] = &value;
          each_value(axis + 1, then);
        }
      };
  for (const std::string& gpu : grid.gpus)
    for (const auto& designs : grid.designs)
      for (const Mix& mix : grid.mixes)
        for (const std::string& size : grid.sizes)
          for (const std::string& until : grid.untils)
            for (const u64 seed : grid.seeds)
              for (const Shares& shares : grid.shares)
                each_value(0, [&] { act({grid, gpu, designs, mix, size, until, seed, shares, values}); });
}

void Planner::plan_choice(const Choice& choice) {
  if (choice.shares.search.empty()) {
    add_point(choice, choice.shares);
    return;
  }
  const std::vector<u64>* split = found_split(choice, choice.shares);
  if (!split) return;
  add_point(choice, {choice.shares.label, *split, ""});
}

/// What a search found for this choice; nothing when it is not finished.
const std::vector<u64>* Planner::found_split(const Choice& choice, const Shares& shares) {
  std::vector<std::string> known;
  const Grid* search = nullptr;
  for (const Grid& grid : file_.grids) {
    if (grid.optimise.empty()) continue;
    known.push_back(grid.name);
    if (grid.name == shares.search) search = &grid;
  }
  if (!search) input_error("no [[search]] is called \"{}\"{}", shares.search, did_you_mean(shares.search, known));
  const bool one =
      search->designs.size() == 1 && search->untils.size() == 1 &&
      std::all_of(search->axes.begin(), search->axes.end(), [](const Axis& axis) { return axis.values.size() == 1; });
  if (!one)
    input_error("the search {} has several answers for a mix; give it one design and no list of values", search->name);
  bool covered = false;
  for_each_choice(*search,
                  [&](const Choice& other) { covered |= other.key(search->name) == choice.key(search->name); });
  if (!covered)
    input_error("the search {} does not try {} on {} at size {} with seed {}", search->name, choice.mix.label,
                choice.gpu, choice.size, choice.seed);
  const auto found = splits_.find(choice.key(search->name));
  if (found != splits_.end()) return &found->second;
  plan_->complete = false;
  return nullptr;
}

void Planner::search(const Choice& choice) {
  const GpuConfig& config = base_config(choice.gpu, choice.designs, choice, false);
  const auto tenants = static_cast<u32>(choice.mix.tenants.size());
  if (config.sm.count < tenants) input_error("{} tenants cannot share {} SMs", tenants, config.sm.count);
  const SplitSearch result = search_split(config.sm.count, tenants, [&](const std::vector<u64>& split) {
    const Point point = add_point(choice, {fmt::format("{}", fmt::join(split, ",")), split, ""});
    SplitScore score = (*lookup_)(point, choice.grid.optimise);
    // Lower is better for these two; the search climbs.
    if (score.value && (choice.grid.optimise == "max_slowdown" || choice.grid.optimise == "antt"))
      *score.value = -*score.value;
    return score;
  });
  if (!result.finished) {
    plan_->complete = false;
    return;
  }
  if (!result.value) {
    plan_->notes.push_back(
        fmt::format("{}: no split of {} has a {}", choice.grid.name, choice.mix.label, choice.grid.optimise));
    return;
  }
  splits_[choice.key(choice.grid.name)] = result.best;
  plan_->searches.push_back({choice.grid.name, choice.labels(), choice.grid.optimise,
                             fmt::format("{}", fmt::join(result.best, ",")),
                             *result.value < 0 ? -*result.value : *result.value, result.tried});
}

Point Planner::add_point(const Choice& choice, const Shares& shares) {
  const auto tenants = static_cast<u32>(choice.mix.tenants.size());
  GpuConfig config = base_config(choice.gpu, choice.designs, choice, false);
  if (tenants > kMaxTenants) input_error("{} tenants are more than the maximum of {}", tenants, kMaxTenants);
  if (!parse_until(choice.until)) input_error("until: \"{}\" must be {}", choice.until, kUntilForms);
  if (is_window(choice.until) && !config.run.relaunch) input_error("until: \"{}\" {}", choice.until, kWindowRelaunches);
  if (is_window(choice.until) && config.run.instruction_cap != 0)
    input_error("until: \"{}\" {}", choice.until, kWindowHasNoCap);
  const std::vector<u64>& counts = shares.counts;
  u64 total = 0;
  for (const u64 count : counts) total += count;
  if (!counts.empty() && counts.size() != tenants)
    input_error("sms: {} has {} numbers for the {} tenants of {}; write [[N, N]]", shares.label, counts.size(), tenants,
                choice.mix.label);
  const bool each_its_own = config.tenancy.sharing == TenancyConfig::Sharing::kSpatial;
  if (each_its_own && std::max(total, u64{tenants}) > config.sm.count)
    input_error("sms: {} is more than the {} SMs of {}", std::max(total, u64{tenants}), config.sm.count, choice.gpu);

  if (!counts.empty() && !config.tenancy.divides_by_number())
    input_error("sms: {} has no effect when tenancy.sharing is \"time\" or tenancy.partition moves SMs; remove it",
                shares.label);

  config.run.size = choice.size;
  config.run.seed = choice.seed;
  config.run.until = choice.until;
  const bool said = config.run.arrival_spread != 0 || sets(choice.grid, "run.arrival_spread");
  if (choice.grid.repeated && tenants > 1 && !said) config.run.arrival_spread = kArrivalSpread;
  config.run.tenants = fmt::format("{}", fmt::join(choice.mix.tenants, " "));
  config.run.sms = counts;
  Point point{choice.grid.name, choice.labels(), "", {}, ""};
  point.labels["sms"] = shares.label;
  if (choice.grid.alone.value_or(tenants > 1)) {
    std::string note;
    const std::string reference =
        reference_design(config, [&](const std::string& design) { configs_.design(design); }, note);
    if (!note.empty() && std::find(plan_->notes.begin(), plan_->notes.end(), note) == plan_->notes.end())
      plan_->notes.push_back(note);
    std::vector<std::string> designs;
    if (!reference.empty()) designs.push_back(reference);
    const GpuConfig& base = base_config(choice.gpu, designs, choice, true);
    for (u32 i = 0; i < tenants; ++i) point.alone.push_back(add_job(alone_config(base, config, i)));
    point.reference = reference_text(reference, config.tenancy.reference_sms);
  }
  point.job = add_job(std::move(config));
  plan_->points.push_back(point);
  return point;
}

std::string Planner::add_job(GpuConfig config) {
  // Even shares are the same run whether they are written out or not.
  if (config.run.sms == even_counts(config.sm.count, static_cast<u32>(config.run.sms.size()))) config.run.sms.clear();
  if (file_.stats_every != 0) config.run.stats_every = file_.stats_every;
  const Job job = make_job(std::move(config), programs_);
  if (planned_.emplace(job.id, true).second) plan_->jobs.push_back(job);
  return job.id;
}

const GpuConfig& Planner::base_config(const std::string& gpu, const std::vector<std::string>& designs,
                                      const Choice& choice, bool machine_only) {
  std::string key = gpu + "\n" + fmt::format("{}", fmt::join(designs, "\n"));
  Layers layers;
  for (std::size_t i = 0; i < choice.values.size(); ++i) {
    const Axis& axis = choice.grid.axes[i];
    if (machine_only && !axis.machine) continue;
    key += fmt::format("\n{} = {}", axis.key, plain_text(*choice.values[i]));
    layers.options.push_back({axis.key, *choice.values[i], false, {file_.path, axis.line}});
  }
  const auto found = bases_.find(key);
  if (found != bases_.end()) return found->second;
  layers.gpu.push_back(configs_.gpu(gpu));
  for (const std::string& design : designs) layers.designs.push_back(configs_.design(design));
  return bases_.emplace(key, ConfigLoader<GpuConfig>(layers).config()).first->second;
}

}  // namespace terrace
