// SPDX-License-Identifier: MIT
#include "gpu/until.h"

#include "config/field_text.h"

namespace terrace {

std::optional<Until> parse_until(std::string_view text) {
  if (text == "completed") return Until{};
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return std::nullopt;
  const std::string_view what = text.substr(0, colon);
  const auto count = parse_integer(text.substr(colon + 1));
  if (!count || *count == 0 || (what != "cycles" && what != "instructions")) return std::nullopt;
  return Until{what == "cycles" ? Until::Kind::kCycles : Until::Kind::kInstructions, *count};
}

}  // namespace terrace
