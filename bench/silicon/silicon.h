// Two measurements on a real NVIDIA GPU that papers made to motivate what they simulate (docs/silicon.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace terrace::silicon {

/// CD-search's Figure 9: the time of each workload by the number of SMs that a sleeping shadow kernel leaves it. `folder` holds
/// the modules of the workloads; without names, the paper's fourteen run.
void measure_scaling(const std::string& folder, const std::string& out, const std::vector<std::string>& workloads);

/// MASK's Figure 1: processes that share a GPU in turn, against the same processes one after the other.
void measure_multiplexing(const std::string& folder, const std::string& out, unsigned most_processes);

/// The module with the kernels of silicon.cu.
std::string own_module(const std::string& folder);

}  // namespace terrace::silicon
