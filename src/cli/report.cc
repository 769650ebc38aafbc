// terrace report.
// SPDX-License-Identifier: MIT
#include "cli/report.h"

#include <algorithm>
#include <vector>

#include "claims/board.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/paths.h"
#include "report/report.h"
#include "text/output.h"

namespace terrace {

std::string report_store(const std::string& store, const std::string& out, bool stats) {
  std::vector<BoardRow> board;
  {
    Store opened = Store::existing(store);
    board = stored_boards(opened, data_root(), stored_results);
  }
  std::vector<PaperTitle> papers;
  for (const std::string& name : claim_papers()) {
    const bool there = std::any_of(board.begin(), board.end(), [&](const BoardRow& row) { return row.paper == name; });
    if (!there) continue;
    const PaperClaims paper = read_claims(data_root(), name);
    papers.push_back({paper.paper, paper.title, paper.venue});
  }
  return write_report({store, out, stats, std::move(board), std::move(papers)});
}

int report_command(const CommandLine& line) {
  const std::string said = report_store(line.sweep.store, line.sweep.out, line.sweep.stats);
  if (!line.quiet) write_stdout(said);
  return 0;
}

}  // namespace terrace
