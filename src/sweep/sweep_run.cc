// SPDX-License-Identifier: MIT
#include "sweep/sweep_run.h"

#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <set>
#include <thread>

#include "engine/interrupt.h"
#include "sweep/expression.h"
#include "sweep/job_spool.h"
#include "text/suggest.h"
#include "text/table.h"

namespace terrace {

namespace {

/// How long to wait for a job that another sweep is running before looking again.
constexpr double kLookSeconds = 0.25;

std::string duration_text(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", std::max(1.0, seconds));
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

double own_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// A metric of a point from a store; failed jobs make it settled without a value.
SplitScore stored_score(Store& store, const std::map<std::string, JobState>& states, const Point& point,
                        const std::string& metric) {
  std::vector<std::string> jobs = point.alone;
  jobs.push_back(point.job);
  for (const std::string& job : jobs)
    if (!states.contains(job)) return {};
  const auto metrics = point_metrics(store, point);
  const auto found = metrics.find(metric);
  if (found == metrics.end()) return {true, std::nullopt};
  return {true, found->second};
}

/// Failed for a reason that lies in the job: running it again would fail again.
bool failed_by_itself(const JobState& state) {
  return !state.done && state.exit_code >= 0;
}

class Runner {
 public:
  Runner(Sweep& sweep, const SweepOptions& options)
      : sweep_(sweep),
        options_(options),
        executor_(make_executor(options.executor, options.workers)),
        store_(options.store),
        spool_(options.store),
        estimator_(store_.efforts()) {}

  SweepSummary run() {
    Plan plan;
    std::set<std::string> noted;
    while (true) {
      const std::map<std::string, JobState> states = store_.states();
      const std::map<std::string, JobState> known = settled(states);
      plan = sweep_.plan(
          [&](const Point& point, const std::string& metric) { return stored_score(store_, known, point, metric); });
      for (const std::string& note : plan.notes)
        if (noted.insert(note).second && options_.note) options_.note(note);
      store_.put_sweep(sweep_.file().name, sweep_.file().text, plan.points);
      const bool any = queue(plan, states);
      if (any) choose_threads();
      if (any) run_queue();
      if (plan.complete || !any) break;
    }
    const std::map<std::string, JobState> states = store_.states();
    SweepSummary summary;
    summary.jobs = plan.jobs.size();
    summary.ran = ran_;
    summary.stored_before = summary.jobs - std::min(ran_, summary.jobs);
    summary.job_seconds = job_seconds_;
    summary.searches = plan.searches;
    // A sweep that was ended between storing a result and removing its file left the file.
    for (const auto& [id, state] : states)
      if (spool_.has_result(id) && spool_.lock(id)) spool_.remove(id), spool_.unlock(id);
    for (const Job& job : plan.jobs)
      if (const auto found = states.find(job.id); found != states.end() && !found->second.done)
        summary.failed.emplace_back(job, found->second);
    store_.finish_sweep(sweep_.file().name, plan.searches, plan.complete);
    summary.own_seconds = own_seconds();
    return summary;
  }

 private:
  struct Waiting {
    Job job;
    double seconds;
    u32 deaths = 0;
  };

  /// What planning may rest on: a failure that this sweep will run again is not the last word.
  std::map<std::string, JobState> settled(std::map<std::string, JobState> states) const {
    std::erase_if(states, [&](const auto& item) { return !item.second.done && will_retry(item.first, item.second); });
    return states;
  }
  bool will_retry(const std::string& id, const JobState& state) const {
    return !tried_.contains(id) && (options_.retry || !failed_by_itself(state));
  }

  /// Whether there is anything to run. The longest jobs go first: short ones fill the end.
  bool queue(const Plan& plan, const std::map<std::string, JobState>& states) {
    waiting_.clear();
    progress_ = {};
    progress_.total = plan.jobs.size();
    seconds_total_ = seconds_done_ = 0;
    for (const Job& job : plan.jobs) {
      const auto found = states.find(job.id);
      if (found != states.end() && (found->second.done || !will_retry(job.id, found->second))) {
        ++(found->second.done ? progress_.done : progress_.failed);
        continue;
      }
      waiting_.push_back({job, estimator_.seconds(job).seconds, 0});
      seconds_total_ += waiting_.back().seconds;
    }
    std::sort(waiting_.begin(), waiting_.end(), [](const Waiting& a, const Waiting& b) {
      return a.seconds != b.seconds ? a.seconds > b.seconds : a.job.id < b.job.id;
    });
    return !waiting_.empty();
  }

  void run_queue() {
    try {
      while (!waiting_.empty() || !under_way_.empty()) {
        start_what_fits();
        show();
        std::vector<Ended> ended = executor_->wait(kLookSeconds);
        check_interrupt();
        // Whoever waits for a core comes before the store's own work.
        for (const Ended& end : ended) take_back(end);
        start_what_fits();
        for (const auto& [waiting, end] : finished_) settle(waiting, end);
        finished_.clear();
        if (under_way_.empty() && !waiting_.empty()) wait_for_others();
      }
      show();
    } catch (const Interrupted&) {
      stop();
      throw;
    } catch (...) {
      executor_->stop();
      throw;
    }
  }

  /// Says so when it is not what everybody expects.
  void choose_threads() {
    const u32 given = options_.workers.threads, before = threads_;
    const u32 at_once = static_cast<u32>(std::min<u64>(options_.workers.jobs, waiting_.size()));
    threads_ = given != 0 ? given : threads_for(options_.executor, options_.workers.jobs, waiting_.size());
    if (threads_ == before || !options_.note) return;
    options_.note(fmt::format("{} job{} at a time, {} thread{} each", at_once, at_once == 1 ? "" : "s", threads_,
                              threads_ == 1 ? "" : "s"));
  }

  /// Starts jobs while there is room. One that another sweep is running stays in the queue, behind the others.
  void start_what_fits() {
    for (std::size_t looks = waiting_.size(); looks > 0 && !waiting_.empty(); --looks) {
      Waiting next = waiting_.front();
      const Task task{next.job.id, spool_.config_path(next.job.id), spool_.result_path(next.job.id),
                      next.job.memory_bytes, threads_};
      if (!executor_->has_room(task) || (options_.may_start && !options_.may_start())) return;
      waiting_.pop_front();
      if (!spool_.lock(next.job.id)) {
        waiting_.push_back(std::move(next));
        continue;
      }
      if (stored_meanwhile(next)) continue;
      spool_.write_config(next.job);
      executor_->start(task);
      under_way_.emplace(next.job.id, std::move(next));
    }
  }

  /// With the lock held: another sweep may have stored it, or a sweep that was ended may have left its result.
  bool stored_meanwhile(const Waiting& waiting) {
    const std::string& id = waiting.job.id;
    const bool there = store_.tenant_ipcs(id).has_value();
    if (!there && (!spool_.has_result(id) || !put_result(waiting, waiting.seconds).empty())) return false;
    finish(waiting, true);
    return true;
  }

  void take_back(const Ended& end) {
    const auto found = under_way_.find(end.id);
    SIM_CHECK(found != under_way_.end(), "job {} ended and was never started", end.id);
    finished_.emplace_back(std::move(found->second), end);
    under_way_.erase(found);
  }

  void settle(Waiting waiting, const Ended& end) {
    ++ran_;
    job_seconds_ += end.seconds;
    tried_.insert(waiting.job.id);
    std::string problem = end.message;
    if (end.exit_code == 0) problem = put_result(waiting, end.seconds);
    if (end.exit_code == 0 && problem.empty()) return finish(waiting, true);
    const bool died = end.exit_code <= 0 || end.exit_code == kInterruptedExitCode;
    // Once more, by itself: the machine may have been short of memory.
    if (died && waiting.deaths == 0) {
      waiting.deaths = 1;
      waiting.job.memory_bytes = ~u64{0} >> 1;
      spool_.unlock(waiting.job.id);
      --ran_;
      waiting_.push_back(std::move(waiting));
      return;
    }
    refuse_unwritable(end);
    if (problem.empty()) problem = fmt::format("ended with exit code {} and no message", end.exit_code);
    store_.put_failure(waiting.job, died ? -1 : end.exit_code, problem);
    finish(waiting, false);
  }

  /// A result that could not be written says nothing about the job.
  void refuse_unwritable(const Ended& end) {
    const std::string result = spool_.result_path(end.id);
    if (end.exit_code == 2 && end.message.starts_with(result + ": cannot be written"))
      input_error("{}; stored results are safe: free some space and repeat the command", end.message);
  }

  /// What is wrong with the file, or nothing when it is in the store. A file without a result is removed.
  std::string put_result(const Waiting& waiting, double seconds) {
    Tree result;
    try {
      result = read_json(spool_.result_path(waiting.job.id));
      check_result(waiting.job, result);
    } catch (const InputError& error) {
      spool_.remove(waiting.job.id);
      return error.what();
    }
    store_.put_result(waiting.job, result, seconds);
    return "";
  }

  void finish(const Waiting& waiting, bool done) {
    ++(done ? progress_.done : progress_.failed);
    seconds_done_ += waiting.seconds;
    spool_.remove(waiting.job.id);
    spool_.unlock(waiting.job.id);
  }

  /// Nothing of ours can start: other sweeps have the rest.
  static void wait_for_others() {
    for (int i = 0; i < 5; ++i) {
      check_interrupt();
      std::this_thread::sleep_for(std::chrono::duration<double>(kLookSeconds / 5));
    }
  }

  /// Ctrl-C: what has ended is stored, what runs is stopped.
  void stop() {
    executor_->stop();
    for (const auto& [id, waiting] : under_way_)
      if (spool_.has_result(id) && put_result(waiting, waiting.seconds).empty()) finish(waiting, true);
    for (const auto& [waiting, end] : finished_)
      if (end.exit_code == 0 && put_result(waiting, end.seconds).empty()) finish(waiting, true);
    for (const auto& [id, waiting] : under_way_) spool_.remove(id);
  }

  void show() {
    progress_.running = executor_->running();
    progress_.waiting = executor_->waiting();
    progress_.fraction = seconds_total_ > 0 ? seconds_done_ / seconds_total_ : 1;
    if (options_.progress) options_.progress(progress_);
  }

  Sweep& sweep_;
  const SweepOptions& options_;
  std::unique_ptr<Executor> executor_;
  Store store_;
  JobSpool spool_;
  Estimator estimator_;
  std::deque<Waiting> waiting_;
  std::map<std::string, Waiting> under_way_;
  std::vector<std::pair<Waiting, Ended>> finished_;
  std::set<std::string> tried_;
  SweepProgress progress_;
  double seconds_total_ = 0, seconds_done_ = 0;
  u64 ran_ = 0;
  u32 threads_ = 1;  // of each job
  double job_seconds_ = 0;
};

/// Labels and values that an expression asks for must occur in the plan.
void check_choices(const Expression& expression, const Plan& plan, u32 line, Mistakes& mistakes) {
  for (const auto& [label, value] : expression.choices()) {
    std::set<std::string> labels, values;
    for (const Point& point : plan.points)
      for (const auto& [its_label, its_value] : point.labels) {
        labels.insert(its_label);
        if (its_label == label) values.insert(its_value);
      }
    const std::vector<std::string> known(labels.begin(), labels.end()), there(values.begin(), values.end());
    if (!labels.contains(label))
      mistakes.add(line, "no run has a label \"{}\"{}; there is {}", label, did_you_mean(label, known),
                   fmt::join(known, ", "));
    else if (!values.contains(value))
      mistakes.add(line, "no run has {}=\"{}\"{}", label, value, did_you_mean(value, there));
  }
}

/// `whole`: the plan holds every run.
void check_expression(const std::string& text, const Plan& plan, bool whole, u32 line, Mistakes& mistakes) {
  if (text.empty()) return;
  mistakes.guard(line, [&] {
    const Expression expression(text);
    if (whole) check_choices(expression, plan, line, mistakes);
  });
}

}  // namespace

Sweep::Sweep(const std::string& path, const std::string& size, const ConfigSource& configs, u64 seeds,
             std::optional<u64> stats_every)
    : Sweep(path, size, configs, seeds, stats_every, Mistakes(path)) {}

Sweep::Sweep(const std::string& path, const std::string& size, const ConfigSource& configs, u64 seeds,
             std::optional<u64> stats_every, Mistakes mistakes)
    : file_(parse_sweep(path, read_file(path), size, mistakes, seeds, &configs)),
      configs_(configs),
      planner_(file_, configs_) {
  if (stats_every) file_.stats_every = *stats_every;
  const Plan first = planner_.plan([](const Point&, const std::string&) { return SplitScore{}; }, mistakes);
  // What waits for a search is not in the first plan, and what is refused is not in any.
  const bool whole = first.complete && mistakes.none();
  for (const Claim& claim : file_.claims) {
    check_expression(claim.value, first, whole, claim.line, mistakes);
    for (const Claim::Item& item : claim.items) check_expression(item.value, first, whole, claim.line, mistakes);
  }
  for (const ResultTable& table : file_.tables) {
    for (const ResultTable::Column& column : table.columns)
      check_expression(column.value, first, whole, table.line, mistakes);
  }
  for (const Plot& plot : file_.plots) check_expression(plot.y, first, whole, plot.line, mistakes);
  mistakes.raise();
}

Plan Sweep::plan(const MetricLookup& lookup) {
  Mistakes mistakes(file_.path);
  Plan plan = planner_.plan(lookup, mistakes);
  mistakes.raise();
  return plan;
}

SweepSummary run_sweep(Sweep& sweep, const SweepOptions& options) {
  return Runner(sweep, options).run();
}

Estimator::Guess Estimator::seconds(const Job& job) const {
  // Rough guesses after a few runs at mini and tiny; a stored job of the same size is a better guide.
  const double otherwise = job.size == "mini" ? 0.05 : job.size == "tiny" ? 1.0 : job.size == "small" ? 15.0 : 600.0;
  double same = 0, like = 0;
  u64 sames = 0, likes = 0;
  for (const Effort& effort : efforts_) {
    if (effort.size != job.size) continue;
    like += effort.seconds, ++likes;
    if (effort.tenants == job.tenants) same += effort.seconds, ++sames;
  }
  if (sames != 0) return {same / static_cast<double>(sames), true};
  return {likes != 0 ? like / static_cast<double>(likes) : otherwise, false};
}

std::string dry_run_text(Sweep& sweep, const SweepOptions& options) {
  std::map<std::string, JobState> states;
  std::vector<Effort> efforts;
  std::optional<Store> store;
  if (std::filesystem::exists(options.store)) {
    store.emplace(Store::existing(options.store));
    states = store->states();
    efforts = store->efforts();
  }
  const Plan plan = sweep.plan([&](const Point& point, const std::string& metric) {
    return store ? stored_score(*store, states, point, metric) : SplitScore{};
  });
  const Estimator estimator(std::move(efforts));
  TextTable table{{"job", "machine", "tenants", "size", "seed", "SMs", "state", "about"}, {}, {}};
  double seconds = 0;
  u64 to_run = 0, guessed = 0;
  for (const Job& job : plan.jobs) {
    const auto found = states.find(job.id);
    const bool failed = found != states.end() && !found->second.done;
    const bool runs = found == states.end() || (failed && (options.retry || !failed_by_itself(found->second)));
    const Estimator::Guess guess = estimator.seconds(job);
    if (runs) seconds += guess.seconds, ++to_run, guessed += !guess.measured;
    table.rows.push_back({job.id, job.machine, job.tenants, job.size, fmt::format("{}", job.seed),
                          job.sms.empty() ? "even" : job.sms,
                          failed ? "failed"
                          : runs ? "to run"
                                 : "stored",
                          runs ? fmt::format("{:.1f} s", guess.seconds) : ""});
  }
  std::string text = table.plain() + fmt::format("\n{} jobs, {} to run: about {} on {} worker{}", plan.jobs.size(),
                                                 to_run, duration_text(seconds / options.workers.jobs),
                                                 options.workers.jobs, options.workers.jobs == 1 ? "" : "s");
  if (guessed != 0)
    text += fmt::format(" ({} of the times are guesses: the store has no run of the same tenants and size)", guessed);
  text += ".\n";
  if (!plan.complete) text += "A search chooses its next jobs from results: more jobs follow when these are done.\n";
  for (const std::string& note : plan.notes) text += note + ".\n";
  return text;
}

}  // namespace terrace
