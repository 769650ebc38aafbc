// SPDX-License-Identifier: MIT
#include "report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>

#include "text/markup.h"

namespace terrace {

namespace {

// Pixels, chosen by eye.
constexpr double kLeft = 52, kRight = 14, kTop = 28;
constexpr std::size_t kColumns = 4;
constexpr double kHeader = 34, kLegendLine = 16;
constexpr double kNoteLine = 16;
constexpr double kRoom = 1.05;                   // of the scale, beyond the outermost value
constexpr double kLetter = 6, kTitleLetter = 8;  // about the width of one, at the sizes used below

/// How large each panel is: four small ones fill a page, a single one does by itself.
struct Layout {
  double plot_width = 190, plot_height = 120, bottom = 38;
  bool slanted = false;  // names below the axis that would run into each other
  double panel_width() const { return kLeft + plot_width + kRight; }
  double panel_height() const { return kTop + plot_height + bottom; }
};
// Okabe and Ito's colours, which colour-blind readers can tell apart.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#56b4e9", "#e69f00", "#000000", "#b0a000"};

// Over bars of any colour.
constexpr const char* kErrorColour = "#222222";

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The smallest of 1, 2 and 5 times a power of ten that gives at most five steps.
double tick_step(double most) {
  double power = 1;
  while (power > most) power /= 10;
  while (power * 10 <= most) power *= 10;
  for (const double factor : {0.2, 0.5, 1.0, 2.0})
    if (most / (power * factor) <= 5) return power * factor;
  return power * 5;
}

class Panel {
 public:
  using Series = std::map<std::string, std::vector<ChartPoint>>;
  Panel(const Chart& chart, const Series& series, std::vector<std::string> names, const Layout& layout)
      : chart_(chart), series_(series), names_(std::move(names)), layout_(layout) {
    std::set<double> numbers;
    std::set<std::string> words;
    for (const auto& [name, points] : series) {
      for (const ChartPoint& point : points) {
        double& below = below_[point.x];  // a stack ends where the bars below it end
        most_ = std::max(most_, below + point.y + point.half_width);
        least_ = std::min(least_, point.y - point.half_width);
        if (chart.stacked) below += point.y;
        if (const auto x = number_of(point.x))
          numbers.insert(*x);
        else
          words.insert(point.x);
      }
    }
    numeric_ = !chart.bars && words.empty();
    if (numeric_ && !numbers.empty())
      from_ = std::min(0.0, *numbers.begin()), to_ = std::max(from_ + 1, *numbers.rbegin());
    if (!numeric_) {
      for (const double x : numbers) categories_.push_back(fmt::format("{}", x));
      categories_.insert(categories_.end(), words.begin(), words.end());
    }
    below_.clear();
    if (chart.neutral) most_ = std::max(most_, *chart.neutral), least_ = std::min(least_, *chart.neutral);
    if (!(most_ > least_)) most_ = 1;
  }

  std::string svg(const std::string& title) {
    std::string out = fmt::format("<text x=\"{}\" y=\"18\" class=\"panel\">{}</text>\n", kLeft + layout_.plot_width / 2,
                                  escaped(title));
    axes(out);
    if (chart_.neutral) across(out, *chart_.neutral, "neutral");
    for (const auto& [name, points] : series_) {
      const auto index = static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
      chart_.bars ? bars(out, points, index) : line(out, points, index);
    }
    return out;
  }

 private:
  double x_at(double value) const { return kLeft + (value - from_) / (to_ - from_) * layout_.plot_width; }
  double y_at(double value) const {
    return kTop + layout_.plot_height * (1 - (value - least_ * kRoom) / (most_ * kRoom - least_ * kRoom));
  }
  double category_width() const {
    return layout_.plot_width / static_cast<double>(std::max<std::size_t>(1, categories_.size()));
  }
  std::size_t category(const std::string& x) const {
    const auto value = number_of(x);
    const std::string name = value ? fmt::format("{}", *value) : x;
    return static_cast<std::size_t>(std::find(categories_.begin(), categories_.end(), name) - categories_.begin());
  }

