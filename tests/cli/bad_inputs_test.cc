// Everything a user can get wrong on the command line and in files, each with the exact sentence it earns: nothing
// crashes, nothing is accepted, nothing is left behind.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <vector>

#include "frontend/workload.h"
#include "sm/warp_scheduler.h"
#include "support/program.h"
#include "support/scratch.h"

namespace terrace {
namespace {

struct BadInput {
  std::string name;                    // of the test
  std::vector<std::string> arguments;  // run in a folder that holds the files
  std::string sentence;
  std::vector<std::pair<std::string, std::string>> files = {};
};

void PrintTo(const BadInput& input, std::ostream* out) {
  *out << input.name;
}

/// As messages list them. Asked for, not written down: a new policy changes no test.
std::string warp_schedulers() {
  return fmt::format("{}", fmt::join(Registry<WarpScheduler>::instance().names(), ", "));
}

std::string slot_names() {
  std::vector<std::string_view> names;
  for (const PolicyTable* slot : PolicyTable::all()) {
    const std::string_view key = slot->slot().key;
    if (!key.empty()) names.push_back(key.substr(key.rfind('.') + 1));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string workload_names() {
  std::vector<std::string_view> names;
  for (const Workload* workload : all_workloads()) names.push_back(workload->info().name);
  return fmt::format("{}", fmt::join(names, ", "));
}

const char kResult[] = R"({"schema": "terrace.run/1", "config": {}, "stats": {}})";

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

/// A program of the user's own: two buffers, then what the test adds.
BadInput program(std::string name, const std::string& text, std::string sentence) {
  const std::string buffers = "source = \"k.cu\"\n[[buffer]]\nname = \"x\"\ncount = 4\n[[buffer]]\nname = \"b\"\n";
  return {std::move(name), {"exec", "own.toml"}, std::move(sentence), {{"own.toml", buffers + text}}};
}

BadInput machine(std::string name, std::string text, std::string sentence) {
  return {
      std::move(name), {"explain", "run.seed", "--gpu", "m.toml"}, std::move(sentence), {{"m.toml", std::move(text)}}};
}

BadInput setting(std::string name, std::string text, std::string sentence) {
  return {std::move(name), {"explain", "run.seed", "--set", std::move(text)}, std::move(sentence)};
}

std::vector<BadInput> on_the_command_line() {
  return {
      {"NoCommand",
       {},
       "give a command: run, exec, new, cuda, serve, list, explain, sweep, reproduce, report, diff; see terrace "
       "--help"},
      {"MisspeltCommand", {"explian", "run.seed"}, "no command \"explian\"; did you mean \"explain\"?"},
      {"UnknownCommand", {"frobnicate"}, "no command \"frobnicate\"; see terrace --help"},
      {"EmptyCommand",
       {""},
       "give a command: run, exec, new, cuda, serve, list, explain, sweep, reproduce, report, diff; see terrace "
       "--help"},
      {"UnknownGlobalOption", {"--verison"}, "no option \"--verison\"; see terrace --help"},
      {"MisspeltOption",
       {"explain", "run.seed", "--desing", "dws"},
       "explain: no option --desing; did you mean \"--design\"?"},
      {"MisspeltOptionWithValue",
       {"explain", "run.seed", "--gpuu=x"},
       "explain: no option --gpuu; did you mean \"--gpu\"?"},
      {"UnknownOption", {"list", "keys", "--frobnicate"}, "list: no option --frobnicate; see terrace list --help"},
      {"UnknownShortOption", {"list", "keys", "-q"}, "list: no option -q; see terrace list --help"},
      {"OptionWithoutValue",
       {"explain", "run.seed", "--gpu"},
       "explain: --gpu needs a value; see terrace explain --help"},
      {"OptionWithEmptyValue", {"explain", "run.seed", "--gpu", ""}, "explain: --gpu needs a value, not \"\""},
      {"OptionTwice",
       {"explain", "run.seed", "--gpu", "a", "--gpu", "b"},
       "explain: --gpu is given more than once; see terrace explain --help"},
      {"FlagWithValue", {"list", "keys", "--markdown=no"}, "list: --markdown takes no value"},
      {"NothingToList", {"list"}, "list: WHAT is missing; see terrace list --help"},
      {"ClaimsOfAnUnknownPaper", {"list", "claims", "maks"}, "no paper named \"maks\"; did you mean \"mask\"?"},
      {"ReproduceNothing", {"reproduce"}, "reproduce: PAPER is missing; see terrace reproduce --help"},
      {"ReproduceAnUnknownPaper",
       {"reproduce", "gpgpu"},
       "no paper named \"gpgpu\"; choose one of mask, simt, dws, cdsearch, vc"},
      {"ReproduceOnNoWorker",
       {"reproduce", "simt", "--jobs", "0"},
       "reproduce: --jobs must be a whole number from 1 to 4096, not 0"},
      {"ReproduceWithNoSeed",
       {"reproduce", "simt", "--seeds", "0"},
       "reproduce: --seeds must be a whole number from 1 to 100, not 0"},
      {"TwoLists",
       {"list", "keys", "policies"},
       "list: \"policies\" is an unexpected argument; see terrace list --help"},
      {"MisspeltList", {"list", "polices"}, "list: there is no list of \"polices\"; did you mean \"policies\"?"},
      {"UnknownList",
       {"list", "xyzzy"},
       "list: there is no list of \"xyzzy\"; choose one of gpus, designs, workloads, sets, policies, keys, stats, "
       "claims, kernels, " +
           slot_names()},
      {"NothingToExplain", {"explain"}, "explain: KEY is missing; see terrace explain --help"},
      {"MisspeltKey", {"explain", "run.sed"}, "explain: run.sed is not a known key; did you mean \"run.seed\"?"},
      {"UnknownKey", {"explain", "colour"}, "explain: colour is not a known key; see terrace list keys"},
      {"UnknownMachine",
       {"explain", "run.seed", "--gpu", "voodoo"},
       "no machine named \"voodoo\"; see terrace list gpus"},
      {"UnknownDesign",
       {"explain", "run.seed", "--design", "voodoo"},
       "no design named \"voodoo\"; see terrace list designs"},
      {"DiffOfOne", {"diff", "a.json"}, "diff: B.json is missing; see terrace diff --help"},
      {"DiffOfThree", {"diff", "a", "b", "c"}, "diff: \"c\" is an unexpected argument; see terrace diff --help"},
  };
}

std::vector<BadInput> in_exec() {
  return {
      {"ExecNothing", {"exec"}, "exec: PROGRAM is missing; see terrace exec --help"},
      {"ExecUnknown",
       {"exec", "gusp"},
       fmt::format("no workload named \"gusp\"; available: {}; did you mean \"gups\"?", workload_names())},
      {"ExecAmbiguous",
       {"exec", "gups", "--size", "paper"},
       "the papers ran different inputs under the name gups; add variant=..., one of mask, dws"},
      {"ExecUnknownSize",
       {"exec", "mm", "--size", "tiney"},
       "no size named \"tiney\"; available: mini, tiny, small, paper; did you mean \"tiny\"?"},
      {"ExecMisspeltParameter",
       {"exec", "bfs", "--param", "vertexes=3"},
       "--param: bfs.vertexes is not a known key; did you mean \"vertices\"?"},
      {"ExecSlice",
       {"exec", "mm", "--slice", "1.5"},
       "--slice: mm.slice must be a decimal from 0.000001 to 1.0 with at most six digits after the point, not 1.5"},
      {"ExecSeed", {"exec", "mm", "--seed", "abc"}, "--seed: mm.seed must be a whole number, not \"abc\""},
      {"ExecBareCode",
       {"exec", "kernel.cu"},
       "kernel.cu: device code alone does not say what to launch; describe it in a TOML file (docs/add_a_workload.md)"},
  };
}

std::vector<BadInput> in_run() {
  const auto run = [](std::vector<std::string> more) {
    std::vector<std::string> all{"run", "--gpu", "dws_30sm", "--json", "r.json"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  return {
      {"RunNobody", run({}), "run.tenants: there is no tenant; name a workload (--tenant gups)"},
      {"RunUnknownTenant", run({"--tenant", "mmm"}),
       fmt::format("no workload named \"mmm\"; available: {}; did you mean \"mm\"?", workload_names())},
      {"RunTooManySms", run({"--tenant", "mm", "--tenant", "gups", "--sms", "20,20"}),
       "run.sms: 2 tenants cannot have 40 SMs of 30; give each at least one"},
      {"RunSmsForOne", run({"--tenant", "mm", "--tenant", "gups", "--sms", "15"}),
       "run.sms: has 1 numbers for 2 tenants; give one number per tenant"},
      {"RunLogOfNoUnit", run({"--tenant", "mm", "--size", "mini", "--log", "tlb@1:2"}),
       "--log: no unit named \"tlb\"; there are dispatcher, sm.0 to sm.29, dram.0 to dram.15, l2.0 to "
       "l2.15, l2_tlb.0, mmu.0"},
      {"RunLogOfNoCycles", run({"--tenant", "mm", "--size", "mini", "--log", "sm.0"}),
       "--log: \"sm.0\" is not UNIT@FROM:TO, such as sm.0@1000:2000"},
      {"RunBlockThatFitsNowhere", run({"--tenant", "mm", "--size", "mini", "--set", "sm.warps=2"}),
       "kernel sgemm_nt needs 4 warps, 5120 registers and 512 bytes of shared memory per block, more than an SM has "
       "(2, 65536, "
       "98304); launch smaller blocks or raise sm.warps, sm.registers or sm.shared_bytes"},
      {"RunBlockWithTooManyRegisters", run({"--tenant", "mm", "--size", "mini", "--set", "sm.registers=4096"}),
       "kernel sgemm_nt needs 4 warps, 5120 registers and 512 bytes of shared memory per block, more than an SM has "
       "(64, 4096, "
       "98304); launch smaller blocks or raise sm.warps, sm.registers or sm.shared_bytes"},
      {"RunSlicesThatDoNotDivide", run({"--tenant", "mm", "--set", "l2.slices=20"}),
       "--set: l2.slices = 20 must be a multiple of dram.channels (16), or l2.slice_by must be \"line\""},
      {"RunMoreTenantsThanWays",
       run({"--tenant", "mm", "--tenant", "mm", "--tenant", "mm", "--size", "mini", "--set", "l2.ways=2", "--set",
            "l2.victim.use=tenant_ways"}),
       "l2.victim: 2 ways cannot be divided among 3 tenants; give each at least one"},
      {"RunMoreTenantsThanChannels",
       {"run", "--gpu", "simt_8cu", "--tenant", "mm", "--tenant", "mm", "--tenant", "mm", "--size", "mini", "--set",
        "dram.partition=channels"},
       "dram.partition: 2 channels cannot be divided among 3 tenants; give each at least one"},
      {"RunWaysOfSlicesThatAreOwn",
       run({"--tenant", "mm", "--set", "l2.victim.use=tenant_ways", "--set", "dram.partition=channels"}),
       "--set: l2.victim.use = \"tenant_ways\" must not be tenant_ways when dram.partition is channels: the L2 slices "
       "of a channel already belong to its tenant"},
      {"RunVirtualL2BySlicesOfChannels", run({"--tenant", "mm", "--set", "translation=after_l2"}),
       "--set: translation = \"after_l2\" needs l2.slice_by = \"line\": the channel of a line is not known before it "
       "is "
       "translated"},
      {"RunVirtualL2WithWalksThroughIt",
       run({"--tenant", "mm", "--set", "translation=after_l2", "--set", "l2.slice_by=line"}),
       "--set: translation = \"after_l2\" needs mmu.walk_path.use = \"memory\": a walk that waits for an entry of the "
       "L2 "
       "would wait for lines that wait for the walk"},
      {"RunTokensWithoutEpochs", run({"--tenant", "mm", "--set", "l2_tlb.fill.use=tokens"}),
       "--set: l2_tlb.fill.use = \"tokens\" decides at epochs; give their length (run.epoch)"},
      {"RunDramSchedulerWithoutEpochs", run({"--tenant", "mm", "--set", "dram.scheduler.use=address_space_aware"}),
       "--set: dram.scheduler.use = \"address_space_aware\" decides at epochs; give their length (run.epoch)"},
      {"RunLeavesBeforeItArrives", run({"--tenant", "mm:arrive=50,leave=20"}),
       "run.tenants: mm leaves in cycle 20, not after cycle 50, in which it arrives"},
      {"RunFileWithAParameter", run({"--tenant", "own.toml:arrive=50,n=3"}),
       "run.tenants: own.toml has no key \"n\"; only arrive and leave can be given, everything else is in the file"},
      {"RunArrivesAtNoNumber", run({"--tenant", "mm:arrive=soon"}),
       "run.tenants: mm.arrive must be a whole number, not \"soon\""},
      {"RunSmsOfThosePresent",
       run({"--tenant", "mm", "--tenant", "mm", "--sms", "10,20", "--set", "tenancy.partition.use=present"}),
       "--set: tenancy.partition.use = \"present\" divides the SMs by itself; remove run.sms"},
      {"RunGapsThatLookLikeLivelocks", run({"--tenant", "mm", "--set", "run.livelock_cycles=1000"}),
       "--set: run.livelock_cycles = 1000 must be more than tenancy.launch_gap (1000)"},
      {"RunSwitchesThatLookLikeLivelocks",
       run({"--tenant", "mm", "--set", "tenancy.sharing=time", "--set", "run.livelock_cycles=71000"}),
       "--set: run.livelock_cycles = 71000 must be more than tenancy.launch_gap and tenancy.switch_cycles together "
       "(71000)"},
      {"RunDesignsThatCollide", run({"--tenant", "mm", "--design", "s_tlb_ptw", "--design", "dws"}),
       "configs/designs/dws.toml:3: mmu.walk_scheduler.use = \"dws\" conflicts with configs/designs/s_tlb_ptw.toml:8, "
       "which sets it to \"shared\"; use only one of the two designs"},
      {"RunTokensWithoutAnL2Tlb", run({"--tenant", "mm", "--design", "pw_cache", "--design", "mask"}),
       "configs/designs/mask.toml:3: l2_tlb.fill.use = \"tokens\" keeps translations out of an L2 TLB that is not "
       "there "
       "(l2_tlb.entries is 0); give it entries, or use \"always\""},
      {"RunIdealWithAWalkScheduler", run({"--tenant", "mm", "--design", "ideal", "--design", "dws"}),
       "configs/designs/dws.toml:3: mmu.walk_scheduler.use = \"dws\" schedules walks, and with translation = \"ideal\" "
       "there "
       "are none; use \"shared\""},
      {"RunPowerWithoutCoefficients", run({"--tenant", "mm", "--set", "power.enabled=true"}),
       "--set: power.enabled = true needs coefficients, and this machine has none (power.sm_static_mw and "
       "power.uncore_mw are 0); cd_24sm has a set"},
      {"RunANegativeEnergy", run({"--tenant", "mm", "--set", "power.l2_pj=-1"}),
       "--set: power.l2_pj must be a whole number from 0 to 1000000000, not \"-1\""},
      {"RunMoreEnergyThanFits", run({"--tenant", "mm", "--set", "power.dram_refresh_pj=1000000001"}),
       "--set: power.dram_refresh_pj must be a whole number from 0 to 1000000000, not 1000000001"},
      {"RunAMisspeltCoefficient", run({"--tenant", "mm", "--set", "power.l2_nj=1"}),
       "--set: power.l2_nj is not a known key; did you mean \"l2_pj\"?"},
      {"RunATableWithoutAVirtualL2", run({"--tenant", "mm", "--set", "fbt.entries=16"}),
       "--set: fbt.entries = 16 needs translation = \"after_l2\": the table stands behind a virtual L2"},
      {"RunProbesWithoutATable", run({"--tenant", "mm", "--set", "cpu.probe_interval=100"}),
       "--set: cpu.probe_interval = 100 needs a forward-backward table (fbt.entries): other designs have no coherence "
       "with "
       "a CPU"},
      {"RunFlushesWithoutATable", run({"--tenant", "mm", "--set", "cpu.flush_interval=100"}),
       "--set: cpu.flush_interval = 100 needs a forward-backward table (fbt.entries): in other designs a flush of TLBs "
       "takes no time"},
      {"RunAFlushOfWhatSmsShareAlone",
       run({"--tenant", "mm", "--set", "tenancy.flush_on_switch=false", "--set",
            "tenancy.flush_shared_on_switch=true"}),
       "--set: tenancy.flush_shared_on_switch = true needs tenancy.flush_on_switch: a flush of what SMs share is a "
       "flush "
       "of the SM's own TLB as well"},
      {"RunATableThatTranslatesPartsOfPages",
       run({"--tenant", "mm", "--design", "vc_opt", "--set", "pages.bytes=65536"}),
       "configs/designs/vc_opt.toml:7: fbt.second_level = true needs fbt.large_pages = \"counter\" with pages of 65536 "
       "bytes: parts of a page do not translate it"},
      {"RunWalkersOfItsOwnThatAreDivided",
       run({"--tenant", "mm", "--tenant", "mm", "--size", "mini", "--set", "mmu.per_tenant=true", "--set",
            "mmu.walk_scheduler.use=dws"}),
       "mmu.walk_scheduler: divides walkers among tenants, but with mmu.per_tenant each tenant has its own walkers; "
       "use \"shared\""},
      {"RunMoreTenantsThanWalkers",
       run({"--tenant", "mm", "--tenant", "mm", "--tenant", "mm", "--size", "mini", "--set", "mmu.walkers=2", "--set",
            "mmu.walk_scheduler.use=static_partition"}),
       "mmu.walkers: 2 walkers cannot be divided among 3 tenants; give each at least one"},
      {"RunBackPressureOnWalkersOfItsOwn",
       run({"--tenant", "mm", "--set", "mmu.per_tenant=true", "--set", "mmu.back_pressure=tenant"}),
       "--set: mmu.back_pressure = \"tenant\" must be \"all\" with mmu.per_tenant, where a full queue stalls only its "
       "own tenant anyway"},
      {"RunProtectsNoWalkCache",
       run({"--tenant", "mm", "--set", "mmu.walk_cache.kind=none", "--set", "mmu.walk_cache.protect=true"}),
       "--set: mmu.walk_cache.protect = true needs a walk cache, and mmu.walk_cache.kind is \"none\""},
      {"RunOracle", run({"--tenant", "mm", "--tenant", "mm", "--sms", "oracle"}),
       "--sms: an oracle split needs many runs, which the [[search]] of a sweep does; see docs/sweeps.md"},
      {"RunSmsOfTenantsThatTakeTurns",
       run({"--tenant", "mm", "--tenant", "mm", "--sms", "10,20", "--set", "tenancy.sharing=time"}),
       "--set: tenancy.sharing = \"time\" gives every tenant all SMs in its turn; remove run.sms"},
      {"RunSharesOfTenantsThatTakeTurns",
       run({"--tenant", "mm", "--set", "tenancy.sharing=time", "--set", "tenancy.partition.use=present"}),
       "--set: tenancy.partition.use = \"present\" must be fixed under time sharing, where every tenant has all SMs"},
      {"RunTimelineWithoutEpochs", run({"--tenant", "mm", "--size", "mini", "--timeline", "t.csv"}),
       "--timeline FILE.csv has a line for each epoch; give the length of an epoch (--set run.epoch=N)"},
      {"RunEpochsWithoutAResult",
       {"run", "--gpu", "dws_30sm", "--tenant", "mm", "--size", "mini", "--stats-every", "1000"},
       "run: --stats-every keeps statistics over time in the result; also give --json FILE"},
      {"RunTimelineOfNothing", run({"--tenant", "mm", "--timeline-of", "gpu.sm"}),
       "run: --timeline-of selects statistics of a timeline; also give --timeline FILE.csv"},
      {"RunTimelineOfTraceEvents", run({"--tenant", "mm", "--timeline", "t.json.gz", "--timeline-of", "gpu.sm"}),
       "run: --timeline-of selects statistics of a timeline as CSV, and the name t.json.gz does not end in .csv"},
      {"RunNoThreads", run({"--tenant", "mm", "--threads", "0"}),
       "run: --threads must be a whole number from 1 to 64, not 0"},
      {"RunThreadsInWords", run({"--tenant", "mm", "--threads", "two"}),
       "run: --threads must be a whole number from 1 to 64, not two"},
      {"RunTimelineEventsOfNothing", run({"--tenant", "mm", "--timeline-events", "50000"}),
       "run: --timeline-events says how long a timeline may be; also give --timeline FILE"},
      {"RunTimelineEventsOfACsv", run({"--tenant", "mm", "--timeline", "t.csv", "--timeline-events", "50000"}),
       "run: --timeline-events is about trace events, and t.csv gets statistics as CSV: give it another ending"},
      {"RunTooFewTimelineEvents", run({"--tenant", "mm", "--timeline", "t.json.gz", "--timeline-events", "10"}),
       "run: --timeline-events must be a whole number from 10000 to 5000000, not 10"},
      {"RunTimelineIntoAFolder", run({"--tenant", "mm", "--timeline", "/"}), "/: cannot be written: Is a directory"},
      {"RunTimelineIntoAMissingFolder", run({"--tenant", "mm", "--timeline", "none/t.json.gz"}),
       "none/t.json.gz: cannot be written: No such file or directory"},
      {"RunIntoAMissingFolder",
       {"run", "--gpu", "dws_30sm", "--tenant", "mm", "--size", "mini", "--json", "none/r.json"},
       "none/r.json: cannot be written: No such file or directory"},
  };
}

std::vector<BadInput> in_assignments() {
  return {
      setting("SetWithoutValue", "run.seed", "--set: \"run.seed\" is not of the form key=value"),
      setting("SetWithoutKey", "=3", "--set: \"=3\" is not of the form key=value"),
      setting("SetMisspelt", "run.sede=3", "--set: run.sede is not a known key; did you mean \"seed\"?"),
      setting("SetOfWrongType", "run.seed=many", "--set: run.seed must be a whole number, not \"many\""),
      setting("SetNegative", "run.seed=-3", "--set: run.seed must be a whole number, not \"-3\""),
      setting("SetTooLarge", "run.seed=9223372036854775808",
              "--set: run.seed must be a whole number, not 9223372036854775808"),
      setting("SetBeyondAllNumbers", "run.seed=99999999999999999999999",
              "--set: run.seed must be a whole number, not \"99999999999999999999999\""),
      setting("SetNoBool", "run.relaunch=1", "--set: run.relaunch must be true or false, not 1"),
      {"RootOfAPageTableTooLarge",
       {"explain", "run.seed", "--set", "pages.level_bits=2", "--set", "pages.entries=one_per_line"},
       "--set: pages.level_bits = 2 leaves 33554432 bytes to the root of a page table, more than a frame holds "
       "(2097152); "
       "raise it, or set pages.entries = \"packed\""},
      setting("SetGroup", "run=3", "--set: run is a group of keys; set one of its keys"),
      setting("SetSlot", "sm.warp_scheduler=lrr", "--set: sm.warp_scheduler is a group of keys; set its key \"use\""),
      setting("SetUnknownPolicy", "sm.warp_scheduler.use=gtoo",
              "--set: sm.warp_scheduler.use: no warp scheduler named \"gtoo\"; available: " + warp_schedulers() +
                  "; did you mean \"gto\"?"),
      setting(
          "SetParameterOfUnknownPolicy", "sm.warp_scheduler.oldest.age=3",
          "--set: sm.warp_scheduler.oldest.age: no warp scheduler named \"oldest\"; available: " + warp_schedulers()),
      setting(
          "SetNonsenseUntil", "run.until=tomorrow",
          "--set: run.until = \"tomorrow\" must be \"completed\", \"cycles:N\", \"instructions:N\" or \"window:N\""),
      setting(
          "SetEmptyWindow", "run.until=window:0",
          "--set: run.until = \"window:0\" must be \"completed\", \"cycles:N\", \"instructions:N\" or \"window:N\""),
      {"WindowWithoutRelaunch",
       {"run", "--tenant", "mm", "--until", "window:5000", "--set", "run.relaunch=false"},
       "--until: run.until = \"window:5000\" starts tenants that complete again to its end; remove run.relaunch = "
       "false, "
       "or use cycles:N"},
      {"WindowWithACapOfInstructions",
       {"run", "--tenant", "mm", "--until", "window:5000", "--set", "run.instruction_cap=7"},
       "--until: run.until = \"window:5000\" ends after its cycles only; remove run.instruction_cap, or use cycles:N"},
      {"SetTwice",
       {"explain", "run.seed", "--set", "run.seed=1", "--set", "run.seed=2"},
       "--set: run.seed is given twice, as 1 and as 2; give it once"},
  };
}

std::vector<BadInput> in_files() {
  return {
      program("ProgramMapsNothingTwice", "same_as = \"y\"\n",
              "own.toml:7: buffer[1].same_as names no buffer defined above it: \"y\"; did you mean \"x\"?"),
      program("ProgramMapsItselfTwice", "same_as = \"b\"\n",
              "own.toml:7: buffer[1].same_as names no buffer defined above it: \"b\"; did you mean \"x\"?"),
      program("ProgramMappingWithContents", "same_as = \"x\"\ninit = \"iota\"\n",
              "own.toml:8: buffer[1].init is that of \"x\", whose memory this is; remove it, or remove same_as"),
      program("ProgramUnmapsNoList", "same_as = \"x\"\n[[launch]]\nkernel = \"k\"\nunmap = \"b\"\n",
              "own.toml:10: launch[0].unmap must be a list of buffers, not \"b\""),
      program("ProgramUnmapsNoBuffer", "same_as = \"x\"\n[[launch]]\nkernel = \"k\"\nunmap = [\"c\"]\n",
              "own.toml:10: launch[0].unmap names no buffer defined above it: \"c\"; did you mean \"x\"?"),
      program("ProgramUnmapsTwice", "same_as = \"x\"\n[[launch]]\nkernel = \"k\"\nunmap = [\"b\", \"b\"]\n",
              "own.toml:10: launch[0].unmap names \"b\", which was unmapped before"),
      program("ProgramUsesWhatItUnmapped",
              "same_as = \"x\"\n[[launch]]\nkernel = \"k\"\nunmap = [\"b\"]\nargs = [\"b\"]\n",
              "own.toml:11: launch[0].args[0] names \"b\", which was unmapped before"),
      program("ProgramProtectsBothWays",
              "same_as = \"x\"\n[[launch]]\nkernel = \"k\"\nread_only = [\"x\"]\nread_write = [\"x\"]\n",
              "own.toml:11: launch[0].read_write names \"x\", which read_only names too; choose one"),
      {"MissingFile", {"explain", "run.seed", "--gpu", "m.toml"}, "m.toml: cannot be read: No such file or directory"},
      {"FolderAsFile", {"explain", "run.seed", "--gpu", "./"}, "./: cannot be read: Is a directory"},
      machine("FileWithUnknownKey", "[run]\nsede = 3\n",
              "m.toml:2: run.sede is not a known key; did you mean \"seed\"?"),
      machine("FileWithUnknownGroup", "\n[runn]\nseed = 3\n",
              "m.toml:3: runn.seed is not a known key; did you mean \"run.seed\"?"),
      machine("FileWithEmptyUnknownGroup", "[rnu]\n", "m.toml:1: rnu is not a known key; did you mean \"run\"?"),
      machine("FileWithWrongType", "[run]\nseed = \"3\"\n", "m.toml:2: run.seed must be a whole number, not \"3\""),
      machine("FileWithNegative", "run.seed = -1\n", "m.toml:1: run.seed must be a whole number, not -1"),
      machine("FileWithDecimal", "run.seed = 1.5\n", "m.toml:1: run.seed must be a whole number, not 1.5"),
      machine("FileWithList", "run.seed = [1]\n", "m.toml:1: run.seed must be a whole number, not a list"),
      program("LaunchWithAHugeBlock",
              "count = 4\n[[launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [2048]\nargs = [\"x\"]\n",
              "own.toml:11: launch[0].block must be a list of whole numbers from 1 to 1024, and holds 2048"),
      machine("FileWithTableForValue", "[run.seed]\nx = 1\n",
              "m.toml:2: run.seed.x is not a known key; did you mean \"run.seed\"?"),
      machine("FileWithTablesInAList", "[[run]]\nseed = 1\n", "m.toml:1: run is a group of keys; set one of its keys"),
      machine("FileWithDate", "run.until = 2021-02-27\n",
              "m.toml:1: dates and times are not supported; write text in quotes"),
      machine("FileWithUnknownPolicy", "[sm.warp_scheduler]\nuse = \"ltr\"\n",
              "m.toml:2: sm.warp_scheduler.use: no warp scheduler named \"ltr\"; available: " + warp_schedulers() +
                  "; did you mean \"lrr\"?"),
      machine("FileWithPolicyThatIsNoText", "sm.warp_scheduler.use = 1\n",
              "m.toml:1: sm.warp_scheduler.use must be the name of a warp scheduler, not 1"),
      machine(
          "FileWithNonsenseUntil", "[run]\n\nuntil = \"cycles:\"\n",
          "m.toml:3: run.until = \"cycles:\" must be \"completed\", \"cycles:N\", \"instructions:N\" or \"window:N\""),
      machine("FileThatIsNoToml", "run seed\n",
              "m.toml:1: not valid TOML: Error while parsing key-value pair: expected '=', saw 's'"),
      machine("FileThatEndsInAString", "run.until = \"comp\n",
              "m.toml:1: not valid TOML: Error while parsing string: unescaped control characters other than TAB "
              "(U+0009) are explicitly prohibited"),
      machine("FileWithAKeyTwice", "[run]\nseed = 1\nseed = 2\n",
              "m.toml:3: not valid TOML: Error while parsing key-value pair: cannot redefine existing integer 'seed'"),
      machine("FileThatIsNotText", std::string("\xff\xfe\x00\x01", 4),
              "m.toml:1: not valid TOML: Encountered invalid utf-8 sequence"),
      machine("FileWithEndlessKey", "a" + repeated(".a", 100'000) + " = 1\n",
              "m.toml:1: has more than 1000 dots in one key or value"),
      machine("FileWithDeepKey", "a" + repeated(".a", 900) + " = 1\n", "m.toml:1: tables are nested too deeply"),
      machine("FileWithDeepList", "a = " + repeated("[", 100'000),
              "m.toml:1: not valid TOML: Error while parsing value: exceeded maximum nested value depth of 256 "
              "(TOML_MAX_NESTED_VALUES)"),
      machine("FileWithEmptyKey", "\n\"\".run.seed = 3\n", "m.toml:2: a key is empty; give it a name"),
      machine("FileWithControlCharacters", "[run]\n\"seed\\u0000\\u001b\" = 3\n",
              "m.toml:2: run.seed?? is not a known key; did you mean \"seed\"?"),
      {"DesignsThatCollide",
       {"explain", "run.seed", "--design", "a.toml", "--design", "b.toml"},
       "b.toml:2: sm.warp_scheduler.use = \"lrr\" conflicts with a.toml:1, which sets it to \"gto\"; use only one of "
       "the two designs",
       {{"a.toml", "sm.warp_scheduler.use = \"gto\"\n"}, {"b.toml", "[sm.warp_scheduler]\nuse = \"lrr\"\n"}}},
      {"ResultWithoutConfig",
       {"explain", "run.seed", "--gpu", "r.json"},
       "r.json: has no \"config\"; give a machine's .toml or a result of terrace run",
       {{"r.json", "{}"}}},
      {"ResultWhoseConfigIsNoTable",
       {"explain", "run.seed", "--gpu", "r.json"},
       "r.json: has no \"config\"; give a machine's .toml or a result of terrace run",
       {{"r.json", R"({"config": 3})"}}},
      {"ResultThatIsNoJson",
       {"explain", "run.seed", "--gpu", "r.json"},
       "r.json:2: not valid JSON: syntax error while parsing object key - unexpected ','; expected string literal",
       {{"r.json", "{\n,"}}},
      {"ResultWithUnknownKey",
       {"explain", "run.seed", "--gpu", "r.json"},
       "r.json: run.sede is not a known key; did you mean \"seed\"?",
       {{"r.json", R"({"config": {"run": {"sede": 1}}})"}}},
      {"DiffOfMissingFile", {"diff", "a.json", "b.json"}, "a.json: cannot be read: No such file or directory"},
      {"DiffOfNoResult",
       {"diff", "a.json", "b.json"},
       "b.json: is not a result of terrace run: it has no schema and stats",
       {{"a.json", kResult}, {"b.json", "[]"}}},
      {"DiffOfAnotherSchema",
       {"diff", "a.json", "b.json"},
       "b.json: has schema \"terrace.run/9\", and this version reads \"terrace.run/1\"",
       {{"a.json", kResult}, {"b.json", R"({"schema": "terrace.run/9", "stats": {}})"}}},
      {"DiffOfDeepNesting",
       {"diff", "a.json", "a.json"},
       "a.json: not valid here: nested deeper than 256 levels",
       {{"a.json", std::string(100'000, '[')}}},
  };
}

std::vector<BadInput> all_bad_inputs() {
  std::vector<BadInput> all = on_the_command_line();
  for (auto* more : {in_exec, in_run, in_assignments, in_files})
    for (BadInput& input : more()) all.push_back(std::move(input));
  return all;
}

class BadInputs : public ::testing::TestWithParam<BadInput> {};

TEST_P(BadInputs, EarnOneSentenceAndExitCodeTwoAndLeaveNothing) {
  const Scratch scratch;
  for (const auto& [name, text] : GetParam().files) scratch.write(name, text);
  const Outcome outcome = run_terrace(GetParam().arguments, scratch.path().string());
  EXPECT_EQ(outcome.err, "terrace: " + GetParam().sentence + "\n");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(scratch.files(), GetParam().files.size());
}

INSTANTIATE_TEST_SUITE_P(Table, BadInputs, ::testing::ValuesIn(all_bad_inputs()),
                         [](const auto& input) { return input.param.name; });

/// Nobody writes into it, so whoever opens it waits.
TEST(BadFiles, APipeIsRefusedWhereverAFileIsNamed) {
  const Scratch scratch;
  const auto pipe = [&](const std::string& name) {
    ASSERT_EQ(mkfifo((scratch.path() / name).c_str(), 0600), 0) << name;
  };
  for (const char* name : {"p.toml", "p.json", "p.cu", "p.ptx", "p.npy", "p"}) pipe(name);
  for (const char* folder : {"listed", "traced", "tabled"}) std::filesystem::create_directory(scratch.path() / folder);
  pipe("listed/kernelslist.g");
  pipe("traced/kernel-1.traceg");
  pipe("tabled/opcodes.toml");
  scratch.write("traced/kernelslist.g", "kernel-1.traceg\n");
  scratch.write("tabled/kernelslist.g", "kernel-1.traceg\n");
  scratch.write("k.cu", "__global__ void k(int* x) { *x = 1; }\n");
  const std::string own =
      "source = \"k.cu\"\n[[buffer]]\nname = \"x\"\ntype = \"i32\"\ncount = 1\ninit = \"file\"\n"
      "file = \"p.npy\"\n[[launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [1]\nargs = [\"x\"]\n";
  scratch.write("own.toml", own);
  const std::vector<std::pair<std::vector<std::string>, std::string>> commands = {
      {{"run", "--gpu", "p.toml", "--tenant", "gups"}, "p.toml"},
      {{"run", "--gpu", "p.json", "--tenant", "gups"}, "p.json"},
      {{"run", "--gpu", "dws_30sm", "--design", "p.toml", "--tenant", "gups"}, "p.toml"},
      {{"run", "--gpu", "dws_30sm", "--tenant", "p.toml"}, "p.toml"},
      {{"run", "--resume", "p"}, "p"},
      {{"exec", "p.toml"}, "p.toml"},
      {{"exec", "own.toml"}, "p.npy"},
      {{"exec", "./listed"}, "./listed/kernelslist.g"},
      {{"exec", "./traced"}, "./traced/kernel-1.traceg"},
      {{"exec", "./tabled"}, "./tabled/opcodes.toml"},
      {{"list", "kernels", "p.cu"}, "p.cu"},
      {{"list", "kernels", "p.ptx"}, "p.ptx"},
      {{"explain", "run.seed", "--gpu", "p.toml"}, "p.toml"},
      {{"sweep", "p.toml", "--store", "s.db"}, "p.toml"},
      {{"diff", "p.json", "p.json"}, "p.json"},
  };
  for (const auto& [arguments, name] : commands) {
    const Outcome outcome = run_terrace(arguments, scratch.path().string());
    EXPECT_NE(outcome.err.find(name + ": is not a plain file; copy it into one\n"), std::string::npos)
        << fmt::format("{}", fmt::join(arguments, " ")) << ": " << outcome.err;
    EXPECT_EQ(outcome.exit_code, 2);
  }
}

TEST(BadInputTable, HasAtLeastFortyEntries) {
  EXPECT_GE(all_bad_inputs().size(), 40u);
}

}  // namespace
}  // namespace terrace
