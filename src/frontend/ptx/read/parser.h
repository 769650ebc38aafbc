// The parser's shared half: a cursor over the tokens with the sentences for what is missing, and the names that are
// visible in nested blocks.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/check.h"
#include "frontend/ptx/read/lexer.h"
#include "frontend/ptx/read/module.h"

namespace terrace::ptx {

class Cursor {
 public:
  Cursor(std::string_view file, const std::vector<Token>& tokens) : file_(file), tokens_(tokens) {}

  const Token& peek(u64 ahead = 0) const { return tokens_[std::min<u64>(at_ + ahead, tokens_.size() - 1)]; }
  const Token& next() {
    const Token& token = tokens_[at_];
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool ended() const { return peek().kind == TokenKind::kEnd; }
  bool accept(char punctuation) {
    if (!peek().is(punctuation)) return false;
    next();
    return true;
  }
  bool accept_dotted(std::string_view word) {
    if (!peek().is_dotted(word)) return false;
    next();
    return true;
  }
  void expect(char punctuation, std::string_view where) {
    if (!accept(punctuation)) fail("expected '{}' {}, found '{}'", punctuation, where, peek().text);
  }
  std::string_view expect_name(std::string_view what) {
    if (peek().kind != TokenKind::kName) fail("expected {}, found '{}'", what, peek().text);
    return next().text;
  }
  u64 expect_integer(std::string_view what) {
    if (peek().kind != TokenKind::kInteger) fail("expected {}, found '{}'", what, peek().text);
    return next().bits;
  }
  /// In a list: either it goes on or its brace closes; anything else is an error.
  bool fail_unless_brace() {
    if (!peek().is('}')) fail("expected ',' or '}}', found '{}'", peek().text);
    return true;
  }
  void skip_line() {
    const u32 line = peek().line;
    while (!ended() && peek().line == line) next();
  }
  void skip_past(char punctuation) {
    while (!ended() && !peek().is(punctuation)) next();
    expect(punctuation, "before the end of the file");
  }

  /// What is wrong with the next word. At the end of the text it is that there should be more.
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    const std::string sentence = fmt::format(format, std::forward<Args>(args)...);
    input_error("{}:{}: {}{}", file_, peek().line, sentence, ended() ? "; the file seems truncated" : "");
  }
  template <class... Args>
  [[noreturn]] void fail_at(u32 line, fmt::format_string<Args...> format, Args&&... args) const {
    input_error("{}:{}: {}", file_, line, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  std::string_view file_;
  const std::vector<Token>& tokens_;
  u64 at_ = 0;
};

/// What a name means inside a function body.
struct LocalName {
  enum class Kind : u8 { kRegister, kRegisterRange, kVariable } kind;
  u32 index;  // the first of the range
  u32 count = 1;
};

class ScopedNames {
 public:
  void open(u32 scope) { scopes_.push_back({scope, {}}); }
  void close() { scopes_.pop_back(); }
  u32 depth() const { return static_cast<u32>(scopes_.size()); }
  u32 scope() const { return scopes_.back().id; }
  bool add(std::string_view name, LocalName meaning) { return scopes_.back().names.emplace(name, meaning).second; }

  /// The register or variable of that name, innermost scope first; %r12 is found in a range %r<20>.
  bool find(std::string_view name, LocalName& out) const {
    for (u64 s = scopes_.size(); s-- > 0;) {
      const auto& names = scopes_[s].names;
      if (const auto exact = names.find(name); exact != names.end() && exact->second.kind != kRange) {
        out = exact->second;
        return true;
      }
      if (find_in_ranges(names, name, out)) return true;
    }
    return false;
  }

 private:
  static constexpr auto kRange = LocalName::Kind::kRegisterRange;
  using Names = std::map<std::string_view, LocalName>;

  static bool find_in_ranges(const Names& names, std::string_view name, LocalName& out) {
    u64 number = 0, power = 1;
    for (u64 left = name.size(); left > 1 && power < 10'000'000'000; --left) {
      const u64 cut = left - 1;
      if (name[cut] < '0' || name[cut] > '9') return false;
      number += power * static_cast<u64>(name[cut] - '0');
      power *= 10;
      if (name[cut] == '0' && cut + 1 < name.size()) continue;  // %r007 is not %r7
      const auto range = names.find(name.substr(0, cut));
      if (range != names.end() && range->second.kind == kRange && number < range->second.count) {
        out = {LocalName::Kind::kRegister, range->second.index + static_cast<u32>(number)};
        return true;
      }
    }
    return false;
  }

  struct Scope {
    u32 id;
    Names names;
  };
  std::vector<Scope> scopes_;
};

/// `.align 4 .b8 name[12]` and its like, shared by module variables, parameters and locals; the cursor stands behind
/// the space.
Variable parse_declarator(Cursor& in, Space space);

/// Reads a function's body, behind its opening brace. The function knows its part.
void parse_body(Cursor& in, Function& function);

}  // namespace terrace::ptx
