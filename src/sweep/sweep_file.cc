// SPDX-License-Identifier: MIT
#include "sweep/sweep_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "frontend/workload.h"
#include "run/metrics.h"
#include "text/suggest.h"

namespace terrace {

void Mistakes::put(u32 line, std::string sentence) {
  const auto same = [&](const auto& other) { return other.second == sentence; };
  if (std::none_of(sentences_.begin(), sentences_.end(), same)) sentences_.emplace_back(line, std::move(sentence));
}

void Mistakes::raise() const {
  if (sentences_.empty()) return;
  if (sentences_.size() == 1) throw InputError(sentences_.front().second);
  auto by_line = sentences_;
  std::sort(by_line.begin(), by_line.end());
  std::string text = fmt::format("{} has {} mistakes; nothing was run:", file_, by_line.size());
  for (const auto& [line, sentence] : by_line) text += "\n  " + sentence;
  throw InputError(text);
}

std::string plain_text(const Tree& value) {
  if (const auto* text = std::get_if<std::string>(&value.value)) return *text;
  if (!value.is_list()) return value.text();
  std::vector<std::string> items;
  for (const Tree& item : value.items()) items.push_back(plain_text(item));
  return fmt::format("{}", fmt::join(items, ","));
}

namespace {

/// A table of the file, of which every key must be asked for.
class TableReader {
 public:
  TableReader(const Tree& table, std::string what, Mistakes& mistakes)
      : table_(table), what_(std::move(what)), mistakes_(mistakes) {
    if (!table.is_table()) mistakes_.add(table.line, "{} must be a table", what_);
  }
  ~TableReader() {
    for (const auto& [key, value] : table_.members())
      if (std::find(known_.begin(), known_.end(), key) == known_.end())
        mistakes_.add(value.line, "{} has no key \"{}\"{}", what_, printable(key), did_you_mean(key, known_));
  }
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  u32 line() const { return table_.line; }
  const Tree* find(const std::string& key) {
    known_.push_back(key);
    return table_.find(key);
  }
  /// One value, or the values of a list.
  std::vector<Tree> each(const std::string& key) {
    const Tree* value = find(key);
    if (!value) return {};
    if (!value->is_list()) return {*value};
    if (value->items().empty()) mistakes_.add(value->line, "{} is an empty list; leave it out, or give a value", key);
    std::vector<Tree> items = value->items();
    for (Tree& item : items) item.line = value->line;
    return items;
  }
  std::vector<std::string> texts(const std::string& key, std::vector<std::string> otherwise) {
    std::vector<std::string> texts;
    for (const Tree& value : each(key)) {
      const auto* text = std::get_if<std::string>(&value.value);
      if (text && !text->empty())
        texts.push_back(*text);
      else
        mistakes_.add(value.line, "{} must be text, not {}", key, value.text());
    }
    return texts.empty() ? std::move(otherwise) : texts;
  }
  std::string text(const std::string& key, std::string otherwise = "") {
    const Tree* value = find(key);
    if (!value) return otherwise;
    const auto* text = std::get_if<std::string>(&value->value);
    if (!text || text->empty()) mistakes_.add(value->line, "{} must be text, not {}", key, value->text());
    return text ? *text : otherwise;
  }
  std::string required(const std::string& key) {
    if (!table_.find(key)) mistakes_.add(line(), "{} lacks the key {}", what_, key);
    return text(key);
  }
  bool has(const std::string& key) const { return table_.find(key) != nullptr; }

 private:
  const Tree& table_;
  std::string what_;
  Mistakes& mistakes_;
  std::vector<std::string> known_;
};

class Reader {
 public:
  Reader(const std::string& path, const std::string& size, u64 seeds, Mistakes& mistakes)
      : folder_(std::filesystem::path(path).parent_path()), size_(size), seeds_(seeds), mistakes_(mistakes) {
    sweep_.path = path;
    sweep_.name = std::filesystem::path(path).stem().string();
  }

