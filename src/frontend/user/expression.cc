// SPDX-License-Identifier: MIT
#include "frontend/user/expression.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "text/suggest.h"

namespace terrace::user {
namespace {

/// Reads and computes at once, by precedence.
class Evaluator {
 public:
  Evaluator(std::string_view text, Names& names, const Place& place) : text_(text), names_(names), place_(place) {}

  i64 run() {
    const i64 value = choice();
    skip_blanks();
    if (at_ != text_.size()) refuse("'{}' is not expected there", text_.substr(at_, 1));
    return value;
  }

 private:
  /// Nested deeper than this is no expression that one would write.
  static constexpr u32 kMostDepth = 100;

  struct Operator {
    std::string_view sign;
    u32 level;  // binds tighter the higher it is
  };
  /// Longer signs before those that they begin with.
  static constexpr std::array<Operator, 17> kOperators{{{"<<", 6},
                                                        {">>", 6},
                                                        {"<=", 5},
                                                        {">=", 5},
                                                        {"==", 4},
                                                        {"!=", 4},
                                                        {"<", 5},
                                                        {">", 5},
                                                        {"+", 7},
                                                        {"-", 7},
                                                        {"*", 8},
                                                        {"/", 8},
                                                        {"%", 8},
                                                        {"&", 3},
                                                        {"^", 2},
                                                        {"|", 1},
                                                        {"", 0}}};

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    place_.refuse("is the expression \"{}\": {}", printable(text_), fmt::format(format, std::forward<Args>(args)...));
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool accept(std::string_view sign) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }
  void expect(std::string_view sign) {
    if (!accept(sign)) refuse("a {} is missing", sign);
  }

  /// Both sides are computed: there is nothing in an expression that one could wish not to happen but a division.
  i64 choice() {
    if (++depth_ > kMostDepth) refuse("it is nested too deeply");
    const i64 condition = binary(1);
    i64 value = condition;
    if (accept("?")) {
      const i64 yes = choice();
      expect(":");
      const i64 no = choice();
      value = condition != 0 ? yes : no;
    }
    --depth_;
    return value;
  }

  Operator next_operator() {
    skip_blanks();
    for (const Operator& each : kOperators)
      if (text_.substr(at_).starts_with(each.sign)) return each;
    return kOperators.back();
  }
  i64 binary(u32 level) {
    i64 left = unary();
    for (Operator sign = next_operator(); sign.level >= level; sign = next_operator()) {
      at_ += sign.sign.size();
      left = apply(sign.sign, left, binary(sign.level + 1));
    }
    return left;
  }

  i64 apply(std::string_view sign, i64 a, i64 b) const {
    i64 result = 0;
    bool overflows = false;
    if (sign == "+") {
      overflows = __builtin_add_overflow(a, b, &result);
    } else if (sign == "-") {
      overflows = __builtin_sub_overflow(a, b, &result);
    } else if (sign == "*") {
      overflows = __builtin_mul_overflow(a, b, &result);
    } else if (sign == "/" || sign == "%") {
      if (b == 0) refuse("it divides by 0");
      overflows = b == -1 && a == std::numeric_limits<i64>::min();
      if (!overflows) result = sign == "/" ? a / b : a % b;
    } else if (sign == "<<" || sign == ">>") {
      if (b < 0 || b > 63) refuse("it shifts by {}; 0 to 63 are possible", b);
      result = sign == "<<" ? static_cast<i64>(static_cast<u64>(a) << b) : a >> b;
      overflows = sign == "<<" && (result >> b) != a;
    } else {
      result = compare_or_combine(sign, a, b);
    }
    if (overflows) refuse("its value does not fit 64 bits");
    return result;
  }
  static i64 compare_or_combine(std::string_view sign, i64 a, i64 b) {
    if (sign == "<") return a < b;
    if (sign == "<=") return a <= b;
    if (sign == ">") return a > b;
    if (sign == ">=") return a >= b;
    if (sign == "==") return a == b;
    if (sign == "!=") return a != b;
    return sign == "&" ? a & b : sign == "^" ? a ^ b : a | b;
  }

