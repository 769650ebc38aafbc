// SPDX-License-Identifier: MIT
#include "report/site/board.h"

#include <fmt/format.h>

#include "claims/board_text.h"

namespace terrace {

namespace {

Tree number_tree(const std::optional<double>& number) {
  return number ? Tree(*number) : Tree();
}

}  // namespace

Tree tree_of(const BoardRow& row) {
  const bool measured = !row.measured.empty();
  Tree order = Tree::list();
  for (const double value : row.order_values) order.push(Tree(value));
  return {{"id", row.id},
          {"paper", row.paper},
          {"source", row.source},
          {"statement", row.statement},
          {"unit", row.unit},
          {"check", row.check},
          {"sweep", row.sweep},
          {"printed", row.printed},
          {"measured", row.measured},
          {"verdict", row.verdict},
          {"size", row.size},
          {"workloads", measured ? k_of_n_text(row) : ""},
          {"seeds", row.seeds == 0 ? "" : fmt::format("{}", row.seeds)},
          {"run_length", row.longest_cycles == 0 ? "" : length_text(row) + " cycles"},
          {"reason", row.reason},
          {"link", row.link},
          {"unexplained", row.unexplained},
          {"order", order},
          {"headline", row.headline},
          {"hardware", row.check == "hardware"},
          {"printed_number", number_tree(row.printed_value)},
          {"measured_number", number_tree(row.measured_value)}};
}

}  // namespace terrace