  SweepFile read(const std::string& text) {
    sweep_.text = text;
    mistakes_.guard(0, [&] {
      const Tree document = parse_toml(text, sweep_.path);
      read_document(document);
    });
    return std::move(sweep_);
  }

 private:
  void read_document(const Tree& document) {
    TableReader top(document, "the file", mistakes_);
    sweep_.name = top.text("name", sweep_.name);
    repeats_ = seeds_key(top);
    if (const Tree* lists = top.find("lists")) {
      for (const auto& [name, value] : lists->members()) read_list(name, value);
      if (!lists->is_table()) mistakes_.add(lists->line, "lists must be a table of named lists");
    }
    for (const char* kind : {"grid", "search"})
      tables(top, kind, [&](TableReader& table) { read_grid(table, std::string_view(kind) == "search"); });
    tables(top, "claim", [&](TableReader& table) {
      sweep_.claims.push_back(
          {table.required("id"), table.required("value"), number(table.find("neutral"), "neutral"), table.line()});
      table.find("note");
    });
    tables(top, "table", [&](TableReader& table) { read_table(table); });
    tables(top, "plot", [&](TableReader& table) { read_plot(table); });
    if (sweep_.grids.empty()) mistakes_.add(0, "has no [[grid]] and no [[search]]: nothing would run");
    refuse_twins();
  }

  /// Calls `act` for each [[kind]].
  template <class Act>
  void tables(TableReader& top, const std::string& kind, Act&& act) {
    const Tree* all = top.find(kind);
    if (!all) return;
    if (!all->is_list()) return mistakes_.add(all->line, "{} must be written [[{}]]", kind, kind);
    for (const Tree& item : all->items()) {
      TableReader table(item, fmt::format("[[{}]]", kind), mistakes_);
      act(table);
    }
  }

  std::string tenant_of(const Tree& value, u32 line) {
    const auto* text = std::get_if<std::string>(&value.value);
    if (!text || text->empty() || text->find_first_of(" \t\n") != text->npos) {
      mistakes_.add(line, "a tenant is text without spaces such as \"gups\", not {}", value.text());
      return "";
    }
    // A program of the user's lies relative to the file that names it.
    return text->ends_with(".toml") ? (folder_ / *text).string() : *text;
  }

  std::optional<Mix> mix_of(const Tree& value, const std::string& list, u32 line) {
    Mix mix{"", list, {}};
    for (const Tree& tenant : value.items()) mix.tenants.push_back(tenant_of(tenant, line));
    if (std::find(mix.tenants.begin(), mix.tenants.end(), "") != mix.tenants.end()) return std::nullopt;
    if (mix.tenants.empty()) {
      mistakes_.add(line, "a mix is a list of tenants such as [\"gups\", \"mm\"], not {}", value.text());
      return std::nullopt;
    }
    mix.label = fmt::format("{}", fmt::join(mix.tenants, "+"));
    return mix;
  }

  void read_list(const std::string& name, const Tree& value) {
    if (!value.is_list() || value.items().empty())
      mistakes_.add(value.line, "lists.{} must be a list of mixes, each a list of tenants", name);
    std::vector<Mix>& mixes = lists_[name];
    for (const Tree& item : value.items())
      if (auto mix = mix_of(item, name, value.line)) mixes.push_back(std::move(*mix));
  }

  std::vector<Mix> mixes_of(TableReader& table) {
    std::vector<Mix> mixes;
    for (const Tree& value : table.each("workload")) {
      if (value == Tree("all")) {
        for (const Workload* workload : all_workloads())
          mixes.push_back({std::string(workload->info().name), "", {std::string(workload->info().name)}});
      } else if (const std::string tenant = tenant_of(value, value.line); !tenant.empty()) {
        mixes.push_back({tenant, "", {tenant}});
      }
    }
    for (const Tree& value : table.each("mix")) {
      if (const auto* name = std::get_if<std::string>(&value.value)) {
        const auto found = lists_.find(*name);
        std::vector<std::string> known;
        for (const auto& [its_name, list] : lists_) known.push_back(its_name);
        if (found == lists_.end())
          mistakes_.add(value.line, "no list named \"{}\" under [lists]{}", *name, did_you_mean(*name, known));
        else
          mixes.insert(mixes.end(), found->second.begin(), found->second.end());
      } else if (auto mix = mix_of(value, "", value.line)) {
        mixes.push_back(std::move(*mix));
      }
    }
    if (!table.has("workload") && !table.has("mix"))
      mistakes_.add(table.line(), "needs a workload or a mix: nothing would run");
    return mixes;
  }

