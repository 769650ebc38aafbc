// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "text/tree.h"

namespace terrace {

namespace {

class Writer {
 public:
  explicit Writer(bool one_line) : one_line_(one_line) {}
  std::string out;

  void write(const Tree& tree, u32 indent) {
    std::visit([&](const auto& value) { put(value, indent); }, tree.value);
  }

 private:
  void put(std::monostate, u32) { out += "null"; }
  void put(bool value, u32) { out += value ? "true" : "false"; }
  void put(i64 value, u32) { fmt::format_to(std::back_inserter(out), "{}", value); }
  void put(u64 value, u32) { fmt::format_to(std::back_inserter(out), "{}", value); }
  void put(double value, u32) {
    // JSON has no infinity and no not-a-number: a ratio without a meaning is null.
    if (!(value - value == 0)) return put(std::monostate{}, 0);
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
  void put(const std::string& text, u32) {
    out += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      if (static_cast<unsigned char>(c) < 0x20)
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", c);
      else
        out += c;
    }
    out += '"';
  }
  void put(const Tree::List& list, u32 indent) {
    const bool plain = one_line_ || std::none_of(list.begin(), list.end(),
                                                 [](const Tree& item) { return item.is_list() || item.is_table(); });
    between('[', ']', list, plain, indent, [&](const Tree& item) { write(item, indent + 2); });
  }
  void put(const Tree::Table& table, u32 indent) {
    between('{', '}', table, one_line_, indent, [&](const Tree::Member& member) {
      put(member.key, 0);
      out += one_line_ ? ":" : ": ";
      write(member.value, indent + 2);
    });
  }

  template <class Container, class Each>
  void between(char open, char close, const Container& items, bool one_line, u32 indent, Each&& each) {
    out += open;
    bool first = true;
    for (const auto& item : items) {
      if (!first) out += one_line && !one_line_ ? ", " : ",";
      first = false;
      if (!one_line) fmt::format_to(std::back_inserter(out), "\n{:{}}", "", indent + 2);
      each(item);
    }
    if (!one_line && !items.empty()) fmt::format_to(std::back_inserter(out), "\n{:{}}", "", indent);
    out += close;
  }

  const bool one_line_;
};

}  // namespace

std::string json_text(const Tree& tree) {
  Writer writer(false);
  writer.write(tree, 0);
  return writer.out + "\n";
}

std::string json_line(const Tree& tree) {
  Writer writer(true);
  writer.write(tree, 0);
  return writer.out;
}

}  // namespace terrace
