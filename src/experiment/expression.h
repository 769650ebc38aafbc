// How a claim or a plot is computed from stored results, written in a sweep file instead of in code:
//
//   gmean(total_ipc[design="dws"] / total_ipc[design="baseline"])
//   mean(weighted_speedup[design="ideal"]) > mean(weighted_speedup[design="mask"]) > 1
//   100 * sum(stat("l2.*.misses")) / sum(thread_instructions)
//
// A quantity has a value for each point of the sweep, named by its labels; brackets choose points by a label, which is
// then gone. Operators join two sides on the labels that both have; means and their kin take everything, or keep the
// labels that they are given: mean(total_ipc, "design"). docs/sweeps.md has the whole language.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiment/sweep.h"

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

/// Numbers by the values of some labels; a plain number has no labels and one row.
struct Values {
  std::vector<std::string> labels;
  std::map<std::vector<std::string>, double> rows;
  bool scalar() const { return labels.empty(); }
};

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