  std::vector<Shares> shares_of(TableReader& table) {
    std::vector<Shares> all;
    for (const Tree& value : table.each("sms")) {
      Shares shares{plain_text(value), {}, ""};
      const auto* text = std::get_if<std::string>(&value.value);
      const auto count = [&](const Tree& item) {
        const auto* n = std::get_if<u64>(&item.value);
        if (!n || *n == 0) mistakes_.add(value.line, "sms: {} is no number of SMs", item.text());
        shares.counts.push_back(n ? *n : 1);
      };
      if (text && text->starts_with("oracle:"))
        shares.search = text->substr(7);
      else if (text && *text != "even")
        mistakes_.add(value.line, "sms is a number, a list of numbers, \"even\" or \"oracle:SEARCH\", not \"{}\"",
                      *text);
      else if (value.is_list())
        std::for_each(value.items().begin(), value.items().end(), count);
      else if (!text)
        count(value);
      all.push_back(std::move(shares));
    }
    if (all.empty()) all.push_back({"even", {}, ""});
    return all;
  }

  void add_axes(const Tree& table, const std::string& prefix, bool machine, std::vector<Axis>& into) {
    for (const auto& [key, value] : table.members()) {
      const std::string path = prefix + key;
      if (value.is_table()) {
        add_axes(value, path + ".", machine, into);
        continue;
      }
      for (const char* reserved : {"tenants", "size", "seed", "sms", "until"})
        if (path == fmt::format("run.{}", reserved))
          mistakes_.add(value.line, "{} is not set here: write {} = ... in the grid itself", path,
                        std::string_view(reserved) == "tenants" ? "mix" : reserved);
      if (value.is_list() && value.items().empty()) mistakes_.add(value.line, "{} has no values", path);
      into.push_back({path, value.is_list() ? value.items() : std::vector<Tree>{value}, machine, value.line});
    }
  }

  void read_grid(TableReader& table, bool search) {
    Grid grid;
    grid.line = table.line();
    grid.name = table.text("name", fmt::format("{}{}", search ? "search" : "grid", sweep_.grids.size() + 1));
    for (const char* key : {"gpu", "design", "workload", "mix", "size", "until", "sms"})
      if (const Tree* value = table.find(key)) grid.lines[key] = value->line;
    grid.gpus = table.texts("gpu", {});
    if (grid.gpus.empty()) mistakes_.add(grid.line, "needs a gpu: a name from `terrace list gpus`");
    for (const Tree& value : table.each("design")) {
      std::vector<std::string> overlays;
      for (const Tree& item : value.is_list() ? value.items() : std::vector<Tree>{value}) {
        if (!std::holds_alternative<std::string>(item.value))
          mistakes_.add(value.line, "design must be text, not {}", item.text());
        else if (item != Tree("none"))
          overlays.push_back(std::get<std::string>(item.value));
      }
      grid.designs.push_back(std::move(overlays));
    }
    if (grid.designs.empty()) grid.designs.emplace_back();
    grid.mixes = mixes_of(table);
    grid.sizes = table.texts("size", {"tiny"});
    if (!size_.empty()) grid.sizes = {size_};
    for (const std::string& size : grid.sizes) mistakes_.guard(line_of(grid, "size"), [&] { parse_input_size(size); });
    grid.untils = table.texts("until", {"completed"});
    read_seeds(table, grid);
    if (const Tree* alone = table.find("alone")) {
      const auto* wanted = std::get_if<bool>(&alone->value);
      if (!wanted) mistakes_.add(alone->line, "alone must be true or false, not {}", alone->text());
      grid.alone = wanted && *wanted;
    }
    for (const char* kind : {"set", "tune"}) {
      const Tree* keys = table.find(kind);
      if (keys && !keys->is_table()) mistakes_.add(keys->line, "{} must be a table of keys", kind);
      if (keys) add_axes(*keys, "", std::string_view(kind) == "set", grid.axes);
    }
    if (search)
      read_search(table, grid);
    else
      grid.shares = shares_of(table);
    sweep_.grids.push_back(std::move(grid));
  }

