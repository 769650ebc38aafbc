// SPDX-License-Identifier: MIT
#include "run/run.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "config/field_list.h"
#include "engine/archive.h"
#include "engine/check.h"
#include "frontend/stream_kind.h"
#include "frontend/user_program.h"
#include "frontend/workload.h"
#include "gpu/gpu.h"
#include "gpu/until.h"
#include "run/job_identity.h"
#include "run/run_result.h"
#include "run/saves.h"
#include "run/sm_shares.h"
#include "run/tenant_spec.h"
#include "run/timeline.h"
#include "text/output.h"

namespace terrace {
namespace {

/// A tenant with everything it owns.
struct Tenant {
  std::string text;  // as the configuration names it
  TenantSpec spec;
  ProgramInstance instance;
  std::unique_ptr<GuestMemory> memory;
  std::unique_ptr<InstStream> stream;
  std::vector<u32> sms;
};

/// A tenant as the run uses it, whoever owns its parts.
struct TenantView {
  std::string name, workload;
  Program* program;
  GuestMemory* memory;
  InstStream* stream;
  std::vector<u32> sms;
  Cycle arrive = 0, leave = kNever;
  bool leaves_when_done = false;
  std::function<u64()> code_hash;
  std::map<std::string, u64> unknown_opcodes = {};
  Visitors* visitors = nullptr;
};

/// Contiguous shares, in the order of the tenants; or all SMs for everyone.
std::vector<std::vector<u32>> share_sms(const GpuConfig& config, u32 tenants) {
  std::vector<std::vector<u32>> shares;
  u32 next = 0;
  for (const u64 count : sms_of_tenants(config, tenants)) {
    if (config.tenancy.sharing == TenancyConfig::Sharing::kTime) next = 0;
    std::vector<u32>& share = shares.emplace_back(count);
    std::iota(share.begin(), share.end(), next);
    next += static_cast<u32>(count);
  }
  return shares;
}

std::vector<Tenant> make_tenants(const GpuConfig& config) {
  const std::vector<std::string> names = split_words(config.run.tenants);
  if (names.empty()) input_error("run.tenants: there is no tenant; name a workload (--tenant gups)");
  if (names.size() > kMaxTenants)
    input_error("run.tenants: {} tenants are more than the maximum of {}", names.size(), kMaxTenants);
  const auto shares = share_sms(config, static_cast<u32>(names.size()));
  std::vector<Tenant> tenants;
  for (u32 i = 0; i < names.size(); ++i) {
    const TenantSpec spec = delayed(parse_tenant(names[i]), config.run, i);
    Tenant tenant{names[i], spec, {}, nullptr, nullptr, shares[i]};
    tenant.instance = load_program(spec.program, parse_input_size(config.run.size), "run.tenants", config.run.seed);
    tenant.memory = std::make_unique<GuestMemory>(PageSize(config.pages.bytes));
    tenant.instance.code.loop_limit = config.run.loop_limit;
    tenant.stream = make_stream(tenant.instance.code, *tenant.memory, config.sm.warp_width);
    tenant.instance.program->allocate(*tenant.memory);
    tenants.push_back(std::move(tenant));
  }
  return tenants;
}

Gpu::Limits limits_of(const RunConfig& run) {
  Gpu::Limits limits;
  limits.warmup = run.warmup;
  limits.relaunch = run.relaunch;
  if (run.instruction_cap != 0) limits.thread_instructions = run.instruction_cap;
  const std::optional<Until> until = parse_until(run.until);
  SIM_CHECK(until.has_value(), "run.until was validated");
  limits.window = until->kind == Until::Kind::kWindow;
  if (until->kind == Until::Kind::kCycles || limits.window) limits.cycles = until->count;
  if (until->kind == Until::Kind::kInstructions)
    limits.thread_instructions = std::min(limits.thread_instructions, until->count);
  return limits;
}

std::vector<TenantView> views_of(const std::vector<Tenant>& tenants) {
  std::vector<TenantView> views;
  for (const Tenant& tenant : tenants) {
    views.push_back({tenant.text, tenant.spec.name(), tenant.instance.program.get(), tenant.memory.get(),
                     tenant.stream.get(), tenant.sms, tenant.spec.arrive, tenant.spec.leave, false,
                     [&code = tenant.instance.code] { return code.hash(); },
                     stream_kind(tenant.instance.code.kind).unknown_opcodes(tenant.instance.code)});
  }
  return views;
}

std::vector<TenantView> views_of(const std::vector<GivenTenant>& given, const GpuConfig& config) {
  if (given.size() > kMaxTenants) input_error("{} tenants are more than the maximum of {}", given.size(), kMaxTenants);
  const auto shares = share_sms(config, static_cast<u32>(given.size()));
  std::vector<TenantView> views;
  for (u32 i = 0; i < given.size(); ++i) {
    const GivenTenant& tenant = given[i];
    const Cycle arrive = tenant.visitors == nullptr ? 0 : kNever;
    views.push_back({tenant.name,
                     tenant.name,
                     tenant.program,
                     tenant.memory,
                     tenant.stream,
                     shares[i],
                     arrive,
                     kNever,
                     true,
                     tenant.code_hash,
                     {},
                     tenant.visitors});
  }
  return views;
}

std::vector<TenantResult> tenant_results(const std::vector<TenantView>& tenants,
                                         const std::vector<std::optional<CheckResult>>& checks,
                                         const std::vector<Cycle>& first_completions) {
  std::vector<TenantResult> results;
  for (u32 i = 0; i < tenants.size(); ++i) {
    const TenantView& tenant = tenants[i];
    results.push_back({tenant.name, tenant.workload, tenant.code_hash(), static_cast<u32>(tenant.sms.size()), checks[i],
                       tenant.unknown_opcodes, first_completions[i]});
  }
  return results;
}

Kept kept_by(const RunRequest& request) {
  return {request.check, request.log, request.timeline, request.timeline_of, request.timeline_events};
}

/// Of each tenant: of all that its program depends on.
std::vector<std::string> program_hashes(const GpuConfig& config) {
  ProgramCatalogue programs;
  std::vector<std::string> hashes;
  for (const std::string& tenant : split_words(config.run.tenants))
    hashes.push_back(programs.of(tenant, config.run.size, config.run.seed).hash);
  return hashes;
}

/// The run can be saved and its files written. A checkpoint of a cycle that has passed was written before.
std::vector<CheckpointWish> checkpoints_to_come(const RunRequest& request) {
  std::vector<CheckpointWish> all = request.checkpoints;
  if (!all.empty() && !request.given.empty())
    input_error("run: tenants that are processes cannot be saved in a checkpoint; leave out --checkpoint");
  for (const CheckpointWish& wish : all) OutputFile(wish.file);
  const Cycle from = request.resume ? request.resume->facts().cycle : 0;
  for (CheckpointWish& wish : all)
    if (wish.every != 0) wish.cycle = (from / wish.every + 1) * wish.every;
  std::erase_if(all, [&](const CheckpointWish& wish) { return wish.cycle <= from; });
  return all;
}

/// What a buffer held when its tenant first completed is gone if that was before the checkpoint.
void refuse_late_saves(const Saves& saves, const Checkpoint& from) {
  const std::vector<u64>& completed = from.facts().completed;
  for (u32 i = 0; i < completed.size(); ++i)
    if (completed[i] > 0 && saves.any_of(i))
      input_error(
          "{}: tenant {} completed before cycle {}, and what its buffers held then is gone; leave out its --save",
          from.file(), i, from.facts().cycle);
}

Cycle next_of(const std::vector<CheckpointWish>& wishes) {
  Cycle next = kNever;
  for (const CheckpointWish& wish : wishes) next = std::min(next, wish.cycle);
  return next;
}

/// What was not written at all, and why.
std::vector<std::string> unsaved(const std::vector<CheckpointWish>& wishes, Cycle ended) {
  std::vector<std::string> sentences;
  for (const CheckpointWish& wish : wishes) {
    if (wish.cycle == kNever || (wish.every != 0 && wish.cycle != wish.every))
      continue;  // written, or one of several was
    sentences.push_back(fmt::format("no checkpoint was written to {}: the run ended in cycle {}, before cycle {}",
                                    wish.file, ended, wish.cycle));
  }
  return sentences;
}

}  // namespace

RunResult simulate(const RunRequest& request) {
  GpuConfig config = request.config;
  std::vector<CheckpointWish> checkpoints = checkpoints_to_come(request);
  std::vector<std::string> programs;
  if (!checkpoints.empty() || request.resume) programs = program_hashes(config);
  Kept kept = kept_by(request);
  if (request.resume) {
    request.resume->require(config, programs);
    kept = request.resume->require(kept);
  }
  std::vector<Tenant> made;
  if (request.given.empty()) made = make_tenants(config);
  if (kept.check)
    for (const Tenant& tenant : made) require_values(tenant.instance.code, "--check");
  const std::vector<TenantView> tenants = request.given.empty() ? views_of(made) : views_of(request.given, config);
  std::vector<TenantSetup> setups;
  for (const TenantView& tenant : tenants) {
    setups.push_back({tenant.name, tenant.program, tenant.memory, tenant.stream, tenant.sms, tenant.arrive,
                      tenant.leave, tenant.leaves_when_done, tenant.visitors});
  }
  Gpu gpu(config, std::move(setups), request.options);
  if (!kept.log.empty()) gpu.log(kept.log);
  if (kept.timeline) gpu.sample_epochs(kept.timeline_of);
  if (kept.timeline_events != 0) gpu.keep_timeline(kept.timeline_events);

  std::vector<Saves::Owner> owners;
  for (const TenantView& tenant : tenants) owners.push_back({tenant.program, tenant.memory});
  Saves saves("run", request.saves, std::move(owners));
  if (request.resume) refuse_late_saves(saves, *request.resume);

  // Checked when a tenant first completes: after that it may be in the middle of another execution.
  std::vector<std::optional<CheckResult>> checks(tenants.size());
  std::vector<Cycle> first_completions(tenants.size(), kNever);
  gpu.on_completion = [&](TenantId id) {
    Cycle& first = first_completions[index(id)];
    first = std::min(first, gpu.now());
    saves.take(index(id));
    std::optional<CheckResult>& check = checks[index(id)];
    if (kept.check && !check) check = tenants[index(id)].program->check(*tenants[index(id)].memory);
  };

  if (request.on_departure) gpu.on_departure = [&](TenantId id) { request.on_departure(index(id), gpu.progress(id)); };

  Gpu::Limits limits = limits_of(config.run);
  limits.stop = request.stop;
  const auto all_issued = [&](const Gpu& running) {
    u64 total = 0;
    for (u32 i = 0; i < tenants.size(); ++i) total += running.progress(TenantId(i)).warp_instructions;
    return total;
  };
  const auto archive = [&](Archive& a) {
    a.part("results");
    a(checks, first_completions);
    gpu.archive(a);
  };
  limits.save = [&] {
    CheckpointFacts facts{gpu.now(), all_issued(gpu), 0, resolved_toml(config), {}, programs, {}, kept, request.asked};
    for (u32 i = 0; i < tenants.size(); ++i) {
      const TenantProgress progress = gpu.progress(TenantId(i));
      facts.thread_instructions += progress.thread_instructions;
      facts.tenants.push_back(tenants[i].name);
      facts.completed.push_back(progress.completed_runs);
    }
    for (CheckpointWish& wish : checkpoints) {
      if (wish.cycle != gpu.now()) continue;
      write_checkpoint(wish.file, facts, archive);
      wish.cycle = wish.every == 0 ? kNever : wish.cycle + wish.every;
    }
    return next_of(checkpoints);
  };
  limits.save_at = next_of(checkpoints);
  RunTime time;
  if (request.resume) {
    request.resume->restore(archive);
    time = {.from = gpu.now(), .warp_instructions_before = all_issued(gpu)};
  }
  const auto observe = [&](const Gpu& running) {
    if (request.watch) request.watch(running);
    if (!request.progress) return;
    const double part =
        limits.cycles == kNever ? -1.0 : static_cast<double>(running.now()) / static_cast<double>(limits.cycles);
    request.progress(part, running.now(), all_issued(running));
  };
  const auto print_to = [&](const Printer& printer) {
    if (!request.print) return;
    for (const TenantView& tenant : tenants) tenant.stream->print_to(printer);
  };
  print_to(request.print);
  const auto started = std::chrono::steady_clock::now();
  try {
    gpu.run(limits, observe);
  } catch (...) {
    print_to({});  // what was printed may say why
    throw;
  }
  print_to({});
  for (u32 i = 0; i < tenants.size(); ++i) saves.take(i);  // of those that did not complete, what they have reached
  saves.commit();
  time.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();

  for (u32 i = 0; i < tenants.size() && request.on_end; ++i) request.on_end(i, gpu.progress(TenantId(i)));
  RunResult result = describe_run(gpu, config, tenant_results(tenants, checks, first_completions), time, kept.check);
  result.unsaved = unsaved(checkpoints, gpu.now());
  result.log = gpu.take_log();
  if (request.timeline) result.timeline = gpu.timeline();
  if (request.timeline_events != 0) {
    std::vector<std::string> names;
    for (const TenantView& tenant : tenants) names.push_back(tenant.name);
    result.events = timeline_json(gpu.timeline_records(), names);
  }
  return result;
}

}  // namespace terrace
