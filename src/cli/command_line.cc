// The only file that includes CLI11.
// SPDX-License-Identifier: MIT
#include "cli/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <span>

#include "claims/catalogue.h"
#include "cli/commands.h"
#include "cli/paths.h"
#include "engine/check.h"
#include "report/report.h"
#include "text/suggest.h"
#include "version.h"

namespace terrace {

namespace {

void add_config_options(CLI::App& app, ConfigOptions& options) {
  app.add_option("--gpu", options.gpu,
                 "machine: a name from `terrace list gpus`, a .toml file, or the .json result of a run")
      ->type_name("NAME");
  app.add_option("--design", options.designs,
                 "design, applied on top of the machine (`terrace list designs`); may be repeated")
      ->type_name("NAME")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--set", options.sets, "set one configuration key; may be repeated; overrides everything else")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
}

void add_live_options(CLI::App& app, LiveOptions& options) {
  app.add_option("--live", options.address,
                 "serve a web page on this TCP port that shows what runs and can pause and stop it (docs/live.md); 0: "
                 "any free port")
      ->type_name("[ADDRESS:]PORT");
  app.add_flag("--live-open", options.open, "allow a --live address that other machines can reach");
}

void add_threads(CLI::App& app, CommandLine& line) {
  app.add_option("--threads", line.run.threads, "host threads that simulate this run; results are the same; default: 1")
      ->type_name("N");
}

void add_run_options(CLI::App& app, CommandLine& line) {
  add_config_options(app, line.config);
  app.add_option("--tenant", line.run.tenants,
                 "add a tenant: a workload with its parameters, a FILE.toml of your own or a folder of traces; may be "
                 "repeated")
      ->type_name("NAME[:KEY=VALUE,...]")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--size", line.run.size, "input size of the workloads: mini, tiny, small or paper")->type_name("SIZE");
  app.add_option("--sms", line.run.sms, "number of SMs of each tenant; default: equal shares")->type_name("N,N,...");
  app.add_option("--until", line.config.until, "when to end the run: completed, cycles:N, instructions:N or window:N")
      ->type_name("WHEN");
  app.add_option("--seed", line.config.seed, "seed of every random stream")->type_name("N");
  app.add_option("--warmup", line.config.warmup, "cycles at the start that statistics leave out")->type_name("N");
  app.add_option("--stats-every,--epochs", line.config.stats_every,
                 "also keep statistics over time in the result: by how much each counter grew in every N cycles")
      ->type_name("N");
  add_threads(app, line);
  app.add_flag("--check", line.run.check,
               "compare the results of each tenant's first execution with a reference computed on the host");
  app.add_flag("--alone", line.run.alone, "also run each tenant alone, and print slowdowns");
  app.add_option("--save", line.run.saves,
                 "write a buffer to FILE when its tenant first completes: as an array if FILE ends in .npy, else as "
                 "raw bytes; tenants count from 0; may be repeated")
      ->type_name("[TENANT:]BUFFER=FILE")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--json", line.run.json, "write the result to FILE")->type_name("FILE");
  app.add_option(
         "--timeline", line.run.timeline,
         "write kernels, walks, epochs, decisions and sampled requests to FILE, as gzipped trace events for Perfetto "
         "or speedscope; if FILE ends in .csv, write how much each statistic grew in each epoch (run.epoch)")
      ->type_name("FILE");
  app.add_option("--timeline-events", line.run.timeline_events,
                 "largest number of trace events in a timeline, 10000 to 5000000; beyond it, events are sampled; "
                 "default: 200000")
      ->type_name("N");
  app.add_option("--timeline-of", line.run.timeline_of,
                 "with --timeline FILE.csv: only statistics whose names begin with PREFIX; may be repeated")
      ->type_name("PREFIX")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--log", line.run.log, "print what one unit does in a range of cycles, such as l2.0@1000:1200")
      ->type_name("UNIT@FROM:TO");
  app.add_option("--checkpoint", line.run.checkpoints,
                 "save the whole run to FILE in cycle CYCLE, or in every multiple of it, to resume it later "
                 "(docs/checkpoints.md); may be repeated")
      ->type_name("FILE@[every:]CYCLE")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--resume", line.run.resume,
                 "continue the run saved in a checkpoint; its machine and tenants need not be given again, and must be "
                 "the same if they are")
      ->type_name("FILE");
  add_live_options(app, line.live);
}

void add_cuda_options(CLI::App& app, CommandLine& line) {
  add_config_options(app, line.config);
  app.add_option("--sms", line.run.sms, "number of SMs of each tenant; default: equal shares")->type_name("N,N,...");
  app.add_option("--until", line.config.until, "when to end the run: completed, cycles:N or instructions:N")
      ->type_name("WHEN");
  app.add_option("--seed", line.config.seed, "seed of every random stream")->type_name("N");
  add_threads(app, line);
  app.add_option("--json", line.run.json, "write the result to FILE")->type_name("FILE");
  app.add_option("--host-timeout", line.cuda.host_timeout,
                 "end a process that has made no CUDA call for this many seconds of real time; default: 600; 0: never")
      ->type_name("SECONDS");
}

/// What follows the first --: a command line, and another one behind each further --.
std::vector<std::vector<std::string>> split_programs(std::span<const char* const> words) {
  std::vector<std::vector<std::string>> programs;
  for (const std::string word : words) {
    if (word == "--")
      programs.emplace_back();
    else
      programs.back().push_back(word);
  }
  for (const auto& program : programs)
    if (program.empty()) input_error("cuda: no program follows a --; see terrace cuda --help");
  return programs;
}

/// Words that follow a command: name and meaning.
void add_operands(CLI::App& app, CommandLine& line, const std::vector<std::pair<std::string, std::string>>& words) {
  line.operands.resize(words.size());
  for (std::size_t i = 0; i < words.size(); ++i)
    app.add_option(words[i].first, line.operands[i], words[i].second)->type_name("")->required();
}

void add_exec_options(CLI::App& app, ExecOptions& options) {
  app.add_option("PROGRAM", options.program,
                 "a workload with its parameters, NAME[:KEY=VALUE,...], a FILE.toml of your own or a folder of traces")
      ->required();
  app.add_option("--size", options.size, "input size of the workload: mini, tiny, small or paper")->type_name("SIZE");
  app.add_option("--variant", options.variant,
                 "the paper whose version of the workload to run: mask, simt, dws, cd or vc")
      ->type_name("NAME");
  app.add_option("--seed", options.seed, "seed of the generated input")->type_name("N");
  app.add_option("--slice", options.slice, "fraction of the blocks to launch, starting with the first")->type_name("F");
  app.add_option("--param", options.params,
                 "set one parameter of the workload; may be repeated; overrides everything else")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--limit", options.limit, "warp instructions after which a launch counts as endless")->type_name("N");
  app.add_option("--loop-limit", options.loop_limit,
                 "backward branches of one warp after which its loop counts as endless; 0: no limit")
      ->type_name("N");
  app.add_option("--code", options.code, "device code that replaces the program's own: a .ptx or .cu file")
      ->type_name("FILE");
  app.add_flag("--check", options.check, "compare the result with a reference computed on the host");
  app.add_option(
         "--save", options.saves,
         "write a buffer to FILE at the end: as an array if FILE ends in .npy, else as raw bytes; may be repeated")
      ->type_name("BUFFER=FILE")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--json", options.json, "write the result to FILE")->type_name("FILE");
}

void add_job_threads(CLI::App& app, CommandLine& line) {
  app.add_option("--threads", line.sweep.threads,
                 "host threads of each simulation; default: 1, or more if there are fewer simulations than cores")
      ->type_name("N");
}

void add_sweep_options(CLI::App& app, CommandLine& line) {
  add_operands(app, line, {{"FILE.toml", "sweep file (docs/sweeps.md; examples in configs/experiments)"}});
  app.add_option(
         "--jobs", line.sweep.jobs,
         "number of simulations at a time; default: the number of cores, or 1000 jobs in the queue of a cluster")
      ->type_name("N");
  add_job_threads(app, line);
  app.add_option("--store", line.sweep.store, "database of results; default: results.db")->type_name("FILE");
  app.add_option("--executor", line.sweep.executor, "where jobs run: local (this machine) or slurm (docs/cluster.md)")
      ->type_name("NAME");
  app.add_option("--slurm-option", line.sweep.slurm,
                 "set one key of the file's [slurm] table, such as partition=main; may be repeated")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--memory", line.sweep.memory, "memory for all jobs together; default: nine tenths of what is free")
      ->type_name("N[K|M|G]");
  app.add_option("--size", line.sweep.size, "input size of all workloads; overrides the file")->type_name("SIZE");
  app.add_option("--seeds", line.sweep.seeds, "runs of every point, each with its own seed; overrides the file")
      ->type_name("N");
  app.add_option("--stats-every,--epochs", line.sweep.stats_every,
                 "keep statistics over time of every job, in intervals of N cycles; overrides the file; 0: none")
      ->type_name("N");
  app.add_flag("--dry-run", line.sweep.dry_run, "only list the jobs and estimate their time");
  app.add_flag("--retry-failed", line.sweep.retry_failed,
               "also run failed jobs again, not only those that were killed or ran out of memory");
  add_live_options(app, line.live);
}

void add_reproduce_options(CLI::App& app, CommandLine& line) {
  add_operands(app, line, {{"PAPER", fmt::format("{} or all", fmt::join(claim_papers(), ", "))}});
  app.add_option("--size", line.sweep.size, "input size of all workloads: tiny (default), small or paper")
      ->type_name("SIZE");
  app.add_option("--store", line.sweep.store, "database of results; default: results.db")->type_name("FILE");
  app.add_option("--out", line.sweep.out,
                 "folder for the report and the claims board (board.json, board.md); created if it does not exist")
      ->type_name("DIR");
  app.add_option("--jobs", line.sweep.jobs, "number of simulations at a time; default: the number of cores")
      ->type_name("N");
  add_job_threads(app, line);
  app.add_option("--memory", line.sweep.memory, "memory for all jobs together; default: nine tenths of what is free")
      ->type_name("N[K|M|G]");
  app.add_option("--seeds", line.sweep.seeds, "runs of every point, each with its own seed; overrides the files")
      ->type_name("N");
  app.add_flag("--dry-run", line.sweep.dry_run, "only list the jobs and estimate their time");
  app.add_flag("--retry-failed", line.sweep.retry_failed,
               "also run failed jobs again, not only those that were killed or ran out of memory");
}

void add_options(CLI::App& app, const std::string& command, CommandLine& line) {
  if (command == "run") add_run_options(app, line);
  if (command == "cuda" || command == "serve") add_cuda_options(app, line);
  if (command == "serve") {
    app.add_option("--socket", line.cuda.socket, "socket to which programs attach: a path that does not exist yet")
        ->type_name("PATH")
        ->required();
    app.add_option("--clients", line.cuda.clients,
                   "end when N programs in all have attached and left; without --tenants, they wait for each other and "
                   "begin together")
        ->type_name("N");
    app.add_option(
           "--tenants", line.cuda.tenants,
           "programs that may be attached at the same time, each a tenant; others wait until one leaves; default: 4")
        ->type_name("N");
    app.add_option("--idle", line.cuda.idle,
                   "end after this many seconds of real time without a program; default: 0, never")
        ->type_name("SECONDS");
  }
  if (command == "exec") add_exec_options(app, line.exec);
  if (command == "new") {
    add_operands(app, line,
                 {{"WHAT", "what to write: kernel"}, {"NAME", "name of the kernel's files and of their folder"}});
    app.add_option("--out", line.new_folder, "folder to write into; created if it does not exist; default: NAME")
        ->type_name("DIR");
  }
  if (command == "list") {
    add_operands(app, line,
                 {{"WHAT", fmt::format("{}, or a slot such as warp_scheduler", fmt::join(listings(), ", "))}});
    app.add_option("OF", line.list_of,
                   fmt::format("of claims: {}; of kernels: a .ptx, .cu or .toml file", fmt::join(claim_papers(), ", ")))
        ->type_name("");
    app.add_flag("--markdown", line.markdown, "print Markdown, as in docs/reference");
  }
  if (command == "explain") {
    add_operands(app, line, {{"KEY", "a key such as run.seed, or a group of keys such as run"}});
    add_config_options(app, line.config);
  }
  if (command == "sweep") add_sweep_options(app, line);
  if (command == "reproduce") add_reproduce_options(app, line);
  if (command == "report") {
    app.add_option("--store", line.sweep.store, "database of results; default: results.db")->type_name("FILE");
    app.add_option("--out", line.sweep.out, "output folder; created if it does not exist")
        ->type_name("DIR")
        ->required();
    app.add_flag("--stats", line.sweep.stats,
                 fmt::format("write every statistic of every job, even of more than {} jobs", kMostJobsWithStats));
  }
  const bool long_work =
      command == "run" || command == "sweep" || command == "reproduce" || command == "cuda" || command == "serve";
  app.add_flag("--quiet", line.quiet,
               long_work             ? "do not show progress"
               : command == "report" ? "do not print the tables and the names of the files written"
                                     : "accepted by every command; this one shows no progress");
  if (command == "diff") add_operands(app, line, {{"A.json", "a result of terrace run"}, {"B.json", "another result"}});
}

const CLI::Option* find_option(const CLI::App& app, const std::string& name) {
  for (const CLI::Option* option : app.get_options())
    if (option->check_name(name)) return option;
  return nullptr;
}

/// Before CLI11 looks: an unknown option would be taken for an operand, and a value given to a flag for true.
void refuse_unknown_options(const CLI::App& app, const std::string& command, std::span<const char* const> words) {
  for (const std::string word : words) {
    if (word == "--") return;
    if (word.size() < 2 || word[0] != '-' || (word[1] >= '0' && word[1] <= '9')) continue;
    const std::string name = word.substr(0, word.find('='));
    const CLI::Option* option = find_option(app, name);
    if (!option) {
      if ((command == "cuda" || command == "serve") && (name == "--checkpoint" || name == "--resume"))
        input_error("{}: no option {}: tenants that are processes cannot be saved; see docs/checkpoints.md", command,
                    name);
      std::vector<std::string> known;
      for (const CLI::Option* other : app.get_options())
        for (const std::string& long_name : other->get_lnames()) known.push_back("--" + long_name);
      const std::string suggestion = did_you_mean(name, known);
      input_error("{}: no option {}{}", command, name,
                  suggestion.empty() ? fmt::format("; see terrace {} --help", command) : suggestion);
    }
    if (name != word && option->get_expected_max() == 0) input_error("{}: {} takes no value", command, name);
  }
}

/// CLI11's own sentences, made to name the sub-command, the option and the remedy.
[[noreturn]] void refuse(const CLI::ParseError& error, const CLI::App& app, const std::string& command) {
  const std::string what = error.what();
  const std::string help = fmt::format("; see terrace {} --help", command);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) && !app.remaining().empty())
    input_error("{}: \"{}\" is an unexpected argument{}", command, app.remaining().front(), help);
  if (dynamic_cast<const CLI::RequiredError*>(&error))
    input_error("{}: {} is missing{}", command, what.substr(0, what.find(" is required")), help);
  if (!dynamic_cast<const CLI::ArgumentMismatch*>(&error)) input_error("{}: {}{}", command, what, help);
  const bool twice = what.find("received") != what.npos || what.find("At most") != what.npos;
  input_error("{}: {} {}{}", command, what.substr(0, what.find(':')),
              twice ? "is given more than once" : "needs a value", help);
}

