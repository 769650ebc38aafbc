// A report for people: a folder of pages that need nothing but a browser. index.html says what was run and what came
// out, paper_NAME.html shows the figures of a paper with printed and measured numbers, sweep_NAME.html what another sweep's file
// asks for, run.html one run, compare.html two beside each other. Pages hold
// their style, scripts and data; those of single runs, which may be many, are in data/, and are read when they are looked at.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/site/board.h"
#include "store/store.h"
#include "text/tree.h"

namespace terrace {

/// `sweeps`: what report_sweep made of each. Returns what it wrote, for a person.
std::string write_site(Store& store, const std::vector<Tree>& sweeps, const std::vector<BoardRow>& board,
                       const std::vector<PaperTitle>& papers, const std::filesystem::path& folder);

}  // namespace terrace
