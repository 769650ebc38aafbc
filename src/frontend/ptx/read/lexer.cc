// SPDX-License-Identifier: MIT
#include "frontend/ptx/read/lexer.h"

#include <bit>
#include <charconv>

#include "engine/check.h"

namespace terrace::ptx {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}
bool continues_name(char c) {
  return starts_name(c) || is_digit(c);
}

class Lexer {
 public:
  Lexer(std::string_view file, std::string_view text) : file_(file), text_(text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    while (skip_blanks()) tokens.push_back(next());
    tokens.push_back({TokenKind::kEnd, false, line_, "end of file", 0});
    return tokens;
  }

 private:
  char peek(u64 ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  std::string_view since(u64 first) const { return text_.substr(first, at_ - first); }

  bool skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\0') {
        ++at_;
      } else if (c == '/' && peek(1) == '/') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '/' && peek(1) == '*') {
        skip_block_comment();
      } else {
        return true;
      }
    }
    return false;
  }

  void skip_block_comment() {
    const u32 first_line = line_;
    const auto end = text_.find("*/", at_ + 2);
    if (end == std::string_view::npos)
      input_error("{}:{}: a comment that starts here never ends; the file seems truncated", file_, first_line);
    for (; at_ < end; ++at_) line_ += text_[at_] == '\n';
    at_ += 2;
  }

  Token next() {
    const char c = peek();
    const u64 first = at_;
    if (starts_name(c)) {
      while (continues_name(peek())) ++at_;
      return {TokenKind::kName, false, line_, since(first), 0};
    }
    // A modifier may start with a digit: tex.1d.
    const bool follows_name = at_ > 0 && continues_name(text_[at_ - 1]);
    if (c == '.' && (starts_name(peek(1)) || (follows_name && is_digit(peek(1))))) {
      ++at_;
      while (continues_name(peek()) || (peek() == ':' && peek(1) == ':' && continues_name(peek(2)))) {
        at_ += peek() == ':' ? 2 : 1;
      }
      return {TokenKind::kDotted, false, line_, text_.substr(first + 1, at_ - first - 1), 0};
    }
    if (is_digit(c)) return number();
    if (c == '"') return string();
    static constexpr std::string_view kPunctuation = "{}()[]<>,;:=+-*!|@&~?/";
    if (kPunctuation.find(c) == std::string_view::npos) {
      input_error("{}:{}: unexpected character {}; this does not look like PTX text", file_, line_,
                  c >= ' ' && c <= '~' ? fmt::format("'{}'", c) : fmt::format("0x{:02x}", static_cast<u8>(c)));
    }
    ++at_;
    return {TokenKind::kPunctuation, false, line_, since(first), 0};
  }

  Token string() {
    const u64 first = ++at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') ++at_;
    if (peek() != '"')
      input_error("{}:{}: a string that starts here never ends; the file seems truncated", file_, line_);
    const Token token{TokenKind::kString, false, line_, since(first), 0};
    ++at_;
    return token;
  }

  Token number() {
    const u64 first = at_;
    if (peek() == '0' && (peek(1) == 'f' || peek(1) == 'F' || peek(1) == 'd' || peek(1) == 'D')) return float_image();
    int base = 10;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
      base = 16;
    } else if (peek() == '0' && (peek(1) == 'b' || peek(1) == 'B')) {
      base = 2;
    } else if (peek() == '0' && is_digit(peek(1))) {
      base = 8;
    }
    if (base == 16 || base == 2) at_ += 2;
    const u64 digits = at_;
    while (continues_name(peek()) || (base == 10 && peek() == '.' && is_digit(peek(1)))) {
      const bool exponent = base == 10 && (peek() == 'e' || peek() == 'E') && (peek(1) == '-' || peek(1) == '+');
      at_ += exponent ? 2 : 1;
    }
    std::string_view spelling = since(digits);
    if (base == 10 && spelling.find_first_of(".eE") != std::string_view::npos) return decimal_float(first, spelling);
    if (!spelling.empty() && (spelling.back() == 'U' || spelling.back() == 'u')) spelling.remove_suffix(1);
    Token token{TokenKind::kInteger, false, line_, since(first), 0};
    const auto [end, error] = std::from_chars(spelling.data(), spelling.data() + spelling.size(), token.bits, base);
    if (error != std::errc{} || end != spelling.data() + spelling.size())
      input_error("{}:{}: '{}' is not a number that fits 64 bits", file_, line_, token.text);
    return token;
  }

  Token decimal_float(u64 first, std::string_view spelling) {
    double value = 0;
    const auto [end, error] = std::from_chars(spelling.data(), spelling.data() + spelling.size(), value);
    if (error != std::errc{} || end != spelling.data() + spelling.size())
      input_error("{}:{}: '{}' is not a floating-point number", file_, line_, since(first));
    return {TokenKind::kFloat, true, line_, since(first), std::bit_cast<u64>(value)};
  }

  /// 0f and eight hexadecimal digits, or 0d and sixteen: the exact bits.
  Token float_image() {
    const u64 first = at_;
    const bool is_f64 = peek(1) == 'd' || peek(1) == 'D';
    at_ += 2;
    while (continues_name(peek())) ++at_;
    const std::string_view digits = since(first + 2);
    Token token{TokenKind::kFloat, is_f64, line_, since(first), 0};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), token.bits, 16);
    if (error != std::errc{} || end != digits.data() + digits.size() || digits.size() != (is_f64 ? 16u : 8u))
      input_error("{}:{}: '{}' is not a floating-point constant: {} hexadecimal digits must follow", file_, line_,
                  token.text, is_f64 ? 16 : 8);
    return token;
  }

  std::string_view file_, text_;
  u64 at_ = 0;
  u32 line_ = 1;
};

}  // namespace

std::vector<Token> tokenize(std::string_view file, std::string_view text) {
  return Lexer(file, text).run();
}

}  // namespace terrace::ptx
