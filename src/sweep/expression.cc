// SPDX-License-Identifier: MIT
#include "sweep/expression.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "engine/check.h"
#include "sweep/expression_node.h"
#include "sweep/interval.h"

namespace terrace {

namespace {

using Node = Expression::Node;

/// What an evaluation rests on.
struct Context {
  ResultSource& source;
  bool paired;  // points are repeated under several seeds, and the expression leaves that to us
};

Values scalar(double value) {
  Values values;
  values.rows[{}] = value;
  return values;
}

double combine(const std::string& op, double a, double b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "/") return a / b;
  if (op == "and") return a != 0 && b != 0;
  if (op == ">") return a > b;
  if (op == ">=") return a >= b;
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  SIM_CHECK(op == "==", "an operator {} was parsed", op);
  return a == b;
}

Labels labels_of(const std::vector<std::string>& names, const std::vector<std::string>& values) {
  Labels labels;
  for (std::size_t i = 0; i < names.size(); ++i) labels[names[i]] = values[i];
  return labels;
}

/// Nothing for a row that was not decided over seeds.
const Verdict* verdict_of(const Values& values, const std::vector<std::string>& row) {
  const auto found = values.verdicts.find(row);
  return found == values.verdicts.end() ? nullptr : &found->second;
}

/// Several comparisons together: one that is certain may settle it (a 0 for "and", a 1 for "or"); else one that is
/// within noise leaves all of it within noise.
class Ballot {
 public:
  explicit Ballot(bool settles) : settles_(settles) {}
  void add(double value, const Verdict* verdict) {
    const bool noise = verdict && verdict->within_noise;
    if (verdict) seeds_ = std::max(seeds_, verdict->seeds);
    noise_ |= noise;
    settled_ |= !noise && (value != 0) == settles_;
  }
  std::optional<Verdict> verdict() const {
    if (seeds_ == 0) return std::nullopt;
    return Verdict{seeds_, noise_ && !settled_};
  }

 private:
  bool settles_, noise_ = false, settled_ = false;
  u64 seeds_ = 0;
};

/// The natural join: rows pair up when they agree in every label that both sides have.
Values join(const std::string& op, const Values& left, const Values& right) {
  Values result;
  result.labels = left.labels;
  std::vector<std::pair<std::size_t, std::size_t>> common;
  std::vector<std::size_t> extra;
  for (std::size_t j = 0; j < right.labels.size(); ++j) {
    const auto found = std::find(left.labels.begin(), left.labels.end(), right.labels[j]);
    if (found != left.labels.end()) {
      common.emplace_back(static_cast<std::size_t>(found - left.labels.begin()), j);
    } else {
      extra.push_back(j);
      result.labels.push_back(right.labels[j]);
    }
  }
  std::multimap<std::vector<std::string>, std::pair<const std::vector<std::string>*, double>> by_key;
  for (const auto& [row, value] : right.rows) {
    std::vector<std::string> key;
    for (const auto& [i, j] : common) key.push_back(row[j]);
    by_key.emplace(std::move(key), std::pair(&row, value));
  }
  std::set<const std::vector<std::string>*> used;
  for (const auto& [row, value] : left.rows) {
    std::vector<std::string> key;
    for (const auto& [i, j] : common) key.push_back(row[i]);
    const auto [first, last] = by_key.equal_range(key);
    if (first == last) input_error("no counterpart for {}", labels_text(labels_of(left.labels, row)));
    for (auto other = first; other != last; ++other) {
      std::vector<std::string> joined = row;
      for (const std::size_t j : extra) joined.push_back((*other->second.first)[j]);
      result.rows[joined] = combine(op, value, other->second.second);
      if (op == "and") {
        Ballot ballot(false);
        ballot.add(value, verdict_of(left, row));
        ballot.add(other->second.second, verdict_of(right, *other->second.first));
        if (const auto verdict = ballot.verdict()) result.verdicts[joined] = *verdict;
      }
      used.insert(other->second.first);
    }
  }
  for (const auto& [row, value] : right.rows)
    if (!used.contains(&row)) input_error("no counterpart for {}", labels_text(labels_of(right.labels, row)));
  return result;
}

bool has_label(const Values& values, std::string_view label) {
  return std::find(values.labels.begin(), values.labels.end(), label) != values.labels.end();
}

/// Over several seeds a comparison holds when the interval of the differences, each of one seed, lies on its side.
Values compare(const std::string& op, const Values& left, const Values& right, const Context& context) {
  if (!context.paired || (!has_label(left, kSeedLabel) && !has_label(right, kSeedLabel))) return join(op, left, right);
  const GroupedValues differences = group_over(kSeedLabel, join("-", left, right));
  Values result;
  result.labels = differences.labels;
  for (const auto& [key, values] : differences.rows) {
    const Interval difference = interval_of(values);
    // The same in every seed is no noise.
    const bool noise = difference.half_width > 0 && difference.holds(0);
    result.rows[key] = noise ? 0 : combine(op, difference.mean, 0);
    if (difference.known()) result.verdicts[key] = {difference.count, noise};
  }
  return result;
}

/// By bisection: the mean of sorted numbers is where the product of their ratios to it is one. Neither logarithms,
/// which would make it depend on the host's library, nor overflow: small and large ratios take turns.
double geometric_mean(const std::vector<double>& sorted) {
  if (!(sorted.front() > 0)) input_error("gmean of {}: a geometric mean needs positive numbers", sorted.front());
  double low = sorted.front(), high = sorted.back();
  while (true) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return high;
    double product = 1;
    for (std::size_t first = 0, last = sorted.size(); first < last;)
      product *= (product > 1 ? sorted[first++] : sorted[--last]) / middle;
    (product > 1 ? low : high) = middle;
  }
}

