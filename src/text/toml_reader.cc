// TOML text to a Tree. The only file that includes toml++, which takes half a minute to compile under the sanitizers.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

// toml++ 3.3.0 asserts what a damaged file can violate (a header that begins with a stray character): it must become a
// sentence, in every kind of build.
#undef NDEBUG
namespace {
struct TomlAssertion {};
[[noreturn]] void fail_toml_assertion() {
  throw TomlAssertion();
}
}  // namespace
#define TOML_ASSERT(condition) ((condition) ? static_cast<void>(0) : fail_toml_assertion())
#include <toml++/toml.h>

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
    if (depth > kDeepest) input_error("{}:{}: tables are nested too deeply", name_, source.source().begin.line);
    auto& members = std::get<Tree::Table>(tree.value);
    for (const auto& [key, node] : source) {
      Tree member = value(node, depth + 1);
      // The key's line, where there is one: a long list is reported where it begins.
      if (key.source().begin) member.line = key.source().begin.line;
      members.push_back({std::string(key.str()), std::move(member)});
    }
    // toml++ orders members by name; a user reads them, and is told about them, by line.
    const auto rank = [](const Tree::Member& member) { return std::tie(member.value.line, member.key); };
    std::sort(members.begin(), members.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
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
    input_error("{}:{}: dates and times are not supported; write text in quotes", name_, node.source().begin.line);
  }

  const std::string& name_;
};

/// toml++ recurses into every part of a dotted key, without a limit.
void refuse_endless_keys(std::string_view text, const std::string& name) {
  constexpr u32 kMostDots = 1000;
  u32 line = 1, dots = 0;
  for (const char c : text) {
    line += c == '\n';
    dots = c == '.' ? dots + 1 : std::string_view("=,{[\n").find(c) == std::string_view::npos ? dots : 0;
    if (dots > kMostDots) input_error("{}:{}: has more than {} dots in one key or value", name, line, kMostDots);
  }
}

}  // namespace

Tree parse_toml(std::string_view text, const std::string& name) {
  refuse_endless_keys(text, name);
  try {
    return Reader(name).table(toml::parse(text, std::string_view(name)), 0);
  } catch (const toml::parse_error& error) {
    input_error("{}:{}: not valid TOML: {}", name, error.source().begin.line, error.description());
  } catch (const TomlAssertion&) {
    input_error("{}: not valid TOML", name);
  }
}

}  // namespace terrace
