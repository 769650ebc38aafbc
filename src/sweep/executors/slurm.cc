// Jobs as tasks of Slurm job arrays. Tasks and sweep meet in the folder of the jobs' files, which all nodes must share: a
// task writes its result there, and beside it how it ended. Slurm is asked for what left no such word: a task that was
// killed, or whose node failed, is submitted again.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <list>
#include <thread>

#include "engine/check.h"
#include "engine/interrupt.h"
#include "sweep/executor.h"
#include "sweep/executors/slurm_cluster.h"
#include "text/output.h"
#include "text/tree.h"

namespace terrace {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

/// Tasks in Slurm's queue at a time, unless --jobs says otherwise: the usual largest array.
constexpr u32 kTasks = 1000;
/// A task that is lost that often after its first time is given up.
constexpr u32 kMostLosses = 2;

/// As a shell reads it back.
std::string quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

class SlurmExecutor final : public Executor {
 public:
  explicit SlurmExecutor(const ExecutorOptions& options)
      : options_(options), pace_(options.slurm.pace), cluster_(options.slurm), program_(program_of(options.program)) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    name_ = fmt::format("terrace-{}-{}", host, getpid());
  }
  ~SlurmExecutor() override { give_up(); }

  bool has_room(const Task&) const override { return running() < options_.jobs; }

  void start(const Task& task) override {
    if (unsubmitted_.empty()) gathering_since_ = Clock::now();
    unsubmitted_.push_back({task});
  }

