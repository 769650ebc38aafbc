// SPDX-License-Identifier: MIT
#include "report/site/site.h"

#include <set>
#include <system_error>

#include "engine/check.h"
#include "report/cells.h"
#include "report/site/assets.h"
#include "report/site/runs.h"
#include "text/markup.h"
#include "text/output.h"
#include "version.h"

namespace terrace {

namespace {

namespace fs = std::filesystem;

/// JSON inside a page's script: no text may end the script.
std::string script_json(const Tree& tree) {
  std::string text = json_line(tree);
  for (std::size_t at = 0; (at = text.find("</", at)) != text.npos; at += 3) text.replace(at, 2, "<\\/");
  return text;
}

std::string page_of(const std::string& kind, const std::string& title, const Tree& data) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>{}</title>\n<style>\n{}</style>\n"
      "</head>\n<body data-page=\"{}\">\n<noscript>These pages draw their charts with JavaScript, which is switched "
      "off; "
      "the CSV files beside them hold the same numbers.</noscript>\n<script>{}</script>\n<script>\n{}</script>\n"
      "<script>terrace.start({});</script>\n</body>\n</html>\n",
      escaped(title), web_style(), kind, chart_script(), web_script(), script_json(data));
}

/// Statements about the whole store.
Tree totals_of(Database& database) {
  Statement row(
      database,
      "SELECT count(*) AS jobs, sum(state = 'failed') AS failed, sum(cycles) AS cycles, sum(warp_instructions) AS "
      "warp_instructions, (SELECT sum(simulation_seconds) FROM effort) AS seconds, (SELECT max(stored_at) FROM "
      "effort) AS stored_at, (SELECT count(*) FROM interval) AS with_stats_over_time FROM job");
  row.step();
  return row_tree(row);
}

Tree board_tree(const std::vector<BoardRow>& board) {
  Tree rows = Tree::list();
  for (const BoardRow& row : board) rows.push(tree_of(row));
  return rows;
}

/// Those that were computed from the sweep.
std::vector<BoardRow> rows_of(const std::string& sweep, const std::vector<BoardRow>& board) {
  std::vector<BoardRow> rows;
  for (const BoardRow& row : board)
    if (row.sweep == sweep) rows.push_back(row);
  return rows;
}

bool is_paper(const Tree& page) {
  const Tree* paper = page.find("paper");
  return paper && *paper != Tree("");
}

/// What the first page shows of one sweep among several: its first figure and table, and its points; of a paper's the board
/// says it.
Tree first_look(const Tree& page) {
  Tree look = Tree::table();
  for (const char* key : {"name", "paper", "page", "summary", "points"}) look[key] = *page.find(key);
  if (is_paper(page)) {
    for (const char* key : {"plots", "tables", "points"}) look[key] = Tree::list();
    return look;
  }
  for (const char* key : {"plots", "tables"}) {
    Tree first = Tree::list();
    if (!page.find(key)->items().empty()) first.push(page.find(key)->items().front());
    look[key] = std::move(first);
  }
  return look;
}

class Site {
 public:
  Site(Store& store, const fs::path& folder) : store_(store), folder_(folder), runs_(store) {}

  void write(const std::vector<Tree>& sweeps, const std::vector<BoardRow>& board,
             const std::vector<PaperTitle>& papers) {
    const Tree about{{"version", version()}, {"revision", revision()}, {"store", store_.path()}};
    Tree overview{{"about", about}, {"totals", totals_of(store_.database())}, {"board", board_tree(board)}};
    Tree titles = Tree::table();
    for (const PaperTitle& paper : papers) titles[paper.paper] = Tree{{"title", paper.title}, {"venue", paper.venue}};
    Tree shown = Tree::list(), names = Tree::list();
    for (const Tree& sweep : sweeps)
      names.push({{"name", *sweep.find("name")}, {"paper", *sweep.find("paper")}, {"page", file_of(sweep)}});
    for (const Tree& sweep : sweeps) {
      const std::string name = std::get<std::string>(sweep.find("name")->value);
      Tree page = sweep;
      page["page"] = Tree(file_of(sweep));
      page["points"] = runs_.points(name);
      page["board"] = board_tree(rows_of(name, board));
      shown.push(sweeps.size() == 1 && !is_paper(sweep) ? page : first_look(page));
      put(file_of(sweep),
          page_of(is_paper(sweep) ? "paper" : "sweep", fmt::format("{} · Terrace", name),
                  {{"about", about}, {"names", names}, {"papers", titles}, {"sweep", std::move(page)}}));
    }
    overview["names"] = names;
    overview["papers"] = titles;
    overview["sweeps"] = std::move(shown);
    const Tree of_runs{{"about", about}, {"names", names}};
    put("run.html", page_of("run", "Run · Terrace", of_runs));
    put("compare.html", page_of("compare", "Compare two runs · Terrace", of_runs));
    write_runs();
    put("index.html", page_of("overview", "Results · Terrace", overview));
  }

  const std::string& said() const { return said_; }

 private:
  static std::string file_of(const Tree& sweep) {
    return fmt::format("{}_{}.html", is_paper(sweep) ? "paper" : "sweep",
                       std::get<std::string>(sweep.find("name")->value));
  }

  void put(const std::string& name, const std::string& text) {
    write_whole((folder_ / name).string(), text);
    said_ += (folder_ / name).string() + "\n";
  }

  /// Scripts, not JSON: a browser lets a page read scripts beside it from a disk, and nothing else.
  void write_runs() {
    const fs::path data = folder_ / "data";
    std::error_code error;
    fs::create_directories(data, error);
    if (error) input_error("{}: cannot be created: {}", data.string(), error.message());
    // Runs that an earlier report wrote and the store does not have any more; nothing else that may be there.
    const std::set<std::string> own(runs_.ids().begin(), runs_.ids().end());
    for (const auto& entry : fs::directory_iterator(data, error)) {
      const std::string id = entry.path().stem().string();
      const bool run = entry.path().extension() == ".js" && id.find_first_not_of("0123456789abcdef") == id.npos;
      if (run && !own.contains(id)) fs::remove(entry.path(), error);
    }
    write_whole((data / "runs.js").string(), fmt::format("terrace.take_runs({});\n", json_line(runs_.list())));
    for (const std::string& id : runs_.ids())
      write_whole((data / (id + ".js")).string(), fmt::format("terrace.take_run({});\n", json_line(runs_.page(id))));
    said_ += fmt::format("{} ({} runs)\n", data.string(), runs_.ids().size());
  }

  Store& store_;
  const fs::path& folder_;
  StoredRuns runs_;
  std::string said_;
};

}  // namespace

std::string write_site(Store& store, const std::vector<Tree>& sweeps, const std::vector<BoardRow>& board,
                       const std::vector<PaperTitle>& papers, const fs::path& folder) {
  Site site(store, folder);
  site.write(sweeps, board, papers);
  return site.said();
}

}  // namespace terrace
