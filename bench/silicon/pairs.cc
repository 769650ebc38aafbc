// Pairs of kernels on a real GPU: in one process on two streams, each on its own SMs; in two processes under MPS, which has a share of
// the SMs for each; and in two processes that the GPU time-slices. Each kernel also runs alone, on the same share.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "engine/check.h"
#include "json_file.h"
#include "real_gpu/cuda_driver.h"
#include "silicon.h"
#include "tenants.h"
#include "text/tree.h"

namespace terrace::silicon {
namespace {

using real_gpu::Gpu;
using Clock = std::chrono::steady_clock;

/// What a process is asked: the GPU's time (no tasks), or to run tasks, each on a stream of its own.
struct Order {
  u32 tasks = 0;
  bool ends = false;
  std::array<TenantTask, 2> task;
};
struct Answer {
  u64 now = 0;
  u32 sms = 0;
  char gpu[64] = {};
  std::array<std::array<u64, kTenantOutWords>, 2> out;
};

/// The process's side: memory and streams for as many tasks as it may get at once.
[[noreturn]] void serve(const std::string& folder, u32 most_tasks, int orders, int answers) {
  try {
    Gpu gpu;
    Gpu::Module* const module = gpu.load(read_file(folder + "/tenants.ptx"));
    u64 bytes = 0;
    for (const TenantKernel& kernel : tenant_kernels()) bytes = std::max(bytes, kernel.bytes);
    std::vector<Gpu::Address> data, out;
    std::vector<Gpu::Stream*> streams;
    for (u32 i = 0; i < most_tasks; ++i) {
      data.push_back(gpu.allocate(bytes));
      out.push_back(gpu.allocate(kTenantOutWords * sizeof(u64)));
      streams.push_back(gpu.make_stream());
    }
    const Gpu::Address time = gpu.allocate(sizeof(u64));
    const auto answer = std::make_unique<Answer>();
    answer->sms = gpu.sms();
    gpu.name().copy(answer->gpu, sizeof answer->gpu - 1);
    const std::vector<u64> zero(kTenantOutWords);
    for (Order order; !order.ends;) {
      for (u32 i = 0; i < order.tasks; ++i) gpu.upload(out[i], zero.data(), zero.size() * sizeof(u64));
      for (u32 i = 0; i < order.tasks; ++i)
        gpu.start(module, tenant_launch(order.task[i], data[i], out[i], gpu.sms()), streams[i]);
      for (u32 i = 0; i < order.tasks; ++i) {
        gpu.wait(streams[i]);
        gpu.download(answer->out[i].data(), out[i], kTenantOutWords * sizeof(u64));
      }
      if (order.tasks == 0) {
        Launch launch;
        launch.kernel = "time_now";
        launch.argument(time);
        gpu.launch(module, launch);
        gpu.download(&answer->now, time, sizeof(u64));
      }
      if (write(answers, answer.get(), sizeof *answer) != static_cast<ssize_t>(sizeof *answer)) break;
      if (read(orders, &order, sizeof order) != static_cast<ssize_t>(sizeof order)) break;
    }
    _exit(0);
  } catch (const std::exception& error) {
    fmt::print(stderr, "silicon: {}\n", error.what());
    _exit(2);
  }
}

/// A process, as its maker sees it.
class Worker {
 public:
  using Settings = std::map<std::string, std::string>;  // of its environment

  Worker(const std::string& folder, u32 most_tasks, const Settings& settings = {}) {
    int orders[2], answers[2];
    if (pipe(orders) != 0 || pipe(answers) != 0) input_error("no more pipes can be made");
    std::fflush(stdout);
    id_ = fork();
    if (id_ < 0) input_error("no more processes can be made");
    if (id_ == 0) {
      close(orders[1]);
      close(answers[0]);
      for (const auto& [name, value] : settings) setenv(name.c_str(), value.c_str(), 1);
      serve(folder, most_tasks, orders[0], answers[1]);
    }
    close(orders[0]);
    close(answers[1]);
    orders_ = orders[1];
    answers_ = answers[0];
    receive();
  }
  ~Worker() {
    Order end;
    end.ends = true;
    if (write(orders_, &end, sizeof end) < 0) kill(id_, SIGKILL);
    close(orders_);
    close(answers_);
    waitpid(id_, nullptr, 0);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void send(const Order& order) {
    if (write(orders_, &order, sizeof order) != static_cast<ssize_t>(sizeof order)) fail("has ended early");
  }
  const Answer& receive() {
    constexpr int kPatience = 30'000;  // milliseconds: a process that hangs in the driver is ended
    u8* to = reinterpret_cast<u8*>(answer_.get());
    for (u64 got = 0; got < sizeof(Answer);) {
      pollfd ready{answers_, POLLIN, 0};
      if (poll(&ready, 1, kPatience) <= 0) {
        kill(id_, SIGKILL);
        fail("does not answer");
      }
      const ssize_t more = read(answers_, to + got, sizeof(Answer) - got);
      if (more <= 0) fail("has ended early");
      got += static_cast<u64>(more);
    }
    return *answer_;
  }
  const Answer& answer() const { return *answer_; }
  u64 time() {
    send({});
    return receive().now;
  }

 private:
  [[noreturn]] static void fail(const char* what) { input_error("a process of the pair {}", what); }

  pid_t id_ = 0;
  int orders_ = -1, answers_ = -1;
  std::unique_ptr<Answer> answer_ = std::make_unique<Answer>();
};

/// A tenant's side of a measurement: what runs, and on which worker and SMs.
struct Side {
  u32 tenant;
  u32 worker;
  u64 first_sm = 0, end_sm = 1024;
};

/// How pairs share the GPU.
struct Sharing {
  std::string mode, split;
  std::vector<std::unique_ptr<Worker>> workers;
  std::array<Side, 2> sides{};  // but for the tenant
  u64 lead, window;             // nanoseconds: for launches and warm caches; that are measured
};

struct Measured {
  std::vector<std::vector<double>> units;  // for each side, per millisecond, in each repeat
  std::vector<std::set<u32>> sms;
  std::vector<double> megahertz;
  u32 late = 0;  // repeats in which a block began after the window did
};

class Harness {
 public:
  Harness(std::string folder, const std::string& to, const PairOptions& options)
      : folder_(std::move(folder)),
        to_(to),
        options_(options),
        pairs_(read_pairs(folder_ + "/pairs.txt")),
        end_(Clock::now() + std::chrono::seconds(options.budget)),
        alone_(to + "/alone.json"),
        together_(to + "/pairs.json") {}

