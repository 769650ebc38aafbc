// SPDX-License-Identifier: MIT
#include "gpu/unit_log.h"

#include <vector>

#include "engine/check.h"
#include "text/unit_names.h"

namespace terrace {

void UnitLog::keep(const std::string& spec, Scheduler& units) {
  const size_t at = spec.find('@'), colon = spec.find(':', at == std::string::npos ? 0 : at);
  const auto number = [&](const std::string& digits) -> Cycle {
    if (!is_number(digits) || digits.size() > 18)
      input_error("--log: \"{}\" is not UNIT@FROM:TO, such as sm.0@1000:2000", spec);
    return std::stoull(digits);
  };
  if (at == std::string::npos || colon == std::string::npos) number("");
  const std::string name = spec.substr(0, at);
  std::vector<std::string> names;
  for (u32 id = 0; id < units.units(); ++id) {
    names.push_back(units.name(UnitId(id)));
    if (names.back() != name) continue;
    log_.from = number(spec.substr(at + 1, colon - at - 1));
    log_.to = number(spec.substr(colon + 1));
    return units.unit(UnitId(id)).log_to(&log_);
  }
  input_error("--log: no unit named \"{}\"; there are {}", name, in_ranges(names));
}

}  // namespace terrace
