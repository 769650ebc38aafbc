// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace terrace {

std::string version();   // "0.1.0"
std::string revision();  // the commit this was built from, or "unknown"
/// Of every source that can move a simulated result (cmake/code_hash.cmake): two programs with the same one compute the
/// same.
std::string code_hash();
std::string compiler();  // "gcc 12.2.0", "clang 19.1.7"

}  // namespace terrace
