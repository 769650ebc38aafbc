// Runs of small tenants on the DWS machine, and what their results say.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "experiment/run.h"
#include "papers/designs.h"

namespace terrace {

inline RunRequest tenant_run(const std::string& tenants, const std::vector<std::string>& sets = {},
                             const std::vector<std::string>& designs = {}) {
  RunRequest request;
  request.config = machine_with("dws_30sm", designs, sets);
  request.config.run.tenants = tenants;
  request.config.run.size = "mini";
  return request;
}

inline const Tree& tenant_of(const RunResult& result, u32 tenant) {
  return result.json.find("tenants")->items()[tenant];
}
inline u64 number(const Tree& tree, const char* name) {
  return std::get<u64>(tree.find(name)->value);
}

}  // namespace terrace
