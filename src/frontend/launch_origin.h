// What is wrong with a launch is told with its place in the user's file, where it has one.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/check.h"
#include "frontend/program.h"

namespace terrace {

template <class F>
auto with_origin(const Launch& launch, F&& f) {
  try {
    return f();
  } catch (const InputError& error) {
    if (launch.origin.empty()) throw;
    input_error("{}: {}", launch.origin, error.what());
  }
}

}  // namespace terrace
