// SPDX-License-Identifier: MIT
#include "cli/paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "engine/check.h"
#include "text/program_folder.h"
#include "text/suggest.h"

namespace terrace {

namespace fs = std::filesystem;

std::string data_root() {
  std::error_code ignored;
  const fs::path folder = program_folder();
  for (const fs::path& root : {folder.parent_path() / "share" / "terrace", folder.parent_path().parent_path()})
    if (fs::is_directory(root / "configs", ignored)) return root.string();
  input_error(
      "the program in {} finds its configs/ neither in share/terrace beside its bin/ nor in the source folder of its "
      "build; reinstall it",
      folder.string());
}

std::vector<ConfigFile> config_files(const ConfigFolder& folder) {
  std::vector<ConfigFile> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::path(data_root()) / "configs" / folder.folder, ignored)) {
    if (entry.path().extension() != ".toml" || !entry.is_regular_file(ignored)) continue;
    std::string first;
    std::ifstream in(entry.path());
    std::getline(in, first);
    first.erase(0, first.starts_with('#') ? first.find_first_not_of("# ") : first.size());
    files.push_back({entry.path().stem().string(), first});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return files;
}

LayerFile find_config(const ConfigFolder& folder, const std::string& name) {
  if (name.find('/') != name.npos || name.ends_with(".toml") || name.ends_with(".json")) return {name, name};
  std::vector<std::string> known;
  for (const ConfigFile& file : config_files(folder)) known.push_back(file.name);
  const std::string shown = fmt::format("configs/{}/{}.toml", folder.folder, name);
  if (std::find(known.begin(), known.end(), name) != known.end()) return {data_root() + "/" + shown, shown};
  const std::string suggestion = did_you_mean(name, known);
  input_error("no {} named \"{}\"{}", folder.singular, name,
              suggestion.empty() ? fmt::format("; see {}", folder.command) : suggestion);
}

}  // namespace terrace
