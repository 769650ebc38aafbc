// Where the sources, the build and its program are. Told to one small file, so that every other object is the same in
// any folder and a fresh clone finds it in the compiler cache.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace terrace {

std::string source_folder();
std::string build_folder();
std::string terrace_program();

}  // namespace terrace
