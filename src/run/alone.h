// Alone runs, the reference of relative metrics: one tenant on the machine under its reference design, with as many SMs
// as the machine's configuration says or as the tenant has in the shared run. The reference does not depend on the
// design that is compared with it.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <span>
#include <string>

#include "gpu/config.h"
#include "run/run.h"

namespace terrace {

/// The design of this machine's alone runs; empty: no design. `find` throws an InputError for a design that does not
/// exist: then "ideal" is used, and `note` says so.
std::string reference_design(const GpuConfig& shared, const std::function<void(const std::string&)>& find,
                             std::string& note);

/// One tenant of a shared run alone. `base`: the machine under the reference design.
GpuConfig alone_config(const GpuConfig& base, const GpuConfig& shared, u32 tenant);

/// Adds slowdowns and relative metrics, with their reference, to the result of a shared run, given the IPC of each
/// tenant alone.
void add_relative_metrics(RunResult& result, std::span<const double> alone_ipc, const std::string& reference);

}  // namespace terrace
