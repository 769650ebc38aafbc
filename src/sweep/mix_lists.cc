// SPDX-License-Identifier: MIT
#include "sweep/mix_lists.h"

#include "engine/check.h"
#include "text/tree.h"

namespace terrace {
namespace {

const std::string& text_of(const Tree& value, const std::string& file, std::string_view what) {
  const auto* text = std::get_if<std::string>(&value.value);
  if (!text || text->empty()) input_error("{}:{}: {} must be text, not {}", file, value.line, what, value.text());
  return *text;
}

std::vector<std::vector<std::string>> mixes_of(const Tree& list, const std::string& file) {
  std::vector<std::vector<std::string>> mixes;
  for (const Tree& mix : list.items()) {
    mixes.emplace_back();
    for (const Tree& tenant : mix.items()) mixes.back().push_back(text_of(tenant, file, "a tenant"));
    if (mixes.back().empty())
      input_error("{}:{}: a mix is a list of tenants such as [\"gups\", \"mm\"], not {}", file, list.line, mix.text());
  }
  if (mixes.empty()) input_error("{}:{}: a list of mixes is empty; leave it out", file, list.line);
  return mixes;
}

}  // namespace

std::vector<MixList> read_mix_lists(const LayerFile& file) {
  const Tree document = parse_toml(read_file(file.path), file.shown);
  const Tree *lists = document.find("lists"), *about = document.find("about");
  if (!lists || !lists->is_table()) input_error("{} has no table [lists]", file.shown);
  if (!about || !about->is_table()) input_error("{} has no table [about] with a line on each list", file.shown);
  for (const auto& [name, line] : about->members())
    if (!lists->find(name)) input_error("{}:{}: [about] names {}, which is not a list", file.shown, line.line, name);
  std::vector<MixList> read;
  for (const auto& [name, list] : lists->members()) {
    const Tree* line = about->find(name);
    if (!line) input_error("{}:{}: the list {} has no line under [about]", file.shown, list.line, name);
    read.push_back({name, text_of(*line, file.shown, "a line under [about]"), mixes_of(list, file.shown)});
  }
  return read;
}

}  // namespace terrace
