// SPDX-License-Identifier: MIT
#include "config/assign.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "config/field_text.h"
#include "config/path_fields.h"
#include "config/registry.h"
#include "engine/check.h"
#include "text/suggest.h"

namespace terrace {

namespace {

std::string_view without_quotes(std::string_view text) {
  const bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.front() == text.back();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

/// Splits at commas that stand outside brackets.
std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t from = 0;
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    depth += (text[at] == '[') - (text[at] == ']');
    if (text[at] != ',' || depth != 0) continue;
    parts.push_back(text.substr(from, at - from));
    from = at + 1;
  }
  parts.push_back(text.substr(from));
  return parts;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Finds the field and sets it; remembers what other keys there are, for the sentence when there is no such field.
class Assigner final : public PathFields {
 public:
  Assigner(const Given& given, std::string_view shown_under) : given_(given), shown_under_(shown_under) {}

  void run(Described target) {
    target.describe(*this);
    if (!found_) refuse_unknown_key();
  }

 protected:
  void on_bool(std::string_view name, bool& value, std::string_view) override {
    if (!here(name)) return;
    const bool yes = bare() == "true", no = bare() == "false";
    if (const auto* typed = std::get_if<bool>(&given_.value.value))
      value = *typed;
    else if (yes || no)
      value = yes;
    else
      refuse(kBoolPhrase);
  }

  void on_integer(std::string_view name, u64& value, Range range, std::string_view) override {
    if (!here(name)) return;
    const auto number = integer(given_.value, bare());
    if (!number || *number < range.low || *number > range.high) refuse(integer_phrase(range));
    value = *number;
  }

  void on_fraction(std::string_view name, Fraction& value, Range millionths, std::string_view) override {
    if (!here(name)) return;
    const auto number = fraction();
    if (!number || number->millionths < millionths.low || number->millionths > millionths.high)
      refuse(fraction_phrase(millionths) + " with at most six digits after the point");
    value = *number;
  }

  void on_string(std::string_view name, std::string& value, std::string_view) override {
    if (!here(name)) return;
    value = word(kStringPhrase);
  }

  void on_list(std::string_view name, std::vector<u64>& value, Range each, std::string_view) override {
    if (!here(name)) return;
    std::vector<u64> numbers;
    const auto take = [&](std::optional<u64> number, std::string_view text) {
      if (!number || *number < each.low || *number > each.high)
        input_error("{}: {} must be {}, and holds {}", where(), shown(), list_phrase(each), printable(text));
      numbers.push_back(*number);
    };
    if (given_.bare_text) {
      std::string_view text = bare();
      if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
      if (!trim(text).empty())
        for (const auto part : split_at_commas(text)) take(parse_integer(trim(part)), trim(part));
    } else {
      if (!given_.value.is_list()) refuse(list_phrase(each));
      for (const Tree& item : given_.value.items()) take(integer(item, ""), item.text());
    }
    value = std::move(numbers);
  }

  void on_choice(std::string_view name, u32& value, std::span<const std::string_view> spellings,
                 std::string_view) override {
    if (!here(name)) return;
    const std::string chosen = word(choice_phrase(spellings));
    const auto found = std::find(spellings.begin(), spellings.end(), chosen);
    const std::vector<std::string> known(spellings.begin(), spellings.end());
    if (found == spellings.end()) refuse(choice_phrase(spellings), did_you_mean(chosen, known));
    value = static_cast<u32>(found - spellings.begin());
  }

  void on_use(std::string& use, const PolicyTable& table, std::string_view) override {
    slots_.emplace(group_path(), &table);
    if (!here("use")) return;
    const std::string chosen = word("the name of a " + std::string(table.slot().name));
    if (!table.entries().contains(chosen)) input_error("{}: {}: {}", where(), shown(), table.unknown(chosen));
    use = chosen;
  }

  void enter(std::string_view name, std::string_view doc) override {
    PathFields::enter(name, doc);
    groups_.push_back(group_path());
  }

 private:
  bool here(std::string_view name) {
    known_.push_back(path(name));
    if (found_ || known_.back() != given_.path) return false;
    return found_ = true;
  }

  std::string_view bare() const {
    return given_.bare_text ? std::string_view(std::get<std::string>(given_.value.value)) : std::string_view();
  }

  std::optional<u64> integer(const Tree& value, std::string_view text) const {
    if (given_.bare_text) return parse_integer(text);
    const auto* number = std::get_if<u64>(&value.value);
    return number ? std::optional(*number) : std::nullopt;
  }

