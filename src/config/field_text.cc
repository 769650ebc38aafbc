// SPDX-License-Identifier: MIT
#include "config/field_text.h"

#include <fmt/format.h>

#include <charconv>

namespace terrace {

namespace {

std::string bounds(Range range) {
  if (range.high >= Range::kHighest) return range.low == 0 ? "" : fmt::format(" from {}", range.low);
  return fmt::format(" from {} to {}", range.low, range.high);
}

}  // namespace

std::string integer_phrase(Range range) {
  return "a whole number" + bounds(range);
}

std::string fraction_phrase(Range millionths) {
  if (millionths.high >= Range::kHighest && millionths.low == 0) return "a decimal";
  return fmt::format("a decimal from {} to {}", fraction_text({millionths.low}), fraction_text({millionths.high}));
}

std::string list_phrase(Range each) {
  return "a list of whole numbers" + bounds(each);
}

std::string choice_phrase(std::span<const std::string_view> spellings) {
  std::string phrase;
  for (const std::string_view spelling : spellings)
    phrase += (phrase.empty() ? "" : ", ") + fmt::format("\"{}\"", spelling);
  return spellings.size() == 1 ? phrase : "one of " + phrase;
}

std::string fraction_text(Fraction value) {
  std::string text = fmt::format("{}.{:06}", value.millionths / Fraction::kOne, value.millionths % Fraction::kOne);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text += '0';
  return text;
}

std::optional<u64> parse_integer(std::string_view text) {
  const bool hex = text.starts_with("0x");
  std::string digits;
  char last = '_';  // '_' may stand only between digits
  for (const char c : hex ? text.substr(2) : text) {
    if (c == '_' && last == '_') return std::nullopt;
    if (c != '_') digits += c;
    last = c;
  }
  if (last == '_') return std::nullopt;
  u64 value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, hex ? 16 : 10);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::optional<Fraction> parse_fraction(std::string_view text) {
  const std::size_t point = text.find('.');
  std::string after(point == text.npos ? "" : text.substr(point + 1));
  const std::string_view before = text.substr(0, point);
  if (after.size() > 6 || (before.empty() && after.empty())) return std::nullopt;
  after.resize(6, '0');
  const auto whole = before.empty() ? std::optional<u64>(0) : parse_integer(before);
  if (before.starts_with("0x") || after.find('_') != after.npos) return std::nullopt;
  const auto part = parse_integer(after);
  if (!whole || !part || *whole > Range::kHighest / Fraction::kOne) return std::nullopt;
  return Fraction{*whole * Fraction::kOne + *part};
}

}  // namespace terrace
