// silicon: measurements on a real NVIDIA GPU (docs/silicon.md). Opens the driver (libcuda.so.1) at run time.
//   silicon micro FOLDER OUT.json [--budget SECONDS] [GROUP ...]                    microbenchmarks
//   silicon simulate FOLDER OUT.json GPU [--shorter N] [--most-bytes N] [--set KEY=VALUE] [GROUP ...]   the same in Terrace
//   silicon programs FOLDER TO [--shorter N] [--most-bytes N] [--sms N] [GROUP ...]   the same as users' programs
//   silicon pairs FOLDER TO [--budget SECONDS] [--lead NS] [--window NS] [MODE ...]   kernels that share the GPU in pairs
//   silicon predict FOLDER TO GPU [--lead CYCLES] [--window CYCLES] [--set KEY=VALUE] [--part I --parts N] [--alone] [--split NAME] [--side N] [TENANT ...]   the same in Terrace
//   silicon workloads FOLDER OUT.json [--size SIZE] [--budget SECONDS] [--jobs N] [WORKLOAD ...]      the workloads, kernel by kernel
//   silicon simulate-workloads OUT.json GPU [--size SIZE] [--budget SECONDS] [--jobs N] [--each SECONDS] [--set KEY=VALUE] [WORKLOAD ...]   the same in Terrace
//   silicon scaling FOLDER OUT.json [WORKLOAD ...]   time by SM count (CD-search, Figure 9)
//   silicon multiplex FOLDER OUT.json [MOST]         processes that share the GPU in turn (MASK, Figure 1)
// FOLDER holds the modules: silicon.ptx and those of the workloads.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "config/field_text.h"
#include "engine/check.h"
#include "micro_points.h"
#include "silicon.h"

