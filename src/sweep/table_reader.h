// Reads a table of a file that a user may have written: every key must be asked for, and what is wrong with it is a mistake
// with its line.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sweep/sweep_file.h"
#include "text/suggest.h"

namespace terrace {

/// What is no finite number is a mistake.
inline std::optional<double> number_of(const Tree& value, const std::string& key, Mistakes& mistakes) {
  if (const auto* real = std::get_if<double>(&value.value); real && std::isfinite(*real)) return *real;
  if (const auto* whole = std::get_if<u64>(&value.value)) return static_cast<double>(*whole);
  if (const auto* negative = std::get_if<i64>(&value.value)) return static_cast<double>(*negative);
  mistakes.add(value.line, "{} must be a number, not {}", key, value.text());
  return std::nullopt;
}

/// A table of the file, of which every key must be asked for.
class TableReader {
 public:
  TableReader(const Tree& table, std::string what, Mistakes& mistakes)
      : table_(table), what_(std::move(what)), mistakes_(mistakes) {
    if (!table.is_table()) mistakes_.add(table.line, "{} must be a table", what_);
  }
  ~TableReader() {
    for (const auto& [key, value] : table_.members())
      if (std::find(known_.begin(), known_.end(), key) == known_.end())
        mistakes_.add(value.line, "{} has no key \"{}\"{}", what_, printable(key), did_you_mean(key, known_));
  }
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  u32 line() const { return table_.line; }
  const Tree* find(const std::string& key) {
    known_.push_back(key);
    return table_.find(key);
  }
  /// One value, or the values of a list.
  std::vector<Tree> each(const std::string& key) {
    const Tree* value = find(key);
    if (!value) return {};
    if (!value->is_list()) return {*value};
    if (value->items().empty()) mistakes_.add(value->line, "{} is an empty list; leave it out, or give a value", key);
    std::vector<Tree> items = value->items();
    for (Tree& item : items) item.line = value->line;
    return items;
  }
  std::vector<std::string> texts(const std::string& key, std::vector<std::string> otherwise) {
    std::vector<std::string> texts;
    for (const Tree& value : each(key)) {
      const auto* text = std::get_if<std::string>(&value.value);
      if (text && !text->empty())
        texts.push_back(*text);
      else
        mistakes_.add(value.line, "{} must be text, not {}", key, value.text());
    }
    return texts.empty() ? std::move(otherwise) : texts;
  }
  std::string text(const std::string& key, std::string otherwise = "") {
    const Tree* value = find(key);
    if (!value) return otherwise;
    const auto* text = std::get_if<std::string>(&value->value);
    if (!text || text->empty()) mistakes_.add(value->line, "{} must be text, not {}", key, value->text());
    return text ? *text : otherwise;
  }
  std::string required(const std::string& key) {
    if (!table_.find(key)) mistakes_.add(line(), "{} lacks the key {}", what_, key);
    return text(key);
  }
  std::optional<double> number(const std::string& key) {
    const Tree* value = find(key);
    return value ? number_of(*value, key, mistakes_) : std::nullopt;
  }
  bool has(const std::string& key) const { return table_.find(key) != nullptr; }

 private:
  const Tree& table_;
  std::string what_;
  Mistakes& mistakes_;
  std::vector<std::string> known_;
};

/// Calls `act` for each [[kind]] of the file.
template <class Act>
void each_table(TableReader& top, const std::string& kind, Mistakes& mistakes, Act&& act) {
  const Tree* all = top.find(kind);
  if (!all) return;
  if (!all->is_list()) return mistakes.add(all->line, "{} must be written [[{}]]", kind, kind);
  for (const Tree& item : all->items()) {
    TableReader table(item, fmt::format("[[{}]]", kind), mistakes);
    act(table);
  }
}

}  // namespace terrace