  void axes(std::string& out) const {
    const auto put = std::back_inserter(out);
    const double step = tick_step(most_ - least_);
    int first = 0;
    while ((first - 1) * step >= least_ * kRoom) --first;
    for (int i = first; i * step <= most_ * kRoom; ++i) {
      across(out, i * step, i == 0 && first < 0 ? "zero" : "grid");
      fmt::format_to(put, "<text x=\"{}\" y=\"{:.1f}\" class=\"y\">{:.6g}</text>\n", kLeft - 4, y_at(i * step) + 3,
                     i * step);
    }
    if (numeric_) {
      const double x_step = tick_step(to_);
      for (int i = 0; i * x_step <= to_; ++i)
        if (i * x_step >= from_) tick(out, x_at(i * x_step), fmt::format("{:.6g}", i * x_step));
    } else {
      for (std::size_t i = 0; i < categories_.size(); ++i)
        tick(out, kLeft + (static_cast<double>(i) + 0.5) * category_width(), categories_[i]);
    }
    fmt::format_to(put, "<text x=\"{}\" y=\"{}\" class=\"x\">{}</text>\n", kLeft + layout_.plot_width / 2,
                   kTop + layout_.plot_height + layout_.bottom - 10, escaped(chart_.x_title));
    fmt::format_to(put, "<text transform=\"translate(12 {}) rotate(-90)\" class=\"x\">{}</text>\n",
                   kTop + layout_.plot_height / 2, escaped(chart_.y_title));
  }
  void across(std::string& out, double value, const char* kind) const {
    const double y = y_at(value);
    out += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>", kLeft,
                       kLeft + layout_.plot_width, y, y, kind);
  }
  void tick(std::string& out, double x, const std::string& text) const {
    const double y = kTop + layout_.plot_height + 13;
    const auto put = std::back_inserter(out);
    if (layout_.slanted) {
      fmt::format_to(put, "<text transform=\"translate({:.1f} {}) rotate(-35)\" class=\"y\">{}</text>\n", x + 4, y,
                     escaped(text));
    } else {
      fmt::format_to(put, "<text x=\"{:.1f}\" y=\"{}\" class=\"x\">{}</text>\n", x, y, escaped(text));
    }
  }

  void line(std::string& out, std::vector<ChartPoint> points, std::size_t index) const {
    const auto place = [&](const ChartPoint& point) {
      return numeric_ ? x_at(*number_of(point.x))
                      : kLeft + (static_cast<double>(category(point.x)) + 0.5) * category_width();
    };
    std::sort(points.begin(), points.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
    const char* colour = kColours[index % std::size(kColours)];
    std::string path;
    for (const ChartPoint& point : points) path += fmt::format("{:.1f},{:.1f} ", place(point), y_at(point.y));
    out += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", path, colour);
    for (const ChartPoint& point : points) {
      error_bar(out, point, place(point), 6, colour);
      if (point.muted)
        out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"white\" stroke=\"{}\"/>", place(point),
                           y_at(point.y), colour);
      else
        out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\" fill=\"{}\"/>", place(point), y_at(point.y),
                           colour);
    }
    out += "\n";
  }

  /// The interval of a point: a line with a cap at either end.
  void error_bar(std::string& out, const ChartPoint& point, double x, double cap, const char* colour) const {
    if (!(point.half_width > 0)) return;
    const double top = y_at(point.y + point.half_width), bottom = y_at(point.y - point.half_width);
    out += fmt::format(
        "<path class=\"error\" d=\"M{0:.1f} {2:.1f}H{1:.1f}M{3:.1f} {2:.1f}V{4:.1f}M{0:.1f} {4:.1f}H{1:.1f}\" "
        "stroke=\"{5}\"/>",
        x - cap / 2, x + cap / 2, top, x, bottom, colour);
  }

  void bars(std::string& out, const std::vector<ChartPoint>& points, std::size_t index) {
    const std::size_t beside = chart_.stacked ? 1 : std::max<std::size_t>(1, names_.size());
    const double width = category_width() * 0.8 / static_cast<double>(beside);
    for (const ChartPoint& point : points) {
      const double x = kLeft + (static_cast<double>(category(point.x)) + 0.1) * category_width() +
                       static_cast<double>(index % beside) * width;
      double& below = below_[point.x];
      const double y = y_at(std::max(0.0, below + point.y)), foot = y_at(std::min(0.0, point.y) + below);
      if (chart_.stacked) below += point.y;
      const char* colour = kColours[index % std::size(kColours)];
      out +=
          fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"{}/>", x, y, width,
                      foot - y, colour, point.muted ? fmt::format(" class=\"muted\" stroke=\"{}\"", colour) : "");
      error_bar(out, point, x + width / 2, std::min(6.0, width * 0.6), kErrorColour);
      out += "\n";
    }
  }

  const Chart& chart_;
  const Series& series_;
  std::vector<std::string> names_, categories_;
  const Layout& layout_;
  double least_ = 0, most_ = 0, from_ = 0, to_ = 1;
  bool numeric_ = true;
  std::map<std::string, double> below_;  // how high the stack at a place is so far
};

}  // namespace

