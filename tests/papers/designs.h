// A machine of configs/gpu with designs of configs/designs, for tests of the papers.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "config/loader.h"
#include "gpu/config.h"
#include "support/paths.h"

namespace terrace {

inline GpuConfig machine_with(const std::string& gpu, const std::vector<std::string>& designs,
                              const std::vector<std::string>& sets = {}) {
  Layers layers;
  const auto file = [](const std::string& shown) { return LayerFile{source_folder() + "/" + shown, shown}; };
  layers.gpu.push_back(file("configs/gpu/" + gpu + ".toml"));
  for (const std::string& design : designs) layers.designs.push_back(file("configs/designs/" + design + ".toml"));
  for (const std::string& set : sets) layers.options.push_back(split_assignment(set, "--set"));
  return ConfigLoader<GpuConfig>(layers).config();
}

}  // namespace terrace
