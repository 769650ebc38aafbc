// A document as a tree of plain values, each with the line it stands on: what TOML and JSON files are read into, and
// what results are written from. It keeps toml++ and nlohmann-json, which are slow to compile, out of every header.
// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/types.h"

namespace terrace {

struct Tree {
  struct Member;
  using List = std::vector<Tree>;
  using Table = std::vector<Member>;  // in the order of the source

  /// A whole number is a u64, or an i64 when it is negative. Nothing is monostate (JSON's null).
  std::variant<std::monostate, bool, i64, u64, double, std::string, List, Table> value;
  u32 line = 0;  // 0: not from a file that counts lines

  // All defined in tree.cc, where Member is complete.
  Tree();
  Tree(const Tree&);
  Tree(Tree&&) noexcept;
  Tree& operator=(const Tree&);
  Tree& operator=(Tree&&) noexcept;
  ~Tree();
  Tree(bool b);
  Tree(u64 n);
  Tree(u32 n);
  Tree(i64 n);
  Tree(double x);
  Tree(std::string text);
  Tree(std::string_view text);
  Tree(const char* text);
  Tree(List items);
  Tree(Table members);
  Tree(std::initializer_list<Member> members);

  static Tree table();
  static Tree list();

  bool is_table() const;
  bool is_list() const;

  const Table& members() const;  // empty unless a table
  const List& items() const;     // empty unless a list
  const Tree* find(std::string_view key) const;
  /// The member of that name, made (with nothing in it) when there is none; a table grows out of nothing.
  Tree& operator[](std::string_view key);
  Tree& push(Tree item);

  /// As a person would write it in a sentence: 12, "text", true, a list, a table.
  std::string text() const;
};

struct Tree::Member {
  std::string key;
  Tree value;
};

bool operator==(const Tree::Member& a, const Tree::Member& b);
bool operator==(const Tree& a, const Tree& b);  // lines do not count

/// A file that cannot be read or parsed is an InputError, with the line. `name` is what messages call the source.
Tree parse_toml(std::string_view text, const std::string& name);
Tree parse_json(std::string_view text, const std::string& name);
Tree read_toml(const std::string& path);
Tree read_json(const std::string& path);
/// Indented by two, members in their order, lists of plain values on one line, numbers exact; ends with a newline.
std::string json_text(const Tree& tree);
/// The same without a blank or a line break that is not in a text.
std::string json_line(const Tree& tree);

/// For sentences: what a user wrote may hold anything, and a terminal must not act on it. Control characters become
/// '?'.
std::string printable(std::string_view text);

/// The whole file, or an InputError that says why not.
std::string read_file(const std::string& path);

}  // namespace terrace
