// Things that register themselves before main and are found by name: workloads, kinds of device code.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/check.h"
#include "text/suggest.h"

namespace terrace {

template <class T>
class ByName {
 public:
  /// What one is called, and several: "workload", "workloads".
  ByName(std::string_view one, std::string_view several) : one_(one), several_(several) {}

  void add(std::string name, std::unique_ptr<T> thing) {
    if (things_.emplace(name, std::move(thing)).second) return;
    // Before main there is nobody to catch an exception.
    fmt::print(stderr, "terrace: two {} are called \"{}\"; rename one of them.\n", several_, name);
    std::abort();
  }
  /// In the order of their names.
  std::vector<const T*> all() const {
    std::vector<const T*> all;
    for (const auto& [name, thing] : things_) all.push_back(thing.get());
    return all;
  }
  /// An unknown name is an InputError that lists those there are.
  const T& find(std::string_view name) const {
    if (const auto found = things_.find(name); found != things_.end()) return *found->second;
    std::vector<std::string> known;
    for (const auto& [its_name, thing] : things_) known.push_back(its_name);
    input_error("no {} named \"{}\"; available: {}{}", one_, name, fmt::join(known, ", "), did_you_mean(name, known));
  }

 private:
  std::string_view one_, several_;
  std::map<std::string, std::unique_ptr<T>, std::less<>> things_;
};

}  // namespace terrace
