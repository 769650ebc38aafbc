// SPDX-License-Identifier: MIT
#include "frontend/stream_kind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <map>

#include "engine/check.h"
#include "text/suggest.h"

namespace terrace {
namespace {

using Kinds = std::map<std::string, std::unique_ptr<StreamKind>, std::less<>>;

Kinds& kinds() {
  static Kinds all;
  return all;
}

}  // namespace

bool StreamKind::reads(std::string_view) const {
  return false;
}

ProgramInstance StreamKind::load(const std::string& program, u64) const {
  SIM_CHECK(false, "{} is not read by the kind {}", program, name());
  return {};
}

void register_stream_kind(std::unique_ptr<StreamKind> kind) {
  const std::string name(kind->name());
  if (kinds().emplace(name, std::move(kind)).second) return;
  // Before main there is nobody to catch an exception.
  fmt::print(stderr, "terrace: two kinds of device code are called \"{}\"; rename one of them.\n", name);
  std::abort();
}

std::vector<const StreamKind*> stream_kinds() {
  std::vector<const StreamKind*> all;
  for (const auto& [name, kind] : kinds()) all.push_back(kind.get());
  return all;
}

const StreamKind& stream_kind(std::string_view name) {
  if (const auto found = kinds().find(name); found != kinds().end()) return *found->second;
  std::vector<std::string> known;
  for (const auto& [its_name, kind] : kinds()) known.push_back(its_name);
  input_error("no kind of device code named \"{}\"; available: {}{}", name, fmt::join(known, ", "),
              did_you_mean(name, known));
}

const StreamKind* kind_that_reads(std::string_view program) {
  for (const auto& [name, kind] : kinds())
    if (kind->reads(program)) return kind.get();
  return nullptr;
}

}  // namespace terrace
