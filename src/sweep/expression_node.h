// A parsed expression. Shared by its parser and its evaluation.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sweep/expression.h"

namespace terrace {

struct Expression::Node {
  enum class Kind : unsigned char { kNumber, kQuantity, kNegate, kBinary, kChain, kAggregate, kAbsolute, kSquareRoot };
  Kind kind;
  double number = 0;
  Quantity quantity;
  std::vector<std::pair<std::string, std::string>> selector;
  std::string word;                // the operator, or the aggregate's name
  std::vector<std::string> words;  // the labels that an aggregate keeps; the comparisons of a chain
  std::vector<std::unique_ptr<Node>> children;
};

std::unique_ptr<Expression::Node> parse_expression(const std::string& text);

}  // namespace terrace
