// SPDX-License-Identifier: MIT
#include "claims/catalogue.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "engine/check.h"
#include "sweep/table_reader.h"
#include "text/suggest.h"
#include "text/tree.h"

namespace terrace {

namespace {

template <class T>
using Word = std::pair<std::string_view, T>;

constexpr std::array<Word<ClaimUnit>, 4> kUnits{{{"percent_change", ClaimUnit::kPercentChange},
                                                 {"ratio", ClaimUnit::kRatio},
                                                 {"absolute", ClaimUnit::kAbsolute},
                                                 {"ordering", ClaimUnit::kOrdering}}};
constexpr std::array<Word<ClaimDirection>, 3> kDirections{{{"increase", ClaimDirection::kIncrease},
                                                           {"decrease", ClaimDirection::kDecrease},
                                                           {"equal", ClaimDirection::kEqual}}};
constexpr std::array<Word<ClaimBound>, 7> kBounds{{{"approx", ClaimBound::kApprox},
                                                   {"eq", ClaimBound::kExact},
                                                   {"gt", ClaimBound::kAbove},
                                                   {"ge", ClaimBound::kAtLeast},
                                                   {"lt", ClaimBound::kBelow},
                                                   {"le", ClaimBound::kAtMost},
                                                   {"range", ClaimBound::kRange}}};
constexpr std::array<Word<ClaimCheck>, 4> kChecks{{{"simulation", ClaimCheck::kSimulation},
                                                   {"mechanism", ClaimCheck::kMechanism},
                                                   {"arithmetic", ClaimCheck::kArithmetic},
                                                   {"hardware", ClaimCheck::kHardware}}};

/// The nearest of the known words, or all of them.
std::string remedy(const std::string& word, const std::vector<std::string>& known) {
  const std::string suggestion = did_you_mean(word, known);
  return suggestion.empty() ? fmt::format("; choose one of {}", fmt::join(known, ", ")) : suggestion;
}

/// The value of one of a few words.
template <class T, std::size_t N>
T chosen(TableReader& table, const std::string& key, const std::array<Word<T>, N>& words, Mistakes& mistakes) {
  const std::string text = table.required(key);
  std::vector<std::string> known;
  for (const auto& [word, value] : words) {
    if (word == text) return value;
    known.emplace_back(word);
  }
  if (!text.empty())
    mistakes.add(table.line(), "{} = \"{}\" is not known{}", key, printable(text), remedy(text, known));
  return words.front().second;
}

class CatalogueReader {
 public:
  CatalogueReader(const std::string& path, Mistakes& mistakes) : mistakes_(mistakes) { paper_.path = path; }

  PaperClaims read(const Tree& document) {
    TableReader top(document, "the file", mistakes_);
    paper_.paper = top.required("paper");
    paper_.title = top.required("title");
    paper_.venue = top.required("venue");
    each_table(top, "workloads", mistakes_, [&](TableReader& table) {
      paper_.sets.push_back({table.required("name"), table.required("meaning"), whole(table, "count").value_or(0)});
    });
    each_table(top, "least", mistakes_, [&](TableReader& table) {
      paper_.least.push_back({table.texts("designs", {}), whole(table, "cycles").value_or(0),
                              flag(table, "search_ends"), table.required("reason")});
    });
    each_table(top, "claim", mistakes_, [&](TableReader& table) { paper_.claims.push_back(claim_of(table)); });
    if (paper_.claims.empty()) mistakes_.add(0, "has no [[claim]]");
    refuse_twins();
    return std::move(paper_);
  }

 private:
  std::optional<u64> whole(TableReader& table, const std::string& key) {
    const Tree* value = table.find(key);
    if (!value) return std::nullopt;
    if (const auto* count = std::get_if<u64>(&value->value)) return *count;
    mistakes_.add(value->line, "{} must be a whole number, not {}", key, value->text());
    return std::nullopt;
  }

  /// False where it is not there.
  bool flag(TableReader& table, const std::string& key) {
    const Tree* value = table.find(key);
    const auto* its = value ? std::get_if<bool>(&value->value) : nullptr;
    if (value && !its) mistakes_.add(value->line, "{} must be true or false, not {}", key, value->text());
    return its && *its;
  }

