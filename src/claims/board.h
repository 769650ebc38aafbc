// The claims board: each claim of a paper with what is printed, what was measured and the computed verdict, from a store. No
// verdict is written by hand.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "claims/catalogue.h"
#include "claims/verdict.h"
#include "store/store.h"
#include "sweep/expression.h"
#include "sweep/sweep_file.h"

namespace terrace {

/// One claim, ready to be shown: plain values, no rules.
struct BoardRow {
  std::string id, paper, source, statement;
  bool headline = false;
  std::string check;     // "simulation", "mechanism", "arithmetic", "hardware"
  std::string printed;   // "+30 %", "more than 20 walks", "a > b"
  std::string measured;  // in the same words; empty when not measured
  std::optional<double> printed_value,
      measured_value;                // changes with their sign; none for orderings and per-workload claims
  std::optional<double> half_width;  // of the 95 % interval, with several seeds
  std::vector<double> order_values;  // of an ordering, in the printed order; none when it is about each workload
  Finding finding = Finding::kNotMeasured;
  std::string verdict;   // finding in words
  std::string size;      // "tiny"; empty when not measured
  u64 workloads = 0;     // measured here (k) ...
  u64 of_workloads = 0;  // ... of so many in the paper (n); 0: not printed
  u64 seeds = 0;
  u64 shortest_cycles = 0, longest_cycles = 0;  // of the runs it rests on
  std::string reason;                           // why it is not measured, too short, or which workloads fail
  std::string sweep;                            // the stored sweep that the board is of
  std::string link;                             // the experiment that explains why it does not hold
  bool unexplained = false;                     // a headline claim that does not hold, and no experiment says why
  std::string unit;                             // "percent_change", "ratio", "absolute", "ordering"
};

/// What a stored sweep's expressions are computed from.
using ResultsOf = std::function<std::unique_ptr<ResultSource>(Store&, const std::string& sweep)>;

/// A row for each claim of the paper, in the catalogue's order. `file` measures them; its results are `results`. Without
/// results nothing is measured.
std::vector<BoardRow> board_of(const PaperClaims& paper, const SweepFile& file, ResultSource* results,
                               const std::string& sweep);

/// The boards of all papers of which the store has runs, each size by itself. The catalogue is found under `data_root`.
std::vector<BoardRow> stored_boards(Store& store, const std::string& data_root, const ResultsOf& results_of);

/// Mistakes in a file that measures a paper's claims: ids that the catalogue does not have, items that are not those of the
/// order, claims without a measurement and without a reason.
void check_measures(const PaperClaims& paper, const SweepFile& file, Mistakes& mistakes);

}  // namespace terrace
