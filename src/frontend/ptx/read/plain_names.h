// Kernels by the names that their source has: C++ compilers append the types of parameters to them.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "frontend/ptx/read/module.h"

namespace terrace::ptx {

/// As the source has it, with its parameters: "saxpy(float*, int)"; the name itself if no C++ compiler made it.
std::string source_name(std::string_view name);

/// The kernel whose name without parameters is `plain`; null if there is none, or several.
const Function* find_by_plain_name(const Module& module, std::string_view plain);

}  // namespace terrace::ptx
