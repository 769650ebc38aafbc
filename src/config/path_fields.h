// A visitor that knows where it is: `path(name)` is the full key of a field.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/fields.h"

namespace terrace {

class PathFields : public Fields {
 public:
  explicit PathFields(std::string_view root = "") { prefixes_.emplace_back(root); }

 protected:
  std::string path(std::string_view name) const {
    return prefixes_.back().empty() ? std::string(name) : prefixes_.back() + "." + std::string(name);
  }
  const std::string& group_path() const { return prefixes_.back(); }

  void enter(std::string_view name, std::string_view /*doc*/) override { prefixes_.push_back(path(name)); }
  void leave() override { prefixes_.pop_back(); }

 private:
  std::vector<std::string> prefixes_;
};

}  // namespace terrace
