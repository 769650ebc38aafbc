// The functions that CUDA's device runtime provides: a module declares them .extern and defines them nowhere, and the
// machine does what they do. To add one, write its handler and a row of the table in device_runtime.cc.
//
// A call is one instruction; under timing it costs what the instruction `call` costs, and no cycle more for what the
// function does. What other SMs can see of it (memory that is taken or freed, the place of its text) happens when the cycle ends, as with
// stores: no outcome depends on the order in which SMs tick.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontend/ptx/decode/inst.h"
#include "frontend/ptx/execute/device_heap.h"

namespace terrace::ptx {

struct DeviceFunction {
  std::string_view name;
  std::string_view usage;      // what a wrong declaration is told
  std::vector<u32> arguments;  // bytes of each: 4 or 8
  std::vector<u32> results;    // likewise
  bool returns;                // if not, the program ends there, as at a trap
  bool uses_heap;
  Handler run;  // Inst::list has where arguments, then results, lie in the caller's area
};

/// The one that a module means by a function that it only declares, or null.
const DeviceFunction* find_device_function(const Function& function);

/// What these functions keep between calls. One per tenant.
class DeviceRuntime {
 public:
  static constexpr u64 kPrintBytes = u64{1} << 20;  // as CUDA's cudaLimitPrintfFifoSize begins

  /// Text that no longer fits is dropped, and counted.
  void print(std::string_view text);
  /// What was printed since it was last taken, with a sentence about what was dropped.
  std::string take_printed();
  void archive(Archive& a) { a(printed_, dropped_, heap); }

  DeviceHeap heap;

 private:
  std::string printed_;
  u64 dropped_ = 0;  // calls
};

}  // namespace terrace::ptx