  i64 unary() {
    if (++depth_ > kMostDepth) refuse("it is nested too deeply");
    const i64 value = accept("-") ? apply("-", 0, unary()) : accept("~") ? ~unary() : primary();
    --depth_;
    return value;
  }
  i64 primary() {
    if (accept("(")) {
      const i64 value = choice();
      expect(")");
      return value;
    }
    skip_blanks();
    const auto continues = [](char c) {
      return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    u64 end = at_;
    while (end < text_.size() && continues(text_[end])) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    if (word.empty()) refuse("a number or a name is missing {}", at_ == text_.size() ? "at its end" : "in it");
    at_ = end;
    if (word[0] >= '0' && word[0] <= '9') return number(word);
    if (word == "min" || word == "max") return extreme(word == "min");
    return named(word);
  }
  i64 number(std::string_view word) const {
    const bool hexadecimal = word.starts_with("0x") || word.starts_with("0X");
    const std::string_view digits = hexadecimal ? word.substr(2) : word;
    i64 value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, hexadecimal ? 16 : 10);
    if (error != std::errc{} || end != digits.data() + digits.size()) refuse("{} is no whole number", word);
    return value;
  }
  i64 extreme(bool least) {
    expect("(");
    const i64 a = choice();
    expect(",");
    const i64 b = choice();
    expect(")");
    return least ? std::min(a, b) : std::max(a, b);
  }
  i64 named(std::string_view word) {
    const auto found = names_.values.find(word);
    if (found == names_.values.end()) {
      std::vector<std::string> known{"min", "max"};
      for (const auto& [name, value] : names_.values) known.push_back(name);
      refuse("{} is not known; there are {}, and what [define] adds", word, fmt::join(known, ", "));
    }
    names_.used.insert(found->first);
    return found->second;
  }

  std::string_view text_;
  Names& names_;
  const Place& place_;
  u64 at_ = 0;
  u32 depth_ = 0;
};

Tree with_line(Tree tree, u32 line) {
  tree.line = line;
  return tree;
}

Place within(const Place& place, const std::string& key, const Tree& value) {
  return {place.file, place.key + "." + key, value.line != 0 ? value.line : place.line};
}

bool is_element(std::string_view key) {
  return std::find(kElements.begin(), kElements.end(), key) != kElements.end();
}

/// A number or a list of them.
Tree numbers_of(const Tree& tree, Names& names, const Place& place) {
  if (!tree.is_list()) return number_of(tree, names, place);
  Tree list = Tree::list();
  for (const Tree& item : tree.items()) list.push(number_of(item, names, place));
  return with_line(std::move(list), tree.line);
}

Tree argument(const Tree& tree, Names& names, const Place& place) {
  if (!tree.is_table()) return tree;
  Tree result = Tree::table();
  result.line = tree.line;
  for (const auto& [key, value] : tree.members()) {
    const Place here = within(place, key, value);
    if (key == "expr") {  // what a plain number would be
      if (!std::holds_alternative<std::string>(value.value))
        here.refuse("must be an expression in quotes, not {}", value.text());
      return number_of(value, names, here);
    }
    if (key == "struct" && value.is_list()) {
      Tree members = Tree::list();
      for (const Tree& member : value.items()) members.push(argument(member, names, here));
      result[key] = with_line(std::move(members), value.line);
    } else {
      result[key] = key == "offset" || is_element(key) ? numbers_of(value, names, here) : value;
    }
  }
  return result;
}

/// Fills and copies.
Tree host_work(const Tree& tree, Names& names, const Place& place) {
  if (!tree.is_table()) return tree;
  Tree result = Tree::table();
  result.line = tree.line;
  for (const auto& [key, value] : tree.members()) {
    const bool is_name = key == "buffer" || key == "from" || key == "to";
    result[key] = is_name ? value : number_of(value, names, within(place, key, value));
  }
  return result;
}

}  // namespace

i64 evaluate(std::string_view text, Names& names, const Place& place) {
  return Evaluator(text, names, place).run();
}

Tree number_of(const Tree& tree, Names& names, const Place& place) {
  const auto* text = std::get_if<std::string>(&tree.value);
  if (text == nullptr) return tree;
  const i64 value = evaluate(*text, names, place);
  return with_line(value < 0 ? Tree(value) : Tree(static_cast<u64>(value)), tree.line);
}

Tree with_numbers(const Tree& launch, Names& names, const Place& place) {
  Tree result = Tree::table();
  result.line = launch.line;
  for (const auto& [key, value] : launch.members()) {
    const Place here = within(place, key, value);
    if (key == "grid" || key == "block" || key == "shared") {
      result[key] = numbers_of(value, names, here);
    } else if ((key == "args" || key == "fill" || key == "copy") && value.is_list()) {
      Tree list = Tree::list();
      u64 i = 0;
      for (const Tree& item : value.items()) {
        const Place at{place.file, fmt::format("{}[{}]", here.key, i++), item.line != 0 ? item.line : here.line};
        list.push(key == "args" ? argument(item, names, at) : host_work(item, names, at));
      }
      result[key] = with_line(std::move(list), value.line);
    } else {
      result[key] = value;
    }
  }
  return result;
}

}  // namespace terrace::user