namespace {

using namespace terrace;

/// Takes what follows an option out of the words.
std::vector<std::string> take_option(std::vector<std::string>& words, const std::string& option) {
  std::vector<std::string> values;
  for (auto at = std::find(words.begin(), words.end(), option); at != words.end();
       at = std::find(words.begin(), words.end(), option)) {
    if (at + 1 == words.end()) input_error("{} needs a value", option);
    values.push_back(*(at + 1));
    words.erase(at, at + 2);
  }
  return values;
}
u64 take_number(std::vector<std::string>& words, const std::string& option, u64 value) {
  for (const std::string& text : take_option(words, option)) {
    const auto number = parse_integer(text);
    if (!number || *number < 1) input_error("{} must be a whole number from 1 on, not {}", option, text);
    value = *number;
  }
  return value;
}

bool act_on_pairs(std::vector<std::string> words) {
  if (words.empty() || (words[0] != "pairs" && words[0] != "predict")) return false;
  if (words[0] == "pairs") {
    silicon::PairOptions options;
    options.budget = take_number(words, "--budget", options.budget);
    options.lead = take_number(words, "--lead", options.lead);
    options.window = take_number(words, "--window", options.window);
    if (words.size() < 3) return false;
    options.modes = {words.begin() + 3, words.end()};
    silicon::measure_pairs(words[1], words[2], options);
    return true;
  }
  silicon::PredictOptions options;
  options.lead = take_number(words, "--lead", options.lead);
  options.window = take_number(words, "--window", options.window);
  options.parts = take_number(words, "--parts", options.parts);
  options.part = take_number(words, "--part", 1) - 1;
  options.sets = take_option(words, "--set");
  options.alone = std::erase(words, "--alone") > 0;
  for (const std::string& tenant : take_option(words, "--with")) options.with = tenant;
  for (const std::string& split : take_option(words, "--split")) options.split = split;
  options.side = static_cast<u32>(take_number(words, "--side", 0));
  if (options.side > 2) input_error("--side must be 1 or 2, not {}", options.side);
  if (words.size() < 4) return false;
  options.gpu = words[3];
  options.tenants = {words.begin() + 4, words.end()};
  silicon::predict_pairs(words[1], words[2], options);
  return true;
}

bool act_on_micro(std::vector<std::string> words) {
  if (words.empty() || (words[0] != "micro" && words[0] != "simulate" && words[0] != "programs")) return false;
  const std::string command = words[0];
  const u64 budget = take_number(words, "--budget", 300);
  silicon::PointOptions options;
  options.shorter = take_number(words, "--shorter", 1);
  options.most_bytes = take_number(words, "--most-bytes", options.most_bytes);
  options.sms = static_cast<u32>(take_number(words, "--sms", options.sms));
  const std::vector<std::string> sets = take_option(words, "--set");
  const u64 named = command == "simulate" ? 4 : 3;
  if (words.size() < named) return false;
  options.groups = {words.begin() + static_cast<std::ptrdiff_t>(named), words.end()};
  if (command == "micro") silicon::measure_micro(words[1], words[2], static_cast<double>(budget), options.groups);
  if (command == "simulate") silicon::simulate_micro(words[1], words[2], {words[3], sets, options});
  if (command == "programs") silicon::write_programs(words[1], words[2], options);
  return true;
}

bool act_on_workloads(std::vector<std::string> words) {
  if (words.empty() || (words[0] != "workloads" && words[0] != "simulate-workloads")) return false;
  const bool simulated = words[0] == "simulate-workloads";
  silicon::WorkloadOptions options;
  for (const std::string& size : take_option(words, "--size")) options.size = parse_input_size(size);
  options.seconds = take_number(words, "--budget", simulated ? 86400 : options.seconds);
  options.jobs = take_number(words, "--jobs", options.jobs);
  options.each = take_number(words, "--each", options.each);
  options.sets = take_option(words, "--set");
  if (words.size() < 3) return false;
  options.workloads = {words.begin() + 3, words.end()};
  options.gpu = words[2];
  if (simulated)
    silicon::simulate_workloads(words[1], options);
  else
    silicon::measure_workloads(words[1], words[2], options);
  return true;
}

int act(const std::vector<std::string>& words) {
  if (act_on_micro(words) || act_on_pairs(words) || act_on_workloads(words)) return 0;
  if (words.size() >= 3 && words[0] == "scaling") {
    silicon::measure_scaling(words[1], words[2], {words.begin() + 3, words.end()});
    return 0;
  }
  if ((words.size() == 3 || words.size() == 4) && words[0] == "multiplex") {
    const int most = words.size() == 4 ? std::atoi(words[3].c_str()) : 10;
    if (most < 1 || most > 64) input_error("the number of processes must be from 1 to 64, not {}", words[3]);
    silicon::measure_multiplexing(words[1], words[2], static_cast<unsigned>(most));
    return 0;
  }
  input_error(
      "usage: silicon micro FOLDER OUT.json [--budget SECONDS] [GROUP ...] | simulate FOLDER OUT.json GPU [--shorter "
      "N] "
      "[--most-bytes N] [--set KEY=VALUE] [GROUP ...] | programs FOLDER TO [--shorter N] [--most-bytes N] [--sms N] "
      "[GROUP ...] "
      "| pairs FOLDER TO [--budget SECONDS] [--lead NS] [--window NS] [MODE ...] | predict FOLDER TO GPU [--lead "
      "CYCLES] "
      "[--window CYCLES] [--set KEY=VALUE] [--part I --parts N] [--alone] [--with TENANT] [--split NAME] [--side N] "
      "[TENANT ...] | "
      "workloads FOLDER OUT.json [--size SIZE] [--budget SECONDS] [--jobs N] [WORKLOAD ...] | simulate-workloads "
      "OUT.json "
      "GPU [--size SIZE] [--budget SECONDS] [--jobs N] [--each SECONDS] [--set KEY=VALUE] [WORKLOAD ...] | "
      "scaling FOLDER OUT.json [WORKLOAD ...] | multiplex "
      "FOLDER OUT.json [MOST]");
}

}  // namespace

int main(int count, char** words) {
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);  // what is known is said at once
  // A kernel that is loaded when first launched would wait for the shadow kernel, which waits for it.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  try {
    return act({words + 1, words + count});
  } catch (const std::exception& error) {
    fmt::print(stderr, "silicon: {}\n", error.what());
    return 2;
  }
}
