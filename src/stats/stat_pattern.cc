// SPDX-License-Identifier: MIT
#include "stats/stat_pattern.h"

namespace terrace {

bool names_stat(std::string_view pattern, std::string_view name) {
  if (pattern.find('{') == pattern.npos) {
    const std::size_t brace = name.find('{');
    if (brace != name.npos && !name.substr(brace).starts_with("{tenant=")) return false;
    name = name.substr(0, brace);
  }
  while (true) {
    const std::size_t p = pattern.find('.'), n = name.find('.');
    const std::string_view part = pattern.substr(0, p);
    if (part != "*" && part != name.substr(0, n)) return false;
    if (p == pattern.npos || n == name.npos) return p == n;
    pattern.remove_prefix(p + 1);
    name.remove_prefix(n + 1);
  }
}

}  // namespace terrace