  PrintedClaim claim_of(TableReader& table) {
    PrintedClaim claim;
    claim.line = table.line();
    claim.id = table.required("id");
    claim.source = table.required("source");
    claim.kind = table.required("kind");
    claim.statement = table.required("statement");
    claim.metric = table.required("metric");
    claim.machine = table.required("machine");
    claim.dim = table.text("dim");
    claim.aggregate = table.text("aggregate");
    claim.notes = table.text("notes");
    claim.designs = table.texts("designs", {});
    claim.workloads = table.texts("workloads", {});
    claim.readings = table.texts("readings", {});
    table.find("points");  // further printed numbers, for readers
    claim.headline = flag(table, "headline");
    claim.unit = chosen(table, "unit", kUnits, mistakes_);
    claim.bound = chosen(table, "bound", kBounds, mistakes_);
    claim.check = chosen(table, "check", kChecks, mistakes_);
    if (!table.has("value")) mistakes_.add(claim.line, "[[claim]] lacks the key value");
    claim.value = table.number("value").value_or(0);
    read_range(table, claim);
    read_direction(table, claim);
    if (!claim.id.starts_with(paper_.paper + "."))
      mistakes_.add(claim.line, "the id \"{}\" must start with \"{}.\"", printable(claim.id), paper_.paper);
    return claim;
  }

  void read_range(TableReader& table, PrintedClaim& claim) {
    const std::optional<double> high = table.number("high");
    if (high.has_value() != (claim.bound == ClaimBound::kRange))
      mistakes_.add(claim.line, "{}: high belongs to bound = \"range\", and only to it", printable(claim.id));
    claim.high = high.value_or(claim.value);
    if (claim.high < claim.value)
      mistakes_.add(claim.line, "{}: the range ends at {}, below its start at {}", printable(claim.id), claim.high,
                    claim.value);
  }

  void read_direction(TableReader& table, PrintedClaim& claim) {
    constexpr std::string_view kOrder = "order:";
    const Tree* written = table.find("direction");
    const auto* text = written ? std::get_if<std::string>(&written->value) : nullptr;
    const bool order = text && text->starts_with(kOrder);
    if (order != (claim.unit == ClaimUnit::kOrdering))
      mistakes_.add(claim.line, "{}: unit = \"ordering\" and direction = \"order:...\" belong together",
                    printable(claim.id));
    if (!order) {
      claim.direction = chosen(table, "direction", kDirections, mistakes_);
      if (claim.value < 0 && claim.unit == ClaimUnit::kPercentChange)
        mistakes_.add(claim.line, "{}: value is the size of the change; direction says its sign", printable(claim.id));
      return;
    }
    claim.direction = ClaimDirection::kOrder;
    claim.order_text = text->substr(kOrder.size());
    if (claim.order_text.find("=>") != claim.order_text.npos) return;
    claim.order = parse_order(claim.order_text);
    if (claim.order.empty())
      mistakes_.add(written->line, "direction: \"{}\" is no order such as order:a>b>=c,d", printable(*text));
  }

  void refuse_twins() {
    std::set<std::string> seen;
    for (const PrintedClaim& claim : paper_.claims)
      if (!seen.insert(claim.id).second)
        mistakes_.add(claim.line, "two claims are called \"{}\"; rename one", printable(claim.id));
  }

