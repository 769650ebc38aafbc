// What papers call a workload besides its name.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string_view>

namespace terrace {

/// One static object of this per alias, in the file of the workload's host side. Aliases are in lower case.
struct RegisterAlias {
  RegisterAlias(std::string_view alias, std::string_view workload);
};

/// Names of workloads by alias.
const std::map<std::string_view, std::string_view>& workload_aliases();

}  // namespace terrace