  std::vector<Ended> wait(double seconds) override {
    const Clock::time_point from = Clock::now();
    std::vector<Ended> ended;
    while (running() != 0 && !interrupted()) {
      submit_when_due();
      look(ended);
      ask(ended);
      if (!ended.empty() || seconds_since(from) >= seconds) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return ended;
  }

  u32 running() const override {
    std::size_t tasks = unsubmitted_.size();
    for (const Array& array : arrays_) tasks += array.left.size();
    return static_cast<u32>(tasks);
  }
  u32 waiting() const override { return running() - std::min(running(), at_work_); }

  void stop() override {
    unsubmitted_.clear();
    cluster_.cancel(array_numbers());
    const Clock::time_point from = Clock::now();
    while (!arrays_.empty() && seconds_since(from) < pace_.stop) {
      const auto states = cluster_.states(name_);
      const bool any = states && std::any_of(states->begin(), states->end(), [](const auto& task) {
                         return task.second.phase != SlurmCluster::Phase::kEnded;
                       });
      if (states && !any) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    forget_arrays();
  }

 private:
  struct Tracked {
    Task task;
    u32 losses = 0;
    bool gone = false;  // Slurm says that it ended, and its word is not here yet
    Clock::time_point gone_since = {};
  };
  struct Array {
    u64 job = 0;
    fs::path folder;              // its script, and what its tasks say
    std::map<u32, Tracked> left;  // by their numbers
  };

  static std::string program_of(const std::string& program) {
    std::error_code error;
    const fs::path real = fs::canonical(program, error);  // /proc/self/exe is another program elsewhere
    return error ? program : real.string();
  }

  // --- Submitting

  void submit_when_due() {
    const bool idle = arrays_.empty(), many = unsubmitted_.size() >= cluster_.most_tasks();
    if (unsubmitted_.empty() || (!idle && !many && seconds_since(gathering_since_) < pace_.gather)) return;
    const u32 count = std::min(static_cast<u32>(unsubmitted_.size()), cluster_.most_tasks());
    Array array;
    for (u32 i = 0; i < count; ++i) array.left.emplace(i, unsubmitted_[i]);
    array.folder =
        fs::absolute(unsubmitted_.front().task.result_path).parent_path() / fmt::format("{}-{}", name_, next_folder_++);
    const std::string script = write_script(array);
    const SlurmCluster::Submitted submitted = cluster_.submit(script, name_, count, threads());
    if (submitted.job == 0) {
      std::error_code ignored;
      fs::remove_all(array.folder, ignored);
      return refuse_or_wait(submitted.refusal);
    }
    refused_since_.reset();
    unsubmitted_.erase(unsubmitted_.begin(), unsubmitted_.begin() + count);
    gathering_since_ = Clock::now();
    array.job = submitted.job;
    arrays_.push_back(std::move(array));
  }

  /// A cluster that has taken arrays before may be busy; one that has not does not want them.
  void refuse_or_wait(const std::string& refusal) {
    if (!refused_since_) refused_since_ = Clock::now();
    gathering_since_ = Clock::now();
    if (next_folder_ == 1 || seconds_since(*refused_since_) > pace_.patience)
      input_error("sbatch refuses the jobs: {}; see [slurm] in docs/cluster.md, and repeat the command", refusal);
  }

  u32 threads() const { return std::max<u32>(1, options_.threads); }

  std::string write_script(const Array& array) const {
    std::error_code error;
    fs::create_directories(array.folder, error);
    if (error) input_error("{}: cannot be created: {}", array.folder.string(), error.message());
    std::string text = "#!/bin/bash\ncase $SLURM_ARRAY_TASK_ID in\n";
    for (const auto& [number, tracked] : array.left)
      text +=
          fmt::format("{}) config={} result={} ;;\n", number, quoted(fs::absolute(tracked.task.config_path).string()),
                      quoted(fs::absolute(tracked.task.result_path).string()));
    text += "esac\n";
    for (const std::string& line : options_.slurm.setup) text += line + "\n";
    text += fmt::format(R"sh(word={}/$SLURM_ARRAY_TASK_ID
began=$(date +%s.%N)
{} run --gpu "$config" --json "$result" --threads {} --quiet </dev/null >/dev/null 2>"$word.err"
code=$?
echo "$code $began $(date +%s.%N)" >"$word.tmp" && mv "$word.tmp" "$word.exit"
exit $code
)sh",
                        quoted(array.folder.string()), quoted(program_), threads());
    const std::string path = (array.folder / "tasks.sh").string();
    OutputFile file(path);
    file.write(text);
    file.commit();
    return path;
  }

  // --- What tasks say themselves

  void look(std::vector<Ended>& ended) {
    if (seconds_since(looked_) < pace_.look) return;
    looked_ = Clock::now();
    for (auto array = arrays_.begin(); array != arrays_.end();) {
      std::error_code ignored;
      std::vector<u32> numbers;
      for (const auto& entry : fs::directory_iterator(array->folder, ignored))
        if (entry.path().extension() == ".exit")
          numbers.push_back(static_cast<u32>(std::strtoul(entry.path().stem().c_str(), nullptr, 10)));
      for (const u32 number : numbers) take(*array, number, ended);
      array = drop_if_done(array);
    }
  }

  void take(Array& array, u32 number, std::vector<Ended>& ended) {
    const auto found = array.left.find(number);
    if (found == array.left.end()) return;
    std::ifstream in(array.folder / fmt::format("{}.exit", number));
    int code = 0;
    double began = 0, end = 0;
    if (!(in >> code >> began >> end)) return;  // its bytes may still be under way
    const Tracked tracked = found->second;
    array.left.erase(found);
    if (code > 128)
      return lose(tracked, fmt::format("was ended by signal {} ({})", code - 128, strsignal(code - 128)), ended);
    std::string message = said(array.folder / fmt::format("{}.err", number));
    if (code == 126 || code == 127)
      input_error("a node cannot run {}: {}; put the program where all nodes see it", program_, message);
    ended.push_back({tracked.task.id, code, std::move(message), std::max(0.0, end - began)});
  }

  static std::string said(const fs::path& path) {
    std::string text;
    try {
      text = read_file(path.string());
    } catch (const InputError&) {
      return "";
    }
    return tidy_message(std::move(text));
  }

  // --- What Slurm says of the others

  void ask(std::vector<Ended>& ended) {
    if (arrays_.empty() || seconds_since(asked_) < pace_.ask) return;
    asked_ = Clock::now();
    const auto states = cluster_.states(name_);
    if (!states) {
      if (seconds_since(answered_) > pace_.patience)
        input_error(
            "squeue has failed for {:.0f} s; stored results are safe: repeat the command when Slurm answers again",
            pace_.patience);
      return;
    }
    answered_ = Clock::now();
    at_work_ = 0;
    for (auto array = arrays_.begin(); array != arrays_.end();) {
      std::vector<u32> numbers;
      for (const auto& [number, tracked] : array->left) numbers.push_back(number);
      for (const u32 number : numbers) {
        const auto state = states->find({array->job, number});
        follow(*array, number, state == states->end() ? SlurmCluster::State{} : state->second, ended);
      }
      array = drop_if_done(array);
    }
  }

  void follow(Array& array, u32 number, const SlurmCluster::State& state, std::vector<Ended>& ended) {
    Tracked& tracked = array.left.at(number);
    at_work_ += state.phase == SlurmCluster::Phase::kRunning;
    if (state.phase == SlurmCluster::Phase::kStuck) {
      cluster_.cancel(SlurmTask{array.job, number});
      const Tracked stuck = tracked;
      array.left.erase(number);
      return lose(stuck, "could not be started by its node", ended);
    }
    if (state.phase != SlurmCluster::Phase::kEnded) {
      tracked.gone = false;
      return;
    }
    if (!tracked.gone) {
      tracked.gone = true;
      tracked.gone_since = Clock::now();
    }
    if (seconds_since(tracked.gone_since) < pace_.grace) return;
    const std::string word = state.word.empty() ? cluster_.accounted({array.job, number}) : state.word;
    const Tracked lost = tracked;
    array.left.erase(number);
    lose(lost, sentence_about(word, array), ended);
  }

  std::string sentence_about(const std::string& word, const Array& array) const {
    if (word == "TIMEOUT" || word == "DEADLINE")
      return fmt::format("did not end within the time limit of its Slurm job; give more in [slurm] (time)");
    if (word == "OUT_OF_MEMORY")
      return "needs more memory than its Slurm job has; give more in [slurm] (memory), or use a smaller size";
    return fmt::format("ended in Slurm as {} and left no word in {}, which all nodes must share",
                       word.empty() ? "unknown" : word, array.folder.parent_path().string());
  }

  void lose(Tracked tracked, const std::string& why, std::vector<Ended>& ended) {
    tracked.gone = false;
    if (++tracked.losses > kMostLosses) {
      ended.push_back({tracked.task.id, -1, why, 0});
      return;
    }
    if (unsubmitted_.empty()) gathering_since_ = Clock::now();
    unsubmitted_.push_back(std::move(tracked));
  }

  // --- Arrays that are over

  std::list<Array>::iterator drop_if_done(std::list<Array>::iterator array) {
    if (!array->left.empty()) return ++array;
    std::error_code ignored;
    fs::remove_all(array->folder, ignored);
    return arrays_.erase(array);
  }

  std::vector<u64> array_numbers() const {
    std::vector<u64> numbers;
    for (const Array& array : arrays_) numbers.push_back(array.job);
    return numbers;
  }

  void give_up() {
    cluster_.cancel(array_numbers());
    forget_arrays();
  }

  void forget_arrays() {
    std::error_code ignored;
    for (const Array& array : arrays_) fs::remove_all(array.folder, ignored);
    arrays_.clear();
    at_work_ = 0;
  }

  ExecutorOptions options_;
  SlurmPace pace_;
  SlurmCluster cluster_;
  std::string program_, name_;
  std::deque<Tracked> unsubmitted_;
  std::list<Array> arrays_;
  u32 next_folder_ = 0, at_work_ = 0;
  Clock::time_point gathering_since_ = Clock::now(), looked_ = Clock::now(), asked_ = Clock::now(),
                    answered_ = Clock::now();
  std::optional<Clock::time_point> refused_since_;
};

const RegisterExecutor kSlurm("slurm", {[](const ExecutorOptions& options) -> std::unique_ptr<Executor> {
                                          return std::make_unique<SlurmExecutor>(options);
                                        },
                                        [] { return kTasks; }, [] { return u32{0}; }});

}  // namespace

}  // namespace terrace