/// Every host rounds it alike.
double square_root(double x) {
  if (x < 0) input_error("sqrt of {}: a square root needs a number that is not negative", x);
  return std::sqrt(x);
}

double aggregate(const std::string& name, std::vector<double> values) {
  const auto count = static_cast<double>(values.size());
  if (name == "count") return count;
  if (name == "min") return *std::min_element(values.begin(), values.end());
  if (name == "max") return *std::max_element(values.begin(), values.end());
  std::sort(values.begin(), values.end());  // sums do not depend on the order of rows
  if (name == "median") return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
  double sum = 0;
  if (name == "gmean") return geometric_mean(values);
  for (const double value : values) sum += value;
  return name == "sum" ? sum : sum / count;
}

/// Whether all (min) or any (max) of a group's comparisons hold, where they were decided over seeds.
void add_verdict(const Node& node, const Values& inner, const std::vector<const std::vector<std::string>*>& group,
                 const std::vector<std::string>& key, Values& into) {
  Ballot ballot(node.word == "max");
  for (const auto* row : group) ballot.add(inner.rows.at(*row), verdict_of(inner, *row));
  if (const auto verdict = ballot.verdict()) into.verdicts[key] = *verdict;
}

Values aggregate_rows(const Node& node, const Values& inner, const Context& context) {
  Values result;
  std::vector<std::size_t> kept;
  std::vector<std::string> labels = node.words;
  // Each seed by itself: what is done with one run is done with each, and the interval comes last.
  if (context.paired && has_label(inner, kSeedLabel)) labels.emplace_back(kSeedLabel);
  for (const std::string& label : labels) {
    const auto found = std::find(inner.labels.begin(), inner.labels.end(), label);
    if (found == inner.labels.end()) input_error("{}: its values have no label \"{}\"", node.word, label);
    kept.push_back(static_cast<std::size_t>(found - inner.labels.begin()));
    result.labels.push_back(label);
  }
  std::map<std::vector<std::string>, std::vector<const std::vector<std::string>*>> groups;
  for (const auto& [row, value] : inner.rows) {
    std::vector<std::string> key;
    for (const std::size_t i : kept) key.push_back(row[i]);
    groups[key].push_back(&row);
  }
  if (groups.empty()) input_error("{}: no run matches", node.word);
  for (const auto& [key, group] : groups) {
    std::vector<double> values;
    for (const auto* row : group) values.push_back(inner.rows.at(*row));
    result.rows[key] = aggregate(node.word, std::move(values));
    if (node.word == "min" || node.word == "max") add_verdict(node, inner, group, key, result);
  }
  return result;
}

/// A selection may name several values of a label: "three|four".
std::vector<std::string> alternatives(const std::string& wanted) {
  std::vector<std::string> values;
  for (std::size_t from = 0; from <= wanted.size();) {
    const std::size_t bar = std::min(wanted.find('|', from), wanted.size());
    values.push_back(wanted.substr(from, bar - from));
    from = bar + 1;
  }
  return values;
}

bool one_of(const std::string& value, const std::vector<std::string>& values) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

