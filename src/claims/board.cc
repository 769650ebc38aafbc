// SPDX-License-Identifier: MIT
#include "claims/board.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/check.h"
#include "sweep/mix_name.h"
#include "text/suggest.h"

namespace terrace {

namespace {

/// Passes values on and remembers which points were asked for: what a claim rests on.
class Witness final : public ResultSource {
 public:
  explicit Witness(ResultSource& source) : source_(source) {}
  std::size_t points() const override { return source_.points(); }
  const Labels& labels(std::size_t point) const override { return source_.labels(point); }
  std::optional<double> value(std::size_t point, const Quantity& quantity) override {
    asked_.insert(point);
    return source_.value(point, quantity);
  }

  /// How many values a label has among the points asked for.
  u64 count(const std::string& label) const {
    std::set<std::string> values;
    for (const std::size_t point : asked_)
      if (const auto found = labels(point).find(label); found != labels(point).end()) values.insert(found->second);
    return values.size();
  }
  std::string first(const std::string& label) const {
    for (const std::size_t point : asked_)
      if (const auto found = labels(point).find(label); found != labels(point).end()) return found->second;
    return "";
  }
  std::optional<double> plain(std::size_t point, const char* name) {
    return source_.value(point, {name, std::nullopt, ""});
  }
  template <class Act>
  void each_run(Act&& act) {
    for (const std::size_t point : asked_)
      if (const auto cycles = plain(point, "cycles")) act(point, static_cast<u64>(*cycles));
  }

 private:
  ResultSource& source_;
  std::set<std::size_t> asked_;
};

/// The values of an expression by the labels it keeps; seeds together.
using Rows = std::map<std::string, Interval>;

/// Which labels tell the rows apart.
std::vector<std::size_t> telling_labels(const GroupedValues& groups) {
  std::vector<std::size_t> telling;
  for (std::size_t i = 0; i < groups.labels.size(); ++i) {
    std::set<std::string> values;
    for (const auto& [key, numbers] : groups.rows) values.insert(key[i]);
    if (values.size() > 1) telling.push_back(i);
  }
  // A mix stands in one list: its name is enough.
  const auto is = [&](const char* label) { return [&, label](std::size_t i) { return groups.labels[i] == label; }; };
  if (std::any_of(telling.begin(), telling.end(), is("mix"))) std::erase_if(telling, is("list"));
  return telling;
}

Rows rows_of(const std::string& expression, ResultSource& results) {
  const GroupedValues groups = group_over(kSeedLabel, Expression(expression).evaluate(results));
  const std::vector<std::size_t> telling = telling_labels(groups);
  Rows rows;
  for (const auto& [key, numbers] : groups.rows) {
    std::string name;
    for (const std::size_t i : telling)
      name += (name.empty() ? "" : ", ") + (groups.labels[i] == "mix" ? shown_mix(key[i]) : key[i]);
    const Interval value = interval_of(numbers);
    if (!std::isfinite(value.mean))
      input_error("has no value{}: what it divides by is 0", name.empty() ? "" : " for " + name);
    rows.emplace(name, value);
  }
  return rows;
}

std::string value_text(const PrintedClaim& claim, double value) {
  const bool change = claim.unit == ClaimUnit::kPercentChange;
  return (change && value > 0 ? "+" : "") + short_number(value);
}

std::string unit_text(const PrintedClaim& claim) {
  if (claim.unit == ClaimUnit::kPercentChange || claim.dim == "percent") return " %";
  if (claim.unit == ClaimUnit::kRatio) return "x";
  return claim.dim.empty() ? "" : " " + claim.dim;
}

std::string measured_text(const PrintedClaim& claim, const Rows& rows) {
  if (rows.size() == 1) {
    const Interval& only = rows.begin()->second;
    const std::string half = only.known() ? " ± " + short_number(only.half_width) : "";
    return value_text(claim, only.mean) + half + unit_text(claim);
  }
  const auto smaller = [](const auto& a, const auto& b) { return a.second.mean < b.second.mean; };
  const auto [low, high] = std::minmax_element(rows.begin(), rows.end(), smaller);
  return fmt::format("{} to {}{}", value_text(claim, low->second.mean), value_text(claim, high->second.mean),
                     unit_text(claim));
}

/// "2 of 6 do not: nw 3.1, hs 4".
std::string failing_text(const std::vector<std::string>& failing, std::size_t all, std::string_view how) {
  constexpr std::size_t kShown = 6;
  if (failing.empty() || all < 2) return "";
  const std::vector<std::string> shown(failing.begin(),
                                       failing.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, failing.size())));
  return fmt::format("{} of {} {}: {}{}", failing.size(), all, how, fmt::join(shown, ", "),
                     failing.size() > kShown ? ", ..." : "");
}

class RowMaker {
 public:
  RowMaker(const PaperClaims& paper, const SweepFile& file, ResultSource* results, const std::string& sweep)
      : paper_(paper), file_(file), results_(results), sweep_(sweep) {}

