// Rows of a store as trees, for JSON.
// SPDX-License-Identifier: MIT
#pragma once

#include "store/database.h"
#include "text/tree.h"

namespace terrace {

inline Tree tree_of(const Cell& cell) {
  if (const auto* whole = std::get_if<i64>(&cell)) return Tree(*whole);
  if (const auto* real = std::get_if<double>(&cell)) return Tree(*real);
  if (const auto* text = std::get_if<std::string>(&cell)) return Tree(*text);
  return {};
}

/// The columns of the statement's row, from `first` on, by their names.
inline Tree row_tree(const Statement& row, u32 first = 0) {
  Tree tree = Tree::table();
  for (u32 i = first; i < row.columns(); ++i) tree[row.name(i)] = tree_of(row.cell(i));
  return tree;
}

}  // namespace terrace
