// Assigns "key=value,key=value", as tests write it.
// SPDX-License-Identifier: MIT
#pragma once

#include "config/assign.h"

namespace terrace {

inline void assign_list(Described target, std::string_view list, std::string_view option,
                        std::string_view shown_under = "") {
  for (const Given& given : split_assignments(list, option)) assign(target, given, shown_under);
}

}  // namespace terrace
