// SPDX-License-Identifier: MIT
#include "run/tenant_spec.h"

#include <fmt/format.h>

#include "config/assign.h"
#include "engine/check.h"
#include "engine/rng.h"

namespace terrace {
namespace {

struct Presence {
  u64 arrive = 0;
  u64 leave = 0;
  void describe(Fields& v) {
    v("arrive", arrive, in(0, Range::kHighest), "cycle in which the tenant comes");
    v("leave", leave, in(1, Range::kHighest), "cycle in which it goes, whatever it has done by then");
  }
};

}  // namespace

TenantSpec parse_tenant(std::string_view text, std::string_view option) {
  TenantSpec spec;
  const std::size_t colon = text.find(':');
  spec.program = text.substr(0, colon);
  if (colon == text.npos) return spec;
  const std::string name = spec.program;
  Presence presence;
  char before = ':';
  for (const Given& given : split_assignments(text.substr(colon + 1), option)) {
    if (given.path == "arrive" || given.path == "leave") {
      assign(presence, given, name);
      continue;
    }
    if (spec.is_file())
      input_error("{}: {} has no key \"{}\"; only arrive and leave can be given, everything else is in the file",
                  option, name, given.path);
    spec.program += before + given.path + "=" + std::get<std::string>(given.value.value);
    before = ',';
  }
  spec.arrive = presence.arrive;
  if (presence.leave != 0) spec.leave = presence.leave;
  if (spec.leave <= spec.arrive)
    input_error("{}: {} leaves in cycle {}, not after cycle {}, in which it arrives", option, name, spec.leave,
                spec.arrive);
  return spec;
}

TenantSpec delayed(TenantSpec spec, const RunConfig& run, u32 tenant) {
  // A stream for each tenant: how late one comes does not depend on how many others there are.
  const Cycle late = Rng(run.seed, fmt::format("run.arrival.{}", tenant)).below(run.arrival_spread + 1);
  spec.arrive += late;
  if (spec.leave != kNever) spec.leave += late;
  return spec;
}

}  // namespace terrace
