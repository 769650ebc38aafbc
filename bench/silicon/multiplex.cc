// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <fstream>
#include <iterator>

#include "engine/check.h"
#include "real_gpu/cuda_driver.h"
#include "silicon.h"

namespace terrace::silicon {
namespace {

using real_gpu::Gpu;

/// What a process is asked to do: so many launches of a kernel that goes round so often. None: end.
struct Order {
  u32 launches = 0, rounds = 0;
};
/// When it did it, in seconds of a clock that all processes share; and which GPU it has.
struct Done {
  double start = 0, end = 0;
  u32 sms = 0;
  char gpu[64] = {};
};

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class T>
bool receive(int from, T& value) {
  return read(from, &value, sizeof value) == static_cast<ssize_t>(sizeof value);
}
template <class T>
void send(int to, const T& value) {
  if (write(to, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) input_error("a process has ended early");
}

/// A process with an address space of its own on the GPU. Its buffer is filled, and its kernel has run, before it says so.
[[noreturn]] void serve(const std::string& folder, int orders, int answers) {
  constexpr u32 kThreads = 256, kBlocksPerSm = 4, kWords = 16 << 20;
  try {
    Gpu gpu;
    Gpu::Module* const module = gpu.load(own_module(folder));
    const Gpu::Address data = gpu.allocate(u64{kWords} * sizeof(float));
    Launch launch;
    launch.kernel = "mixed";
    launch.grid = {gpu.sms() * kBlocksPerSm};
    launch.block = {kThreads};
    Done done;
    done.sms = gpu.sms();
    gpu.name().copy(done.gpu, sizeof done.gpu - 1);
    Gpu::Stream* const stream = gpu.make_stream();
    for (Order order{1, 1}; order.launches > 0;) {
      launch.arguments.clear();
      launch.argument(data).argument(kWords).argument(order.rounds);
      done.start = now();
      for (u32 i = 0; i < order.launches; ++i) gpu.start(module, launch, stream);
      gpu.wait(stream);
      done.end = now();
      send(answers, done);
      if (!receive(orders, order)) break;
    }
    _exit(0);
  } catch (const std::exception& error) {
    fmt::print(stderr, "silicon: {}\n", error.what());
    _exit(2);
  }
}

struct Process {
  pid_t id = 0;
  int orders = -1, answers = -1;
};

class Processes {
 public:
  explicit Processes(std::string folder) : folder_(std::move(folder)) {}
  ~Processes() {
    for (const Process& process : all_) {
      const Order end;
      if (write(process.orders, &end, sizeof end) < 0) continue;
      waitpid(process.id, nullptr, 0);
    }
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  Done add() {
    int orders[2], answers[2];
    if (pipe(orders) != 0 || pipe(answers) != 0) input_error("no more pipes can be made");
    const pid_t id = fork();
    if (id < 0) input_error("no more processes can be made");
    if (id == 0) {
      close(orders[1]);
      close(answers[0]);
      serve(folder_, orders[0], answers[1]);
    }
    close(orders[0]);
    close(answers[1]);
    all_.push_back({id, orders[1], answers[0]});
    return answer(all_.back());
  }
  u64 count() const { return all_.size(); }

  /// Seconds from the first start to the last end, all at once.
  double together(const Order& order) const {
    for (const Process& process : all_) send(process.orders, order);
    Done span{1e300, 0};
    for (const Process& process : all_) {
      const Done done = answer(process);
      span.start = std::min(span.start, done.start);
      span.end = std::max(span.end, done.end);
    }
    return span.end - span.start;
  }
  /// Seconds of all, one after the other.
  double in_turn(const Order& order) const {
    double sum = 0;
    for (const Process& process : all_) {
      send(process.orders, order);
      const Done done = answer(process);
      sum += done.end - done.start;
    }
    return sum;
  }

 private:
  static Done answer(const Process& process) {
    Done done;
    if (!receive(process.answers, done)) input_error("a process has ended early");
    return done;
  }
  std::string folder_;
  std::vector<Process> all_;
};

struct Setting {
  const char* name;
  double kernel_ms;
  Order order{};
};

}  // namespace

void measure_multiplexing(const std::string& folder, const std::string& out, unsigned most_processes) {
  constexpr u32 kTimes = 3;
  constexpr double kSeconds = 0.1;  // that a process works for
  std::signal(SIGPIPE, SIG_IGN);    // a process that has ended early is told of in words
  Processes processes(folder);
  const Done first = processes.add();

  // How long a round takes, from two lengths: what a launch costs by itself cancels.
  const auto best = [&](const Order& order) {
    double least = 1e300;
    for (u32 i = 0; i < 5; ++i) least = std::min(least, processes.in_turn(order));
    return least;
  };
  const double round_seconds = (best({1, 21000}) - best({1, 1000})) / 20000;
  Setting settings[] = {{"short kernels", 0.2}, {"long kernels", 5}, {"one kernel", kSeconds * 1000}};
  for (Setting& setting : settings) {
    setting.order.rounds = std::max(1u, static_cast<u32>(setting.kernel_ms / 1000 / round_seconds));
    setting.order.launches = static_cast<u32>(kSeconds * 1000 / setting.kernel_ms + 0.5);
  }

  std::string text = fmt::format("{{\n  \"gpu\": \"{}\",\n  \"sms\": {},\n  \"settings\": [", first.gpu, first.sms);
  for (const Setting& setting : settings)
    text += fmt::format("{}\n    {{\"name\": \"{}\", \"kernel_ms\": {}, \"launches\": {}, \"rounds\": {}}}",
                        &setting == settings ? "" : ",", setting.name, setting.kernel_ms, setting.order.launches,
                        setting.order.rounds);
  text += "],\n  \"points\": [";
  const char* comma = "";
  for (;;) {
    for (const Setting& setting : settings) {
      for (u32 i = 0; i < kTimes; ++i) {
        const double in_turn = processes.in_turn(setting.order), together = processes.together(setting.order);
        text += fmt::format(
            "{}\n    {{\"processes\": {}, \"setting\": \"{}\", \"in_turn_s\": {:.5f}, \"together_s\": {:.5f}}}", comma,
            processes.count(), setting.name, in_turn, together);
        comma = ",";
        fmt::print("{} processes, {}: {:.4f} s in turn, {:.4f} s together\n", processes.count(), setting.name, in_turn,
                   together);
      }
    }
    std::ofstream(out) << text << "\n  ]\n}\n";  // what is known is there if a later one fails
    if (processes.count() >= most_processes) break;
    processes.add();
  }
}

}  // namespace terrace::silicon