Values quantity_values(const Node& node, ResultSource& source) {
  std::set<std::string> names;
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < source.points(); ++i) {
    const Labels& labels = source.labels(i);
    const bool matches = std::all_of(node.selector.begin(), node.selector.end(), [&](const auto& wanted) {
      const auto found = labels.find(wanted.first);
      return found != labels.end() && one_of(found->second, alternatives(wanted.second));
    });
    if (!matches) continue;
    chosen.push_back(i);
    for (const auto& [name, value] : labels) names.insert(name);
  }
  for (const auto& [label, value] : node.selector)
    if (alternatives(value).size() == 1) names.erase(label);
  Values values;
  values.labels.assign(names.begin(), names.end());
  u64 missing = 0;
  std::string first;
  for (const std::size_t i : chosen) {
    const Labels& labels = source.labels(i);
    std::vector<std::string> row;
    for (const std::string& name : values.labels) {
      const auto found = labels.find(name);
      row.push_back(found == labels.end() ? "" : found->second);
    }
    const std::optional<double> value = source.value(i, node.quantity);
    if (value)
      values.rows[row] = *value;
    else if (missing++ == 0)
      first = labels_text(labels);
  }
  if (chosen.empty()) input_error("{}: no run of the sweep matches", node.quantity.text());
  if (missing != 0)
    input_error("{}: {} of {} runs have no value, the first is {}", node.quantity.text(), missing, chosen.size(),
                first);
  return values;
}

Values map_rows(Values values, double (*act)(double)) {
  values.verdicts.clear();
  for (auto& [row, value] : values.rows) value = act(value);
  return values;
}

Values evaluate_node(const Node& node, const Context& context) {
  const auto child = [&](std::size_t i) { return evaluate_node(*node.children[i], context); };
  switch (node.kind) {
    case Node::Kind::kNumber:
      return scalar(node.number);
    case Node::Kind::kQuantity:
      return quantity_values(node, context.source);
    case Node::Kind::kNegate:
      return map_rows(child(0), [](double x) { return -x; });
    case Node::Kind::kAbsolute:
      return map_rows(child(0), [](double x) { return x < 0 ? -x : x; });
    case Node::Kind::kSquareRoot:
      return map_rows(child(0), square_root);
    case Node::Kind::kBinary: {
      const Values left = child(0);
      return join(node.word, left, child(1));
    }
    case Node::Kind::kAggregate:
      return aggregate_rows(node, child(0), context);
    case Node::Kind::kChain:
      break;
  }
  std::optional<Values> all;
  Values left = child(0);
  for (std::size_t i = 0; i < node.words.size(); ++i) {
    Values right = child(i + 1);
    Values link = compare(node.words[i], left, right, context);
    all = all ? join("and", *all, link) : std::move(link);
    left = std::move(right);
  }
  return *all;
}

/// Whether an aggregation keeps the seed by name: then it is a label like any other.
bool names_seed(const Node& node) {
  return std::find(node.words.begin(), node.words.end(), kSeedLabel) != node.words.end() ||
         std::any_of(node.children.begin(), node.children.end(), [](const auto& child) { return names_seed(*child); });
}

/// Whether any two points differ in nothing but their seed.
bool repeated(const ResultSource& source) {
  std::set<Labels> seen;
  for (std::size_t i = 0; i < source.points(); ++i) {
    Labels labels = source.labels(i);
    labels.erase(std::string(kSeedLabel));
    if (!seen.insert(std::move(labels)).second) return true;
  }
  return false;
}

void collect_choices(const Node& node, std::vector<std::pair<std::string, std::string>>& into) {
  for (const auto& [label, wanted] : node.selector)
    for (const std::string& value : alternatives(wanted)) into.emplace_back(label, value);
  for (const auto& child : node.children) collect_choices(*child, into);
}

}  // namespace

std::string Quantity::text() const {
  const std::string quoted = pattern.empty() ? "" : fmt::format("\"{}\"", pattern);
  if (tenant) return fmt::format("{}({}{}{})", name, quoted, quoted.empty() ? "" : ", ", *tenant);
  return quoted.empty() ? name : fmt::format("{}({})", name, quoted);
}

Expression::Expression(const std::string& text) : root_(parse_expression(text)) {}
Expression::~Expression() = default;
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;

Values Expression::evaluate(ResultSource& source) const {
  return evaluate_node(*root_, {source, repeated(source) && !names_seed(*root_)});
}

GroupedValues group_over(std::string_view label, const Values& values) {
  GroupedValues groups{values.labels, {}};
  const auto found = std::find(groups.labels.begin(), groups.labels.end(), label);
  const auto place = found - groups.labels.begin();
  const bool there = found != groups.labels.end();
  if (there) groups.labels.erase(found);
  for (const auto& [row, value] : values.rows) {
    std::vector<std::string> key = row;
    if (there) key.erase(key.begin() + place);
    groups.rows[key].push_back(value);
  }
  return groups;
}

std::vector<std::pair<std::string, std::string>> Expression::choices() const {
  std::vector<std::pair<std::string, std::string>> all;
  collect_choices(*root_, all);
  return all;
}

std::string labels_text(const Labels& labels) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : labels)
    if (!value.empty()) parts.push_back(name + "=" + value);
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace terrace
