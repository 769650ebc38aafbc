// The workloads at one size, kernel by kernel: what both sides, a GPU and Terrace, are asked and answer.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "frontend/workload.h"

namespace terrace::silicon {

struct Subject {
  std::string text;  // NAME[:key=value,...]
  WorkloadRequest request;
};
/// All of them, or those named, on whole grids: a GPU launches nothing less. An unknown one is the user's error.
std::vector<Subject> workload_subjects(const std::vector<std::string>& texts, InputSize size);
std::vector<std::string> names_of(const std::vector<Subject>& subjects);

/// All launches of a kernel in one run of a workload.
struct KernelTimes {
  std::string name;
  u64 launches = 0;
  std::vector<double> cycles;  // their sum; a value for each repeat
  std::string more = {};       // members of JSON, with a comma before each
};

/// The kernel of that name, made at the end when there is none.
KernelTimes& kernel_of(std::vector<KernelTimes>& kernels, const std::string& name);

/// A workload's line in the file; `more` as above.
std::string workload_json(const Subject& subject, const std::string& more, const std::vector<KernelTimes>& kernels);

}  // namespace terrace::silicon