  void run() {
    attempt("streams", [&] { streams(); });
    attempt("mps", [&] { mps(false); });
    attempt("mps-pinned", [&] { mps(true); });
    attempt("time-sliced", [&] { time_sliced(); });
    alone_.finish();
    together_.finish();
    if (alone_.points() == 0) input_error("nothing was measured; {}/alone.json says why", to_);
  }

 private:
  template <class Do>
  void attempt(const std::string& mode, Do&& act) {
    if (!options_.modes.empty() &&
        std::find(options_.modes.begin(), options_.modes.end(), mode) == options_.modes.end())
      return;
    try {
      act();
    } catch (const InputError& error) {
      alone_.problem(mode, error.what());
      together_.problem(mode, error.what());
    }
    fmt::print("{}: {} alone, {} pairs so far\n", mode, alone_.points(), together_.points());
  }

  void streams() {
    for (const Split& split : kSplits) {
      Sharing sharing{"streams", split.name, {}, {}, options_.lead, options_.window};
      sharing.workers.push_back(std::make_unique<Worker>(folder_, 2));
      const u32 sms = note_machine(*sharing.workers[0]), first = split.sms_of_first(sms);
      sharing.sides = {Side{0, 0, 0, first}, Side{0, 0, first, 1024}};
      measure_all(sharing);
    }
  }

