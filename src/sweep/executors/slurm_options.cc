// SPDX-License-Identifier: MIT
#include "sweep/executors/slurm_options.h"

#include <algorithm>
#include <map>
#include <regex>

#include "engine/check.h"
#include "text/suggest.h"
#include "text/tree.h"

namespace terrace {

namespace {

/// Words of sbatch that the executor says itself.
const char* const kOwnOptions[] = {"--array", "--job-name", "--output", "--error", "--chdir",
                                   "--wrap",  "--parsable", "--ntasks", "--wait"};

void check_name(const std::string& key, const std::string& value) {
  if (value.empty() || value.front() == '-' || value.find_first_of(" \t\n") != value.npos)
    input_error("slurm.{} must be a name without spaces, not \"{}\"", key, printable(value));
}

void check_time(const std::string& value) {
  static const std::regex forms("[0-9]+(:[0-9]{1,2}){0,2}|[0-9]+-[0-9]{1,2}(:[0-9]{1,2}){0,2}");
  if (!std::regex_match(value, forms))
    input_error(
        "slurm.time must be a time limit such as \"90\" (minutes), \"1:30:00\" or \"2-12\" (days-hours), not \"{}\"",
        printable(value));
}

void check_memory(const std::string& value) {
  static const std::regex forms("[1-9][0-9]{0,11}[KMGT]?");
  if (!std::regex_match(value, forms))
    input_error("slurm.memory must be a number with a unit, such as \"800M\" or \"2G\", not \"{}\"", printable(value));
}

void check_option(const std::string& value) {
  if (!value.starts_with("--") || value.size() < 3 || value.find('\n') != value.npos)
    input_error("slurm.options: \"{}\" is no option of sbatch; write it as in \"--constraint=epyc\"", printable(value));
  const std::string name = value.substr(0, value.find('='));
  for (const char* own : kOwnOptions)
    if (name == own) input_error("slurm.options: {} is set by the sweep itself; leave it out", name);
}

}  // namespace

std::vector<std::string> slurm_option_names() {
  return {"partition", "account", "qos", "time", "memory", "options", "setup"};
}

void set_slurm_option(SlurmOptions& options, const std::string& key, const std::string& value) {
  const std::map<std::string, std::string*> names = {
      {"partition", &options.partition}, {"account", &options.account}, {"qos", &options.qos}};
  if (const auto found = names.find(key); found != names.end()) {
    check_name(key, value);
    *found->second = value;
  } else if (key == "time") {
    check_time(value);
    options.time = value;
  } else if (key == "memory") {
    check_memory(value);
    options.memory = value;
  } else if (key == "options") {
    check_option(value);
    options.options.push_back(value);
  } else if (key == "setup") {
    options.setup.push_back(value);
  } else {
    input_error("slurm has no key \"{}\"{}", printable(key), did_you_mean(key, slurm_option_names()));
  }
}

}  // namespace terrace
