// Builds one configuration from files and options. Later layers override earlier ones: the defaults in the structs, the
// machine's file, design overlays, and options of the command line (--set and others). Two overlays that set the same
// key to different values are refused. Each value remembers every layer that set it. Each layer is read directly into
// the typed structs; tables are never merged.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/assign.h"
#include "config/fields.h"

namespace terrace {

/// A file, and what messages call it ("configs/gpu/dws_30sm.toml"). A .json file is a result: its `config` is meant.
struct LayerFile {
  std::string path;
  std::string shown;
};

struct Layers {
  std::vector<LayerFile> gpu = {};  // none or one
  std::vector<LayerFile> designs = {};
  std::vector<Given> options = {};
};

/// The values that layers gave to each key, in order; the last one is in effect.
class History {
 public:
  struct Step {
    Origin origin;
    std::string value;  // as TOML writes it
  };
  /// Without the default.
  const std::vector<Step>& of(const std::string& path) const;
  Origin origin(const std::string& path) const;
  void add(const std::string& path, Step step) { steps_[path].push_back(std::move(step)); }

 private:
  std::map<std::string, std::vector<Step>> steps_;
};

/// Applies the layers and checks what involves several fields. Anything wrong is an InputError.
History apply_layers(Described root, const Layers& layers);
/// The last step of `apply_layers`; `history` gives the origin of a refused value.
void validate_all(Described root, const History& history);

/// The configuration of a program: any struct with `describe`.
template <class Root>
class ConfigLoader {
 public:
  ConfigLoader() = default;
  explicit ConfigLoader(const Layers& layers) : history_(apply_layers(config_, layers)) {}

  const Root& config() const { return config_; }
  const History& history() const { return history_; }

 private:
  Root config_;
  History history_;
};

}  // namespace terrace