  /// The processes have percentages of the threads, or all of them and SMs of their own, where blocks elsewhere leave.
  void mps(bool pinned) {
    const std::string pipes = fmt::format("/tmp/silicon_mps_{}", getpid()), logs = to_ + "/mps_log";
    std::filesystem::create_directories(pipes);
    std::filesystem::create_directories(logs);
    const std::string environment = fmt::format("CUDA_MPS_PIPE_DIRECTORY={} CUDA_MPS_LOG_DIRECTORY={} ", pipes, logs);
    if (std::system((environment + "nvidia-cuda-mps-control -d >/dev/null 2>&1").c_str()) != 0)
      input_error("nvidia-cuda-mps-control does not start, so nothing was measured under MPS");
    try {
      for (const Split& split : kSplits) {
        Sharing sharing{pinned ? "mps-pinned" : "mps", split.name, {}, {}, options_.lead + 2'000'000, options_.window};
        for (const u32 percent : {split.percent, 100 - split.percent})
          sharing.workers.push_back(std::make_unique<Worker>(
              folder_, 1,
              Worker::Settings{{"CUDA_MPS_PIPE_DIRECTORY", pipes},
                               {"CUDA_MPS_LOG_DIRECTORY", logs},
                               {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", fmt::format("{}", pinned ? 100 : percent)}}));
        const u32 first = split.sms_of_first(note_machine(*sharing.workers[0]));
        sharing.sides = {Side{0, 0, 0, pinned ? first : 1024}, Side{0, 1, pinned ? first : 0, 1024}};
        measure_all(sharing);
      }
    } catch (...) {
      quit_mps(environment, pipes);
      throw;
    }
    quit_mps(environment, pipes);
  }
  static void quit_mps(const std::string& environment, const std::string& pipes) {
    if (std::system(("echo quit | " + environment + "nvidia-cuda-mps-control >/dev/null 2>&1").c_str()) != 0)
      fmt::print(stderr, "silicon: the MPS control daemon did not quit\n");
    std::filesystem::remove_all(pipes);
  }

  /// A time slice is some milliseconds long: a window holds many.
  void time_sliced() {
    Sharing sharing{"time-sliced", "all", {}, {}, 10 * options_.lead, 12 * options_.window};
    for (u32 i = 0; i < 2; ++i) sharing.workers.push_back(std::make_unique<Worker>(folder_, 1));
    note_machine(*sharing.workers[0]);
    sharing.sides = {Side{0, 0}, Side{0, 1}};
    measure_all(sharing);
  }

  u32 note_machine(const Worker& worker) {
    alone_.set_machine(worker.answer().gpu, worker.answer().sms);
    together_.set_machine(worker.answer().gpu, worker.answer().sms);
    return worker.answer().sms;
  }

  void measure_all(Sharing& sharing) {
    for (u32 side = 0; side < 2; ++side)
      for (u32 tenant = 0; tenant < tenant_kernels().size(); ++tenant) {
        Side chosen = sharing.sides[side];
        chosen.tenant = tenant;
        const Measured measured = measure(sharing, {chosen});
        alone_.point(fmt::format("{{\"mode\": \"{}\", \"split\": \"{}\", \"side\": {}, \"tenant\": \"{}\"{}, {}}}",
                                 sharing.mode, sharing.split, side, tenant_kernels()[tenant].name, late(measured),
                                 side_json("", measured, 0)));
      }
    for (const Pair& pair : pairs_) {
      std::vector<Side> sides{sharing.sides[0], sharing.sides[1]};
      sides[0].tenant = pair.first;
      sides[1].tenant = pair.second;
      const Measured measured = measure(sharing, sides);
      std::vector<u32> common;
      std::set_intersection(measured.sms[0].begin(), measured.sms[0].end(), measured.sms[1].begin(),
                            measured.sms[1].end(), std::back_inserter(common));
      together_.point(fmt::format(
          "{{\"mode\": \"{}\", \"split\": \"{}\", \"first\": \"{}\", \"second\": \"{}\", \"held\": {}, \"common_sms\": "
          "{}{}, {}, {}}}",
          sharing.mode, sharing.split, tenant_kernels()[pair.first].name, tenant_kernels()[pair.second].name, pair.held,
          common.size(), late(measured), side_json("first_", measured, 0), side_json("second_", measured, 1)));
    }
  }

  static std::string late(const Measured& measured) {
    return measured.late > 0 ? fmt::format(", \"late\": {}", measured.late) : std::string();
  }
  static std::string side_json(const char* prefix, const Measured& measured, u32 side) {
    return fmt::format("\"{0}sms\": {1}, \"{0}mhz\": {2:.0f}, \"{0}units_per_ms\": {3}", prefix,
                       measured.sms[side].size(), measured.megahertz[side], json_values(measured.units[side]));
  }

  Measured measure(Sharing& sharing, const std::vector<Side>& sides) {
    if (Clock::now() > end_) input_error("there was no time for all");
    Measured measured;
    measured.units.resize(sides.size());
    measured.sms.resize(sides.size());
    measured.megahertz.resize(sides.size());
    for (u32 repeat = 0; repeat < kRepeats; ++repeat)
      for (u32 tries = 0; !once(sharing, sides, measured, tries == kTries); ++tries) {
      }
    return measured;
  }

  /// One repeat. False when a block began late, unless it counts anyway.
  bool once(Sharing& sharing, const std::vector<Side>& sides, Measured& measured, bool counts_anyway) {
    const u64 start = sharing.workers[0]->time() + sharing.lead;
    std::map<u32, Order> orders;
    std::vector<u32> places;
    for (const Side& side : sides) {
      Order& order = orders[side.worker];
      places.push_back(order.tasks);
      order.task[order.tasks++] = {side.tenant, side.first_sm, side.end_sm, start, start + sharing.window};
    }
    for (const auto& [worker, order] : orders) sharing.workers[worker]->send(order);
    for (const auto& [worker, order] : orders) sharing.workers[worker]->receive();
    std::vector<TenantCount> counts;
    bool in_time = true;
    for (u32 i = 0; i < sides.size(); ++i) {
      const auto& out = sharing.workers[sides[i].worker]->answer().out[places[i]];
      counts.push_back(read_tenant({out.begin(), out.end()}));
      in_time = in_time && !counts[i].sms.empty() && counts[i].last_begin < start;
    }
    if (!in_time && !counts_anyway) return false;
    measured.late += in_time ? 0 : 1;
    for (u32 i = 0; i < sides.size(); ++i) {
      measured.units[i].push_back(static_cast<double>(counts[i].units) * 1e6 / static_cast<double>(sharing.window));
      measured.sms[i] = counts[i].sms;
      measured.megahertz[i] = counts[i].megahertz;
    }
    return true;
  }

  static constexpr u32 kRepeats = 5, kTries = 3;
  std::string folder_, to_;
  PairOptions options_;
  std::vector<Pair> pairs_;
  Clock::time_point end_;
  JsonFile alone_, together_;
};

}  // namespace

void measure_pairs(const std::string& folder, const std::string& to, const PairOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);  // a process that has ended early is told of in words
  std::filesystem::create_directories(to);
  Harness(folder, to, options).run();
}

}  // namespace terrace::silicon
