// The whole state of a machine: what a checkpoint holds (docs/checkpoints.md). Parts stand in the order in which they are built;
// counters come last, for they belong to all.
// SPDX-License-Identifier: MIT
#include "engine/archive.h"

#include "frontend/inst_stream.h"
#include "frontend/program.h"
#include "gpu/gpu.h"

namespace terrace {

namespace {

/// Units of a kind, each under the name that messages use.
template <class Units>
void archive_all(Archive& a, const char* name, Units& units) {
  a.expect(units.size(), name);
  for (u32 i = 0; i < units.size(); ++i) {
    a.part(fmt::format("{}.{}", name, i));
    a(*units[i]);
  }
}

}  // namespace

void Gpu::archive(Archive& a) {
  a.part("tenants");
  archive_tenants(a);
  a.part("scheduler");
  a(scheduler_);
  a.part("accesses");
  a(accesses_);
  a.part("address spaces");
  a(spaces_);
  a.part("line truth");
  a(truth_);
  archive_links(a);
  archive_units(a);
  a.part("tenant table");
  a(table_);
  a.expect(controllers_.size(), "the number of controllers");
  for (u32 i = 0; i < controllers_.size(); ++i) {
    a.part(fmt::format("controller.{}", i));
    a(*controllers_[i]);
  }
  a.part("run");
  a(*watchdog_, loop_, log_, timeline_);
  a.part("statistics");
  a(stats_);
  a.part("end");
}

/// A program fills its host's own data when it is initialised, as inputs that it checks results against: these are not saved.
void Gpu::archive_tenants(Archive& a) {
  a.expect(tenants_.size(), "the number of tenants");
  for (u32 i = 0; i < tenants_.size(); ++i) {
    const TenantSetup& tenant = tenants_[i];
    if (a.restores()) tenant.program->initialise(*tenant.memory);
    a.part(fmt::format("memory of tenant {}", i));
    a(*tenant.memory);
    a.part(fmt::format("program of tenant {}", i));
    a(*tenant.program);
    a.part(fmt::format("instructions of tenant {}", i));
    a(*tenant.stream);
  }
}

void Gpu::archive_links(Archive& a) {
  a.part("links of requests");
  a(*requests_);
  a.part("links of replies");
  a(*replies_);
  a.part("links of blocks");
  a(starts_, done_);
  a.part("links to memory");
  for (WayToMemory& way : ways_to_memory_) a(way.to_translator, way.requests, way.replies);
  a.part("links of the L2 TLB");
  const auto wires = [&](TlbWires& each) { a(each.requests, each.replies, each.merged_warps); };
  wires(tlb_wires_);
  a.part("links of MMUs");
  for (TlbWires& each : mmu_wires_) wires(each);
  a(walk_to_dram_, walk_from_dram_);
  a.part("links of the forward-backward table");
  a(fbt_wires_.commands, fbt_wires_.replays, fbt_wires_.invalidations, fbt_wires_.acknowledgements);
  a(fbt_wires_.from_tlb, fbt_wires_.to_tlb);
}

void Gpu::archive_units(Archive& a) {
  a.part("dispatcher");
  a(*dispatcher_);
  archive_all(a, "sm", sms_);
  if (tlb_) {
    a.part("l2_tlb.0");
    a(*tlb_);
  }
  if (fbt_) {
    a.part("fbt");
    a(*fbt_);
  }
  archive_all(a, "translator", miss_translators_);
  archive_all(a, "mmu", mmus_);
  archive_all(a, "l2", slices_);
  archive_all(a, "dram", channels_);
}

}  // namespace terrace
