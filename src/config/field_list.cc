// SPDX-License-Identifier: MIT
#include "config/field_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <map>

#include "config/field_text.h"
#include "config/registry.h"
#include "engine/check.h"

namespace terrace {

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", c);
    else
      out += c;
  }
  return out + "\"";
}

class Lister final : public TextFields {
 public:
  explicit Lister(bool only_in_use) : only_in_use_(only_in_use) {}
  std::vector<FieldInfo> fields;

 protected:
  void field(FieldInfo info) override { fields.push_back(std::move(info)); }
  bool only_policy_in_use() const override { return only_in_use_; }

 private:
  bool only_in_use_;
};

}  // namespace

void TextFields::on_bool(std::string_view name, bool& value, std::string_view doc) {
  field({path(name), value ? "true" : "false", std::string(kBoolPhrase), std::string(doc)});
}

void TextFields::on_integer(std::string_view name, u64& value, Range range, std::string_view doc) {
  SIM_CHECK(value >= range.low && value <= range.high, "{} = {} is outside its own range", path(name), value);
  field({path(name), fmt::format("{}", value), integer_phrase(range), std::string(doc)});
}

void TextFields::on_fraction(std::string_view name, Fraction& value, Range millionths, std::string_view doc) {
  field({path(name), fraction_text(value), fraction_phrase(millionths), std::string(doc)});
}

void TextFields::on_string(std::string_view name, std::string& value, std::string_view doc) {
  field({path(name), quoted(value), std::string(kStringPhrase), std::string(doc)});
}

void TextFields::on_list(std::string_view name, std::vector<u64>& value, Range each, std::string_view doc) {
  field({path(name), fmt::format("[{}]", fmt::join(value, ", ")), list_phrase(each), std::string(doc)});
}

void TextFields::on_choice(std::string_view name, u32& value, std::span<const std::string_view> spellings,
                           std::string_view doc) {
  field({path(name), quoted(spellings[value]), choice_phrase(spellings), std::string(doc)});
}

void TextFields::on_use(std::string& use, const PolicyTable& table, std::string_view doc) {
  const std::vector<std::string> names = table.names();
  const std::vector<std::string_view> spellings(names.begin(), names.end());
  field({path("use"), quoted(use), choice_phrase(spellings), std::string(doc)});
}

std::vector<FieldInfo> fields_of(Described target, bool only_in_use) {
  Lister lister(only_in_use);
  target.describe(lister);
  return std::move(lister.fields);
}

std::string resolved_toml(Described target) {
  // A key that follows a group in its struct must still stand before that group's header: gather by group first.
  std::vector<std::string> order{""};
  std::map<std::string, std::string> lines;
  for (const FieldInfo& field : fields_of(target, true)) {
    const std::size_t dot = field.path.rfind('.');
    const std::string group = dot == field.path.npos ? "" : field.path.substr(0, dot);
    if (!lines.contains(group) && !group.empty()) order.push_back(group);
    lines[group] += fmt::format("{} = {}\n", field.path.substr(dot + 1), field.value);
  }
  std::string text;
  for (const std::string& group : order) {
    if (!lines.contains(group)) continue;
    if (!group.empty()) text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", group);
    text += lines[group];
  }
  return text;
}

}  // namespace terrace
