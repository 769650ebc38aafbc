// SPDX-License-Identifier: MIT
#include "experiment/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>

namespace terrace {

namespace {

// Pixels. Chosen by eye: four panels fill a page.
constexpr double kPlotWidth = 190, kPlotHeight = 120;
constexpr double kLeft = 52, kRight = 14, kTop = 28, kBottom = 38;
constexpr double kPanelWidth = kLeft + kPlotWidth + kRight, kPanelHeight = kTop + kPlotHeight + kBottom;
constexpr std::size_t kColumns = 4;
constexpr double kHeader = 34, kLegendLine = 16;
// Okabe and Ito's colours, which colour-blind readers can tell apart.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#56b4e9", "#e69f00", "#000000", "#b0a000"};

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
  Panel(const Chart& chart, const Series& series, std::vector<std::string> names)
      : chart_(chart), series_(series), names_(std::move(names)) {
    std::set<double> numbers;
    std::set<std::string> words;
    for (const auto& [name, points] : series) {
      for (const ChartPoint& point : points) {
        most_ = std::max(most_, point.y);
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
    if (!(most_ > 0)) most_ = 1;
  }

  std::string svg(const std::string& title) const {
    std::string out =
        fmt::format("<text x=\"{}\" y=\"18\" class=\"panel\">{}</text>\n", kLeft + kPlotWidth / 2, escaped(title));
    axes(out);
    for (const auto& [name, points] : series_) {
      const auto index = static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
      chart_.bars ? bars(out, points, index) : line(out, points, index);
    }
    return out;
  }

 private:
  double x_at(double value) const { return kLeft + (value - from_) / (to_ - from_) * kPlotWidth; }
  double y_at(double value) const { return kTop + kPlotHeight * (1 - value / (most_ * 1.05)); }
  double slot() const { return kPlotWidth / static_cast<double>(std::max<std::size_t>(1, categories_.size())); }
  std::size_t category(const std::string& x) const {
    const auto value = number_of(x);
    const std::string name = value ? fmt::format("{}", *value) : x;
    return static_cast<std::size_t>(std::find(categories_.begin(), categories_.end(), name) - categories_.begin());
  }

  void axes(std::string& out) const {
    const auto put = std::back_inserter(out);
    const double step = tick_step(most_);
    for (int i = 0; i * step <= most_ * 1.05; ++i) {
      const double y = y_at(i * step);
      fmt::format_to(put, "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" class=\"grid\"/>", kLeft,
                     kLeft + kPlotWidth, y, y);
      fmt::format_to(put, "<text x=\"{}\" y=\"{:.1f}\" class=\"y\">{:.6g}</text>\n", kLeft - 4, y + 3, i * step);
    }
    if (numeric_) {
      const double x_step = tick_step(to_);
      for (int i = 0; i * x_step <= to_; ++i)
        if (i * x_step >= from_) tick(out, x_at(i * x_step), fmt::format("{:.6g}", i * x_step));
    } else {
      for (std::size_t i = 0; i < categories_.size(); ++i)
        tick(out, kLeft + (static_cast<double>(i) + 0.5) * slot(), categories_[i]);
    }
    fmt::format_to(put, "<text x=\"{}\" y=\"{}\" class=\"x\">{}</text>\n", kLeft + kPlotWidth / 2,
                   kTop + kPlotHeight + 28, escaped(chart_.x_title));
    fmt::format_to(put, "<text transform=\"translate(12 {}) rotate(-90)\" class=\"x\">{}</text>\n",
                   kTop + kPlotHeight / 2, escaped(chart_.y_title));
  }
  static void tick(std::string& out, double x, const std::string& text) {
    fmt::format_to(std::back_inserter(out), "<text x=\"{:.1f}\" y=\"{}\" class=\"x\">{}</text>\n", x,
                   kTop + kPlotHeight + 13, escaped(text));
  }

  void line(std::string& out, std::vector<ChartPoint> points, std::size_t index) const {
    const auto place = [&](const ChartPoint& point) {
      return numeric_ ? x_at(*number_of(point.x)) : kLeft + (static_cast<double>(category(point.x)) + 0.5) * slot();
    };
    std::sort(points.begin(), points.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
    const char* colour = kColours[index % std::size(kColours)];
    std::string path;
    for (const ChartPoint& point : points) path += fmt::format("{:.1f},{:.1f} ", place(point), y_at(point.y));
    out += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", path, colour);
    for (const ChartPoint& point : points)
      out +=
          fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\" fill=\"{}\"/>", place(point), y_at(point.y), colour);
    out += "\n";
  }

  void bars(std::string& out, const std::vector<ChartPoint>& points, std::size_t index) const {
    const double width = slot() * 0.8 / static_cast<double>(std::max<std::size_t>(1, names_.size()));
    for (const ChartPoint& point : points) {
      const double x =
          kLeft + (static_cast<double>(category(point.x)) + 0.1) * slot() + static_cast<double>(index) * width;
      const double y = y_at(std::max(0.0, point.y));
      out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n", x, y,
                         width, kTop + kPlotHeight - y, kColours[index % std::size(kColours)]);
    }
  }

  const Chart& chart_;
  const Series& series_;
  std::vector<std::string> names_, categories_;
  double most_ = 0, from_ = 0, to_ = 1;
  bool numeric_ = true;
};

}  // namespace

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string chart_svg(const Chart& chart) {
  std::set<std::string> all;
  for (const auto& [title, series] : chart.panels)
    for (const auto& [name, points] : series) all.insert(name);
  const std::vector<std::string> names(all.begin(), all.end());
  const bool legend = names.size() > 1;
  const std::size_t columns = std::clamp<std::size_t>(chart.panels.size(), 1, kColumns);
  const std::size_t rows = (chart.panels.size() + columns - 1) / columns;
  const double top = kHeader + (legend ? kLegendLine : 0);
  const double width = static_cast<double>(columns) * kPanelWidth,
               height = top + static_cast<double>(rows) * kPanelHeight;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\">\n"
      "<style>text{{font-family:sans-serif;font-size:10px;fill:#333}} .x,.panel,.title{{text-anchor:middle}} "
      ".y{{text-anchor:end}} .panel{{font-weight:bold}} .title{{font-size:14px}} .grid{{stroke:#ddd}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{}\" y=\"20\" class=\"title\">{}</text>\n",
      width, height, width, height, width / 2, escaped(chart.title));
  for (std::size_t i = 0; legend && i < names.size(); ++i) {
    const double x = 20 + static_cast<double>(i) * (width - 40) / static_cast<double>(names.size());
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{}\" width=\"9\" height=\"9\" fill=\"{}\"/><text x=\"{:.1f}\" y=\"{}\">{}</text>\n", x,
        kHeader, kColours[i % std::size(kColours)], x + 13, kHeader + 8, escaped(names[i]));
  }
  std::size_t place = 0;
  for (const auto& [title, series] : chart.panels) {
    out +=
        fmt::format("<g transform=\"translate({} {})\">\n{}</g>\n", static_cast<double>(place % columns) * kPanelWidth,
                    top + static_cast<double>(place / columns) * kPanelHeight, Panel(chart, series, names).svg(title));
    ++place;
  }
  return out + "</svg>\n";
}

}  // namespace terrace
