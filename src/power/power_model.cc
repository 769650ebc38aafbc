// SPDX-License-Identifier: MIT
#include "power/power_model.h"

namespace terrace {

namespace {

using enum PowerPart::Counts;

constexpr std::string_view kSmDynamic = "SM instructions", kTranslation = "translation", kDram = "DRAM";

constexpr std::array<PowerPart, kTenantParts> kOfTenants{{
    {"sm_static", "SM static", &PowerConfig::sm_static_mw, kCycles, "leakage and clocks of the SMs that a tenant has"},
    {"issue", kSmDynamic, &PowerConfig::issue_pj, kEvents, "fetch, decode, schedule and issue of instructions"},
    {"integer", kSmDynamic, &PowerConfig::integer_pj, kEvents, "lanes of integer instructions"},
    {"single", kSmDynamic, &PowerConfig::single_pj, kEvents, "lanes of single- and half-precision instructions"},
    {"double", kSmDynamic, &PowerConfig::double_pj, kEvents, "lanes of double-precision instructions"},
    {"special", kSmDynamic, &PowerConfig::special_pj, kEvents, "lanes of approximate functions"},
    {"tensor", kSmDynamic, &PowerConfig::tensor_pj, kEvents, "multiply-accumulates of tensor instructions"},
    {"control", kSmDynamic, &PowerConfig::control_pj, kEvents, "branches, calls, exits, barriers and fences"},
    {"memory", kSmDynamic, &PowerConfig::memory_pj, kEvents, "addresses and coalescing of loads, stores and atomics"},
    {"registers", "register files", &PowerConfig::register_pj, kEvents, "register files"},
    {"shared", "shared memory", &PowerConfig::shared_pj, kEvents, "shared memory"},
    {"l1", "L1 caches", &PowerConfig::l1_pj, kEvents, "L1 caches"},
    {"l1_tlb", kTranslation, &PowerConfig::l1_tlb_pj, kEvents, "L1 TLBs"},
    {"l2_tlb", kTranslation, &PowerConfig::l2_tlb_pj, kEvents, "L2 TLB"},
    {"walks", kTranslation, &PowerConfig::walk_pj, kEvents, "page walks, without their reads"},
    {"noc", "crossbar", &PowerConfig::noc_byte_pj, kEvents, "crossbar, both ways"},
    {"l2", "L2 cache", &PowerConfig::l2_pj, kEvents, "L2 cache"},
    {"dram_activate", kDram, &PowerConfig::dram_activate_pj, kEvents, "rows of memory opened and closed"},
    {"dram_read", kDram, &PowerConfig::dram_read_pj, kEvents, "lines read from memory's arrays"},
    {"dram_write", kDram, &PowerConfig::dram_write_pj, kEvents, "lines written to memory's arrays"},
    {"dram_bus", kDram, &PowerConfig::dram_byte_pj, kEvents, "bytes that move between memory and its controllers"},
}};

constexpr std::array<PowerPart, kCommonParts> kOfNobody{{
    {"unowned_sms", "SM static", &PowerConfig::sm_static_mw, kCycles,
     "leakage and clocks of SMs that no tenant has for itself: idle, shared or used in turn"},
    {"dram_refresh", kDram, &PowerConfig::dram_refresh_pj, kEvents, "refreshes of memory"},
    {"dram_background", kDram, &PowerConfig::dram_background_mw, kCycles, "memory, whatever it does"},
    {"uncore", "uncore", &PowerConfig::uncore_mw, kCycles, "everything else, whatever happens"},
}};

}  // namespace

std::span<const PowerPart, kTenantParts> tenant_parts() {
  return kOfTenants;
}
std::span<const PowerPart, kCommonParts> common_parts() {
  return kOfNobody;
}

void PowerStats::describe(StatFields& v) {
  Sum parts;
  for (u32 i = 0; i < kTenantParts; ++i) {
    v(kOfTenants[i].name, of_tenants[i], "pJ", kOfTenants[i].doc);
    parts.add(of_tenants[i]);
  }
  for (u32 i = 0; i < kCommonParts; ++i) {
    v(kOfNobody[i].name, common[i], "pJ", kOfNobody[i].doc);
    parts.add(common[i]);
  }
  v("tenants", tenants, "pJ", "all that a tenant causes");
  v("nobody", nobody, "pJ", "all that no tenant causes");
  v("total", total, "pJ", "energy of the whole machine");
  v("elapsed", elapsed, "ps", "time: total / elapsed is the power in watts");
  v.ratio("watts", sum(total), sum(elapsed), "power of the whole machine");
  v.always("the parts make up the total", parts, sum(total));
  v.always("tenants and nobody make up the total", sum(tenants, nobody), sum(total));
}

void PowerModel::account(const PowerActivity& activity, PowerStats& stats) const {
  u64 total = 0;
  for (u32 tenant = 0; tenant < kMaxTenants; ++tenant) {
    u64 its = 0;
    for (u32 i = 0; i < kTenantParts; ++i) {
      const u64 energy = this->energy(kOfTenants[i], activity.tenants[tenant][i]);
      stats.of_tenants[i][TenantId(tenant)].value = energy;
      its += energy;
    }
    stats.tenants[TenantId(tenant)].value = its;
    total += its;
  }
  u64 nobody = 0;
  for (u32 i = 0; i < kCommonParts; ++i) {
    const u64 energy = this->energy(kOfNobody[i], activity.common[i]);
    stats.common[i].value = energy;
    nobody += energy;
  }
  stats.nobody.value = nobody;
  stats.total.value = total + nobody;
  stats.elapsed.value = over_time(activity.cycles, 1'000'000);
}

/// A milliwatt is 10^9 pJ per second, which is 1000 / core_mhz pJ in a cycle.
u64 PowerModel::energy(const PowerPart& part, u64 amount) const {
  const u64 coefficient = config_.*part.coefficient;
  return part.counts == kEvents ? amount * coefficient : over_time(amount, coefficient * 1000);
}

/// `amount` for each cycle of a 1 MHz clock; divided first, so that long runs fit into 64 bits.
u64 PowerModel::over_time(Cycle cycles, u64 amount) const {
  return cycles / core_mhz_ * amount + cycles % core_mhz_ * amount / core_mhz_;
}

}  // namespace terrace
