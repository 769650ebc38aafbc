// The fields of a described struct as text: for the reference, `terrace explain`, and the resolved configuration.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/path_fields.h"

namespace terrace {

struct FieldInfo {
  std::string path;    // "mmu.walkers"
  std::string value;   // as TOML writes it
  std::string phrase;  // what it may be: "a whole number from 1 to 1024"
  std::string doc;
};

/// A visitor that turns every kind of field into text and hands it to `field`.
class TextFields : public PathFields {
 protected:
  virtual void field(FieldInfo info) = 0;

  void on_bool(std::string_view name, bool& value, std::string_view doc) override;
  void on_integer(std::string_view name, u64& value, Range range, std::string_view doc) override;
  void on_fraction(std::string_view name, Fraction& value, Range millionths, std::string_view doc) override;
  void on_string(std::string_view name, std::string& value, std::string_view doc) override;
  void on_list(std::string_view name, std::vector<u64>& value, Range each, std::string_view doc) override;
  void on_choice(std::string_view name, u32& value, std::span<const std::string_view> spellings,
                 std::string_view doc) override;
  void on_use(std::string& use, const PolicyTable& table, std::string_view doc) override;
};

/// In the order of the describe lists. Parameters of policies that are not in use are left out when `only_in_use`.
std::vector<FieldInfo> fields_of(Described target, bool only_in_use = false);

/// The whole configuration as TOML, every key with its value: reading it back gives the same configuration.
std::string resolved_toml(Described target);

}  // namespace terrace
