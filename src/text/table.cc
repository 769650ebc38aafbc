// SPDX-License-Identifier: MIT
#include "text/table.h"

#include <algorithm>

namespace terrace {

namespace {

/// Letters, not bytes: those of UTF-8 that go on with a letter do not count.
std::size_t letters(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string TextTable::plain() const {
  std::vector<std::size_t> width(header.size());
  const auto measure = [&](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], letters(row[i]));
  };
  measure(header);
  for (const auto& row : rows) measure(row);
  std::string text;
  const auto line = [&](const std::vector<std::string>& row) {
    std::string out;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool flush_right = i < right.size() && right[i];
      const std::string space(width[i] - letters(row[i]), ' ');
      out += (i == 0 ? "" : "  ") + (flush_right ? space + row[i] : row[i] + space);
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
