// What must agree between units when nothing is in flight: whatever one of them says it sent, another one got. A run
// whose books differ ends with an error (stats/stat_tree.h).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "gpu/machine_parts.h"

namespace terrace {

namespace {

using Names = std::vector<std::string>;

Names operator+(Names left, const Names& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

}  // namespace

void MachineParts::declare_identities(StatTree& stats) const {
  const auto when = [](bool there, Names names) { return there ? names : Names{}; };
  const Names bypasses = when(!slices[0]->admits_all(), {"gpu.l2.*.admission.bypasses"});
  const Names bypass_replies = when(!slices[0]->admits_all(), {"gpu.l2.*.admission.bypass_replies"});
  Names walk_look_ups;
  for (u32 level = 1; level <= kWalkLevels; ++level)
    walk_look_ups.push_back(fmt::format("gpu.l2.*.walk_lookups_level_{}", level));

  // A request that is replayed under another name is looked up twice, and its first fetch gives no line.
  const Names replays = when(config.has_fbt(), {"gpu.l2.*.names.replays_in"});
  const Names replayed_fetches = when(config.has_fbt(), {"gpu.l2.*.replayed_fetches"});
  stats.identity("every packet to the L2 is a request", Names{"gpu.noc.to_l2.*.packets"} + replays,
                 Names{"gpu.l2.*.lookups"} + bypasses);
  stats.identity("every line that an L1 does not answer, and every read of a walk, is a packet to the L2",
                 Names{"gpu.sm.*.load_store.lines"} + walk_look_ups + bypasses,
                 {"gpu.sm.*.l1.hits", "gpu.sm.*.l1.merges", "gpu.noc.to_l2.*.packets"});
  stats.identity("every reply of the L2 reaches an SM or a walker", Names{"gpu.l2.*.replies"} + bypass_replies,
                 Names{"gpu.noc.to_sm.*.packets"} + walk_look_ups + bypass_replies);
  // Of the reads of walks some take the way through the L2, where they are look-ups, and the others go to memory.
  const Names walk_reads = when(tlb != nullptr, {"gpu.mmu.*.reads"});
  stats.identity("every line that is asked for is read from memory", Names{"gpu.l2.*.fetches"} + walk_reads,
                 Names{"gpu.dram.*.data.reads", "gpu.dram.*.walk.reads"} + walk_look_ups + replayed_fetches);
  stats.identity("every line that memory gives arrives",
                 Names{"gpu.dram.*.data.replies", "gpu.dram.*.walk.replies"} + walk_look_ups,
                 Names{"gpu.l2.*.fills"} + walk_reads);
  stats.identity("every line that is written back is written to memory", {"gpu.l2.*.write_backs"},
                 {"gpu.dram.*.data.writes"});
  if (tlb == nullptr) return;
  if (config.has_fbt()) {
    stats.identity("every request that is replayed arrives", {"gpu.l2.*.replays"}, replays);
    stats.identity("every fetch reaches the forward-backward table", {"gpu.l2.*.fetches"}, {"gpu.fbt.fetches"});
    stats.identity("every line that leaves is told to the forward-backward table",
                   {"gpu.l2.*.write_backs", "gpu.l2.*.names.clean_evictions", "gpu.l2.*.names.first_writes"},
                   {"gpu.fbt.write_backs", "gpu.fbt.dropped", "gpu.fbt.written"});
  }
  const std::string translator = config.has_fbt() ? "gpu.fbt" : "gpu.l2.*.translator";
  const Names asked = config.translates_in_sm() ? Names{"gpu.sm.*.l1_tlb.misses"} : Names{translator + ".requests"};
  const Names told = config.translates_in_sm() ? Names{"gpu.sm.*.l1_tlb.answers"} : Names{translator + ".answers"};
  const Names forward_hits = when(config.fbt.second_level, {"gpu.fbt.forward_hits"});
  stats.identity("every page asked for is looked up in the L2 TLB", asked, {"gpu.l2_tlb.0.lookups"});
  stats.identity("every answer of the L2 TLB arrives", {"gpu.l2_tlb.0.replies"}, told);
  stats.identity("every miss of the L2 TLB is a request to an MMU", {"gpu.l2_tlb.0.misses"},
                 Names{"gpu.mmu.*.requests"} + forward_hits);
  stats.identity("every walk that ends, and every hit of an MMU's own TLBs, is an answer",
                 Names{"gpu.mmu.*.walks_done", "gpu.mmu.*.tlb1_hits", "gpu.mmu.*.tlb2_hits"} + forward_hits,
                 {"gpu.l2_tlb.0.fills"});
  if (!config.walks_use(WalkPath::Way::kMemory))
    stats.identity("every read of a page-table entry reaches the L2", {"gpu.mmu.*.reads"}, walk_look_ups + bypasses);
}

}  // namespace terrace
