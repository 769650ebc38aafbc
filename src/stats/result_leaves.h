// The plain values of a result file under their full names: "gpu.l2.0.hits{tenant=1}".
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "text/tree.h"

namespace terrace {

struct ResultLeaf {
  std::string name;
  Tree value;
  std::string unit = "";  // of a statistic
};

/// Every plain value below `tree`, whose own name is `name`. In a statistic `unit` says what is counted and `value` is
/// the statistic itself.
void flatten_result(const Tree& tree, const std::string& name, std::vector<ResultLeaf>& into);

}  // namespace terrace