void refuse_empty_values(const CLI::App& app, const std::string& command) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& value : option->results())
      if (value.empty()) input_error("{}: {} needs a value, not \"\"", command, option->get_name());
}

std::string version_text() {
  return fmt::format("terrace {} (revision {}, {})\n", version(), revision(), compiler());
}

std::string help_text() {
  std::string text =
      "Terrace simulates GPUs that several tenants share. It shows which tenant slows down which other one, in which\n"
      "structure, and what a new policy would gain.\n\nUsage: terrace COMMAND [OPTIONS]\n\n";
  for (const SubCommand& command : sub_commands())
    text += fmt::format("  {:<10} {}\n             {}\n", command.name, command.summary, command.example);
  text += fmt::format("\n  terrace COMMAND --help explains a command; terrace --version prints the version.\n");
  return text +
         "\nExit codes: 0 success; 1 results differ (diff), a check failed (run, exec --check), a job failed (sweep) "
         "or a\nprocess did not end with 0 (cuda); 2 wrong input, or a fault ended every tenant (run) or the program "
         "(exec);\n3 the model broke one of its own invariants; 4 deadlock; 130 interrupted.\n";
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv) {
  CommandLine line;
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--help" || first == "-h" || first == "help") return line.print = help_text(), line;
  if (first == "--version") return line.print = version_text(), line;
  std::vector<std::string> known;
  for (const SubCommand& command : sub_commands()) known.emplace_back(command.name);
  if (first.empty()) input_error("give a command: {}; see terrace --help", fmt::join(known, ", "));
  const auto found = std::find(known.begin(), known.end(), first);
  if (found == known.end()) {
    const std::string suggestion = did_you_mean(first, known);
    input_error("no {} \"{}\"{}", first.starts_with("-") ? "option" : "command", first,
                suggestion.empty() ? "; see terrace --help" : suggestion);
  }

  const SubCommand& command = sub_commands()[static_cast<std::size_t>(found - known.begin())];
  line.command = command.name;
  CLI::App app(std::string(command.summary), "terrace " + line.command);
  const char* const programs =
      line.command == "cuda" ? "\nPrograms follow the options: -- PROGRAM [ARGUMENT...] [-- PROGRAM [ARGUMENT...]]...\n"
                             : "";
  app.footer(fmt::format("{}\nExample:\n  {}", programs, command.example));
  app.set_help_flag("-h,--help", "print this help");
  app.get_formatter()->column_width(36);
  add_options(app, line.command, line);
  if (line.command == "cuda") {
    const std::span words(argv, static_cast<std::size_t>(argc));
    const auto dashes = std::find(words.begin(), words.end(), std::string_view("--"));
    line.programs = split_programs({dashes, words.end()});
    argc = static_cast<int>(dashes - words.begin());
  }
  refuse_unknown_options(app, line.command, std::span(argv, static_cast<std::size_t>(argc)).subspan(2));
  try {
    app.parse(argc - 1, argv + 1);
    refuse_empty_values(app, line.command);
  } catch (const CLI::CallForHelp&) {
    line.command.clear();
    line.print = app.help();
  } catch (const CLI::ParseError& error) {
    refuse(error, app, line.command);
  }
  return line;
}