  PaperClaims paper_;
  Mistakes& mistakes_;
};

std::string quantity_text(const PrintedClaim& claim, double value) {
  if (claim.unit == ClaimUnit::kPercentChange || claim.dim == "percent") return short_number(value) + " %";
  if (claim.unit == ClaimUnit::kRatio) return short_number(value) + "x";
  return short_number(value) + (claim.dim.empty() ? "" : " " + claim.dim);
}

std::string_view bound_words(ClaimBound bound) {
  switch (bound) {
    case ClaimBound::kAbove:
      return "more than ";
    case ClaimBound::kAtLeast:
      return "at least ";
    case ClaimBound::kBelow:
      return "less than ";
    case ClaimBound::kAtMost:
      return "at most ";
    default:
      return "";
  }
}

}  // namespace

std::vector<std::string> ClaimOrder::items() const {
  std::vector<std::string> all;
  for (const auto& group : groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

const PrintedClaim* PaperClaims::find(std::string_view id) const {
  const auto found = std::find_if(claims.begin(), claims.end(), [&](const auto& claim) { return claim.id == id; });
  return found == claims.end() ? nullptr : &*found;
}

u64 PaperClaims::workloads_of(const PrintedClaim& claim) const {
  u64 total = 0;
  for (const std::string& name : claim.workloads) {
    const auto set = std::find_if(sets.begin(), sets.end(), [&](const auto& its) { return its.name == name; });
    if (set != sets.end() && set->count == 0) return 0;
    total += set == sets.end() ? 1 : set->count;
  }
  return total;
}

const std::vector<std::string>& claim_papers() {
  static const std::vector<std::string> kPapers = {"mask", "simt", "dws", "cdsearch", "vc"};
  return kPapers;
}

ClaimOrder parse_order(std::string_view text) {
  ClaimOrder order{{{}}, {}};
  std::string item;
  const auto end_item = [&] {
    order.groups.back().push_back(item);
    item.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',') {
      end_item();
    } else if (text[i] == '>') {
      end_item();
      const bool equal = i + 1 < text.size() && text[i + 1] == '=';
      i += equal ? 1 : 0;
      order.strict.push_back(!equal);
      order.groups.emplace_back();
    } else {
      item += text[i];
    }
  }
  end_item();
  const std::vector<std::string> items = order.items();
  const bool whole = std::none_of(items.begin(), items.end(), [](const auto& its) { return its.empty(); });
  return whole && order.groups.size() > 1 ? order : ClaimOrder{};
}

PaperClaims parse_claims(const std::string& path, const std::string& text) {
  Mistakes mistakes(path);
  PaperClaims paper;
  mistakes.guard(0, [&] { paper = CatalogueReader(path, mistakes).read(parse_toml(text, path)); });
  mistakes.raise();
  return paper;
}

PaperClaims read_claims(const std::string& data_root, const std::string& paper) {
  const std::vector<std::string>& known = claim_papers();
  if (std::find(known.begin(), known.end(), paper) == known.end())
    input_error("no paper named \"{}\"{}", printable(paper), remedy(paper, known));
  const std::string path = fmt::format("{}/configs/claims/{}.toml", data_root, paper);
  PaperClaims claims = parse_claims(path, read_file(path));
  if (claims.paper != paper) input_error("{}: paper = \"{}\" must be the file's name", path, printable(claims.paper));
  return claims;
}

std::string short_number(double value) {
  const double size = std::fabs(value);
  std::string text = size >= 1000  ? fmt::format("{:.0f}", value)
                     : size >= 100 ? fmt::format("{:.1f}", value)
                     : size >= 10  ? fmt::format("{:.2f}", value)
                                   : fmt::format("{:.3f}", value);
  if (text.find('.') == text.npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string printed_text(const PrintedClaim& claim) {
  if (claim.unit == ClaimUnit::kOrdering) {
    std::string text;
    for (const char c : claim.order_text) {
      const bool sign = c == '>' || c == '=';
      if (sign && !text.empty() && text.back() != '>' && text.back() != '=') text += ' ';
      if (!sign && !text.empty() && (text.back() == '>' || text.back() == '=' || text.back() == ',')) text += ' ';
      text += c;
    }
    return text;
  }
  if (claim.bound == ClaimBound::kRange)
    return fmt::format("{} to {}", short_number(claim.value), quantity_text(claim, claim.high));
  const bool change = claim.unit == ClaimUnit::kPercentChange;
  const bool bounded = !bound_words(claim.bound).empty();
  if (!change || claim.direction == ClaimDirection::kEqual || claim.value == 0)
    return std::string(bound_words(claim.bound)) + quantity_text(claim, claim.value);
  if (bounded)
    return fmt::format("{}{} {}", bound_words(claim.bound), quantity_text(claim, claim.value),
                       claim.direction == ClaimDirection::kDecrease ? "less" : "more");
  return (claim.direction == ClaimDirection::kDecrease ? "-" : "+") + quantity_text(claim, claim.value);
}

std::string_view check_name(ClaimCheck check) {
  for (const auto& [word, value] : kChecks)
    if (value == check) return word;
  SIM_CHECK(false, "a way of checking has no name");
}

std::string_view unit_name(ClaimUnit unit) {
  for (const auto& [word, value] : kUnits)
    if (value == unit) return word;
  SIM_CHECK(false, "a unit has no name");
}

}  // namespace terrace
