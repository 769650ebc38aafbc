// Expressions of sweep files, which compute claims, tables and plots from stored results:
//
//   gmean(total_ipc[design="dws"] / total_ipc[design="baseline"])
//   mean(weighted_speedup[design="ideal"]) > mean(weighted_speedup[design="mask"]) > 1
//   100 * sum(stat("l2.*.misses")) / sum(thread_instructions)
//
// A quantity has a value for each point of the sweep, identified by its labels. Brackets select points by a label, and
// the result no longer has that label. Operators match the two sides by the labels that both have. Means and other
// reductions remove all labels, or keep those they are given: mean(total_ipc, "design"). docs/sweeps.md has the whole
// language.
//
// With several seeds the seed stays a label, so that each seed is compared with itself, until a comparison, or the code
// that shows the values, combines the seeds (estimate.h).
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/point.h"

namespace terrace {

struct Quantity {
  std::string name;           // "total_ipc", "ipc", "stat"
  std::optional<u64> tenant;  // ipc(0), alone_stat("l2.*.hits", 0)
  std::string pattern;        // stat("l2.*.hits")
  std::string text() const;
};

/// What expressions are computed from.
class ResultSource {
 public:
  virtual ~ResultSource() = default;
  virtual std::size_t points() const = 0;
  virtual const Labels& labels(std::size_t point) const = 0;
  /// Nothing when the point's run is missing or failed, or has no such thing.
  virtual std::optional<double> value(std::size_t point, const Quantity& quantity) = 0;
};

/// The label that distinguishes the repetitions of a point.
inline constexpr std::string_view kSeedLabel = "seed";

/// How a comparison over several seeds came about.
struct Verdict {
  u64 seeds = 0;
  bool within_noise = false;  // the difference lies inside its interval: it neither holds nor fails, and counts as 0
  bool operator==(const Verdict&) const = default;
};

/// Numbers by the values of some labels; a plain number has no labels and one row.
struct Values {
  std::vector<std::string> labels;
  std::map<std::vector<std::string>, double> rows;
  std::map<std::vector<std::string>, Verdict> verdicts = {};  // of rows that were decided over several seeds
  bool scalar() const { return labels.empty(); }
};

/// Values that differ in one label only, together; the label is gone.
struct GroupedValues {
  std::vector<std::string> labels;
  std::map<std::vector<std::string>, std::vector<double>> rows;
};
/// Of values without the label, each is a group of its own.
GroupedValues group_over(std::string_view label, const Values& values);

class Expression {
 public:
  /// A mistake is an InputError that says where in the text it is.
  explicit Expression(const std::string& text);
  ~Expression();
  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;

  /// Results that are missing are an InputError that names the first of them.
  Values evaluate(ResultSource& source) const;
  /// Every label and value that brackets ask for.
  std::vector<std::pair<std::string, std::string>> choices() const;

  struct Node;

 private:
  std::unique_ptr<Node> root_;
};

/// Sets of labels shown in a sentence: design=dws, mix=gups+mm.
std::string labels_text(const Labels& labels);

}  // namespace terrace
