// Line and bar charts as SVG, in panels side by side, drawn by nothing but this.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace terrace {

struct ChartPoint {
  std::string x;  // a number for lines, any text for bars
  double y;
  double half_width = 0;  // of its interval, drawn as an error bar; 0: none
  bool muted = false;     // a difference within noise
};

struct Chart {
  std::string title, x_title, y_title;
  bool bars = false;
  bool stacked = false;                // bars of one place on top of each other; values are not negative
  std::optional<double> neutral = {};  // a dashed line: no difference
  std::string note = {};               // below the panels
  /// Panels by their titles, in each the series by theirs; an empty title is not shown.
  std::map<std::string, std::map<std::string, std::vector<ChartPoint>>> panels;
};

/// Every panel has its own scale, which holds zero.
std::string chart_svg(const Chart& chart);

}  // namespace terrace
