// The keys under `power`: what each event costs, and what is drawn in every cycle. Whole numbers of picojoules and
// milliwatts, so that energies are exact. docs/power.md says where the figures of a machine come from.
// SPDX-License-Identifier: MIT
#pragma once

#include "config/fields.h"
#include "config/validation.h"
#include "engine/types.h"

namespace terrace {

struct PowerConfig {
  bool enabled = false;
  u32 sm_static_mw = 0;
  u32 issue_pj = 0, integer_pj = 0, single_pj = 0, double_pj = 0, special_pj = 0, control_pj = 0, memory_pj = 0;
  u32 tensor_pj = 0;
  u32 register_pj = 0, shared_pj = 0, l1_pj = 0;
  u32 l1_tlb_pj = 0, l2_tlb_pj = 0, walk_pj = 0;
  u32 noc_byte_pj = 0, l2_pj = 0;
  u32 dram_activate_pj = 0, dram_read_pj = 0, dram_write_pj = 0, dram_byte_pj = 0, dram_refresh_pj = 0;
  u32 dram_background_mw = 0, uncore_mw = 0;

  void describe(Fields& v) {
    // Far above any real part, and low enough for the energy of 10^9 events to fit into 64 bits.
    constexpr Range kAny = in(0, 1'000'000'000);
    v("enabled", enabled, "count energy (gpu.power); it follows from other statistics and changes none of them");
    v("sm_static_mw", sm_static_mw, kAny, "milliwatts of an SM that is not power-gated: leakage and clocks");
    v("issue_pj", issue_pj, kAny, "picojoules to fetch, decode, schedule and issue a warp instruction");
    v("integer_pj", integer_pj, kAny, "picojoules of the lanes of an integer, logic or move warp instruction");
    v("single_pj", single_pj, kAny, "likewise of single or half precision");
    v("double_pj", double_pj, kAny, "likewise of double precision");
    v("special_pj", special_pj, kAny, "likewise of an approximate function");
    v("tensor_pj", tensor_pj, kAny,
      "picojoules of 512 multiply-accumulates of f16 operands (1,024 of 8-bit ones, 256 of tf32) in a tensor "
      "instruction");
    v("control_pj", control_pj, kAny, "picojoules of the lanes of a branch, call, exit, barrier or fence");
    v("memory_pj", memory_pj, kAny, "likewise of a load, store or atomic: addresses and coalescing");
    v("register_pj", register_pj, kAny, "picojoules of the register file for each thread instruction");
    v("shared_pj", shared_pj, kAny, "picojoules of shared memory for each pass over its banks");
    v("l1_pj", l1_pj, kAny, "picojoules of an L1 access, and of a fill");
    v("l1_tlb_pj", l1_tlb_pj, kAny, "picojoules of a look-up in an L1 TLB");
    v("l2_tlb_pj", l2_tlb_pj, kAny, "picojoules of a look-up in the L2 TLB, and of a fill");
    v("walk_pj", walk_pj, kAny, "picojoules of a page walk, without what it reads from the L2 or memory");
    v("noc_byte_pj", noc_byte_pj, kAny, "picojoules to move a byte of a flit through the crossbar");
    v("l2_pj", l2_pj, kAny, "picojoules of an L2 access, and of a fill");
    v("dram_activate_pj", dram_activate_pj, kAny, "picojoules to open a row and to close it");
    v("dram_read_pj", dram_read_pj, kAny, "picojoules of memory's arrays to read a line");
    v("dram_write_pj", dram_write_pj, kAny, "picojoules of memory's arrays to write a line");
    v("dram_byte_pj", dram_byte_pj, kAny, "picojoules of controllers and pins to move a byte over a memory bus");
    v("dram_refresh_pj", dram_refresh_pj, kAny, "picojoules to refresh a rank");
    v("dram_background_mw", dram_background_mw, kAny, "milliwatts of the memory of a channel, whatever it does");
    v("uncore_mw", uncore_mw, kAny, "milliwatts of everything else on the card, whatever it does");
  }
  void validate(Validation& v) const {
    v.require(
        !enabled || sm_static_mw + uncore_mw > 0, "enabled",
        "needs coefficients, and this machine has none (power.sm_static_mw and power.uncore_mw are 0); cd_24sm has "
        "a set");
  }
};

}  // namespace terrace
