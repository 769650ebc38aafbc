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
  if (!count || *count == 0) return std::nullopt;
  if (what == "cycles") return Until{Until::Kind::kCycles, *count};
  if (what == "instructions") return Until{Until::Kind::kInstructions, *count};
  if (what == "window") return Until{Until::Kind::kWindow, *count};
  return std::nullopt;
}

bool is_window(std::string_view until) {
  const std::optional<Until> parsed = parse_until(until);
  return parsed && parsed->kind == Until::Kind::kWindow;
}

}  // namespace terrace
