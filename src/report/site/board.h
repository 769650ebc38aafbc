// The claims board on a page.
// SPDX-License-Identifier: MIT
#pragma once

#include "claims/board.h"
#include "text/tree.h"

namespace terrace {

/// What src/report/web shows of a claim.
Tree tree_of(const BoardRow& row);

/// What a paper's page begins with.
struct PaperTitle {
  std::string paper, title, venue;
};

}  // namespace terrace
