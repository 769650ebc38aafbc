// SPDX-License-Identifier: MIT
#include "version.h"

#include <fmt/format.h>

namespace terrace {

std::string version() {
  return TERRACE_VERSION;
}

std::string revision() {
  return TERRACE_REVISION;
}

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace terrace
