// SPDX-License-Identifier: MIT
#include "frontend/stream_kind.h"

#include <utility>

#include "engine/check.h"
#include "text/by_name.h"

namespace terrace {
namespace {

ByName<StreamKind>& kinds() {
  static ByName<StreamKind> all("kind of device code", "kinds of device code");
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
  std::string name(kind->name());
  kinds().add(std::move(name), std::move(kind));
}

std::vector<const StreamKind*> stream_kinds() {
  return kinds().all();
}

const StreamKind& stream_kind(std::string_view name) {
  return kinds().find(name);
}

void require_values(const DeviceCode& code, std::string_view option) {
  if (stream_kind(code.kind).has_values()) return;
  input_error("{}: there are no values in {}, and nothing can be checked; leave out {}", code.file, code.kind, option);
}

const StreamKind* kind_that_reads(std::string_view program) {
  for (const StreamKind* kind : stream_kinds())
    if (kind->reads(program)) return kind;
  return nullptr;
}

}  // namespace terrace