namespace {

Layout layout_of(const Chart& chart, std::size_t series) {
  Layout layout;
  std::set<std::string> places;
  std::size_t longest = 0;
  bool words = chart.bars;
  for (const auto& [title, all] : chart.panels) {
    for (const auto& [name, points] : all) {
      for (const ChartPoint& point : points) {
        places.insert(point.x);
        longest = std::max(longest, point.x.size());
        words |= !number_of(point.x);
      }
    }
  }
  const auto count = static_cast<double>(std::max<std::size_t>(1, places.size()));
  if (chart.panels.size() <= 1) {
    const double bars = chart.bars ? count * (8 * static_cast<double>(series) + 8) : 0;
    layout.plot_width = std::clamp(bars, 420.0, 1100.0);
    layout.plot_height = 220;
  }
  const double letters = static_cast<double>(longest) * kLetter;
  layout.slanted = words && letters > layout.plot_width / count - 4;
  if (layout.slanted) layout.bottom += letters * 0.6;  // the sine of the slant, nearly
  return layout;
}

/// The names of the series with their colours, in as many lines as they need; returns how many those are.
std::size_t legend(std::string& out, const std::vector<std::string>& names, double width) {
  double x = kLeft;
  std::size_t lines = 1;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double wide = 30 + static_cast<double>(names[i].size()) * kLetter;
    if (x > kLeft && x + wide > width) x = kLeft, ++lines;
    const double y = kHeader + static_cast<double>(lines - 1) * kLegendLine;
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{}\" width=\"9\" height=\"9\" fill=\"{}\"/><text x=\"{:.1f}\" y=\"{}\">{}</text>\n", x,
        y, kColours[i % std::size(kColours)], x + 13, y + 8, escaped(names[i]));
    x += wide;
  }
  return lines;
}

/// For what only charts with intervals, values below zero or a neutral value have.
std::string marks_style(const Chart& chart) {
  std::string style;
  bool below = chart.neutral.has_value(), intervals = false;
  for (const auto& [title, series] : chart.panels)
    for (const auto& [name, points] : series)
      for (const ChartPoint& point : points) intervals |= point.half_width > 0, below |= point.y - point.half_width < 0;
  if (below) style += " .zero{stroke:#999} .neutral{stroke:#777;stroke-dasharray:4 3}";
  if (intervals) style += " .error{fill:none;stroke-width:1.2} .muted{fill-opacity:.3} .note{fill:#666}";
  return style;
}

}  // namespace

std::string chart_svg(const Chart& chart) {
  std::set<std::string> all;
  for (const auto& [title, series] : chart.panels)
    for (const auto& [name, points] : series) all.insert(name);
  const std::vector<std::string> names(all.begin(), all.end());
  const Layout layout = layout_of(chart, names.size());
  const std::size_t columns = std::clamp<std::size_t>(chart.panels.size(), 1, kColumns);
  const std::size_t rows = (chart.panels.size() + columns - 1) / columns;
  const double width = std::max(static_cast<double>(columns) * layout.panel_width(),
                                static_cast<double>(chart.title.size()) * kTitleLetter + 20);
  std::string key;
  const std::size_t lines = names.size() > 1 ? legend(key, names, width) : 0;
  const double top = kHeader + static_cast<double>(lines) * kLegendLine;
  const double below = top + static_cast<double>(rows) * layout.panel_height();
  const double height = below + (chart.note.empty() ? 0 : kNoteLine);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\">\n"
      "<style>text{{font-family:sans-serif;font-size:10px;fill:#333}} .x,.panel,.title{{text-anchor:middle}} "
      ".y{{text-anchor:end}} .panel{{font-weight:bold}} .title{{font-size:14px}} .grid{{stroke:#ddd}}{}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{}\" y=\"20\" class=\"title\">{}</text>\n{}",
      width, height, width, height, marks_style(chart), width / 2, escaped(chart.title), key);
  std::size_t row = 0, column = 0;
  for (const auto& [title, series] : chart.panels) {
    out += fmt::format(
        "<g transform=\"translate({} {})\">\n{}</g>\n", static_cast<double>(column) * layout.panel_width(),
        top + static_cast<double>(row) * layout.panel_height(), Panel(chart, series, names, layout).svg(title));
    if (++column == columns) column = 0, ++row;
  }
  if (!chart.note.empty())
    out += fmt::format("<text x=\"{}\" y=\"{}\" class=\"note\">{}</text>\n", kLeft, below + 4, escaped(chart.note));
  return out + "</svg>\n";
}

}  // namespace terrace