Layers layers_of(const ConfigOptions& options) {
  Layers layers;
  if (!options.gpu.empty()) layers.gpu.push_back(find_config(kGpus, options.gpu));
  for (const std::string& design : options.designs) layers.designs.push_back(find_config(kDesigns, design));
  for (const std::string& set : options.sets) layers.options.push_back(split_assignment(set, "--set"));
  struct Short {
    const char *option, *key;
    const std::string& value;
  };
  const Short shorts[] = {{"--seed", "run.seed", options.seed},
                          {"--until", "run.until", options.until},
                          {"--warmup", "run.warmup", options.warmup},
                          {"--stats-every", "run.stats_every", options.stats_every}};
  for (const Short& each : shorts)
    if (!each.value.empty()) layers.options.push_back({each.key, Tree(each.value), true, {each.option, 0}});
  return layers;
}

Layers layers_of(const CommandLine& line) {
  Layers layers = layers_of(line.config);
  const auto give = [&](const char* option, const char* key, Tree value, bool text) {
    layers.options.push_back({key, std::move(value), text, {option, 0}});
  };
  if (!line.run.tenants.empty())
    give("--tenant", "run.tenants", Tree(fmt::format("{}", fmt::join(line.run.tenants, " "))), true);
  if (!line.run.size.empty()) give("--size", "run.size", Tree(line.run.size), true);
  if (line.run.sms == "oracle")
    input_error("--sms: an oracle split needs many runs, which the [[search]] of a sweep does; see docs/sweeps.md");
  if (!line.run.sms.empty()) give("--sms", "run.sms", Tree(fmt::format("[{}]", line.run.sms)), true);
  return layers;
}

}  // namespace terrace
