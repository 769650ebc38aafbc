// SPDX-License-Identifier: MIT
#include "engine/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstring>
#include <mutex>

#include "engine/check.h"

namespace terrace {

namespace {

// A signal handler can reach nothing but globals, and may call little more than unlink and _exit.
std::atomic<bool> g_interrupted = false;
struct Unfinished {
  std::atomic<bool> used = false;
  char path[PATH_MAX] = {};
};
Unfinished g_unfinished[32];
std::mutex g_unfinished_lock;

void on_signal(int) {
  if (!g_interrupted.exchange(true)) return;
  for (const Unfinished& file : g_unfinished)
    if (file.used) unlink(file.path);
  _exit(kInterruptedExitCode);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() {
  return g_interrupted.load(std::memory_order_relaxed);
}

void check_interrupt() {
  if (interrupted()) throw Interrupted();
}

void remove_if_killed(const std::string& path) {
  const std::lock_guard lock(g_unfinished_lock);
  for (Unfinished& file : g_unfinished) {
    if (file.used || path.size() >= sizeof file.path) continue;
    std::memcpy(file.path, path.c_str(), path.size() + 1);
    file.used = true;
    return;
  }
}

void keep_if_killed(const std::string& path) {
  const std::lock_guard lock(g_unfinished_lock);
  for (Unfinished& file : g_unfinished)
    if (file.used && path == file.path) file.used = false;
}

}  // namespace terrace
