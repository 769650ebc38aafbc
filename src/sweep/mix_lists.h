// Named lists of mixes in a file of their own (configs/sets): the workload sets of the papers, which sweep files name as
// SET.LIST.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "config/loader.h"

namespace terrace {

struct MixList {
  std::string name;
  std::string about;                            // one line
  std::vector<std::vector<std::string>> mixes;  // their tenants
};

/// The lists of a file, by name. A list without a line under [about], and the reverse, is the user's error.
std::vector<MixList> read_mix_lists(const LayerFile& file);

}  // namespace terrace
