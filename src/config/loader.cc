// SPDX-License-Identifier: MIT
#include "config/loader.h"

#include <algorithm>
#include <functional>

#include "config/field_list.h"
#include "config/validation.h"
#include "engine/check.h"

namespace terrace {

namespace {

/// A document's values, each under its full key. An empty table is kept: its name may be misspelt.
void flatten(const Tree& table, const std::string& prefix, const std::string& source, std::vector<Given>& into) {
  for (const auto& [key, value] : table.members()) {
    if (key.empty()) input_error("{}: a key is empty; give it a name", Origin{source, value.line}.text());
    if (value.members().empty())
      into.push_back({prefix + key, value, false, {source, value.line}});
    else
      flatten(value, prefix + key + ".", source, into);
  }
}

std::vector<Given> read_layer(const LayerFile& file) {
  std::vector<Given> values;
  const std::string text = read_file(file.path);
  if (file.path.ends_with(".json")) {
    const Tree result = parse_json(text, file.shown);
    const Tree* config = result.find("config");
    if (!config || !config->is_table())
      input_error("{}: has no \"config\"; give a machine's .toml or a result of terrace run", file.shown);
    flatten(*config, "", file.shown, values);
  } else {
    flatten(parse_toml(text, file.shown), "", file.shown, values);
  }
  return values;
}

std::string value_at(Described root, const std::string& path) {
  for (const FieldInfo& field : fields_of(root))
    if (field.path == path) return field.value;
  return "";  // an empty table has none
}

class Validator final : public TextFields, public Validation {
 public:
  explicit Validator(const History& history) : history_(history) {}

  void run(Described root) {
    root_ = &root;
    root.describe(*this);
    root.validate(*this);
  }

 protected:
  void field(FieldInfo) override {}
  bool only_policy_in_use() const override { return true; }
  Validation* validation() override { return this; }
  [[noreturn]] void refuse(std::string_view key, std::string sentence) override {
    const std::string full = path(key);
    input_error("{}: {} = {} {}", history_.origin(full).text(), full, value_at(*root_, full), sentence);
  }

 private:
  const History& history_;
  const Described* root_ = nullptr;
};

}  // namespace

const std::vector<History::Step>& History::of(const std::string& path) const {
  static const std::vector<Step> kNone;
  const auto found = steps_.find(path);
  return found == steps_.end() ? kNone : found->second;
}

Origin History::origin(const std::string& path) const {
  const auto& steps = of(path);
  return steps.empty() ? Origin{} : steps.back().origin;
}

History apply_layers(Described root, const Layers& layers) {
  History history;
  const auto apply = [&](const Given& given) {
    assign(root, given);
    if (given.value.is_table()) return std::string();
    std::string value = value_at(root, given.path);
    history.add(given.path, {given.origin, value});
    return value;
  };

  // A file names each key once: all of them are read back together, since reading back costs a walk over every field.
  const auto apply_file = [&](const LayerFile& file,
                              const std::function<void(const Given&, const std::string&)>& each) {
    const std::vector<Given> layer = read_layer(file);
    for (const Given& given : layer) assign(root, given);
    std::map<std::string, std::string> values;
    for (FieldInfo& field : fields_of(root)) values.emplace(std::move(field.path), std::move(field.value));
    for (const Given& given : layer) {
      if (given.value.is_table()) continue;
      const std::string& value = values[given.path];
      history.add(given.path, {given.origin, value});
      if (each) each(given, value);
    }
  };

  for (const LayerFile& file : layers.gpu) apply_file(file, nullptr);

  std::map<std::string, History::Step> by_design;
  for (const LayerFile& file : layers.designs) {
    apply_file(file, [&](const Given& given, const std::string& value) {
      const auto [other, first] = by_design.emplace(given.path, History::Step{given.origin, value});
      if (first || other->second.value == value) return;
      input_error("{}: {} = {} conflicts with {}, which sets it to {}; use only one of the two designs",
                  given.origin.text(), given.path, value, other->second.origin.text(), other->second.value);
    });
  }

  std::map<std::string, std::string> by_option;
  for (const Given& given : layers.options) {
    const std::string value = apply(given);
    const auto [other, first] = by_option.emplace(given.path, value);
    if (!first && other->second != value)
      input_error("{}: {} is given twice, as {} and as {}; give it once", given.origin.text(), given.path,
                  other->second, value);
  }
  validate_all(root, history);
  return history;
}

void validate_all(Described root, const History& history) {
  Validator(history).run(root);
}

}  // namespace terrace
