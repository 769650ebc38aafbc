// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/root_config.h"
#include "config/field_list.h"
#include "config/loader.h"
#include "engine/check.h"
#include "text/output.h"
#include "text/suggest.h"

namespace terrace {

namespace {

const FieldInfo* find(const std::vector<FieldInfo>& fields, const std::string& key) {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const auto& field) { return field.path == key; });
  return found == fields.end() ? nullptr : &*found;
}

std::string explain(const FieldInfo& field, const std::string& by_default, const History& history) {
  std::string text = fmt::format("{} = {}\n  {}\n  {}\n", field.path, field.value, field.doc, field.phrase);
  const auto& steps = history.of(field.path);
  if (steps.empty()) return text + "  default value\n";
  text += fmt::format("  set by {}\n", steps.back().origin.text());
  for (std::size_t i = steps.size() - 1; i-- > 0;)
    text += fmt::format("    overrides {} from {}\n", steps[i].value, steps[i].origin.text());
  return text + fmt::format("    overrides {}, the default\n", by_default);
}

}  // namespace

/// A key, or a group of keys.
int explain_command(const CommandLine& line) {
  const std::string& key = line.operands.front();
  const ConfigLoader<RootConfig> loader(layers_of(line.config));
  RootConfig config = loader.config(), defaults;
  const std::vector<FieldInfo> fields = fields_of(config), default_fields = fields_of(defaults);
  std::string text;
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (fields[i].path == key || fields[i].path.starts_with(key + "."))
      text += (text.empty() ? "" : "\n") +
              explain(fields[i], find(default_fields, fields[i].path)->value, loader.history());
  if (text.empty()) {
    std::vector<std::string> known;
    for (const FieldInfo& field : fields) known.push_back(field.path);
    const std::string suggestion = did_you_mean(key, known);
    input_error("explain: {} is not a known key{}", key, suggestion.empty() ? "; see terrace list keys" : suggestion);
  }
  write_stdout(text);
  return 0;
}

}  // namespace terrace
