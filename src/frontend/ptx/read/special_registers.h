// The special registers: those that this machine has, and the names of all that PTX knows, so that an unsupported one
// can be distinguished from an undeclared register.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string_view>

#include "engine/types.h"

namespace terrace::ptx {

enum class Special : u8 {
  kTid,
  kNtid,
  kCtaid,
  kNctaid,
  kLaneid,
  kWarpid,
  kNwarpid,
  kSmid,
  kNsmid,
  kGridid,
  kLanemaskEq,
  kLanemaskLe,
  kLanemaskLt,
  kLanemaskGe,
  kLanemaskGt,
  kClock,
  kClockHi,
  kClock64,
  kGlobaltimer,
  kGlobaltimerLo,
  kGlobaltimerHi,
  kDynamicSmemSize,
  kTotalSmemSize,
  kIsExplicitCluster,
  kGridWorkspaceHi,  // where the blocks of a grid meet: what cooperative groups take %envreg1 and %envreg2 for
  kGridWorkspaceLo
};
/// What mov can read.
struct SpecialEntry {
  std::string_view name;
  Special special;
  bool vector;
};
inline constexpr std::array kSpecials =
    std::to_array<SpecialEntry>({{"%tid", Special::kTid, true},
                                 {"%ntid", Special::kNtid, true},
                                 {"%ctaid", Special::kCtaid, true},
                                 {"%nctaid", Special::kNctaid, true},
                                 {"%laneid", Special::kLaneid, false},
                                 {"%warpid", Special::kWarpid, false},
                                 {"%nwarpid", Special::kNwarpid, false},
                                 {"%smid", Special::kSmid, false},
                                 {"%nsmid", Special::kNsmid, false},
                                 {"%gridid", Special::kGridid, false},
                                 {"%lanemask_eq", Special::kLanemaskEq, false},
                                 {"%lanemask_le", Special::kLanemaskLe, false},
                                 {"%lanemask_lt", Special::kLanemaskLt, false},
                                 {"%lanemask_ge", Special::kLanemaskGe, false},
                                 {"%lanemask_gt", Special::kLanemaskGt, false},
                                 {"%clock", Special::kClock, false},
                                 {"%clock_hi", Special::kClockHi, false},
                                 {"%clock64", Special::kClock64, false},
                                 {"%globaltimer", Special::kGlobaltimer, false},
                                 {"%globaltimer_lo", Special::kGlobaltimerLo, false},
                                 {"%globaltimer_hi", Special::kGlobaltimerHi, false},
                                 {"%dynamic_smem_size", Special::kDynamicSmemSize, false},
                                 {"%total_smem_size", Special::kTotalSmemSize, false},
                                 {"%is_explicit_cluster", Special::kIsExplicitCluster, false},
                                 {"%envreg1", Special::kGridWorkspaceHi, false},
                                 {"%envreg2", Special::kGridWorkspaceLo, false}});

/// Whether PTX (ISA 9.0, chapter 10) has a special register of this name, with or without a component.
constexpr bool is_special_register(std::string_view name) {
  for (const SpecialEntry& entry : kSpecials)
    if (entry.name == name) return true;
  // Of these there are several, numbered.
  for (const std::string_view stem : {"%envreg", "%pm", "%reserved_smem_offset_"})
    if (name.starts_with(stem)) return true;
  for (const std::string_view other :
       {"%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid", "%cluster_ctarank", "%cluster_nctarank",
        "%aggr_smem_size", "%current_graph_exec"})
    if (name == other) return true;
  return false;
}

}  // namespace terrace::ptx
