// What there is: `terrace list` for people, and the pages of docs/reference.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "claims/catalogue.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/paths.h"
#include "cli/root_config.h"
#include "cli/stats_listing.h"
#include "config/field_list.h"
#include "config/registry.h"
#include "engine/check.h"
#include "run/workload_list.h"
#include "sweep/mix_lists.h"
#include "text/output.h"
#include "text/suggest.h"
#include "text/table.h"
#include "text/tree.h"

namespace terrace {

namespace {

std::string as_text(const TextTable& table, bool markdown) {
  return markdown ? table.markdown() : table.plain();
}

std::string generated(std::string_view title, std::string_view what) {
  return fmt::format("# {}\n\nWritten by `terrace list {} --markdown`; do not edit.\n\n", title, what);
}

std::string files(const ConfigFolder& folder, bool markdown) {
  TextTable table{{"name", "summary"}, {}};
  for (const ConfigFile& file : config_files(folder)) table.rows.push_back({file.name, file.summary});
  if (table.rows.empty()) return fmt::format("There is no {}.\n", folder.singular);
  return as_text(table, markdown);
}

std::string gpus(bool markdown) {
  return files(kGpus, markdown);
}

std::string designs(bool markdown) {
  return files(kDesigns, markdown);
}

/// As a grid of a sweep names them.
std::string sets(bool markdown) {
  TextTable table{{"list", "mixes", "what"}, {}};
  for (const ConfigFile& file : config_files(kSets))
    for (const MixList& list : read_mix_lists(find_config(kSets, file.name)))
      table.rows.push_back({file.name + "." + list.name, fmt::format("{}", list.mixes.size()), list.about});
  return as_text(table, markdown);
}

std::string keys(bool markdown) {
  RootConfig config;
  TextTable table{{"key", "default", "allowed values", "meaning"}, {}};
  const std::string quote = markdown ? "`" : "";
  for (const FieldInfo& field : fields_of(config))
    table.rows.push_back({quote + field.path + quote, quote + field.value + quote, field.phrase, field.doc});
  return (markdown ? generated("Configuration keys", "keys") : "") + as_text(table, markdown);
}

std::string slot_text(const PolicyTable& slot, bool markdown) {
  const std::string mark = markdown ? "`" : "", point = markdown ? "- " : "  ";
  std::string text = fmt::format("{}{} ({}{}{}): {}\n{}", markdown ? "## " : "", slot.slot().name, mark,
                                 slot.slot().key, mark, slot.slot().doc, markdown ? "\n" : "");
  for (const auto& [name, entry] : slot.entries()) {
    const std::string paper = entry->about.paper.empty() ? "" : fmt::format(" [{}]", entry->about.paper);
    fmt::format_to(std::back_inserter(text), "{}{}{}{}: {}{}\n", point, mark, name, mark, entry->about.summary, paper);
    const auto params = entry->default_params();
    for (const FieldInfo& field : fields_of(*params))
      fmt::format_to(std::back_inserter(text), "  {}{}{} = {}{}: {} ({})\n", point, mark, field.path, field.value, mark,
                     field.doc, field.phrase);
  }
  return text;
}

std::vector<const PolicyTable*> slots() {
  std::vector<const PolicyTable*> in_configuration;
  for (const PolicyTable* table : PolicyTable::all())
    if (!table->slot().key.empty()) in_configuration.push_back(table);
  return in_configuration;
}

std::string policies(bool markdown) {
  std::string text;
  for (const PolicyTable* slot : slots()) text += (text.empty() ? "" : "\n") + slot_text(*slot, markdown);
  return (markdown ? generated("Policies", "policies") : "") + text;
}

std::string stats(bool markdown) {
  TextTable table = stats_listing();
  if (markdown)
    for (std::vector<std::string>& row : table.rows) {
      row[0] = "`" + row[0] + "`";
      if (!row[3].empty()) row[3] = "`" + row[3] + "`";
    }
  const char* about =
      "`with` names a machine, a design or an option that has the statistic; without one, the default machine has "
      "it.\n\n";
  return (markdown ? generated("Statistics", "stats") + about : "") + as_text(table, markdown);
}

std::string claims(bool markdown) {
  return claims_listing("", markdown);
}

std::string kernels(bool) {
  input_error("list: kernels of which file? Write terrace list kernels FILE, with a .ptx, .cu or .toml file");
}

struct Listing {
  std::string_view name;
  std::string (*text)(bool markdown);
};
constexpr Listing kListings[] = {{"gpus", gpus},   {"designs", designs},   {"workloads", workloads_text},
                                 {"sets", sets},   {"policies", policies}, {"keys", keys},
                                 {"stats", stats}, {"claims", claims},     {"kernels", kernels}};

}  // namespace

std::vector<std::string> listings() {
  std::vector<std::string> names;
  for (const Listing& listing : kListings) names.emplace_back(listing.name);
  return names;
}

std::string listing(std::string_view what, bool markdown) {
  std::vector<std::string> known = listings();
  for (const Listing& listing : kListings)
    if (listing.name == what) return listing.text(markdown);
  for (const PolicyTable* slot : slots()) {
    const std::string_view key = slot->slot().key;
    const std::string_view name = key.substr(key.rfind('.') + 1);
    if (what == key || what == name) return slot_text(*slot, markdown);
    known.emplace_back(name);
  }
  const std::string suggestion = did_you_mean(what, known);
  input_error("list: there is no list of \"{}\"{}", what,
              suggestion.empty() ? fmt::format("; choose one of {}", fmt::join(known, ", ")) : suggestion);
}

std::string claims_listing(const std::string& paper, bool markdown) {
  TextTable table{{"claim", "printed", "what it says"}, {}};
  for (const std::string& name : paper.empty() ? claim_papers() : std::vector{paper})
    for (const PrintedClaim& claim : read_claims(data_root(), name).claims)
      table.rows.push_back({(claim.headline ? "* " : "") + claim.id, printed_text(claim), claim.statement});
  return (markdown
              ? generated("Claims of the papers", "claims") + "An asterisk marks the headline claims of a paper.\n\n"
              : "") +
         as_text(table, markdown);
}

int list_command(const CommandLine& line) {
  const std::string &what = line.operands.front(), &of = line.list_of;
  if (!of.empty() && what != "claims" && what != "kernels")
    input_error("list: \"{}\" is an unexpected argument; see terrace list --help", printable(of));
  write_stdout(of.empty()          ? listing(what, line.markdown)
               : what == "kernels" ? kernels_listing(of, line.markdown)
                                   : claims_listing(of, line.markdown));
  return 0;
}

}  // namespace terrace