  std::optional<Fraction> fraction() const {
    if (given_.bare_text) return parse_fraction(bare());
    if (const auto* whole = std::get_if<u64>(&given_.value.value)) return parse_fraction(fmt::format("{}", *whole));
    const auto* real = std::get_if<double>(&given_.value.value);
    if (!real || !(*real >= 0 && *real <= 1e9)) return std::nullopt;
    // Dividing is rounded to nearest: equality holds just when the file wrote that many millionths.
    const auto millionths = static_cast<u64>(*real * 1e6 + 0.5);
    if (static_cast<double>(millionths) / 1e6 != *real) return std::nullopt;
    return Fraction{millionths};
  }

  std::string word(std::string_view phrase) const {
    if (given_.bare_text) return std::string(without_quotes(bare()));
    const auto* text = std::get_if<std::string>(&given_.value.value);
    if (!text) refuse(phrase);
    return *text;
  }

  std::string where() const { return given_.origin.text(); }
  std::string shown() const {
    return printable((shown_under_.empty() ? "" : std::string(shown_under_) + ".") + given_.path);
  }

  [[noreturn]] void refuse(std::string_view phrase, std::string_view suggestion = "") const {
    const std::string_view text = bare();
    const bool number = !text.empty() && (parse_integer(text) || parse_fraction(text));
    input_error("{}: {} must be {}, not {}{}", where(), shown(), phrase,
                number ? std::string(text) : given_.value.text(), suggestion);
  }

  void refuse_unknown_key() const {
    if (std::find(groups_.begin(), groups_.end(), given_.path) != groups_.end()) {
      if (given_.value.is_table()) return;  // an empty table: it sets nothing
      const char* remedy = slots_.contains(given_.path) ? "; set its key \"use\"" : "; set one of its keys";
      input_error("{}: {} is a group of keys{}", where(), shown(), remedy);
    }
    for (const auto& [slot, table] : slots_) {
      if (!given_.path.starts_with(slot + ".")) continue;
      const std::string rest = given_.path.substr(slot.size() + 1);
      const std::string policy = rest.substr(0, rest.find('.'));
      if (policy != rest && !table->entries().contains(policy))
        input_error("{}: {}: {}", where(), shown(), table->unknown(policy));
    }
    input_error("{}: {} is not a known key{}", where(), shown(), suggestion());
  }

  /// A sibling by its own name, as it would be corrected in place; otherwise the whole path of a key elsewhere.
  std::string suggestion() const {
    const auto dot = given_.path.rfind('.');
    const std::string parent = dot == given_.path.npos ? "" : given_.path.substr(0, dot + 1);
    std::vector<std::string> siblings;
    for (const auto* names : {&known_, &groups_})
      for (const std::string& name : *names)
        if (name.starts_with(parent) && name.find('.', parent.size()) == name.npos)
          siblings.push_back(name.substr(parent.size()));
    const std::string in_place = did_you_mean(given_.path.substr(parent.size()), siblings);
    if (!in_place.empty()) return in_place;
    const std::string elsewhere = did_you_mean(given_.path, known_);
    if (!elsewhere.empty() || known_.size() > 12) return elsewhere;
    // Few keys, as in a workload's parameters: name them all.
    return known_.empty() ? "; there are none" : fmt::format("; the keys are {}", fmt::join(known_, ", "));
  }

  const Given& given_;
  std::string_view shown_under_;
  bool found_ = false;
  std::vector<std::string> known_, groups_;
  std::map<std::string, const PolicyTable*> slots_;
};

}  // namespace

std::string Origin::text() const {
  return line == 0 ? source : fmt::format("{}:{}", source, line);
}

void assign(Described target, const Given& given, std::string_view shown_under) {
  Assigner(given, shown_under).run(target);
}

Given split_assignment(std::string_view text, std::string_view option) {
  const std::size_t equals = text.find('=');
  const std::string_view key = trim(text.substr(0, equals));
  if (equals == text.npos || key.empty()) input_error("{}: \"{}\" is not of the form key=value", option, text);
  return {.path = std::string(key),
          .value = Tree(trim(text.substr(equals + 1))),
          .bare_text = true,
          .origin = {std::string(option), 0}};
}

std::vector<Given> split_assignments(std::string_view list, std::string_view option) {
  std::vector<Given> all;
  for (const std::string_view part : split_at_commas(list)) {
    Given given = split_assignment(part, option);
    if (std::any_of(all.begin(), all.end(), [&](const Given& seen) { return seen.path == given.path; }))
      input_error("{}: \"{}\" gives {} twice; give it once", option, list, given.path);
    all.push_back(std::move(given));
  }
  return all;
}

}  // namespace terrace
