// Expressions over a store: what each quantity means in its tables.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "engine/check.h"
#include "report/report.h"
#include "stats/decision_log.h"
#include "stats/stat_pattern.h"
#include "text/tree.h"

namespace terrace {

namespace {

class StoredResults final : public ResultSource {
 public:
  StoredResults(Store& store, const std::string& sweep) : store_(store), points_(store.points(sweep)) {
    Statement names(store.database(), "SELECT number, name FROM stat_name");
    while (names.step()) names_.emplace_back(names.number(0), names.text(1));
  }

  std::size_t points() const override { return points_.size(); }
  const Labels& labels(std::size_t point) const override { return points_[point].labels; }

  std::optional<double> value(std::size_t index, const Quantity& quantity) override {
    const Point& point = points_[index];
    if (quantity.name == "alone_stat") {
      if (*quantity.tenant >= point.alone.size()) return std::nullopt;
      return of_stats(point.alone[*quantity.tenant], quantity.pattern);
    }
    if (quantity.name == "decisions") return of_decisions(point.job, quantity.pattern, *quantity.tenant);
    if (quantity.tenant) return of_tenant(point, quantity.name, *quantity.tenant);
    if (quantity.name == "stat") return of_stats(point.job, quantity.pattern);
    if (quantity.name == "config") return of_config(point.job, quantity.pattern);
    if (quantity.name == "stat_or_zero") {
      if (const auto found = of_stats(point.job, quantity.pattern)) return found;
      return is_done(point.job) ? std::optional(0.0) : std::nullopt;
    }
    for (const char* column : {"cycles", "warp_instructions", "thread_instructions"})
      if (quantity.name == column)
        return first("SELECT " + quantity.name + " FROM job WHERE id = ? AND state = 'done'", point.job);
    if (quantity.name == "first_completion")
      return first("SELECT min(first_completion) FROM tenant JOIN job ON job.number = tenant.job WHERE id = ?",
                   point.job);
    if (quantity.name == "search_end") return search_end(point.job);
    if (quantity.name == "watts") return of_power(point.job, "watts", 1);
    if (quantity.name == "joules") return of_power(point.job, "total", kPicojoules);
    const auto metrics = point_metrics(store_, point);
    const auto found = metrics.find(quantity.name);
    if (found == metrics.end()) return std::nullopt;
    return found->second;
  }

 private:
  std::optional<double> first(const std::string& sql, const std::string& job) {
    Statement row(store_.database(), sql);
    if (!row.bind(job).step() || row.is_null(0)) return std::nullopt;
    return row.real(0);
  }

  bool is_done(const std::string& job) {
    return first("SELECT cycles FROM job WHERE id = ? AND state = 'done'", job).has_value();
  }

  std::optional<double> of_tenant(const Point& point, const std::string& name, u64 tenant) {
    const auto column = [&](const std::string& its_name, const std::string& job, u64 number) {
      return first(
          fmt::format("SELECT tenant.{} FROM tenant JOIN job ON job.number = tenant.job WHERE id = ? AND tenant = {}",
                      its_name, number),
          job);
    };
    if (name == "tenant_joules") return of_power(point.job, fmt::format("tenants{{tenant={}}}", tenant), kPicojoules);
    if (name == "tenant_cycles") return column("cycles", point.job, tenant);
    if (name == "tenant_sms") return column("sms", point.job, tenant);
    if (name == "tenant_instructions") return column("thread_instructions", point.job, tenant);
    if (name != "alone_ipc" && name != "slowdown") return column(name, point.job, tenant);
    if (tenant >= point.alone.size()) return std::nullopt;
    const std::optional<double> alone = column("ipc", point.alone[tenant], 0);
    if (name == "alone_ipc" || !alone) return alone;
    const std::optional<double> shared = column("ipc", point.job, tenant);
    if (!shared || !(*shared > 0)) return std::nullopt;
    return *alone / *shared;
  }

  /// How many decisions about a tenant begin with a text. None are kept of a job that decides nothing.
  std::optional<double> of_decisions(const std::string& job, const std::string& beginning, u64 tenant) {
    if (!is_done(job)) return std::nullopt;
    Statement row(store_.database(),
                  "SELECT count(*) FROM decision JOIN job ON job.number = decision.job WHERE job.id = ? AND "
                  "substr(decision.text, 1, length(?)) = ? AND tenant = ?");
    row.bind(job).bind(beginning).bind(beginning).bind(tenant).step();
    return row.real(0);
  }