  BoardRow row_of(const PrintedClaim& claim) {
    BoardRow row;
    row.id = claim.id;
    row.paper = paper_.paper;
    row.source = claim.source;
    row.statement = claim.statement;
    row.headline = claim.headline;
    row.check = check_name(claim.check);
    row.printed = printed_text(claim);
    row.unit = unit_name(claim.unit);
    if (claim.unit != ClaimUnit::kOrdering)
      row.printed_value = claim.unit == ClaimUnit::kPercentChange ? claim.signed_value() : claim.value;
    row.of_workloads = paper_.workloads_of(claim);
    if (results_) row.sweep = sweep_;
    fill(claim, row);
    row.verdict = finding_name(row.finding);
    return row;
  }

 private:
  void fill(const PrintedClaim& claim, BoardRow& row) {
    const auto measure =
        std::find_if(file_.claims.begin(), file_.claims.end(), [&](const Claim& its) { return its.id == claim.id; });
    if (measure == file_.claims.end()) {
      row.reason = reason_without_measure(claim);
      return;
    }
    if (!results_) {
      row.reason = "no run is stored";
      return;
    }
    Witness witness(*results_);
    try {
      measure->items.empty() ? judge_value(claim, *measure, witness, row) : judge_items(claim, *measure, witness, row);
    } catch (const InputError& error) {
      row.finding = Finding::kNotMeasured;
      row.measured.clear();
      row.measured_value = row.half_width = std::nullopt;
      row.order_values.clear();
      row.reason = error.what();
      return;
    }
    row.size = witness.first("size");
    if (claim.check == ClaimCheck::kSimulation) describe_runs(witness, row);
    if (row.finding == Finding::kDoesNotHold || row.finding == Finding::kDirectionHolds) row.link = measure->why;
    row.unexplained = row.headline && row.finding == Finding::kDoesNotHold && row.link.empty();
  }

  std::string reason_without_measure(const PrintedClaim& claim) const {
    if (claim.check == ClaimCheck::kHardware) return "the paper measured it on real hardware";
    for (const NotMeasured& group : file_.not_measured)
      if (std::find(group.ids.begin(), group.ids.end(), claim.id) != group.ids.end()) return group.reason;
    return claim.check == ClaimCheck::kSimulation ? "no experiment measures it"
                                                  : "needs no simulation: tests check the mechanism and its sizes";
  }

  static void judge_value(const PrintedClaim& claim, const Claim& measure, Witness& witness, BoardRow& row) {
    const Rows rows = rows_of(measure.value, witness);
    std::vector<std::string> failing;
    row.finding = Finding::kHolds;
    for (const auto& [name, value] : rows) {
      const Finding finding = judge(claim, value);
      row.finding = worst(row.finding, finding);
      if (finding != Finding::kHolds) failing.push_back(fmt::format("{} {}", name, value_text(claim, value.mean)));
    }
    row.reason = failing_text(failing, rows.size(), "differ");
    if (claim.unit == ClaimUnit::kOrdering) {
      row.measured = row.finding == Finding::kHolds ? "so" : "not so";
      return;
    }
    row.measured = measured_text(claim, rows);
    if (rows.size() != 1) return;
    const Interval& only = rows.begin()->second;
    row.measured_value = only.mean;
    if (only.known()) row.half_width = only.half_width;
  }

  static void judge_items(const PrintedClaim& claim, const Claim& measure, Witness& witness, BoardRow& row) {
    std::map<std::string, OrderValues> by_row;
    for (const Claim::Item& item : measure.items)
      for (const auto& [name, value] : rows_of(item.value, witness)) by_row[name][item.name] = value.mean;
    std::vector<std::string> failing;
    row.finding = Finding::kHolds;
    for (const auto& [name, values] : by_row) {
      for (const std::string& item : claim.order.items())
        if (!values.contains(item)) input_error("{} has no value for {}", item, name.empty() ? "the order" : name);
      const Finding finding = judge_order(claim.order, values);
      row.finding = worst(row.finding, finding);
      std::string text;
      for (const std::string& item : claim.order.items())
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", item, short_number(values.at(item)));
      if (by_row.size() == 1) {
        row.measured = text;
        for (const std::string& item : claim.order.items()) row.order_values.push_back(values.at(item));
      }
      if (finding != Finding::kHolds) failing.push_back(fmt::format("{} ({})", name, text));
    }
    if (by_row.size() > 1) row.measured = fmt::format("so for {} of {}", by_row.size() - failing.size(), by_row.size());
    row.reason = failing_text(failing, by_row.size(), "differ");
  }

  /// Size, workloads, seeds, lengths; runs in which a mechanism had no time to act say nothing.
  void describe_runs(Witness& witness, BoardRow& row) const {
    row.workloads = witness.count("mix");
    row.seeds = witness.count(std::string(kSeedLabel));
    row.shortest_cycles = kNever;
    std::map<std::string, std::string> short_runs;
    witness.each_run([&](std::size_t point, u64 cycles) {
      const Labels& labels = witness.labels(point);
      row.shortest_cycles = std::min(row.shortest_cycles, cycles);
      row.longest_cycles = std::max(row.longest_cycles, cycles);
      for (const LeastRun& least : paper_.least)
        if (const std::string why = uses(labels, least.designs) ? too_short(least, witness, point, cycles) : "";
            !why.empty())
          short_runs.emplace(labels.contains("mix") ? shown_mix(labels.at("mix")) : "", why + ": " + least.reason);
    });
    if (row.shortest_cycles == kNever) row.shortest_cycles = 0;
    if (short_runs.empty()) return;
    const auto& [mix, why] = *short_runs.begin();
    row.finding = Finding::kTooShort;
    row.reason = (mix.empty() ? "" : mix + ": ") + why;
    if (short_runs.size() > 1) row.reason += fmt::format(" ({} of {} workloads)", short_runs.size(), row.workloads);
  }