  /// What the key `seeds` of the file or of a grid says; nothing when it is not there.
  std::optional<u64> seeds_key(TableReader& table) {
    const Tree* value = table.find("seeds");
    if (!value) return std::nullopt;
    const auto* count = std::get_if<u64>(&value->value);
    if (count && *count >= 1 && *count <= kMostSeeds) return *count;
    mistakes_.add(value->line, "seeds must be a whole number from 1 to {}, not {}", kMostSeeds, value->text());
    return std::nullopt;
  }

  /// A list of seeds as it stands, or so many from the first one on.
  void read_seeds(TableReader& table, Grid& grid) {
    u32 line = grid.line;
    for (const Tree& value : table.each("seed")) {
      const auto* seed = std::get_if<u64>(&value.value);
      if (!seed) mistakes_.add(value.line, "seed must be a whole number, not {}", value.text());
      grid.seeds.push_back(seed ? *seed : 1);
      line = value.line;
    }
    if (grid.seeds.empty()) grid.seeds.push_back(1);
    const std::optional<u64> own = seeds_key(table);
    const std::optional<u64> asked = own ? own : repeats_;
    if (asked && grid.seeds.size() > 1) {
      mistakes_.add(line, "seed is a list and seeds asks for {} of them; leave one of the two out", *asked);
      return;
    }
    const u64 count = seeds_ != 0 ? seeds_ : asked.value_or(0);
    // A quick look with fewer seeds repeats runs of the whole, so that they count later on.
    grid.repeated = std::max(count, asked.value_or(0)) > 1;
    if (count == 0) return;
    const u64 first = grid.seeds.front();
    if (first > Range::kHighest - (count - 1)) {
      mistakes_.add(line, "seed: {} and the {} that follow it are more than the highest, {}", first, count - 1,
                    Range::kHighest);
      return;
    }
    grid.seeds.clear();
    for (u64 i = 0; i < count; ++i) grid.seeds.push_back(first + i);
  }

  std::optional<double> number(const Tree* value, const std::string& key) {
    if (!value) return std::nullopt;
    if (const auto* real = std::get_if<double>(&value->value); real && std::isfinite(*real)) return *real;
    if (const auto* whole = std::get_if<u64>(&value->value)) return static_cast<double>(*whole);
    if (const auto* negative = std::get_if<i64>(&value->value)) return static_cast<double>(*negative);
    mistakes_.add(value->line, "{} must be a number, not {}", key, value->text());
    return std::nullopt;
  }

  void read_search(TableReader& table, Grid& grid) {
    grid.shares = {{"even", {}, ""}};
    grid.optimise = table.text("optimise", "weighted_speedup");
    const std::vector<std::string> known(metric_names().begin(), metric_names().end());
    if (std::find(known.begin(), known.end(), grid.optimise) == known.end())
      mistakes_.add(grid.line, "optimise: no metric named \"{}\"; there is {}{}", grid.optimise, fmt::join(known, ", "),
                    did_you_mean(grid.optimise, known));
    for (const Mix& mix : grid.mixes)
      if (mix.tenants.size() < 2)
        mistakes_.add(grid.line, "a search shares SMs between tenants, and {} is one", mix.label);
    grid.alone = true;
  }

