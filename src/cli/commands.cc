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
      {"run", "simulates one or more tenants on a machine",
       "terrace run --gpu dws_30sm --design ideal --tenant gups --tenant mm", run_command},
      {"exec", "executes a program without timing; can check its result", "terrace exec gups --size tiny --check",
       exec_command},
      {"new", "writes an example kernel, ready to run, from which to start your own", "terrace new kernel mine",
       new_command},
      {"cuda", "runs CUDA programs as they are, each a tenant of one simulated GPU",
       "terrace cuda --gpu dws_30sm -- ./app 1000 -- ./other", cuda_command},
      {"serve", "waits for CUDA programs that attach to a socket, and runs them as tenants of one simulated GPU",
       "terrace serve --gpu dws_30sm --socket /tmp/gpu --clients 2", serve_command},
      {"list",
       "lists machines, designs, workloads, sets of workloads, policies, configuration keys, statistics, claims of "
       "papers "
       "or the kernels of a file",
       "terrace list policies", list_command},
      {"explain", "explains a configuration key: its meaning, its value and where the value was set",
       "terrace explain sm.warp_scheduler.use --set sm.warp_scheduler.use=lrr", explain_command},
      {"sweep", "runs the simulations that a file describes and stores their results",
       "terrace sweep mine.toml --jobs 8", sweep_command},
      {"reproduce", "runs the experiments of a paper and compares the results with the printed numbers",
       "terrace reproduce simt --size tiny --out board", reproduce_command},
      {"report", "writes stored results as pages for a browser, tables, plots, CSV and JSON",
       "terrace report --store results.db --out report", report_command},
      {"diff", "compares two results: which statistics differ, and by how much", "terrace diff before.json after.json",
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
  // If standard error is closed, the exit code still reports the failure.
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
    return say("out of memory; use a smaller input or machine"), kInputExitCode;
  } catch (const std::exception& error) {
    return say(fmt::format("unexpected error: {}", error.what())), 3;
  }
}

}  // namespace terrace
