// Names of parameterised tests, in words: what a case is, from any text.
// SPDX-License-Identifier: MIT
#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace terrace {

/// Letters and digits stay, everything between them becomes one underscore, and the number keeps twins apart.
inline std::string case_name(std::string_view text, std::size_t number) {
  std::string name;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  if (!name.empty() && name.back() != '_') name += '_';
  return name + std::to_string(number);
}

}  // namespace terrace