  void read_table(TableReader& table) {
    ResultTable result;
    result.line = table.line();
    result.name = table.required("name");
    result.title = table.text("title", result.name);
    result.rows = table.required("rows");
    constexpr std::string_view kBetween = " = ";
    for (const std::string& column : table.texts("columns", {})) {
      const std::size_t at = column.find(kBetween);
      if (at == column.npos)
        mistakes_.add(result.line, "\"{}\" is no column; write it as \"title = expression\"", column);
      else
        result.columns.push_back({column.substr(0, at), column.substr(at + kBetween.size())});
    }
    if (result.columns.empty()) mistakes_.add(result.line, "a table needs columns");
    read_neutral(table.find("neutral"), result);
    sweep_.tables.push_back(std::move(result));
  }

  /// A number for every column, or a table of numbers by the columns' titles.
  void read_neutral(const Tree* value, ResultTable& result) {
    if (!value) return;
    if (!value->is_table()) {
      const std::optional<double> all = number(value, "neutral");
      for (ResultTable::Column& column : result.columns) column.neutral = all;
      return;
    }
    std::vector<std::string> titles;
    for (const ResultTable::Column& column : result.columns) titles.push_back(column.title);
    for (const auto& [title, its_value] : value->members()) {
      const auto found = std::find(titles.begin(), titles.end(), title);
      if (found == titles.end())
        mistakes_.add(its_value.line, "neutral: the table has no column \"{}\"{}", printable(title),
                      did_you_mean(title, titles));
      else
        result.columns[static_cast<std::size_t>(found - titles.begin())].neutral =
            number(&its_value, fmt::format("neutral of {}", title));
    }
  }

  void read_plot(TableReader& table) {
    Plot plot;
    plot.line = table.line();
    plot.name = table.required("name");
    plot.title = table.text("title", plot.name);
    plot.y = table.required("y");
    plot.x = table.required("x");
    plot.series = table.text("series");
    plot.panel = table.text("panel");
    plot.x_title = table.text("x_title", plot.x);
    plot.y_title = table.text("y_title", plot.y);
    const std::string kind = table.text("kind", "line");
    if (kind != "line" && kind != "bar") mistakes_.add(plot.line, "kind must be \"line\" or \"bar\", not \"{}\"", kind);
    plot.bars = kind == "bar";
    plot.neutral = number(table.find("neutral"), "neutral");
    if (plot.name.find_first_of("/ ") != plot.name.npos)
      mistakes_.add(plot.line, "\"{}\" names a file: leave out slashes and spaces", plot.name);
    sweep_.plots.push_back(std::move(plot));
  }

  void refuse_twins() {
    std::set<std::string> seen;
    const auto once = [&](const std::string& kind, const std::string& name, u32 line) {
      if (!seen.insert(kind + " " + name).second)
        mistakes_.add(line, "two {}s are called \"{}\"; rename one", kind, name);
    };
    for (const Grid& grid : sweep_.grids) once("grid", grid.name, grid.line);
    for (const Claim& claim : sweep_.claims) once("claim", claim.id, claim.line);
    for (const ResultTable& table : sweep_.tables) once("table", table.name, table.line);
    for (const Plot& plot : sweep_.plots) once("plot", plot.name, plot.line);
    for (const Grid& grid : sweep_.grids) {
      std::set<std::string> keys;
      for (const Axis& axis : grid.axes)
        if (!keys.insert(axis.key).second) mistakes_.add(axis.line, "{} is both set and tuned", axis.key);
    }
  }

  std::filesystem::path folder_;
  const std::string& size_;
  const u64 seeds_;             // in place of the file's; 0: as the file says
  std::optional<u64> repeats_;  // seeds, where a grid has no such key
  Mistakes& mistakes_;
  SweepFile sweep_;
  std::map<std::string, std::vector<Mix>> lists_;
};

}  // namespace

SweepFile parse_sweep(const std::string& path, const std::string& text, const std::string& size, Mistakes& mistakes,
                      u64 seeds) {
  return Reader(path, size, seeds, mistakes).read(text);
}

}  // namespace terrace
