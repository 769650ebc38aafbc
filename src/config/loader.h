// From files and flags to one configuration. The layers apply in this order, the later ones winning: the defaults in
// the structs, the machine's file, design overlays, the experiment's file, and options of the command line (--set and
// its kin). Two overlays that set one key differently are refused. Each value remembers every layer that set it. Tables
// are never merged: each layer is read in place into the typed structs.
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
  std::vector<LayerFile> experiment = {};  // none or one
  std::vector<Given> options = {};
};

/// What happened to each key that some layer set, in order; the last one holds.
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
/// The last step of the above; `history` tells where a refused value came from.
void validate_all(Described root, const History& history);

std::string run_id_of(const std::string& resolved_toml);

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
