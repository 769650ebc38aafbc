// SPDX-License-Identifier: MIT
#include "text/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace terrace {

std::string TextTable::plain() const {
  std::vector<std::size_t> width(header.size());
  const auto measure = [&](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  };
  measure(header);
  for (const auto& row : rows) measure(row);
  std::string text;
  const auto line = [&](const std::vector<std::string>& row) {
    std::string out;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool flush_right = i < right.size() && right[i];
      const std::string cell =
          flush_right ? fmt::format("{:>{}}", row[i], width[i]) : fmt::format("{:<{}}", row[i], width[i]);
      out += (i == 0 ? "" : "  ") + cell;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    text += out + "\n";
  };
  line(header);
  for (const auto& row : rows) line(row);
  return text;
}

std::string TextTable::markdown() const {
  std::string text;
  const auto line = [&](const std::vector<std::string>& row) {
    for (const std::string& cell : row) {
      text += "| ";
      for (const char c : cell) text += c == '|' ? std::string("\\|") : std::string(1, c);
      text += " ";
    }
    text += "|\n";
  };
  line(header);
  line(std::vector<std::string>(header.size(), "---"));
  for (const auto& row : rows) line(row);
  return text;
}

}  // namespace terrace
