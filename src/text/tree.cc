// SPDX-License-Identifier: MIT
#include "text/tree.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "engine/check.h"
#include "text/plain_file.h"

namespace terrace {

Tree::Tree() = default;
Tree::Tree(const Tree&) = default;
Tree::Tree(Tree&&) noexcept = default;
Tree& Tree::operator=(const Tree&) = default;
Tree& Tree::operator=(Tree&&) noexcept = default;
Tree::~Tree() = default;

Tree::Tree(bool b) : value(b) {}
Tree::Tree(u64 n) : value(n) {}
Tree::Tree(u32 n) : value(u64{n}) {}
Tree::Tree(i64 n) {
  if (n < 0)
    value = n;
  else
    value = static_cast<u64>(n);
}
Tree::Tree(double x) : value(x) {}
Tree::Tree(std::string text) : value(std::move(text)) {}
Tree::Tree(std::string_view text) : value(std::string(text)) {}
Tree::Tree(const char* text) : value(std::string(text)) {}
Tree::Tree(List items) : value(std::move(items)) {}
Tree::Tree(Table members) : value(std::move(members)) {}
Tree::Tree(std::initializer_list<Member> members) : value(Table(members)) {}

bool Tree::is_table() const {
  return std::holds_alternative<Table>(value);
}

bool Tree::is_list() const {
  return std::holds_alternative<List>(value);
}

Tree Tree::table() {
  return Tree(Table{});
}

Tree Tree::list() {
  return Tree(List{});
}

const Tree::Table& Tree::members() const {
  static const Table kNone;
  const auto* table = std::get_if<Table>(&value);
  return table ? *table : kNone;
}

const Tree::List& Tree::items() const {
  static const List kNone;
  const auto* list = std::get_if<List>(&value);
  return list ? *list : kNone;
}

const Tree* Tree::find(std::string_view key) const {
  for (const Member& member : members())
    if (member.key == key) return &member.value;
  return nullptr;
}

Tree& Tree::operator[](std::string_view key) {
  if (std::holds_alternative<std::monostate>(value)) value = Table{};
  Table& table = std::get<Table>(value);
  for (Member& member : table)
    if (member.key == key) return member.value;
  return table.emplace_back(Member{std::string(key), Tree()}).value;
}

Tree& Tree::push(Tree item) {
  if (std::holds_alternative<std::monostate>(value)) value = List{};
  return std::get<List>(value).emplace_back(std::move(item));
}

bool operator==(const Tree::Member& a, const Tree::Member& b) {
  return a.key == b.key && a.value == b.value;
}

bool operator==(const Tree& a, const Tree& b) {
  return a.value == b.value;
}

std::string Tree::text() const {
  struct Writer {
    std::string operator()(std::monostate) const { return "nothing"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(i64 n) const { return fmt::format("{}", n); }
    std::string operator()(u64 n) const { return fmt::format("{}", n); }
    std::string operator()(double x) const { return fmt::format("{}", x); }
    std::string operator()(const std::string& s) const { return fmt::format("\"{}\"", printable(s)); }
    std::string operator()(const List&) const { return "a list"; }
    std::string operator()(const Table&) const { return "a table"; }
  };
  return std::visit(Writer{}, value);
}

std::string printable(std::string_view text) {
  std::string shown(text);
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return shown;
}

std::string read_file(const std::string& path) {
  require_plain_file(path);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) input_error("{}: cannot be read: {}", path, std::strerror(errno));
  std::string text;
  char block[1 << 14];
  while (const std::size_t got = std::fread(block, 1, sizeof block, file.get())) text.append(block, got);
  if (std::ferror(file.get())) input_error("{}: cannot be read: {}", path, std::strerror(errno));
  return text;
}

Tree read_toml(const std::string& path) {
  return parse_toml(read_file(path), path);
}

Tree read_json(const std::string& path) {
  return parse_json(read_file(path), path);
}

}  // namespace terrace
