// Where machines, designs and workloads are found: beside the sources when the program runs from a build folder,
// PREFIX/share/terrace when it was installed.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/loader.h"

namespace terrace {

/// The folder that holds configs/ and workloads/. An InputError when there is none.
std::string data_root();

/// A kind of file in configs/.
struct ConfigFolder {
  std::string_view folder;    // "gpu"
  std::string_view singular;  // "machine", in sentences
  std::string_view command;   // "terrace list gpus"
};
inline constexpr ConfigFolder kGpus{"gpu", "machine", "terrace list gpus"};
inline constexpr ConfigFolder kDesigns{"designs", "design", "terrace list designs"};
inline constexpr ConfigFolder kSets{"sets", "set of mixes", "terrace list sets"};

struct ConfigFile {
  std::string name;     // "dws_30sm"
  std::string summary;  // the comment on its first line
};
/// In alphabetical order.
std::vector<ConfigFile> config_files(const ConfigFolder& folder);

/// A name in that folder, or the path of a user's own file (it has a slash or ends in .toml or .json).
LayerFile find_config(const ConfigFolder& folder, const std::string& name);

}  // namespace terrace
