// SPDX-License-Identifier: MIT
#include "claims/board_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "text/table.h"
#include "text/tree.h"

namespace terrace {

namespace {

constexpr std::array kFindings{Finding::kHolds, Finding::kDirectionHolds, Finding::kDoesNotHold, Finding::kTooShort,
                               Finding::kNotMeasured};

bool simulated(const BoardRow& row) {
  return row.check == "simulation";
}

/// Headlines first, otherwise in the catalogue's order.
std::vector<BoardRow> headlines_first(std::vector<BoardRow> rows) {
  std::stable_partition(rows.begin(), rows.end(), [](const BoardRow& row) { return row.headline; });
  return rows;
}

/// Counts by verdict: the headlines, and all that simulation measures, of each paper.
TextTable counts(const std::vector<BoardRow>& rows) {
  TextTable table{{"paper", "claims"}, {}, {false, false}};
  for (const Finding finding : kFindings) table.header.emplace_back(finding_name(finding)), table.right.push_back(true);
  std::vector<std::string> papers;
  for (const BoardRow& row : rows)
    if (std::find(papers.begin(), papers.end(), row.paper) == papers.end()) papers.push_back(row.paper);
  const auto add = [&](const std::string& paper, const std::string& what, auto&& chosen) {
    std::map<Finding, u64> count;
    u64 total = 0;
    for (const BoardRow& row : rows)
      if (row.paper == paper && chosen(row)) ++count[row.finding], ++total;
    if (total == 0) return;
    table.rows.push_back({paper, fmt::format("{} {}", total, what)});
    for (const Finding finding : kFindings) table.rows.back().push_back(fmt::format("{}", count[finding]));
  };
  for (const std::string& paper : papers) {
    add(paper, "headline", [](const BoardRow& row) { return row.headline; });
    add(paper, "by simulation", simulated);
    add(paper, "on the mechanism", [](const BoardRow& row) { return row.check == "mechanism"; });
    add(paper, "by arithmetic", [](const BoardRow& row) { return row.check == "arithmetic"; });
    add(paper, "on real hardware", [](const BoardRow& row) { return row.check == "hardware"; });
  }
  return table;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// Nothing where seeds do not matter: a size, a threshold.
std::string seeds_text(const BoardRow& row) {
  return row.seeds == 0 ? "" : fmt::format("{}", row.seeds);
}

/// Orders are long: the table has their values, in the order that is printed.
TextTable measured_rows(const std::vector<BoardRow>& rows) {
  TextTable table{{"claim", "printed", "measured", "verdict", "workloads", "seeds", "cycles"}, {}};
  for (const BoardRow& row : headlines_first(rows)) {
    if (row.finding == Finding::kNotMeasured) continue;
    std::string values;
    for (const double value : row.order_values) values += (values.empty() ? "" : ", ") + short_number(value);
    const bool order = !row.printed_value;
    table.rows.push_back({(row.headline ? "* " : "") + row.id, order ? "an order" : row.printed,
                          values.empty() ? row.measured : values, row.verdict, k_of_n_text(row), seeds_text(row),
                          length_text(row)});
  }
  return table;
}

/// "tiny, 6 of 12 workloads, 1 seed, 1.2 M cycles"
std::string rests_on_text(const BoardRow& row) {
  std::vector<std::string> words{row.size};
  if (const std::string count = k_of_n_text(row); !count.empty())
    words.push_back(count + (row.workloads == 1 && row.of_workloads < 2 ? " workload" : " workloads"));
  if (row.seeds != 0) words.push_back(fmt::format("{} seed{}", row.seeds, row.seeds == 1 ? "" : "s"));
  if (const std::string length = length_text(row); !length.empty()) words.push_back(length + " cycles");
  return joined(words);
}

/// What to say of single rows below the table.
std::string remarks(const std::vector<BoardRow>& rows) {
  std::string text;
  std::map<std::string, std::vector<std::string>> by_link, by_reason;
  std::vector<std::string> unexplained;
  for (const BoardRow& row : headlines_first(rows)) {
    if (row.finding == Finding::kNotMeasured) continue;
    const bool short_run = row.finding == Finding::kTooShort;
    const bool broken_order = !row.order_values.empty() && row.finding != Finding::kHolds && !short_run;
    if (broken_order) text += fmt::format("{}: printed {}; {}\n", row.id, row.printed, row.measured);
    if (short_run)
      by_reason[row.reason].push_back(row.id);
    else if (!row.reason.empty())
      text += fmt::format("{}: {}\n", row.id, row.reason);
    if (!row.link.empty()) by_link[row.link].push_back(row.id);
    if (row.unexplained) unexplained.push_back(row.id);
  }
  for (const auto& [reason, ids] : by_reason) text += fmt::format("Too short, {}: {}\n", reason, joined(ids));
  for (const auto& [link, ids] : by_link) text += fmt::format("Why: terrace sweep {} explains {}\n", link, joined(ids));
  if (!unexplained.empty()) text += fmt::format("No experiment explains yet: {}\n", joined(unexplained));
  return text;
}

/// Claims that are not measured, by the reason.
std::map<std::string, std::vector<std::string>> unmeasured(const std::vector<BoardRow>& rows) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const BoardRow& row : rows)
    if (row.finding == Finding::kNotMeasured && simulated(row)) by_reason[row.reason].push_back(row.id);
  return by_reason;
}

Tree optional_number(const std::optional<double>& value) {
  return value ? Tree(*value) : Tree();
}

}  // namespace

