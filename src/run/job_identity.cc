// SPDX-License-Identifier: MIT
#include "run/job_identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <sstream>

#include "config/field_list.h"
#include "engine/hash.h"
#include "frontend/stream_kind.h"
#include "frontend/user_program.h"
#include "frontend/workload.h"
#include "run/tenant_spec.h"
#include "text/tree.h"
#include "version.h"

namespace terrace {

namespace {

namespace fs = std::filesystem;

/// A user's TOML file names files as text, relative to itself: whatever text is a file's name counts as one.
void hash_named_files(const Tree& tree, const fs::path& folder, std::string& into) {
  if (const auto* text = std::get_if<std::string>(&tree.value)) {
    std::error_code ignored;
    const fs::path path = folder / *text;
    if (!text->empty() && fs::is_regular_file(path, ignored))
      into += fmt::format("{} {}\n", *text, hash_text(hash64(read_file(path.string()))));
  }
  for (const Tree& item : tree.items()) hash_named_files(item, folder, into);
  for (const auto& [key, value] : tree.members()) hash_named_files(value, folder, into);
}

ProgramFacts user_program_facts(const std::string& path) {
  if (const StreamKind* kind = kind_that_reads(path)) {
    const std::string code = hash_text(kind->load(path, 1).code.hash());
    return {code, code, 0};
  }
  const ProgramInstance instance = load_user_program(path);
  stream_kind(instance.code.kind).check(instance.code);  // its mistakes are told before anything runs
  const std::string text = read_file(path);
  std::string all = hash_text(instance.code.hash()) + "\n" + text;
  hash_named_files(parse_toml(text, path), fs::path(path).parent_path(), all);
  return {hash_text(instance.code.hash()), hash_text(hash64(all)), 0};
}

ProgramFacts workload_facts(const std::string& text, const std::string& size, u64 seed) {
  WorkloadRequest request = parse_workload(text, parse_input_size(size), "tenant");
  request.seed = seed;
  const auto params = resolve_params(request);
  const Workload& workload = find_workload(request.name);
  const std::string ptx = hash_text(read_workload_module(workload.info().module).hash());
  return {ptx, ptx, workload.footprint_bytes(*params)};
}

}  // namespace

std::vector<std::string> split_words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

const ProgramFacts& ProgramCatalogue::of(const std::string& text, const std::string& size, u64 seed) {
  // The seed chooses contents, not sizes: two seeds need the same look, but a parameter may hold it too.
  const std::string key = fmt::format("{} {} {}", text, size, seed);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  const TenantSpec spec = parse_tenant(text, "tenant");
  ProgramFacts facts = spec.is_file() ? user_program_facts(spec.program) : workload_facts(spec.program, size, seed);
  return known_.emplace(key, std::move(facts)).first->second;
}

Job make_job(GpuConfig config, ProgramCatalogue& programs) {
  // Measured: a process of `terrace run` without buffers; buffers are there once, inputs and checks come on top.
  constexpr u64 kProcessBytes = u64{16} << 20;
  Job job;
  std::string identity = "terrace.job/1\ncode " + code_hash() + "\n";
  job.memory_bytes = kProcessBytes;
  for (const std::string& tenant : split_words(config.run.tenants)) {
    const ProgramFacts& facts = programs.of(tenant, config.run.size, config.run.seed);
    identity += fmt::format("program {}\n", facts.hash);
    job.ptx.push_back(facts.ptx);
    job.memory_bytes += facts.footprint_bytes + facts.footprint_bytes / 2;
  }
  job.config = resolved_toml(config);
  job.id = hash_text(hash64(identity + job.config));
  job.machine = config.name;
  job.tenants = config.run.tenants;
  job.size = config.run.size;
  job.seed = config.run.seed;
  job.sms = fmt::format("{}", fmt::join(config.run.sms, ","));
  return job;
}

}  // namespace terrace
