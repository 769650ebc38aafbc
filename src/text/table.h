// Rows and columns, for people and for Markdown.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace terrace {

struct TextTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::vector<bool> right = {};  // columns set flush right; the others, and those beyond, flush left

  /// Columns two spaces apart, no spaces at the ends of lines.
  std::string plain() const;
  std::string markdown() const;
};

}  // namespace terrace