std::string k_of_n_text(const BoardRow& row) {
  if (row.workloads == 0) return "";
  if (row.of_workloads == 0) return fmt::format("{}", row.workloads);
  return fmt::format("{} of {}", row.workloads, row.of_workloads);
}

std::string length_text(const BoardRow& row) {
  if (row.longest_cycles == 0) return "";
  const auto millions = [](u64 cycles) { return short_number(static_cast<double>(cycles) / 1e6); };
  if (row.shortest_cycles == row.longest_cycles) return millions(row.longest_cycles) + " M";
  return fmt::format("{} to {} M", millions(row.shortest_cycles), millions(row.longest_cycles));
}

std::string board_text(const std::vector<BoardRow>& rows) {
  std::string text = counts(rows).plain();
  if (const TextTable measured = measured_rows(rows); !measured.rows.empty())
    text += "\n" + measured.plain() + "\n*: a headline claim of the paper. Cycles: of the runs the number rests on.\n";
  text += remarks(rows);
  for (const auto& [reason, ids] : unmeasured(rows)) text += fmt::format("Not measured, {}: {}\n", reason, joined(ids));
  return text;
}

std::string board_markdown(const std::vector<BoardRow>& rows, const std::string& about) {
  std::string text = "# The claims board\n\n" + about + "\n\n" + counts(rows).markdown() + "\n";
  TextTable table{{"claim", "printed", "measured", "verdict", "rests on", "remark"}, {}};
  for (const BoardRow& row : headlines_first(rows)) {
    if (row.finding == Finding::kNotMeasured) continue;
    std::string remark = row.reason;
    if (!row.link.empty()) remark += (remark.empty() ? "" : "; ") + fmt::format("why: `{}`", row.link);
    if (row.unexplained) remark += (remark.empty() ? "" : "; ") + std::string("no experiment explains it yet");
    table.rows.push_back({fmt::format("{}<br>`{}`", row.headline ? "**" + row.statement + "**" : row.statement, row.id),
                          row.printed, row.measured, row.verdict, rests_on_text(row), remark});
  }
  text += "## Measured\n\nHeadline claims stand first, in bold. Cycles are those of the runs a number rests on.\n\n" +
          (table.rows.empty() ? std::string("None.\n") : table.markdown());
  text += "\n## Not measured\n\n";
  for (const auto& [reason, ids] : unmeasured(rows)) text += fmt::format("- {}: {}\n", reason, joined(ids));
  std::vector<std::string> hardware, others;
  for (const BoardRow& row : rows)
    if (row.finding == Finding::kNotMeasured && !simulated(row))
      (row.check == "hardware" ? hardware : others).push_back(row.id);
  if (!hardware.empty()) text += fmt::format("- about real hardware: {}\n", joined(hardware));
  if (!others.empty())
    text +=
        fmt::format("- about a mechanism or its sizes, which needs no simulation (tests/papers): {}\n", joined(others));
  return text;
}

std::string board_json(const std::vector<BoardRow>& rows) {
  Tree list = Tree::list();
  for (const BoardRow& row : rows) {
    Tree item = Tree::table();
    item["id"] = Tree(row.id);
    item["paper"] = Tree(row.paper);
    item["source"] = Tree(row.source);
    item["statement"] = Tree(row.statement);
    item["headline"] = Tree(row.headline);
    item["check"] = Tree(row.check);
    item["printed"] = Tree(row.printed);
    item["printed_value"] = optional_number(row.printed_value);
    item["measured"] = Tree(row.measured);
    item["measured_value"] = optional_number(row.measured_value);
    item["half_width"] = optional_number(row.half_width);
    item["order_values"] = Tree::list();
    for (const double value : row.order_values) item["order_values"].push(Tree(value));
    item["verdict"] = Tree(row.verdict);
    item["size"] = Tree(row.size);
    item["workloads"] = Tree(row.workloads);
    item["of_workloads"] = Tree(row.of_workloads);
    item["seeds"] = Tree(row.seeds);
    item["shortest_cycles"] = Tree(row.shortest_cycles);
    item["longest_cycles"] = Tree(row.longest_cycles);
    item["reason"] = Tree(row.reason);
    item["sweep"] = Tree(row.sweep);
    item["link"] = Tree(row.link);
    item["unexplained"] = Tree(row.unexplained);
    list.push(std::move(item));
  }
  Tree document = Tree::table();
  document["schema"] = Tree("terrace.board/1");
  document["rows"] = std::move(list);
  return json_text(document);
}

}  // namespace terrace
