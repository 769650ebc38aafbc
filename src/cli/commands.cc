// SPDX-License-Identifier: MIT
#include "cli/commands.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>

#include "cli/command_line.h"
#include "engine/check.h"
#include "engine/interrupt.h"
#include "text/output.h"

namespace terrace {

const std::vector<SubCommand>& sub_commands() {
  static const std::vector<SubCommand> kCommands = {
      {"run", "simulates tenants on a machine", "terrace run --gpu dws_30sm --design ideal --tenant gups --tenant mm",
       run_command},
      {"exec", "runs a program without timing and checks its result", "terrace exec gups --size tiny --check",
       exec_command},
      {"list", "shows machines, designs, workloads, policies, keys and statistics", "terrace list policies",
       list_command},
      {"explain", "tells what a key means, its value and where the value came from",
       "terrace explain sm.warp_scheduler.use --set sm.warp_scheduler.use=lrr", explain_command},
      {"sweep", "runs every combination that a file describes", "terrace sweep mine.toml --jobs 8", sweep_command},
      {"reproduce", "reruns a paper's experiments and compares with what it printed",
       "terrace reproduce dws --size tiny", nullptr},
      {"report", "writes stored results as CSV, JSON and plots", "terrace report --store results.db --out report",
       report_command},
      {"diff", "shows which statistics of two results differ, and by how much", "terrace diff before.json after.json",
       diff_command},
  };
  return kCommands;
}

int run_command_line(int argc, const char* const* argv) {
  const CommandLine line = parse_command_line(argc, argv);
  if (line.command.empty()) return write_stdout(line.print), 0;
  for (const SubCommand& command : sub_commands())
    if (command.name == line.command) return command.act(line);
  SIM_CHECK(false, "{} was parsed and cannot be performed", line.command);
}

void say(std::string_view sentence) {
  // With standard error closed the exit code still tells.
  std::fputs(fmt::format("terrace: {}\n", sentence).c_str(), stderr);
}

int exit_code_of(const std::function<int()>& act) {
  try {
    return act();
  } catch (const InputError& error) {
    return say(error.what()), kInputExitCode;
  } catch (const Interrupted&) {
    return say("interrupted"), kInterruptedExitCode;
  } catch (const Deadlock& error) {
    return say(error.what()), 4;
  } catch (const ModelError& error) {
    return say(fmt::format("the model broke one of its own invariants: {}", error.what())), 3;
  } catch (const std::bad_alloc&) {
    return say("this needs more memory than there is; use a smaller input or machine"), kInputExitCode;
  } catch (const std::exception& error) {
    return say(fmt::format("unforeseen: {}", error.what())), 3;
  }
}

}  // namespace terrace
