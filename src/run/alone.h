// Runs of a tenant alone, which relative metrics rest on: the machine under its reference design, with as many SMs as
// the machine says or the tenant had beside others (mechanisms of the papers: the reference is fixed, whatever design
// is compared with it).
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <span>
#include <string>

#include "gpu/config.h"
#include "run/run.h"

namespace terrace {

/// The design under which tenants of this machine run alone; empty: the machine as it is. `find` throws an InputError
/// for a design that is not there: then it is "ideal", and `note` says so.
std::string reference_design(const GpuConfig& shared, const std::function<void(const std::string&)>& find,
                             std::string& note);

/// One tenant of a shared run alone. `base`: the machine under the reference design.
GpuConfig alone_config(const GpuConfig& base, const GpuConfig& shared, u32 tenant);

/// Adds what follows from the tenants' rates alone to the result of a shared run: slowdowns and relative metrics, with
/// the reference beside them.
void add_relative_metrics(RunResult& result, std::span<const double> alone_ipc, const std::string& reference);

}  // namespace terrace
