// The pairs in Terrace: two tenants, each on its own SMs, and each tenant alone.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "cli/paths.h"
#include "config/loader.h"
#include "engine/check.h"
#include "frontend/device_code.h"
#include "frontend/stream_kind.h"
#include "json_file.h"
#include "run/run.h"
#include "silicon.h"
#include "tenants.h"
#include "text/tree.h"

namespace terrace::silicon {
namespace {

/// A tenant has 32 GB of memory in all (GuestMemory); one of the kernels would have that much for itself.
constexpr u64 kMostBytes = u64{31} << 30;

/// A tenant's kernel, launched once.
class TenantProgram final : public Program {
 public:
  TenantProgram(const TenantTask& task, u32 sms) : task_(task), sms_(sms) {}

  void allocate(GuestMemory& memory) override {
    data_ = {memory, "data", std::min(tenant_kernels()[task_.tenant].bytes, task_.most_bytes) / sizeof(u64)};
    out_ = {memory, "out", kTenantOutWords};
  }
  void initialise(GuestMemory&) override { launched_ = false; }
  std::optional<Launch> next(GuestMemory&) override {
    if (launched_) return std::nullopt;
    launched_ = true;
    return tenant_launch(task_, data_.address().raw, out_.address().raw, sms_);
  }
  CheckResult check(const GuestMemory&) const override { return {true, "nothing is compared"}; }
  void archive(Archive& a) override { a(launched_); }
  TenantCount count(const GuestMemory& memory) const {
    const auto words = out_.read(memory);
    return read_tenant({words.begin(), words.end()});
  }

