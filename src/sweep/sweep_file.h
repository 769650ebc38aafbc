// A sweep file: which runs, which claims they feed and how each is computed, which plots to draw. docs/sweeps.md is the
// guide for users. Reading never stops at the first mistake: all of them are listed before anything runs.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/loader.h"
#include "engine/check.h"
#include "engine/types.h"
#include "sweep/executors/slurm_options.h"
#include "text/tree.h"

namespace terrace {

/// Where machines, designs and sets of mixes are found by name; an unknown name is an InputError.
struct ConfigSource {
  std::function<LayerFile(const std::string&)> gpu, design;
  std::function<LayerFile(const std::string&)> set = {};
};

/// Everything wrong with a file, by line; a sentence that is there already is not added again.
class Mistakes {
 public:
  explicit Mistakes(std::string file) : file_(std::move(file)) {}

  template <class... Args>
  void add(u32 line, fmt::format_string<Args...> format, Args&&... args) {
    put(line, place(line) + ": " + fmt::format(format, std::forward<Args>(args)...));
  }
  /// Does `act`; what it refuses is a mistake of that line. False then.
  template <class Act>
  bool guard(u32 line, Act&& act) {
    try {
      act();
      return true;
    } catch (const InputError& error) {
      const std::string what = error.what();
      put(line, what.starts_with(file_) ? what : place(line) + ": " + what);
      return false;
    }
  }
  bool none() const { return sentences_.empty(); }
  /// An InputError with all of them, if there are any.
  void raise() const;

 private:
  std::string place(u32 line) const { return line == 0 ? file_ : fmt::format("{}:{}", file_, line); }
  void put(u32 line, std::string sentence);

  std::string file_;
  std::vector<std::pair<u32, std::string>> sentences_;  // with their lines
};

/// Tenants that run together.
struct Mix {
  std::string label;  // "gups+mm"
  std::string list;   // the named list it stands in, or empty
  std::vector<std::string> tenants;
};

/// How a mix shares the SMs.
struct Shares {
  std::string label;        // as written: "even", "12", "10,14", "oracle:NAME"
  std::vector<u64> counts;  // none: evenly
  std::string search;       // NAME of an oracle search
};

/// A key of the configuration with the values it takes in turn.
struct Axis {
  std::string key;
  std::vector<Tree> values;
  bool machine = true;  // a change of the machine, which alone runs share; false: of the design only
  u32 line = 0;
};

struct Grid {
  std::string name;
  u32 line = 0;
  std::vector<std::string> gpus;
  std::vector<std::vector<std::string>> designs;
  std::vector<Mix> mixes;
  std::vector<std::string> sizes, untils;
  std::vector<u64> seeds;
  bool repeated = false;  // the same runs under several seeds, for intervals: tenants arrive at slightly other times
  std::vector<Shares> shares;
  std::vector<Axis> axes;
  std::optional<bool> alone;         // whether alone runs are wanted; unless said, for two tenants and more
  std::map<std::string, u32> lines;  // of its keys
  std::string optimise;              // the metric of an oracle search; empty: a plain grid
};

/// The line of a key of a grid, or of the grid itself.
inline u32 line_of(const Grid& grid, const std::string& key) {
  const auto found = grid.lines.find(key);
  return found == grid.lines.end() ? grid.line : found->second;
}

struct Claim {
  /// One of several things that an ordering claim compares.
  struct Item {
    std::string name, value;  // an expression
  };
  std::string id, value;          // an expression; empty where there are items
  std::optional<double> neutral;  // the value that means "no difference"
  std::string note = {};
  std::vector<Item> items = {};
  std::string why = {};  // the experiment that explains why it does not hold
  u32 line = 0;
};

/// Claims of a paper that the file does not measure, and why not.
struct NotMeasured {
  std::vector<std::string> ids;
  std::string reason;
  u32 line = 0;
};

/// A number that a paper prints, drawn beside what was measured.
struct PrintedPoint {
  std::string series, x;        // where it stands; an empty x: at the mean
  std::string claim;            // the claim that has the number; empty: `value`
  std::optional<double> value;  // where no claim has it
};

struct Plot {
  std::string name, title, y, x, series, panel, x_title, y_title;
  std::string mean;  // "mean" or "gmean": one more group of bars at the end; empty: none
  std::vector<PrintedPoint> printed;
  bool bars = false;
  bool stacked = false;  // bars on top of each other: the shares of a whole
  std::optional<double> neutral;
  u32 line = 0;
};

/// Numbers beside each other: a row for each value of a label, a column for each expression.
struct ResultTable {
  struct Column {
    std::string title, value;  // an expression
    std::optional<double> neutral = {};
  };
  std::string name, title, rows;  // the label
  std::string chart;              // how pages draw it: bar, line, stack, none; empty: as it seems best
  std::string mean, y_title;      // of the chart, as of a plot
  std::vector<PrintedPoint> printed;
  std::vector<Column> columns;
  u32 line = 0;
};

struct SweepFile {
  std::string path, text;
  std::string name;
  std::string paper;        // whose claims it measures; else empty
  u64 stats_every = 0;      // cycles of an interval of statistics over time; 0: none are kept
  std::vector<Grid> grids;  // searches among them
  std::vector<Claim> claims;
  std::vector<NotMeasured> not_measured;
  std::vector<ResultTable> tables;
  std::vector<Plot> plots;
  SlurmOptions slurm;  // for --executor slurm
};

/// The most that `seeds` may ask for: an interval shrinks with the root of it, and so its price soon says no by itself.
constexpr u64 kMostSeeds = 100;

/// Reads `text`; `size` replaces every size in it when it is not empty, `seeds` every number of seeds when it is not 0.
/// What the file says under at.SIZE then takes the place of the keys beside it. Of a paper's file the size is part of the name.
/// Names of machines, designs and workloads are looked up when the sweep is planned; the lists of a set are read here, where
/// `configs` says where it is. Without it, mixes by the name of such a list are left out: a stored sweep needs them no more.
SweepFile parse_sweep(const std::string& path, const std::string& text, const std::string& size, Mistakes& mistakes,
                      u64 seeds = 0, const ConfigSource* configs = nullptr);

/// What a person writes for a value: text without quotes.
std::string plain_text(const Tree& value);

}  // namespace terrace
