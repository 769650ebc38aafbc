// SPDX-License-Identifier: MIT
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "engine/check.h"
#include "run/metrics.h"
#include "sweep/expression_node.h"
#include "text/suggest.h"
#include "text/tree.h"

namespace terrace {

namespace {

using Node = Expression::Node;
using NodePtr = std::unique_ptr<Node>;

constexpr std::array<std::string_view, 7> kAggregates = {"mean", "gmean", "median", "min", "max", "sum", "count"};
constexpr std::array<std::string_view, 7> kPerRun = {"cycles", "warp_instructions", "thread_instructions", "watts",
                                                     "joules", "first_completion",  "search_end"};
constexpr std::array<std::string_view, 8> kPerTenant = {
    "ipc", "warp_ipc", "alone_ipc", "slowdown", "tenant_cycles", "tenant_instructions", "tenant_joules", "tenant_sms"};
/// Quantities with a text, and those of them with a tenant besides.
constexpr std::array<std::string_view, 5> kNamed = {"stat", "stat_or_zero", "alone_stat", "config", "decisions"};
constexpr std::array<std::string_view, 2> kNamedOfTenant = {"alone_stat", "decisions"};
/// Deep enough for a person, shallow enough for the stack.
constexpr u32 kDeepest = 200;

template <class List>
bool contains(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  NodePtr parse() {
    NodePtr all = conjunction();
    if (!at_end()) refuse("an operator");
    return all;
  }

 private:
  [[noreturn]] void refuse(std::string_view wanted) {
    skip();
    const std::string rest = at_ == text_.size() ? "the end" : fmt::format("\"{}\"", printable(text_.substr(at_, 12)));
    input_error("\"{}\": expected {} at {}", printable(text_), wanted, rest);
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool at_end() {
    skip();
    return at_ == text_.size();
  }
  bool take(std::string_view token) {
    skip();
    if (text_.compare(at_, token.size(), token) != 0) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) refuse(fmt::format("\"{}\"", token));
  }
  static bool word_letter(char c, bool first) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_' ||
           (!first && (std::isdigit(static_cast<unsigned char>(c)) || c == '.'));
  }
  std::string word() {
    skip();
    const std::size_t from = at_;
    while (at_ < text_.size() && word_letter(text_[at_], at_ == from)) ++at_;
    return text_.substr(from, at_ - from);
  }
  std::string quoted() {
    expect("\"");
    const std::size_t end = text_.find('"', at_);
    if (end == text_.npos) refuse("a closing quote");
    const std::string inside = text_.substr(at_, end - at_);
    at_ = end + 1;
    return inside;
  }
  double number() {
    skip();
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) refuse("a number");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  /// Text in quotes, a number, or a word as it is: true and false above all.
  std::string label_value() {
    skip();
    if (at_ < text_.size() && text_[at_] == '"') return quoted();
    const std::string plain = word();
    return plain.empty() ? fmt::format("{}", number()) : plain;
  }

  NodePtr make(Node::Kind kind, std::string name, std::vector<NodePtr> children) {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->word = std::move(name);
    node->children = std::move(children);
    return node;
  }
  NodePtr binary(std::string op, NodePtr left, NodePtr right) {
    std::vector<NodePtr> both;
    both.push_back(std::move(left));
    both.push_back(std::move(right));
    return make(Node::Kind::kBinary, std::move(op), std::move(both));
  }

  NodePtr conjunction() {
    NodePtr left = chain();
    while (true) {
      const std::size_t back = at_;
      if (word() != "and") return at_ = back, std::move(left);
      left = binary("and", std::move(left), chain());
    }
  }

  /// a > b >= c means a > b and b >= c.
  NodePtr chain() {
    NodePtr node = make(Node::Kind::kChain, "", {});
    node->children.push_back(sum());
    while (true) {
      std::string op;
      for (const char* known : {">=", "<=", "==", ">", "<"})
        if (op.empty() && take(known)) op = known;
      if (op.empty()) break;
      node->words.push_back(op);
      node->children.push_back(sum());
    }
    return node->words.empty() ? std::move(node->children.front()) : std::move(node);
  }

