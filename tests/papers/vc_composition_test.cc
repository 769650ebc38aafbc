// Virtual caches under designs of other papers, for several tenants: walk schedulers and orders, page walk stealing, MASK's
// memory scheduler and tokens. Dev builds compare every answer with what was written. What cannot work together is refused
// with the reason.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "papers/designs.h"
#include "timing/crowd.h"

namespace terrace {
namespace {

struct Composition {
  std::vector<std::string> designs;  // beside the virtual caches
  std::string scheduler = "shared", order = "fcfs", dram = "frfcfs", fill = "always";
};

/// Few walkers, a small table, and caches and TLBs of a few lines and pages: tenants meet everywhere.
GpuConfig machine_of(const std::string& virtual_caches, const Composition& row) {
  std::vector<std::string> designs = row.designs;
  designs.insert(designs.begin(), virtual_caches);
  return machine_with(
      "vc_16cu", designs,
      {"sm.count=6", "l1.bytes=2048", "l2.bytes=16384", "l2.ways=4", "l2.slices=4", "fbt.entries=16", "fbt.ways=2",
       "l2_tlb.entries=8", "l2_tlb.ways=0", "mmu.walkers=6", "tenancy.launch_gap=10", "run.epoch=1000"});
}

const Composition kCompositions[] = {
    {.designs = {"dws"}, .scheduler = "dws"},
    {.designs = {"dws_pp"}, .scheduler = "dws_pp"},
    {.designs = {"simt_aware"}, .order = "simt_aware"},
    {.designs = {"random"}, .order = "random"},
    {.designs = {"mask_dram"}, .dram = "address_space_aware"},
    {.designs = {"alt_memsched"}, .dram = "fr_rr_fcfs"},
    {.designs = {"mask_tlb"}, .fill = "tokens"},
    {.designs = {"dws", "simt_aware"}, .scheduler = "dws", .order = "simt_aware"},
    {.designs = {"dws", "mask_dram"}, .scheduler = "dws", .dram = "address_space_aware"},
    {.designs = {"simt_aware", "mask_dram"}, .order = "simt_aware", .dram = "address_space_aware"},
    {.designs = {"dws_pp", "simt_aware", "mask_dram"},
     .scheduler = "dws_pp",
     .order = "simt_aware",
     .dram = "address_space_aware"},
};

TEST(VirtualCachingComposes, WithWalkSchedulersStealingAndMasksMemorySchedulerForSeveralTenants) {
  for (const char* const virtual_caches : {"vc_opt", "vc_no_opt"}) {
    for (const Composition& row : kCompositions) {
      SCOPED_TRACE(fmt::format("{} with {}", virtual_caches, fmt::join(row.designs, ", ")));
      const GpuConfig config = machine_of(virtual_caches, row);
      EXPECT_EQ(config.mmu.walk_scheduler.use, row.scheduler);
      EXPECT_EQ(config.mmu.walk_order.use, row.order);
      EXPECT_EQ(config.dram.scheduler.use, row.dram);
      EXPECT_EQ(config.l2_tlb.fill.use, row.fill);
      EXPECT_EQ(config.translation, TranslateAt::kAfterL2);
      ScriptedTenants run(config, {crowd(1, 2), crowd(2, 2), crowd(3, 2)});
      Gpu& gpu = run.gpu();
      ASSERT_NO_THROW(gpu.run({.relaunch = false}));
      gpu.stats().check_identities(!gpu.quiet());
      for (u32 i = 0; i < 3; ++i) {
        EXPECT_EQ(gpu.progress(TenantId(i)).completed_runs, 1u);
        EXPECT_GT(gpu.stats().total("gpu.fbt.fetches", TenantId(i)).value(), 0u) << i;
        EXPECT_GT(gpu.stats().total("gpu.mmu.*.walks", TenantId(i)).value(), 0u) << i;
      }
      EXPECT_GT(gpu.stats().total("gpu.fbt.evictions").value(), 0u);
    }
  }
}

TEST(VirtualCachingComposes, WhatCannotIsRefusedWithTheReason) {
  struct Refusal {
    std::vector<std::string> designs, sets;
    std::string reason;
  };
  const Refusal kRefusals[] = {
      {{"vc_opt", "mask_cache"}, {}, "mmu.walk_path.use = \"translation_aware\" conflicts with"},
      {{"vc_opt", "mask"}, {}, "mmu.walk_path.use = \"translation_aware\" conflicts with"},
      {{"vc_opt", "static_walkers"}, {}, "translation = \"before_l1\" conflicts with"},
      {{"vc_opt", "ideal_mmu"}, {}, "translation = \"ideal\" conflicts with"},
      {{"vc_opt", "l1_vc_32"}, {}, "translation = \"after_l1\" conflicts with"},
      {{"vc_opt", "vc_no_opt"}, {}, "fbt.second_level = false conflicts with"},
      {{"vc_opt"},
       {"mmu.walk_path.use=l2"},
       "a walk that waits for an entry of the L2 would wait for lines that wait for the walk"},
      {{"vc_opt"}, {"l2.slice_by=channel"}, "the channel of a line is not known before it is translated"},
      {{"vc_opt"}, {"pages.bytes=65536"}, "parts of a page do not translate it"},
      {{"l1_vc_32"}, {"l1_tlb.admit=instruction"}, "l1_tlb.admit = \"instruction\" must be \"page\""},
      {{"l1_vc_32"},
       {"l1.synonym_entries=4"},
       "needs a forward-backward table (fbt.entries), which says which page leads"},
      {{"baseline_16k"}, {"l2_tlb.banks=3"}, "l2_tlb.banks = 3 must be a power of two"},
  };
  for (const Refusal& row : kRefusals) {
    std::string sentence;
    try {
      machine_with("vc_16cu", row.designs, row.sets);
    } catch (const InputError& error) {
      sentence = error.what();
    }
    EXPECT_NE(sentence.find(row.reason), std::string::npos)
        << fmt::format("{} with {}: ", fmt::join(row.designs, ", "), fmt::join(row.sets, ", ")) << sentence;
  }
}

}  // namespace
}  // namespace terrace