 private:
  TenantTask task_;
  u32 sms_;
  Buffer<u64> data_, out_;
  bool launched_ = false;
};

struct Run {
  std::vector<u32> tenants;
  std::vector<u64> sms;  // of each
};

GpuConfig configuration(const PredictOptions& options, const std::vector<u64>& sms) {
  Layers layers;
  layers.gpu.push_back(find_config(kGpus, options.gpu));
  for (const std::string& set : options.sets) layers.options.push_back(split_assignment(set, "--set"));
  if (!sms.empty())
    layers.options.push_back(split_assignment(fmt::format("run.sms=[{}]", fmt::join(sms, ", ")), "--set"));
  return ConfigLoader<GpuConfig>(layers).config();
}

std::vector<TenantCount> simulate_run(const PredictOptions& options, const DeviceCode& code, const Run& run) {
  RunRequest request;
  request.config = configuration(options, run.sms);
  std::vector<std::unique_ptr<GuestMemory>> memories;
  std::vector<std::unique_ptr<InstStream>> streams;
  std::vector<std::unique_ptr<TenantProgram>> programs;
  for (const u32 tenant : run.tenants) {
    memories.push_back(std::make_unique<GuestMemory>(PageSize(request.config.pages.bytes)));
    streams.push_back(make_stream(code, *memories.back(), request.config.sm.warp_width));
    const TenantTask task{tenant, 0, 1024, options.lead, options.lead + options.window, kMostBytes};
    programs.push_back(std::make_unique<TenantProgram>(task, request.config.sm.count));
    programs.back()->allocate(*memories.back());
    request.given.push_back({tenant_kernels()[tenant].name, programs.back().get(), memories.back().get(),
                             streams.back().get(), [&code] { return code.hash(); }});
  }
  const RunResult result = simulate(request);
  if (!result.faults.empty()) input_error("{}", result.faults.front());
  std::vector<TenantCount> counts;
  for (u32 i = 0; i < run.tenants.size(); ++i) counts.push_back(programs[i]->count(*memories[i]));
  return counts;
}

/// Nothing when it cannot be simulated, which the file says.
std::vector<TenantCount> attempt(JsonFile& file, const PredictOptions& options, const DeviceCode& code,
                                 const Run& run) {
  try {
    return simulate_run(options, code, run);
  } catch (const InputError& error) {
    std::string names;
    for (const u32 tenant : run.tenants)
      names += fmt::format("{}{}", names.empty() ? "" : " ", tenant_kernels()[tenant].name);
    file.problem(names, error.what());
    return {};
  }
}

std::string side_json(const char* prefix, const TenantCount& count, u64 window) {
  const double rate = static_cast<double>(count.units) * 1e6 / static_cast<double>(window);
  return fmt::format("\"{0}sms\": {1}, \"{0}units_per_million_cycles\": {2}", prefix, count.sms.size(),
                     json_values({rate}));
}

}  // namespace

void predict_pairs(const std::string& folder, const std::string& to, const PredictOptions& options) {
  const std::vector<Pair> pairs = read_pairs(folder + "/pairs.txt");
  const std::string file = folder + "/tenants.ptx";
  const DeviceCode code{file, read_file(file)};
  const GpuConfig config = configuration(options, {});
  std::filesystem::create_directories(to);
  JsonFile alone(to + "/alone.json", config.name), together(to + "/pairs.json", config.name);
  alone.set_machine(config.name, config.sm.count);
  together.set_machine(config.name, config.sm.count);
  std::set<u32> chosen;
  for (const std::string& name : options.tenants) chosen.insert(tenant_number(name));
  const auto wanted = [&](u32 tenant) { return chosen.empty() || chosen.contains(tenant); };
  const std::optional<u32> with = options.with.empty() ? std::nullopt : std::optional(tenant_number(options.with));
  const auto takes_part = [&](std::initializer_list<u32> run) {
    return !with || std::ranges::find(run, *with) != run.end();
  };
  std::string sets;
  for (const std::string& set : options.sets) sets += (sets.empty() ? "" : ", ") + quoted(set);
  const std::string made =
      fmt::format("{{\"lead\": {}, \"window\": {}, \"set\": [{}]}}", options.lead, options.window, sets);
  alone.set_made(made);
  together.set_made(made);
  if (!options.split.empty() &&
      std::ranges::none_of(kSplits, [&](const Split& split) { return options.split == split.name; }))
    input_error("there is no split called {}; there are half, quarter", options.split);
  u64 number = 0;
  const auto mine = [&] { return number++ % options.parts == options.part; };
  for (const Split& split : kSplits) {
    if (!options.split.empty() && options.split != split.name) continue;
    const u64 first = split.sms_of_first(config.sm.count), second = config.sm.count - first;
    for (u32 side = 0; side < 2; ++side)
      for (u32 tenant = 0; tenant < tenant_kernels().size(); ++tenant) {
        if ((options.side != 0 && options.side != side + 1) || !wanted(tenant) || !takes_part({tenant}) || !mine())
          continue;
        const auto counts = attempt(alone, options, code, {{tenant}, {side == 0 ? first : second}});
        if (counts.empty()) continue;
        alone.point(fmt::format("{{\"mode\": \"simulated\", \"split\": \"{}\", \"side\": {}, \"tenant\": \"{}\", {}}}",
                                split.name, side, tenant_kernels()[tenant].name,
                                side_json("", counts[0], options.window)));
      }
    for (const Pair& pair : pairs) {
      if (options.alone || !wanted(pair.first) || !wanted(pair.second) || !takes_part({pair.first, pair.second}) ||
          !mine())
        continue;
      const auto counts = attempt(together, options, code, {{pair.first, pair.second}, {first, second}});
      if (counts.empty()) continue;
      together.point(fmt::format(
          "{{\"mode\": \"simulated\", \"split\": \"{}\", \"first\": \"{}\", \"second\": \"{}\", \"held\": {}, {}, {}}}",
          split.name, tenant_kernels()[pair.first].name, tenant_kernels()[pair.second].name, pair.held,
          side_json("first_", counts[0], options.window), side_json("second_", counts[1], options.window)));
    }
  }
  alone.finish();
  together.finish();
}

}  // namespace terrace::silicon
