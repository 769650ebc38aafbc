// The board for people and for other programs.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "claims/board.h"

namespace terrace {

/// Counts by verdict and the claims that simulation measures, headlines first; the width suits a terminal.
std::string board_text(const std::vector<BoardRow>& rows);

/// All of it as a page. `about` is what was run, when and with what: a sentence or two.
std::string board_markdown(const std::vector<BoardRow>& rows, const std::string& about);

/// Every row with every field, as JSON.
std::string board_json(const std::vector<BoardRow>& rows);

/// "12 of 45", "3 workloads" when the paper does not print how many it has.
std::string k_of_n_text(const BoardRow& row);
/// "0.4 to 2 M cycles"
std::string length_text(const BoardRow& row);

}  // namespace terrace