  NodePtr sum() {
    NodePtr left = product();
    while (true) {
      if (take("+"))
        left = binary("+", std::move(left), product());
      else if (take("-"))
        left = binary("-", std::move(left), product());
      else
        return left;
    }
  }

  NodePtr product() {
    NodePtr left = unary();
    while (true) {
      if (take("*"))
        left = binary("*", std::move(left), unary());
      else if (take("/"))
        left = binary("/", std::move(left), unary());
      else
        return left;
    }
  }

  NodePtr unary() {
    if (++depth_ > kDeepest) input_error("an expression is nested deeper than {} levels", kDeepest);
    NodePtr node;
    if (take("-")) {
      node = make(Node::Kind::kNegate, "", {});
      node->children.push_back(unary());
    } else {
      node = primary();
    }
    --depth_;
    return node;
  }

  NodePtr primary() {
    if (take("(")) {
      NodePtr inner = conjunction();
      expect(")");
      return inner;
    }
    skip();
    if (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) || text_[at_] == '.')) {
      NodePtr node = make(Node::Kind::kNumber, "", {});
      node->number = number();
      return node;
    }
    const std::string name = word();
    if (name.empty()) refuse("a number, a quantity or a bracket");
    if (name == "abs") return of_each(Node::Kind::kAbsolute, name);
    if (name == "sqrt") return of_each(Node::Kind::kSquareRoot, name);
    if (contains(kAggregates, name)) return aggregate(name);
    return quantity(name);
  }

  NodePtr of_each(Node::Kind kind, const std::string& name) {
    NodePtr node = make(kind, name, {});
    expect("(");
    node->children.push_back(conjunction());
    expect(")");
    return node;
  }

  NodePtr aggregate(const std::string& name) {
    NodePtr node = make(Node::Kind::kAggregate, name, {});
    expect("(");
    node->children.push_back(conjunction());
    while (take(",")) node->words.push_back(quoted());
    expect(")");
    return node;
  }

  NodePtr quantity(const std::string& name) {
    NodePtr node = make(Node::Kind::kQuantity, "", {});
    node->quantity.name = name;
    const bool per_tenant = contains(kPerTenant, name);
    const bool named = contains(kNamed, name);
    if (!per_tenant && !named && !contains(kPerRun, name) && !contains(metric_names(), name)) refuse_name(name);
    if (per_tenant) {
      expect("(");
      node->quantity.tenant = static_cast<u64>(number());
      expect(")");
    } else if (named) {
      expect("(");
      node->quantity.pattern = quoted();
      if (contains(kNamedOfTenant, name)) {
        expect(",");
        node->quantity.tenant = static_cast<u64>(number());
      }
      expect(")");
    }
    if (!take("[")) return node;
    do {
      skip();
      const bool in_quotes = at_ < text_.size() && text_[at_] == '"';
      std::string label = in_quotes ? quoted() : word();
      if (label.empty()) refuse("the name of a label");
      expect("=");
      node->selector.emplace_back(std::move(label), label_value());
    } while (take(","));
    expect("]");
    return node;
  }

  [[noreturn]] void refuse_name(const std::string& name) {
    std::vector<std::string> known(kNamed.begin(), kNamed.end());
    for (const auto& list : {std::span<const std::string_view>(kAggregates), std::span<const std::string_view>(kPerRun),
                             std::span<const std::string_view>(kPerTenant), metric_names()})
      known.insert(known.end(), list.begin(), list.end());
    input_error("\"{}\": there is no \"{}\"; available: {}{}", printable(text_), name, fmt::join(known, ", "),
                did_you_mean(name, known));
  }

  const std::string& text_;
  std::size_t at_ = 0;
  u32 depth_ = 0;
};

}  // namespace

std::unique_ptr<Expression::Node> parse_expression(const std::string& text) {
  return Parser(text).parse();
}

}  // namespace terrace
