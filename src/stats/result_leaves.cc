// SPDX-License-Identifier: MIT
#include "stats/result_leaves.h"

#include <fmt/format.h>

#include "stats/stat_tree.h"

namespace terrace {

namespace {

void flatten(const Tree& tree, const std::string& name, const std::string& unit, std::vector<ResultLeaf>& into) {
  if (tree.is_table()) {
    const Tree* counted = tree.find("unit");
    const auto* text = counted ? std::get_if<std::string>(&counted->value) : nullptr;
    const std::string its_unit = text ? *text : unit;
    for (const auto& [key, value] : tree.members()) {
      if (counted && key == "unit") continue;
      if (counted && key == "tenants") {
        for (std::size_t i = 0; i < value.items().size(); ++i)
          flatten(value.items()[i], fmt::format("{}{{tenant={}}}", name, i), its_unit, into);
      } else if (counted && key == "matrix") {
        const u32 tenants = static_cast<u32>(value.items().size());
        for (u32 row = 0; row < tenants; ++row) {
          u32 cell = row * (tenants + 1);
          for (const Tree& each : value.items()[row].items())
            flatten(each, matrix_cell_name(name, cell++, tenants), its_unit, into);
        }
      } else if (counted && key == "buckets") {
        for (const Tree& bucket : value.items())
          if (bucket.items().size() == 2)
            flatten(bucket.items()[1], fmt::format("{}{{from={}}}", name, bucket.items()[0].text()), its_unit, into);
      } else {
        const bool itself = name.empty() || (counted && key == "value");
        flatten(value, itself ? (name.empty() ? key : name) : fmt::format("{}.{}", name, key), its_unit, into);
      }
    }
  } else if (tree.is_list()) {
    for (std::size_t i = 0; i < tree.items().size(); ++i)
      flatten(tree.items()[i], fmt::format("{}[{}]", name, i), unit, into);
  } else {
    into.push_back({name, tree, unit});
  }
}

}  // namespace

void flatten_result(const Tree& tree, const std::string& name, std::vector<ResultLeaf>& into) {
  flatten(tree, name, "", into);
}

}  // namespace terrace
