// How results name the opcodes that nobody knows: traces may have them (docs/traces.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>

#include "engine/types.h"
#include "text/tree.h"

namespace terrace {

/// One sentence.
std::string unknown_opcodes_text(const std::map<std::string, u64>& opcodes);
Tree unknown_opcodes_tree(const std::map<std::string, u64>& opcodes);

}  // namespace terrace
