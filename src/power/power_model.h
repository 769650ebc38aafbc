// Energy from activity, in the manner of GPUWattch (ISCA 2013): each event costs a fixed energy, and each part that is
// powered draws a fixed power. What happened comes in as counts since the machine began; what goes out is a function of
// these counts alone, so it does not matter how often it is asked for. Simplified: an instruction costs what a full warp
// costs except in the register file; temperature and voltage are constant.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "engine/types.h"
#include "power/power_config.h"
#include "stats/stat_fields.h"

namespace terrace {

/// A part of the machine's power.
struct PowerPart {
  std::string_view name;   // of the statistic, gpu.power.<name>
  std::string_view group;  // the line of a table to which it belongs
  u32 PowerConfig::* coefficient;
  enum class Counts : u8 { kEvents, kCycles } counts;  // picojoules of an event, or milliwatts over cycles
  std::string_view doc;
};

/// What tenants cause, and what nobody does.
enum class TenantPart : u8 {
  kSmStatic,
  kIssue,
  kInteger,
  kSingle,
  kDouble,
  kSpecial,
  kTensor,
  kControl,
  kMemory,
  kRegisters,
  kShared,
  kL1,
  kL1Tlb,
  kL2Tlb,
  kWalks,
  kNoc,
  kL2,
  kDramActivate,
  kDramRead,
  kDramWrite,
  kDramBus
};
enum class CommonPart : u8 { kUnownedSms, kDramRefresh, kDramBackground, kUncore };

inline constexpr u32 kTenantParts = static_cast<u32>(TenantPart::kDramBus) + 1;
inline constexpr u32 kCommonParts = static_cast<u32>(CommonPart::kUncore) + 1;
std::span<const PowerPart, kTenantParts> tenant_parts();
std::span<const PowerPart, kCommonParts> common_parts();

/// What happened since the machine began: events, or cycles summed over units that were powered.
struct PowerActivity {
  Cycle cycles = 0;
  std::array<std::array<u64, kTenantParts>, kMaxTenants> tenants{};
  std::array<u64, kCommonParts> common{};

  u64& operator()(TenantId tenant, TenantPart part) { return tenants[index(tenant)][static_cast<u32>(part)]; }
  u64& operator()(CommonPart part) { return common[static_cast<u32>(part)]; }
};

struct PowerStats {
  std::array<PerTenant<Counter>, kTenantParts> of_tenants;
  std::array<Counter, kCommonParts> common;
  PerTenant<Counter> tenants;
  Counter nobody, total, elapsed;
  void describe(StatFields& v);
};

class PowerModel {
 public:
  PowerModel(const PowerConfig& config, u32 core_mhz) : config_(config), core_mhz_(core_mhz) {}

  /// Sets every statistic to what the activity amounts to.
  void account(const PowerActivity& activity, PowerStats& stats) const;

 private:
  u64 energy(const PowerPart& part, u64 amount) const;
  u64 over_time(Cycle cycles, u64 amount) const;

  const PowerConfig config_;
  const u64 core_mhz_;
};

}  // namespace terrace
