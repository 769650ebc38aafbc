// TOML text to a Tree. The only file that includes toml++, which takes half a minute to compile under the sanitizers.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

#include "engine/check.h"
#include "text/tree.h"

namespace terrace {

namespace {

/// Deeper than any sensible file, far from the end of the stack.
constexpr u32 kDeepest = 64;

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  Tree table(const toml::table& source, u32 depth) {
    Tree tree = Tree::table();
    if (depth > kDeepest) input_error("{}:{}: tables are nested too deep", name_, source.source().begin.line);
    auto& members = std::get<Tree::Table>(tree.value);
    for (const auto& [key, node] : source) {
      Tree member = value(node, depth + 1);
      // The key's line, where there is one: a long list is reported where it begins.
      if (key.source().begin) member.line = key.source().begin.line;
      members.push_back({std::string(key.str()), std::move(member)});
    }
    // toml++ orders members by name; a user reads them, and is told about them, by line.
    std::stable_sort(members.begin(), members.end(),
                     [](const auto& a, const auto& b) { return a.value.line < b.value.line; });
    tree.line = source.source().begin.line;
    return tree;
  }

 private:
  Tree value(const toml::node& node, u32 depth) {
    if (const auto* inner = node.as_table()) return table(*inner, depth);
    Tree tree = scalar(node, depth);
    tree.line = node.source().begin.line;
    return tree;
  }

  Tree scalar(const toml::node& node, u32 depth) {
    if (const auto* array = node.as_array()) {
      Tree list = Tree::list();
      for (const toml::node& item : *array) list.push(value(item, depth + 1));
      return list;
    }
    if (const auto* text = node.as_string()) return Tree(text->get());
    if (const auto* number = node.as_integer()) return Tree(i64{number->get()});
    if (const auto* real = node.as_floating_point()) return Tree(real->get());
    if (const auto* boolean = node.as_boolean()) return Tree(boolean->get());
    input_error("{}:{}: dates and times have no use here; write text in quotes", name_, node.source().begin.line);
  }

  const std::string& name_;
};

}  // namespace

Tree parse_toml(std::string_view text, const std::string& name) {
  try {
    return Reader(name).table(toml::parse(text, std::string_view(name)), 0);
  } catch (const toml::parse_error& error) {
    input_error("{}:{}: not valid TOML: {}", name, error.source().begin.line, error.description());
  }
}

}  // namespace terrace
