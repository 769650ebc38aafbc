// SPDX-License-Identifier: MIT
#include "cli/live_page.h"

#include <fmt/format.h>

#include <cstdio>

#include "report/site/assets.h"

namespace terrace {

LivePage::LivePage(const LiveOptions& options, std::string title, std::string kind, bool quiet)
    : board_(std::move(title), std::move(kind)),
      server_(board_, parse_live_address(options.address, options.open), {web_style(), chart_script(), web_script()}) {
  if (!quiet) std::fputs(fmt::format("terrace: watch it at {}\n", server_.url()).c_str(), stderr);
}

}  // namespace terrace
