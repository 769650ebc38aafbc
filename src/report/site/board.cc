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
  return {{"id", row.id},
          {"paper", row.paper},
          {"statement", row.statement},
          {"printed", row.printed},
          {"measured", row.measured},
          {"verdict", row.verdict},
          {"size", row.size},
          {"workloads", measured ? k_of_n_text(row) : ""},
          {"seeds", row.seeds == 0 ? "" : fmt::format("{}", row.seeds)},
          {"run_length", row.longest_cycles == 0 ? "" : length_text(row) + " cycles"},
          {"reason", row.reason},
          {"link", row.link},
          {"headline", row.headline},
          {"hardware", row.check == "hardware"},
          {"printed_number", number_tree(row.printed_value)},
          {"measured_number", number_tree(row.measured_value)}};
}

}  // namespace terrace
