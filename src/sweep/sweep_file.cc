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
#include "sweep/mix_lists.h"
#include "sweep/table_reader.h"
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

/// The members of `changes` take the place of those of the same name; tables are gone through in turn.
void replace_members(Tree& table, const Tree& changes) {
  for (const auto& [key, value] : changes.members()) {
    Tree& old = table[key];
    if (value.is_table() && old.is_table())
      replace_members(old, value);
    else
      old = value;
  }
}

/// The tables under `at` are named by sizes: what they hold applies when the file is run at that size.
void apply_size(Tree& table, const std::string& size, Mistakes& mistakes) {
  const Tree* at = table.find("at");
  if (!at) return;
  if (!at->is_table()) return mistakes.add(at->line, "at must be a table of sizes, such as [at.tiny]");
  Tree changes;
  for (const auto& [name, value] : at->members()) {
    mistakes.guard(value.line, [&] { parse_input_size(name); });
    if (!value.is_table()) mistakes.add(value.line, "at.{} must be a table", printable(name));
    if (name == size) changes = value;
  }
  replace_members(table, changes);
}

class Reader {
 public:
  Reader(const std::string& path, const std::string& size, u64 seeds, Mistakes& mistakes, const ConfigSource* configs)
      : folder_(std::filesystem::path(path).parent_path()),
        size_(size),
        seeds_(seeds),
        mistakes_(mistakes),
        configs_(configs) {
    sweep_.path = path;
    sweep_.name = std::filesystem::path(path).stem().string();
  }

  SweepFile read(const std::string& text) {
    sweep_.text = text;
    mistakes_.guard(0, [&] {
      Tree document = parse_toml(text, sweep_.path);
      apply_size(document, size_, mistakes_);
      for (const char* kind : {"grid", "search"})
        if (document.find(kind))
          if (auto* grids = std::get_if<Tree::List>(&document[kind].value))
            for (Tree& grid : *grids) apply_size(grid, size_, mistakes_);
      read_document(document);
    });
    return std::move(sweep_);
  }

