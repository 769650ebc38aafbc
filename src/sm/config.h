// What an SM is made of.
// SPDX-License-Identifier: MIT
#pragma once

#include "config/fields.h"
#include "config/registry.h"
#include "config/validation.h"
#include "frontend/inst_stream.h"
#include "sm/warp_scheduler.h"

namespace terrace {

/// How one kind of instruction flows through its pipeline.
struct PipeConfig {
  u32 latency = 1;
  u32 interval = 1;
  void describe(Fields& v) {
    v("latency", latency, in(1, 1000), "cycles from issue until a dependent instruction may issue");
    v("interval", interval, in(1, 1000), "cycles between two issues to this pipeline, per warp scheduler");
  }
};

/// Tensor instructions differ in size, so the pipeline has a rate instead of an interval.
struct TensorConfig {
  u32 latency = 16;
  u32 macs = 256;
  void describe(Fields& v) {
    v("latency", latency, in(1, 1000),
      "cycles from issue until a dependent instruction may issue, for a tensor instruction that takes the pipeline one "
      "cycle; each further cycle adds one");
    v("macs", macs, in(1, 65536),
      "multiply-accumulates of f16 or bf16 operands per cycle, per warp scheduler; twice as many of 8-bit integers, "
      "half "
      "as many of tf32");
  }
  /// For how long an instruction takes the pipeline.
  u32 cycles(u32 work) const { return work <= macs ? 1 : (work + macs - 1) / macs; }
};

struct SmConfig {
  enum class SharedAtomics : u8 { kMerged, kInTurn };
  u32 count = 30;
  u32 warp_width = 32;
  u32 warps = 64;
  u32 blocks = 32;
  u32 registers = 65536;
  u32 thread_registers = 255;
  u32 shared_bytes = 98304;
  u32 schedulers = 2;
  Policy<WarpScheduler> warp_scheduler{"gto"};
  PipeConfig integer{4, 1}, single{4, 1}, double_precision{8, 2}, special{16, 4}, shared{24, 1}, control{1, 1};
  TensorConfig tensor;
  u32 constant_latency = 8;
  u32 shared_banks = 32;
  SharedAtomics shared_atomics = SharedAtomics::kMerged;
  u32 memory_queue = 8;
  u32 memory_ports = 1;

  /// As many as a thread may take up: kernels take them by eight.
  u32 most_registers_of_thread() const { return (thread_registers + 7) / 8 * 8; }
  void describe(Fields& v) {
    v("count", count, in(1, kMaxSms), "number of SMs");
    v("warp_width", warp_width, in(1, 64), "threads per warp");
    v("warps", warps, in(1, 64), "resident warps per SM");
    v("blocks", blocks, in(1, 64), "resident thread blocks per SM");
    v("registers", registers, in(1, 1 << 24), "32-bit registers per SM");
    v("thread_registers", thread_registers, in(1, 4096),
      "32-bit registers of a thread at most; what a kernel needs beyond that takes up no place, and costs nothing");
    v("shared_bytes", shared_bytes, in(0, 1 << 24), "bytes of shared memory per SM");
    v("schedulers", schedulers, in(1, 4),
      "warp schedulers per SM; each issues one instruction per cycle from its share of the warps");
    v.policy("warp_scheduler", warp_scheduler, "which ready warp issues");
    v.group("integer", integer, "integer and logic instructions");
    v.group("single", single, "single-precision instructions");
    v.group("double", double_precision, "double-precision instructions");
    v.group("special", special, "approximate functions");
    v.group("shared", shared, "shared-memory accesses without bank conflicts");
    v.group("control", control, "branches, barriers and fences");
    v.group("tensor", tensor, "tensor instructions (mma, wmma)");
    v("constant_latency", constant_latency, in(1, 1000), "latency of a constant or parameter load, which always hits");
    v("shared_banks", shared_banks, in(1, 64), "banks of shared memory, each four bytes wide");
    v("shared_atomics", shared_atomics, {"merged", "in_turn"},
      "lanes of an atomic that access the same word of shared memory: merged: in one pass, as loads; in_turn: one "
      "after the other");
    v("memory_queue", memory_queue, in(1, 64), "entries of the load-store unit's instruction queue");
    v("memory_ports", memory_ports, in(1, 8), "line accesses per cycle of the load-store unit");
  }
  const PipeConfig& pipe(InstClass cls) const {
    switch (cls) {
      case InstClass::kInteger:
        return integer;
      case InstClass::kFloat:
        return single;
      case InstClass::kDouble:
        return double_precision;
      case InstClass::kSpecial:
        return special;
      case InstClass::kMemory:
        return shared;
      default:
        return control;
    }
  }
};

}  // namespace terrace
