// SPDX-License-Identifier: MIT
#include "run/unknown_opcodes.h"

#include <fmt/format.h>

namespace terrace {

std::string unknown_opcodes_text(const std::map<std::string, u64>& opcodes) {
  u64 all = 0;
  std::string names;
  for (const auto& [opcode, count] : opcodes) {
    all += count;
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", opcode, count);
  }
  return fmt::format(
      "{} instruction{} of each execution did nothing but issue, for want of an entry in the table of opcodes: {}", all,
      all == 1 ? "" : "s", names);
}

Tree unknown_opcodes_tree(const std::map<std::string, u64>& opcodes) {
  Tree tree = Tree::table();
  for (const auto& [opcode, count] : opcodes) tree[opcode] = count;
  return tree;
}

}  // namespace terrace