 private:
  void read_document(const Tree& document) {
    TableReader top(document, "the file", mistakes_);
    sweep_.name = top.text("name", sweep_.name);
    sweep_.paper = top.text("paper");
    if (!sweep_.paper.empty() && !size_.empty()) sweep_.name += "_" + size_;
    top.find("at");
    repeats_ = seeds_key(top);
    if (const Tree* stats_every = top.find("stats_every")) {
      const auto* cycles = std::get_if<u64>(&stats_every->value);
      if (!cycles)
        mistakes_.add(stats_every->line, "stats_every must be a number of cycles, not {}", stats_every->text());
      sweep_.stats_every = cycles ? *cycles : 0;
    }
    if (const Tree* lists = top.find("lists")) {
      for (const auto& [name, value] : lists->members()) read_list(name, value);
      if (!lists->is_table()) mistakes_.add(lists->line, "lists must be a table of named lists");
    }
    for (const char* kind : {"grid", "search"})
      each_table(top, kind, mistakes_,
                 [&](TableReader& table) { read_grid(table, std::string_view(kind) == "search"); });
    each_table(top, "claim", mistakes_, [&](TableReader& table) { read_claim(table); });
    each_table(top, "not_measured", mistakes_, [&](TableReader& table) {
      sweep_.not_measured.push_back({table.texts("ids", {}), table.required("reason"), table.line()});
    });
    each_table(top, "table", mistakes_, [&](TableReader& table) { read_table(table); });
    each_table(top, "plot", mistakes_, [&](TableReader& table) { read_plot(table); });
    if (const Tree* slurm = top.find("slurm")) read_slurm(*slurm);
    if (sweep_.grids.empty()) mistakes_.add(0, "has no [[grid]] and no [[search]]: nothing would run");
    refuse_twins();
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

  /// Mixes, or the name of a paper's list, which then stands here under a name of its own.
  void read_list(const std::string& name, const Tree& value) {
    if (const auto* source = std::get_if<std::string>(&value.value)) return take_list(name, *source, value.line);
    if (!value.is_list() || value.items().empty())
      mistakes_.add(value.line,
                    "lists.{} must be a list of mixes, each a list of tenants, or a name such as \"mask.pairs\"", name);
    std::vector<Mix>& mixes = lists_[name];
    for (const Tree& item : value.items())
      if (auto mix = mix_of(item, name, value.line)) mixes.push_back(std::move(*mix));
  }

  void take_list(const std::string& name, const std::string& source, u32 line) {
    read_set_of(source, line);
    const auto found = lists_.find(source);
    std::vector<Mix> mixes;
    if (found != lists_.end())
      mixes = found->second;
    else if (configs_)
      mistakes_.add(line, "lists.{}: `terrace list sets` has no \"{}\"{}", name, source,
                    did_you_mean(source, names_of_lists()));
    for (Mix& mix : mixes) mix.list = name;
    lists_[name] = std::move(mixes);
  }

  std::vector<std::string> names_of_lists() const {
    std::vector<std::string> names;
    for (const auto& [name, list] : lists_) names.push_back(name);
    return names;
  }

  /// SET.LIST: the lists of a set that comes with Terrace are read when one of them is named.
  void read_set_of(const std::string& list, u32 line) {
    const std::string set = list.substr(0, list.find('.'));
    if (set == list || !configs_ || !configs_->set || !sets_.insert(set).second) return;
    mistakes_.guard(line, [&] {
      const LayerFile file = configs_->set(set);
      for (const MixList& its : read_mix_lists(file))
        for (const std::vector<std::string>& tenants : its.mixes)
          lists_[set + "." + its.name].push_back(
              {fmt::format("{}", fmt::join(tenants, "+")), set + "." + its.name, tenants});
    });
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
        if (!lists_.contains(*name)) read_set_of(*name, value.line);
        const auto found = lists_.find(*name);
        if (found == lists_.end())
          mistakes_.add(value.line, "no list named \"{}\" under [lists] or in `terrace list sets`{}", *name,
                        did_you_mean(*name, names_of_lists()));
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
        if (!n || *n == 0) mistakes_.add(value.line, "sms: {} is not a number of SMs", item.text());
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
    // A grid may say which inputs it takes at a size: [grid.at.tiny] size = "paper".
    const Tree* at = table.find("at");
    const Tree* own = at ? at->find(size_) : nullptr;
    if (!size_.empty() && !(own && own->find("size"))) grid.sizes = {size_};
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

  /// "title = expression", or nothing and a mistake.
  std::optional<std::pair<std::string, std::string>> titled(const std::string& text, const char* what, u32 line) {
    constexpr std::string_view kBetween = " = ";
    const std::size_t at = text.find(kBetween);
    if (at != text.npos) return std::pair(text.substr(0, at), text.substr(at + kBetween.size()));
    mistakes_.add(line, "\"{}\" is no {}; write it as \"title = expression\"", text, what);
    return std::nullopt;
  }

  void read_claim(TableReader& table) {
    Claim claim;
    claim.line = table.line();
    claim.id = table.required("id");
    for (const std::string& text : table.texts("values", {}))
      if (auto item = titled(text, "value of an item", claim.line)) claim.items.push_back({item->first, item->second});
    if (table.has("values") && table.has("value"))
      mistakes_.add(claim.line, "{} has a value and values; leave one out", printable(claim.id));
    claim.value = table.has("values") ? table.text("value") : table.required("value");
    claim.neutral = table.number("neutral");
    claim.why = table.text("why");
    claim.note = table.text("note");
    sweep_.claims.push_back(std::move(claim));
  }

  void read_table(TableReader& table) {
    ResultTable result;
    result.line = table.line();
    result.name = table.required("name");
    result.title = table.text("title", result.name);
    result.rows = table.required("rows");
    for (const std::string& text : table.texts("columns", {}))
      if (auto column = titled(text, "column", result.line)) result.columns.push_back({column->first, column->second});
    if (result.columns.empty()) mistakes_.add(result.line, "a table needs columns");
    read_neutral(table.find("neutral"), result);
    result.chart = table.text("chart");
    const std::vector<std::string> kinds{"", "bar", "line", "stack", "curves", "none"};
    if (std::find(kinds.begin(), kinds.end(), result.chart) == kinds.end())
      mistakes_.add(result.line, "chart must be \"bar\", \"line\", \"stack\", \"curves\" or \"none\", not \"{}\"",
                    result.chart);
    result.y_title = table.text("y_title");
    result.mean = mean_of(table);
    result.printed = printed_of(table);
    sweep_.tables.push_back(std::move(result));
  }

  /// A number for every column, or a table of numbers by the columns' titles.
  void read_neutral(const Tree* value, ResultTable& result) {
    if (!value) return;
    if (!value->is_table()) {
      const std::optional<double> all = number_of(*value, "neutral", mistakes_);
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
            number_of(its_value, fmt::format("neutral of {}", title), mistakes_);
    }
  }

  std::string mean_of(TableReader& table) {
    const std::string mean = table.text("mean");
    if (!mean.empty() && mean != "mean" && mean != "gmean")
      mistakes_.add(table.line(), "mean must be \"mean\" or \"gmean\", not \"{}\"", printable(mean));
    return mean;
  }

  /// [series, x, number or claim] each.
  std::vector<PrintedPoint> printed_of(TableReader& table) {
    std::vector<PrintedPoint> points;
    const Tree* list = table.find("printed");
    for (const Tree& item : list ? list->items() : std::vector<Tree>{}) {
      const std::vector<Tree>& parts = item.items();
      const auto text = [&](std::size_t i) {
        return i < parts.size() ? std::get_if<std::string>(&parts[i].value) : nullptr;
      };
      if (parts.size() != 3 || !text(0) || !text(1)) {
        mistakes_.add(list->line, "printed: {} is not of the form [\"series\", \"x\", number or claim]", item.text());
        continue;
      }
      PrintedPoint point{*text(0), *text(1), text(2) ? *text(2) : "", std::nullopt};
      if (!text(2)) point.value = number_of(parts[2], "printed", mistakes_);
      points.push_back(std::move(point));
    }
    return points;
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
    if (kind != "line" && kind != "bar" && kind != "stack")
      mistakes_.add(plot.line, "kind must be \"line\", \"bar\" or \"stack\", not \"{}\"", kind);
    plot.stacked = kind == "stack";
    plot.bars = kind == "bar" || plot.stacked;
    plot.neutral = table.number("neutral");
    plot.mean = mean_of(table);
    plot.printed = printed_of(table);
    if (plot.name.find_first_of("/ ") != plot.name.npos)
      mistakes_.add(plot.line, "\"{}\" names a file: leave out slashes and spaces", plot.name);
    sweep_.plots.push_back(std::move(plot));
  }

  void read_slurm(const Tree& table) {
    if (!table.is_table()) mistakes_.add(table.line, "slurm must be a table of options: [slurm]");
    for (const auto& [key, value] : table.members()) {
      const bool lines = key == "options" || key == "setup";
      if (value.is_list() && !lines) mistakes_.add(value.line, "slurm.{} must be one text, not a list", printable(key));
      for (const Tree& item : value.is_list() ? value.items() : std::vector<Tree>{value}) {
        const auto* text = std::get_if<std::string>(&item.value);
        if (!text) mistakes_.add(value.line, "slurm.{} must be text, not {}", printable(key), item.text());
        if (text) mistakes_.guard(value.line, [&] { set_slurm_option(sweep_.slurm, key, *text); });
      }
    }
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
  const ConfigSource* configs_;
  std::map<std::string, std::vector<Mix>> lists_;
  std::set<std::string> sets_;  // whose lists have been read
};

}  // namespace

SweepFile parse_sweep(const std::string& path, const std::string& text, const std::string& size, Mistakes& mistakes,
                      u64 seeds, const ConfigSource* configs) {
  return Reader(path, size, seeds, mistakes, configs).read(text);
}

}  // namespace terrace
