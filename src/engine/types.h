// Time, identity and addresses: the strong types every unit speaks. They cost nothing and never convert into one
// another.
// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace terrace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

/// A point in time, in cycles of the core clock.
using Cycle = u64;
inline constexpr Cycle kNever = ~Cycle{0};

struct VirtAddr {
  u64 raw = 0;
  friend auto operator<=>(VirtAddr, VirtAddr) = default;
};
struct PhysAddr {
  u64 raw = 0;
  friend auto operator<=>(PhysAddr, PhysAddr) = default;
};

enum class TenantId : u8 {};
enum class SmId : u16 {};
enum class UnitId : u16 {};
/// A launch of one tenant. Numbers grow in the order in which its launches begin, from 1 on.
enum class LaunchId : u32 {};

/// The plain number behind an identity, for indexing.
template <class Enum>
  requires std::is_enum_v<Enum>
constexpr auto index(Enum id) {
  return static_cast<std::underlying_type_t<Enum>>(id);
}

/// Any unit of a machine can name at most this many tenants; per-tenant counters are arrays of this size.
inline constexpr u32 kMaxTenants = 16;
inline constexpr u32 kMaxSms = 256;

}  // namespace terrace