  /// Empty when the run is long enough.
  static std::string too_short(const LeastRun& least, Witness& witness, std::size_t point, u64 cycles) {
    if (cycles < least.cycles) return fmt::format("a run of {} cycles, and it takes {}", cycles, least.cycles);
    const auto end = least.search_ends ? witness.plain(point, "search_end") : std::nullopt;
    if (!end) return "";
    if (static_cast<u64>(*end) >= cycles) return fmt::format("the search has not ended after {} cycles", cycles);
    const auto first = witness.plain(point, "first_completion");
    if (!first || *end <= *first) return "";
    return fmt::format("the search ends in cycle {}, after the first tenant has completed in cycle {}", *end, *first);
  }

  /// A design's label joins its overlays with a plus.
  static bool uses(const Labels& labels, const std::vector<std::string>& designs) {
    const auto design = labels.find("design");
    if (design == labels.end()) return false;
    const std::string whole = "+" + design->second + "+";
    return std::any_of(designs.begin(), designs.end(),
                       [&](const std::string& name) { return whole.find("+" + name + "+") != whole.npos; });
  }

  const PaperClaims& paper_;
  const SweepFile& file_;
  ResultSource* results_;
  const std::string& sweep_;
};

}  // namespace

std::vector<BoardRow> board_of(const PaperClaims& paper, const SweepFile& file, ResultSource* results,
                               const std::string& sweep) {
  RowMaker maker(paper, file, results, sweep);
  std::vector<BoardRow> rows;
  for (const PrintedClaim& claim : paper.claims) rows.push_back(maker.row_of(claim));
  return rows;
}

std::vector<BoardRow> stored_boards(Store& store, const std::string& data_root, const ResultsOf& results_of) {
  std::vector<BoardRow> all;
  for (const std::string& sweep : store.sweeps()) {
    Mistakes ignored(sweep);  // it was checked when it ran; another version may know less
    const SweepFile file = parse_sweep(sweep + ".toml", store.sweep_file(sweep), "", ignored);
    if (file.paper.empty()) continue;
    const auto results = results_of(store, sweep);
    std::vector<BoardRow> rows = board_of(read_claims(data_root, file.paper), file, results.get(), sweep);
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
  }
  return all;
}

void check_measures(const PaperClaims& paper, const SweepFile& file, Mistakes& mistakes) {
  std::vector<std::string> known;
  std::set<std::string> there;
  for (const PrintedClaim& claim : paper.claims) known.push_back(claim.id);
  const auto refuse_unknown = [&](const std::string& id, u32 line) {
    there.insert(id);
    if (!paper.find(id))
      mistakes.add(line, "the catalogue has no claim \"{}\"{}; see terrace list claims", printable(id),
                   did_you_mean(id, known));
  };
  for (const Claim& claim : file.claims) {
    refuse_unknown(claim.id, claim.line);
    const PrintedClaim* printed = paper.find(claim.id);
    if (!printed) continue;
    std::set<std::string> items, wanted;
    for (const Claim::Item& item : claim.items) items.insert(item.name);
    for (const std::string& item : printed->order.items()) wanted.insert(item);
    if (!claim.items.empty() && items != wanted)
      mistakes.add(claim.line, "{} orders {}; the values here are of {}", claim.id, fmt::join(wanted, ", "),
                   fmt::join(items, ", "));
    if (claim.items.empty() && !printed->order.empty())
      mistakes.add(claim.line, "{} is an ordering: give values = [\"item = expression\", ...]", claim.id);
  }
  const auto refuse_printed = [&](const std::vector<PrintedPoint>& points, u32 line) {
    for (const PrintedPoint& point : points)
      if (!point.claim.empty() && !paper.find(point.claim))
        mistakes.add(line, "printed: the catalogue has no claim \"{}\"{}", printable(point.claim),
                     did_you_mean(point.claim, known));
  };
  for (const Plot& plot : file.plots) refuse_printed(plot.printed, plot.line);
  for (const ResultTable& table : file.tables) refuse_printed(table.printed, table.line);
  for (const NotMeasured& group : file.not_measured)
    for (const std::string& id : group.ids) {
      if (there.contains(id)) mistakes.add(group.line, "{} is measured, or named twice", printable(id));
      refuse_unknown(id, group.line);
    }
  for (const PrintedClaim& claim : paper.claims)
    if (claim.check == ClaimCheck::kSimulation && !there.contains(claim.id))
      mistakes.add(0, "{} is neither measured nor under [[not_measured]] with a reason", claim.id);
}

}  // namespace terrace
