// The machines of configs/gpu, each with the designs that its paper compares, and runs of programs on them. What these
// tests say of a machine is the same in every build, so that only the release build runs them.
// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "papers/designs.h"
#include "run/run.h"

namespace terrace {

struct Machine {
  const char* name;
  u32 sms;
  std::vector<std::string> designs;  // that translate
};
inline void PrintTo(const Machine& machine, std::ostream* out) {
  *out << machine.name;
}

inline const std::vector<Machine>& machines() {
  static const std::vector<std::string> mask{
      "shared_tlb",          "pw_cache", "static",      "mask_tlb", "mask_cache", "mask_dram",
      "mask_dram_no_silver", "mask",     "alt_memsched"};
  static const std::vector<Machine> all{
      {"dws_30sm",
       30,
       {"baseline", "s_tlb", "s_tlb_ptw", "baseline_2048_32", "baseline_32ptw", "baseline_tenant_stalls",
        "static_walkers", "static_walkers_tenant_stalls", "dws", "dws_pp", "dws_pp_conservative", "dws_pp_aggressive"}},
      {"mask_maxwell30", 30, mask},
      {"mask_fermi", 15, mask},
      {"mask_integrated", 16, mask},
      {"simt_8cu", 8, {"fcfs", "random", "simt_aware"}},
      {"vc_16cu", 16, {"fcfs"}},
      {"cd_24sm", 24, {}},  // no address translation is involved in its paper
  };
  return all;
}

inline RunResult run_on(const std::string& machine, const std::string& design, const std::string& tenants,
                        const std::vector<std::string>& sets) {
  RunRequest request;
  request.config = machine_with(machine, {design}, sets);
  request.config.run.tenants = tenants;
  return simulate(request);
}
inline double total_ipc(const RunResult& result) {
  return std::get<double>(result.json.find("metrics")->find("total_ipc")->value);
}
/// Over five seeds, which place pages differently: the IPC of a short run moves by some percent with them.
inline double mean_ipc(const std::string& machine, const std::string& design, const std::string& tenants,
                       std::vector<std::string> sets) {
  double sum = 0;
  sets.emplace_back();
  for (u32 seed = 1; seed <= 5; ++seed) {
    sets.back() = "run.seed=" + std::to_string(seed);
    sum += total_ipc(run_on(machine, design, tenants, sets));
  }
  return sum / 5;
}

}  // namespace terrace