  /// The run's last cycle for a search that has not ended. Nothing for a run without a log, or one that was stored before the
  /// log said when the search ends.
  std::optional<double> search_end(const std::string& job) {
    Statement row(
        store_.database(),
        "SELECT coalesce(max(CASE WHEN text = ? THEN cycle END), cycles) FROM decision JOIN job ON job.number = "
        "decision.job WHERE id = ? AND EXISTS (SELECT 1 FROM kernel WHERE kernel.job = job.number AND began IS "
        "NOT NULL) GROUP BY job.number");
    if (!row.bind(std::string(kSearchEnded)).bind(job).step() || row.is_null(0)) return std::nullopt;
    return row.real(0);
  }

  static constexpr double kPicojoules = 1e12;

  /// Nothing for a machine without a power model.
  std::optional<double> of_power(const std::string& job, const std::string& name, double scale) {
    const std::optional<double> found = sum(job, chosen("gpu.power." + name));
    if (!found) return std::nullopt;
    return *found / scale;
  }

  /// A key of the configuration the job ran with; true is 1.
  std::optional<double> of_config(const std::string& job, const std::string& key) {
    const Tree* value = &config_of(job);
    for (std::size_t from = 0; value && from <= key.size();) {
      const std::size_t dot = std::min(key.find('.', from), key.size());
      value = value->find(std::string_view(key).substr(from, dot - from));
      from = dot + 1;
    }
    if (!value) return std::nullopt;
    if (const auto* whole = std::get_if<u64>(&value->value)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&value->value)) return *real;
    if (const auto* flag = std::get_if<bool>(&value->value)) return *flag ? 1.0 : 0.0;
    input_error("config(\"{}\") is {}, which is not a number", key, value->text());
  }

  /// Nothing for a job that is not there.
  const Tree& config_of(const std::string& job) {
    auto [config, fresh] = configs_.try_emplace(job);
    if (!fresh) return config->second;
    Statement row(store_.database(), "SELECT config FROM job WHERE id = ? AND state = 'done'");
    if (row.bind(job).step()) config->second = parse_toml(row.text(0), "the configuration of job " + job);
    return config->second;
  }

  /// Buckets of a histogram into which nothing fell are not stored: in a run that has the histogram they are zero.
  std::optional<double> of_stats(const std::string& job, const std::string& pattern) {
    const std::size_t bucket = pattern.find("{from");
    const bool in_histogram = bucket != pattern.npos;
    const std::string counted = in_histogram ? pattern.substr(0, bucket) + ".count" : pattern;
    if (chosen(counted).empty()) input_error("no statistic matches \"{}\"; see terrace list stats", pattern);
    const std::optional<double> found = sum(job, chosen(counted));
    return found && in_histogram ? sum(job, chosen(pattern)).value_or(0) : found;
  }

  /// The numbers of the statistics that a pattern names.
  const std::vector<u64>& chosen(const std::string& pattern) {
    auto [numbers, fresh] = chosen_.try_emplace(pattern);
    if (fresh)
      for (const auto& [number, name] : names_)
        if (names_stat(pattern, name)) numbers->second.push_back(number);
    return numbers->second;
  }

  std::optional<double> sum(const std::string& job, const std::vector<u64>& statistics) {
    Statement row(store_.database(),
                  "SELECT value FROM stat JOIN job ON job.number = stat.job WHERE job.id = ? AND stat.name = ?");
    double total = 0;
    bool any = false;
    for (const u64 number : statistics) {
      row.bind(job).bind(number);
      while (row.step()) {
        total += row.real(0);
        any = true;
      }
    }
    if (!any) return std::nullopt;
    return total;
  }

  Store& store_;
  std::vector<Point> points_;
  std::vector<std::pair<u64, std::string>> names_;
  std::map<std::string, std::vector<u64>> chosen_;
  std::map<std::string, Tree> configs_;
};

}  // namespace

std::unique_ptr<ResultSource> stored_results(Store& store, const std::string& sweep) {
  return std::make_unique<StoredResults>(store, sweep);
}

}  // namespace terrace
